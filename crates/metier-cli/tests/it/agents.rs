//! Agents with their own permissions, from outside: what they see, find, load and do, that they only
//! narrow, and that a run remembers which one it was. The examples of the first design are here verbatim.

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_support::{answer, call, events_in, holds_scripts, last_run, project, select};
use crate::support::METIER;

/// A home with skills, two of them internal, and the design's own rules for an agent.
fn with_agents() -> TestHome {
    let home = project();
    for name in ["internal-billing", "internal-keys", "report"] {
        home.skill(&format!("home/.agent/skills/{name}"), name, "Writes a report on revenue.");
    }
    let agents = json!({
        "guest": {"permissions": {"skill": {"internal-*": "deny", "*": "ask"}}},
        "small": {"budgets": {"turns": 2}, "permissions": [
            {"permission": "write_file", "pattern": "*", "effect": "deny"},
        ]},
    });
    home.write("home/.agent/config.json", json!({ "agents": agents }).to_string());
    home
}

fn run(home: &TestHome, args: &[&str]) -> Output {
    home.run(METIER, args)
}

fn effect(home: &TestHome, args: &[&str]) -> String {
    let all = [&["explain", "--json"], args].concat();
    let explained = run(home, &all);
    explained.json()["effect"].as_str().unwrap_or_else(|| panic!("{explained:?}")).to_owned()
}

#[test]
fn what_an_agent_may_not_load_it_does_not_see_or_find() {
    let home = with_agents();
    let catalog = run(&home, &["catalog"]).stdout;
    assert!(catalog.contains("internal-billing") && catalog.contains("report"), "{catalog}");
    let catalog = run(&home, &["catalog", "--agent", "guest"]).stdout;
    assert!(!catalog.contains("internal-") && catalog.contains("report"), "{catalog}");
    let found = run(&home, &["search", "--agent", "guest", "--json", "revenue report"]).stdout;
    assert!(!found.contains("internal-") && found.contains("user:report"), "{found}");
    for (agent, skill, expected) in [
        ("guest", "internal-billing", "deny"),
        ("guest", "report", "ask"),
        ("full", "internal-billing", "allow"),
        ("read-only", "report", "allow"),
    ] {
        assert_eq!(
            effect(&home, &["load_skill", skill, "--agent", agent]),
            expected,
            "{agent} {skill}"
        );
    }
    let page = run(&home, &["explain", "load_skill", "internal-keys", "--agent", "guest"]).stdout;
    assert!(page.contains("agent") && page.contains("deny"), "{page}");
}

#[test]
fn a_run_loads_only_what_its_agent_may_and_remembers_who_it_was() {
    let home = with_agents();
    let replies = json!([select(&["internal-billing"]), select(&["report"]), answer("done")]);
    home.write("project/model.json", json!({ "replies": replies }).to_string());
    let flags = ["--agent", "guest", "--yes", "--model", "scripted:model.json", "make a report"];
    let output = run(&home, &[&["run"], &flags[..]].concat());
    assert_eq!(output.code, 0, "{output:?}");
    let events = events_in(&last_run(&home));
    assert_eq!(events[0]["agent"], "guest");
    let file = |name: &str| std::fs::read_to_string(last_run(&home).join(name)).expect("a file");
    let summary: Value = serde_json::from_str(&file("run.json")).expect("JSON");
    assert_eq!(summary["skills"], json!(["user:report"]), "{summary}");
    let setup = file("setup.json");
    assert!(!setup.contains("internal-"), "nothing of it is in a prompt: {setup}");
    let setup: Value = serde_json::from_str(&setup).expect("JSON");
    assert_eq!(setup["agent"], "guest");
    // A person's own call is held too.
    let output = run(&home, &["run", "--agent", "guest", "/internal-billing now"]);
    assert!(output.code != 0, "{output:?}");
}

