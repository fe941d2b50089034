//! `write_file` and `delete_file` on real files: whole or not at all, never through a link, and what
//! was deleted comes back.
//!
//! After each refusal the files are as they were.

use std::path::Path;

use metier_fs::WorkRoot;
use serde_json::json;

use crate::bench::Bench;

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// All names below the workspace, to see that nothing is left behind.
fn names(bench: &Bench) -> Vec<String> {
    let limits = metier_fs::TreeLimits::default();
    let (files, _) = metier_fs::list_files(&bench.workspace, limits).unwrap();
    files.into_iter().map(|file| file.path).collect()
}

#[test]
fn a_file_is_made_with_its_directories_and_replaced_with_a_diff() {
    let bench = Bench::new(&[]);
    let write = |content: &str| {
        bench.call("write_file", json!({"path": "a/b/c.txt", "content": content})).expect("writes")
    };
    let made = write("one\ntwo\n");
    assert_eq!(made.text, "Created a/b/c.txt: 8 bytes, 2 lines.\n");
    assert_eq!((&made.data["created"], &made.data["directories_made"]), (&json!(true), &json!(2)));
    let replaced = write("one\n2\n");
    assert_eq!(replaced.data["created"], false);
    assert_eq!(replaced.data["sha256_before"], made.data["sha256"]);
    let diff = replaced.data["diff"].as_str().unwrap();
    assert_eq!(diff, "--- a/a/b/c.txt\n+++ b/a/b/c.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    assert_eq!(text(&bench.workspace.join("a/b/c.txt")), "one\n2\n");
    assert_eq!(names(&bench), ["a/b/c.txt"]);
}

#[test]
fn a_file_that_is_another_by_now_is_not_replaced() {
    let bench = Bench::new(&[("a", "mine")]);
    let read = bench.call("read_file", json!({"path": "a"})).expect("reads");
    let expected = &read.data["sha256"];
    let arguments = json!({"path": "a", "content": "new", "expected_sha256": expected});
    std::fs::write(bench.workspace.join("a"), "theirs").unwrap();
    assert_eq!(bench.code("write_file", arguments.clone()), "Changed");
    std::fs::remove_file(bench.workspace.join("a")).unwrap();
    assert_eq!(bench.code("write_file", arguments.clone()), "Changed");
    std::fs::write(bench.workspace.join("a"), "mine").unwrap();
    bench.call("write_file", arguments).expect("writes");
    assert_eq!(text(&bench.workspace.join("a")), "new");
}

#[test]
fn version_control_and_our_own_files_are_neither_written_nor_deleted() {
    let bench = Bench::new(&[(".git/config", "x"), (".agent/config.json", "{}")]);
    for guarded in [".git/config", ".git/hooks/post-checkout", ".GIT/x", ".agent/config.json"] {
        let arguments = json!({"path": guarded, "content": "evil"});
        assert_eq!(bench.code("write_file", arguments), "NotAllowed", "{guarded}");
        assert_eq!(bench.code("delete_file", json!({"path": guarded})), "NotAllowed", "{guarded}");
    }
    for bad in ["../x", "/tmp/x", "a/../../x", "a\0b"] {
        let arguments = json!({"path": bad, "content": ""});
        assert_eq!(bench.code("write_file", arguments), "PathTraversalBlocked", "{bad}");
    }
    bench.call("write_file", json!({"path": ".gitignore", "content": "x"})).expect("writes");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_deleted_through_a_link() {
    use std::os::unix::fs::symlink;
    let bench = Bench::new(&[("real", "real"), ("dir/x", "x")]);
    symlink("real", bench.workspace.join("inside")).unwrap();
    symlink(bench.outside.join("secret"), bench.workspace.join("out")).unwrap();
    symlink(bench.outside.join("new"), bench.workspace.join("dangling")).unwrap();
    symlink(&bench.outside, bench.workspace.join("up")).unwrap();
    symlink("dir", bench.workspace.join("folder")).unwrap();
    for link in ["inside", "out", "dangling", "up/new", "up/deep/er/new", "folder/x"] {
        let arguments = json!({"path": link, "content": "evil"});
        assert_eq!(bench.code("write_file", arguments), "PathTraversalBlocked", "{link}");
        assert_eq!(bench.code("delete_file", json!({"path": link})), "PathTraversalBlocked");
    }
    assert_eq!(text(&bench.outside.join("secret")), "secret");
    assert_eq!(text(&bench.workspace.join("real")), "real");
    assert_eq!(std::fs::read_dir(&bench.outside).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_file_with_another_name_elsewhere_is_not_written() {
    let bench = Bench::new(&[]);
    std::fs::hard_link(bench.outside.join("secret"), bench.workspace.join("hard")).unwrap();
    assert_eq!(bench.code("write_file", json!({"path": "hard", "content": "evil"})), "NotAllowed");
    assert_eq!(text(&bench.outside.join("secret")), "secret");
    assert_eq!(names(&bench), ["hard"]);
}

#[cfg(unix)]
#[test]
fn pipes_and_directories_are_not_written_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new(&[("run.sh", "#!"), ("dir/x", "x")]);
    crate::bench::pipe(&bench.workspace.join("pipe"));
    for special in ["pipe", "dir"] {
        let arguments = json!({"path": special, "content": ""});
        assert_eq!(bench.code("write_file", arguments), "NotAllowed", "{special}");
        assert_eq!(bench.code("delete_file", json!({"path": special})), "NotAllowed");
    }
    assert_eq!(bench.code("write_file", json!({"path": "run.sh/x", "content": ""})), "NotFound");
    let script = bench.workspace.join("run.sh");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o4755)).unwrap();
    bench.call("write_file", json!({"path": "run.sh", "content": "#!/bin/sh"})).expect("writes");
    let mode = std::fs::metadata(&script).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755, "executable still, and set-uid no longer");
}

