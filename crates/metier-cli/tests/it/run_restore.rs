//! `metier restore --run`: what a run deleted comes back, to the workspace of that run, byte by byte,
//! and over nothing that stands there by now.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::run_support::{answer, call, is_sound, last_run, project, run_scripted, select};
use crate::support::{document, files_below, json, keys, run, run_in, shown};

/// Bytes that no text would survive with.
const NOTES: &[u8] = b"\xef\xbb\xbfline\r\n\0\xff\xfe end";

macro_rules! assert_reported {
    ($home:expr, $output:expr, @$snapshot:literal) => {
        insta::with_settings!({filters => vec![(r"\d{8}-\d{6}-[0-9a-z]+", "[RUN]")]}, {
            insta::assert_snapshot!(shown($home, $output), @$snapshot);
        });
    };
}

fn delete(path: &str) -> Value {
    call("delete_file", &json!({ "path": path }))
}

/// Lets a run delete these files, one after the other.
fn deleting(home: &TestHome, paths: &[&str]) {
    let mut replies: Vec<Value> = paths.iter().map(|path| delete(path)).collect();
    replies.push(answer("done"));
    let output = run_scripted(home, &Value::from(replies), &["--allow", "delete_file"]);
    assert_eq!(output.code, 0, "{output:?}");
}

/// A project in which a run deleted `docs/notes.bin` and `todo.txt`.
fn deleted() -> TestHome {
    let home = project();
    let notes = home.write("project/docs/notes.bin", NOTES);
    std::fs::set_permissions(&notes, PermissionsExt::from_mode(0o750)).expect("chmod");
    home.write("project/todo.txt", "rest\n");
    deleting(&home, &["docs/notes.bin", "todo.txt"]);
    for path in ["docs/notes.bin", "todo.txt"] {
        assert!(!home.project().join(path).exists(), "{path}");
    }
    home
}

fn trash(home: &TestHome) -> Vec<String> {
    files_below(&last_run(home).join("trash"))
}

/// The text of an error, which is all that was printed.
fn refused(home: &TestHome, args: &[&str], code: &str) -> String {
    let error = document(home, &run(home, &[args, &["--json"]].concat()), 1);
    assert_eq!(error["error"]["code"], json!(code), "{error}");
    assert!(error["error"]["help"].as_str().is_some_and(|help| !help.is_empty()), "{error}");
    error["error"]["message"].as_str().expect("a text").to_owned()
}

