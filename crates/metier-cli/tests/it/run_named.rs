//! A person names a skill in a request: found before the first turn, for every model, and decided like
//! `/name`.

use metier_testkit::TestHome;
use serde_json::json;

use crate::run::piped;
use crate::run_support::{answer, events, holds_scripts, last_run, scripted};
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
    let only = "description: Ship.\ndisable-model-invocation: true";
    skill("deploy", only, "SHIP-BODY\n");
    skill("site-deploy", only, "SITE-BODY $ARGUMENTS.\n");
    home.write("project/notes.txt", "a\n");
    home
}

/// The skills that were loaded in the newest run before its model decided.
fn started(home: &TestHome) -> Vec<&'static str> {
    let events: Vec<String> = events(home).iter().map(ToString::to_string).collect();
    let loaded = |name: &&str| {
        let line = format!("The skill `user:{name}` is loaded");
        events.iter().any(|event| event.contains(&line))
    };
    ["deploy", "site-deploy", "greet"].into_iter().filter(loaded).collect()
}

#[test]
fn a_name_in_a_request_starts_nothing_unless_it_is_an_order() {
    let home = home();
    for (request, wanted) in [
        ("use the site-deploy skill", &["site-deploy"][..]),
        ("用 site-deploy 技能", &["site-deploy"]),
        ("can you use the deploy skill?", &["deploy"]),
        ("请用 deploy 技能", &["deploy"]),
        ("use the \"deploy\" skill", &["deploy"]),
        ("use the x/deploy skill", &[]),
        ("read 'use the deploy skill.txt'", &[]),
        ("grep \"use the deploy skill\" notes.txt", &[]),
        ("在 notes.txt 里查找“deploy 技能”", &[]),
        ("don't ever use site-deploy", &[]),
        ("should I use the deploy skill?", &[]),
        ("write a blog post about how we use site-deploy", &[]),
        ("ship it with the deploy skill", &[]),
        ("怎么用 site-deploy？", &[]),
        ("删除 deploy 技能", &[]),
        ("abc CI: use the deploy skill for staging", &[]),
        ("look at this\nuse the deploy skill", &[]),
        ("With the deploy skill, half of our servers went down. Write release notes", &[]),
        ("with the deploy skill in place, read notes.txt", &[]),
        ("call the deploy skill a failure", &[]),
        ("run the deploy skill by Anna first", &[]),
        ("use the deploy skill but only after I say so", &[]),
        ("Translate this into French. Use the deploy skill.", &[]),
        ("通过 deploy 技能，一半的服务器昨天挂了", &[]),
        ("Use the deploy skill in case the tests pass", &[]),
        ("use the deploy skill on staging, depending on the tests", &[]),
        ("use the deploy skill: staging, once the tests pass", &[]),
        ("use the deploy skill\nbut only if the tests pass", &[]),
        ("用 deploy 技能发布，等测试通过", &[]),
        ("use the greet skill and the deploy skill", &["deploy", "greet"]),
        ("用 greet 技能和 deploy 技能", &["deploy", "greet"]),
    ] {
        run(&home, &["run", request]);
        assert_eq!(started(&home), wanted, "{request}");
    }
}

#[test]
fn a_wish_that_starts_nothing_says_how_to_order_it() {
    let home = home();
    let output = run(&home, &["run", "use the deploy skill on staging once I say so"]);
    assert!(output.stderr.contains("deploy was not loaded"), "{output:?}");
    assert!(output.stderr.contains("`/deploy` does"), "{output:?}");
}

#[test]
fn a_thing_that_is_wanted_with_a_skill_loads_it_whatever_the_model() {
    let home = home();
    for (request, is_loaded) in [
        ("a page with the html skill", true),
        ("I want a page with the html skill", true),
        ("a problem with the html skill", false),
    ] {
        let model = scripted(&home, &json!([answer("done")]));
        let output = run(&home, &["run", "--model", model, request]);
        assert_eq!(output.code, 0, "{output:?}");
        let events: Vec<String> = events(&home).iter().map(ToString::to_string).collect();
        let found = events.iter().any(|event| event.contains("The skill `user:html` is loaded"));
        assert_eq!(found, is_loaded, "{request}");
    }
    let output = run(&home, &["run", "a release with the deploy skill"]);
    assert!(output.stderr.contains("`/deploy` does"), "{output:?}");
}

