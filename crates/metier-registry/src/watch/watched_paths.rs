//! What there is to watch for a scan's sake: the real directories it looked into, and single paths
//! outside of them, which are folders that do not exist yet, links, and what links lead to.
//!
//! Everything is recorded by its real path. One directory under two names must be watched once, since
//! on Linux the end of one of the two watches ends the other, and some systems report events by
//! real paths alone. Looks at the disk, watches nothing; the watcher calls it after each scan.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use metier_fs::{EntryKind, canonical, entry_kind, is_dir, link_target};
use metier_skill::Code;

use crate::scan::Scan;

/// Paths that links lead through which are watched, in one scan; the slow poll sees the others.
const MAX_BEHIND_LINKS: usize = 1000;
/// Links that lead to links, one after the other.
const MAX_LINK_STEPS: usize = 8;

/// The places whose changes can change what a scan finds.
#[derive(Debug, Default)]
pub(super) struct WatchedPaths {
    /// Directories in which every change counts.
    inside: BTreeSet<PathBuf>,
    /// Paths that count by themselves; what else happens beside them does not.
    single: BTreeSet<PathBuf>,
}

impl WatchedPaths {
    pub(super) fn of(scan: &Scan) -> Self {
        let mut collector = PathCollector::default();
        for dir in scan.watched() {
            collector.add_directory(dir);
        }
        let dangling = |code: Code| code == Code::LinkDangling;
        for line in scan.report.notes.iter().filter(|line| dangling(line.code)) {
            collector.add_link(&line.path);
        }
        collector.places
    }

    /// The directories to watch: for a single path the nearest one above it.
    pub(super) fn directories(&self) -> BTreeSet<PathBuf> {
        let mut all = self.inside.clone();
        all.extend(self.single.iter().filter_map(|path| above(path)).map(Path::to_owned));
        all
    }

    /// Whether a directory is one in which every change counts.
    pub(super) fn looked_into(&self, dir: &Path) -> bool {
        self.inside.contains(dir)
    }

    /// Whether it matters that `path` was made, removed or replaced.
    pub(super) fn concern(&self, path: &Path) -> bool {
        self.inside.contains(path)
            || path.parent().is_some_and(|dir| self.inside.contains(dir))
            || self.single.iter().any(|single| single.starts_with(path))
    }

    /// Whether it matters what is written to `path`: a skill's file, or what a link in its place
    /// leads to, whatever that is called.
    pub(super) fn concern_content(&self, path: &Path) -> bool {
        let skill_file = || path.file_name().is_some_and(|n| n.eq_ignore_ascii_case("SKILL.md"));
        self.single.contains(path) || (skill_file() && self.concern(path))
    }
}

/// The nearest directory above `path` that exists: where its making would show.
fn above(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|dir| is_dir(dir))
}

#[derive(Default)]
struct PathCollector {
    places: WatchedPaths,
    behind_links: usize,
    /// Real paths of the directories that hold others; most skills lie in a few.
    parents: HashMap<PathBuf, Option<PathBuf>>,
}

impl PathCollector {
    fn add_directory(&mut self, dir: &Path) {
        let kind = entry_kind(dir);
        if kind == Some(EntryKind::Link) {
            self.add_link(dir);
        }
        let Some(real) = self.real_directory(dir, kind) else {
            self.add_single(dir);
            return;
        };
        for name in ["SKILL.md", "skill.md"] {
            let file = dir.join(name);
            match entry_kind(&file) {
                None => continue,
                Some(EntryKind::Link) => self.add_link(&file),
                Some(_) => {}
            }
            break;
        }
        self.places.inside.insert(real);
    }

    /// A link and everything it leads through: each of them may be replaced or, at the end, edited.
    fn add_link(&mut self, link: &Path) {
        let mut at = Some(link.to_owned());
        for _ in 0..MAX_LINK_STEPS {
            let Some(path) = at.filter(|_| self.behind_links < MAX_BEHIND_LINKS) else { return };
            self.behind_links += 1;
            self.add_single(&path);
            at = link_target(&path);
        }
    }

    fn add_single(&mut self, path: &Path) {
        let real = above(path).and_then(|dir| {
            let rest = path.strip_prefix(dir).ok()?;
            Some(self.real_parent(dir)?.join(rest))
        });
        self.places.single.extend(real);
    }

    fn real_directory(&mut self, dir: &Path, kind: Option<EntryKind>) -> Option<PathBuf> {
        match (kind?, dir.parent(), dir.file_name()) {
            (EntryKind::Directory, Some(parent), Some(name)) if parent != OsStr::new("") => {
                Some(self.real_parent(parent)?.join(name))
            }
            (EntryKind::Directory | EntryKind::Link, ..) => {
                canonical(dir).ok().filter(|real| is_dir(real))
            }
            _ => None,
        }
    }

    fn real_parent(&mut self, dir: &Path) -> Option<PathBuf> {
        if let Some(known) = self.parents.get(dir) {
            return known.clone();
        }
        let real = canonical(dir).ok();
        self.parents.insert(dir.to_owned(), real.clone());
        real
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "tests build files")]
mod tests {
    use super::*;
    use crate::{Root, ScanOptions, scan};
    use std::os::unix::fs::symlink;

    #[test]
    fn beside_what_a_link_leads_to_nothing_counts() {
        let dir = tempfile::tempdir().expect("dir");
        let top = dir.path().canonicalize().expect("real");
        let at = |path: &str| top.join(path);
        std::fs::create_dir_all(at("root/pdf")).expect("dirs");
        std::fs::create_dir_all(at("outside")).expect("dirs");
        std::fs::write(at("outside/pdf.md"), "---\nname: pdf\ndescription: d\n---\n")
            .expect("writes");
        symlink(at("outside/pdf.md"), at("root/pdf/SKILL.md")).expect("link");
        let root = Root {
            source: metier_skill::Source::Explicit,
            path: at("root"),
            plugin: None,
            required: true,
            absent: false,
            foreign: None,
        };
        let scanned = scan(&[root], &ScanOptions { builtin: false, ..ScanOptions::default() });
        let places = WatchedPaths::of(&scanned);
        let watched: Vec<PathBuf> = places.directories().into_iter().collect();
        assert_eq!(watched, [at("outside"), at("root"), at("root/pdf")]);
        assert!(places.concern_content(&at("outside/pdf.md")));
        assert!(!places.concern_content(&at("outside/log")) && !places.concern(&at("outside/log")));
        assert!(places.concern_content(&at("root/pdf/SKILL.md")));
        assert!(!places.concern_content(&at("root/pdf/notes.md")));
        assert!(places.concern(&at("root/new")) && places.concern(&at("outside")));
    }

    /// A maze of links costs a bounded number of watches.
    #[test]
    fn links_are_followed_a_bounded_number_of_times() {
        let dir = tempfile::tempdir().expect("dir");
        for at in 0..40 {
            symlink(format!("l{}", (at + 1) % 40), dir.path().join(format!("l{at}")))
                .expect("link");
        }
        let mut collector = PathCollector::default();
        collector.add_link(&dir.path().join("l0"));
        assert_eq!(collector.places.single.len(), MAX_LINK_STEPS);
        for _ in 0..MAX_BEHIND_LINKS {
            collector.add_link(&dir.path().join("l0"));
        }
        assert_eq!(collector.behind_links, MAX_BEHIND_LINKS);
    }
}
