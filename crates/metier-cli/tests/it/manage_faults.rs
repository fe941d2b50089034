//! When the system refuses: a full disk, a folder that may not be written. Whatever was asked, it
//! ends in a coded error, nothing is half-written, and no setting is lost.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use metier_testkit::{Output, TestHome};
use serde_json::json;

use crate::support::{document, files_below, run, run_unprivileged};

/// A file system of 64 KiB, mounted for one test.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).expect("directories");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k,mode=755", "tmpfs"]).arg(at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        if !mounted {
            metier_testkit::not_tested("a full disk; this user cannot mount one");
        }
        mounted.then(|| Self(at.to_owned()))
    }

    /// Leaves no byte free.
    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.0.join("filler")).expect("makes it");
        while file.write_all(&[0; 1024]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn refused(home: &TestHome, output: &Output) -> String {
    let error = document(home, output, 1);
    assert_eq!(error["error"]["code"], json!("not-written"), "{error}");
    assert!(error["error"]["help"].is_string(), "{error}");
    error["error"]["message"].as_str().expect("a message").to_owned()
}

#[test]
fn on_a_full_disk_a_new_skill_is_not_half_there() {
    let home = TestHome::new();
    let Some(disk) = SmallDisk::mount(&home.project().join(".agent")) else { return };
    disk.fill();
    let message = refused(&home, &run(&home, &["new", "pdf", "-d", "Fill forms.", "--json"]));
    assert!(message.contains("No space left"), "{message}");
    assert_eq!(files_below(&disk.0), ["filler"]);
    assert!(!disk.0.join("skills").exists(), "nor the folder above it");
}

#[test]
fn on_a_full_disk_no_setting_is_lost() {
    let home = TestHome::new();
    let Some(disk) = SmallDisk::mount(&home.home().join(".agent")) else { return };
    let before = "{ \"skills\": { \"a\": { \"enabled\": false } } } // mine\n";
    home.write("home/.agent/config.json", before);
    disk.fill();
    let message = refused(&home, &run(&home, &["disable", "write-skill", "--json"]));
    assert!(message.contains("No space left"), "{message}");
    let after = std::fs::read_to_string(disk.0.join("config.json")).expect("reads");
    assert_eq!(after, before);
    assert_eq!(files_below(&disk.0), ["config.json", "filler"]);
}

#[test]
fn on_a_full_disk_nothing_is_deleted() {
    let home = TestHome::new();
    home.skill("home/.claude/skills/pdf", "pdf", "Fill forms.");
    let Some(disk) = SmallDisk::mount(&home.home().join(".local/state/metier")) else { return };
    disk.fill();
    refused(&home, &run(&home, &["delete", "--yes", "pdf", "--json"]));
    assert!(home.home().join(".claude/skills/pdf/SKILL.md").exists());
    assert_eq!(files_below(&disk.0), ["filler"]);
    // Room for the record, and not for a copy of the skill.
    std::fs::remove_file(disk.0.join("filler")).expect("removes");
    home.write("home/.claude/skills/pdf/large.bin", vec![1; 100_000]);
    let before = files_below(&home.home().join(".claude"));
    let message = refused(&home, &run(&home, &["delete", "--yes", "pdf", "--json"]));
    assert!(message.contains("No space left"), "{message}");
    assert_eq!(files_below(&home.home().join(".claude")), before);
    assert_eq!(files_below(&disk.0), [] as [&str; 0]);
}

#[test]
fn on_a_full_disk_a_backup_stays_a_backup() {
    let home = TestHome::new();
    let Some(disk) = SmallDisk::mount(&home.home().join(".claude/skills")) else { return };
    home.skill("home/.claude/skills/pdf", "pdf", "Fill forms.");
    assert_eq!(run(&home, &["delete", "--yes", "pdf"]).code, 0);
    disk.fill();
    refused(&home, &run(&home, &["restore", "user:pdf", "--yes", "--json"]));
    assert_eq!(files_below(&disk.0), ["filler"]);
    std::fs::remove_file(disk.0.join("filler")).expect("removes");
    assert_eq!(run(&home, &["restore", "user:pdf", "--yes"]).code, 0);
    assert_eq!(files_below(&disk.0), ["pdf/SKILL.md"]);
}

/// Everything below `dir` as it may be read and not written.
fn close(dir: &Path, mode: u32) {
    std::fs::set_permissions(dir, PermissionsExt::from_mode(mode)).expect("chmod");
}

#[test]
fn where_writing_is_not_allowed_everything_stays_as_it_was() {
    let home = TestHome::new();
    home.skill("home/.claude/skills/pdf", "pdf", "Fill forms.");
    let before = "{ \"profile\": \"strict\" }\n";
    home.write("home/.agent/config.json", before);
    std::fs::create_dir_all(home.project().join(".agent/skills")).expect("directories");
    let closed = [
        home.home().join(".agent"),
        home.home().join(".claude/skills"),
        home.project().join(".agent/skills"),
    ];
    for dir in &closed {
        close(dir, 0o555);
    }
    // The state folder may be written: what is refused is to take the skill away.
    std::fs::create_dir_all(home.home().join(".local/state/metier")).expect("directories");
    close(&home.home().join(".local/state/metier"), 0o777);
    for args in [
        &["new", "csv", "-d", "Report.", "--json"][..],
        &["disable", "pdf", "--json"],
        &["delete", "--yes", "pdf", "--json"],
    ] {
        let Some(output) = run_unprivileged(&home, args) else { return };
        let message = refused(&home, &output);
        assert!(message.contains("ermission denied"), "{args:?}: {message}");
    }
    let config = std::fs::read_to_string(home.home().join(".agent/config.json")).expect("reads");
    assert_eq!(config, before);
    assert_eq!(files_below(&home.home().join(".agent")), ["config.json"]);
    assert_eq!(files_below(&home.home().join(".claude")), ["skills/pdf/SKILL.md"]);
    assert_eq!(files_below(&home.project().join(".agent")), [] as [&str; 0]);
    assert_eq!(files_below(&home.home().join(".local")), [] as [&str; 0]);
}
