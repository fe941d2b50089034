//! Records stay in the project: a link that a project brings in the place of `.agent`, `runs`, a run or
//! one of its folders is an error that names it, and nothing is written or read through it.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use metier_testkit::TestHome;
use serde_json::json;

use crate::run_support::{
    answer, call, events, is_sound, last_run, printed_approval, project, run_scripted, scripted,
};
use crate::support::{METIER, document, run};

/// A folder of the user's that a project leads to, with what is in it.
fn keys(home: &TestHome) -> PathBuf {
    home.write("home/.ssh/id_rsa", "key\n");
    home.home().join(".ssh")
}

fn untouched(keys: &Path) {
    let names: Vec<_> = std::fs::read_dir(keys).expect("a folder").collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(std::fs::read(keys.join("id_rsa")).expect("a key"), b"key\n");
}

fn refused(home: &TestHome, args: &[&str], code: &str, named: &Path) {
    let output = run(home, &[args, &["--json"]].concat());
    let error = document(home, &output, 1);
    assert_eq!(error["error"]["code"], code, "{args:?}: {error}");
    let named = home.scrub(&named.canonicalize_parent().to_string_lossy());
    let message = error["error"]["message"].as_str().expect("a message");
    assert!(message.contains(&*named), "{named} in {message}");
    assert!(error["error"]["help"].as_str().is_some_and(|help| !help.is_empty()), "{error}");
}

trait CanonicalParent {
    /// The path with the links above it resolved, and itself as it is.
    fn canonicalize_parent(&self) -> PathBuf;
}

impl CanonicalParent for Path {
    fn canonicalize_parent(&self) -> PathBuf {
        let parent = self.parent().expect("one");
        let parent = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
        parent.join(self.file_name().expect("a name"))
    }
}

#[test]
fn a_project_whose_agent_folder_is_a_link_gets_no_record_and_no_gitignore() {
    for place in [".agent", ".agent/runs"] {
        let home = project();
        let keys = keys(&home);
        let link = home.project().join(place);
        std::fs::create_dir_all(link.parent().expect("one")).expect("a folder");
        symlink(&keys, &link).expect("link");
        let model = scripted(&home, &json!([answer("done")]));
        for _ in 0..2 {
            refused(&home, &["run", "hello", "--model", model], "behind-a-link", &link);
            for args in [&["runs"][..], &["resume"], &["show"], &["audit", "verify"]] {
                refused(&home, args, "behind-a-link", &link);
            }
            untouched(&keys);
        }
        // Relative, and to a folder of the project: a link all the same.
        std::fs::remove_file(&link).expect("removes");
        std::fs::create_dir_all(home.project().join("records/runs")).expect("a folder");
        let inside = if place == ".agent" { "records" } else { "../records/runs" };
        symlink(inside, &link).expect("link");
        refused(&home, &["run", "hello", "--model", model], "behind-a-link", &link);
        assert_eq!(std::fs::read_dir(home.project().join("records/runs")).expect("it").count(), 0);
        // One that leads nowhere.
        std::fs::remove_file(&link).expect("removes");
        symlink("nowhere", &link).expect("link");
        let code = if place == ".agent" { "config-unreadable" } else { "behind-a-link" };
        refused(&home, &["run", "hello", "--model", model], code, &link);
        std::fs::remove_file(&link).expect("removes");
        assert_eq!(run(&home, &["run", "hello", "--model", model]).code, 0, "the positive control");
        is_sound(&home);
    }
}

#[test]
fn a_file_in_the_place_of_a_folder_is_reported() {
    for place in [".agent", ".agent/runs"] {
        let home = project();
        let file = home.write(&format!("project/{place}"), "a file");
        let model = scripted(&home, &json!([answer("done")]));
        // Of `.agent` the settings are looked for first.
        let (code, named) = match place {
            ".agent" => ("config-unreadable", file.join("config.json")),
            _ => ("not-a-folder", file.clone()),
        };
        refused(&home, &["run", "hello", "--model", model], code, &named);
        assert_eq!(std::fs::read(&file).expect("a file"), b"a file");
    }
}

#[test]
fn a_run_that_is_a_link_is_not_read_or_continued() {
    let home = project();
    run_scripted(&home, &json!([answer("done")]), &[]);
    let own = last_run(&home);
    let link = own.with_file_name("20990101-000000-link");
    symlink(&own, &link).expect("link");
    for args in
        [&["show"][..], &["resume"], &["audit", "verify"], &["replay"], &["restore", "--run"]]
    {
        let named = [args, &["20990101-000000-link"]].concat();
        refused(
            &home,
            &named,
            if args[0] == "restore" { "IoError" } else { "behind-a-link" },
            &link,
        );
    }
    let listed = document(&home, &run(&home, &["runs", "--json"]), 0);
    assert_eq!(listed["runs"][0]["status"], "unreadable", "{listed}");
    assert_eq!(listed["runs"][1]["status"], "completed", "{listed}");
}

