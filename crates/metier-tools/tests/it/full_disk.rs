//! What a write and a delete do when the disk is full, or the trash is on another file system.
//!
//! A small file system in memory is mounted for it. Where that is not allowed, the test says loudly
//! that nothing was tested.

use std::path::{Path, PathBuf};
use std::process::Command;

use metier_fs::{HeldDir, WorkRoot};
use metier_tools::Trash;
use serde_json::json;

use crate::bench::Bench;

/// A file system of 256 KiB that goes with this value.
struct Small {
    _dir: tempfile::TempDir,
    at: PathBuf,
}

impl Small {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("small");
        std::fs::create_dir(&at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "none"])
            .arg(&at)
            .output()
            .is_ok_and(|done| done.status.success());
        if !mounted {
            metier_testkit::not_tested("no file system can be mounted here, so no disk is full");
        }
        mounted.then_some(Self { _dir: dir, at })
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

fn names(dir: &Path) -> Vec<String> {
    metier_fs::read_dir_names(dir).unwrap()
}

#[test]
fn on_a_full_disk_the_old_file_stays_and_nothing_is_left_behind() {
    let Some(small) = Small::mount() else { return };
    let bench = Bench::in_dir(tempfile::tempdir_in(&small.at).unwrap(), &[("a", "as it was")]);
    let large = "x".repeat(512 * 1024);
    assert_eq!(bench.code("write_file", json!({"path": "a", "content": large})), "IoError");
    assert_eq!(bench.code("write_file", json!({"path": "b/c/d", "content": large})), "IoError");
    assert_eq!(std::fs::read_to_string(bench.workspace.join("a")).unwrap(), "as it was");
    assert_eq!(names(&bench.workspace), ["a"]);
    // The system may take a moment to give back the room of a file that is gone.
    let room_again = (0..200).any(|_| {
        let written = bench.call("write_file", json!({"path": "a", "content": "fits"})).is_ok();
        if !written {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        written
    });
    assert!(room_again, "nothing of what failed is left");
}

#[test]
fn a_file_is_deleted_to_another_file_system_and_comes_back_and_stays_when_that_is_full() {
    let Some(small) = Small::mount() else { return };
    let large = "x".repeat(512 * 1024);
    let mut bench = Bench::new(&[("a", "text"), ("large", &large)]);
    let root = WorkRoot::open(&bench.workspace).unwrap();
    let trash = std::sync::Arc::new(Trash::new(HeldDir::at(&small.at.join("trash"))));
    let at = std::sync::Arc::new(metier_tools::ToolWorkspace::new(
        WorkRoot::open(&bench.workspace).unwrap(),
    ));
    let tools = metier_tools::Toolbox::new()
        .with(metier_tools::DeleteFile::new(at, std::sync::Arc::clone(&trash)));
    bench.tools = tools;
    bench.call("delete_file", json!({"path": "a"})).expect("deletes");
    assert_eq!(bench.code("delete_file", json!({"path": "large"})), "IoError");
    assert_eq!(names(&bench.workspace), ["large"]);
    assert_eq!(names(&small.at.join("trash")), ["trash-000001", "trash-000001.json"]);
    trash.restore(&root, "trash-000001").expect("restores");
    assert_eq!(std::fs::read_to_string(bench.workspace.join("a")).unwrap(), "text");
    assert!(names(&small.at.join("trash")).is_empty());
}
