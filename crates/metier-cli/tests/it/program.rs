//! The program as a whole: help, errors as documents, exit codes, completions, manuals, and a
//! reader that goes away.

use std::io::Read;
use std::process::Stdio;

use metier_testkit::TestHome;
use serde_json::json;

use crate::support::{METIER, document, files_below, many_skills, run, shown};

/// The commands that the help names.
fn commands(home: &TestHome) -> Vec<String> {
    let help = run(home, &["--help"]).stdout;
    let lines = help.lines().skip_while(|line| *line != "Skills:").skip(1);
    // A name stands at the second column; a description that continues stands further right.
    let names = lines.take_while(|line| *line != "Global options:").filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then(|| name.to_owned())
    });
    names.collect()
}

#[test]
fn every_command_shows_examples_in_its_help() {
    let home = TestHome::new();
    let commands = commands(&home);
    for first in ["list", "inspect", "search", "check", "roots", "refresh", "config"] {
        assert!(commands.iter().any(|command| command == first), "{first}: {commands:?}");
    }
    for command in &commands {
        let help = run(&home, &[command, "--help"]);
        assert_eq!((help.code, &*help.stderr), (0, ""), "{command}");
        assert!(help.stdout.contains("\nExamples:\n  metier "), "{command}: {}", help.stdout);
        assert_eq!(run(&home, &["help", command]).stdout, help.stdout);
        assert_eq!(run(&home, &[command, "-h"]).code, 0);
    }
    let help = run(&home, &["--help"]);
    assert!(help.stdout.contains("\nExamples:\n  metier "), "{}", help.stdout);
    assert!(!help.stdout.contains("__gen"), "a hidden command is hidden");
}

