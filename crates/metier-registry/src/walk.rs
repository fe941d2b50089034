//! One root: from its directories to judged `SKILL.md` heads.
//!
//! The walk tries `<directory>/SKILL.md` before it lists a directory, and never descends into a
//! skill: that, not the choice of a walker, is what makes it fast. It goes level by level, so that
//! a limit cuts the deepest and last-sorted directories whatever the order on disk, and each real
//! directory is listed once, so that no maze of links keeps it busy. What could not be read becomes
//! a line in the report; nothing stops the scan.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use metier_fs::{Children, Dir, EntryKind, FileId, HeadError, Links, Name, Stamp, is_link_loop};
use metier_skill::fence::{self, Complete, Fence};
use metier_skill::{Code, Diagnostic, Digest, Limits, ParseOptions, Parsed, Profile, Severity, parse};
use rayon::prelude::*;

use crate::cache::{CacheView, Record};
use crate::report::{Ignored, RootState};

/// Directories that hold other people's code, where a `SKILL.md` is nobody's skill.
const SKIPPED: &[&str] = &["node_modules", "bower_components", "__pycache__", "site-packages", "venv"];

/// How to walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkOptions {
    pub(crate) links: Links,
    pub(crate) max_depth: usize,
    pub(crate) max_entries: usize,
    pub(crate) profile: Profile,
    pub(crate) limits: Limits,
}

/// A `SKILL.md` that was reached.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its directory below the root; empty when the root itself is the skill.
    pub(crate) directory: OsString,
    pub(crate) parsed: Parsed,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) via_link: bool,
    /// Whether the cache knew its head.
    pub(crate) in_cache: bool,
}

/// What a walk gave.
#[derive(Debug)]
pub(crate) struct Walked {
    pub(crate) state: RootState,
    pub(crate) found: Vec<Found>,
    pub(crate) notes: Vec<Ignored>,
    pub(crate) truncated: bool,
    /// Directories that were listed: what a watcher has to watch besides the skills.
    pub(crate) listed: Vec<PathBuf>,
    /// The heads the cache did not know, to be remembered.
    pub(crate) records: Vec<Record>,
}

/// A directory that may be a skill.
struct Probe {
    directory: OsString,
    via_link: bool,
}

/// What a directory turned out to be.
enum Outcome {
    Skill(Box<Found>, Option<Record>),
    Group,
    Note(Code, String),
    Nothing,
}

/// Walks the root at `path`, with what a cache remembers of it; without a cache no heads are kept.
pub(crate) fn walk(path: &Path, options: &WalkOptions, cache: Option<&CacheView>) -> Walked {
    let mut walk = Walk {
        root: path,
        options,
        cache,
        out: Walked {
            state: RootState::Ok,
            found: Vec::new(),
            notes: Vec::new(),
            truncated: false,
            listed: Vec::new(),
            records: Vec::new(),
        },
        visited: HashSet::new(),
        entries_left: options.max_entries,
    };
    match Dir::open(path) {
        Ok(dir) => walk.run(&dir),
        Err(error) => {
            walk.out.state = match error.kind() {
                io::ErrorKind::NotFound => RootState::Missing,
                io::ErrorKind::NotADirectory => RootState::NotDirectory,
                _ => RootState::Unreadable,
            };
        }
    }
    walk.out
}

struct Walk<'a> {
    root: &'a Path,
    options: &'a WalkOptions,
    cache: Option<&'a CacheView>,
    out: Walked,
    visited: HashSet<FileId>,
    entries_left: usize,
}

