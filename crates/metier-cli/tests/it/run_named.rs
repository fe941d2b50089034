//! A person names a skill in a request: found before the first turn, for every model, and decided like
//! `/name`.

use metier_testkit::TestHome;
use serde_json::json;

use crate::run_support::{answer, events, holds_scripts, scripted};
use crate::support::run;

/// Skills of the user: one with a script, one that only a person may start, and one whose description
/// fits better than either.
fn home() -> TestHome {
    let home = TestHome::new();
    let skill = |name: &str, fields: &str, body: &str| {
        let path = format!("home/.agents/skills/{name}/SKILL.md");
        home.write(&path, format!("---\nname: {name}\n{fields}\n---\n{body}"));
    };
    skill("html", "description: Old pages.", "# Html\n\nHTML-BODY\n");
    skill("voice-mode", "description: Speech.\ndisable-model-invocation: true", "VOICE-BODY\n");
    skill(
        "page-maker",
        "description: Make a web page with a title. Use when someone wants to make a page.",
        "PAGE-BODY\n",
    );
    skill("greet", "description: Greet.", "```sh\nsh scripts/greet.sh NAME\n```\n");
    home.write("home/.agents/skills/greet/scripts/greet.sh", "echo \"Hello, $1!\"\n");
    skill("count", "description: 计数。", "```sh\nsh scripts/count.sh 文件\n```\n");
    home.write("home/.agents/skills/count/scripts/count.sh", "echo \"counted $1\"\n");
    home.write("project/notes.txt", "a\n");
    home
}

#[test]
fn a_skill_named_in_prose_is_the_one_that_is_used() {
    let home = home();
    for (request, body) in [
        ("use the html skill to make a page with a title", "HTML-BODY"),
        ("用 html 技能做一个网页", "HTML-BODY"),
        ("enter voice-mode", "VOICE-BODY"),
        ("make a page with a title", "PAGE-BODY"),
        ("don't use the html skill, make a page with a title", "PAGE-BODY"),
    ] {
        let output = run(&home, &["run", request]);
        assert!(output.stdout.contains(body), "{request}: {output:?}");
    }
}

#[test]
fn a_scripted_model_gets_the_named_skill_before_its_first_turn() {
    let home = home();
    let model = scripted(&home, &json!([answer("done")]));
    let output = run(&home, &["run", "--model", model, "please enter voice-mode now"]);
    assert_eq!(output.code, 0, "{output:?}");
    let events: Vec<String> = events(&home).iter().map(ToString::to_string).collect();
    let place = |part: &str| events.iter().position(|event| event.contains(part));
    let (loaded, answered) =
        (place("The skill `user:voice-mode` is loaded"), place("final_answer"));
    assert!(loaded.is_some() && loaded < answered, "{events:#?}");
}

#[test]
fn a_mistyped_call_says_what_was_meant_and_runs_nothing() {
    let home = home();
    let output = run(&home, &["run", "/csv-sumary data.csv"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("did you mean `/csv-summary`?"), "{output:?}");
    // A path is not a call.
    let path = run(&home, &["run", "/etc/hosts is broken"]);
    assert_ne!(path.code, 2, "{path:?}");
    let folder = run(&home, &["run", "/tmp is full"]);
    assert!(!folder.stderr.contains("there is no skill"), "{folder:?}");
    let unknown = run(&home, &["run", "/zzzzz x"]);
    assert!(unknown.stderr.contains("there is no skill `/zzzzz`"), "{unknown:?}");
}

#[test]
fn a_call_passes_its_arguments_to_the_script() {
    let home = home();
    if !holds_scripts(&home) {
        return;
    }
    let output = run(&home, &["run", "--yes", "/greet Anna"]);
    assert!(output.stdout.contains("Hello, Anna!"), "{output:?}");
    let output = run(&home, &["run", "--yes", "/count notes.txt"]);
    assert!(output.stdout.contains("/notes.txt\n"), "{output:?}");
}