#[test]
fn the_read_only_agent_reads_and_nothing_else_whatever_the_rules_allow() {
    let home = project();
    home.rules("home/.agent/config.json", &[("*", "*", "allow")]);
    let tools = |agent: &[&str]| {
        let output = run(&home, &[&["tools", "--json"], agent].concat()).json();
        let list = output["tools"].as_array().expect("tools").clone();
        let allowed = list.iter().filter(|tool| tool["effect"] == "allow");
        allowed.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert!(tools(&[]).contains(&"write_file".to_owned()));
    assert_eq!(tools(&["--agent", "full"]), tools(&[]));
    assert_eq!(tools(&["--agent", "read-only"]), ["load_skill", "read_file", "list_dir", "grep"]);
    let write = call("write_file", &json!({"path": "out.txt", "content": "x"}));
    let replies = json!([write, answer("tried")]);
    home.write("project/model.json", json!({ "replies": replies }).to_string());
    let flags = ["--agent", "read-only", "--yes", "--allow", "write_file"];
    let model = ["--model", "scripted:model.json", "write it"];
    run(&home, &[&["run"], &flags[..], &model[..]].concat());
    assert!(!home.project().join("out.txt").exists());
    if holds_scripts(&home) {
        let rules = ["explain", "--json", "run_script", "scripts/summarise.sh"];
        let skill = ["--skill", "csv-summary", "--agent", "read-only"];
        assert_eq!(run(&home, &[&rules[..], &skill[..]].concat()).json()["effect"], "deny");
    }
}

#[test]
fn a_project_narrows_agents_and_never_widens_them() {
    let home = with_agents();
    let wide = json!([{"permission": "*", "pattern": "*", "effect": "allow"}]);
    let agents = json!({
        "guest": {"permissions": wide, "budgets": {"turns": 1000}},
        "read-only": {"permissions": wide},
        "full": {"permissions": {"skill": {"report": "deny"}}},
        "reviewer": {"permissions": {"write_file": {"*": "deny"}}},
    });
    home.write("project/.agent/config.json", json!({ "agents": agents }).to_string());
    assert_eq!(effect(&home, &["load_skill", "internal-billing", "--agent", "guest"]), "deny");
    assert_eq!(effect(&home, &["write_file", "a.txt", "--agent", "read-only"]), "deny");
    assert_eq!(effect(&home, &["load_skill", "report", "--agent", "full"]), "deny");
    assert_eq!(effect(&home, &["write_file", "a.txt", "--agent", "reviewer"]), "deny");
    assert_eq!(effect(&home, &["load_skill", "report"]), "allow", "without the agent");
    // The project chooses no model for anyone.
    let agents = json!({"x": {"model": "openai:m"}});
    home.write("project/.agent/config.json", json!({ "agents": agents }).to_string());
    let output = run(&home, &["catalog", "--agent", "x"]);
    assert!(
        output.stderr.contains("`agents.x.model` cannot be set in a project's file"),
        "{output:?}"
    );
}

#[test]
fn an_agent_has_its_own_model_and_budgets() {
    let home = project();
    let file = home.write("home/model.json", json!({"replies": [answer("mine")]}).to_string());
    let turn = json!({"action": {"type": "search_skills", "query": "x"}});
    let loops =
        home.write("home/loops.json", json!({"rules": [{"when": {}, "reply": turn}]}).to_string());
    let model = |file: &std::path::Path| format!("scripted:{}", file.display());
    let agents = json!({
        "own": {"model": model(&file)},
        "short": {"model": model(&loops), "budgets": {"turns": 2}},
        "long": {"model": model(&loops), "budgets": {"turns": 500}},
    });
    home.write(
        "home/.agent/config.json",
        json!({ "agents": agents, "budgets": {"turns": 2} }).to_string(),
    );
    let output = run(&home, &["run", "--agent", "own", "hello"]);
    assert_eq!(output.stdout.trim(), "mine", "{output:?}");
    for agent in ["short", "long"] {
        let output = run(&home, &["run", "--agent", agent, "hello"]);
        assert_eq!(output.code, 4, "{agent}: {output:?}");
    }
    let output = run(&home, &["run", "--agent", "own", "--model", "router", "hello"]);
    assert_ne!(output.stdout.trim(), "mine", "the flag comes first: {output:?}");
}

#[test]
fn an_unknown_agent_is_an_error_with_the_nearest_name_and_resume_keeps_the_agent() {
    let home = with_agents();
    for args in [
        &["run", "--agent", "gest", "x"][..],
        &["chat", "--agent", "gest"],
        &["catalog", "--agent", "gest"],
        &["search", "--agent", "gest", "x"],
        &["tools", "--agent", "gest"],
        &["explain", "--agent", "gest", "read_file", "x"],
    ] {
        let output = run(&home, args);
        assert_eq!(output.code, 2, "{args:?}: {output:?}");
        assert!(output.stderr.contains("did you mean `guest`?"), "{args:?}: {output:?}");
    }
    let write = call("write_file", &json!({"path": "out.txt", "content": "x"}));
    let fault = json!({"fault": "unauthorized"});
    home.write("project/model.json", json!({"replies": [fault]}).to_string());
    let flags = ["--agent", "small", "--model", "scripted:model.json", "write it"];
    assert_eq!(run(&home, &[&["run"], &flags[..]].concat()).code, 1);
    home.write("project/model.json", json!({"replies": [write, answer("tried")]}).to_string());
    let output = run(&home, &["resume", "last", "--allow", "write_file"]);
    assert!(!home.project().join("out.txt").exists(), "{output:?}");
    // An agent that is gone does not mean "no rules".
    home.write("home/.agent/config.json", "{}");
    let flags = ["--model", "scripted:model.json"];
    let output = run(&home, &[&["resume", "last"], &flags[..]].concat());
    assert!(output.code != 0, "{output:?}");
}

#[test]
fn skills_can_be_switched_off_as_a_whole() {
    let home = with_agents();
    for (file, key) in [
        ("home/.agent/config.json", "enable_skills"),
        ("home/.agent/config.json", "enableSkills"),
        ("project/.agent/config.json", "enableSkills"),
    ] {
        let _ = std::fs::remove_file(home.project().join(".agent/config.json"));
        home.write("home/.agent/config.json", "{}");
        assert!(run(&home, &["catalog"]).stdout.contains("report"));
        home.write(file, json!({ key: false }).to_string());
        assert!(!run(&home, &["catalog"]).stdout.contains("report"), "{file} {key}");
        let list = run(&home, &["list"]);
        assert!(list.stderr.contains("skills are switched off as a whole"), "{list:?}");
        let found = run(&home, &["search", "--json", "revenue report"]).json();
        assert_eq!(found["results"].as_array().map(Vec::len), Some(0), "{file} {key}");
        assert_eq!(effect(&home, &["load_skill", "report"]), "deny");
        // A project cannot switch them on again.
        if file.starts_with("home") {
            home.write("project/.agent/config.json", json!({ key: true }).to_string());
            assert_eq!(effect(&home, &["load_skill", "report"]), "deny");
        }
    }
}

#[test]
fn awareness_and_tool_print_the_lines_of_the_first_design() {
    let home = project();
    let user = "home/.claude/skills/my-skill";
    home.skill(user, "my-skill", "A helpful skill for doing things");
    home.write(&format!("{user}/script.py"), "print(1)\n");
    home.write(&format!("{user}/templates/page.html"), "<p>\n");
    let own = "project/.claude/skills/project-skill";
    home.skill(own, "project-skill", "Project-specific skill");
    let path = home.project().join(".claude/skills/project-skill");
    let awareness = run(&home, &["catalog", "--format", "awareness"]).stdout;
    let expected = "## Available Skills\n\nThe following skills are available. Use Bash to read \
                    SKILL.md for detailed instructions.\n\n";
    assert!(awareness.starts_with(expected), "{awareness}");
    let first = "- **my-skill** (user)\n  Description: A helpful skill for doing things\n  \
                 Path: ~/.claude/skills/my-skill/\n  Files: SKILL.md, script.py, templates/\n\n";
    let second = format!(
        "- **project-skill** (project)\n  Description: Project-specific skill\n  Path: {}/\n  \
         Files: SKILL.md\n\n",
        path.display()
    );
    assert!(awareness.contains(first) && awareness.contains(&second), "{awareness}");
    let tool = run(&home, &["catalog", "--format", "tool"]).stdout;
    let expected = "## Available Skills\n\nUse the `skill` tool to load detailed instructions for any \
                    skill.\n\n";
    assert!(tool.starts_with(expected), "{tool}");
    assert!(tool.contains("- **my-skill**: A helpful skill for doing things\n"), "{tool}");
    assert!(tool.contains("- **project-skill**: Project-specific skill\n"), "{tool}");
}

#[test]
fn every_command_that_takes_an_agent_helps_with_its_name() {
    let home = with_agents();
    for args in [
        &["run", "hello"][..],
        &["chat"],
        &["catalog"],
        &["search", "report"],
        &["explain", "read_file", "a.md"],
        &["tools"],
        &["list"],
    ] {
        let output = run(&home, &[args, &["--agent", "gest"]].concat());
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}: {output:?}");
        let expected = "error: unknown agent `gest`\nhelp: did you mean `guest`?\n";
        assert_eq!(output.stderr, expected, "{args:?}");
        let help = run(&home, &[args[0], "--help"]).stdout;
        assert!(help.contains("--agent <NAME>"), "{args:?}");
    }
    let tools = run(&home, &["tools", "--json", "--agent", "read-only"]).json().to_string();
    assert!(tools.contains("\"deny\"") && tools.contains("agent read-only"), "{tools}");
}

