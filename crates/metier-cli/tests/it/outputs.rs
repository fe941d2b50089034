//! The end of a run, through the binary and in both tiers: what a script leaves in `outputs` is taken without
//! following anything, only regular files stay, and nothing that it made stays behind.
#![cfg(target_os = "linux")]

use std::path::Path;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{
    answer, events, holds_scripts, is_sound, last_run, of_type, run_scripted,
};
use crate::run_support::{script, select};
use crate::support::{files_below, give_to_ordinary_user, run_unprivileged, tiers, work_skill};

/// A home with files whose names must turn up nowhere.
fn home_with_letters() -> TestHome {
    let home = TestHome::new();
    home.write("home/letters/to-the-bank.txt", "a letter");
    home.write("home/letters/old/to-a-friend.txt", "a letter");
    home
}

/// What is left in the folder of runs.
fn left(home: &TestHome) -> Vec<String> {
    let exec = home.path().join("home/.local/state/metier/exec");
    files_below(&exec)
}

#[test]
fn a_link_in_the_place_of_outputs_is_an_error_that_names_it_and_nothing_is_read_through_it() {
    let home = home_with_letters();
    let script = "rmdir outputs; ln -s \"$1\" outputs; echo done\n";
    work_skill(&home, "scripts/run.sh", script);
    let letters = home.path().join("home/letters");
    let letters = letters.to_str().expect("a text");
    for tier in tiers(&home) {
        for _ in 0..2 {
            let document = tier.exec(&home, &["scripts/run.sh", "--", letters], &[]);
            let fault = document["outputs_fault"].as_str().expect("a fault");
            assert!(fault.contains(&format!("replaced by a link to {letters}")), "{document}");
            assert_eq!((&document["outputs"], &document["kept"]), (&json!([]), &Value::Null));
            assert!(!document.to_string().contains("to-the-bank"), "{document}");
            assert_eq!(left(&home), Vec::<String>::new());
        }
        let mut command = tier.command(&home);
        command.args(["exec", "--yes", "work", "scripts/run.sh", "--", letters]);
        let output = TestHome::finish(&mut command);
        assert_eq!((output.code, output.stdout.as_str()), (1, "done\n"), "{output:?}");
        assert!(
            output.stderr.contains("error: nothing of the folder `outputs` was kept"),
            "{output:?}"
        );
    }
    assert_eq!(files_below(Path::new(letters)).len(), 2, "and the letters are where they were");
}

#[test]
fn the_record_of_a_run_has_nothing_of_what_a_link_in_outputs_leads_to() {
    let home = home_with_letters();
    if !holds_scripts(&home) {
        return;
    }
    let text = "case $1 in whole) rmdir outputs; ln -s \"$2\" outputs;;\n\
                *) mkdir outputs/a; ln -s \"$2\" outputs/a/b; mkfifo outputs/a/pipe; echo x > outputs/a/file;; esac\n";
    work_skill(&home, "scripts/run.sh", text);
    let letters = home.path().join("home/letters").to_string_lossy().into_owned();
    for (way, codes, code) in [("whole", "ScriptFailed", 1), ("nested", "ok", 0)] {
        let replies =
            [select(&["work"]), script("work", "scripts/run.sh", &[way, &letters]), answer("done")];
        let output = run_scripted(&home, &json!(replies), &["--yes"]);
        assert_eq!(output.code, code, "{output:?}");
        let events = events(&home);
        let finished = of_type(&events, "action.finished").pop().expect("an action").clone();
        assert_eq!(finished["code"].as_str().unwrap_or("ok"), codes, "{finished}");
        let all = json!(events).to_string();
        assert!(!all.contains("to-the-bank") && !all.contains("to-a-friend"), "{way}: {all}");
        let kept: Vec<String> = files_below(&last_run(&home));
        let is_known = |file: &String| !file.contains("letter") && !file.contains("pipe");
        assert!(kept.iter().all(is_known), "{way}: {kept:?}");
        assert_eq!(
            kept.iter().any(|file| file.ends_with("outputs/a/file")),
            way == "nested",
            "{kept:?}"
        );
        if way == "nested" {
            let removed = finished["data"]["removed"].to_string();
            assert!(
                removed.contains("a/b (it is a link)") && removed.contains("a/pipe"),
                "{finished}"
            );
        }
        is_sound(&home);
    }
}

