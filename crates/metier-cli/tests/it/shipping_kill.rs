//! Installations that are killed or fail at each of their file operations, by `strace`: afterwards the skills
//! are all old or all new, the lock agrees with the disk, and nothing else is left.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use metier_testkit::{Output, TestHome};
use serde_json::Value;
use tempfile::TempDir;

use crate::reads::can_trace;
use crate::support::{METIER, json, run, run_in};

/// Everything that changes the disk, or waits for it.
const CHANGES: &[&str] = &[
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "write",
    "syncfs",
    "fdatasync",
    "fsync",
    "flock",
    "chmod",
    "fchmod",
    "symlink",
    "symlinkat",
    "linkat",
    "copy_file_range",
];

/// What is interrupted where skills and their backups are on two file systems: the steps of copies and moves.
const COPYING: &[&str] =
    &["mkdir", "renameat2", "unlinkat", "copy_file_range", "sendfile", "fsync", "fchmod", "chmod"];

/// Where the user's home is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disks {
    One,
    /// On another file system than the project.
    Two,
}

/// What is done while it is killed.
struct Scenario {
    name: &'static str,
    args: &'static [&'static str],
    /// Names and versions of the installed skills before and after.
    old: &'static [(&'static str, &'static str)],
    new: &'static [(&'static str, &'static str)],
}

impl Scenario {
    fn replaces_a_from_staging(&self) -> bool {
        matches!(self.name, "install" | "update" | "links")
    }
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "install",
        args: &["install", "two.zip", "--yes"],
        old: &[("a", "1"), ("b", "1")],
        new: &[("a", "2"), ("b", "1"), ("c", "2")],
    },
    // `b` is gone from the source, and stays.
    Scenario {
        name: "update",
        args: &["update", "--all", "--yes"],
        old: &[("a", "1"), ("b", "1")],
        new: &[("a", "2"), ("b", "1")],
    },
    Scenario {
        name: "uninstall",
        args: &["uninstall", "a", "b", "--yes"],
        old: &[("a", "1"), ("b", "1")],
        new: &[],
    },
    Scenario {
        name: "restore",
        args: &["restore", "gone", "--yes"],
        old: &[("a", "1"), ("b", "1")],
        new: &[("a", "1"), ("b", "1"), ("gone", "1")],
    },
    Scenario {
        name: "restore over",
        args: &["restore", "a", "--yes"],
        old: &[("a", "1"), ("b", "1")],
        new: &[("a", "0"), ("b", "1")],
    },
    Scenario {
        name: "links",
        args: &["install", "two.zip", "--agent", "claude", "--link", "--yes"],
        old: &[("a", "1"), ("b", "1")],
        new: &[("a", "2"), ("b", "1"), ("c", "2")],
    },
];

fn skill(home: &TestHome, dir: &str, name: &str, version: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: Works.\nversion: \"{version}\"\n---\n\nText {version}.\n"
    );
    home.write(&format!("src/{dir}/{name}/SKILL.md"), text);
    home.write(&format!("src/{dir}/{name}/data/{name}.txt"), version.repeat(2000));
}

/// A home in memory, where that is another file system than that of temporary files.
fn second_disk(home: &TestHome) -> Option<TempDir> {
    let made = tempfile::Builder::new().prefix("metier-test-").tempdir_in("/dev/shm").ok();
    let device = |path: &Path| fs::metadata(path).expect("there").dev();
    let other = made.filter(|made| device(made.path()) != device(home.path()));
    if other.is_none() {
        metier_testkit::not_tested("/dev/shm is no second file system for backups");
    }
    other
}

fn prepared() -> TestHome {
    prepare(TestHome::new())
}

fn prepare(home: TestHome) -> TestHome {
    for (dir, version, names) in
        [("zero", "0", &["a"][..]), ("one", "1", &["a", "b", "gone"]), ("two", "2", &["a", "c"])]
    {
        for name in names {
            skill(&home, dir, name, version);
        }
        let zip = format!("../project/{dir}.zip");
        assert_eq!(run_in(&home, "src", &["pack", dir, "-o", &zip]).code, 0);
    }
    // One name for both versions: the second is another version of the same source.
    assert_eq!(run(&home, &["install", "zero.zip", "--yes"]).code, 0);
    assert_eq!(run(&home, &["install", "one.zip", "--yes", "--force"]).code, 0);
    home.write("project/.agent/skills/a/.env", "KEY=1\n");
    assert_eq!(run(&home, &["uninstall", "gone", "--yes"]).code, 0);
    let lock = home.project().join(".agent/skills.lock.json");
    for file in [lock, home.project().join(".agent/skills.json")] {
        let text = fs::read_to_string(&file).expect("reads").replace("./one.zip", "./two.zip");
        fs::write(&file, text).expect("writes");
    }
    let copied = Command::new("cp")
        .args(["-a"])
        .arg(home.project())
        .arg(home.path().join("project.kept"))
        .status();
    assert!(copied.expect("cp").success());
    let copied = Command::new("cp")
        .args(["-a"])
        .arg(fs::canonicalize(home.home()).expect("a home"))
        .arg(home.path().join("home.kept"))
        .status();
    assert!(copied.expect("cp").success());
    home
}

