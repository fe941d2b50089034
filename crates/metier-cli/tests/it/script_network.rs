//! The network of scripts: closed, unless a rule of the user about `script_network` opens it; and what
//! a trusted skill's `allowed-tools` approve where the user wants that.

use std::io::Read;
use std::net::TcpListener;

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_support::{
    answer, call, codes, events, holds_scripts, of_type, run_scripted, script, select,
};
use crate::support::run;

/// A server that counts who comes, and a skill whose script goes there.
struct Setup {
    home: TestHome,
    listener: TcpListener,
}

impl Setup {
    fn new(more: &str) -> Option<Self> {
        let home = TestHome::new();
        if !holds_scripts(&home) {
            return None;
        }
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        listener.set_nonblocking(true).expect("set");
        let port = listener.local_addr().expect("an address").port();
        home.write(
            "home/.agents/skills/call/SKILL.md",
            format!("---\nname: call\ndescription: Calls home.\n{more}---\n# Call\n"),
        );
        home.write(
            "home/.agents/skills/call/scripts/call.sh",
            format!(
                "#!/bin/bash\nif exec 3<>/dev/tcp/127.0.0.1/{port}; then\n  echo hello >&3\n  \
                 echo reached\nelse\n  echo closed\nfi\n"
            ),
        );
        Some(Self { home, listener })
    }

    fn user(&self, config: &Value) {
        self.home.write("home/.agent/config.json", config.to_string());
    }

    fn exec(&self, flags: &[&str]) -> Output {
        run(&self.home, &[&["exec", "call", "scripts/call.sh", "--json"], flags].concat())
    }

