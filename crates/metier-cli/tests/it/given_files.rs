//! In the home directory, and for files in it: scripts see nothing there but copies of the files that the
//! person named, in words of their own. tidy:allow-cjk: one request is in Chinese.

use std::os::unix::fs::symlink;

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run::piped;
use crate::run_support::{
    answer, events, holds_scripts, of_type, project, run_scripted, script, scripted, select,
};
use crate::run_terminal::Terminal;
use crate::support::{run, run_in};

const SUMMARY: [&str; 4] = ["exec", "--yes", "csv-summary", "scripts/summarise.sh"];

/// A home directory with tables in it, and keys.
fn home_with_tables() -> TestHome {
    let home = project();
    for place in ["home/x.csv", "home/Downloads/y.csv", "home/.ssh/id_rsa", "home/.env"] {
        home.write(place, "region,units\nNorth,10\nSouth,5\n");
    }
    home
}

fn in_home(home: &TestHome, args: &[&str]) -> Output {
    run_in(home, "home", args)
}

#[test]
fn a_file_in_the_home_directory_is_given_as_a_copy() {
    let home = home_with_tables();
    if !holds_scripts(&home) {
        return;
    }
    for (dir, file) in [
        ("home", "x.csv"),
        ("home", "~/x.csv"),
        ("home", "Downloads/y.csv"),
        ("project", "~/Downloads/y.csv"),
    ] {
        let output = run_in(&home, dir, &[&SUMMARY[..], &["--", "--by", "region", file]].concat());
        assert_eq!(output.code, 0, "{file}: {output:?}");
        let name = file.rsplit('/').next().expect("a name");
        assert!(output.stdout.starts_with(&format!("{name}: 2 rows")), "{file}: {output:?}");
        assert_eq!(output.stderr.contains("scripts do not see"), dir == "home", "{output:?}");
        for request in
            [format!("summarise {file} by region"), format!("汇总{file}，按 region 分组")]
        {
            for _ in 0..2 {
                let output = run_in(&home, dir, &["run", "--yes", &request]);
                assert!(output.stdout.contains("North"), "{request}: {output:?}");
            }
        }
    }
}

#[test]
fn before_anything_starts_it_is_said_that_scripts_do_not_see_the_home_directory() {
    let home = home_with_tables();
    if !holds_scripts(&home) {
        return;
    }
    let output = in_home(&home, &["run", "--yes", "what is this project about?"]);
    let first = output.stderr.lines().next().expect("a line");
    assert!(first.contains("scripts do not see") && first.contains("metier -C DIR"), "{output:?}");
    assert!(!output.stdout.contains("Languages:"), "the sandbox is no project: {output:?}");
    assert!(output.stdout.contains("is not shown to scripts"), "{output:?}");
    let elsewhere = run(&home, &["run", "--yes", "what is this project about?"]);
    assert!(!elsewhere.stderr.contains("scripts do not see"), "{elsewhere:?}");
}