#[test]
fn a_list_for_an_agent_is_what_it_may_load() {
    let home = with_agents();
    let all = run(&home, &["list"]).stdout;
    assert!(all.contains("internal-billing") && all.contains("report"), "{all}");
    for args in [&["list", "--agent", "guest"][..], &["list", "--agent", "guest", "--json"]] {
        let output = run(&home, args);
        assert_eq!(output.code, 0, "{output:?}");
        let skills = output.stdout.split("\"report\"").next().unwrap_or_default();
        assert!(!skills.contains("internal-") && skills.contains("report"), "{output:?}");
    }
    let note = run(&home, &["list", "--agent", "guest"]).stderr;
    assert!(note.contains("2 that `guest` may not load"), "{note}");
}

#[test]
fn every_setting_of_an_agent_is_shown_with_its_origin() {
    let home = project();
    home.write(
        "home/.agent/config.json",
        "{\n\"budgets\": {\"turns\": 9},\n\"agents\": {\n\"a.b\": {\n\"model\": \"router\",\n\"budgets\": {\
         \n\"turns\": 5,\n\"tokens\": 900\n},\n\"permissions\": [\n{\"permission\": \"write_file\", \"pattern\":          \"*\", \"effect\": \"deny\"}]},\n\"none\": {}\n}}\n",
    );
    home.write(
        "project/.agent/config.json",
        "{\"agents\": {\n\"a.b\": {\"permissions\": {\n\"skill\": {\n\"internal-*\": \"deny\"}},\n\
         \"budgets\": {\n\"turns\": 7,\n\"tool_calls\": 50,\n\"script_runs\": 0}}}}\n",
    );
    let shown = run(&home, &["config", "--json"]).json();
    let rows = shown["settings"].as_array().expect("settings").iter();
    let rows =
        rows.filter(|row| row["key_path"].as_str().is_some_and(|it| it.starts_with("agents")));
    let rows: Vec<Value> = rows
        .map(|row| {
            let origin = row["origin"].as_str().unwrap_or_default();
            let file = match origin {
                _ if origin.contains("/home/.agent") => "user",
                _ if origin.contains("/project/.agent") => "project",
                other => other,
            };
            let overruled = row["overruled"].get("value").cloned().unwrap_or_default();
            json!([row["key_path"], row["value"], file, row["line"], overruled])
        })
        .collect();
    let rule = json!({"permission": "write_file", "pattern": "*", "effect": "deny"});
    let key = |key: &str| format!("agents.\"a.b\".{key}");
    let expected = [
        json!([key("permissions[0]"), rule, "user", 11, null]),
        json!([key("model"), "router", "user", 5, null]),
        json!([key("permissions.skill.\"internal-*\""), "deny", "project", 4, null]),
        json!([key("budgets.turns"), 5, "user", 7, 7]),
        json!([key("budgets.tool_calls"), 30, "default", null, 50]),
        json!([key("budgets.script_runs"), 0, "project", 8, null]),
        json!([key("budgets.tokens"), 900, "user", 8, null]),
        json!(["agents.none", {}, "user", 12, null]),
    ];
    assert_eq!(rows, expected);
    // What is shown can be typed.
    let set = run(&home, &["config", "set", &key("budgets.turns"), "3"]);
    assert_eq!(set.code, 0, "{set:?}");
    let page = run(&home, &["config"]).stdout;
    let row = page.lines().find(|line| line.starts_with(&key("budgets.turns"))).expect("a row");
    assert!(row.contains(" 3 ") && row.ends_with("/home/.agent/config.json:7"), "{row}");
    let wrong = run(&home, &["config", "set", "agents.x.budgets.turn", "3"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("did you mean `turns`?"), "{wrong:?}");
}

#[test]
fn a_spent_budget_is_said_by_the_setting_that_raises_it() {
    let home = project();
    let turn = json!({"action": {"type": "search_skills", "query": "x"}});
    let read = call("read_file", &json!({"path": "README.md"}));
    let loops =
        home.write("home/loops.json", json!({"rules": [{"when": {}, "reply": turn}]}).to_string());
    let reads =
        home.write("home/reads.json", json!({"rules": [{"when": {}, "reply": read}]}).to_string());
    let model = |file: &std::path::Path| format!("scripted:{}", file.display());
    let (loops, reads) = (model(&loops), model(&reads));
    let user = "{\n\"agents\": {\"mine\": {\"budgets\": {\n\"turns\": 2}}}\n}";
    home.write("home/.agent/config.json", user);
    let project = "{\"agents\": {\"theirs\": {\"budgets\": {\n\"tool_calls\": 0}}}}";
    home.write("project/.agent/config.json", project);
    let cases = [
        (
            &["--agent", "mine"][..],
            &loops,
            "`agents.mine.budgets.turns` (USER:3) allows 2 turns, and 2 are used",
            "`metier config set agents.mine.budgets.turns 4` allows more; then run it again",
        ),
        (
            &["--agent", "theirs"],
            &reads,
            "`agents.theirs.budgets.tool_calls` (PROJECT:2) allows 0 tool calls, and 0 are used",
            "raise `agents.theirs.budgets.tool_calls` in PROJECT:2, and run it again",
        ),
        (
            &["--max-turns", "1"],
            &loops,
            "`--max-turns` allows 1 turn, and 1 is used",
            "give `--max-turns` more, or leave it out, and run it again",
        ),
    ];
    for (args, model, message, help) in cases {
        let place = |text: &str| {
            text.replace(&home.path().join("home/.agent/config.json").display().to_string(), "USER")
                .replace(
                    &home.path().join("project/.agent/config.json").display().to_string(),
                    "PROJECT",
                )
        };
        let output = run(&home, &[&["run", "--model", model, "hello"], args].concat());
        let stderr = place(&output.stderr);
        assert_eq!(output.code, 4, "{args:?}: {output:?}");
        assert!(stderr.contains(&format!("ended budget_exhausted: {message}")), "{stderr}");
        assert!(stderr.contains(&format!("help: {help}\n")), "{stderr}");
        assert_eq!(
            stderr.matches("allows").count(),
            1 + help.matches("allows").count(),
            "{stderr}"
        );
        let show = place(&run(&home, &["show", "last"]).stdout);
        assert!(show.contains(message), "{show}");
        let runs = run(&home, &["runs", "--json"]).json();
        let said = |event: &Value| place(event["message"].as_str().unwrap_or_default());
        assert!(said(&runs["runs"][0]).starts_with(message), "{runs}");
        let output = run(&home, &[&["run", "--json", "--model", model, "hello"], args].concat());
        let events =
            output.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let events: Vec<Value> = events.collect();
        let spent = events.iter().find(|event| event["type"] == "budget.spent").expect("a budget");
        let key = message.split('`').nth(1);
        assert_eq!(spent["setting"]["key"].as_str(), key, "{spent}");
        assert_eq!((&spent["limit"], &spent["used"]), (&spent["used"], &spent["limit"]), "{spent}");
        assert!(said(events.last().expect("an end")).starts_with(message), "{events:?}");
        assert!(place(&output.stderr).contains(help), "{output:?}");
    }
    // More turns than the agent's are cut, and that names its setting.
    let args = ["run", "--agent", "mine", "--max-turns", "9", "--model", &loops, "hello"];
    let stderr = run(&home, &args).stderr;
    let line = "`--max-turns 9` is more than `agents.mine.budgets.turns` allows: 2 turns";
    assert!(stderr.contains(line), "{stderr}");
}
