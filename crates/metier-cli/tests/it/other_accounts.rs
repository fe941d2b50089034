//! What other accounts of the machine could have written is not believed, and what the user keeps is
//! closed to them: modes whatever the umask, trust, answers, configuration, and folders above the
//! working directory.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_support::{answer, call, holds_scripts, scripted};
use crate::support::{METIER, at, run, run_in, texts};

const STATE: &str = "home/.local/state/metier";

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("chmod");
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").mode() & 0o7777
}

/// Gives something to another account, where this one may.
fn give_away(path: &Path) -> bool {
    let given = chown(path, Some(12345), None).is_ok();
    if !given {
        metier_testkit::not_tested("only root can give a file to another account");
    }
    given
}

/// A project with a skill of its own, and one of the user's.
fn project() -> TestHome {
    let home = TestHome::new();
    home.skill("project/.agent/skills/deploy", "deploy", "Ship it.");
    home.skill("home/.agent/skills/pdf", "pdf", "Fill forms.");
    home.write("home/.agent/skills/pdf/scripts/fill.sh", "echo filled\n");
    home
}

fn state(home: &TestHome, below: &str) -> PathBuf {
    home.path().join(STATE).join(below)
}

/// The document on standard output, whatever is warned about on standard error.
fn document(home: &TestHome, output: &Output, code: i32) -> Value {
    assert_eq!(output.code, code, "{}", output.stderr);
    serde_json::from_str(&home.scrub(&output.stdout)).expect("a document")
}

fn json(home: &TestHome, args: &[&str]) -> Value {
    document(home, &run(home, args), 0)
}

fn effect(home: &TestHome, args: &[&str]) -> Value {
    json(home, &[&["explain", "--json"], args].concat())["effect"].clone()
}

/// Runs the binary with a umask.
fn run_masked(home: &TestHome, umask: &str, args: &[&str]) -> Output {
    let mut command = home.command("sh");
    command.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\""), METIER]);
    TestHome::finish(command.args(args))
}

/// Everything below a folder with its mode; what a script or a skill brought is under the modes above.
fn modes_below(dir: &Path, found: &mut Vec<(PathBuf, bool, u32)>) {
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_dir = path.is_dir();
        if path.ends_with("outputs") || path.ends_with("skill") {
            continue;
        }
        found.push((path.clone(), is_dir, mode(&path)));
        if is_dir {
            modes_below(&path, found);
        }
    }
}

fn is_closed(home: &TestHome) {
    let mut found = vec![(state(home, ""), true, mode(&state(home, "")))];
    modes_below(&state(home, ""), &mut found);
    for (path, is_dir, mode) in found {
        let most = if is_dir { 0o700 } else { 0o600 };
        assert_eq!(mode & !most, 0, "{} has {mode:o}", path.display());
    }
}

#[test]
fn state_is_the_users_alone_whatever_the_umask() {
    let home = project();
    home.skill("home/.agent/skills/old", "old", "Goes away.");
    home.write(
        "home/.agent/config.json",
        r#"{"permissions": [{"permission": "write_file", "pattern": "*", "effect": "ask"}]}"#,
    );
    let write =
        call("write_file", &json!({"path": "out.txt", "content": "x", "expected_sha256": null}));
    let model = scripted(&home, &json!([write, answer("done")]));
    for (args, code) in [
        (&["refresh"][..], 0),
        (&["trust", "--yes"], 0),
        (&["delete", "--yes", "old"], 0),
        (&["run", "do it", "--model", model], 3),
        (&["exec", "pdf", "scripts/fill.sh"], 3),
    ] {
        let output = run_masked(&home, "000", args);
        assert_eq!(output.code, code, "{output:?}");
    }
    if holds_scripts(&home) {
        let output = run_masked(&home, "000", &["exec", "--yes", "pdf", "scripts/fill.sh"]);
        assert_eq!(output.stdout, "filled\n", "{output:?}");
        assert!(state(&home, "data").exists());
    }
    for made in ["trust.json", "pending", "runs", "exec", "backups"] {
        assert!(state(&home, made).exists(), "{made}");
    }
    is_closed(&home);
}

