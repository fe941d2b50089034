//! Changes as they happen.
//!
//! An event of the operating system means no more than "look again": queues overflow, editors write
//! in several steps, and a directory can be filled before it is watched. So every event leads to a
//! scan, the scan tells what changed, and a slow poll catches what no event told. Where the system
//! refuses to watch (too many directories, a network file system), polling alone remains, and says so.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use metier_fs::is_dir;
use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::changes::Change;
use crate::scan::Registry;

/// How long nothing must happen before a scan; editors write in bursts.
const QUIET: Duration = Duration::from_millis(80);
/// How many bursts in a row put a scan off.
const BURSTS: usize = 10;
/// How often to look without being told.
const POLL: Duration = Duration::from_secs(30);
/// How often to look where the system tells nothing.
const BLIND_POLL: Duration = Duration::from_secs(2);

/// What a watcher says.
#[derive(Debug)]
pub enum WatchEvent<'a> {
    /// Watching has begun; what changes from now on is told.
    Ready,
    /// Skills were added, changed or removed.
    Changed(&'a [Change]),
    /// The system cannot watch everything; changes are noticed by polling, with the reason.
    Polling(&'a str),
}

/// Watches the registry's roots and tells `on` what changes, until it breaks.
pub fn watch(registry: &Registry, on: &mut dyn FnMut(WatchEvent<'_>) -> ControlFlow<()>) {
    let (sender, events) = channel();
    let mut eyes = Eyes::open(sender);
    let mut told_polling = false;
    let mut ready = false;
    loop {
        // What is not watched yet may have changed while it was not.
        while eyes.follow(registry.snapshot().watched()) {
            let (_, changed) = registry.refresh();
            if !changed.is_empty() && on(WatchEvent::Changed(&changed)).is_break() {
                return;
            }
        }
        if let Some(reason) = eyes.blind.as_deref().filter(|_| !told_polling) {
            told_polling = true;
            if on(WatchEvent::Polling(reason)).is_break() {
                return;
            }
        }
        if !ready {
            ready = true;
            if on(WatchEvent::Ready).is_break() {
                return;
            }
        }
        wait(&events, if eyes.blind.is_some() { BLIND_POLL } else { POLL });
        let (_, changed) = registry.refresh();
        if !changed.is_empty() && on(WatchEvent::Changed(&changed)).is_break() {
            return;
        }
    }
}

/// Waits for an event and the quiet after it, or for `poll` to pass.
fn wait(events: &Receiver<()>, poll: Duration) {
    if events.recv_timeout(poll) == Err(RecvTimeoutError::Disconnected) {
        std::thread::sleep(poll);
        return;
    }
    for _ in 0..BURSTS {
        if events.recv_timeout(QUIET).is_err() {
            return;
        }
        while events.try_recv().is_ok() {}
    }
}

/// The system's watcher and what it watches.
struct Eyes {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    blind: Option<String>,
}

impl Eyes {
    fn open(sender: Sender<()>) -> Self {
        let handler = move |event: notify::Result<Event>| {
            if event.map_or(true, |event| event.need_rescan() || matters(&event)) {
                // The receiver is gone only when the watch has ended.
                let _ = sender.send(());
            }
        };
        match notify::recommended_watcher(handler) {
            Ok(watcher) => Self { watcher: Some(watcher), watched: BTreeSet::new(), blind: None },
            Err(error) => {
                Self { watcher: None, watched: BTreeSet::new(), blind: Some(error.to_string()) }
            }
        }
    }

    /// Watches these directories, and no others. Gives whether something new is watched.
    fn follow<'a>(&mut self, directories: impl Iterator<Item = &'a Path>) -> bool {
        let Some(watcher) = &mut self.watcher else {
            return false;
        };
        let wanted: BTreeSet<PathBuf> = directories.filter_map(nearest).collect();
        for gone in self.watched.difference(&wanted) {
            let _ = watcher.unwatch(gone);
        }
        let mut kept: BTreeSet<PathBuf> = self.watched.intersection(&wanted).cloned().collect();
        let mut grown = false;
        for new in wanted.difference(&self.watched) {
            match watcher.watch(new, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    grown = true;
                    kept.insert(new.clone());
                }
                Err(error) => {
                    // A directory that went away is no reason to give up watching.
                    if is_dir(new) {
                        self.blind = Some(error.to_string());
                        break;
                    }
                }
            }
        }
        self.watched = kept;
        grown
    }
}

/// The directory itself, or the nearest one above it that exists: where its making would show.
fn nearest(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|dir| is_dir(dir)).map(Path::to_owned)
}

/// Whether an event can change what a scan finds.
fn matters(event: &Event) -> bool {
    let skill_file = || {
        event
            .paths
            .iter()
            .any(|path| path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md")))
    };
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => skill_file(),
        EventKind::Access(_) => false,
        _ => true,
    }
}