#[test]
fn the_question_names_the_copy() {
    let home = home_with_tables();
    if !holds_scripts(&home) {
        return;
    }
    let request = ["run", "summarise ~/Downloads/y.csv by region"];
    let Some(mut terminal) = Terminal::start(&home, &request) else { return };
    terminal.until("[e]xplain:", 1);
    terminal.types("y\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("it gets a copy of ") && seen.contains("Downloads/y.csv\n"), "{seen}");
}

/// A skill that prints what it is given, and one that tries to write it.
fn reading(home: &TestHome) {
    home.write(
        "home/.agents/skills/peek/SKILL.md",
        "---\nname: peek\ndescription: Prints a file.\n---\n# Peek\n",
    );
    home.write("home/.agents/skills/peek/scripts/peek.sh", "cat \"$1\"\n");
    home.write(
        "home/.agents/skills/peek/scripts/write.sh",
        "echo more >> \"$1\" || echo refused; chmod 777 \"$1\" || echo refused; ls \"${1%/*}\"\n",
    );
}

#[test]
fn a_path_that_only_the_model_names_is_not_given() {
    let home = home_with_tables();
    reading(&home);
    if !holds_scripts(&home) {
        return;
    }
    let rules =
        json!({"permissions": [{"permission": "run_script", "pattern": "*", "effect": "allow"}]});
    home.write("home/.agent/config.json", rules.to_string());
    let tried = |request: &str, file: &str| -> Value {
        let replies =
            json!([select(&["peek"]), script("peek", "scripts/peek.sh", &[file]), answer("done")]);
        let model = scripted(&home, &replies);
        run(&home, &["run", request, "--model", model]);
        let events = events(&home);
        (*of_type(&events, "action.finished").last().expect("a script")).clone()
    };
    let named = tried("look at ~/x.csv please", "~/x.csv");
    assert!(
        named["data"]["stdout"].as_str().is_some_and(|text| text.contains("North")),
        "the control: {named}"
    );
    let absolute = home.path().canonicalize().expect("a path").join("home/x.csv");
    let absolute = absolute.to_str().expect("a text");
    for (request, file) in [
        ("look at my table", "~/x.csv"),
        ("look at my table", absolute),
        ("look at ~/x.csv2 and a~/x.csv", "~/x.csv"),
        ("look at ~/Downloads", "~/Downloads/y.csv"),
        ("look at ~/x.csv please", "~/Downloads/y.csv"),
        ("look at ~/x.csv please", "~/Downloads/../.env"),
    ] {
        let result = tried(request, file);
        assert!(!result.to_string().contains("North"), "{request} {file}: {result}");
    }
}

#[test]
fn a_path_that_only_a_pipe_names_is_not_given() {
    let home = home_with_tables();
    reading(&home);
    if !holds_scripts(&home) {
        return;
    }
    let replies =
        json!([select(&["peek"]), script("peek", "scripts/peek.sh", &["~/x.csv"]), answer("done")]);
    let model = scripted(&home, &replies);
    let printed = || {
        let events = events(&home);
        of_type(&events, "action.finished").last().expect("a script")["data"].to_string()
    };
    let request = "error: could not open ~/x.csv\n";
    for args in [&["run", "--yes", "--model", model, "-"][..], &["chat", "--yes", "--model", model]]
    {
        piped(&home, args, request);
        assert!(!printed().contains("North"), "{args:?}: {}", printed());
    }
    // Nor when a person lets the run go on.
    let asked = piped(&home, &["run", "--model", model, "-"], request);
    assert_eq!(asked.code, 3, "{asked:?}");
    let resumed = run(&home, &["resume", "last", "--yes"]);
    assert_eq!(resumed.code, 1, "its only script failed: {resumed:?}");
    assert!(!printed().contains("North"), "{}", printed());
    // What the command line names is the person's own.
    piped(&home, &["run", "--yes", "--file", "~/x.csv", "--model", model, "-"], request);
    assert!(printed().contains("North"), "the control: {}", printed());
}

#[test]
fn keys_and_links_are_never_given() {
    let home = home_with_tables();
    reading(&home);
    if !holds_scripts(&home) {
        return;
    }
    let at = |path: &str| home.path().join("home").join(path);
    symlink(at(".ssh/id_rsa"), at("innocent.csv")).expect("a link");
    symlink(at("x.csv"), at("linked.csv")).expect("a link");
    symlink(at(".ssh"), at("folder")).expect("a link");
    let rules = json!({"permissions": [
        {"permission": "run_script", "pattern": "*", "effect": "allow"},
        {"permission": "read_file", "pattern": "~/Downloads/*", "effect": "deny"}
    ]});
    home.write("home/.agent/config.json", rules.to_string());
    for file in [
        "~/.ssh/id_rsa",
        ".env",
        "innocent.csv",
        "linked.csv",
        "folder/id_rsa",
        "Downloads/y.csv",
        "Downloads",
        ".agent/config.json",
    ] {
        for args in [
            vec!["exec", "--yes", "peek", "scripts/peek.sh", "--", file],
            vec!["exec", "--yes", "--json", "peek", "scripts/peek.sh", "--", file],
        ] {
            let output = in_home(&home, &args);
            assert_ne!(output.code, 0, "{file}: {output:?}");
            assert!(
                !output.stdout.contains("North") && !output.stdout.contains("run_script"),
                "{file}: {output:?}"
            );
        }
        let replies =
            json!([select(&["peek"]), script("peek", "scripts/peek.sh", &[file]), answer("done")]);
        let output = run_scripted(&home, &replies, &[]);
        assert!(!output.stdout.contains("North"), "{file}: {output:?}");
    }
}

#[test]
fn a_file_of_an_option_is_not_given_round_the_floor_and_the_rules() {
    const SECRET: &str = "SECRET-4711";
    let home = project();
    for place in ["home/.ssh/id_rsa", "home/private/a.txt", "home/.env"] {
        home.write(place, format!("{SECRET}\n"));
    }
    home.write("home/notes.txt", "honest\n");
    let rules = json!({"permissions": [{"permission": "read_file", "pattern": "~/private/*", "effect": "deny"}]});
    home.write("home/.agent/config.json", rules.to_string());
    symlink(home.home().join(".ssh/id_rsa"), home.project().join("inner.txt")).expect("a link");
    symlink(home.home().join("notes.txt"), home.project().join("outer.txt")).expect("a link");
    symlink(home.home().join(".ssh"), home.project().join("docs")).expect("a link");
    symlink(home.home().join(".ssh/id_rsa"), home.home().join("linked.txt")).expect("a link");
    let model = scripted(&home, &json!([answer("the end")]));
    let setups = || {
        let runs = home.project().join(".agent/runs");
        let files = if runs.exists() { crate::support::files_below(&runs) } else { Vec::new() };
        let texts = files.iter().map(|file| std::fs::read(runs.join(file)).unwrap_or_default());
        texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect::<Vec<_>>().join("\n")
    };
    let key = home.home().join(".ssh/id_rsa");
    for file in [
        "inner.txt",
        "docs/id_rsa",
        "outer.txt",
        "~/.ssh/id_rsa",
        "~/.ssh/../.ssh/id_rsa",
        "~/linked.txt",
        "../home/.env",
        "~/private/a.txt",
        key.to_str().expect("a text"),
    ] {
        for agent in [&[][..], &["--agent", "read-only"]] {
            let args = [&["run", "--yes", "--model", model, "--file", file][..], agent, &["look"]];
            let output = run(&home, &args.concat());
            assert_eq!(output.code, 3, "{file}: {output:?}");
            assert!(
                output.stderr.contains("cannot be given") || output.stderr.contains("leads out of"),
                "{output:?}"
            );
            assert!(!setups().contains(SECRET), "{file} is in the record");
        }
    }
    for file in ["~/notes.txt", "../home/notes.txt"] {
        let output = run(&home, &["run", "--model", model, "--file", file, "look"]);
        assert_eq!((output.stdout.trim(), output.code), ("the end", 0), "{file}: {output:?}");
        assert!(setups().contains("honest"), "{file}");
    }
}

#[test]
fn a_path_outside_and_a_file_that_the_floor_keeps_are_refused_by_their_reason() {
    let home = home_with_tables();
    let output = run(&home, &["run", "--yes", "read ~/x.csv"]);
    let shown = format!("{}{}", output.stdout, output.stderr);
    assert!(!shown.contains("no such file") && !shown.contains("There is no file"), "{output:?}");
    assert!(shown.contains("--file"), "it says how to give it: {output:?}");
    if !holds_scripts(&home) {
        return;
    }
    home.write("home/.ssh/k.csv", "region,units\nNorth,10\n");
    for request in ["summarise ~/.ssh/k.csv", "汇总 ~/.ssh/k.csv"] {
        let output = run(&home, &["run", "--yes", request]);
        let shown = format!("{}{}", output.stdout, output.stderr);
        assert!(shown.contains("place for keys and passwords"), "{request}: {output:?}");
        assert!(!shown.contains("North"), "{request}: {output:?}");
    }
}

#[test]
fn the_copy_can_only_be_read_and_shows_nothing_beside_it() {
    let home = home_with_tables();
    reading(&home);
    if !holds_scripts(&home) {
        return;
    }
    let output = in_home(&home, &["exec", "--yes", "peek", "scripts/write.sh", "--", "x.csv"]);
    assert_eq!(output.stdout, "refused\nrefused\nx.csv\n", "{output:?}");
    let kept = std::fs::read_to_string(home.path().join("home/x.csv")).expect("a file");
    assert_eq!(kept, "region,units\nNorth,10\nSouth,5\n");
    // Nothing of the copy is left.
    let state = home.path().join("home/.local/state/metier");
    let left = crate::support::files_below(&state);
    assert!(!left.iter().any(|file| file.contains("given")), "{left:?}");
}

#[test]
fn a_link_on_the_way_and_a_rule_that_asks_keep_a_file_from_being_given() {
    let home = home_with_tables();
    if !holds_scripts(&home) {
        return;
    }
    home.write("home/private/z.csv", "region,units\nNorth,10\n");
    symlink(home.home().join("private"), home.project().join("data")).expect("links");
    let output = run(&home, &["run", "--yes", "summarise data/z.csv by region"]);
    assert!(!output.stdout.contains("North"), "{output:?}");
    let direct = ["run", "--yes", "summarise ~/private/z.csv by region"];
    assert!(run(&home, &direct).stdout.contains("North"), "named by the person");
    let rules = json!({"permissions": [{"permission": "read_file", "pattern": "*/private/*", "effect": "ask"}]});
    home.write("home/.agent/config.json", rules.to_string());
    let output = run(&home, &direct);
    assert!(!output.stdout.contains("North"), "{output:?}");
}
