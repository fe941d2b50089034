//! A directory is swapped with a link to the outside, over and over, while files are written, read
//! and deleted below it: nothing outside may change or be leaked.
//!
//! The control does what a careless program does (look, then act) under the same swapping, and must
//! be caught out: otherwise the swapping was no attack and the test proves nothing.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::bench::{Bench, put};

/// Runs `attempt` until it is true or the time is over, while two names change places.
fn while_swapped(one: &Path, other: &Path, time: Duration, attempt: impl Fn() -> bool) -> bool {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("swaps");
                std::hint::spin_loop();
            }
        });
        let end = Instant::now() + time;
        let mut seen = false;
        while !seen && Instant::now() < end {
            seen = attempt();
        }
        stop.store(true, Ordering::Relaxed);
        seen
    })
}

#[test]
fn a_swapped_link_leads_no_write_read_or_delete_outside() {
    let bench = Bench::new(&[("d/f", "inside")]);
    let (dir, link) = (bench.workspace.join("d"), bench.workspace.join("link"));
    put(&bench.outside.join("f"), "outside");
    std::os::unix::fs::symlink(&bench.outside, &link).unwrap();
    let outside = bench.outside.join("f");

    let escaped = while_swapped(&dir, &link, Duration::from_mins(2), || {
        if !std::fs::symlink_metadata(&dir).is_ok_and(|data| data.is_symlink()) {
            let _ = std::fs::write(dir.join("f"), "careless");
        }
        std::fs::read_to_string(&outside).unwrap() != "outside"
    });
    assert!(escaped, "the control was never caught out: the swapping is no attack");
    std::fs::write(&outside, "outside").unwrap();

    let leaked = while_swapped(&dir, &link, Duration::from_secs(3), || {
        let _ = bench.call("write_file", json!({"path": "d/f", "content": "mine"}));
        let _ = bench.call("write_file", json!({"path": "d/new/deep", "content": "mine"}));
        let read = bench.call("read_file", json!({"path": "d/f"}));
        let _ = bench.call("delete_file", json!({"path": "d/new/deep"}));
        read.is_ok_and(|read| read.text == "outside")
    });
    assert!(!leaked, "a file outside was read");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "outside");
    assert_eq!(metier_fs::read_dir_names(&bench.outside).unwrap(), ["f", "secret"]);
    // And the attack did not simply make everything fail.
    if std::fs::symlink_metadata(&dir).unwrap().is_symlink() {
        std::fs::rename(&link, bench.workspace.join("real")).unwrap();
        std::fs::remove_file(&dir).unwrap();
        std::fs::rename(bench.workspace.join("real"), &dir).unwrap();
    }
    assert_eq!(std::fs::read_to_string(dir.join("f")).unwrap(), "mine");
}
