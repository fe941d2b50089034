//! What goes from the folder of runs and what stays: only what is surely a run's, and only when its
//! time is over.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use metier_tools::script::{RETENTION, sweep};

const HOUR: Duration = Duration::from_hours(1);

/// Makes a folder with these files, last changed so long ago.
fn folder(runs: &Path, name: &str, files: &[&str], age: Duration) {
    let dir = runs.join(name);
    fs::create_dir_all(&dir).expect("makes");
    for file in files {
        let path = dir.join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("makes");
        fs::write(&path, "x").expect("writes");
        for at in path.ancestors().take_while(|at| *at != dir) {
            set_age(at, age);
        }
    }
    set_age(&dir, age);
}

fn set_age(dir: &Path, age: Duration) {
    File::open(dir).and_then(|dir| dir.set_modified(SystemTime::now() - age)).expect("a time");
}

/// The time of a link itself.
fn set_age_of_link(link: &Path, age: Duration) {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
    let since = (SystemTime::now() - age).duration_since(SystemTime::UNIX_EPOCH).expect("a time");
    let time = Timespec { tv_sec: since.as_secs().cast_signed(), tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, link, &times, AtFlags::SYMLINK_NOFOLLOW).expect("a time");
}

#[test]
fn what_was_kept_goes_when_its_time_is_over() {
    let dir = tempfile::tempdir().expect("dir");
    let runs = dir.path();
    let old = RETENTION + HOUR;
    folder(runs, "1-10", &["stdout", "stderr", "outputs/deep/file"], old);
    folder(runs, "2-10", &["stdout", "stderr"], old);
    folder(runs, "3-10", &["stdout", "stderr", "outputs/file"], RETENTION.saturating_sub(HOUR));
    sweep(runs);
    assert!(!runs.join("1-10").exists());
    assert!(!runs.join("2-10").exists());
    assert!(runs.join("3-10/outputs/file").exists());
    sweep(&runs.join("none"));
    // A file from yesterday keeps the run, however old the folder is.
    folder(runs, "4-10", &["stdout", "outputs/theirs"], old);
    folder(runs, "5-10", &["stdout", "outputs/deep/theirs"], old);
    folder(runs, "6-10", &["stdout", "outputs/node_modules/x/theirs"], old);
    set_age(&runs.join("4-10/outputs/theirs"), HOUR);
    set_age(&runs.join("5-10/outputs/deep"), HOUR);
    set_age(&runs.join("6-10/outputs/node_modules/x/theirs"), HOUR);
    // Nor does it help a script to write of times that are yet to come.
    folder(runs, "7-10", &["stdout", "outputs/timeless"], old);
    let file = File::open(runs.join("7-10/outputs/timeless"));
    file.and_then(|file| file.set_modified(SystemTime::now() + old)).expect("a time");
    sweep(runs);
    assert!(runs.join("4-10/outputs/theirs").exists() && runs.join("5-10/stdout").exists());
    assert!(runs.join("6-10/stdout").exists() && !runs.join("7-10").exists());
}

#[test]
fn what_may_be_something_else_stays_for_ever() {
    let dir = tempfile::tempdir().expect("dir");
    let runs = dir.path().join("runs");
    let old = RETENTION * 10;
    let others: [(&str, &[&str]); 9] = [
        ("notes", &["stdout"]),
        ("1-2-3", &["stdout"]),
        ("+1-2", &["stdout"]),
        ("-2", &["stdout"]),
        ("probe-2", &["stdout"]),
        ("1-1", &["stdout", "mine.txt"]),
        ("2-1", &["stdout", "stage/work/file"]),
        ("3-1", &["stdout/file"]),
        ("4-1", &["outputs"]),
    ];
    for (name, files) in others {
        folder(&runs, name, files, old);
    }
    folder(&runs, "5-1", &[], old);
    fs::write(runs.join("6-1"), "a file").expect("writes");
    // A name that is not UTF-8 is not one of ours.
    folder(&runs, "7-1", &["stdout"], old);
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff");
    fs::write(runs.join("7-1").join(odd), "x").expect("writes");
    set_age(&runs.join("7-1"), old);
    // Links lead to what is not ours, whatever it looks like.
    let real = dir.path().join("real");
    folder(&real, "8-1", &["stdout", "outputs/file"], old);
    symlink(real.join("8-1"), runs.join("8-1")).expect("link");
    folder(&runs, "9-1", &["stdout"], old);
    symlink(real.join("8-1/outputs"), runs.join("9-1/outputs")).expect("link");
    set_age(&runs.join("9-1"), old);
    let names = || metier_fs::read_dir_names(&runs).expect("names");
    let before = names();
    sweep(&runs);
    assert_eq!(names(), before);
    assert!(real.join("8-1/outputs/file").exists());
    // In a folder of ours a link goes, and what it leads to stays.
    folder(&runs, "10-1", &["stdout", "outputs/file"], old);
    symlink(&real, runs.join("10-1/outputs/link")).expect("link");
    set_age_of_link(&runs.join("10-1/outputs/link"), old);
    set_age(&runs.join("10-1/outputs"), old);
    sweep(&runs);
    assert!(!runs.join("10-1").exists());
    assert!(real.join("8-1/outputs/file").exists());
}
