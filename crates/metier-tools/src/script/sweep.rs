//! Cleaning up the folder of runs: leftovers of a killed run at once, kept outputs after a while.
//!
//! Only what certainly belongs to a run is removed, and no link is followed. `script` and
//! `run_command` decide what is kept at the end of a run.

use std::path::Path;
use std::time::{Duration, SystemTime};

use metier_fs::{Dir, EntryKind, Links, entry_kind, remove_tree};

/// How long the output and the files of a run are kept.
pub const RETENTION: Duration = Duration::from_hours(30 * 24);

/// Files and folders that are checked for the last change.
const MAX_ENTRIES: usize = 100_000;

/// All that a kept folder may contain. One with anything else in it is never removed.
const RETAINED_ENTRIES: &[(&str, EntryKind)] =
    &[("outputs", EntryKind::Directory), ("stderr", EntryKind::File), ("stdout", EntryKind::File)];

/// Removes from `runs` what killed runs left (a copy of a skill whose process is gone), and kept
/// folders in which nothing has changed for [`RETENTION`]. Folders are named `<number>-<process>`.
pub fn sweep(runs: &Path) {
    let now = SystemTime::now();
    for name in metier_fs::read_dir_names(runs).unwrap_or_default() {
        let Some(process) = process_of(&name) else { continue };
        let dir = runs.join(&name);
        if was_killed(&dir, process) || (is_kept(runs, &name) && is_old(&dir, now)) {
            let _ = remove_tree(&dir);
        }
    }
}

/// The process id in a folder's name.
fn process_of(name: &str) -> Option<u32> {
    let (number, process) = name.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number(number) && is_number(process) { process.parse().ok() } else { None }
}

/// Whether a copy of a skill is there and its process is gone. A kept folder has no copy any more.
#[cfg(target_os = "linux")]
fn was_killed(dir: &Path, process: u32) -> bool {
    let is_gone = !metier_fs::exists(Path::new(&format!("/proc/{process}")));
    is_gone && metier_fs::exists(&dir.join("stage/skill"))
}

/// Without `/proc` there is no cheap way to know whether a process is gone.
#[cfg(not(target_os = "linux"))]
fn was_killed(_: &Path, _: u32) -> bool {
    false
}

/// Whether a finished run left its output here, and nothing else is there. A running one has more.
fn is_kept(runs: &Path, name: &str) -> bool {
    let dir = Dir::open(runs).and_then(|runs| runs.open_below(name.as_ref(), Links::Refuse));
    let Ok(found) = dir.and_then(|dir| dir.children(RETAINED_ENTRIES.len())) else { return false };
    let is_known = |entry: &metier_fs::EntryName| {
        let kind = entry_kind(&runs.join(name).join(&entry.name));
        RETAINED_ENTRIES.iter().any(|(known, wanted)| entry.name == *known && kind == Some(*wanted))
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