/// Leaves everything that is not a file to keep, some of it nested and some of it closed.
const LEAVES_ODD_THINGS: &str = r#"import os, stat, sys
os.chdir("outputs")
os.makedirs("a/b/c")
for path in ["file", "a/file", "a/b/c/file", "a/closed", "two"]:
    open(path, "w").write(path)
os.symlink(sys.argv[1], "a/home")
os.symlink("file", "a/b/link")
os.symlink("/etc/passwd", "passwd")
os.mkfifo("a/b/pipe")
os.link("two", "two-again")
open("../beside", "w").write("beside")
os.link("../beside", "beside")
open(os.environ["SKILL_DATA_DIR"] + "/data", "w").write("data")
for attempt in [
    lambda: os.link(os.environ["SKILL_DATA_DIR"] + "/data", "data"),
    lambda: os.link(sys.argv[1] + "/to-the-bank.txt", "hard"),
    lambda: os.mknod("device", stat.S_IFCHR | 0o666, os.makedev(1, 3)),
]:
    try:
        attempt()
    except OSError:
        pass
for path in ["a/closed", "a/b/c", "a/b", "a"]:
    os.chmod(path, 0)
os.makedirs("../closed/inner")
open("../closed/inner/file", "w").write("x" * 100000)
above = os.open("..", os.O_RDONLY)
for path in ["../closed/inner", "../closed", "."]:
    os.chmod(path, 0)
os.fchmod(above, 0)
print("left")
"#;

fn odd_things_are_gone(home: &TestHome, document: &Value, name: &str) {
    assert_eq!(document["stdout"], "left\n", "{name}: {document}");
    let kept = document["kept"].as_str().unwrap_or_else(|| panic!("{name}: {document}"));
    let outputs = Path::new(kept).join("outputs");
    let expected = ["a/b/c/file", "a/closed", "a/file", "beside", "file", "two", "two-again"];
    assert_eq!(files_below(&outputs), expected, "{name}");
    let listed: Vec<&str> = document["outputs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|file| file.as_str().expect("a text"))
        .collect();
    assert_eq!(
        listed,
        expected.map(|file| outputs.join(file).to_string_lossy().into_owned()),
        "{name}"
    );
    for file in expected {
        let text = std::fs::read_to_string(outputs.join(file)).expect("its owner reads it");
        assert!(text == file || file == "two-again", "{name}: {file}");
    }
    let removed = document["removed"].to_string();
    for gone in ["a/b/link", "a/b/pipe", "a/home", "passwd"] {
        assert!(removed.contains(gone), "{name}: {gone} in {removed}");
    }
    let letters = files_below(&home.path().join("home/letters"));
    assert_eq!(letters, ["old/to-a-friend.txt", "to-the-bank.txt"], "{name}");
    // The stage with the copy of the skill is gone too.
    let run = Path::new(kept);
    let mut names: Vec<String> = std::fs::read_dir(run)
        .expect("lists")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["outputs", "stderr", "stdout"], "{name}");
}

#[test]
fn only_regular_files_stay_in_outputs_and_closed_folders_are_no_obstacle() {
    let home = home_with_letters();
    work_skill(&home, "scripts/leave.py", LEAVES_ODD_THINGS);
    let letters = home.path().join("home/letters").to_string_lossy().into_owned();
    for tier in tiers(&home) {
        for _ in 0..2 {
            let document = tier.exec(&home, &["scripts/leave.py", "--", &letters], &[]);
            odd_things_are_gone(&home, &document, tier.name);
        }
    }
}

