//! What a clone may say about the model's parameters: a short list, limits only downwards, and never
//! in silence. What is sent is read from the real request on loopback.

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_server::{Dialect, Server, run_keyed};
use crate::run_support::{answer, events, is_sound, project};
use crate::support::run;

/// A project whose file sets these parameters, and the user's own model on loopback.
fn clone_with(params: &Value, own: &Value, dialect: Dialect) -> (TestHome, Server) {
    let home = project();
    let server = Server::in_order(vec![dialect.decides(&answer("hello"))]);
    dialect.configure(&home, &server.url(), own);
    home.write("project/.agent/config.json", json!({"model": {"params": params}}).to_string());
    (home, server)
}

fn sent(server: &Server, at: usize) -> Value {
    serde_json::from_str(&server.asked()[at].body).expect("JSON")
}

fn first_line(output: &Output) -> &str {
    output.stderr.lines().next().unwrap_or_default()
}

#[test]
fn what_is_not_on_the_list_is_refused_in_a_project_and_nothing_is_sent() {
    for (name, value) in [
        ("mcp_servers", json!([{"type": "url", "url": "https://evil.example", "name": "x"}])),
        ("plugins", json!([{"id": "web"}])),
        ("models", json!(["evil/model"])),
        ("api_base", json!("https://evil.example/v1")),
        ("base_url", json!("https://evil.example/v1")),
        ("store", json!(true)),
        ("web_search_options", json!({})),
        ("extra_body", json!({"a": 1})),
        ("extra_headers", json!({"a": "b"})),
        ("metadata", json!({"a": "b"})),
        ("user", json!("me")),
        ("service_tier", json!("priority")),
        ("provider", json!({"order": ["evil"]})),
        ("fallbacks", json!([{"model": "evil"}])),
        ("route", json!("fallback")),
        ("transforms", json!(["middle-out"])),
        ("container", json!({"skills": []})),
        ("context_management", json!({})),
        ("previous_response_id", json!("resp_1")),
        ("include", json!(["message.output_text.logprobs"])),
        ("logit_bias", json!({"1": 100})),
        ("prediction", json!({"type": "content", "content": "x"})),
        ("reasoning", json!({"effort": "high"})),
        ("output_config", json!({"effort": "high"})),
        ("thinking", json!({"type": "enabled", "budget_tokens": 100_000})),
        ("n", json!(9)),
        ("timeout_s", json!(86_400)),
        ("window", json!(1)),
        ("output", json!("prompted")),
        ("stream", json!(false)),
        ("api", json!("responses")),
        ("response_format", json!({"type": "text"})),
        ("Temperature", json!(0)),
        ("temperature ", json!(0)),
        ("max_tokens\u{0}", json!(1)),
    ] {
        let (home, server) = clone_with(&json!({ name: value }), &json!({}), Dialect::OpenAi);
        let output = run_keyed(&home, &["run", "say hello"]);
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{name}: {output:?}");
        assert!(output.stderr.contains("cannot be set in a project's file"), "{name}: {output:?}");
        let error = run(&home, &["config", "--json"]);
        assert!(error.stdout.contains("config-not-allowed-in-project"), "{name}: {error:?}");
        assert!(server.asked().is_empty(), "{name}");
        // The same is the user's to set.
        let own = json!({"model": {"params": {name: value}}}).to_string();
        home.write("home/.agent/config.json", own);
        home.write("project/.agent/config.json", "{}");
        assert_eq!(run(&home, &["config"]).code, 0, "{name}");
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_refused() {
    for params in [
        json!({"temperature": {"mcp_servers": []}}),
        json!({"temperature": [0.5]}),
        json!({"temperature": "0.5"}),
        json!({"temperature": -0.1}),
        json!({"temperature": 2.1}),
        json!({"top_p": 1.01}),
        json!({"top_p": null}),
        json!({"seed": 1.5}),
        json!({"seed": {"a": 1}}),
        json!({"seed": 1e300}),
        json!({"stop": {"a": 1}}),
        json!({"stop": [{"a": 1}]}),
        json!({"stop": [["a"]]}),
        json!({"stop": ["a", "b", "c", "d", "e"]}),
        json!({"stop": ""}),
        json!({"stop": "x".repeat(201)}),
        json!({"stop_sequences": "a"}),
        json!({"stop_sequences": [1]}),
        json!({"reasoning_effort": "enormous"}),
        json!({"reasoning_effort": {"effort": "low"}}),
        json!({"effort": 3}),
        json!({"max_tokens": 0}),
        json!({"max_tokens": -1}),
        json!({"max_tokens": "9"}),
        json!({"max_output_tokens": {"a": 1}}),
        json!(["temperature"]),
    ] {
        let (home, server) = clone_with(&params, &json!({}), Dialect::OpenAi);
        let output = run_keyed(&home, &["run", "say hello"]);
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{params}: {output:?}");
        assert!(first_line(&output).contains("model.params"), "{params}: {output:?}");
        assert!(server.asked().is_empty(), "{params}");
    }
}

#[test]
fn what_is_on_the_list_arrives_and_the_first_line_says_so() {
    let params = json!({
        "temperature": 0.25, "top_p": 1, "seed": -1, "stop": ["END"], "reasoning_effort": "low",
    });
    let own = json!({"temperature": 1.5, "presence_penalty": 0.5, "effort": "max"});
    let (home, server) = clone_with(&params, &own, Dialect::OpenAi);
    let output = run_keyed(&home, &["run", "say hello"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "hello\n"), "{output:?}");
    let body = sent(&server, 0);
    for (name, value) in params.as_object().expect("an object") {
        assert_eq!(&body[name], value, "{name} in {body}");
        let said = format!("model.params.{name} = {value} (.agent/config.json:1)");
        assert!(first_line(&output).contains(&said), "{said} in {output:?}");
    }
    assert_eq!(body["presence_penalty"], 0.5, "what the user set stays");
    assert!(body.get("effort").is_none(), "one effort: {body}");
    assert!(first_line(&output).starts_with("warning: the project changes the model: "));
    let started = &events(&home)[0];
    assert_eq!(started["model_by_project"].as_array().map(Vec::len), Some(5), "{started}");
    is_sound(&home);
    // Again, for programs.
    let output = run_keyed(&home, &["run", "--json", "say hello"]);
    let mut lines = output.stdout.lines().map(serde_json::from_str::<Value>);
    let first = lines.next().expect("a line").expect("JSON");
    let text = first["text"].as_str().expect("a text");
    assert!(first["type"] == "warning" && text.contains("model.params.seed = -1"), "{first}");
    let second = lines.next().expect("a line").expect("JSON");
    assert_eq!(second["type"], "run.started");
    assert_eq!(second["model_by_project"], started["model_by_project"]);
}

#[test]
fn messages_have_the_effort_in_their_own_place() {
    let params = json!({"effort": "medium", "stop_sequences": ["END"], "max_tokens": 77});
    let (home, server) = clone_with(&params, &json!({}), Dialect::Anthropic);
    let output = run_keyed(&home, &["run", "say hello"]);
    assert_eq!(output.code, 0, "{output:?}");
    let body = sent(&server, 0);
    assert_eq!(body["output_config"], json!({"effort": "medium"}), "{body}");
    assert_eq!(body["stop_sequences"], json!(["END"]), "{body}");
    assert_eq!(body["max_tokens"], 77, "{body}");
}

#[test]
fn a_limit_is_lowered_and_never_raised_under_whatever_name() {
    // The user's own, what the project asks for, and what is sent.
    for (own, asked, counts) in [
        (json!({}), json!({"max_tokens": 50_000}), 4096),
        (json!({}), json!({"max_completion_tokens": 4097}), 4096),
        (json!({}), json!({"max_output_tokens": 100}), 100),
        (json!({"max_tokens": 500}), json!({"max_tokens": 501}), 500),
        (json!({"max_tokens": 500}), json!({"max_output_tokens": 9000}), 500),
        (json!({"max_tokens": 500}), json!({"max_completion_tokens": 60}), 60),
        (json!({"max_completion_tokens": 500}), json!({"max_tokens": 9000}), 500),
        (json!({"max_output_tokens": 500}), json!({"max_tokens": 70}), 70),
        (json!({"max_tokens": 9000}), json!({"max_tokens": 8000}), 8000),
        (json!({"max_tokens": 500}), json!({"max_tokens": 9000, "max_output_tokens": 80}), 80),
    ] {
        let (home, server) = clone_with(&asked, &own, Dialect::OpenAi);
        let output = run_keyed(&home, &["run", "say hello"]);
        assert_eq!(output.code, 0, "{own} {asked}: {output:?}");
        let body = sent(&server, 0);
        assert_eq!(body["max_tokens"], counts, "{own} {asked}: {body}");
        for name in ["max_completion_tokens", "max_output_tokens"] {
            assert!(body.get(name).is_none(), "{own} {asked}: {body}");
        }
        let is_lower = asked.as_object().expect("an object").values().any(|n| *n == counts);
        let says = first_line(&output).contains("the project changes the model");
        assert_eq!(says, is_lower, "{own} {asked}: {output:?}");
        let config = run(&home, &["config"]);
        let ignored = config.stdout.contains("would loosen a guard");
        assert_eq!(ignored, !is_lower, "{own} {asked}: {config:?}");
    }
}

#[test]
fn a_name_is_said_first_in_every_run_and_when_one_is_resumed() {
    let home = project();
    let dialect = Dialect::OpenAi;
    let busy = || dialect.refuses(401, "authentication_error", "not now", "");
    let server = Server::in_order(vec![busy(), dialect.decides(&answer("hello"))]);
    dialect.configure(&home, &server.url(), &json!({}));
    let text = "{\"model\": {\n\"name\": \"dear-model\", \"params\": {\n\"top_p\": 0.5}}}";
    home.write("project/.agent/config.json", text);
    let line = "warning: the project changes the model: model.name = \"dear-model\" \
                (.agent/config.json:2), model.params.top_p = 0.5 (.agent/config.json:3)";
    let output = run_keyed(&home, &["run", "say hello"]);
    assert_eq!((output.code, first_line(&output)), (1, line), "{output:?}");
    let output = run_keyed(&home, &["resume", "last"]);
    assert_eq!((output.code, first_line(&output)), (0, line), "{output:?}");
    assert_eq!(sent(&server, 1)["model"], "dear-model");
    is_sound(&home);
    // A flag names the model; the parameters still come from the project.
    let output = run_keyed(&home, &["run", "say hello", "--model", "openai:mine"]);
    let line = "warning: the project changes the model: model.params.top_p = 0.5 \
                (.agent/config.json:3)";
    assert_eq!(first_line(&output), line, "{output:?}");
    assert_eq!(sent(&server, 2)["model"], "mine");
    // Nothing of it counts for another provider.
    let output = run_keyed(&home, &["run", "say hello", "--model", "router"]);
    assert!(!output.stderr.contains("the project changes the model"), "{output:?}");
    // A value is shown as text: it cannot write lines of its own.
    let long = format!("x\u{1b}[2J\n{}", "y".repeat(500));
    let text = json!({"model": {"name": long}}).to_string();
    home.write("project/.agent/config.json", text);
    let output = run_keyed(&home, &["run", "say hello"]);
    let first = first_line(&output);
    assert!(first.contains("model.name = ") && first.len() < 300, "{output:?}");
    assert!(!output.stderr.contains('\u{1b}'), "{output:?}");
}
