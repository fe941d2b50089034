//! Listing while others write: two processes at once over one folder whose files change.
//! Nothing that stays is ever missing from a listing, and every number adds up.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use metier_testkit::{TestHome, skill_text};

use crate::support::{document, many_skills, run};

#[test]
fn two_processes_and_a_writer_never_disturb_each_other() {
    let home = TestHome::new();
    let root = many_skills(&home, "project/.agents/skills", 400);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                change(&root, round);
            }
        });
        let listers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..8 {
                        let listing = document(&home, &run(&home, &["list", "--json"]), 0);
                        let report = &listing["report"];
                        let ignored = report["ignored"].as_array().expect("a list").len() as u64;
                        let valid = report["valid"].as_u64().expect("a number");
                        assert_eq!(report["found"], valid + ignored, "nothing is lost: {report}");
                        assert!(valid >= 300, "what no one touches is always there: {report}");
                    }
                })
            })
            .collect();
        let ended: Vec<_> = listers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        writer.join().expect("the writer writes");
        assert!(ended.iter().all(Result::is_ok));
    });
}

/// Rewrites, replaces, removes and makes skills; the first 300 stay.
fn change(root: &Path, round: usize) {
    let at = 300 + round % 100;
    let dir = root.join(format!("s{at:04}"));
    let text = skill_text(&format!("s{at:04}"), &format!("Round {round}."));
    match round % 4 {
        0 => std::fs::write(dir.join("SKILL.md"), text).expect("writes"),
        1 => {
            std::fs::write(dir.join("new"), text).expect("writes");
            std::fs::rename(dir.join("new"), dir.join("SKILL.md")).expect("renames");
        }
        2 => {
            std::fs::remove_file(dir.join("SKILL.md")).expect("removes");
            std::fs::write(dir.join("SKILL.md"), text).expect("writes");
        }
        _ => {
            let more = root.join(format!("more{at:04}"));
            std::fs::create_dir_all(&more).expect("makes");
            std::fs::write(more.join("SKILL.md"), text).expect("writes");
            std::fs::remove_dir_all(more).expect("removes");
        }
    }
}