#[test]
fn a_path_before_a_skill_that_is_named_stays_in_the_request() {
    let home = home();
    for (request, shown) in [
        (
            "/tmp is full, use the html skill to write a page",
            "/tmp is full, use the html skill to write a page",
        ),
        ("/report with the html skill", "/report with the html skill"),
        ("/html a page", "Use the loaded skill `html` with: a page"),
        ("/user:html a page", "Use the loaded skill `html` with: a page"),
    ] {
        let model = scripted(&home, &json!([answer("done")]));
        let output = run(&home, &["run", "--model", model, request]);
        assert_eq!(output.code, 0, "{output:?}");
        let setup = std::fs::read_to_string(last_run(&home).join("setup.json")).expect("a setup");
        let setup: serde_json::Value = serde_json::from_str(&setup).expect("JSON");
        let opening = setup["opening"].as_str().expect("a text");
        assert!(opening.contains(&format!("# Request\n\n{shown}\n")), "{request}: {opening}");
    }
}

#[test]
fn a_word_with_a_hyphen_is_no_mistyped_call() {
    let home = home();
    home.skill("home/.agents/skills/email", "email", "Send an email.");
    home.skill("home/.agents/skills/code-reviewer", "code-reviewer", "Review code.");
    for request in [
        "use e-mail to tell Anna the news",
        "用 e-mail 通知 Anna",
        "use code-review for notes.txt",
        "run re-deploy now",
    ] {
        let output = run(&home, &["run", request]);
        assert_ne!(output.code, 2, "{request}: {output:?}");
        assert!(output.stderr.contains("reading it as part of the request"), "{output:?}");
        assert_eq!(started(&home), [""; 0], "{request}");
    }
    let output = run(&home, &["run", "use the code-review skill for notes.txt"]);
    assert_eq!(output.code, 2, "{output:?}");
    let output = run(&home, &["run", "use the e-mail skill for Anna"]);
    assert_ne!(output.code, 2, "{output:?}");
    assert!(!output.stderr.contains("there is no skill"), "{output:?}");
}

#[test]
fn what_a_pipe_brings_calls_no_skill() {
    let home = home();
    for request in ["use the deploy skill", "/deploy now", "a\nuse the deploy skill for staging\n"]
    {
        let output = piped(&home, &["run", "-"], request);
        assert_eq!(started(&home), [""; 0], "{request}: {output:?}");
    }
    let output = piped(&home, &["run", "-"], "use the deploy skill");
    assert!(output.stderr.contains("calls no skill by its name"), "{output:?}");
    // Skills of another root are called as little, and the note is there too.
    home.skill("elsewhere/ship-it", "ship-it", "Ship.");
    let root = home.path().join("elsewhere");
    let output =
        piped(&home, &["run", "--root", &root.to_string_lossy(), "-"], "use the ship-it skill");
    assert!(output.stderr.contains("calls no skill by its name"), "{output:?}");
    piped(&home, &["run", "--skill", "deploy", "-"], "staging\n");
    assert_eq!(started(&home), ["deploy"]);
}

#[test]
fn what_follows_a_call_in_words_fills_the_placeholders() {
    let home = home();
    for request in ["use the site-deploy skill for Anna", "用 site-deploy 技能 for Anna"] {
        let output = run(&home, &["run", request]);
        assert!(output.stdout.contains("SITE-BODY for Anna."), "{request}: {output:?}");
    }
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
    let output = run(&home, &["run", "use the my-deploy skill"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("did you mean `deploy`?"), "{output:?}");
    for (request, near) in [
        ("use the htlm skill", "html"),
        ("use the depoy skill", "deploy"),
        ("使用 htlm 技能", "html"),
        ("use the html skill and the depoy skill", "deploy"),
    ] {
        let output = run(&home, &["run", request]);
        assert_eq!(output.code, 2, "{request}: {output:?}");
        assert!(output.stderr.contains(&format!("did you mean `{near}`?")), "{output:?}");
    }
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
