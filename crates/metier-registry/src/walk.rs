//! One root: from its directories to judged `SKILL.md` heads.
//!
//! The walk tries `<directory>/SKILL.md` before it lists a directory, and never descends into a
//! skill: that, not the choice of a walker, is what makes it fast. It goes level by level, so that
//! a limit cuts the deepest and last-sorted directories whatever the order on disk, and each real
//! directory is listed once, so that no maze of links keeps it busy. What could not be read becomes
//! a line in the report; nothing stops the scan.

mod child;
mod probe;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_fs::{Dir, DirChildren, EntryName, FileId, Links, entry_kind, is_link_loop};
use metier_skill::{Code, Diagnostic, Limits, Profile, Source};

use crate::index::SwitchedSkill;
use crate::parallel;
use crate::precedence::Candidate;
use crate::report::{Ignored, RootState};
use crate::roots::Root;
use child::{Child, is_other_spelling, may_hold_skills, other_spelling};
pub(crate) use probe::warn_of_size;
use probe::{Outcome, Probe, Probed, Scratch};

/// How to walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkOptions {
    pub(crate) links: Links,
    pub(crate) max_depth: usize,
    pub(crate) max_entries: usize,
    pub(crate) profile: Profile,
    pub(crate) limits: Limits,
}

/// The root that is walked, and what its skills inherit from it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkRoot<'a> {
    pub(crate) root: &'a Root,
    pub(crate) priority: usize,
    /// What is switched on or off.
    pub(crate) switches: &'a [SwitchedSkill],
}

/// A `SKILL.md` that was reached: a skill, or the reason why it is none.
pub(crate) type Found = Result<Candidate, Ignored>;

/// What a walk gave.
#[derive(Debug)]
pub(crate) struct Walked {
    pub(crate) state: RootState,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) ignored: Vec<Ignored>,
    pub(crate) notes: Vec<Ignored>,
    pub(crate) truncated: bool,
    /// Whether a link was among what was looked at.
    pub(crate) has_links: bool,
    /// Directories that were listed: what a watcher has to watch besides the skills.
    pub(crate) listed: Vec<PathBuf>,
}

impl Walked {
    fn add(&mut self, found: Found) {
        match found {
            Ok(candidate) => self.candidates.push(candidate),
            Err(ignored) => self.ignored.push(ignored),
        }
    }

    /// `SKILL.md` files reached.
    pub(crate) fn found(&self) -> usize {
        self.candidates.len() + self.ignored.len()
    }
}

/// Walks a root.
pub(crate) fn walk(walkable: WalkRoot<'_>, options: &WalkOptions) -> Walked {
    let path = walkable.root.path.as_path();
    let mut walk = Walk {
        root: path,
        walkable,
        options,
        out: Walked {
            state: RootState::Ok,
            candidates: Vec::new(),
            ignored: Vec::new(),
            notes: Vec::new(),
            truncated: false,
            has_links: false,
            listed: Vec::new(),
        },
        visited: HashSet::new(),
        entries_left: options.max_entries,
    };
    if walkable.root.foreign.is_some() {
        walk.out.state = RootState::Foreign;
        return walk.out;
    }
    let absent = || Err(io::ErrorKind::NotFound.into());
    let opened = if walkable.root.absent { absent() } else { Dir::open(path) };
    match opened {
        Ok(dir) => walk.run(&dir),
        Err(error) => {
            walk.out.state = match error.kind() {
                io::ErrorKind::NotFound => RootState::Missing,
                // `.codex/skills` below a plain file called `.codex`.
                io::ErrorKind::NotADirectory if entry_kind(path).is_none() => RootState::Missing,
                io::ErrorKind::NotADirectory => RootState::NotDirectory,
                _ => RootState::Unreadable,
            };
        }
    }
    walk.out
}

