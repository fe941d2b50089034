//! What runs left in the folder of runs, and when it goes: what a killed one left at once, what was
//! kept for the user after a while.
//!
//! Only what is surely a run's is removed, and no link is followed. What is kept at the end of a run
//! is for `script` and `run_command` to say.

use std::path::Path;
use std::time::{Duration, SystemTime};

use metier_fs::{Dir, EntryKind, Links, entry_kind, remove_tree};

/// How long a folder that was kept stays: the whole output of a run and the files that it left.
pub const KEPT_FOR: Duration = Duration::from_hours(30 * 24);

/// Files and folders of a kept one that are looked at.
const MOST_LOOKED_AT: usize = 100_000;

/// All that is in a folder that was kept. With anything else in it, it is more than that.
const KEPT: &[(&str, EntryKind)] =
    &[("outputs", EntryKind::Directory), ("stderr", EntryKind::File), ("stdout", EntryKind::File)];

/// Removes what runs left in `runs` that were killed: a copy of a skill whose process is gone; and
/// folders that were kept and in which nothing has changed for [`KEPT_FOR`]. Folders are named `<number>-<process>`.
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

/// The process in a folder's name.
fn process_of(name: &str) -> Option<u32> {
    let (number, process) = name.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number(number) && is_number(process) { process.parse().ok() } else { None }
}

/// Whether a copy of a skill is there and nobody runs it. One that was kept has no copy any more.
#[cfg(target_os = "linux")]
fn was_killed(dir: &Path, process: u32) -> bool {
    let is_gone = !metier_fs::exists(Path::new(&format!("/proc/{process}")));
    is_gone && metier_fs::exists(&dir.join("stage/skill"))
}

/// Elsewhere nobody can tell whether a process is gone.
#[cfg(not(target_os = "linux"))]
fn was_killed(_: &Path, _: u32) -> bool {
    false
}

/// Whether a run ended here and left what it keeps, and nothing else is there. While one goes on
/// there is more.
fn is_kept(runs: &Path, name: &str) -> bool {
    let dir = Dir::open(runs).and_then(|runs| runs.open_below(name.as_ref(), Links::Refuse));
    let Ok(found) = dir.and_then(|dir| dir.children(KEPT.len())) else { return false };
    let is_known = |entry: &metier_fs::Name| {
        let kind = entry_kind(&runs.join(name).join(&entry.name));
        KEPT.iter().any(|(known, wanted)| entry.name == *known && kind == Some(*wanted))
    };
    !found.truncated && !found.names.is_empty() && found.names.iter().all(is_known)
}

/// Whether nothing in a folder was changed for so long. One that cannot be looked through goes too,
/// but much later: a script must not be able to stay for ever.
fn is_old(dir: &Path, now: SystemTime) -> bool {
    let (last, whole) = metier_fs::last_modified(dir, now, MOST_LOOKED_AT);
    let age = last.and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
    age > if whole { KEPT_FOR } else { KEPT_FOR * 12 }
}
