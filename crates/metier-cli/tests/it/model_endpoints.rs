//! Endpoints with a name, keys that are missing or wrong, addresses from the environment, and the
//! commands that list and choose models. No request leaves this machine.

use metier_testkit::TestHome;
use serde_json::json;

use crate::run_server::{Dialect, Server};
use crate::run_support::{answer, project, runs};
use crate::support::METIER;

#[test]
fn a_missing_key_is_said_before_anything_is_sent() {
    let home = project();
    for (model, variable) in [
        ("openai:gpt-5-mini", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("openrouter:meta/llama", "OPENROUTER_API_KEY"),
        ("deepseek:deepseek-chat", "DEEPSEEK_API_KEY"),
    ] {
        for value in [None, Some(""), Some("  ")] {
            let mut command = home.command(METIER);
            command.args(["run", "--model", model, "hello"]);
            if let Some(value) = value {
                command.env(variable, value);
            }
            let output = TestHome::finish(&mut command);
            assert_eq!(output.code, 1, "{model}: {output:?}");
            let said = format!("{variable} is not set");
            assert!(output.stderr.contains(&said), "{model}: {output:?}");
            assert!(output.stderr.contains("model.key_env"), "{output:?}");
        }
    }
    assert!(!runs(&home).exists(), "no run was begun");
}

#[test]
fn a_key_that_is_refused_is_named_by_its_variable() {
    let home = project();
    let dialect = Dialect::OpenAi;
    let server = Server::start(move |_, _| {
        dialect.refuses(401, "invalid_api_key", "Incorrect API key provided: sk-*****", "")
    });
    let url = server.url();
    let mut model = json!({"provider": "openai", "name": "m"});
    home.write("home/.agent/config.json", json!({ "model": model }).to_string());
    let run = |home: &TestHome, variable: &str| {
        let mut command = home.command(METIER);
        command.env("OPENAI_BASE_URL", &url);
        command.env(variable, "sk-a-wrong-key-4711").args(["run", "hello"]);
        TestHome::finish(&mut command)
    };
    let output = run(&home, "OPENAI_API_KEY");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("the key is the one in OPENAI_API_KEY"), "{output:?}");
    assert!(output.stderr.contains("check the key"), "{output:?}");
    let output = run(&home, "UNUSED");
    assert!(
        output.stderr.contains("no key was sent, because OPENAI_API_KEY is not set"),
        "{output:?}"
    );
    model["key_env"] = json!("MY_KEY");
    home.write("home/.agent/config.json", json!({ "model": model }).to_string());
    let output = run(&home, "MY_KEY");
    assert!(output.stderr.contains("the key is the one in MY_KEY"), "{output:?}");
    assert!(!output.stderr.contains("4711"), "{output:?}");
}