struct Walk<'a> {
    root: &'a Path,
    walkable: WalkRoot<'a>,
    options: &'a WalkOptions,
    out: Walked,
    visited: HashSet<FileId>,
    entries_left: usize,
}
impl Walk<'_> {
    fn run(&mut self, root: &Dir) {
        // A root may itself be a skill: `--root my-skill`.
        let itself = Probe { directory: OsString::new(), via_link: false };
        let mut level = match self.read(root, &itself, &mut Scratch::default(), "SKILL.md") {
            // Only a root that was given explicitly can be meant as a skill; in an agent's folder a stray
            // file must not hide the skills beside it.
            Outcome::Skill(..) if self.walkable.root.source != Source::Explicit => {
                let message = "`SKILL.md` is directly in the folder of skills".to_owned();
                self.note(OsStr::new(""), Code::RootHoldsSkill, message);
                vec![OsString::new()]
            }
            Outcome::Skill(found) => return self.out.add(found),
            Outcome::Note(code, message) => return self.note(OsStr::new(""), code, message),
            Outcome::Group => vec![OsString::new()],
            Outcome::Nothing => return,
        };
        let mut depth = 0;
        while !level.is_empty() {
            level.sort_unstable();
            let mut first = self.first_visits(root, level);
            depth += 1;
            if depth > self.options.max_depth {
                let listings = self.list_all(root, first);
                self.note_depth(&listings);
                break;
            }
            let probed = if let [only] = &mut first[..] {
                self.list_and_probe(root, std::mem::take(only))
            } else {
                self.list_then_probe(root, first)
            };
            level = self.add_probed(probed);
        }
    }

    /// The directories that were not walked under another path: the first by path of those on the
    /// same level. Which directory it is comes before what it holds, so that a thousand links to a
    /// large directory cost a thousand looks and one listing.
    fn first_visits(&mut self, root: &Dir, level: Vec<OsString>) -> Vec<OsString> {
        let links = self.options.links;
        let identify = |directory: OsString| {
            let id = open_below(root, &directory, links).and_then(|dir| dir.id());
            (directory, id)
        };
        let mut first = Vec::new();
        for (directory, id) in map_all(level, identify) {
            match id {
                Ok(id) if self.visited.insert(id) => first.push(directory),
                Ok(_) => {
                    let message = "this directory was already walked under another path".to_owned();
                    self.note(&directory, Code::LinkCycle, message);
                }
                Err(error) => self.note_unlisted(root, &directory, &error),
            }
        }
        first
    }

    fn list_all(&mut self, root: &Dir, directories: Vec<OsString>) -> Vec<(OsString, DirChildren)> {
        let (limit, links) = (self.entries_left, self.options.links);
        let list = |directory: OsString| {
            let children = open_below(root, &directory, links).and_then(|dir| dir.children(limit));
            (directory, children)
        };
        let mut listings = Vec::with_capacity(directories.len());
        for (directory, children) in map_all(directories, list) {
            match children {
                Ok(children) => {
                    self.out.listed.push(self.root.join(&directory));
                    listings.push((directory, children));
                }
                Err(error) => self.note_unlisted(root, &directory, &error),
            }
        }
        listings
    }

    /// Lists the directories of a level and probes what they hold.
    fn list_then_probe(&mut self, root: &Dir, directories: Vec<OsString>) -> Probed {
        let listings = self.list_all(root, directories);
        let probes = self.probes(root, listings);
        self.probe_all(root, |feed| probes.into_iter().for_each(|probe| feed.push(probe)))
    }

    /// The same for a level of one directory, such as a folder of a thousand skills: its children are
    /// probed while it is still being listed, which takes a tenth of the whole. Where it turns out
    /// that not all of them count, because there are too many or the directory is a skill
    /// itself, what was probed is dropped and the directory is walked in the careful order.
    fn list_and_probe(&mut self, root: &Dir, directory: OsString) -> Probed {
        let links = self.options.links;
        let (mut count, mut refused, mut is_plain, mut has_links) = (0, Vec::new(), true, false);
        let mut listed = Ok(());
        let probed = self.probe_all(root, |feed| {
            let opened = open_below(root, &directory, links);
            feed.expect(opened.as_ref().ok().and_then(Dir::directories_inside).unwrap_or_default());
            let each = |child: EntryName| {
                count += 1;
                is_plain &= count <= self.entries_left && !is_other_spelling(&child);
                match Child::of(child, &directory, links) {
                    Child::Probe(probe) => feed.push(probe),
                    Child::ProbeLink(probe) => {
                        has_links = true;
                        feed.push(probe);
                    }
                    Child::RefusedLink(path) => refused.push(path),
                    Child::Other => {}
                }
                if is_plain { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            listed = opened.and_then(|dir| dir.for_each_child(each));
        });
        if !is_plain {
            return self.list_then_probe(root, vec![directory]);
        }
        if let Err(error) = listed {
            self.note_unlisted(root, &directory, &error);
            return Probed::default();
        }
        self.out.listed.push(self.root.join(&directory));
        self.out.has_links |= has_links;
        self.entries_left -= count;
        for path in &refused {
            self.note_refused_link(path);
        }
        probed
    }

    /// Takes over what a level gave; gives the directories that may hold skills further down.
    fn add_probed(&mut self, probed: Probed) -> Vec<OsString> {
        let Probed { candidates, ignored, mut notes, groups } = probed;
        if self.out.candidates.is_empty() {
            self.out.candidates = candidates;
        } else {
            self.out.candidates.extend(candidates);
        }
        self.out.ignored.extend(ignored);
        // There may be more than are kept, and which are must not depend on the threads.
        notes.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        for (directory, code, message) in notes {
            self.note(&directory, code, message);
        }
        groups
    }

    fn note_unlisted(&mut self, root: &Dir, directory: &OsStr, error: &io::Error) {
        match error.kind() {
            // It went away, or is a link to a file: nothing was there to walk.
            io::ErrorKind::NotADirectory => {}
            io::ErrorKind::NotFound if !root.is_link(Path::new(directory)) => {}
            io::ErrorKind::NotFound => {
                self.note(
                    directory,
                    Code::LinkDangling,
                    "the link's target does not exist".to_owned(),
                );
            }
            _ if is_link_loop(error) => {
                self.note(directory, Code::LinkCycle, "the link points back to itself".to_owned());
            }
            _ if directory.is_empty() => self.out.state = RootState::Unreadable,
            _ => self.note(
                directory,
                Code::DirectoryUnreadable,
                format!("the directory cannot be read: {error}"),
            ),
        }
    }

    /// The children worth probing, within what is left of the entry limit.
    fn probes(&mut self, root: &Dir, listings: Vec<(OsString, DirChildren)>) -> Vec<Probe> {
        let mut probes = Vec::new();
        for (parent, mut children) in listings {
            let cut = children.truncated || children.names.len() > self.entries_left;
            if cut {
                children.names.sort_unstable();
                children.names.truncate(self.entries_left);
                self.out.truncated = true;
                let message =
                    format!("more than {} entries below this root", self.options.max_entries);
                self.note(&parent, Code::WalkTooMany, message);
            }
            self.entries_left -= children.names.len();
            probes.reserve(children.names.len());
            let odd = other_spelling(&children.names);
            if odd.is_some_and(|name| self.read_other_spelling(root, &parent, &name)) {
                continue;
            }
            for child in children.names {
                match Child::of(child, &parent, self.options.links) {
                    Child::Probe(probe) => probes.push(probe),
                    Child::ProbeLink(probe) => {
                        self.out.has_links = true;
                        probes.push(probe);
                    }
                    Child::RefusedLink(path) => self.note_refused_link(&path),
                    Child::Other => {}
                }
            }
        }
        probes
    }

    fn note_refused_link(&mut self, path: &OsStr) {
        self.note(path, Code::LinkNotFollowed, "the link was not followed".to_owned());
    }

    /// A lone `skill.md` is read, with a warning; another spelling is reported. Gives whether the
    /// directory was a skill.
    fn read_other_spelling(&mut self, root: &Dir, parent: &OsStr, name: &OsStr) -> bool {
        let shown = name.to_string_lossy().into_owned();
        if name != "skill.md" {
            let message = format!("the file is named `{shown}`; only `SKILL.md` is read");
            self.note(parent, Code::FileNameCase, message);
            return false;
        }
        let probe = Probe { directory: parent.to_owned(), via_link: false };
        let Outcome::Skill(mut found) =
            self.read(root, &probe, &mut Scratch::default(), "skill.md")
        else {
            return false;
        };
        if let (Ok(found), Some(severity)) =
            (&mut found, Code::FileNameCase.severity(self.options.profile))
        {
            let message = "the file is named `skill.md`, not `SKILL.md`";
            let entry = Arc::make_mut(&mut found.entry);
            let mut diagnostics = std::mem::take(&mut entry.diagnostics).into_vec();
            diagnostics.insert(0, Diagnostic::about_file(Code::FileNameCase, severity, message));
            entry.diagnostics = diagnostics.into();
        }
        self.out.add(found);
        true
    }

    fn note_depth(&mut self, listings: &[(OsString, DirChildren)]) {
        for (directory, _) in
            listings.iter().filter(|(_, children)| children.names.iter().any(may_hold_skills))
        {
            self.out.truncated = true;
            let message = format!(
                "directories more than {} levels below the root are not walked",
                self.options.max_depth
            );
            self.note(directory, Code::WalkTooDeep, message);
        }
    }

    fn note(&mut self, directory: &OsStr, code: Code, message: String) {
        // A maze of a million links is one finding, not a million lines.
        const MAX_NOTES: usize = 1000;
        if self.out.notes.len() < MAX_NOTES {
            let path =
                if directory.is_empty() { self.root.to_owned() } else { self.root.join(directory) };
            self.out.notes.push(Ignored {
                path,
                code,
                message: message.into(),
                line: None,
                column: None,
            });
        } else if self.out.notes.len() == MAX_NOTES {
            self.out.truncated = true;
            let message =
                format!("more than {MAX_NOTES} lines about this root; the rest are not listed")
                    .into();
            self.out.notes.push(Ignored {
                path: self.root.to_owned(),
                code: Code::WalkTooMany,
                message,
                line: None,
                column: None,
            });
        }
    }
}

/// Maps in parallel where there is enough to do.
fn map_all<T: Send, U: Send>(items: Vec<T>, task: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
    parallel::map(items, 64, || (), |(), item| task(item))
}

fn open_below(root: &Dir, directory: &OsStr, links: Links) -> io::Result<Dir> {
    if directory.is_empty() {
        return root.open_below(Path::new("."), Links::Follow);
    }
    root.open_below(Path::new(directory), links)
}
