//! `read_file` and `list_dir` on real files: lines, caps, links, and what is no file to read.
//!
//! Nothing outside the workspace is ever read, and nothing waits.

use serde_json::json;

use crate::bench::Bench;

#[test]
fn a_file_is_read_whole_or_by_lines() {
    let bench = Bench::new(&[("src/a.txt", "one\r\ntwo\nthree"), (".hidden", "h"), ("empty", "")]);
    let whole = bench.call("read_file", json!({"path": "./src/a.txt"})).expect("reads");
    assert_eq!(whole.text, "one\ntwo\nthree");
    assert_eq!(whole.data["lines"], json!([1, 3]));
    assert_eq!(whole.data["normalized"], true);
    let arguments = json!({"path": "src/a.txt", "skill": null, "first_line": 2, "last_line": 9});
    let some = bench.call("read_file", arguments).expect("reads");
    assert_eq!((some.text.as_str(), &some.data["lines"]), ("two\nthree", &json!([2, 3])));
    assert_eq!(bench.call("read_file", json!({"path": ".hidden"})).expect("reads").text, "h");
    assert_eq!(bench.call("read_file", json!({"path": "empty"})).expect("reads").text, "");
    let past = json!({"path": "src/a.txt", "first_line": 4});
    assert_eq!(bench.code("read_file", past), "InvalidArguments");
}

#[test]
fn a_long_file_is_cut_and_stored_whole() {
    let long = "line of text\n".repeat(1000);
    let bench = Bench::new(&[("long", &long)]);
    let result = bench.call("read_file", json!({"path": "long"})).expect("reads");
    assert!(result.truncated && result.text.len() < 2200);
    assert_eq!(result.storage_ref.as_deref(), Some("read_file-1"));
    assert_eq!(bench.store.0.lock().unwrap()[0], long.as_bytes());
}

#[test]
fn paths_that_leave_are_refused_as_text() {
    let bench = Bench::new(&[]);
    for bad in ["../outside/secret", "/etc/passwd", "a/../../x", "C:\\x", "a\\b", "a\0", "NUL"] {
        assert_eq!(bench.code("read_file", json!({"path": bad})), "PathTraversalBlocked", "{bad}");
        assert_eq!(bench.code("list_dir", json!({"path": bad})), "PathTraversalBlocked", "{bad}");
    }
    assert_eq!(bench.code("read_file", json!({"path": "none"})), "NotFound");
    assert_eq!(bench.code("list_dir", json!({"path": "none"})), "NotFound");
}

#[test]
fn what_is_not_text_or_too_large_is_not_given() {
    let bench = Bench::new(&[("binary", "a\0b")]);
    std::fs::write(bench.workspace.join("latin"), b"\xff\xfe").unwrap();
    assert_eq!(bench.code("read_file", json!({"path": "binary"})), "NotText");
    assert_eq!(bench.code("read_file", json!({"path": "latin"})), "NotText");
    let huge = std::fs::File::create(bench.workspace.join("huge")).unwrap();
    huge.set_len(10 << 30).unwrap();
    assert_eq!(bench.code("read_file", json!({"path": "huge"})), "FileTooLarge");
}

#[cfg(unix)]
#[test]
fn pipes_sockets_and_directories_are_no_files_and_nothing_waits() {
    let bench = Bench::new(&[]);
    crate::bench::pipe(&bench.workspace.join("pipe"));
    let _socket =
        std::os::unix::net::UnixListener::bind(bench.workspace.join("socket")).expect("socket");
    for special in ["pipe", "socket", "."] {
        assert_eq!(bench.code("read_file", json!({"path": special})), "NotAllowed", "{special}");
    }
    assert_eq!(bench.code("list_dir", json!({"path": "pipe"})), "NotFound");
    let list = bench.call("list_dir", json!({})).expect("lists");
    assert_eq!(list.text, "pipe (special)\nsocket (special)\n");
}

