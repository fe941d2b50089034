//! `metier explain`, `permissions`, `trust` and `untrust`: the same engine as every way in, with the
//! rules of the files, the skills on disk and the user's word in the state folder.

use std::process::Stdio;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{METIER, document, json, keys, run, run_in, shown};

const DEPLOY: &str = "project/.agent/skills/deploy";

/// A project with a skill and rules of both files.
fn project() -> TestHome {
    let home = TestHome::new();
    home.write(
        "project/.agent/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Ship it.\nallowed-tools: Read, Bash(git:*)\n---\n# Deploy\n",
    );
    home.write("project/.agent/skills/deploy/scripts/ship.sh", "echo shipped\n");
    home.skill("home/.agent/skills/pdf", "pdf", "Fill forms.");
    home.write("home/.agent/skills/pdf/scripts/fill.py", "print()\n");
    home.write(
        "home/.agent/config.json",
        "{ \"permissions\": [\n  \
         { \"permission\": \"run_command\", \"pattern\": \"*\", \"effect\": \"ask\" },\n  \
         { \"permission\": \"run_command\", \"pattern\": \"git *\", \"effect\": \"allow\" }\n] }\n",
    );
    home.write(
        "project/.agent/config.json",
        "{ \"permissions\": [\n  \
         { \"permission\": \"run_command\", \"pattern\": \"git push\", \"effect\": \"deny\" }\n] }\n",
    );
    home
}

fn effect(home: &TestHome, args: &[&str]) -> String {
    let all = [&["explain", "--json"], args].concat();
    json(home, &all)["effect"].as_str().expect("an effect").to_owned()
}

