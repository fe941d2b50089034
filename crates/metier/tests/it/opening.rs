//! What opening the runtime reads, writes and protects: with and without the user's folders, before a
//! script runs, and in a program that is not its own helper.

use metier::{CancelToken, Environment, ErrorKind, ExecCall, Metier, WithSkills};
use metier_testkit::TestHome;
use metier_testkit::agent::{answer, scripted};
use serde_json::json;

use crate::support::{builder, holds_scripts, open};

/// A user skill with a script that looks for secrets.
fn home() -> TestHome {
    let home = TestHome::new();
    home.skill("home/.agents/skills/look", "look", "Looks around.");
    home.write(
        "home/.agents/skills/look/scripts/look.sh",
        "cat ~/.secret/token $WORKSPACE_DIR/.secret/token 2>/dev/null || echo 'no secret'\n",
    );
    home.write("home/.secret/token", "s3cret");
    home
}

fn look() -> ExecCall {
    ExecCall::new("look", "scripts/look.sh")
}

#[test]
fn without_the_users_folders_nothing_of_the_user_is_read_or_written() {
    let home = home();
    home.write("home/.agent/config.json", "{ this is not a configuration");
    let metier = builder(&home, "project")
        .environment(Environment::empty().with_home(home.home()))
        .without_user_folders()
        .root(home.home().join(".agents/skills"))
        .open()
        .expect("it opens");
    assert_eq!(metier.skill("look").expect("the skill").source.to_string(), "explicit");
    assert_eq!(metier.search("look around", 3).expect("finds")[0].entry.name().as_str(), "look");
    let before = std::fs::read_dir(home.home()).expect("home").count();
    if holds_scripts() {
        // Without a `PATH` an interpreter is still found by the system's own folders.
        let _ = metier.session().approve(|ask| ask.once()).exec(&look());
    }
    assert_eq!(std::fs::read_dir(home.home()).expect("home").count(), before);
}

#[test]
fn leaving_the_users_folders_out_does_not_open_them() {
    let home = home();
    let without = |dir: &str| {
        let builder = builder(&home, dir).without_user_folders();
        builder.root(home.home().join(".agents/skills")).open().expect("it opens")
    };
    for path in [".secret/token", ".agent/config.json", ".ssh/id_ed25519"] {
        let effect = |metier: Metier| {
            let explained = metier.explain("read_file", &[path], &WithSkills::default());
            explained.expect("a decision").decision.effect
        };
        assert_eq!(effect(without("home")), effect(open(&home, "home")), "{path}");
    }
    if holds_scripts() {
        let ran = without("home").session().approve(|ask| ask.once()).exec(&look());
        let stdout = ran.expect("it ran").outcome.report.stdout.text;
        assert!(stdout.contains("no secret") && !stdout.contains("s3cret"), "{stdout}");
    }
    // A run that a project ships is no more one's own than with the folders.
    let model = scripted(&home, &json!([answer("done")]));
    open(&home, "project").session().model(model).max_turns(1).run("do it").expect("it runs");
    let refused = without("project").session().resume("last").expect_err("begun elsewhere");
    assert_eq!(refused.code, "run-foreign");
}

#[test]
fn what_is_cancelled_before_it_starts_does_not_run() {
    let home = home();
    let token = CancelToken::new();
    token.cancel();
    let session = open(&home, "project").session().allow("run_script").cancel_with(token);
    let error = session.exec(&look()).expect_err("cancelled");
    assert_eq!(error.kind, ErrorKind::Cancelled);
}

#[test]
fn a_program_that_did_not_call_init_is_advised_to() {
    let home = home();
    let metier = Metier::builder(home.project())
        .environment(Environment::empty().with_home(home.home()))
        .open()
        .expect("it opens");
    let refused = metier.session().approve(|ask| ask.once()).exec(&look()).expect_err("refused");
    assert!(refused.message.contains("no-helper"), "{refused}");
    assert!(refused.help.expect("advice").contains("metier::init()"));
}