impl Walk<'_> {
    fn run(&mut self, root: &Dir) {
        // A root may itself be a skill: `--root my-skill`.
        let itself = vec![Probe { directory: OsString::new(), via_link: false }];
        let mut level = self.probe_all(root, itself);
        let mut depth = 0;
        while !level.is_empty() {
            level.sort_unstable();
            let listings = self.list_all(root, level);
            depth += 1;
            if depth > self.options.max_depth {
                self.note_depth(&listings);
                break;
            }
            let probes = self.probes(root, listings);
            level = self.probe_all(root, probes);
        }
    }

    /// Probes directories and gives back the ones that are no skills and may hold some.
    fn probe_all(&mut self, root: &Dir, probes: Vec<Probe>) -> Vec<OsString> {
        let task = |probe: Probe, scratch: &mut Scratch| {
            let outcome = self.probe(root, &probe, scratch);
            (probe.directory, outcome)
        };
        // Starting a thread pool costs more than looking at a few dozen directories.
        let outcomes: Vec<(OsString, Outcome)> = if probes.len() < 128 {
            let mut scratch = Scratch::default();
            probes.into_iter().map(|probe| task(probe, &mut scratch)).collect()
        } else {
            probes.into_par_iter().with_min_len(32).map_init(Scratch::default, |scratch, probe| task(probe, scratch)).collect()
        };
        let mut groups = Vec::new();
        for (directory, outcome) in outcomes {
            match outcome {
                Outcome::Skill(found, record) => {
                    self.out.records.extend(record);
                    self.out.found.push(*found);
                }
                Outcome::Group => groups.push(directory),
                Outcome::Note(code, message) => self.note(&directory, code, message),
                Outcome::Nothing => {}
            }
        }
        groups
    }

    fn probe(&self, root: &Dir, probe: &Probe, scratch: &mut Scratch) -> Outcome {
        let file = scratch.file(&probe.directory, "SKILL.md");
        let known = self.cache.and_then(|cache| cache.get(probe.directory.as_encoded_bytes()));
        if let Some((stamp, head)) = known {
            if root.stamp_below(file).is_ok_and(|now| now == stamp) {
                let parsed = self.judge(&probe.directory, head);
                return skill(probe, parsed, Some(stamp), true);
            }
        }
        self.read(root, probe, scratch, "SKILL.md")
    }

    fn read(&self, root: &Dir, probe: &Probe, scratch: &mut Scratch, name: &str) -> Outcome {
        scratch.file(&probe.directory, name);
        let Scratch { path, buffer } = scratch;
        let enough = |bytes: &[u8]| fence::find(bytes, Complete::No) != Fence::Open;
        let limit = self.options.limits.frontmatter_bytes;
        match root.read_head(path, self.options.links, limit, buffer, enough) {
            Ok(stamp) => {
                let parsed = self.judge(&probe.directory, buffer);
                let head = &buffer[..parsed.body.unwrap_or(0)];
                let wanted = self.cache.is_some() && !head.is_empty();
                let record = wanted.then(|| Record::encode(&probe.directory, &stamp, head));
                match skill(probe, parsed, Some(stamp), false) {
                    Outcome::Skill(found, _) => Outcome::Skill(found, record),
                    other => other,
                }
            }
            Err(HeadError::Missing) => Outcome::Group,
            Err(HeadError::NotADirectory) => Outcome::Nothing,
            Err(HeadError::NotRegular) => {
                let message = format!("`{name}` is not a regular file");
                skill(probe, failed(Code::FileNotRegular, message), None, false)
            }
            Err(HeadError::Changing) => {
                let message = format!("`{name}` changed while it was read");
                skill(probe, failed(Code::FileChanging, message), None, false)
            }
            Err(HeadError::Io(error)) => self.refused(probe, name, &error),
            Err(other) => Outcome::Note(Code::FileUnreadable, format!("{other:?}")),
        }
    }

    /// A refusal is about the directory when that cannot be entered, else about the file.
    fn refused(&self, probe: &Probe, name: &str, error: &io::Error) -> Outcome {
        if is_link_loop(error) {
            return Outcome::Note(Code::LinkCycle, "the link leads back to itself".to_owned());
        }
        let enters = Dir::open(&self.root.join(&probe.directory)).is_ok_and(|dir| {
            !matches!(dir.stamp_below(Path::new(name)), Err(e) if e.kind() == io::ErrorKind::PermissionDenied)
        });
        if !enters && !probe.directory.is_empty() {
            return Outcome::Note(Code::DirectoryUnreadable, format!("the directory cannot be read: {error}"));
        }
        let message = format!("`{name}` cannot be read: {error}");
        skill(probe, failed(Code::FileUnreadable, message), None, false)
    }

    fn judge(&self, directory: &OsStr, head: &[u8]) -> Parsed {
        let name = if directory.is_empty() { self.root.file_name() } else { Path::new(directory).file_name() };
        let options = ParseOptions {
            profile: self.options.profile,
            limits: self.options.limits,
            directory: name.and_then(OsStr::to_str),
        };
        parse(head, &options)
    }

    /// Lists directories, each real one once: the first by path of those on the same level. Which
    /// directory it is comes before what it holds, so that a thousand links to a large directory
    /// cost a thousand looks and one listing.
    fn list_all(&mut self, root: &Dir, level: Vec<OsString>) -> Vec<(OsString, Children)> {
        let limit = self.entries_left;
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
        let list = |directory: OsString| {
            let children = open_below(root, &directory, links).and_then(|dir| dir.children(limit));
            (directory, children)
        };
        let mut listings = Vec::with_capacity(first.len());
        for (directory, children) in map_all(first, list) {
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

    fn note_unlisted(&mut self, root: &Dir, directory: &OsStr, error: &io::Error) {
        match error.kind() {
            // It went away, or is a link to a file: nothing was there to walk.
            io::ErrorKind::NotADirectory => {}
            io::ErrorKind::NotFound if !root.is_link(Path::new(directory)) => {}
            io::ErrorKind::NotFound => {
                self.note(directory, Code::LinkDangling, "the link leads nowhere".to_owned());
            }
            _ if is_link_loop(error) => {
                self.note(directory, Code::LinkCycle, "the link leads back to itself".to_owned());
            }
            _ if directory.is_empty() => self.out.state = RootState::Unreadable,
            _ => self.note(directory, Code::DirectoryUnreadable, format!("the directory cannot be read: {error}")),
        }
    }

    /// The children worth probing, within what is left of the entry limit.
    fn probes(&mut self, root: &Dir, listings: Vec<(OsString, Children)>) -> Vec<Probe> {
        let mut probes = Vec::new();
        for (parent, mut children) in listings {
            let cut = children.truncated || children.names.len() > self.entries_left;
            if cut {
                children.names.sort_unstable();
                children.names.truncate(self.entries_left);
                self.out.truncated = true;
                let message = format!("more than {} entries below this root", self.options.max_entries);
                self.note(&parent, Code::WalkTooMany, message);
            }
            self.entries_left -= children.names.len();
            let odd = children.names.iter().find(|child| is_other_spelling(child)).map(|child| child.name.clone());
            if let Some(name) = odd {
                if self.read_other_spelling(root, &parent, &name) {
                    continue;
                }
            }
            for child in children.names {
                let via_link = child.kind == EntryKind::Link;
                if !matches!(child.kind, EntryKind::Directory | EntryKind::Link | EntryKind::Unknown) || is_skipped(&child.name) {
                    continue;
                }
                let directory = join(&parent, child.name);
                if via_link && self.options.links == Links::Refuse {
                    self.note(&directory, Code::LinkNotFollowed, "the link was not followed".to_owned());
                    continue;
                }
                probes.push(Probe { directory, via_link });
            }
        }
        probes
    }

    /// A lone `skill.md` is read, with a warning; another spelling is reported. Gives whether the
    /// directory was a skill.
    fn read_other_spelling(&mut self, root: &Dir, parent: &OsStr, name: &OsStr) -> bool {
        let shown = name.to_string_lossy().into_owned();
        if name != "skill.md" {
            let message = format!("the file is called `{shown}`; only `SKILL.md` counts");
            self.note(parent, Code::FileNameCase, message);
            return false;
        }
        let probe = Probe { directory: parent.to_owned(), via_link: false };
        let Outcome::Skill(mut found, _) = self.read(root, &probe, &mut Scratch::default(), "skill.md") else {
            return false;
        };
        if let Some(severity) = Code::FileNameCase.severity(self.options.profile) {
            let message = "the file is called `skill.md`, not `SKILL.md`";
            found.parsed.diagnostics.insert(0, Diagnostic::about_file(Code::FileNameCase, severity, message));
        }
        self.out.found.push(*found);
        true
    }

    fn note_depth(&mut self, listings: &[(OsString, Children)]) {
        let deeper = |child: &Name| child.kind == EntryKind::Directory && !is_skipped(&child.name);
        for (directory, _) in listings.iter().filter(|(_, children)| children.names.iter().any(deeper)) {
            self.out.truncated = true;
            let message = format!("directories more than {} levels below the root are not walked", self.options.max_depth);
            self.note(directory, Code::WalkTooDeep, message);
        }
    }

    fn note(&mut self, directory: &OsStr, code: Code, message: String) {
        // A maze of a million links is one finding, not a million lines.
        const MOST: usize = 1000;
        if self.out.notes.len() < MOST {
            let path = if directory.is_empty() { self.root.to_owned() } else { self.root.join(directory) };
            self.out.notes.push(Ignored { path, code, message: message.into(), line: None, column: None });
        } else if self.out.notes.len() == MOST {
            self.out.truncated = true;
            let message = format!("more than {MOST} lines about this root; the rest is not listed").into();
            self.out.notes.push(Ignored { path: self.root.to_owned(), code: Code::WalkTooMany, message, line: None, column: None });
        }
    }
}

fn skill(probe: &Probe, parsed: Parsed, stamp: Option<Stamp>, in_cache: bool) -> Outcome {
    let directory = probe.directory.clone();
    Outcome::Skill(Box::new(Found { directory, parsed, stamp, via_link: probe.via_link, in_cache }), None)
}

fn failed(code: Code, message: String) -> Parsed {
    let diagnostics = vec![Diagnostic::about_file(code, Severity::Error, message)];
    Parsed { skill: None, diagnostics, digest: Digest::of(b""), body: None }
}

/// Maps in parallel where there is enough to do.
fn map_all<T: Send, U: Send>(items: Vec<T>, task: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
    if items.len() < 16 { items.into_iter().map(task).collect() } else { items.into_par_iter().map(task).collect() }
}

fn open_below(root: &Dir, directory: &OsStr, links: Links) -> io::Result<Dir> {
    if directory.is_empty() {
        return root.open_below(Path::new("."), Links::Follow);
    }
    root.open_below(Path::new(directory), links)
}

fn join(parent: &OsStr, name: OsString) -> OsString {
    if parent.is_empty() { name } else { Path::new(parent).join(name).into_os_string() }
}

fn is_skipped(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || SKIPPED.iter().any(|skipped| name == *skipped)
}

/// A file that would be `SKILL.md` but for its case.
fn is_other_spelling(child: &Name) -> bool {
    child.name.len() == 8
        && child.name.eq_ignore_ascii_case("SKILL.md")
        && child.name != "SKILL.md"
        && matches!(child.kind, EntryKind::File | EntryKind::Link | EntryKind::Unknown)
}

/// Buffers that one worker reuses for every directory.
#[derive(Default)]
struct Scratch {
    path: PathBuf,
    buffer: Vec<u8>,
}

impl Scratch {
    fn file(&mut self, directory: &OsStr, name: &str) -> &Path {
        self.path.as_mut_os_string().clear();
        self.path.push(directory);
        self.path.push(name);
        &self.path
    }
}