/// Puts everything back as it was prepared.
fn reset(home: &TestHome) {
    for name in ["project", "home"] {
        let place = fs::canonicalize(home.path().join(name)).expect("there");
        fs::remove_dir_all(&place).expect("removes");
        let kept = home.path().join(format!("{name}.kept"));
        let copied = Command::new("cp").arg("-a").arg(kept).arg(place).status();
        assert!(copied.expect("cp").success());
    }
}

/// Runs metier while the `count`th `call` is met by `fault`; whether it was.
fn run_with(
    home: &TestHome,
    args: &[&str],
    call: &str,
    fault: &str,
    count: usize,
) -> (Output, bool) {
    let log = home.path().join("strace.log");
    let output = TestHome::finish(
        home.command("strace")
            .args(["-f", "-qq", "-e", &format!("trace={call}"), "-e", "signal=none"])
            .args(["-e", &format!("inject={call}:{fault}:when={count}"), "-o"])
            .arg(&log)
            .arg(METIER)
            .args(args),
    );
    let calls = fs::read_to_string(&log).unwrap_or_default();
    let calls = calls.lines().filter(|line| line.contains(&format!("{call}("))).count();
    (output, calls >= count)
}

fn installed(home: &TestHome) -> Vec<(String, String, String)> {
    let output = run(home, &["verify", "--json"]);
    let verified: Value = output.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let skills = verified["skills"].as_array().unwrap_or_else(|| panic!("{output:?}"));
    skills.iter().map(|it| (text(&it["name"]), text(&it["version"]), text(&it["state"]))).collect()
}

fn hidden_in(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).expect("lists").map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

/// The skills are all old or all new, as the lock says, and nothing is left; whether they are new.
fn whole(home: &TestHome, scenario: &Scenario, at: &str) -> bool {
    let found = installed(home);
    let states = |expected: &[(&str, &str)]| -> Vec<(String, String, String)> {
        let state = |(name, version): &(&str, &str)| {
            ((*name).to_owned(), (*version).to_owned(), "unchanged".to_owned())
        };
        expected.iter().map(state).collect()
    };
    let is_new = found == states(scenario.new);
    assert!(is_new || found == states(scenario.old), "{at}: {found:?}");
    for (name, version, _) in &found {
        let path = home.project().join(format!(".agent/skills/{name}/data/{name}.txt"));
        assert_eq!(fs::read_to_string(path).expect("reads"), version.repeat(2000), "{at}");
    }
    let own = home.project().join(".agent/skills/a/.env");
    let is_there = fs::read_to_string(own).is_ok_and(|text| text == "KEY=1\n");
    assert!(is_there || !found.iter().any(|it| it.0 == "a" && it.1 != "0"), "{at}: .env is lost");
    if scenario.name == "links" {
        let link = home.project().join(".claude/skills/a");
        assert_eq!(fs::symlink_metadata(link).is_ok(), is_new, "{at}");
    }
    assert_eq!(hidden_in(&home.project().join(".agent/skills")), [""; 0], "{at}");
    // A lock file that nobody holds is taken by the next process; no temporary file may stay.
    let left = hidden_in(&home.project().join(".agent"));
    assert!(left.iter().all(|name| name == ".skills.lock.json.lock"), "{at}: {left:?}");
    let backups = json(home, &["restore", "--list", "--json"]);
    let kept: Vec<&str> = backups["backups"]
        .as_array()
        .expect("backups")
        .iter()
        .filter_map(|it| it["skill"].as_str())
        .collect();
    for (name, version) in scenario.old.iter().filter(|_| is_new) {
        let stays = scenario.new.contains(&(name, version));
        assert!(
            stays || kept.iter().any(|it| it.ends_with(&format!(":{name}"))),
            "{at}: {name} is lost, {kept:?}"
        );
    }
    if scenario.name == "restore" {
        assert_eq!(kept.iter().any(|it| it.ends_with(":gone")), !is_new, "{at}: {kept:?}");
    }
    is_new
}