#[test]
fn the_version_is_the_packages() {
    let home = TestHome::new();
    let version = run(&home, &["--version"]);
    assert_eq!(version.stdout, format!("metier {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!((version.code, &*version.stderr), (0, ""));
}

#[test]
fn a_usage_error_is_exit_code_two_for_people_and_programs() {
    let home = TestHome::new();
    for args in [
        &["list", "--nonsense"][..],
        &["nonsense"],
        &["list", "--source", "nowhere"],
        &["list", "--profile", "kind"],
        &["list", "--profile", "spec"],
        &["list", "--watch", "--all"],
        &["check", "--format", "xml"],
        &["inspect"],
        &[],
        &["check", "not-there"],
    ] {
        let human = run(&home, args);
        assert_eq!((human.code, &*human.stdout), (2, ""), "{args:?}");
        assert!(!human.stderr.is_empty(), "{args:?}");
        let error = document(&home, &run(&home, &[args, &["--json"]].concat()), 2);
        assert_eq!(error["error"]["code"], "usage", "{args:?}");
        for key in ["message", "help"] {
            let text = error["error"][key].as_str();
            assert!(text.is_some_and(|text| !text.is_empty()), "{args:?}: {error}");
        }
    }
}

#[test]
fn the_error_document_is_whole() {
    let home = TestHome::new();
    assert_eq!(
        document(&home, &run(&home, &["list", "--json", "--nonsense"]), 2),
        json!({ "error": {
            "code": "usage",
            "message": "unexpected argument '--nonsense' found",
            "help": "run `metier --help` for the commands and options",
        }})
    );
    assert_eq!(
        document(&home, &run(&home, &["inspect", "--json", "nobody"]), 1),
        json!({ "error": {
            "code": "SkillNotFound",
            "message": "there is no skill `nobody` here",
            "help": "`metier list --all` shows every skill, and why others were left out",
        }})
    );
}

#[test]
fn a_word_after_two_dashes_asks_for_nothing() {
    let home = TestHome::new();
    let output = run(&home, &["inspect", "--", "--json"]);
    insta::assert_snapshot!(shown(&home, &output), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: there is no skill `--json` here
    help: `metier list --all` shows every skill, and why others were left out
    ");
}

#[test]
fn exit_codes_are_the_contract() {
    let home = TestHome::new();
    home.skill("home/.agent/skills/mine", "mine", "The user's.");
    home.write("project/bad/SKILL.md", "no frontmatter\n");
    for (args, code) in [
        (&["list"][..], 0),
        (&["list", "--root", "not-there"], 1),
        (&["inspect", "profile-csv"], 0),
        (&["inspect", "nobody"], 1),
        (&["search", "csv"], 0),
        (&["search", "qqqzzzxxx"], 1),
        (&["check", "bad"], 1),
        (&["check", "not-there"], 2),
        (&["roots"], 0),
        (&["refresh"], 0),
        (&["config"], 0),
        (&["completions", "tcsh"], 2),
        (&["-C", "not-there", "list"], 2),
        (&["new", "csv"], 2),
        (&["new", "CSV", "-d", "x"], 2),
        (&["disable", "profile-csv"], 0),
        (&["enable", "nobody"], 1),
        (&["delete", "profile-csv"], 1),
        (&["delete", "mine"], 3),
        (&["restore"], 0),
        (&["restore", "mine", "--yes"], 1),
        (&["open", "profile-csv"], 1),
    ] {
        assert_eq!(run(&home, args).code, code, "{args:?}");
        assert_eq!(run(&home, &[args, &["--json"]].concat()).code, code, "{args:?} --json");
    }
}

#[test]
fn every_shell_has_a_completion_script() {
    let home = TestHome::new();
    for (shell, sign) in [
        ("bash", "-F _clap_complete_metier metier"),
        ("zsh", "#compdef metier"),
        ("fish", "complete --keep-order --exclusive --command metier"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = run(&home, &["completions", shell]);
        assert_eq!((script.code, &*script.stderr), (0, ""), "{shell}");
        assert!(script.stdout.contains(sign), "{shell}: {}", script.stdout);
        let inside = run(&home, &["completions", shell, "--json"]).json();
        assert_eq!(inside, json!({ "script": script.stdout }));
    }
}

#[test]
fn the_manual_is_printed_or_written_page_by_page() {
    let home = TestHome::new();
    let page = run(&home, &["man"]);
    assert_eq!((page.code, &*page.stderr), (0, ""));
    assert!(page.stdout.contains(".TH METIER 1"), "{}", page.stdout);
    let written = run(&home, &["man", "--dir", "share/man1"]);
    assert_eq!((written.code, &*written.stderr), (0, ""));
    let inner = ["audit-verify", "config-add", "config-schema", "config-set", "config-show"]
        .map(str::to_owned);
    let inner = inner.into_iter().chain(["models-script-schema", "models-test"].map(str::to_owned));
    let inner = inner.chain(["permissions-forget", "permissions-list"].map(str::to_owned));
    let keys = ["keys-forget", "keys-generate", "keys-list", "keys-trust"].map(str::to_owned);
    let inner = inner.chain(keys);
    let requests = ["requests-approve", "requests-list", "requests-reject", "requests-show"];
    let inner = inner.chain(requests.map(str::to_owned));
    let evals = [
        "aa", "check", "compare", "export", "init", "merge", "overlap", "plan", "report", "run",
        "run-unit", "worker",
    ];
    let inner = inner.chain(evals.map(|name| format!("eval-{name}")));
    let mut expected: Vec<String> =
        commands(&home).into_iter().chain(inner).map(|name| format!("metier-{name}.1")).collect();
    expected.push("metier.1".to_owned());
    expected.sort();
    let dir = home.project().join("share/man1");
    assert_eq!(files_below(&dir), expected);
    let report: Vec<&str> =
        written.stdout.lines().map(|line| line.rsplit('/').next().expect("a name")).collect();
    assert_eq!(report.len(), expected.len());
    for file in &expected {
        let page = std::fs::read_to_string(dir.join(file)).expect("reads");
        let title = file.trim_end_matches(".1").to_uppercase().replace('-', "\\-");
        assert!(page.contains(".TH ") && page.to_uppercase().contains(&title), "{file}: {page}");
        // The command as it is typed, the options that all have, and the version.
        assert!(page.contains(".SH SYNOPSIS\n.nf\nmetier "), "{file}: {page}");
        assert!(page.contains("\\-\\-json"), "{file}");
        assert!(page.contains(concat!("metier ", env!("CARGO_PKG_VERSION"))), "{file}");
        assert!(!page.contains(".SH EXTRA") && !page.contains("metier\\-help"), "{file}: {page}");
    }
    for (file, part) in [
        ("list", ".SH EXAMPLES\n.nf\nmetier list\n"),
        ("list", "\nmetier list [OPTIONS]\n"),
        ("exec", "\nmetier exec [OPTIONS] <NAME> <SCRIPT> [\\-\\- <ARGS>...]\n"),
        ("exec", ".SH \"EXIT STATUS\"\n"),
        ("exec", ".SH \"SEE ALSO\"\n.nf\nmetier(1)\n"),
        ("audit-verify", "\nmetier audit verify [OPTIONS] [RUN]\n"),
        ("audit-verify", ".SH \"SEE ALSO\"\n.nf\nmetier\\-audit(1)\n"),
    ] {
        let page = std::fs::read_to_string(dir.join(format!("metier-{file}.1"))).expect("reads");
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_closed_standard_output_ends_every_command_quietly() {
    let home = TestHome::new();
    home.write("project/bad/SKILL.md", "no frontmatter\n");
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["inspect", "profile-csv"],
        &["inspect", "nobody", "--json"],
        &["search", "csv"],
        &["check", "bad"],
        &["check", "bad", "--format", "sarif"],
        &["roots", "--all"],
        &["refresh", "--json"],
        &["config"],
        &["config", "schema"],
        &["new", "csv", "-d", "Report."],
        &["disable", "profile-csv"],
        &["restore", "--json"],
        &["open", "--print", "csv"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &["--version"],
    ] {
        // The reader is gone before the program starts, so that its first write fails.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let child = home.command(METIER).args(args).stdout(writer).stderr(Stdio::piped()).spawn();
        let output = child.expect("starts").wait_with_output().expect("ends");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {complaint}");
        for word in ["panic", "error", "pipe"] {
            assert!(!complaint.contains(word), "{args:?}: {complaint}");
        }
    }
}

#[test]
fn a_reader_that_leaves_in_the_middle_ends_the_program_quietly() {
    let home = TestHome::new();
    many_skills(&home, "project/.agents/skills", 400);
    for args in [&["list", "--json"][..], &["list", "--color", "always"]] {
        let mut child = home
            .command(METIER)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut first = [0; 10];
        let mut stdout = child.stdout.take().expect("piped");
        stdout.read_exact(&mut first).expect("some output");
        drop(stdout);
        let output = child.wait_with_output().expect("ends");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panic"), "{output:?}");
    }
}