#[test]
fn an_ordinary_user_keeps_and_removes_the_same() {
    let home = home_with_letters();
    work_skill(&home, "scripts/leave.py", LEAVES_ODD_THINGS);
    let letters = home.path().join("home/letters").to_string_lossy().into_owned();
    give_to_ordinary_user(&home);
    for _ in 0..2 {
        let args = ["exec", "--json", "--yes", "work", "scripts/leave.py", "--", &letters];
        let Some(output) = run_unprivileged(&home, &args) else { return };
        let document =
            serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        odd_things_are_gone(&home, &document, "as an ordinary user");
    }
}

#[test]
fn a_folder_of_a_killed_run_that_is_closed_is_swept_up() {
    let home = TestHome::new();
    work_skill(&home, "scripts/run.sh", "true\n");
    give_to_ordinary_user(&home);
    // A killed run of an ordinary user, made by one, as the script left it: closed at every level.
    let make = "import os\n\
        top = os.path.expanduser('~/.local/state/metier/exec')\n\
        for run in ['1-4194304/stage/skill', '1-4194304/stage/work/deep', '2-4194304/work/tmp']:\n\
        \x20   os.makedirs(os.path.join(top, run), 0o700)\n\
        open(os.path.join(top, '1-4194304/stage/skill/SKILL.md'), 'w').write('x')\n\
        for path in ['1-4194304/stage/work/deep', '1-4194304/stage/work', '1-4194304/stage', '1-4194304',\n\
        \x20            '2-4194304/work', '2-4194304']:\n\
        \x20   os.chmod(os.path.join(top, path), 0)\n";
    let exec = home.path().join("home/.local/state/metier/exec");
    let args = ["exec", "--json", "--yes", "work", "scripts/run.sh"];
    // The first run makes the folders, as the user who runs.
    let Some(first) = run_unprivileged(&home, &args) else { return };
    assert_eq!(first.code, 0, "{first:?}");
    let mut command = home.command("python3");
    if rustix::process::geteuid().is_root() {
        use std::os::unix::process::CommandExt;
        command.uid(65534).gid(65534);
    }
    let made = TestHome::finish(command.env("PATH", "/usr/bin:/bin").args(["-c", make]));
    assert_eq!(made.code, 0, "{made:?}");
    let second = run_unprivileged(&home, &args).expect("ran before");
    assert_eq!(second.code, 0, "{second:?}");
    let names: Vec<_> =
        std::fs::read_dir(&exec).expect("lists").flatten().map(|it| it.file_name()).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn files_that_are_large_without_taking_room_are_kept_up_to_a_limit_and_hashed() {
    let home = TestHome::new();
    if !holds_scripts(&home) {
        return;
    }
    let text =
        "for i in $(seq 100 199); do truncate -s 64M outputs/$i; done; echo small > outputs/001\n";
    work_skill(&home, "scripts/run.sh", text);
    let replies = [select(&["work"]), script("work", "scripts/run.sh", &[]), answer("done")];
    let output = run_scripted(&home, &json!(replies), &["--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let events = events(&home);
    let finished = of_type(&events, "action.finished").pop().expect("an action");
    let hashed = finished["data"]["kept"].as_array().expect("a list");
    let outputs =
        hashed.iter().filter(|file| file["file"].as_str().expect("a text").contains("/outputs/"));
    assert_eq!(outputs.count(), 1 + 7, "512 MiB less six bytes: {finished}");
    assert_eq!(finished["data"]["unhashed"], json!([]), "{finished}");
    let removed = finished["data"]["removed"].as_array().expect("a list");
    assert_eq!(removed.len(), 93, "{finished}");
    assert!(removed[0].as_str().expect("a text").contains("the files are too large"), "{finished}");
    is_sound(&home);
}