/// No seal of a journal is left in the user's state, and no backup that is not whole.
fn nothing_is_left(home: &TestHome, at: &str) {
    let state = home.home().join(".local/state/metier");
    let seals = fs::read_dir(state.join("journals")).map_or(0, Iterator::count);
    assert_eq!(seals, 0, "{at}: the seal of a journal is left");
    let unfilled = fs::read_dir(state.join("backups")).into_iter().flatten().filter(|entry| {
        let backup = entry.as_ref().expect("an entry").path();
        let names = if backup.is_dir() { hidden_in(&backup) } else { Vec::new() };
        let is_filled = !backup.is_dir() || fs::symlink_metadata(backup.join("skill")).is_ok();
        !is_filled || !names.is_empty()
    });
    assert_eq!(unfilled.count(), 0, "{at}: a backup is not whole");
}

fn at_each_change(fault: &str, disks: Disks, after: impl Fn(&TestHome, &Scenario, &Output, &str)) {
    if !can_trace() {
        return;
    }
    let home = TestHome::new();
    let mut memory = None;
    if disks == Disks::Two {
        let Some(other) = second_disk(&home) else { return };
        fs::remove_dir(home.home()).expect("removes");
        std::os::unix::fs::symlink(other.path(), home.home()).expect("links");
        memory = Some(other);
    }
    let home = prepare(home);
    let mut tried = 0;
    for scenario in SCENARIOS {
        // What is installed and linked comes from staging in either case.
        if disks == Disks::Two && matches!(scenario.name, "install" | "links") {
            continue;
        }
        for call in if disks == Disks::Two { COPYING } else { CHANGES } {
            for count in 1.. {
                reset(&home);
                let (output, met) = run_with(&home, scenario.args, call, fault, count);
                if !met {
                    assert_eq!(
                        output.code, 0,
                        "{} after {count} of {call}: {output:?}",
                        scenario.name
                    );
                    break;
                }
                tried += 1;
                after(&home, scenario, &output, &format!("{}, {call} {count}", scenario.name));
            }
        }
    }
    assert!(tried > if memory.is_some() { 40 } else { 90 }, "{tried} file operations");
}

#[test]
fn a_process_that_is_killed_between_two_file_systems_leaves_all_of_the_old_or_all_of_the_new() {
    at_each_change("signal=SIGKILL", Disks::Two, |home, scenario, _, at| {
        whole(home, scenario, at);
        nothing_is_left(home, at);
    });
}

#[test]
fn a_process_that_is_killed_leaves_all_of_the_old_or_all_of_the_new() {
    at_each_change("signal=SIGKILL", Disks::One, |home, scenario, _, at| {
        if scenario.replaces_a_from_staging() {
            let skill = home.project().join(".agent/skills/a/SKILL.md");
            assert!(skill.exists(), "{at}: a skill that is only replaced is never missing");
        }
        whole(home, scenario, at);
        nothing_is_left(home, at);
        // And whatever it is, the command can be given again.
        let again = run(home, scenario.args);
        assert!(again.code == 0 || scenario.name != "install", "{at}: {again:?}");
    });
}

#[test]
fn a_disk_that_is_full_is_an_error_and_loses_nothing() {
    at_each_change("error=ENOSPC", Disks::One, |home, scenario, output, at| {
        let is_new = whole(home, scenario, at);
        // What could not be tidied up is no failure of the change itself.
        assert!(is_new || output.code == 1, "{at}: {output:?}");
    });
}

#[test]
fn the_next_command_finishes_whatever_it_is() {
    if !can_trace() {
        return;
    }
    let home = prepared();
    let (output, met) = run_with(&home, SCENARIOS[0].args, "renameat2", "signal=SIGKILL", 3);
    assert!(met && output.code != 0, "{output:?}");
    assert!(!hidden_in(&home.project().join(".agent/skills")).is_empty());
    assert_eq!(run(&home, &["list"]).code, 0);
    assert!(hidden_in(&home.project().join(".agent/skills")).is_empty());
    assert!(whole(&home, &SCENARIOS[0], "after list"));
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_and_nothing_is_lost() {
    use std::os::unix::fs::PermissionsExt;
    let home = prepared();
    crate::support::give_to_ordinary_user(&home);
    let folder = home.project().join(".agent/skills");
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).expect("chmod");
    let output =
        crate::support::run_unprivileged(&home, &["install", "two.zip", "--yes", "--json"]);
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("chmod");
    let Some(output) = output else { return };
    assert_eq!(
        (output.code, output.json()["error"]["code"].as_str()),
        (1, Some("not-written")),
        "{output:?}"
    );
}