#[test]
fn a_gitignore_that_is_a_link_is_left_alone() {
    let home = project();
    let keys = keys(&home);
    std::fs::create_dir_all(home.project().join(".agent/runs")).expect("a folder");
    let link = home.project().join(".agent/runs/.gitignore");
    for target in [keys.join("id_rsa"), keys.join("new")] {
        symlink(&target, &link).expect("link");
        let output = run_scripted(&home, &json!([answer("done")]), &[]);
        assert_eq!(output.code, 0, "{output:?}");
        untouched(&keys);
        assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
        std::fs::remove_file(&link).expect("removes");
    }
    run_scripted(&home, &json!([answer("done")]), &[]);
    assert_eq!(std::fs::read(&link).expect("a file of our own"), b"*\n");
}

fn long_file(home: &TestHome) {
    let lines: Vec<String> = (0..4000).map(|at| format!("line {at} of a long file")).collect();
    home.write("project/long.txt", lines.join("\n"));
}

#[test]
fn folders_of_a_run_that_become_links_are_not_written_through() {
    let home = project();
    let keys = keys(&home);
    long_file(&home);
    home.write("project/todo.txt", "rest\n");
    home.write(
        "home/.agent/config.json",
        json!({"permissions": [
            {"permission": "delete_file", "pattern": "*", "effect": "allow"},
            {"permission": "write_file", "pattern": "*", "effect": "ask"},
        ]})
        .to_string(),
    );
    // The run stops at its question; meanwhile its folders become links.
    let replies = json!([
        call("write_file", &json!({"path": "out.txt", "content": "x", "expected_sha256": null})),
        call("delete_file", &json!({"path": "todo.txt"})),
        call("read_file", &json!({"path": "long.txt"})),
        answer("done"),
    ]);
    let words = printed_approval(&run_scripted(&home, &replies, &[]));
    let folder = last_run(&home);
    for name in ["trash", "observations"] {
        let _ = std::fs::remove_dir_all(folder.join(name));
        symlink(&keys, folder.join(name)).expect("link");
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = run(&home, &words);
    untouched(&keys);
    assert!(home.project().join("todo.txt").exists(), "it was not deleted: {output:?}");
    let link = folder.join("trash");
    refused(&home, &["restore", "--run", "last"], "IoError", &link);
}

#[test]
fn what_is_swapped_in_during_a_run_is_not_written_to() {
    let home = project();
    let keys = keys(&home);
    home.write("project/todo.txt", "rest\n");
    let mut wait = call("read_file", &json!({"path": "todo.txt"}));
    wait["delay_ms"] = json!(400);
    let replies = json!([wait, call("delete_file", &json!({"path": "todo.txt"})), answer("done")]);
    let model = scripted(&home, &replies);
    let mut command = home.command(METIER);
    let args = ["run", "hello", "--json", "--allow", "delete_file", "--model", model];
    let child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = child.spawn().expect("it starts");
    let lines = std::io::BufReader::new(child.stdout.take().expect("piped"));
    let mut lines = std::io::BufRead::lines(lines);
    let first = lines.next().expect("a line").expect("a line");
    assert!(first.contains("run.started"), "{first}");
    let moved = home.path().join("moved");
    std::fs::rename(home.project().join(".agent"), &moved).expect("moves");
    std::fs::create_dir(keys.join("runs")).expect("a folder");
    symlink(&keys, home.project().join(".agent")).expect("link");
    let rest: Vec<String> = lines.map(|line| line.expect("a line")).collect();
    assert!(child.wait().expect("ends").success(), "{rest:?}");
    assert_eq!(std::fs::read_dir(keys.join("runs")).expect("a folder").count(), 0);
    std::fs::remove_dir(keys.join("runs")).expect("it is empty");
    untouched(&keys);
    // All of it is where the run began, the deleted file too.
    std::fs::remove_file(home.project().join(".agent")).expect("removes");
    std::fs::rename(&moved, home.project().join(".agent")).expect("moves");
    is_sound(&home);
    assert_eq!(events(&home).last().expect("events")["status"], "completed");
    assert_eq!(run(&home, &["restore", "--run", "last", "--all"]).code, 0);
    assert_eq!(std::fs::read(home.project().join("todo.txt")).expect("back"), b"rest\n");
}

#[test]
fn no_one_else_can_put_anything_beside_a_record_whatever_the_umask() {
    let home = project();
    let model = scripted(&home, &json!([answer("done")]));
    let mut command = home.command("sh");
    command.args(["-c", "umask 000; exec \"$0\" run hello --model \"$1\"", METIER, model]);
    assert_eq!(TestHome::finish(&mut command).code, 0);
    let mode = |path: &Path| std::fs::metadata(path).expect("there").mode() & 0o7777;
    for folder in [".agent", ".agent/runs"] {
        assert_eq!(mode(&home.project().join(folder)) & 0o002, 0, "{folder}");
    }
    let run = last_run(&home);
    assert_eq!(mode(&run), 0o700);
    for file in ["events.jsonl", "run.json", "setup.json", "index.json"] {
        assert_eq!(mode(&run.join(file)), 0o600, "{file}");
    }
}