#[test]
fn a_deleted_file_comes_back_to_where_it_was() {
    let bench = Bench::new(&[("a/b.txt", "text"), ("c", "c")]);
    let deleted = bench.call("delete_file", json!({"path": "a/b.txt"})).expect("deletes");
    let reference = deleted.data["restore"].as_str().unwrap();
    bench.call("delete_file", json!({"path": "c"})).expect("deletes");
    assert_eq!(bench.trash.list().expect("lists").len(), 2);
    assert!(names(&bench).is_empty());
    std::fs::remove_dir(bench.workspace.join("a")).unwrap();
    let root = WorkRoot::open(&bench.workspace).unwrap();
    let back = bench.trash.restore(&root, reference).expect("restores");
    assert_eq!((back.path.as_str(), back.bytes), ("a/b.txt", 4));
    assert_eq!(text(&bench.workspace.join("a/b.txt")), "text");
    let again = bench.trash.restore(&root, reference).expect_err("gone");
    assert_eq!(again.code.as_str(), "NotFound");
    for bad in ["../x", "", "trash-1", "trash-000002.json"] {
        assert!(bench.trash.restore(&root, bad).is_err(), "{bad}");
    }
    std::fs::write(bench.workspace.join("c"), "another").unwrap();
    let taken = bench.trash.restore(&root, "trash-000002").expect_err("taken");
    assert_eq!(taken.code.as_str(), "AlreadyExists");
    assert_eq!(text(&bench.workspace.join("c")), "another");
    assert_eq!(bench.trash.list().expect("lists").len(), 1, "it is still there");
}

#[test]
fn deleting_what_is_not_there_leaves_no_record() {
    let bench = Bench::new(&[]);
    assert_eq!(bench.code("delete_file", json!({"path": "none"})), "NotFound");
    assert_eq!(bench.code("delete_file", json!({"path": "no/such"})), "NotFound");
    assert!(bench.trash.list().expect("lists").is_empty());
}
