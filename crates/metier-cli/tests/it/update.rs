//! `metier outdated`, `diff` and `update`, from the outside: what is printed, exit codes, what is on the disk, and
//! what a running watcher sees.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{Live, METIER, answers_on_terminal, json, run, run_in, shown};

fn skill(home: &TestHome, dir: &str, name: &str, version: &str, more: &str) {
    home.write(
        &format!("project/{dir}/{name}/SKILL.md"),
        format!(
            "---\nname: {name}\ndescription: Works on {name}.\nversion: \"{version}\"\n{more}---\n\n\
             # How to work on {name}\n\nThese are the steps of the work.\n"
        ),
    );
}

fn installed() -> TestHome {
    let home = TestHome::new();
    for name in ["a", "b", "c"] {
        skill(&home, "src", name, "1", "");
        home.write(&format!("project/src/{name}/data.txt"), format!("one\ntwo of {name}\nthree\n"));
    }
    let output = run(&home, &["install", "src", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    home
}

fn states(home: &TestHome) -> Vec<(String, String)> {
    let listed = run(home, &["outdated", "--json"]).json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let skills = listed["skills"].as_array().expect("skills");
    skills.iter().map(|it| (text(&it["name"]), text(&it["state"]))).collect()
}

fn states_are(home: &TestHome, expected: [&str; 3]) {
    let expected: Vec<(String, String)> = ["a", "b", "c"]
        .into_iter()
        .zip(expected)
        .map(|(name, state)| (name.to_owned(), state.to_owned()))
        .collect();
    assert_eq!(states(home), expected);
}

fn text_of(home: &TestHome, path: &str) -> String {
    fs::read_to_string(home.project().join(".agent/skills").join(path)).expect("reads")
}

macro_rules! assert_updated {
    ($home:expr, $output:expr, @$snapshot:literal) => {
        insta::with_settings!({filters => vec![
            (r"sha256:[0-9a-f]{64}", "[DIGEST]"),
            (r"\b[0-9a-f]{8}\b", "[DIGEST8]"),
            (r"\d+\.\d KB|\d+ B", "[SIZE]"),
        ]}, {
            insta::assert_snapshot!(shown($home, $output), @$snapshot);
        });
    };
}

#[test]
fn an_update_shows_what_changes_and_then_changes_it() {
    let home = installed();
    states_are(&home, ["current", "current", "current"]);
    assert_updated!(&home, &run(&home, &["update", "--all", "--yes"]), @"
    exit: 0
    ---- stdout
    3 skills up to date

    ---- stderr
    ");
    skill(&home, "src", "a", "2", "allowed-tools: Read\n");
    home.write("project/src/a/data.txt", "one\n2\nthree\n");
    let script = home.write("project/src/a/run.sh", "#!/bin/sh\necho hello\n");
    fs::set_permissions(script, PermissionsExt::from_mode(0o755)).expect("chmod");
    fs::remove_file(home.path().join("project/src/b/data.txt")).expect("removes");
    states_are(&home, ["outdated", "outdated", "current"]);
    assert_updated!(&home, &run(&home, &["outdated"]), @"
    exit: 0
    ---- stdout
    NAME  STATE     INSTALLED   AVAILABLE   SOURCE
    a     outdated  1 [DIGEST8]  2 [DIGEST8]  ./src
    b     outdated  1 [DIGEST8]  1 [DIGEST8]  ./src

    ---- stderr
    1 up to date, 2 outdated: see `metier diff`, then `metier update`
    ");
    assert_updated!(&home, &run(&home, &["diff", "a"]), @r#"
    exit: 0
    ---- stdout
    --- a/a/SKILL.md
    +++ b/a/SKILL.md
    @@ -1,7 +1,8 @@
     ---
     name: a
     description: Works on a.
    -version: "1"
    +version: "2"
    +allowed-tools: Read
     ---
     
     # How to work on a
    --- a/a/data.txt
    +++ b/a/data.txt
    @@ -1,3 +1,3 @@
     one
    -two of a
    +2
     three
    a/run.sh can be executed
    --- /dev/null
    +++ b/a/run.sh
    @@ -0,0 +1,2 @@
    +#!/bin/sh
    +echo hello

    ---- stderr
    tools of a: any -> Read
    1 skill would change
    "#);
    assert_updated!(&home, &run(&home, &["diff", "--stat"]), @"
    exit: 0
    ---- stdout
    a
      changed SKILL.md  +2 -1
      changed data.txt  +1 -1
      added run.sh  +2 -0, can be executed
    b
      removed data.txt  +0 -3

    ---- stderr
    tools of a: any -> Read
    2 skills would change
    ");
    let before = json(&home, &["verify", "--json"]);
    assert_updated!(&home, &run(&home, &["update", "--all", "--dry-run"]), @"
    exit: 0
    ---- stdout
    replace a 1 -> 2  from ./src (3 files, [SIZE])
      Works on a.
      added: run.sh
      changed: SKILL.md, data.txt
      new scripts: run.sh
      tools: any -> Read
      scripts: run.sh
      [DIGEST]
    replace b 1  from ./src (1 file, [SIZE])
      Works on b.
      removed: data.txt
      [DIGEST]
    1 skill unchanged

    ---- stderr
    nothing was changed
    ");
    assert_eq!(json(&home, &["verify", "--json"]), before, "nothing was changed");
    let without = |mut value: Value| {
        value.as_object_mut().expect("an object").remove("dry_run").expect("says which it is");
        value
    };
    let planned = json(&home, &["update", "--all", "--dry-run", "--json"]);
    let done = json(&home, &["update", "--all", "--yes", "--json"]);
    assert_eq!(without(planned), without(done), "the plan that is shown is carried out");
    assert_eq!(text_of(&home, "a/data.txt"), "one\n2\nthree\n");
    assert!(!home.project().join(".agent/skills/b/data.txt").exists());
    states_are(&home, ["current", "current", "current"]);
    assert_eq!(run(&home, &["verify"]).code, 0);
    let listed = json(&home, &["restore", "--list", "--json"]);
    assert_eq!(listed["backups"].as_array().map(Vec::len), Some(2), "{listed}");
}

#[test]
fn local_edits_stay_and_are_shown_and_the_others_are_updated() {
    let home = installed();
    home.write("project/.agent/skills/a/data.txt", "one\nmine\nthree\n");
    // Nothing is newer upstream: an edit is no trouble.
    let output = run(&home, &["update", "--all", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let local = run(&home, &["diff", "a", "--local"]);
    assert!(local.stdout.contains("-two of a") && local.stdout.contains("+mine"), "{local:?}");
    for name in ["a", "b"] {
        home.write(&format!("project/src/{name}/data.txt"), "newer\n");
    }
    let output = run(&home, &["update", "--all", "--yes", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let not_updated = &output.json()["not_updated"];
    assert_eq!(
        (&not_updated[0]["name"], &not_updated[0]["reason"]),
        (&json!("a"), &json!("modified"))
    );
    assert_eq!(text_of(&home, "a/data.txt"), "one\nmine\nthree\n");
    assert_eq!(text_of(&home, "b/data.txt"), "newer\n", "the others are updated");
    // The source no longer has the text that was installed: the file is named, its lines are not known.
    let local = run(&home, &["diff", "a", "--local"]);
    assert!(local.stdout.contains("a/a/data.txt and b/a/data.txt differ"), "{local:?}");
    assert_eq!(run(&home, &["update", "a", "--yes", "--force"]).code, 0);
    assert_eq!(text_of(&home, "a/data.txt"), "newer\n");
    let backups = json(&home, &["restore", "--list", "--json"]);
    assert_eq!(backups["backups"][0]["skill"], "project:a", "{backups}");
}

#[test]
fn what_is_gone_or_renamed_upstream_stays_and_nothing_is_ever_added() {
    let home = installed();
    skill(&home, "src", "new", "1", "");
    fs::remove_dir_all(home.path().join("project/src/a")).expect("removes");
    let text = fs::read_to_string(home.path().join("project/src/b/SKILL.md")).expect("reads");
    home.write("project/src/b/SKILL.md", text.replace("name: b\n", "name: better\n"));
    let output = run(&home, &["update", "--all", "--yes"]);
    assert_updated!(&home, &output, @"
    exit: 0
    ---- stdout
    1 skill up to date
    not updated a: ./src no longer has `a`; it stays as it is
      to remove it: metier uninstall a
    not updated b: ./src seems to call `b` `better` now; it stays as it is
      to change over: metier install ./src --skill better, then metier uninstall b

    ---- stderr
    ");
    states_are(&home, ["gone", "renamed", "current"]);
    for name in ["a", "b", "c"] {
        assert!(home.project().join(format!(".agent/skills/{name}/SKILL.md")).exists());
    }
    for name in ["new", "better"] {
        assert!(!home.project().join(format!(".agent/skills/{name}")).exists());
    }
    assert_eq!(run(&home, &["update", "a", "--yes"]).code, 1, "who named it has to know");
    assert_eq!(run(&home, &["update", "new", "--yes"]).code, 1, "it is not installed");
}

#[test]
fn one_bad_source_does_not_stop_the_others_and_an_unchanged_archive_is_up_to_date() {
    let home = TestHome::new();
    for name in ["a", "b", "c"] {
        skill(&home, name, name, "1", "");
        let zip = format!("{name}.zip");
        assert_eq!(run_in(&home, "project", &["pack", name, "-o", &zip]).code, 0);
        assert_eq!(run(&home, &["install", &zip, "--yes"]).code, 0);
    }
    home.write("project/a.zip", "PK\x03\x04 and no more");
    skill(&home, "b", "b", "2", "");
    fs::remove_file(home.path().join("project/b.zip")).expect("removes");
    assert_eq!(run_in(&home, "project", &["pack", "b", "-o", "b.zip"]).code, 0);
    states_are(&home, ["source-failed", "outdated", "current"]);
    let output = run(&home, &["update", "--all", "--yes", "--jobs", "2", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let done = output.json();
    assert_eq!(
        (&done["not_updated"][0]["name"], &done["not_updated"][0]["code"]),
        (&json!("a"), &json!("zip-end"))
    );
    states_are(&home, ["source-failed", "current", "current"]);
    // A skill that can no longer be used at its source stays as well.
    home.write("project/b/b/SKILL.md", "no frontmatter\n");
    fs::remove_file(home.path().join("project/b.zip")).expect("removes");
    let output = run(&home, &["outdated"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("1 up to date, 2 unknown"), "{output:?}");
    assert_eq!(run(&home, &["update", "--all", "--yes"]).code, 1);
    assert!(text_of(&home, "b/SKILL.md").contains("version: \"2\""));
}

#[test]
fn an_update_is_trusted_only_where_someone_was_shown_the_difference() {
    let home = installed();
    let trust = || json(&home, &["inspect", "a", "--json"])["trust"].clone();
    assert_eq!(trust(), "trusted");
    home.write("project/src/a/data.txt", "newer\n");
    let output = run(&home, &["update", "a", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_ne!(trust(), "trusted", "no one has seen it: {output:?}");
    home.write("project/src/a/data.txt", "newest\n");
    let answers = &[("Update?", "y\n")];
    let Some(output) = answers_on_terminal(&home, &["update", "a"], answers) else { return };
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("changed: data.txt"), "{output:?}");
    assert_eq!(trust(), "trusted");
}

#[test]
fn a_patch_is_one_that_other_programs_can_apply() {
    let home = installed();
    home.write("project/src/a/data.txt", "one\n2\nthree\nfour\n");
    home.write("project/src/a/image.bin", b"\0\x01\x02".as_slice());
    let output = run(&home, &["diff", "a", "--patch", "--json"]);
    let diff = output.json();
    let lines = diff["skills"][0]["lines"].as_array().expect("lines");
    assert_eq!((&lines[0]["path"], &lines[0]["added"]), (&json!("data.txt"), &json!(2)));
    assert!(lines[1].get("added").is_none(), "not text: {diff}");
    let patch = home.write("a.patch", lines[0]["patch"].as_str().expect("a patch"));
    let skills = home.project().join(".agent/skills");
    let mut apply = home.command("git");
    let applied = TestHome::finish(apply.arg("apply").arg(patch).current_dir(skills));
    assert_eq!(applied.code, 0, "{applied:?}");
    assert_eq!(text_of(&home, "a/data.txt"), "one\n2\nthree\nfour\n");
}

#[test]
fn what_diff_prints_into_a_file_is_a_patch_whatever_the_lines_hold() {
    let home = installed();
    let before = "one\r\ntwo\r\nthree\r\na\rb\n\u{1b}[31mred\u{1b}[0m\nend";
    let after = "one\r\n2\r\nthree\r\na\rc\n\u{1b}[32mgreen\u{1b}[0m\n\u{202e}end";
    home.write("project/src/a/data.txt", before);
    assert_eq!(run(&home, &["update", "a", "--yes"]).code, 0);
    home.write("project/src/a/data.txt", after);
    for args in [&["diff", "a"][..], &["diff", "a", "--patch"]] {
        let output = run(&home, args);
        let patch = home.write("a.patch", output.stdout.as_str());
        let skills = home.project().join(".agent/skills");
        for check in [&["apply", "--check"][..], &["apply"], &["apply", "-R"]] {
            let mut apply = home.command("git");
            let applied = TestHome::finish(apply.args(check).arg(&patch).current_dir(&skills));
            assert_eq!(applied.code, 0, "{check:?}: {applied:?}");
            if check == ["apply"] {
                assert_eq!(text_of(&home, "a/data.txt"), after);
            }
        }
    }
    assert_eq!(text_of(&home, "a/data.txt"), before);
}

#[test]
fn a_change_of_the_execute_bit_alone_is_shown_as_that() {
    use std::os::unix::fs::PermissionsExt;
    let home = installed();
    let file = home.project().join(".agent/skills/a/data.txt");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("set");
    let shown = run(&home, &["diff", "a", "--local"]);
    assert_eq!(shown.stdout, "a/data.txt can be executed\n", "{shown:?}");
    let counted = run(&home, &["diff", "a", "--local", "--stat"]);
    assert!(counted.stdout.contains("data.txt  can be executed"), "{counted:?}");
    assert!(!counted.stdout.contains("not text"), "{counted:?}");
}

#[test]
fn a_running_watcher_sees_every_installation_update_uninstallation_and_restoration() {
    let home = TestHome::new();
    skill(&home, "src", "a", "1", "");
    home.skill("project/.agent/skills/old", "old", "Was there.");
    let live = Live::start(home.command(METIER).args(["list", "--watch"]));
    assert!(live.stderr_line().starts_with("watching "));
    let step = |args: &[&str], line: &str| {
        let output = run(&home, args);
        assert_eq!(output.code, 0, "{output:?}");
        let seen = live.line();
        assert!(seen.starts_with(line), "{args:?}: {seen}");
    };
    step(&["install", "src", "--yes"], "+ added   project:a");
    skill(&home, "src", "a", "2", "");
    step(&["update", "a", "--yes"], "~ changed project:a");
    step(&["uninstall", "a", "--yes"], "- removed project:a");
    step(&["restore", "a", "--yes"], "+ added   project:a");
    assert_eq!(live.end(), [""; 0], "and nothing else");
}

#[test]
fn an_older_version_is_called_one_with_both_versions() {
    let home = installed();
    skill(&home, "src", "a", "0.9", "");
    let output = run(&home, &["outdated"]);
    assert!(output.stdout.contains("a     older version  1 "), "{output:?}");
    let held = run(&home, &["update", "a", "--yes"]);
    assert_eq!(held.code, 1, "{held:?}");
    assert!(held.stdout.contains("gives version 0.9 of `a`, and 1 is installed"), "{held:?}");
    let plan = run(&home, &["update", "a", "--force", "--dry-run"]);
    assert!(plan.stdout.contains("replace a 1 -> 0.9 (older)"), "{plan:?}");
    let listed = json(&home, &["outdated", "--json"]);
    assert_eq!(
        (&listed["skills"][0]["older"], &listed["skills"][1]["older"]),
        (&json!(true), &Value::Null)
    );
}

#[test]
fn a_circle_at_the_source_stops_only_the_skills_in_it() {
    let home = installed();
    let needs = |name: &str| format!("metadata:\n  metier.requires: {name}\n");
    skill(&home, "src", "a", "2", &needs("b"));
    skill(&home, "src", "b", "2", &needs("a"));
    skill(&home, "src", "c", "2", &needs("a"));
    let output = run(&home, &["update", "--all", "--yes", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let done = output.json();
    let circle = |at: usize| {
        let it = &done["not_updated"][at];
        (it["name"].as_str().unwrap_or_default(), it["code"].as_str().unwrap_or_default())
    };
    assert_eq!((circle(0), circle(1)), (("a", "dependency-cycle"), ("b", "dependency-cycle")));
    states_are(&home, ["outdated", "outdated", "current"]);
    assert!(text_of(&home, "a/SKILL.md").contains("version: \"1\""));
}

#[test]
fn a_skill_that_is_gone_from_the_folder_is_missing_and_not_up_to_date() {
    let home = installed();
    fs::remove_dir_all(home.project().join(".agent/skills/a")).expect("removes");
    let output = run(&home, &["outdated"]);
    assert!(
        output.stdout.contains("missing here") && !output.stdout.contains("up to date"),
        "{output:?}"
    );
    assert!(output.stderr.contains("2 up to date, 1 missing here"), "{output:?}");
    let output = run(&home, &["update", "--all", "--yes"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("2 skills up to date"), "{output:?}");
    assert!(
        output.stdout.contains("not updated a: `a` is in the lock and not in the folder"),
        "{output:?}"
    );
}
