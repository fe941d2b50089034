//! `grep` on real files: what it finds, what it passes over, its bounds, and stopping it.
//!
//! The pattern syntax is ripgrep's own and not tested again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use metier_cancel::CancelToken;
use metier_policy::Effect;
use metier_tools::{FailureCode, Grep, GrepLimits, Toolbox, Touch};
use serde_json::{Value, json};

use crate::bench::Bench;

fn bench() -> Bench {
    Bench::new(&[
        ("src/a.rs", "fn one() {}\nlet needle = 1;\nlast\n"),
        ("src/deep/b.py", "Needle\nneedle\n"),
        ("binary", "needle\n\0needle\n"),
        (".env", "KEY=needle"),
        (".git/config", "needle"),
        ("node_modules/x/index.js", "needle"),
        ("z.txt", "no\n"),
    ])
}

#[test]
fn lines_are_found_in_the_order_of_paths_and_hidden_and_binary_files_are_passed_over() {
    let result = bench().call("grep", json!({"pattern": "needle"})).expect("searches");
    assert_eq!(result.text, "src/a.rs:2: let needle = 1;\nsrc/deep/b.py:2: needle\n");
    assert_eq!(result.data["matches"], 2);
    assert_eq!(result.data["files_binary"], 1);
    assert_eq!(result.data["files_searched"], 3);
    assert_eq!(result.data["ended_early"], Value::Null);
    assert_eq!(
        result.data["hits"][1],
        json!({"path": "src/deep/b.py", "line": 2, "text": "needle"})
    );
}

#[test]
fn a_search_is_narrowed_by_path_glob_case_and_form() {
    let bench = bench();
    let text = |arguments: Value| bench.call("grep", arguments).expect("searches").text;
    assert_eq!(
        text(json!({"pattern": "NEEDLE", "ignore_case": true, "glob": "*.py"})),
        "src/deep/b.py:1: Needle\nsrc/deep/b.py:2: needle\n"
    );
    assert_eq!(
        text(json!({"pattern": "one()", "literal": true, "path": "src/"})),
        "src/a.rs:1: fn one() {}\n"
    );
    assert_eq!(
        text(json!({"pattern": "needle", "glob": "src/*.rs"})),
        "src/a.rs:2: let needle = 1;\n"
    );
    assert_eq!(
        text(json!({"pattern": "needle", "path": "z.txt"})),
        "No match in 1 file. Upper and lower case count: `ignore_case` ignores them.\n"
    );
    assert_eq!(
        text(json!({"pattern": "needle", "path": "z.txt", "ignore_case": true})),
        "No match in 1 file.\n"
    );
    // What is named is searched, hidden or not: the policy was asked about it.
    assert_eq!(text(json!({"pattern": "KEY", "path": ".env"})), ".env:1: KEY=needle\n");
    assert_eq!(
        text(json!({"pattern": "needle", "path": "node_modules"})),
        "node_modules/x/index.js:1: needle\n"
    );
    assert_eq!(
        text(json!({"pattern": "needle", "path": "src/a.rs", "context": 1})),
        "src/a.rs-1- fn one() {}\nsrc/a.rs:2: let needle = 1;\nsrc/a.rs-3- last\n"
    );
    assert_eq!(text(json!({"pattern": "needle", "skill": "pdf"})), "SKILL.md:6: needle\n");
}

#[test]
fn patterns_and_paths_that_cannot_be_used_are_refused() {
    let bench = bench();
    for bad in [json!({"pattern": "("}), json!({"pattern": ""}), json!({"pattern": "a{9999999}"})] {
        assert_eq!(bench.code("grep", bad.clone()), "InvalidArguments", "{bad}");
    }
    assert_eq!(bench.code("grep", json!({"pattern": "a", "glob": "[", })), "InvalidArguments");
    assert_eq!(bench.code("grep", json!({"pattern": "a", "path": "none"})), "NotFound");
    assert_eq!(bench.code("grep", json!({"pattern": "a", "path": "../x"})), "PathTraversalBlocked");
}