#[test]
fn a_decision_is_explained_with_the_rules_that_won_and_lost() {
    let home = project();
    insta::assert_snapshot!(shown(&home, &run(&home, &["explain", "run_command", "git", "push"])), @"
    exit: 0
    ---- stdout
    deny  `run_command` of `git push` is refused: by the rule deny `run_command` `git push` ([T]/project/.agent/config.json:2)
      user      allow  by the rule allow `run_command` `git *` ([T]/home/.agent/config.json:3)
                       overruled: ask `run_command` `*` ([T]/home/.agent/config.json:2)
      project   deny   by the rule deny `run_command` `git push` ([T]/project/.agent/config.json:2)

    ---- stderr
    help: change the rule, if it is yours to change
    ");
    insta::assert_snapshot!(shown(&home, &run(&home, &["explain", "write_file", "a.txt"])), @"
    exit: 0
    ---- stdout
    deny  `write_file` of `[T]/project/a.txt` is refused: `write_file` is off by default; add an allow or ask rule
      default   deny   `write_file` is off by default; add an allow or ask rule

    ---- stderr
    help: rules are under `permissions` in ~/.agent/config.json
    ");
    insta::assert_snapshot!(
        shown(&home, &run(&home, &["explain", "run_command", "--skill", "deploy", "--", "rm", "-rf", "x"])),
        @"
    exit: 0
    ---- stdout
    deny  `run_command` of `rm -rf x` is refused: the allowed-tools of project:deploy list only `Read, Bash(git:*)`
      user      ask    by the rule ask `run_command` `*` ([T]/home/.agent/config.json:2)
      skill     deny   the allowed-tools of project:deploy list only `Read, Bash(git:*)`

    ---- stderr
    help: the skill's author decides what `allowed-tools` lists
    "
    );
}

#[test]
fn the_document_has_the_effect_and_the_layers() {
    let home = project();
    let report = json(&home, &["explain", "run_command", "--json", "--", "git", "push", "-f"]);
    assert_eq!(
        keys(&report),
        ["digest", "effect", "help", "layers", "permission", "reason", "request", "subject"]
    );
    assert_eq!(report["effect"], "deny");
    assert_eq!(report["subject"], json!({"command": ["git", "push", "-f"]}));
    let layers: Vec<_> = report["layers"].as_array().expect("layers").iter().collect();
    assert_eq!(layers.len(), 2);
    assert_eq!((&layers[0]["layer"], &layers[0]["effect"]), (&json!("user"), &json!("allow")));
    assert_eq!(layers[0]["rule"]["origin"], "[T]/home/.agent/config.json");
    assert_eq!(layers[0]["rule"]["line"], 3);
    assert_eq!(layers[0]["losers"][0]["line"], 2);
    assert_eq!((&layers[1]["layer"], &layers[1]["effect"]), (&json!("project"), &json!("deny")));
    assert!(report["digest"].as_str().expect("a digest").starts_with("sha256:"));
}

#[test]
fn defaults_ceilings_and_the_floor_decide_as_in_the_documentation() {
    let home = project();
    home.write("project/.env", "KEY=1\n");
    home.write("home/.ssh/config", "Host x\n");
    for (args, expected) in [
        (&["read_file", "src/main.rs"][..], "allow"),
        (&["list_dir", "."], "allow"),
        (&["read_file", "/etc/hosts"], "ask"),
        (&["read_file", ".env"], "deny"),
        (&["read_file", "~/.ssh/config"], "deny"),
        (&["read_file", "../home/.ssh/config"], "deny"),
        (&["read_file", ".agent/skills/deploy/SKILL.md"], "deny"),
        (&["read_file", ".agent/skills/deploy/SKILL.md", "--skill", "deploy"], "allow"),
        (&["write_file", "a.txt"], "deny"),
        (&["network_request", "https://example.com/a"], "deny"),
        (&["run_command", "git", "log"], "allow"),
        (&["run_command", "git log"], "allow"),
        (&["run_command", "make"], "ask"),
        (&["run_command", "make", "--skill", "deploy"], "deny"),
        (&["grep", "src", "--skill", "deploy"], "deny"),
        (&["run_script", "scripts/fill.py", "--skill", "pdf"], "ask"),
        (&["load_skill", "pdf"], "allow"),
        (&["load_skill", "deploy"], "ask"),
        (&["their_tool"], "deny"),
    ] {
        assert_eq!(effect(&home, args), expected, "{args:?}");
    }
}

#[test]
fn a_link_in_the_workspace_does_not_lead_around_the_floor() {
    let home = project();
    home.write("home/.ssh/id_ed25519", "key\n");
    std::os::unix::fs::symlink(home.home().join(".ssh"), home.project().join("docs"))
        .expect("links");
    assert_eq!(effect(&home, &["read_file", "docs/id_ed25519"]), "deny");
    std::os::unix::fs::symlink(home.home().join(".bashrc"), home.project().join("new"))
        .expect("links");
    let report = json(&home, &["explain", "write_file", "new", "--json"]);
    let layers = report["layers"].as_array().expect("layers");
    assert_eq!(layers.last().expect("a layer")["layer"], "floor", "{report}");
}

#[test]
fn a_request_that_says_too_little_or_needs_a_shell_is_a_mistake() {
    let home = project();
    for (args, code) in [
        (&["explain", "run_script", "scripts/ship.sh", "--json"][..], "usage"),
        (&["explain", "read_file", "--json"], "usage"),
        (&["explain", "load_skill", "--json"], "usage"),
        (&["explain", "run command", "--json"], "bad-permission"),
        (&["explain", "run_command", "git log; rm -rf x", "--json"], "shell-syntax"),
        (&["explain", "run_script", "../x.sh", "--skill", "deploy", "--json"], "usage"),
    ] {
        let error = document(&home, &run(&home, args), 2);
        assert_eq!(error["error"]["code"], code, "{args:?}");
    }
    insta::assert_snapshot!(shown(&home, &run(&home, &["explain", "wirte_file", "x"])), @"
    exit: 0
    ---- stdout
    deny  `wirte_file` of `x` is refused: `wirte_file` is off by default; add an allow or ask rule
      default   deny   `wirte_file` is off by default; add an allow or ask rule

    ---- stderr
    warning: unknown tool `wirte_file`; did you mean `write_file`?
    help: rules are under `permissions` in ~/.agent/config.json
    ");
}

#[test]
fn a_rule_that_cannot_be_used_stops_the_command() {
    let home = TestHome::new();
    home.write(
        "home/.agent/config.json",
        "{ \"permissions\": [\n{ \"permission\": \"run it\", \"pattern\": \"*\", \"effect\": \"deny\" } ] }\n",
    );
    insta::assert_snapshot!(shown(&home, &run(&home, &["explain", "grep", "."])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: [T]/home/.agent/config.json:2: `run it` is not a valid permission name
    help: a permission is one word, such as `run_script`
    ");
}

#[test]
fn trust_lets_scripts_run_until_the_skill_changes() {
    let home = project();
    let ship = ["run_script", "scripts/ship.sh", "--skill", "deploy"];
    assert_eq!(effect(&home, &ship), "deny");
    insta::assert_snapshot!(shown(&home, &run(&home, &["trust", "--yes"])), @"
    exit: 0
    ---- stdout
    trusted [T]/project: 1 skill
      project:deploy  (new)
        scripts: scripts/ship.sh
        tools: Read, Bash(git:*)

    ---- stderr
    to undo this: metier untrust
    ");
    // `allowed-tools` of the skill lists git only: trust is not the last word.
    let report = json(&home, &[&["explain", "--json"], &ship[..]].concat());
    let layers: Vec<&Value> = report["layers"].as_array().expect("layers").iter().collect();
    assert!(layers.iter().all(|layer| layer["layer"] != "trust"), "{report}");
    assert_eq!(effect(&home, &["load_skill", "deploy"]), "allow");

    home.write(&format!("{DEPLOY}/scripts/ship.sh"), "echo changed\n");
    let report = json(&home, &["explain", "load_skill", "deploy", "--json"]);
    assert_eq!(report["effect"], "ask");
    let reason = report["reason"].as_str().expect("a reason");
    assert!(reason.contains("has changed since"), "{reason}");
    insta::assert_snapshot!(shown(&home, &run(&home, &["trust", "--yes"])), @"
    exit: 0
    ---- stdout
    trusted [T]/project: 1 skill
      project:deploy  (changed)
        scripts: scripts/ship.sh
        tools: Read, Bash(git:*)
        changed: scripts/ship.sh
        --- scripts/ship.sh
        +++ scripts/ship.sh
        @@ -1 +1 @@
        -echo shipped
        +echo changed

    ---- stderr
    to undo this: metier untrust
    ");
    assert_eq!(effect(&home, &["load_skill", "deploy"]), "allow");

    home.skill("project/.agent/skills/added", "added", "Came later.");
    assert_eq!(effect(&home, &["load_skill", "added"]), "ask");

    insta::assert_snapshot!(shown(&home, &run_in(&home, "project/.agent", &["untrust"])), @"
    exit: 0
    ---- stdout
    [T]/project is no longer trusted

    ---- stderr
    ");
    assert_eq!(effect(&home, &["load_skill", "deploy"]), "ask");
    let again = json(&home, &["untrust", "--json"]);
    assert_eq!(again, json!({"folder": "[T]/project", "changed": false}));
}

#[test]
fn trust_is_kept_for_a_named_folder_and_listed() {
    let home = project();
    let trusted =
        document(&home, &run_in(&home, "home", &["trust", "--yes", "../project", "--json"]), 0);
    assert_eq!(keys(&trusted), ["digest", "folder", "followed", "left_out", "skills"]);
    assert_eq!(trusted["folder"], "[T]/project");
    assert_eq!(trusted["skills"][0]["id"], "project:deploy");
    assert_eq!(trusted["skills"][0]["path"], ".agent/skills/deploy");
    assert_eq!(trusted["skills"][0]["was"], "untrusted");
    let listed = json(&home, &["trust", "--list", "--json"]);
    assert_eq!(listed["folders"][0]["digest"], trusted["digest"]);
    let file = home.home().join(".local/state/metier/trust.json");
    assert!(file.exists(), "outside the project");
    let nothing = document(&home, &run(&home, &["trust", "--yes", "--json", ".git"]), 1);
    assert_eq!(nothing["error"]["code"], "nothing-to-trust");
    let gone = document(&home, &run(&home, &["untrust", "--json", "no/such/folder"]), 0);
    assert_eq!(gone["changed"], false);
}

#[test]
fn a_project_cannot_trust_itself() {
    let home = project();
    home.write(
        "project/.agent/trust.json",
        format!("[{{\"folder\": {:?}, \"skills\": {{}}, \"granted_at\": 1}}]", home.project()),
    );
    home.write("project/.local/state/metier/trust.json", "[]");
    assert_eq!(effect(&home, &["load_skill", "deploy"]), "ask");
}

#[test]
fn answers_are_listed_used_and_forgotten() {
    let home = project();
    let asked =
        json(&home, &["explain", "run_script", "scripts/fill.py", "--skill", "pdf", "--json"]);
    assert_eq!(asked["effect"], "ask");
    let skill = &asked["request"]["skill"];
    let answer = json!([{
        "id": "0123456789ab",
        "permission": "run_script",
        "covers": asked["request"]["remember"],
        "skill": skill["id"],
        "digest": skill["digest"],
        "scope": "everywhere",
        "granted_at": 1_700_000_000,
        "expires_at": null,
    }]);
    home.write("home/.local/state/metier/answers.json", answer.to_string());
    insta::assert_snapshot!(shown(&home, &run(&home, &["permissions"])), @"
    exit: 0
    ---- stdout
    ID            TOOL        SKILL     WHERE       GIVEN             UNTIL  WHAT
    0123456789ab  run_script  user:pdf  everywhere  2023-11-14 22:13  -      `user:pdf/scripts/fill.py`

    ---- stderr
    1 answer; to forget one: metier permissions forget ID
    ");
    let report =
        json(&home, &["explain", "run_script", "scripts/fill.py", "--skill", "pdf", "--json"]);
    assert_eq!(report["effect"], "allow");
    assert_eq!(report["waiver"]["remembered"]["id"], "0123456789ab");
    home.write("home/.agent/skills/pdf/scripts/fill.py", "print('changed')\n");
    let fill = ["run_script", "scripts/fill.py", "--skill", "pdf"];
    assert_eq!(effect(&home, &fill), "ask", "the script has changed");

    insta::assert_snapshot!(
        shown(&home, &run(&home, &["permissions", "forget", "0123456789ab"])),
        @"
    exit: 0
    ---- stdout
    forgotten 0123456789ab: you will be asked about `run_script` of `user:pdf/scripts/fill.py` again

    ---- stderr
    "
    );
    insta::assert_snapshot!(
        shown(&home, &run(&home, &["permissions", "forget", "0123456789ab"])),
        @"
    exit: 1
    ---- stdout

    ---- stderr
    error: no answer `0123456789ab` is remembered
    help: `metier permissions` lists the answers with their ids
    "
    );
    assert_eq!(json(&home, &["permissions", "list", "--json"]), json!({"answers": []}));
}

#[test]
fn records_that_cannot_be_read_stop_the_command() {
    let home = project();
    home.write("home/.local/state/metier/trust.json", "{");
    for args in [
        &["explain", "grep", ".", "--json"][..],
        &["trust", "--yes", "--json"],
        &["untrust", "--json"],
    ] {
        let error = document(&home, &run(&home, args), 1);
        assert_eq!(error["error"]["code"], "state-unreadable", "{args:?}");
    }
}

#[test]
fn many_that_trust_at_once_lose_nothing() {
    let home = TestHome::new();
    for at in 0..8 {
        home.skill(&format!("p{at}/.agent/skills/s"), "s", "A skill.");
    }
    let children: Vec<_> = (0..8)
        .map(|at| {
            let mut command = home.command(METIER);
            let folder = home.path().join(format!("p{at}"));
            command
                .args(["trust", "--yes"])
                .arg(folder)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.spawn().expect("starts")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("ends").success());
    }
    let listed = json(&home, &["trust", "--list", "--json"]);
    assert_eq!(listed["folders"].as_array().expect("folders").len(), 8);
}

#[test]
fn examples_beside_the_rules_hold_or_stop_the_command() {
    let home = TestHome::new();
    let config = |expect: &str| {
        format!(
            "{{\n\"permissions\": [\n{{ \"permission\": \"run_command\", \"pattern\": \"git *\", \"effect\": \"allow\" }}],\n\
             \"permission_examples\": [\n\
             {{ \"request\": \"run_command git log -1\", \"expect\": \"allow\" }},\n\
             {{ \"request\": \"run_command git push\", \"expect\": \"{expect}\" }} ] }}\n"
        )
    };
    home.write("home/.agent/config.json", config("allow"));
    for place in ["home", "project"] {
        assert_eq!(run_in(&home, place, &["explain", "grep", "."]).code, 0, "{place}");
    }
    home.write("home/.agent/config.json", config("ask"));
    let error = document(&home, &run(&home, &["explain", "grep", ".", "--json"]), 1);
    assert_eq!(error["error"]["code"], "example-failed");
    assert_eq!(error["error"]["errors"][0]["line"], 6);
    let message = error["error"]["message"].as_str().expect("a message");
    assert!(message.contains("expects ask, but the result is allow"), "{message}");
}
