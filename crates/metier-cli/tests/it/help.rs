//! What a newcomer sees first: the screen without a command, the grouped help, and the words of other
//! tools.

use metier_testkit::TestHome;

use crate::support::run;

#[test]
fn without_a_command_the_groups_fit_a_screen() {
    let home = TestHome::new();
    let output = run(&home, &[]);
    assert_eq!(output.code, 2);
    assert!(output.stderr.lines().count() <= 23, "{}", output.stderr);
    for group in ["Skills:", "Authoring:", "Shipping:", "Running:", "Security:", "Setup:"] {
        assert!(output.stderr.contains(group), "{}", output.stderr);
    }
}

#[test]
fn help_is_in_groups_and_promises_nothing_that_is_not_there() {
    let home = TestHome::new();
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let text = run(&home, args).stdout;
        let places: Vec<usize> =
            ["Skills:", "Authoring:", "Shipping:", "Running:", "Security:", "Setup:"]
                .map(|group| text.find(group).unwrap_or_else(|| panic!("{group} in {text}")))
                .to_vec();
        assert!(places.is_sorted(), "{text}");
        assert!(!text.contains("ship") && text.contains("Exit codes"), "{text}");
    }
    let one = run(&home, &["list", "--help"]).stdout;
    assert!(one.contains("Usage: metier list"), "{one}");
}

#[test]
fn words_of_other_tools_do_what_they_do_there_or_say_what_does() {
    let home = TestHome::new();
    assert_eq!(run(&home, &["ls"]).stdout, run(&home, &["list"]).stdout);
    assert_eq!(
        run(&home, &["init", "my-skill", "--user", "--description", "Does a thing."]).code,
        0
    );
    let folder = home.home().join(".agent/skills/my-skill");
    assert!(folder.exists());
    let folder = folder.to_string_lossy().into_owned();
    let check = run(&home, &["check", &folder]);
    for word in ["lint", "validate"] {
        assert_eq!(run(&home, &[word, &folder]).stdout, check.stdout);
    }
    assert_eq!(run(&home, &["rm", "--yes", "my-skill"]).code, 0);
    for word in ["install", "add"] {
        let output = run(&home, &[word, "owner/repo"]);
        assert_eq!(output.code, 3);
        assert!(output.stderr.contains("github.com is not among"), "{}", output.stderr);
    }
    let typo = run(&home, &["lits"]);
    assert!(typo.code == 2 && typo.stderr.contains("list"), "{}", typo.stderr);
}

#[test]
fn what_other_tools_call_it_leads_to_the_command() {
    let home = TestHome::new();
    for (args, said) in [
        (&["info", "x"][..], "metier inspect NAME"),
        (&["skills"], "metier list"),
        (&["version"], "metier --version"),
        (&["history"], "metier runs"),
        (&["config", "get", "model"], "`metier config` shows"),
        (&["run", "--approve", "sha256:00", "hi"], "metier resume RUN --approve DIGEST"),
        (&["chat", "--approve", "sha256:00"], "metier exec --approve"),
        (&["new", "con", "-d", "x"], "`con` is the name of a device on Windows"),
    ] {
        let output = run(&home, args);
        assert_eq!(output.code, 2, "{args:?}: {output:?}");
        assert!(output.stderr.contains(said), "{args:?}: {output:?}");
        let json = run(&home, &[args, &["--json"]].concat());
        assert_eq!(json.code, 2, "{json:?}");
        assert!(json.json()["error"].is_object(), "{json:?}");
    }
}