    /// What a script got through to us.
    fn heard(&self) -> Option<String> {
        let (mut stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(false).expect("set");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("reads");
        Some(text)
    }
}

fn rule(permission: &str, pattern: &str, effect: &str) -> Value {
    json!({"permission": permission, "pattern": pattern, "effect": effect})
}

#[test]
fn it_is_closed_until_a_rule_of_the_user_opens_it_for_the_script() {
    let Some(setup) = Setup::new("") else { return };
    let ran = setup.exec(&["--yes"]).json();
    assert_eq!((&ran["stdout"], &ran["network"]), (&json!("closed\n"), &json!("closed")));
    assert_eq!(setup.heard(), None);
    // Neither a rule about another script, nor one about hosts, nor a project's.
    let others = [rule("script_network", "user:other/*", "allow"), rule("network", "*", "allow")];
    setup.user(&json!({ "permissions": others }));
    let theirs = json!({"permissions": [rule("script_network", "*", "allow")]});
    setup.home.write("project/.agent/config.json", theirs.to_string());
    assert_eq!(setup.exec(&["--yes"]).json()["network"], "closed");
    assert_eq!(setup.heard(), None);

    setup.user(&json!({"permissions": [rule("script_network", "user:call/*", "allow")]}));
    let ran = setup.exec(&["--yes"]).json();
    assert_eq!((&ran["stdout"], &ran["network"]), (&json!("reached\n"), &json!("open")), "{ran}");
    assert_eq!(setup.heard().as_deref(), Some("hello\n"));
    // A project can take it away.
    let theirs = json!({"permissions": [rule("script_network", "*", "deny")]});
    setup.home.write("project/.agent/config.json", theirs.to_string());
    assert_eq!(setup.exec(&["--yes"]).json()["network"], "closed");
}

#[test]
fn a_rule_for_all_tools_opens_nothing_and_may_close() {
    let Some(setup) = Setup::new("") else { return };
    let named = || rule("script_network", "user:call/*", "allow");
    let cases = [
        (vec![rule("*", "*", "ask")], "closed", 3),
        (vec![rule("*", "*", "allow")], "closed", 0),
        (vec![rule("*", "user:call/*", "allow")], "closed", 0),
        (vec![rule("*script*", "*", "ask")], "closed", 3),
        // Opened by name, a general rule still asks about it or closes it, before or after.
        (vec![rule("*", "*", "allow"), named()], "open", 0),
        (vec![named(), rule("*", "*", "allow")], "open", 0),
        (vec![named(), rule("*", "*", "ask")], "open", 3),
        (vec![rule("*", "*", "ask"), named()], "open", 3),
        (
            vec![named(), rule("*network", "*", "deny"), rule("run_script", "*", "allow")],
            "closed",
            0,
        ),
    ];
    for (rules, network, alone) in cases {
        setup.user(&json!({ "permissions": rules }));
        let ran = setup.exec(&["--yes"]).json();
        assert_eq!(ran["network"], network, "{rules:?}");
        assert_eq!(setup.heard().is_some(), network == "open", "{rules:?}");
        let asked = setup.exec(&[]);
        assert_eq!(asked.code, alone, "{rules:?}: {asked:?}");
        let _ = setup.heard();
    }
}

#[test]
fn every_question_and_report_says_that_the_network_is_open() {
    let Some(setup) = Setup::new("") else { return };
    setup.user(&json!({"permissions": [rule("script_network", "*", "allow")]}));
    let said = "it runs with the network open";
    let exec = setup.exec(&[]);
    assert_eq!(exec.code, 3);
    assert!(exec.stdout.contains(said), "{exec:?}");
    let replies =
        json!([select(&["call"]), script("call", "scripts/call.sh", &[]), answer("That was it.")]);
    let asked = run_scripted(&setup.home, &replies, &["--no-input"]);
    assert_eq!(asked.code, 3);
    assert!(asked.stderr.contains(said), "{asked:?}");
    run_scripted(&setup.home, &replies, &["--yes"]);
    let events = events(&setup.home);
    for kind in ["policy.decided", "ask.opened"] {
        let report = of_type(&events, kind);
        let last = report.last().expect(kind);
        assert!(last["reason"].as_str().is_some_and(|why| why.contains(said)), "{kind}: {last}");
    }
    let finished = of_type(&events, "action.finished");
    assert_eq!(finished.last().expect("an end")["data"]["network"], "open");
    let args = ["explain", "run_script", "scripts/call.sh", "--skill", "call"];
    let explained = run(&setup.home, &args);
    assert!(explained.stdout.contains("with the network open: allow"), "{explained:?}");
    let document = run(&setup.home, &[&args[..], &["--json"]].concat()).json();
    assert_eq!(
        (&document["effect"], &document["network"]["effect"]),
        (&json!("ask"), &json!("allow"))
    );
}

#[test]
fn one_question_is_asked_about_both_and_an_approval_of_one_is_none_of_the_other() {
    let Some(setup) = Setup::new("") else { return };
    let digest = |output: &Output| {
        assert_eq!(output.code, 3, "{output:?}");
        let help = output.json()["error"]["help"].as_str().expect("help").to_owned();
        let words: Vec<&str> = help.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "--approve").expect("an approval");
        words[at + 1].to_owned()
    };
    let without = digest(&setup.exec(&[]));
    setup.user(&json!({"permissions": [rule("script_network", "*", "ask")]}));
    let refused = setup.exec(&["--approve", &without]);
    let with = digest(&refused);
    assert_ne!(with, without);
    assert!(refused.stdout.contains("script_network"), "it says what is asked: {refused:?}");
    assert_eq!(setup.heard(), None);
    let ran = setup.exec(&["--approve", &with]).json();
    assert_eq!((&ran["stdout"], &ran["answered"]), (&json!("reached\n"), &json!("approve")));
    assert_eq!(setup.heard().as_deref(), Some("hello\n"));
    assert_eq!(setup.exec(&["--approve", &with]).code, 3, "once is once");
}

#[test]
fn the_ceiling_of_a_skill_holds_for_the_network_too() {
    for (tools, network) in
        [("run_script", "closed"), ("run_script, script_network", "open"), ("Bash(bash:*)", "open")]
    {
        let Some(setup) = Setup::new(&format!("allowed-tools: {tools}\n")) else { return };
        setup.user(&json!({"permissions": [rule("script_network", "*", "allow")]}));
        assert_eq!(setup.exec(&["--yes"]).json()["network"], network, "{tools}");
    }
}

