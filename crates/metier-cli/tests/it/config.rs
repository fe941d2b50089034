//! `metier config`: what counts and where each value came from, what a project may not change, and
//! what a broken file does to every command.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{document, json, keys, run, run_in, shown};

fn setting<'a>(shown: &'a Value, key: &str) -> &'a Value {
    let settings = shown["settings"].as_array().expect("settings");
    settings.iter().find(|row| row["key_path"] == key).unwrap_or_else(|| panic!("{key}: {shown}"))
}

#[test]
fn a_configuration_that_is_a_link_to_nowhere_is_not_the_same_as_none() {
    let home = TestHome::new();
    home.write("home/.agent/x", "");
    let link = home.path().join("home/.agent/config.json");
    std::os::unix::fs::symlink("nowhere.json", link).expect("links");
    let output = run(&home, &["list", "--json"]);
    assert_eq!(document(&home, &output, 1)["error"]["code"], "config-unreadable");
}

#[test]
fn the_defaults() {
    let home = TestHome::new();
    insta::assert_snapshot!(shown(&home, &run(&home, &["config"])), @r#"
    exit: 0
    ---- stdout
    Files
      managed  /etc/metier/config.json (missing)
      user     [T]/home/.agent/config.json (missing)
      project  [T]/project/.agent/config.json (missing)

    SETTING                                       VALUE     FROM
    skill_roots                                   []        default
    profile                                       "strict"  default
    model.provider                                "router"  default
    model.name                                    null      default
    model.base_url                                null      default
    model.key_env                                 null      default
    model.key_command                             null      default
    model.plan                                    "auto"    default
    model.params                                  {}        default
    execution.require_approval_for                []        default
    execution.timeout_s                           60        default
    execution.max_output_chars                    12000     default
    execution.env                                 []        default
    execution.require_sandbox                     true      default
    execution.min_tier                            "medium"  default
    execution.always_expires_s                    null      default
    execution.allowed_tools_approve               false     default
    security.max_skill_body_lines                 500       default
    security.max_skill_body_chars                 40000     default
    security.over_long_body                       "trim"    default
    security.block_angle_brackets_in_frontmatter  true      default
    security.follow_symlinks                      true      default
    security.max_frontmatter_lines                200       default
    security.max_frontmatter_line_chars           500       default
    security.max_frontmatter_bytes                65536     default
    security.max_description_chars                8192      default
    security.max_walk_depth                       6         default
    security.max_walk_entries                     1000000   default
    permissions                                   []        default
    permission_examples                           []        default
    agents                                        {}        default
    enable_skills                                 true      default
    skills                                        {}        default
    sources.allow                                 []        default
    sources.deny                                  []        default
    sources.min_release_age                       null      default
    budgets.turns                                 12        default
    budgets.tool_calls                            30        default
    budgets.script_runs                           10        default
    budgets.wall_s                                null      default
    budgets.tokens                                null      default
    budgets.skills_a_turn                         2         default
    catalog.format                                "lines"   default
    catalog.budget_tokens                         4000      default
    trusted_keys                                  []        default

    ---- stderr
    "#);
    assert_eq!(run(&home, &["config", "show"]), run(&home, &["config"]));
}

#[test]
fn each_value_has_its_file_and_line_and_a_project_cannot_loosen_a_guard() {
    let home = TestHome::new();
    home.write(
        "home/.agent/config.json",
        "{\n  // mine\n  \"profile\": \"lenient\",\n  \"security\": {\"max_walk_depth\": 3,},\n}\n",
    );
    home.write(
        "project/.agent/config.json",
        "{\n  \"security\": {\n    \"max_walk_depth\": 9,\n    \"max_skill_body_lines\": 100\n  }\n}\n",
    );
    let output = run(&home, &["config"]);
    let text = shown(&home, &output);
    let lines: Vec<&str> = text.lines().filter(|line| !line.ends_with(" default")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    exit: 0
    ---- stdout
    Files
      managed  /etc/metier/config.json (missing)
      user     [T]/home/.agent/config.json
      project  [T]/project/.agent/config.json

    SETTING                                       VALUE      FROM
    profile                                       "lenient"  [T]/home/.agent/config.json:3
    security.max_skill_body_lines                 100        [T]/project/.agent/config.json:4
    security.max_walk_depth                       3          [T]/home/.agent/config.json:4
    warning: [T]/project/.agent/config.json:3 sets security.max_walk_depth = 9, which would loosen a guard; it is ignored

    ---- stderr
    "#);
    let document = json(&home, &["config", "--json"]);
    assert_eq!(
        document["files"],
        json!([
            { "scope": "managed", "path": "/etc/metier/config.json", "exists": false },
            { "scope": "user", "path": "[T]/home/.agent/config.json", "exists": true },
            { "scope": "project", "path": "[T]/project/.agent/config.json", "exists": true },
        ])
    );
    assert_eq!(
        setting(&document, "security.max_walk_depth"),
        &json!({
            "key_path": "security.max_walk_depth",
            "value": 3,
            "origin": "[T]/home/.agent/config.json",
            "line": 4,
            "overruled": { "value": 9, "origin": "[T]/project/.agent/config.json", "line": 3 },
        })
    );
}

#[test]
fn a_project_can_ask_for_the_strict_profile_but_not_for_the_lenient_one() {
    let home = TestHome::new();
    home.write("project/.agents/skills/quiet/SKILL.md", "---\nname: quiet\n---\nDo it.\n");
    home.write("project/.agent/config.json", r#"{"profile": "lenient"}"#);
    let profile = json(&home, &["config", "--json"]);
    assert_eq!(setting(&profile, "profile")["value"], "strict");
    assert_eq!(setting(&profile, "profile")["overruled"]["value"], "lenient");
    assert!(!run(&home, &["list"]).stdout.contains("quiet"));
    home.write("home/.agent/config.json", r#"{"profile": "lenient"}"#);
    assert!(run(&home, &["list"]).stdout.contains("quiet"));
}

#[test]
fn a_subdirectory_uses_the_projects_file() {
    let home = TestHome::new();
    home.write("project/.agent/config.json", r#"{"security": {"max_walk_depth": 2}}"#);
    std::fs::create_dir_all(home.project().join("a/b")).expect("directories");
    let output = run_in(&home, "project/a/b", &["config", "--json"]);
    let shown = document(&home, &output, 0);
    assert_eq!(setting(&shown, "security.max_walk_depth")["value"], 2);
}

#[test]
fn a_broken_file_is_named_with_line_and_nearest_key() {
    let home = TestHome::new();
    home.write(
        "project/.agent/config.json",
        "{\n  \"security\": {\n    \"follow_symlink\": true\n  }\n}\n",
    );
    insta::assert_snapshot!(shown(&home, &run(&home, &["list"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: [T]/project/.agent/config.json:3:5: unknown key `security.follow_symlink`
    help: did you mean `follow_symlinks`?
    ");
    let error = document(&home, &run(&home, &["list", "--json"]), 1);
    assert_eq!(
        error,
        json!({ "error": {
            "code": "config-unknown-key",
            "message": "[T]/project/.agent/config.json:3:5: unknown key `security.follow_symlink`",
            "help": "did you mean `follow_symlinks`?",
            "errors": [{
                "code": "config-unknown-key",
                "file": "[T]/project/.agent/config.json",
                "line": 3,
                "column": 5,
                "message": "unknown key `security.follow_symlink`",
                "help": "did you mean `follow_symlinks`?",
            }],
        }})
    );
}

#[test]
fn several_faults_are_reported_at_once() {
    let home = TestHome::new();
    home.write(
        "home/.agent/config.json",
        "{\n  \"profil\": \"strict\",\n  \"security\": {\"max_walk_depth\": \"six\"}\n}\n",
    );
    insta::assert_snapshot!(shown(&home, &run(&home, &["config"])), @r#"
    exit: 1
    ---- stdout

    ---- stderr
    error: [T]/home/.agent/config.json:2:3: unknown key `profil`
           [T]/home/.agent/config.json:3:34: `security.max_walk_depth` must be a whole number, but it is the string "six" (How many levels below a root are searched for skills.)
    help: did you mean `profile`?
    "#);
    let file = "[T]/home/.agent/config.json";
    assert_eq!(
        document(&home, &run(&home, &["config", "--json"]), 1),
        json!({ "error": {
            "code": "config-unknown-key",
            "message": "[T]/home/.agent/config.json:2:3: unknown key `profil`",
            "help": "did you mean `profile`?",
            "errors": [
                {
                    "code": "config-unknown-key",
                    "file": file,
                    "line": 2,
                    "column": 3,
                    "message": "unknown key `profil`",
                    "help": "did you mean `profile`?",
                },
                {
                    "code": "config-wrong-type",
                    "file": file,
                    "line": 3,
                    "column": 34,
                    "message": "`security.max_walk_depth` must be a whole number, but it is the string \"six\"",
                    "help": "How many levels below a root are searched for skills.",
                },
            ],
        }})
    );
}

#[test]
fn every_kind_of_broken_file_has_its_code() {
    for (text, code) in [
        ("{", "config-syntax"),
        ("{\"profile\": \"strict\" \"x\": 1}", "config-syntax"),
        ("[]", "config-wrong-type"),
        ("{\"nonsense\": 1}", "config-unknown-key"),
        ("{\"profile\": 3}", "config-wrong-type"),
        ("{\"profile\": \"severe\"}", "config-bad-value"),
        ("{\"security\": {\"max_walk_depth\": 0}}", "config-bad-value"),
        ("{\"profile\": \"strict\", \"profile\": \"lenient\"}", "config-duplicate-key"),
        ("{\"skills\": {\"a\": {}}}", "config-missing-key"),
        ("{\"trusted_keys\": []}", "config-not-allowed-in-project"),
    ] {
        let home = TestHome::new();
        home.write("project/.agent/config.json", text);
        let error = document(&home, &run(&home, &["config", "--json"]), 1);
        assert_eq!(error["error"]["code"], code, "{text}: {error}");
        assert_eq!(keys(&error["error"]), ["code", "errors", "help", "message"], "{text}");
        assert_eq!(error["error"]["errors"][0]["code"], code, "{text}: {error}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_a_missing_one() {
    for unreadable in [&b"\xff\xfe{}"[..], b"{\"profile\": \"caf\xe9\"}"] {
        let home = TestHome::new();
        home.write("home/.agent/config.json", unreadable);
        let error = document(&home, &run(&home, &["list", "--json"]), 1);
        assert_eq!(error["error"]["code"], "config-unreadable", "{error}");
        assert_eq!(error["error"].get("errors"), None, "{error}");
    }
    let home = TestHome::new();
    std::fs::create_dir_all(home.home().join(".agent/config.json")).expect("directories");
    let error = document(&home, &run(&home, &["list", "--json"]), 1);
    assert_eq!(error["error"]["code"], "config-unreadable", "{error}");
}

#[test]
fn a_broken_file_stops_every_command_that_would_act_on_it_and_no_other() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "Fine.");
    home.write("home/.agent/config.json", "{\"profil\": \"strict\"}");
    for args in [
        &["list"][..],
        &["inspect", "pdf"],
        &["search", "pdf"],
        &["check"],
        &["roots"],
        &["refresh"],
        &["config"],
        &["config", "show"],
        &["new", "csv", "-d", "Report."],
        &["disable", "pdf"],
        &["enable", "pdf"],
        &["delete", "--yes", "pdf"],
        &["restore", "pdf", "--yes"],
        &["open", "--print", "pdf"],
    ] {
        let output = run(&home, args);
        assert_eq!((output.code, &*output.stdout), (1, ""), "{args:?}");
        assert!(output.stderr.contains("did you mean `profile`?"), "{output:?}");
    }
    for args in [
        &["config", "schema"][..],
        &["completions", "bash"],
        &["man"],
        &["--version"],
        &["--help"],
        &["list", "--help"],
    ] {
        let output = run(&home, args);
        assert_eq!((output.code, &*output.stderr), (0, ""), "{args:?}");
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn the_schema_is_json_with_a_property_for_every_key() {
    let home = TestHome::new();
    let output = run(&home, &["config", "schema"]);
    assert_eq!((output.code, &*output.stderr), (0, ""));
    let schema = output.json();
    assert_eq!(
        keys(&schema["properties"]),
        [
            "$schema",
            "agents",
            "budgets",
            "catalog",
            "enableSkills",
            "enable_skills",
            "execution",
            "model",
            "permission_examples",
            "permissions",
            "profile",
            "security",
            "skill_roots",
            "skills",
            "sources",
            "trusted_keys"
        ]
    );
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(run(&home, &["config", "schema", "--json"]).json(), schema);
}

#[test]
fn an_empty_list_is_not_added_and_does_not_hide_a_wrong_key() {
    let home = TestHome::new();
    let wrong = run(&home, &["config", "add", "nonsense.key", "[]"]);
    assert!(wrong.code != 0 && wrong.stderr.contains("nonsense"), "{wrong:?}");
    let empty = run(&home, &["config", "add", "sources.allow", "[]"]);
    assert!(empty.code != 0 && empty.stderr.contains("allow"), "{empty:?}");
    assert!(!home.home().join(".agent/config.json").exists());
}