#[test]
fn a_deleted_file_is_listed_and_comes_back_as_it_was() {
    let home = deleted();
    assert_reported!(&home, &run(&home, &["restore", "--run", "last"]), @"
    exit: 0
    ---- stdout
    REFERENCE     SIZE  PATH
    trash-000001  16 B  docs/notes.bin
    trash-000002  5 B   todo.txt

    ---- stderr
    2 deleted files; to restore one to [T]/project: metier restore --run [RUN] REFERENCE
    ");
    let listed = run(&home, &["restore", "--run", "last"]);
    assert_eq!(run(&home, &["restore", "--run", "last", "--list"]), listed);
    std::fs::remove_dir(home.project().join("docs")).expect("it is empty");
    assert_reported!(&home, &run(&home, &["restore", "--run", "last", "trash-000001"]), @"
    exit: 0
    ---- stdout
    restored trash-000001  [T]/project/docs/notes.bin

    ---- stderr
    ");
    let notes = home.project().join("docs/notes.bin");
    assert_eq!(std::fs::read(&notes).expect("it is back"), NOTES);
    let mode = std::fs::metadata(&notes).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    assert_eq!(trash(&home), ["trash-000002", "trash-000002.json"]);
    // By its path, as a person may write it; and by the name of the run.
    let id = last_run(&home).file_name().expect("a name").to_string_lossy().into_owned();
    let output = run(&home, &["restore", "./todo.txt", "--run", &id[..id.len() - 1]]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(std::fs::read(home.project().join("todo.txt")).expect("it is back"), b"rest\n");
    assert_reported!(&home, &run(&home, &["restore", "--run", "last", "--list"]), @"
    exit: 0
    ---- stdout

    ---- stderr
    the run [RUN] has nothing to restore
    ");
    assert_eq!(trash(&home), [] as [&str; 0]);
    is_sound(&home);
}

#[test]
fn the_documents_name_the_run_its_workspace_and_the_files() {
    let home = deleted();
    let id = last_run(&home).file_name().expect("a name").to_string_lossy().into_owned();
    let deleted = |reference: &str, path: &str, bytes: &[u8]| {
        json!({"reference": reference, "path": path, "bytes": bytes.len(),
            "sha256": metier_skill::Digest::of(bytes)})
    };
    let notes = deleted("trash-000001", "docs/notes.bin", NOTES);
    let todo = deleted("trash-000002", "todo.txt", b"rest\n");
    let listed = json(&home, &["restore", "--run", "last", "--json"]);
    let expected = json!({"run_id": id, "workspace": "[T]/project", "files": [notes, todo]});
    assert_eq!(listed, expected);
    let one = json(&home, &["restore", "--run", "last", "--list", "todo.txt", "--json"]);
    assert_eq!(one["files"], json!([todo]));
    let back = json(&home, &["restore", "--run", "last", "todo.txt", "--json"]);
    let expected =
        json!({"run_id": id, "workspace": "[T]/project", "restored": [todo], "failed": []});
    assert_eq!(back, expected);
    let all = json(&home, &["restore", "--run", "last", "--all", "--json"]);
    assert_eq!((&all["restored"], &all["failed"]), (&json!([notes]), &json!([])));
    let none = json(&home, &["restore", "--run", "last", "--all", "--json"]);
    assert_eq!(keys(&none), ["failed", "restored", "run_id", "workspace"]);
    assert_eq!(none["restored"], json!([]));
}

#[test]
fn what_stands_there_by_now_is_not_replaced_and_nothing_is_lost() {
    let home = deleted();
    home.write("project/todo.txt", "new");
    let kept = trash(&home);
    assert_reported!(&home, &run(&home, &["restore", "--run", "last", "todo.txt"]), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: [T]/project/todo.txt already exists
    help: move it away first; the deleted file stays in [T]/project/.agent/runs/[RUN]/trash
    ");
    refused(&home, &["restore", "--run", "last", "trash-000002"], "already-exists");
    std::fs::remove_dir(home.project().join("docs")).expect("it is empty");
    home.write("project/docs", "a file where a folder was");
    let report = refused(&home, &["restore", "--run", "last", "docs/notes.bin"], "already-exists");
    assert_eq!(report, "[T]/project/docs is not a folder");
    std::fs::remove_file(home.project().join("docs")).expect("removes");
    let elsewhere = home.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("directory");
    std::os::unix::fs::symlink(&elsewhere, home.project().join("docs")).expect("link");
    refused(&home, &["restore", "--run", "last", "docs/notes.bin"], "already-exists");
    assert_eq!(files_below(&elsewhere), [] as [&str; 0], "nothing goes through a link");
    assert_eq!(std::fs::read(home.project().join("todo.txt")).expect("there"), b"new");
    assert_eq!(trash(&home), kept);
    // Of all of them, those come back for which there is room.
    std::fs::remove_file(home.project().join("docs")).expect("removes");
    assert_reported!(&home, &run(&home, &["restore", "--run", "last", "--all"]), @"
    exit: 1
    ---- stdout
    restored trash-000001  [T]/project/docs/notes.bin

    ---- stderr
    warning: trash-000002 was left: [T]/project/todo.txt already exists
    ");
    assert_eq!(std::fs::read(home.project().join("docs/notes.bin")).expect("back"), NOTES);
    let output = run(&home, &["restore", "--run", "last", "--all", "--json"]);
    let left = document(&home, &output, 1);
    assert_eq!(
        keys(&left["failed"][0]),
        ["bytes", "code", "message", "path", "reference", "sha256"]
    );
    assert_eq!(left["failed"][0]["code"], json!("already-exists"));
    assert_eq!(std::fs::read(home.project().join("todo.txt")).expect("there"), b"new");
    assert_eq!(trash(&home), ["trash-000002", "trash-000002.json"]);
}

#[test]
fn of_two_files_that_were_in_one_place_one_is_named() {
    let home = project();
    home.write("project/todo.txt", "first");
    let again = call("write_file", &json!({"path": "todo.txt", "content": "second"}));
    let replies = json!([delete("todo.txt"), again, delete("todo.txt"), answer("done")]);
    let flags = ["--allow", "delete_file", "--allow", "write_file"];
    let output = run_scripted(&home, &replies, &flags);
    assert_eq!(output.code, 0, "{output:?}");
    let report = refused(&home, &["restore", "--run", "last", "todo.txt"], "file-ambiguous");
    assert_eq!(report, "2 deleted files were at todo.txt: trash-000001, trash-000002");
    let output = run(&home, &["restore", "--run", "last", "--all", "--json"]);
    let left = document(&home, &output, 1);
    assert_eq!(left["failed"].as_array().map(Vec::len), Some(2), "none is guessed: {left}");
    assert!(!home.project().join("todo.txt").exists());
    assert_eq!(run(&home, &["restore", "--run", "last", "trash-000001"]).code, 0);
    assert_eq!(std::fs::read(home.project().join("todo.txt")).expect("back"), b"first");
}

#[test]
fn what_is_not_there_is_reported() {
    let home = deleted();
    assert_reported!(&home, &run(&home, &["restore", "--run", "last", "trash-000003"]), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: the run [RUN] has no deleted file `trash-000003`
    help: `metier restore --run [RUN]` lists its deleted files; restored ones are no longer there
    ");
    assert_reported!(&home, &run(&home, &["restore", "--run", "last", "tody.txt"]), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: the run [RUN] has no deleted file `tody.txt`
    help: did you mean `todo.txt`?
    ");
    for odd in ["../todo.txt", "/etc/passwd", "", "trash-000001.json", "\u{1b}[2J"] {
        let report = refused(&home, &["restore", "--run", "last", odd], "no-deleted-file");
        assert!(!report.contains('\u{1b}'), "{report}");
    }
    refused(&home, &["restore", "--run", "nobody"], "run-not-found");
    assert_eq!(run(&home, &["restore", "--run", "last", "--all"]).code, 0);
    refused(&home, &["restore", "--run", "last", "trash-000001"], "no-deleted-file");
    for wrong in
        [&["--all"][..], &["--run", "last", "--all", "x"], &["--run", "last", "--all", "--list"]]
    {
        assert_eq!(run(&home, &[&["restore"], wrong].concat()).code, 2, "{wrong:?}");
    }
    // A run that deleted nothing has nothing; and skills are restored as ever.
    assert_eq!(run_scripted(&home, &json!([answer("done")]), &[]).code, 0);
    assert_eq!(json(&home, &["restore", "--run", "last", "--json"])["files"], json!([]));
    let skill = document(&home, &run(&home, &["restore", "todo.txt", "--json"]), 1);
    assert_eq!(skill["error"]["code"], json!("no-backup"));
}

#[test]
fn a_record_that_is_not_ours_leads_nowhere_else() {
    let home = deleted();
    let folder = last_run(&home).join("trash");
    let forged = |path: &str, exit: i32| {
        let record = json!({"reference": "trash-000002", "path": path, "bytes": 5}).to_string();
        std::fs::write(folder.join("trash-000002.json"), record).expect("writes");
        let output = run(&home, &["restore", "--run", "last", "trash-000002", "--json"]);
        let error = document(&home, &output, exit);
        assert!(folder.join("trash-000002").exists(), "{error}");
        error["error"]["code"].as_str().expect("a code").to_owned()
    };
    assert_eq!(forged("../out.txt", 1), "no-deleted-file");
    assert_eq!(forged("/tmp/out.txt", 1), "no-deleted-file");
    assert_eq!(forged(".git/hooks/pre-commit", 3), "NotAllowed");
    assert_eq!(forged(".agent/config.json", 3), "NotAllowed");
    assert_eq!(forged("other.txt", 1), "record-broken", "it was deleted from elsewhere");
    assert!(!home.project().join(".git/hooks").exists());
    // What was put in the place of a deleted file is no deleted file.
    let secret = home.write("secret", "words");
    std::fs::remove_file(folder.join("trash-000001")).expect("removes");
    std::os::unix::fs::symlink(&secret, folder.join("trash-000001")).expect("link");
    let output = run(&home, &["restore", "--run", "last", "trash-000001", "--json"]);
    document(&home, &output, 1);
    assert!(std::fs::symlink_metadata(home.project().join("docs/notes.bin")).is_err());
}

#[test]
fn it_goes_back_to_the_workspace_of_the_run_from_wherever_it_is_asked_for() {
    let home = deleted();
    home.write("project/.git/HEAD", "ref: refs/heads/main\n");
    home.write("project/deep/below/file", "");
    let project = home.project();
    let project = project.to_str().expect("a text");
    // From elsewhere.
    std::fs::create_dir_all(home.path().join("other")).expect("directory");
    let output = run_in(&home, "other", &["restore", "--run", "last"]);
    assert_eq!(output.code, 1, "there are no runs: {output:?}");
    let output = run_in(&home, "other", &["-C", project, "restore", "--run", "last", "todo.txt"]);
    assert_eq!(output.code, 0, "{output:?}");
    // From below: a path begins at the workspace.
    let args = ["restore", "--run", "last", "docs/notes.bin"];
    let output = run_in(&home, "project/deep/below", &args);
    assert_reported!(&home, &output, @"
    exit: 0
    ---- stdout
    restored trash-000001  [T]/project/docs/notes.bin

    ---- stderr
    ");
    assert_eq!(files_below(&home.path().join("other")), [] as [&str; 0]);
    assert_eq!(files_below(&home.project().join("deep")), ["below/file"]);
    assert_eq!(std::fs::read(home.project().join("todo.txt")).expect("back"), b"rest\n");
    assert_eq!(std::fs::read(Path::new(project).join("docs/notes.bin")).expect("back"), NOTES);
}

#[test]
fn what_a_loop_inside_the_run_deleted_comes_back_too() {
    let home = project();
    home.write("project/todo.txt", "rest\n");
    home.write(
        "home/.agents/skills/tidy/SKILL.md",
        "---\nname: tidy\ndescription: Tidies up.\nrun-mode: subagent\n---\n# Tidy\n",
    );
    let replies =
        json!([select(&["tidy"]), delete("todo.txt"), answer("tidied"), answer("all done")]);
    let output = run_scripted(&home, &replies, &["--allow", "delete_file"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(last_run(&home).join("inner").is_dir(), "it ran in a loop of its own");
    assert!(!home.project().join("todo.txt").exists());
    assert_eq!(run(&home, &["restore", "--run", "last", "todo.txt"]).code, 0);
    assert_eq!(std::fs::read(home.project().join("todo.txt")).expect("back"), b"rest\n");
}

#[test]
fn what_another_project_deleted_is_not_reached_through_a_link() {
    let home = deleted();
    let run_id = last_run(&home).file_name().expect("a name").to_string_lossy().into_owned();
    let other = home.path().join("other");
    std::fs::create_dir_all(other.join(".git")).expect("a project");
    std::fs::create_dir_all(other.join(".agent/runs")).expect("runs");
    let theirs = |args: &[&str]| run_in(&home, "other", args);
    // The run, all runs, and the trash alone.
    let links = [
        (format!(".agent/runs/{run_id}"), last_run(&home)),
        (".agent/runs".to_owned(), last_run(&home).parent().expect("runs").to_owned()),
    ];
    for (link, target) in links {
        let link = other.join(link);
        if link.is_dir() {
            std::fs::remove_dir_all(&link).expect("removes");
        }
        std::os::unix::fs::symlink(target, &link).expect("a link");
        let output = theirs(&["restore", "--run", &run_id, "--all"]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("is a link"), "{output:?}");
        std::fs::remove_file(&link).expect("removes");
    }
    let copy = other.join(".agent/runs").join(&run_id);
    std::fs::create_dir_all(&copy).expect("a folder");
    for file in ["run.json", "setup.json", "events.jsonl"] {
        std::fs::copy(last_run(&home).join(file), copy.join(file)).expect("copies");
    }
    std::os::unix::fs::symlink(last_run(&home).join("trash"), copy.join("trash")).expect("a link");
    let output = theirs(&["restore", "--run", &run_id, "--all"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("is a link"), "{output:?}");
    // Nor where all of it was copied.
    std::fs::remove_file(copy.join("trash")).expect("removes");
    std::fs::create_dir(copy.join("trash")).expect("a folder");
    for file in trash(&home) {
        std::fs::copy(last_run(&home).join("trash").join(&file), copy.join("trash").join(&file))
            .expect("copies");
    }
    let output = theirs(&["restore", "--run", &run_id, "--all"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("another workspace"), "{output:?}");
    assert!(!other.join("todo.txt").exists());
    assert_eq!(run(&home, &["restore", "--run", "last", "--all"]).code, 0, "it is all still there");
}
