//! Changes of installed skills that the system stops in the middle: a folder of another account, a mount point, a layer
//! of an overlay, a full or read-only disk. Afterwards everything is old or everything is new, and no later command
//! is stopped.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use metier_testkit::{Output, TestHome};
use serde_json::Value;

use crate::support::{METIER, give_to_ordinary_user, run, run_in, run_unprivileged};

/// What a shell exits with when it could not mount what a test needs.
const NOT_MOUNTED: i32 = 77;

fn pack(home: &TestHome, version: &str, filler: usize) {
    for name in ["a", "b"] {
        let text = format!(
            "---\nname: {name}\ndescription: Works.\nversion: \"{version}\"\n---\n\nText {version}.\n"
        );
        home.write(&format!("src/{name}/SKILL.md"), text);
        home.write(&format!("src/{name}/data.txt"), version.repeat(filler));
    }
    let _ = fs::remove_file(home.project().join("two.zip"));
    let packed = run_in(home, "src", &["pack", ".", "-o", "../project/two.zip"]);
    assert_eq!(packed.code, 0, "{packed:?}");
}

/// A project with two skills of version 1, whose source has version 2.
fn with_update(filler: usize) -> TestHome {
    let home = TestHome::new();
    pack(&home, "1", filler);
    assert_eq!(run(&home, &["install", "two.zip", "--yes"]).code, 0);
    pack(&home, "2", filler);
    home
}

fn states(output: &Output) -> Vec<(String, String)> {
    let verified: Value = output.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let skills = verified["skills"].as_array().unwrap_or_else(|| panic!("{output:?}"));
    skills.iter().map(|it| (text(&it["version"]), text(&it["state"]))).collect()
}

fn two(version: &str) -> Vec<(String, String)> {
    vec![(version.to_owned(), "unchanged".to_owned()); 2]
}

/// Everything is as it was, and nothing is left of the change.
fn is_all_old(home: &TestHome) {
    assert_eq!(states(&run(home, &["verify", "--json"])), two("1"));
    let mut names: Vec<_> = fs::read_dir(home.project().join(".agent/skills"))
        .expect("lists")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["a", "b"]);
    let listed: Value = run(home, &["restore", "--list", "--json"]).json();
    assert_eq!(listed["backups"].as_array().map(Vec::len), Some(0), "{listed}");
    let backups = home.home().join(".local/state/metier/backups");
    let left = fs::read_dir(backups).map_or(0, |entries| {
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.filter(|name| name != ".lock").count()
    });
    assert_eq!(left, 0, "prepared backups");
}

