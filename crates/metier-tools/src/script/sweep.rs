//! Cleaning up the folder of runs: leftovers of a killed run at once, kept outputs after a while.
//!
//! Only what certainly belongs to a run is removed, and no link is followed. `script` and
//! `run_command` decide what is kept at the end of a run.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use metier_fs::{Dir, EntryKind, Links, entry_kind, open_own_dir, remove_own_tree};

/// How long the output and the files of a run are kept.
pub const RETENTION: Duration = Duration::from_hours(30 * 24);

/// Files and folders that are checked for the last change.
const MAX_ENTRIES: usize = 100_000;

/// All that a kept folder may contain. One with anything else in it is never removed.
const RETAINED_ENTRIES: &[(&str, EntryKind)] =
    &[("outputs", EntryKind::Directory), ("stderr", EntryKind::File), ("stdout", EntryKind::File)];

/// All that the folder of a running command contains.
const COMMAND_ENTRIES: &[(&str, EntryKind)] =
    &[("stderr", EntryKind::File), ("stdout", EntryKind::File), ("work", EntryKind::Directory)];

/// How long removing takes at most; the next run continues.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Removes from `runs` what killed runs left (a copy of a skill whose process is gone), and kept
/// folders in which nothing has changed for [`RETENTION`]. Folders are named `<number>-<process>`.
pub fn sweep(runs: &Path) {
    let now = SystemTime::now();
    let until = Instant::now() + MAX_TIME;
    let stop = || Instant::now() > until;
    for name in metier_fs::read_dir_names(runs).unwrap_or_default() {
        let Some(process) = process_of(&name) else { continue };
        let dir = runs.join(&name);
        if stop() {
            return;
        }
        let is_gone = is_gone(process);
        if is_gone {
            reopen(&dir);
        }
        if is_gone && was_killed(runs, &name) || (is_kept(runs, &name) && is_old(&dir, now)) {
            let _ = remove_own_tree(&dir.join("stage/work"), &stop)
                .and_then(|()| remove_own_tree(&dir, &stop));
        }
    }
}

/// A script may have closed these to their owner: then nothing could be known of them, and they would
/// stay for ever.
fn reopen(dir: &Path) {
    if entry_kind(dir) == Some(EntryKind::Directory) {
        let _ = open_own_dir(dir);
        for inner in ["stage", "work", "outputs"] {
            let inner = dir.join(inner);
            if entry_kind(&inner) == Some(EntryKind::Directory) {
                let _ = open_own_dir(&inner);
            }
        }
    }
}

/// The process id in a folder's name.
fn process_of(name: &str) -> Option<u32> {
    let (number, process) = name.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number(number) && is_number(process) { process.parse().ok() } else { None }
}

/// Whether the process with this id is gone.
#[cfg(target_os = "linux")]
fn is_gone(process: u32) -> bool {
    !metier_fs::exists(Path::new(&format!("/proc/{process}")))
}

/// Without `/proc` there is no cheap way to know.
#[cfg(not(target_os = "linux"))]
fn is_gone(_: u32) -> bool {
    false
}

/// Whether a run ended in the middle: the copy of a skill is there, or the working directory of a command.
/// A kept folder has neither any more.
fn was_killed(runs: &Path, name: &str) -> bool {
    metier_fs::exists(&runs.join(name).join("stage/skill"))
        || (entry_kind(&runs.join(name).join("work")) == Some(EntryKind::Directory)
            && has_only(runs, name, COMMAND_ENTRIES))
}

/// Whether a finished run left its output here, and nothing else is there. A running one has more.
fn is_kept(runs: &Path, name: &str) -> bool {
    has_only(runs, name, RETAINED_ENTRIES)
}

fn has_only(runs: &Path, name: &str, entries: &[(&str, EntryKind)]) -> bool {
    let dir = Dir::open(runs).and_then(|runs| runs.open_below(name.as_ref(), Links::Refuse));
    let Ok(found) = dir.and_then(|dir| dir.children(entries.len())) else { return false };
    let is_known = |entry: &metier_fs::EntryName| {
        let kind = entry_kind(&runs.join(name).join(&entry.name));
        entries.iter().any(|(known, wanted)| entry.name == *known && kind == Some(*wanted))
    };
    !found.truncated && !found.names.is_empty() && found.names.iter().all(is_known)
}

/// Whether nothing in a folder has changed for that long. A folder too large to check goes too, but
/// much later: a script must not be able to keep its files for ever.
fn is_old(dir: &Path, now: SystemTime) -> bool {
    let (last, whole) = metier_fs::last_modified(dir, now, MAX_ENTRIES);
    let age = last.and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
    age > if whole { RETENTION } else { RETENTION * 12 }
}