#[test]
fn a_key_that_no_setting_names_goes_only_where_it_is_meant_for() {
    const KEY: &str = "sk-of-the-provider-4711";
    for (dialect, provider, variable, address) in [
        (Dialect::OpenAi, "openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        (Dialect::Anthropic, "anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    ] {
        let home = project();
        let server = Server::start(move |_, _| dialect.decides(&answer("hello")));
        let url = server.url();
        let mut model = json!({"provider": provider, "name": "m", "base_url": url});
        let run = |model: &serde_json::Value, env: &[(&str, &str)], args: &[&str]| {
            home.write("home/.agent/config.json", json!({ "model": model }).to_string());
            let mut command = home.command(METIER);
            command.env(variable, KEY).envs(env.iter().copied()).args(args);
            TestHome::finish(&mut command)
        };
        let sent = || {
            let asked = server.asked();
            asked.last().expect("a request").headers.values().any(|value| value.contains(KEY))
        };
        // For an address in the settings it has to be named there.
        let output = run(&model, &[], &["run", "hi"]);
        assert_eq!((output.code, sent()), (0, false), "{output:?}");
        // The environment of the address does not make it the provider's.
        run(&model, &[(address, &url)], &["run", "hi"]);
        assert!(!sent(), "{provider}");
        let listed = run(&model, &[], &["models"]);
        assert!(!listed.stdout.contains(&format!("{variable} (set)")), "{listed:?}");
        model["key_env"] = json!(variable);
        assert_eq!(run(&model, &[], &["run", "hi"]).code, 0);
        assert!(sent(), "{provider}: it is named");
        // Key and address of one environment belong together.
        let model = json!({"provider": provider, "name": "m"});
        assert_eq!(run(&model, &[(address, &url)], &["run", "hi"]).code, 0);
        assert!(sent(), "{provider}: of one environment");
        // Nothing listens there; the message says that the key stayed here.
        let far = [(address, "http://192.0.2.1:9/v1"), ("METIER_UNUSED", "")];
        let listed = run(&model, &far, &["models"]);
        assert!(!listed.stdout.contains(&format!("{variable} (set)")), "{listed:?}");
    }
}

#[test]
fn the_address_in_the_environment_is_used_and_the_users_file_comes_first() {
    for (dialect, model, variable) in [
        (Dialect::OpenAi, "openai:m", "OPENAI_BASE_URL"),
        (Dialect::Anthropic, "anthropic:m", "ANTHROPIC_BASE_URL"),
    ] {
        let home = project();
        let server = Server::start(move |_, _| dialect.decides(&answer("from the environment")));
        let mut command = home.command(METIER);
        command.env(variable, server.url()).args(["run", "--model", model, "hello"]);
        // A server of one's own needs no key.
        let output = TestHome::finish(&mut command);
        assert_eq!((output.stdout.trim(), output.code), ("from the environment", 0), "{output:?}");
        let own = Server::start(move |_, _| dialect.decides(&answer("from my file")));
        let (provider, name) = model.split_once(':').expect("a colon");
        let config = json!({"model": {"provider": provider, "name": name, "base_url": own.url()}});
        home.write("home/.agent/config.json", config.to_string());
        let mut command = home.command(METIER);
        let output = TestHome::finish(command.env(variable, server.url()).args(["run", "hello"]));
        assert_eq!(output.stdout.trim(), "from my file", "{output:?}");
        // Nothing of a project's reaches it.
        home.write("project/.agent/config.json", r#"{"model": {"base_url": "http://evil.test"}}"#);
        let output = home.run(METIER, &["run", "hello"]);
        assert!(output.stderr.contains("cannot be set in a project's file"), "{output:?}");
    }
}

#[test]
fn an_endpoint_is_known_by_its_name_in_flags_settings_and_records() {
    let home = project();
    let dialect = Dialect::OpenAi;
    let server = Server::start(move |_, _| dialect.decides(&answer("hello")));
    let config =
        json!({"model": {"provider": "ollama", "name": "qwen3", "base_url": server.url()}});
    home.write("home/.agent/config.json", config.to_string());
    let output = home.run(METIER, &["run", "--json", "hello"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains(r#""provider":"ollama""#), "{output:?}");
    assert_eq!(server.asked()[0].headers.get("authorization"), None, "it needs no key");
    let output = home.run(METIER, &["run", "--model", "olama:x", "hello"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("did you mean `ollama`?"), "{output:?}");
    let output = home.run(METIER, &["run", "--model", "openrouter", "hello"]);
    assert!(output.stderr.contains("write openrouter:MODEL"), "{output:?}");
}

#[test]
fn models_lists_endpoints_and_what_is_configured() {
    let home = project();
    home.write("home/.agent/config.json", r#"{"model": {"provider": "ollama", "name": "qwen3"}}"#);
    let mut command = home.command(METIER);
    command.env("OPENAI_API_KEY", "sk-secret-4711").args(["models", "--json"]);
    let output = TestHome::finish(&mut command);
    let document = output.json();
    assert_eq!(document["configured"], "ollama:qwen3");
    let endpoint = |name: &str| {
        let all = document["endpoints"].as_array().expect("a list");
        all.iter().find(|it| it["name"] == name).expect("listed").clone()
    };
    assert_eq!(endpoint("openai")["key"], "set");
    assert_eq!(endpoint("anthropic")["key"], "missing");
    assert_eq!(endpoint("ollama")["key"], "not_needed");
    assert_eq!(endpoint("ollama")["configured"], true);
    assert_eq!(endpoint("ollama")["base_url"], "http://127.0.0.1:11434/v1");
    assert!(!output.stdout.contains("4711"));
    let page = home.run(METIER, &["models"]).stdout;
    for words in ["Configured: ollama:qwen3", "OPENROUTER_API_KEY (not set)", "none needed"] {
        assert!(page.contains(words), "{page}");
    }
}

#[test]
fn config_set_writes_the_users_file_and_keeps_the_rest_of_it() {
    let home = project();
    let set = |key: &str, value: &str| home.run(METIER, &["config", "set", key, value]);
    let file = home.home().join(".agent/config.json");
    let text = || std::fs::read_to_string(&file).expect("the file");
    assert_eq!(set("model", "openai:gpt-5-mini").code, 0);
    assert_eq!(
        text(),
        "{\n  \"model\": {\n    \"provider\": \"openai\",\n    \"name\": \"gpt-5-mini\"\n  }\n}\n"
    );
    let mine = "{\n  // my settings\n  \"model\": {\n    \"provider\": \"openai\", // paid\n    \
                \"base_url\": \"http://127.0.0.1:1\",\n    \"key_env\": \"MINE\",\n    \"name\": \"a\",\n  },\n  \
                \"budgets\": { \"turns\": 5 },\n}\n";
    home.write("home/.agent/config.json", mine);
    // Another model of the same provider: the address stays.
    assert_eq!(set("model", "openai:b").code, 0);
    assert_eq!(text(), mine.replace("\"a\"", "\"b\""));
    // Another provider must not get the address and the key of this one.
    let output = set("model", "ollama:qwen3");
    assert_eq!(output.code, 0, "{output:?}");
    assert!(
        output.stdout.contains("model.base_url = \"http://127.0.0.1:1\" is removed"),
        "{output:?}"
    );
    assert_eq!(
        text(),
        "{\n  // my settings\n  \"model\": {\n    \"provider\": \"ollama\", // paid\n    \
         \"name\": \"qwen3\",\n  },\n  \"budgets\": { \"turns\": 5 },\n}\n"
    );
    assert_eq!(set("budgets.turns", "9").code, 0);
    assert!(text().contains("\"budgets\": { \"turns\": 9 }"));
    let before = text();
    for (key, value, words) in [
        ("model", "opanai:x", "unknown provider `opanai`"),
        ("model", "openai", "needs a name"),
        ("budgets.turn", "9", "unknown key `budgets.turn`"),
        ("budgets.turns", "many", "must be a whole number"),
        ("", "x", "unknown key"),
    ] {
        let output = set(key, value);
        assert!(output.code != 0 && output.stderr.contains(words), "{key}: {output:?}");
        assert!(
            !output.stderr.contains("config.json:"),
            "no line of the file is to blame: {output:?}"
        );
        assert_eq!(text(), before, "{key}");
    }
    assert_eq!(home.run(METIER, &["models", "--json"]).json()["configured"], "ollama:qwen3");
}

#[test]
fn either_spelling_of_a_key_takes_the_place_of_the_other() {
    let home = project();
    let set = |key: &str, value: &str| home.run(METIER, &["config", "set", key, value]).code;
    let value = || {
        let shown = home.run(METIER, &["config", "--json"]).json();
        let settings = shown["settings"].as_array().expect("settings").clone();
        settings.into_iter().find(|it| it["key_path"] == "enable_skills").expect("the key")["value"]
            .clone()
    };
    for (key, word) in [
        ("enableSkills", false),
        ("enable_skills", true),
        ("enableSkills", false),
        ("enableSkills", true),
    ] {
        assert_eq!(set(key, &word.to_string()), 0, "{key}");
        assert_eq!(value(), word, "{key}");
    }
}

#[test]
fn the_schema_of_scripts_names_every_kind_of_reply() {
    let home = project();
    let schema = home.run(METIER, &["models", "script-schema"]).json();
    let kinds =
        schema["properties"]["replies"]["items"]["anyOf"].as_array().expect("kinds").clone();
    let required: Vec<_> = kinds.iter().map(|kind| kind["required"][0].clone()).collect();
    assert_eq!(required, ["action", "raw", "chunks", "fault"]);
    assert!(kinds.iter().all(|kind| kind["properties"]["delay_ms"]["type"] == "integer"));
    assert!(kinds[3].to_string().contains("rate_limited"), "{}", kinds[3]);
}