/// Runs a shell in name spaces of its own, with `$0` the binary, in the project. `None` where that cannot be done.
fn in_mounts(home: &TestHome, script: &str) -> Option<Output> {
    let mut command = home.command("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, METIER]);
    let output = TestHome::finish(&mut command);
    if output.code == NOT_MOUNTED || output.stderr.contains("unshare") {
        metier_testkit::not_tested(format_args!(
            "this machine mounts nothing for a test: {}",
            output.stderr
        ));
        return None;
    }
    Some(output)
}

fn code(output: &Output) -> (i32, Option<String>) {
    (output.code, output.json()["error"]["code"].as_str().map(str::to_owned))
}

#[test]
fn a_skill_that_belongs_to_another_account_stops_the_update_of_all_and_no_later_command() {
    if !rustix::process::geteuid().is_root() {
        metier_testkit::not_tested("only root gives a folder to another account");
        return;
    }
    let home = with_update(10);
    give_to_ordinary_user(&home);
    let other = home.project().join(".agent/skills/b");
    let chown = Command::new("chown").args(["-R", "0:0"]).arg(&other).status();
    assert!(chown.expect("chown").success());
    let Some(output) = run_unprivileged(&home, &["update", "--all", "--yes", "--json"]) else {
        return;
    };
    assert_eq!(code(&output), (1, Some("not-written".to_owned())), "{output:?}");
    let verified = run_unprivileged(&home, &["verify", "--json"]).expect("runs");
    assert_eq!(states(&verified), two("1"));
    let chown = Command::new("chown").args(["-R", "0:0"]).arg(home.path()).status();
    assert!(chown.expect("chown").success());
    is_all_old(&home);
}

#[test]
fn a_skill_that_is_a_mount_point_stops_the_update_of_all_and_no_later_command() {
    let home = with_update(10);
    let script = "mount --bind .agent/skills/b .agent/skills/b || exit 77
        $0 update --all --yes --json; code=$?; $0 verify --json >verified || exit 99; exit $code";
    let Some(output) = in_mounts(&home, script) else { return };
    assert_eq!(code(&output), (1, Some("not-written".to_owned())), "{output:?}");
    is_all_old(&home);
}

#[test]
fn skills_of_a_lower_layer_of_an_overlay_are_updated_uninstalled_and_restored() {
    let home = with_update(10);
    for dir in ["upper", "work", "merged"] {
        fs::create_dir(home.path().join(dir)).expect("dir");
    }
    let script = "cd .. && mount -t overlay overlay \
         -o lowerdir=project,upperdir=upper,workdir=work,userxattr merged || exit 77
        cd merged && $0 update --all --yes >/dev/null && $0 uninstall b --yes >/dev/null &&
        $0 restore b --yes >/dev/null && $0 restore a --yes >/dev/null && ls -A .agent/skills >../listed &&
        $0 verify --json";
    let Some(output) = in_mounts(&home, script) else { return };
    assert_eq!(output.code, 0, "{output:?}");
    let unchanged = |version: &str| (version.to_owned(), "unchanged".to_owned());
    assert_eq!(states(&output), [unchanged("1"), unchanged("2")], "{output:?}");
    assert_eq!(fs::read_to_string(home.path().join("listed")).expect("reads"), "a\nb\n");
}

#[test]
fn backups_that_have_no_room_on_their_disk_stop_a_change_before_it_counts() {
    let home = with_update(600_000);
    let script = "mkdir -p $HOME/.local/state/metier &&
        mount -t tmpfs -o size=800k tmpfs $HOME/.local/state/metier || exit 77
        $0 update --all --yes --json; code=$?
        $0 verify --json >verified || exit 99
        $0 uninstall a --yes >/dev/null || exit 98
        $0 restore a --yes >/dev/null || exit 97
        $0 restore --list --json >listed; exit $code";
    let Some(output) = in_mounts(&home, script) else { return };
    assert_eq!(code(&output), (1, Some("not-written".to_owned())), "{output:?}");
    let listed = fs::read_to_string(home.project().join("listed")).expect("reads");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["backups"].as_array().map(Vec::len), Some(0), "{listed}");
    assert_eq!(states(&run(&home, &["verify", "--json"])), two("1"));
}

#[test]
fn a_read_only_folder_of_skills_fails_each_change_cleanly_and_agrees_when_nothing_is_to_do() {
    let home = with_update(10);
    assert_eq!(run(&home, &["uninstall", "b", "--yes"]).code, 0);
    give_to_ordinary_user(&home);
    let folders = [home.project().join(".agent/skills"), home.project().join(".agent")];
    let close = |mode| {
        for folder in &folders {
            fs::set_permissions(folder, PermissionsExt::from_mode(mode)).expect("chmod");
        }
    };
    close(0o555);
    for args in [
        &["update", "--all", "--yes", "--json"][..],
        &["uninstall", "a", "--yes", "--json"],
        &["restore", "b", "--yes", "--json"],
    ] {
        let Some(output) = run_unprivileged(&home, args) else {
            close(0o755);
            return;
        };
        assert_eq!(code(&output), (1, Some("not-written".to_owned())), "{args:?}: {output:?}");
    }
    let locked = run_unprivileged(&home, &["install", "--locked", "--yes"]).expect("runs");
    assert_eq!(locked.code, 0, "{locked:?}");
    let verified = run_unprivileged(&home, &["verify", "--json"]).expect("runs");
    close(0o755);
    assert_eq!(states(&verified), two("1")[..1]);
    assert_eq!(run_unprivileged(&home, &["restore", "b", "--yes"]).expect("runs").code, 0);
    let verified = run_unprivileged(&home, &["verify", "--json"]).expect("runs");
    assert_eq!(states(&verified), two("1"));
}

#[test]
fn a_name_that_differs_only_in_case_is_said_and_the_advice_works() {
    let home = TestHome::new();
    home.skill("project/s1/other", "other", "Works.");
    home.skill("project/s2/x", "Other", "Works.");
    assert_eq!(run(&home, &["install", "./s1", "--yes"]).code, 0);
    for args in [&["install", "./s2", "--yes"][..], &["install", "./s2", "--yes", "--force"]] {
        let output = run(&home, args);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("`Other` differs only in case"), "{output:?}");
        assert!(output.stderr.contains("metier uninstall"), "{output:?}");
        assert!(!output.stderr.contains("--force replaces"), "{output:?}");
    }
    assert_eq!(run(&home, &["uninstall", "other", "--yes"]).code, 0);
    let output = run(&home, &["install", "./s2", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
}
