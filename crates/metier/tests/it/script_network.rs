//! The network of scripts: closed, unless a rule of the user about `script_network` opens it; and what
//! a trusted skill's `allowed-tools` approve where the user wants that.

use std::io::Read;
use std::net::TcpListener;

use metier::agent::Status;
use metier::sandbox::NetworkAccess;
use metier::skill::Digest;
use metier::{Error, ErrorKind, ExecCall, Executed, Run, Session, WithSkills};
use metier_testkit::TestHome;
use metier_testkit::agent::{answer, call, codes, events_in, of_type, script, scripted, select};
use serde_json::{Value, json};

use crate::support::{holds_scripts, open};

/// A server that counts who comes, and a skill whose script goes there.
struct Setup {
    home: TestHome,
    listener: TcpListener,
}

impl Setup {
    fn new(more: &str) -> Option<Self> {
        if !holds_scripts() {
            return None;
        }
        let home = TestHome::new();
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

    fn project(&self, rules: &Value) {
        self.home.write("project/.agent/config.json", json!({ "permissions": rules }).to_string());
    }

    /// A session that reads the configuration as it is now.
    fn session(&self) -> Session {
        open(&self.home, "project").session()
    }

    /// The script, run by a person who says yes to every question.
    fn exec(&self) -> Executed {
        self.session().approve(|ask| ask.once()).exec(&script_call()).expect("it ran")
    }

    /// The same without a person; `Err` where there was a question.
    fn exec_alone(&self) -> Result<Executed, Error> {
        let ran = self.session().exec(&script_call());
        if let Err(error) = &ran {
            assert_eq!(error.kind, ErrorKind::NeedsApproval, "{error}");
        }
        ran
    }

    /// A model that loads the skill and runs the script.
    fn run(&self, session: Session) -> Run {
        let replies =
            json!([select(&["call"]), script("call", "scripts/call.sh", &[]), answer("done")]);
        session.model(scripted(&self.home, &replies)).run("do it").expect("it runs")
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

fn script_call() -> ExecCall {
    ExecCall::new("call", "scripts/call.sh")
}

fn rule(permission: &str, pattern: &str, effect: &str) -> Value {
    json!({"permission": permission, "pattern": pattern, "effect": effect})
}

fn stdout(ran: &Executed) -> &str {
    &ran.outcome.report.stdout.text
}

#[test]
fn it_is_closed_until_a_rule_of_the_user_opens_it_for_the_script() {
    let Some(setup) = Setup::new("") else { return };
    let ran = setup.exec();
    assert_eq!((stdout(&ran), ran.network), ("closed\n", NetworkAccess::Closed));
    assert_eq!(setup.heard(), None);
    // Neither a rule about another script, nor one about hosts, nor a project's.
    let others = [rule("script_network", "user:other/*", "allow"), rule("network", "*", "allow")];
    setup.user(&json!({ "permissions": others }));
    setup.project(&json!([rule("script_network", "*", "allow")]));
    assert_eq!(setup.exec().network, NetworkAccess::Closed);
    assert_eq!(setup.heard(), None);

    setup.user(&json!({"permissions": [rule("script_network", "user:call/*", "allow")]}));
    let ran = setup.exec();
    assert_eq!((stdout(&ran), ran.network), ("reached\n", NetworkAccess::Open));
    assert_eq!(setup.heard().as_deref(), Some("hello\n"));
    // A project can take it away.
    setup.project(&json!([rule("script_network", "*", "deny")]));
    assert_eq!(setup.exec().network, NetworkAccess::Closed);
}

#[test]
fn a_rule_for_all_tools_opens_nothing_and_may_close() {
    let Some(setup) = Setup::new("") else { return };
    let named = || rule("script_network", "user:call/*", "allow");
    let (open, closed) = (NetworkAccess::Open, NetworkAccess::Closed);
    let cases = [
        (vec![rule("*", "*", "ask")], closed, "asked"),
        (vec![rule("*", "*", "allow")], closed, "ran"),
        (vec![rule("*", "user:call/*", "allow")], closed, "ran"),
        (vec![rule("*script*", "*", "ask")], closed, "asked"),
        // Opened by name, a general rule still asks about it or closes it, before or after.
        (vec![rule("*", "*", "allow"), named()], open, "ran"),
        (vec![named(), rule("*", "*", "allow")], open, "ran"),
        (vec![named(), rule("*", "*", "ask")], open, "asked"),
        (vec![rule("*", "*", "ask"), named()], open, "asked"),
        (
            vec![named(), rule("*network", "*", "deny"), rule("run_script", "*", "allow")],
            closed,
            "ran",
        ),
    ];
    for (rules, network, alone) in cases {
        setup.user(&json!({ "permissions": rules }));
        assert_eq!(setup.exec().network, network, "{rules:?}");
        assert_eq!(setup.heard().is_some(), network == NetworkAccess::Open, "{rules:?}");
        let by_itself = if setup.exec_alone().is_ok() { "ran" } else { "asked" };
        assert_eq!(by_itself, alone, "{rules:?}");
        let _ = setup.heard();
    }
}

#[test]
fn every_question_and_report_says_that_the_network_is_open() {
    let Some(setup) = Setup::new("") else { return };
    setup.user(&json!({"permissions": [rule("script_network", "*", "allow")]}));
    let said = "it runs with the network open";
    let asked = setup.exec_alone().expect_err("a question");
    assert!(asked.message.contains(said), "{asked}");
    let waits = setup.run(setup.session());
    assert_eq!(waits.status(), Status::NeedsApproval);
    let ran = setup.run(setup.session().approve(|ask| ask.once()));
    let events = events_in(ran.folder().path());
    for kind in ["policy.decided", "ask.opened"] {
        let report = of_type(&events, kind);
        let last = report.last().expect(kind);
        assert!(last["reason"].as_str().is_some_and(|why| why.contains(said)), "{kind}: {last}");
    }
    let finished = of_type(&events, "action.finished");
    assert_eq!(finished.last().expect("an end")["data"]["network"], "open");
    let metier = open(&setup.home, "project");
    let skills = WithSkills::acting_for("call");
    let explained = metier.explain("run_script", &["scripts/call.sh"], &skills);
    let explained = explained.expect("a decision");
    assert_eq!(explained.decision.effect.as_str(), "ask");
    assert_eq!(explained.network.expect("the network").effect.as_str(), "allow");
}

#[test]
fn one_question_is_asked_about_both_and_an_approval_of_one_is_none_of_the_other() {
    let Some(setup) = Setup::new("") else { return };
    let digest = |error: &Error| error.approval.as_ref().expect("a question").request;
    let approved = |request: Digest| setup.session().approve_request(request).exec(&script_call());
    let without = digest(&setup.exec_alone().expect_err("a question"));
    setup.user(&json!({"permissions": [rule("script_network", "*", "ask")]}));
    let refused = approved(without).expect_err("another question");
    let with = digest(&refused);
    assert_ne!(with, without);
    assert!(refused.message.contains("script_network"), "it says what is asked: {refused}");
    assert_eq!(setup.heard(), None);
    let ran = approved(with).expect("it ran");
    assert_eq!(stdout(&ran), "reached\n");
    assert_eq!(ran.approval.expect("an approval").by, "approve");
    assert_eq!(setup.heard().as_deref(), Some("hello\n"));
    assert!(approved(with).is_err(), "once is once");
}

#[test]
fn the_ceiling_of_a_skill_holds_for_the_network_too() {
    let (open, closed) = (NetworkAccess::Open, NetworkAccess::Closed);
    for (tools, network) in
        [("run_script", closed), ("run_script, script_network", open), ("Bash(bash:*)", open)]
    {
        let Some(setup) = Setup::new(&format!("allowed-tools: {tools}\n")) else { return };
        setup.user(&json!({"permissions": [rule("script_network", "*", "allow")]}));
        assert_eq!(setup.exec().network, network, "{tools}");
    }
}

#[test]
fn a_model_gets_the_same_answer() {
    let Some(setup) = Setup::new("") else { return };
    let ran = setup.run(setup.session().approve(|ask| ask.once()));
    let events = events_in(ran.folder().path());
    assert_eq!((codes(&events), setup.heard()), (vec!["ok", "ok"], None));
    let opened = setup.session().approve(|ask| ask.once()).allow("script_network:user:call/*");
    assert_eq!(setup.run(opened).answer(), "done");
    assert_eq!(setup.heard().as_deref(), Some("hello\n"));
    setup.user(&json!({"permissions": [rule("script_network", "*", "ask")]}));
    let waits = setup.run(setup.session().allow("run_script"));
    assert_eq!(waits.status(), Status::NeedsApproval);
    let events = events_in(waits.folder().path());
    let asked = of_type(&events, "ask.opened")[0]["reason"].as_str().expect("a reason").to_owned();
    assert!(asked.contains("script_network"), "{asked}");
    assert_eq!(setup.heard(), None);
}

#[test]
fn what_a_trusted_skill_lists_needs_no_approval_where_the_user_wants_that() {
    let approving = json!({"execution": {"allowed_tools_approve": true}});
    for (tools, needs_none) in
        [("allowed-tools: Bash\n", true), ("allowed-tools: Read\n", false), ("", false)]
    {
        let Some(setup) = Setup::new(tools) else { return };
        let alone = || {
            let ran = setup.session().exec(&script_call());
            ran.map_err(|error| {
                assert!(
                    matches!(error.kind, ErrorKind::Denied | ErrorKind::NeedsApproval),
                    "{error}"
                );
            })
        };
        assert!(alone().is_err(), "{tools}: by default the list only takes away");
        setup.user(&approving);
        assert_eq!(alone().is_ok(), needs_none, "{tools}");
        assert_eq!(setup.heard(), None, "the network stays closed");
        // Who has a rule that asks is asked.
        let mut asking = approving.clone();
        asking["permissions"] = json!([rule("run_script", "*", "ask")]);
        setup.user(&asking);
        assert!(alone().is_err(), "{tools}");
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
    let session = |skills: &[&str]| {
        let replies = json!([select(skills), write, answer("done")]);
        open(&home, "project").session().model(scripted(&home, &replies))
    };
    let alone = session(&["writer"]).run("do it").expect("it runs");
    assert_eq!(alone.answer(), "done", "the list of a trusted skill approves");
    std::fs::remove_file(home.project().join("src.txt")).expect("it was written");
    // The person says yes to loading it, and to nothing else.
    let both = session(&["writer", "evil"]).approve(|ask| ask.once()).run("do it");
    let both = both.expect("it runs");
    assert_eq!(both.answer(), "done");
    let events = events_in(both.folder().path());
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
    let own = ExecCall::new("own", "scripts/x.sh");
    let refused = setup.session().approve(|ask| ask.once()).exec(&own).expect_err("not trusted");
    assert_eq!(refused.kind, ErrorKind::Denied, "{refused}");
    open(&setup.home, "project").trust(None).expect("trusted");
    let ran = setup.session().exec(&own).expect("it ran");
    assert!(stdout(&ran) == "ran\n" && ran.approval.is_none(), "{ran:?}");
    let own = json!({"execution": {"allowed_tools_approve": true}});
    setup.home.write("project/.agent/config.json", own.to_string());
    let refused = crate::support::builder(&setup.home, "project").open();
    assert_eq!(refused.expect_err("the key is the user's").code, "config-not-allowed-in-project");
}