#[cfg(target_os = "linux")]
#[test]
fn links_that_stay_are_judged_by_where_they_lead_and_others_refused() {
    use metier_tools::Touch;
    use std::os::unix::fs::symlink;
    let bench = Bench::new(&[("dir/.env", "KEY=1")]);
    symlink("dir/.env", bench.workspace.join("notes")).unwrap();
    symlink("dir", bench.workspace.join("folder")).unwrap();
    symlink("../outside/secret", bench.workspace.join("out")).unwrap();
    symlink(&bench.outside, bench.workspace.join("up")).unwrap();
    symlink("/proc/self/root/etc/hostname", bench.workspace.join("magic")).unwrap();
    symlink("loop", bench.workspace.join("loop")).unwrap();
    let planned = bench.tools.plan("read_file", json!({"path": "notes"})).expect("a plan");
    let Touch::Path { absolute, relative } = &planned.touches()[0] else { panic!("a path") };
    assert_eq!(relative.as_str(), "dir/.env");
    assert_eq!(absolute, bench.workspace.join("dir/.env").to_str().unwrap());
    assert_eq!(bench.call("read_file", json!({"path": "notes"})).expect("reads").text, "KEY=1");
    let listed = bench.call("list_dir", json!({"path": "folder/"})).expect("lists");
    assert_eq!(listed.text, ".env  5\n");
    for out in ["out", "up/secret", "magic", "loop"] {
        assert_eq!(bench.code("read_file", json!({"path": out})), "PathTraversalBlocked", "{out}");
    }
    assert_eq!(bench.code("list_dir", json!({"path": "up"})), "PathTraversalBlocked");
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_that_is_put_there_after_the_decision_is_not_followed() {
    use metier_cancel::CancelToken;
    use metier_policy::Effect;
    use metier_tools::{FailureCode, Touch};
    let bench = Bench::new(&[("a", "open"), ("dir/.env", "KEY=1")]);
    let planned = bench.tools.plan("read_file", json!({"path": "a"})).expect("a plan");
    std::fs::remove_file(bench.workspace.join("a")).unwrap();
    std::os::unix::fs::symlink("dir/.env", bench.workspace.join("a")).unwrap();
    let screen = std::sync::Arc::new(|_: &Touch| true);
    let permit = planned.decided(Effect::Allow, "", screen).expect("a permit");
    let failure = permit.call(&CancelToken::new()).expect_err("refused");
    assert_eq!(failure.code, FailureCode::PathTraversalBlocked);
}

#[test]
fn a_skill_is_read_by_the_loaders_rules() {
    let bench = Bench::new(&[]);
    let skill = |path: &str| json!({"path": path, "skill": "pdf"});
    assert!(bench.call("read_file", skill("SKILL.md")).expect("reads").text.contains("# pdf"));
    assert_eq!(bench.code("read_file", skill(".env")), "NotAllowed");
    assert_eq!(bench.code("read_file", skill("../workspace/a")), "PathTraversalBlocked");
    let listed = bench.call("list_dir", json!({"path": null, "skill": "pdf"})).expect("lists");
    assert!(listed.text.starts_with("SKILL.md  ") && !listed.text.contains(".env"));
}

#[cfg(unix)]
#[test]
fn names_that_no_path_can_have_are_listed_escaped() {
    let bench = Bench::new(&[("a:b", ""), ("esc\u{1b}[2J", "")]);
    let text = bench.call("list_dir", json!({})).expect("lists").text;
    assert!(text.contains("a:b (not usable as a path)  0\n"), "{text}");
    assert!(text.contains("esc\\x1b[2J (not usable"), "{text}");
}

#[test]
fn tokens_in_files_reach_neither_the_text_nor_the_data_nor_the_store() {
    let token = format!("ghp_{}", "aB3dE6".repeat(6));
    let long = format!("key = {token}\n{}", "filling the file\n".repeat(400));
    let bench = Bench::new(&[("short", &format!("key = {token}\n")), ("long", &long)]);
    let read = |path: &str| bench.call("read_file", json!({ "path": path })).expect("reads");
    let found = bench.call("grep", json!({"pattern": "key"})).expect("searches");
    let written = json!({"path": "short", "content": format!("new = {token}\n")});
    let results = [read("short"), read("long"), found, bench.call("write_file", written).unwrap()];
    assert!(results[0].text.contains("[redacted]"), "{}", results[0].text);
    assert_eq!(results[0].data["masked"], 1);
    let stored = bench.store.0.lock().unwrap().concat();
    let stored = String::from_utf8(stored).unwrap();
    assert!(stored.contains("filling the file") && !stored.contains(&token));
    for result in results {
        let all = serde_json::to_string(&result).unwrap();
        assert!(!all.contains(&token), "{all}");
    }
    // What is written is what was said, all the same.
    let on_disk = std::fs::read_to_string(bench.workspace.join("short")).unwrap();
    assert_eq!(on_disk, format!("new = {token}\n"));
}
