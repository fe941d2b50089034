//! Changes as they happen.
//!
//! An event of the operating system means no more than "look again": queues overflow, editors write
//! in several steps, and a directory can be filled before it is watched. So every event leads to a
//! scan, the scan says what changed, and a slow poll catches what no event reported. Where the system
//! refuses to watch (too many directories, a network file system), polling alone remains, and says so.

mod watched_paths;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use metier_cancel::CancelToken;
use metier_fs::is_dir;
use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::changes::Change;
use crate::scan::Registry;
use watched_paths::WatchedPaths;

/// How long nothing must happen before a scan; editors write in bursts.
const QUIET: Duration = Duration::from_millis(80);
/// How many bursts in a row put a scan off.
const BURSTS: usize = 10;
/// How often to look without an event.
const POLL: Duration = Duration::from_secs(30);
/// How often to look where the system reports no events.
const BLIND_POLL: Duration = Duration::from_secs(2);

/// What a watcher reports.
#[derive(Debug)]
pub enum WatchEvent<'a> {
    /// Watching has begun; what changes from now on is reported.
    Ready,
    /// Skills were added, changed or removed.
    Changed(&'a [Change]),
    /// The system cannot watch everything; changes are noticed by polling, with the reason.
    Polling(&'a str),
}

/// Watches the registry's roots and passes each change to `on`, until that breaks or `cancel` is cancelled.
pub fn watch(
    registry: &Registry,
    cancel: &CancelToken,
    on: &mut dyn FnMut(WatchEvent<'_>) -> ControlFlow<()>,
) {
    let (sender, events) = channel();
    let wakes = sender.clone();
    // Held to the end, so that the channel is open also where the system has no watcher.
    let _wakes = cancel.on_cancel(move || {
        let _ = wakes.send(PathEvent { paths: Vec::new(), what: PathChange::Other });
    });
    let mut watcher = SystemWatcher::open(sender);
    let mut polling_reported = false;
    let mut ready = false;
    loop {
        // What is not watched yet may have changed while it was not.
        while !cancel.is_cancelled() && watcher.follow(WatchedPaths::of(&registry.snapshot())) {
            let (_, changed) = registry.refresh();
            if !changed.is_empty() && on(WatchEvent::Changed(&changed)).is_break() {
                return;
            }
        }
        if let Some(reason) = watcher.blind.as_deref().filter(|_| !polling_reported) {
            polling_reported = true;
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
        watcher.wait(&events, cancel);
        if cancel.is_cancelled() {
            return;
        }
        let (_, changed) = registry.refresh();
        if !changed.is_empty() && on(WatchEvent::Changed(&changed)).is_break() {
            return;
        }
    }
}

/// What an event of the system was about.
struct PathEvent {
    paths: Vec<PathBuf>,
    what: PathChange,
}

/// What happened to a path, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathChange {
    /// It may be another file now, or none.
    Replaced,
    /// Something was written to it, or to what is known about it.
    Written,
    /// Something else.
    Other,
    /// The system lost track of what happened.
    Lost,
}

impl PathEvent {
    /// What an event means; `None` for reads, which change nothing.
    fn of(event: notify::Result<Event>) -> Option<Self> {
        let Ok(event) = event else {
            return Some(Self { paths: Vec::new(), what: PathChange::Lost });
        };
        let what = match event.kind {
            _ if event.need_rescan() => PathChange::Lost,
            EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Name(_))
            | EventKind::Create(_) => PathChange::Replaced,
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => {
                PathChange::Written
            }
            EventKind::Access(_) => return None,
            _ => PathChange::Other,
        };
        Some(Self { paths: event.paths, what })
    }
}

/// The system's watcher and what it watches.
struct SystemWatcher {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    places: WatchedPaths,
    blind: Option<String>,
}

impl SystemWatcher {
    fn open(sender: Sender<PathEvent>) -> Self {
        let handler = move |event: notify::Result<Event>| {
            if let Some(event) = PathEvent::of(event) {
                // The receiver is gone only when the watch has ended.
                let _ = sender.send(event);
            }
        };
        let (watcher, blind) = match notify::recommended_watcher(handler) {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self { watcher, watched: BTreeSet::new(), places: WatchedPaths::default(), blind }
    }

    /// Waits for an event that can change what a scan finds, and for the quiet after it; or until
    /// it is time to look anyway.
    fn wait(&mut self, events: &Receiver<PathEvent>, cancel: &CancelToken) {
        let poll = if self.blind.is_some() { BLIND_POLL } else { POLL };
        let end = Instant::now() + poll;
        while !cancel.is_cancelled() {
            let left = end.saturating_duration_since(Instant::now());
            match events.recv_timeout(left) {
                Ok(event) if self.take(&event) => break,
                Ok(_) => {}
                Err(_) => return,
            }
        }
        for _ in 0..BURSTS {
            if cancel.is_cancelled() {
                return;
            }
            match events.recv_timeout(QUIET) {
                Ok(event) => self.take(&event),
                Err(_) => return,
            };
            while let Ok(event) = events.try_recv() {
                self.take(&event);
            }
        }
    }

    /// Whether an event can change what a scan finds. A directory that was removed, or made again
    /// under the same name, is forgotten: its watch went with it. What is below it is then not watched
    /// until the next scan, whether the event itself matters or not.
    fn take(&mut self, event: &PathEvent) -> bool {
        let mut forgotten = false;
        if event.what == PathChange::Replaced
            && let Some(watcher) = &mut self.watcher
        {
            for path in &event.paths {
                let gone: Vec<PathBuf> =
                    self.watched.iter().filter(|known| known.starts_with(path)).cloned().collect();
                for known in gone {
                    let _ = watcher.unwatch(&known);
                    forgotten |= self.watched.remove(&known);
                }
            }
        }
        if forgotten {
            return true;
        }
        // A directory that is watched for a single path in it is busy with other things.
        match event.what {
            PathChange::Lost => true,
            PathChange::Written => event.paths.iter().any(|path| self.places.concern_content(path)),
            PathChange::Replaced | PathChange::Other => {
                event.paths.is_empty() || event.paths.iter().any(|path| self.places.concern(path))
            }
        }
    }

    /// Watches these places, and no others. Gives whether something new is watched.
    fn follow(&mut self, places: WatchedPaths) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let all = places.directories();
        for gone in self.watched.difference(&all) {
            let _ = watcher.unwatch(gone);
        }
        let mut kept: BTreeSet<PathBuf> = self.watched.intersection(&all).cloned().collect();
        let mut grown = false;
        for new in all.difference(&self.watched) {
            match watcher.watch(new, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    grown = true;
                    kept.insert(new.clone());
                }
                // A directory that went away is no reason to give up watching, nor is one that a
                // link leads to and that may not be listed: the poll looks there.
                Err(_) if !is_dir(new) => {}
                Err(error)
                    if !places.looked_into(new)
                        && !matches!(error.kind, ErrorKind::MaxFilesWatch) => {}
                Err(error) => {
                    self.blind = Some(error.to_string());
                    break;
                }
            }
        }
        self.watched = kept;
        self.places = places;
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The making of a folder is reported late: what is below it was found and watched already.
    #[test]
    fn what_is_no_longer_watched_is_looked_at_again() {
        let dir = tempfile::tempdir().expect("dir");
        let top = dir.path().canonicalize().expect("real");
        let root = top.join("later/skills");
        std::fs::create_dir_all(&root).expect("dirs");
        let (sender, _events) = channel();
        let mut watcher = SystemWatcher::open(sender);
        let below = crate::Root {
            source: metier_skill::Source::Explicit,
            path: root.clone(),
            plugin: None,
            required: true,
            absent: false,
            foreign: None,
        };
        let options = crate::ScanOptions { builtin: false, ..crate::ScanOptions::default() };
        let scanned = crate::scan(&[below], &options);
        assert!(watcher.follow(WatchedPaths::of(&scanned)), "the root is watched");
        let late = PathEvent { paths: vec![top.join("later")], what: PathChange::Replaced };
        assert!(watcher.take(&late), "its watch is gone, so it is time to look");
        assert!(watcher.watched.is_empty());
        assert!(!watcher.take(&late), "nothing is left that it could be about");
        assert!(watcher.follow(WatchedPaths::of(&scanned)), "and it is watched again");
    }
}