#[cfg(unix)]
#[test]
fn links_and_pipes_below_are_passed_over() {
    let bench = Bench::new(&[("dir/a", "secret\n")]);
    std::os::unix::fs::symlink(&bench.outside, bench.workspace.join("out")).unwrap();
    std::os::unix::fs::symlink(bench.outside.join("secret"), bench.workspace.join("file")).unwrap();
    std::os::unix::fs::symlink("dir", bench.workspace.join("again")).unwrap();
    crate::bench::pipe(&bench.workspace.join("pipe"));
    let result = bench.call("grep", json!({"pattern": "secret"})).expect("searches");
    assert_eq!(result.text, "dir/a:1: secret\n");
    assert_eq!(bench.code("grep", json!({"pattern": "a", "path": "pipe"})), "NotFound");
}

#[test]
fn what_the_screen_does_not_pass_is_not_opened() {
    let bench = bench();
    let planned = bench.tools.plan("grep", json!({"pattern": "needle"})).expect("a plan");
    let screen = |touch: &Touch| match touch {
        Touch::Path { absolute, .. } => !absolute.ends_with("/deep"),
        _ => false,
    };
    let permit = planned.decided(Effect::Allow, "", Arc::new(screen)).expect("a permit");
    let result = permit.call(&CancelToken::new()).expect("searches");
    assert_eq!(result.text, "src/a.rs:2: let needle = 1;\n");
}

#[test]
fn each_bound_ends_the_search_and_is_reported() {
    let bench = Bench::new(&[("a", &"x\n".repeat(100_000)), ("b", "x\n"), ("c", "x\n")]);
    let limits = GrepLimits::default();
    for (limits, why) in [
        (GrepLimits { files: 2, ..limits }, "too many files"),
        (GrepLimits { matches: 3, ..limits }, "too many matches"),
        (GrepLimits { bytes: 1000, ..limits }, "too many bytes"),
        (GrepLimits { time: Duration::ZERO, ..limits }, "it took too long"),
    ] {
        let grep = Grep::new(Arc::clone(&bench.tool_workspace)).with_limits(limits);
        let tools = Toolbox::new().with(grep);
        let pattern = if why == "too many files" { "none" } else { "x" };
        let planned = tools.plan("grep", json!({"pattern": pattern})).expect("a plan");
        let permit =
            planned.decided(Effect::Allow, "", Arc::new(|_: &Touch| true)).expect("a permit");
        let result = permit.call(&CancelToken::new()).expect("searches");
        assert_eq!(result.data["ended_early"], why);
        assert!(result.truncated && result.text.contains(why), "{}", result.text);
    }
}

#[test]
fn a_long_search_stops_soon_after_it_is_cancelled() {
    let files: Vec<(String, String)> =
        (0..3000).map(|n| (format!("d{}/f{n}", n % 50), "abc def ghi\n".repeat(2000))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let bench = Bench::new(&files);
    let call = |cancel: &CancelToken| {
        let pattern = json!({"pattern": r"(\w+\s+){3}zzz"});
        let planned = bench.tools.plan("grep", pattern).expect("a plan");
        let permit =
            planned.decided(Effect::Allow, "", Arc::new(|_: &Touch| true)).expect("a permit");
        permit.call(cancel)
    };
    let start = Instant::now();
    call(&CancelToken::new()).expect("searches");
    let whole = start.elapsed();
    let cancel = CancelToken::new();
    let (failure, delay) = std::thread::scope(|scope| {
        let stopped_at = scope.spawn(|| {
            std::thread::sleep(whole / 10);
            cancel.cancel();
            Instant::now()
        });
        let failure = call(&cancel).expect_err("stopped");
        (failure, stopped_at.join().expect("no panic").elapsed())
    });
    assert_eq!(failure.code, FailureCode::Cancelled);
    assert!(delay < Duration::from_secs(1), "{delay:?}");
}