#[test]
fn a_model_gets_the_same_answer() {
    let Some(setup) = Setup::new("") else { return };
    let replies =
        json!([select(&["call"]), script("call", "scripts/call.sh", &[]), answer("That was it.")]);
    let run = |flags: &[&str]| run_scripted(&setup.home, &replies, flags);
    assert_eq!(run(&["--yes"]).code, 0);
    assert_eq!((codes(&events(&setup.home)), setup.heard()), (vec!["ok", "ok"], None));
    let open = ["--yes", "--allow", "script_network:user:call/*"];
    assert_eq!(run(&open).code, 0);
    assert_eq!(setup.heard().as_deref(), Some("hello\n"));
    setup.user(&json!({"permissions": [rule("script_network", "*", "ask")]}));
    let report = run(&["--no-input", "--allow", "run_script"]);
    assert_eq!(report.code, 3, "{report:?}");
    assert!(report.stderr.contains("script_network"), "{report:?}");
    assert_eq!(setup.heard(), None);
}

#[test]
fn what_a_trusted_skill_lists_needs_no_approval_where_the_user_wants_that() {
    let approving = json!({"execution": {"allowed_tools_approve": true}});
    for (tools, code) in [("allowed-tools: Bash\n", 0), ("allowed-tools: Read\n", 3), ("", 3)] {
        let Some(setup) = Setup::new(tools) else { return };
        assert_eq!(setup.exec(&[]).code, 3, "{tools}: by default the list only takes away");
        setup.user(&approving);
        let output = setup.exec(&[]);
        assert_eq!(output.code, code, "{tools}: {output:?}");
        assert_eq!(setup.heard(), None, "the network stays closed");
        // Who has a rule that asks is asked.
        let mut asking = approving.clone();
        asking["permissions"] = json!([rule("run_script", "*", "ask")]);
        setup.user(&asking);
        assert_eq!(setup.exec(&[]).code, 3, "{tools}");
    }
}

#[test]
fn a_skill_that_is_not_trusted_does_not_act_in_the_name_of_one_that_is() {
    let home = TestHome::new();
    home.write(
        "home/.agents/skills/writer/SKILL.md",
        "---\nname: writer\ndescription: Writes.\nallowed-tools: Write\n---\nx\n",
    );
    home.skill("project/.agent/skills/evil", "evil", "Comes with the project.");
    let user = json!({
        "execution": {"allowed_tools_approve": true},
        "permissions": [rule("write_file", "docs/*", "allow"), rule("load_skill", "*", "allow")],
    });
    home.write("home/.agent/config.json", user.to_string());
    let mut write = call("write_file", &json!({"path": "src.txt", "content": "x"}));
    write["action"]["skill"] = json!({"name": "writer"});
    let replies = |skills: &[&str]| json!([select(skills), write, answer("done")]);
    let alone = run_scripted(&home, &replies(&["writer"]), &["--no-input"]);
    assert_eq!(alone.code, 0, "the list of a trusted skill approves: {alone:?}");
    std::fs::remove_file(home.project().join("src.txt")).expect("it was written");
    // The person says yes to loading it, and to nothing else.
    let both = run_scripted(&home, &replies(&["writer", "evil"]), &["--yes"]);
    assert_eq!(both.code, 0, "{both:?}");
    let events = events(&home);
    let asked = of_type(&events, "ask.opened");
    assert_eq!(asked.last().expect("a question")["tool"], "write_file", "{asked:?}");
}

#[test]
fn a_project_cannot_approve_itself() {
    let Some(setup) = Setup::new("") else { return };
    setup.user(&json!({"execution": {"allowed_tools_approve": true}}));
    setup.home.write(
        "project/.agent/skills/own/SKILL.md",
        "---\nname: own\ndescription: Own.\nallowed-tools: Bash\n---\nx\n",
    );
    setup.home.write("project/.agent/skills/own/scripts/x.sh", "echo ran\n");
    let exec = |flags: &[&str]| {
        run(&setup.home, &[&["exec", "own", "scripts/x.sh", "--json"], flags].concat())
    };
    assert_eq!(exec(&["--yes"]).code, 3, "it is not trusted");
    assert_eq!(run(&setup.home, &["trust"]).code, 0);
    let ran = exec(&[]).json();
    assert_eq!((&ran["stdout"], &ran["answered"]), (&json!("ran\n"), &Value::Null), "{ran}");
    let own = json!({"execution": {"allowed_tools_approve": true}});
    setup.home.write("project/.agent/config.json", own.to_string());
    assert_eq!(run(&setup.home, &["list"]).code, 1, "the key is the user's alone");
}