#[test]
fn state_that_is_found_open_is_closed() {
    let home = project();
    assert_eq!(run(&home, &["refresh"]).code, 0);
    assert_eq!(run(&home, &["exec", "pdf", "scripts/fill.sh"]).code, 3);
    for _ in 0..2 {
        for folder in ["pending", "exec", ""] {
            chmod(&state(&home, folder), 0o777);
        }
        for entry in std::fs::read_dir(state(&home, "")).expect("state") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                chmod(&path, 0o666);
            }
        }
        assert_eq!(run(&home, &["list"]).code, 0);
        for entry in std::fs::read_dir(state(&home, "")).expect("state") {
            let path = entry.expect("an entry").path();
            assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
        }
    }
}

#[test]
fn trust_and_answers_that_others_can_write_count_as_empty() {
    let home = project();
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0);
    assert_eq!(effect(&home, &["load_skill", "deploy"]), "allow");
    let fill = ["run_script", "scripts/fill.sh", "--skill", "pdf"];
    let asked = json(&home, &[&["explain", "--json"], &fill[..]].concat());
    let skill = &asked["request"]["skill"];
    let always = json!([{"id": "0123456789ab", "permission": "run_script",
        "covers": asked["request"]["remember"], "skill": skill["id"], "digest": skill["digest"],
        "scope": "everywhere", "granted_at": 1_700_000_000, "expires_at": null}]);
    let answers = home.write(&format!("{STATE}/answers.json"), always.to_string());
    chmod(&answers, 0o600);
    assert_eq!(effect(&home, &fill), "allow", "the positive control");
    let trust = state(&home, "trust.json");

    for open in [0o666, 0o602] {
        chmod(&answers, open);
        chmod(&trust, open);
        for _ in 0..2 {
            assert_eq!(effect(&home, &fill), "ask", "{open:o}");
            assert_eq!(effect(&home, &["load_skill", "deploy"]), "ask", "{open:o}");
            assert_eq!(
                mode(&answers),
                open,
                "what it says does not become true by a chmod of ours"
            );
        }
    }
    let listed = run(&home, &["permissions"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    for file in [&answers, &trust] {
        let file = file.canonicalize().expect("a path");
        let warning = format!("{} counts as empty: every account can write to it", file.display());
        assert!(listed.stderr.contains(&warning), "{warning}: {listed:?}");
        assert!(listed.stderr.contains(&format!("chmod o-w '{}'", file.display())), "{listed:?}");
    }
    assert!(listed.stdout.is_empty(), "{listed:?}");
    for args in
        [&["trust", "--yes", "--json"][..], &["permissions", "forget", "0123456789ab", "--json"]]
    {
        let error = document(&home, &run(&home, args), 1);
        assert_eq!(error["error"]["code"], "state-foreign", "{error}");
        assert!(error["error"]["help"].as_str().expect("help").contains("chmod o-w"), "{error}");
    }
    chmod(&answers, 0o600);
    chmod(&trust, 0o644);
    assert_eq!(effect(&home, &fill), "allow", "closed again, it counts");
    assert_eq!(effect(&home, &["load_skill", "deploy"]), "allow");

    // Someone who can replace the file can write it.
    let local = home.home().join(".local");
    chmod(&local, 0o777);
    assert_eq!(effect(&home, &fill), "ask");
    chmod(&local, 0o1777);
    assert_eq!(effect(&home, &fill), "allow", "sticky: no one can replace what is not theirs");
    chmod(&local, 0o755);
    if !give_away(&answers) {
        return;
    }
    assert_eq!(effect(&home, &fill), "ask", "it belongs to another account");
    assert_eq!(effect(&home, &["load_skill", "deploy"]), "allow");
}

#[test]
fn an_answer_of_always_is_not_given_by_another_account() {
    let home = project();
    // As a umask of 000 left it: another account adds an answer of its own.
    home.write(&format!("{STATE}/answers.json"), "[]");
    chmod(&state(&home, "answers.json"), 0o666);
    chmod(&state(&home, ""), 0o777);
    let fill = ["run_script", "scripts/fill.sh", "--skill", "pdf"];
    let asked = json(&home, &[&["explain", "--json"], &fill[..]].concat());
    let skill = &asked["request"]["skill"];
    let always = json!([{"id": "0123456789ab", "permission": "run_script",
        "covers": asked["request"]["remember"], "skill": skill["id"], "digest": skill["digest"],
        "scope": "everywhere", "granted_at": 1_700_000_000, "expires_at": null}]);
    std::fs::write(state(&home, "answers.json"), always.to_string()).expect("writes");
    for _ in 0..2 {
        let output = run(&home, &["exec", "pdf", "scripts/fill.sh"]);
        assert_eq!((output.code, output.stdout.as_str()), (3, ""), "{output:?}");
        assert!(output.stderr.contains("counts as empty"), "{output:?}");
    }
}

#[test]
fn state_of_another_account_is_not_used() {
    let home = project();
    assert_eq!(run(&home, &["refresh"]).code, 0);
    if !give_away(&state(&home, "")) {
        return;
    }
    for args in [&["list", "--json"][..], &["trust", "--yes", "--json"]] {
        let error = document(&home, &run(&home, args), 1);
        assert_eq!(error["error"]["code"], "state-foreign", "{error}");
    }
}

/// The error about a configuration that is not safe, with the command that makes it so.
fn config_refused(home: &TestHome, remedy: &str) {
    for args in [&["list", "--json"][..], &["explain", "grep", ".", "--json"]] {
        let error = document(home, &run(home, args), 1);
        assert_eq!(error["error"]["code"], "config-foreign", "{error}");
        let help = error["error"]["help"].as_str().expect("help");
        assert!(help.contains(remedy), "{remedy} in {error}");
    }
}

#[test]
fn a_users_configuration_that_others_can_write_stops_the_program() {
    let home = project();
    let config = home.write("home/.agent/config.json", r#"{"budgets": {"turns": 3}}"#);
    chmod(&config, 0o644);
    assert_eq!(run(&home, &["list"]).code, 0);
    chmod(&config, 0o646);
    config_refused(&home, "chmod o-w '[T]/home/.agent/config.json'");
    assert_eq!(run(&home, &["config", "schema"]).code, 0, "this reads none");
    chmod(&config, 0o644);
    chmod(&home.home().join(".agent"), 0o777);
    config_refused(&home, "chmod o-w '[T]/home/.agent'");
    chmod(&home.home().join(".agent"), 0o755);
    // Through a link: where it leads counts.
    let shared = home.write("shared/config.json", "{}");
    chmod(&shared, 0o666);
    std::fs::remove_file(&config).expect("removes");
    std::os::unix::fs::symlink(&shared, &config).expect("link");
    config_refused(&home, "chmod o-w '[T]/shared/config.json'");
    chmod(&shared, 0o644);
    assert_eq!(run(&home, &["list"]).code, 0);
    std::fs::remove_file(&config).expect("removes");
    home.write("home/.agent/config.json", "{}");
    if chown(&config, None, Some(54321)).is_err() {
        metier_testkit::not_tested("only root can give a file to another group");
        return;
    }
    chmod(&config, 0o664);
    config_refused(&home, "chmod g-w '[T]/home/.agent/config.json'");
    // A umask of 002 and a group of one's own.
    chown(&config, None, Some(0)).expect("root's own group");
    chmod(&config, 0o664);
    assert_eq!(run(&home, &["list"]).code, 0);
    assert!(give_away(&config));
    config_refused(&home, "chown \"$(id -un)\" '[T]/home/.agent/config.json'");
}

#[test]
fn an_administrators_file_that_others_can_write_stops_the_program() {
    let home = project();
    let managed = home.write("managed.json", "{}");
    let list = |home: &TestHome| {
        let mut command = home.command(METIER);
        command.env("METIER_MANAGED_CONFIG", &managed).args(["list", "--json"]);
        TestHome::finish(&mut command)
    };
    chmod(&managed, 0o644);
    assert_eq!(list(&home).code, 0);
    chmod(&managed, 0o666);
    let error = document(&home, &list(&home), 1);
    assert_eq!(error["error"]["code"], "config-foreign", "{error}");
}

#[test]
fn an_ordinary_account_is_held_to_the_same() {
    let home = project();
    let config = home.write("home/.agent/config.json", "{}");
    if Command::new("true").uid(65534).gid(65534).status().is_err() {
        metier_testkit::not_tested("this account cannot become another");
        return;
    }
    let all = Command::new("chown").args(["-R", "65534:65534"]).arg(home.path()).status();
    assert!(all.expect("chown").success());
    let binary = home.path().join("metier");
    assert!(Command::new("cp").arg(METIER).arg(&binary).status().expect("cp").success());
    let as_nobody = |args: &[&str]| {
        let mut command = home.command(&binary.to_string_lossy());
        TestHome::finish(command.uid(65534).gid(65534).args(args))
    };
    for args in [&["refresh"][..], &["trust", "--yes"], &["list"]] {
        let output = as_nobody(args);
        assert_eq!((output.code, output.stderr.contains("warning")), (0, false), "{output:?}");
    }
    is_closed(&home);
    // Other accounts have this group too.
    chmod(&config, 0o664);
    let error = document(&home, &as_nobody(&["list", "--json"]), 1);
    assert_eq!(error["error"]["code"], "config-foreign", "{error}");
    chmod(&config, 0o644);
    // What root wrote is as good as one's own; what a third account wrote is not.
    chown(&config, Some(0), None).expect("chown");
    assert_eq!(as_nobody(&["list"]).code, 0);
    chown(&config, Some(12345), None).expect("chown");
    let error = document(&home, &as_nobody(&["list", "--json"]), 1);
    assert_eq!(error["error"]["code"], "config-foreign", "{error}");
}

#[test]
fn a_relative_home_is_refused_and_a_relative_state_folder_ignored() {
    let home = project();
    let with = |name: &str, value: &str| {
        let mut command = home.command(METIER);
        TestHome::finish(command.env(name, value).args(["refresh", "--json"]))
    };
    for (name, value) in [("HOME", "home"), ("HOME", "."), ("METIER_HOME", "mine")] {
        let error = document(&home, &with(name, value), 1);
        assert_eq!(error["error"]["code"], "home-relative", "{name}={value}: {error}");
        assert!(error["error"]["help"].as_str().is_some_and(|help| help.contains("absolute")));
        assert!(!home.project().join("mine").exists());
    }
    assert_eq!(with("METIER_HOME", "").code, 0, "empty is not set");
    assert_eq!(with("XDG_STATE_HOME", "mine").code, 0);
    assert!(!home.project().join("mine").exists());
    assert!(state(&home, "").exists());
}

/// A folder that others can write, with what they might put there, and a directory in it to work in.
fn planted(mode: u32) -> TestHome {
    let home = TestHome::new();
    home.skill("open/.agent/skills/evil", "evil", "Poses as the project's.");
    home.skill("open/.claude/skills/evil-too", "evil-too", "Poses as the project's.");
    home.write("open/.agent/config.json", r#"{"budgets": {"turns": 1}}"#);
    home.skill("open/work/.agent/skills/mine", "mine", "Chosen.");
    std::fs::create_dir_all(home.path().join("open/.git")).expect("a folder");
    chmod(&home.path().join("open"), mode);
    home
}

fn names(listing: &Value) -> Vec<&str> {
    texts(&listing["skills"], "name")
}

/// Nothing of the open folder is used, and all of it is named.
fn is_skipped(home: &TestHome) {
    for _ in 0..2 {
        let listing = document(home, &run_in(home, "open/work", &["list", "--json"]), 0);
        let names = names(&listing);
        assert!(names.contains(&"mine"), "{listing}");
        assert!(!names.iter().any(|name| name.starts_with("evil")), "{listing}");
        let notes = listing["report"]["notes"].as_array().expect("notes");
        let named: Vec<&str> = notes
            .iter()
            .filter(|note| note["code"] == "root-foreign")
            .map(|note| note["path"].as_str().expect("a path"))
            .collect();
        assert_eq!(named, ["[T]/open/.agent/skills", "[T]/open/.claude/skills"]);
    }
    let shown = document(home, &run_in(home, "open/work", &["config", "--json"]), 0);
    let files = shown["files"].as_array().expect("files");
    let skipped = files.iter().find(|file| file["path"] == "[T]/open/.agent/config.json");
    assert!(skipped.expect("named")["skipped"].is_string(), "{shown}");
    let turns = shown["settings"].as_array().expect("settings").iter();
    let turns = turns.clone().find(|row| row["key_path"] == "budgets.turns").expect("a setting");
    assert_eq!(turns["origin"], "default");
    let warned = run_in(home, "open/work", &["list"]);
    let words = format!("{} is not used: ", at(home, "open/.agent/config.json"));
    assert!(warned.stderr.contains(&words), "{warned:?}");
    let roots = document(home, &run_in(home, "open/work", &["roots", "--json"]), 0);
    let states: Vec<&Value> = roots["roots"].as_array().expect("roots").iter().collect();
    assert!(states.iter().any(|root| root["state"] == "foreign"), "{roots}");
}

#[test]
fn what_others_could_put_above_the_working_directory_is_skipped_and_named() {
    let home = planted(0o777);
    is_skipped(&home);
    // Who works there has chosen it.
    let listing = document(&home, &run_in(&home, "open", &["list", "--json"]), 0);
    assert!(names(&listing).contains(&"evil"), "{listing}");
    // Closed, it is a project like any other.
    chmod(&home.path().join("open"), 0o755);
    let listing = document(&home, &run_in(&home, "open/work", &["list", "--json"]), 0);
    assert!(names(&listing).contains(&"evil"), "{listing}");
    // A part of it that others can write is skipped alone.
    chmod(&home.path().join("open/.claude"), 0o777);
    let listing = document(&home, &run_in(&home, "open/work", &["list", "--json"]), 0);
    assert!(names(&listing).contains(&"evil") && !names(&listing).contains(&"evil-too"));
    assert_eq!(run_in(&home, "open/work", &["list"]).stderr.matches("warning").count(), 0);
}

#[test]
fn a_sticky_folder_does_not_protect_from_what_another_account_planted() {
    let home = planted(0o1777);
    let listing = document(&home, &run_in(&home, "open/work", &["list", "--json"]), 0);
    assert!(names(&listing).contains(&"evil"), "one's own is one's own: {listing}");
    for planted in [".agent", ".claude", ".git"] {
        if !give_away(&home.path().join("open").join(planted)) {
            return;
        }
    }
    is_skipped(&home);
    // Nor does a repository that another account began there hold this work.
    home.write("open/work/model.json", json!({"replies": [answer("done")]}).to_string());
    let ran = run_in(&home, "open/work", &["run", "hello", "--model", "scripted:model.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(home.path().join("open/work/.agent/runs").exists());
    assert!(!home.path().join("open/.agent/runs").exists());
}

#[test]
fn skills_in_the_home_directory_that_everyone_can_write_are_skipped() {
    let home = project();
    chmod(&home.home().join(".agent/skills"), 0o777);
    let listing = json(&home, &["list", "--json"]);
    assert!(!names(&listing).contains(&"pdf"), "{listing}");
    assert!(names(&listing).contains(&"deploy"), "{listing}");
    chmod(&home.home().join(".agent/skills"), 0o755);
    assert!(names(&json(&home, &["list", "--json"])).contains(&"pdf"));
}

#[test]
fn a_projects_configuration_is_not_taken_from_elsewhere_by_a_link() {
    let home = project();
    let outside = home.write("outside/config.json", r#"{"budgets": {"turns": 1}}"#);
    let link = home.project().join(".agent/config.json");
    std::os::unix::fs::symlink(&outside, &link).expect("link");
    let error = document(&home, &run(&home, &["list", "--json"]), 1);
    assert_eq!(error["error"]["code"], "config-unreadable", "{error}");
    let message = error["error"]["message"].as_str().expect("a message");
    assert!(message.contains("out of the project, to [T]/outside/config.json"), "{message}");
    // Inside the project it may stand anywhere.
    std::fs::remove_file(&link).expect("removes");
    home.write("project/settings/metier.json", r#"{"budgets": {"turns": 2}}"#);
    std::os::unix::fs::symlink("../settings/metier.json", &link).expect("link");
    let shown = json(&home, &["config", "--json"]);
    let mut settings = shown["settings"].as_array().expect("settings").iter();
    let turns = settings.find(|row| row["key_path"] == "budgets.turns").expect("a setting");
    assert_eq!(turns["value"], 2);
}

#[test]
fn nothing_is_written_through_a_link_that_leads_out_of_the_project() {
    let home = TestHome::new();
    home.skill("home/.agent/skills/pdf", "pdf", "Fill forms.");
    let keys = home.home().join(".ssh");
    std::fs::create_dir(&keys).expect("a folder");
    std::os::unix::fs::symlink(&keys, home.project().join(".agent")).expect("link");
    for args in [
        &["disable", "pdf", "--project", "--json"][..],
        &["new", "fresh", "--project", "-d", "A skill.", "--json"],
    ] {
        for _ in 0..2 {
            let error = document(&home, &run(&home, args), 1);
            assert_eq!(error["error"]["code"], "behind-a-link", "{error}");
            assert_eq!(std::fs::read_dir(&keys).expect("a folder").count(), 0);
        }
    }
}
