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
use std::time::{Duration, Instant};

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
        eyes.wait(&events);
        let (_, changed) = registry.refresh();
        if !changed.is_empty() && on(WatchEvent::Changed(&changed)).is_break() {
            return;
        }
    }
}

/// What an event of the system was about.
struct Glimpse {
    paths: Vec<PathBuf>,
    /// Whether a path may be another file now, or none.
    replaced: bool,
    /// Whether the system lost track of what happened.
    lost: bool,
}

/// The system's watcher and what it watches.
struct Eyes {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// Directories that a scan looks at.
    wanted: BTreeSet<PathBuf>,
    /// Folders that do not exist yet; the nearest one above each is watched for its making.
    absent: Vec<PathBuf>,
    blind: Option<String>,
}

impl Eyes {
    fn open(sender: Sender<Glimpse>) -> Self {
        let handler = move |event: notify::Result<Event>| {
            // The receiver is gone only when the watch has ended.
            let _ = sender.send(match event {
                Ok(event) if is_silent(&event) => return,
                Ok(event) => Glimpse {
                    replaced: matches!(
                        event.kind,
                        EventKind::Remove(_)
                            | EventKind::Modify(ModifyKind::Name(_))
                            | EventKind::Create(_)
                    ),
                    lost: event.need_rescan(),
                    paths: event.paths,
                },
                Err(_) => Glimpse { paths: Vec::new(), replaced: false, lost: true },
            });
        };
        let (watcher, blind) = match notify::recommended_watcher(handler) {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self {
            watcher,
            watched: BTreeSet::new(),
            wanted: BTreeSet::new(),
            absent: Vec::new(),
            blind,
        }
    }

    /// Waits for an event that can change what a scan finds, and for the quiet after it; or until
    /// it is time to look anyway.
    fn wait(&mut self, events: &Receiver<Glimpse>) {
        let poll = if self.blind.is_some() { BLIND_POLL } else { POLL };
        let end = Instant::now() + poll;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match events.recv_timeout(left) {
                Ok(glimpse) if self.take(&glimpse) => break,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => return std::thread::sleep(left),
            }
        }
        for _ in 0..BURSTS {
            match events.recv_timeout(QUIET) {
                Ok(glimpse) => self.take(&glimpse),
                Err(_) => return,
            };
            while let Ok(glimpse) = events.try_recv() {
                self.take(&glimpse);
            }
        }
    }

    /// Whether an event can change what a scan finds. A directory that was removed, or made again
    /// under the same name, is forgotten: its watch went with it.
    fn take(&mut self, glimpse: &Glimpse) -> bool {
        if glimpse.replaced
            && let Some(watcher) = &mut self.watcher
        {
            for path in &glimpse.paths {
                let gone: Vec<PathBuf> =
                    self.watched.iter().filter(|known| known.starts_with(path)).cloned().collect();
                for known in gone {
                    let _ = watcher.unwatch(&known);
                    self.watched.remove(&known);
                }
            }
        }
        // A directory watched only for a folder that may be made below it is busy with other things.
        let concerns = |path: &PathBuf| {
            self.wanted.contains(path)
                || path.parent().is_some_and(|dir| self.wanted.contains(dir))
                || self.absent.iter().any(|dir| dir.starts_with(path))
        };
        glimpse.lost || glimpse.paths.is_empty() || glimpse.paths.iter().any(concerns)
    }

    /// Watches these directories, and no others. Gives whether something new is watched.
    fn follow<'a>(&mut self, directories: impl Iterator<Item = &'a Path>) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let (present, absent): (Vec<&Path>, Vec<&Path>) = directories.partition(|dir| is_dir(dir));
        self.absent = absent.into_iter().map(Path::to_owned).collect();
        self.wanted = present.into_iter().map(Path::to_owned).collect();
        let mut all = self.wanted.clone();
        all.extend(self.absent.iter().filter_map(|dir| nearest(dir)));
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
                // A directory that went away is no reason to give up watching.
                Err(_) if !is_dir(new) => {}
                Err(error) => {
                    self.blind = Some(error.to_string());
                    break;
                }
            }
        }
        self.watched = kept;
        grown
    }
}

/// The nearest directory above `dir` that exists: where its making would show.
fn nearest(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|dir| is_dir(dir)).map(Path::to_owned)
}

/// Events that change nothing a scan looks at: reads, and writes to other files of a skill.
fn is_silent(event: &Event) -> bool {
    let skill_file = || {
        let named = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
        };
        event.paths.iter().any(named)
    };
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => !skill_file(),
        EventKind::Access(_) => true,
        _ => false,
    }
}
