//! The cache is never trusted over the disk, and two users of it never disturb each other.
//!
//! Every cached scan is compared with one that never heard of a cache.

use std::path::Path;

use metier_registry::{Scan, ScanOptions, scan};
use metier_testkit::{TestHome, skill_text};

use crate::support::{names, options, root, scan_one};

/// Skills old enough that their stamps prove something.
fn tree(home: &TestHome, count: usize) {
    for at in 0..count {
        let name = format!("s{at:04}");
        home.write(&format!("root/{name}/SKILL.md"), skill_text(&name, "As it was."));
    }
    std::thread::sleep(std::time::Duration::from_millis(150));
}

fn cached(home: &TestHome) -> Scan {
    let cache_folder = Some(home.path().join("cache"));
    scan(&[root(&home.path().join("root"))], &ScanOptions { cache_folder, ..options() })
}

fn cache_files(home: &TestHome) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(home.path().join("cache"))
        .map(|dir| dir.map(|entry| entry.expect("entry").path()).collect())
        .unwrap_or_default()
}

#[test]
fn a_changed_file_is_always_seen() {
    let home = TestHome::new();
    tree(&home, 300);
    assert_eq!(cached(&home).index.entries().len(), 300);
    assert_eq!(cache_files(&home).len(), 1);
    // Same size, old modification time put back: only the change time betrays it.
    let file = home.path().join("root/s0007/SKILL.md");
    let before = std::fs::metadata(&file).expect("there").modified().expect("time");
    std::fs::write(&file, skill_text("s0007", "As it is..")).expect("writes");
    std::fs::File::options()
        .write(true)
        .open(&file)
        .expect("opens")
        .set_modified(before)
        .expect("sets the time");
    std::fs::remove_dir_all(home.path().join("root/s0008")).expect("removes");
    home.skill("root/new", "new", "New.");
    let (with, without) = (cached(&home), scan_one(&home.path().join("root")));
    assert_eq!(with.index, without.index);
    assert_eq!(&*with.index.entries()[8].skill.description, "As it is..");
    assert_eq!(with.index.entries().len(), 300);
}

#[test]
fn a_damaged_foreign_or_deleted_cache_is_harmless() {
    let home = TestHome::new();
    tree(&home, 300);
    let truth = cached(&home).index;
    let file = cache_files(&home).remove(0);
    let good = std::fs::read(&file).expect("cache");
    for bad in [
        Vec::new(),
        b"metierc1".to_vec(),
        good[..good.len() / 2].to_vec(),
        b"something else entirely".repeat(50),
    ] {
        std::fs::write(&file, bad).expect("writes");
        assert_eq!(cached(&home).index, truth);
    }
    std::fs::remove_file(&file).ok();
    assert_eq!(cached(&home).index, truth);
    std::fs::remove_dir_all(home.path().join("cache")).expect("removes");
    std::fs::write(home.path().join("cache"), "a file where the folder should be").expect("writes");
    assert_eq!(cached(&home).index, truth);
}

/// The skill folder is rewritten while two processes' worth of scans use one cache folder.
#[test]
fn users_of_one_cache_never_disturb_each_other() {
    let home = TestHome::new();
    tree(&home, 300);
    let root_dir = home.path().join("root");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| rewrite(&root_dir));
        let scanners: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    (0..15).map(|_| cached(&home).index.entries().len()).collect::<Vec<_>>()
                })
            })
            .collect();
        for scanner in scanners {
            for count in scanner.join().expect("no panic") {
                assert_eq!(count, 300, "a file that is replaced whole is always there");
            }
        }
        writer.join().expect("no panic");
    });
    assert_eq!(cached(&home).index, scan_one(&root_dir).index);
    assert_eq!(cache_files(&home).len(), 1, "no temporary file is left");
}

fn rewrite(root: &Path) {
    for at in 0..300 {
        let name = format!("s{at:04}");
        let dir = root.join(&name);
        std::fs::write(dir.join("new"), skill_text(&name, "Written anew.")).expect("writes");
        std::fs::rename(dir.join("new"), dir.join("SKILL.md")).expect("renames");
    }
}

#[test]
fn a_small_root_needs_no_cache() {
    let home = TestHome::new();
    tree(&home, 20);
    assert_eq!(names(&cached(&home)).len(), 20);
    assert!(cache_files(&home).is_empty());
}
