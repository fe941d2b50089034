//! A scan while files come and go never fails, and never lists a half-written skill as valid.
//!
//! A writer keeps making, half-writing and removing skills while scans run.

use std::sync::atomic::{AtomicBool, Ordering};

use metier_testkit::{TestHome, skill_text};

use crate::support::scan_one;

#[test]
fn skills_that_come_and_go_during_the_scan() {
    let home = TestHome::new();
    for at in 0..50 {
        home.skill(&format!("root/stay{at}"), &format!("stay{at}"), "Always there.");
    }
    let root = home.path().join("root");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let text = skill_text("flicker", &"x".repeat(6000));
            for round in 0..300 {
                let dir = root.join(format!("flicker{}", round % 7));
                let _ = std::fs::create_dir(&dir);
                let file = dir.join("SKILL.md");
                // In two steps, as a careless editor does: the first half has no closing fence.
                let _ = std::fs::write(&file, &text[..3000]);
                let _ = std::fs::write(&file, &text);
                if round % 3 == 0 {
                    let _ = std::fs::remove_dir_all(&dir);
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut scans = 0;
        while !done.load(Ordering::Relaxed) || scans == 0 {
            let scan = scan_one(&root);
            scans += 1;
            let stay = scan
                .index
                .entries()
                .iter()
                .filter(|e| e.name().as_str().starts_with("stay"))
                .count();
            assert_eq!(stay, 50);
            for entry in scan.index.entries().iter().chain(scan.index.shadowed()) {
                if entry.name().as_str() == "flicker" {
                    assert_eq!(entry.skill.description.len(), 6000, "half a description");
                }
            }
            assert_eq!(scan.report.found, scan.report.valid + scan.report.ignored.len());
        }
    });
}
