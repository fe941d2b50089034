//! Is this directory a skill? One attempt to open `SKILL.md` says so.
//!
//! The workers of a walk do all of it, up to the finished candidate: at a hundred thousand skills
//! that is as much work as reading the files.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf, is_separator};
use std::sync::Arc;

use metier_fs::{Dir, HeadBuffer, HeadError, Links, Stamp, is_link_loop};
use metier_skill::fence::{self, Complete, Fence};
use metier_skill::{Code, Diagnostic, MAX_FILE_BYTES, ParseOptions, Parsed, Severity, parse_found};

use super::{Found, Walk, WalkRoot};
use crate::index::Entry;
use crate::parallel;
use crate::precedence::Candidate;
use crate::report::Ignored;

/// A directory that may be a skill.
pub(super) struct Probe {
    pub(super) directory: OsString,
    pub(super) via_link: bool,
}

/// What a directory turned out to be.
pub(super) enum Outcome {
    Skill(Found),
    Group,
    Note(Code, String),
    Nothing,
}

/// What a level of directories gave.
#[derive(Default)]
pub(super) struct Probed {
    pub(super) candidates: Vec<Candidate>,
    pub(super) ignored: Vec<Ignored>,
    pub(super) notes: Vec<(OsString, Code, String)>,
    /// Directories that are no skills and may hold some.
    pub(super) groups: Vec<OsString>,
}

impl Probed {
    fn add(&mut self, directory: OsString, outcome: Outcome) {
        match outcome {
            Outcome::Skill(Ok(candidate)) => self.candidates.push(candidate),
            Outcome::Skill(Err(ignored)) => self.ignored.push(ignored),
            Outcome::Group => self.groups.push(directory),
            Outcome::Note(code, message) => self.notes.push((directory, code, message)),
            Outcome::Nothing => {}
        }
    }

    fn append(&mut self, mut other: Self) {
        self.candidates.append(&mut other.candidates);
        self.ignored.append(&mut other.ignored);
        self.notes.append(&mut other.notes);
        self.groups.append(&mut other.groups);
    }
}

/// One of the threads that probe.
struct Worker {
    /// The root, opened by this worker: every look through a descriptor that threads share moves its
    /// counter from core to core, which was a fortieth of a listing.
    root: Option<Dir>,
    scratch: Scratch,
    probed: Probed,
}

impl Walk<'_> {
    /// Probes the directories that `feed` gives, while it still gives some.
    pub(super) fn probe_all(
        &self,
        root: &Dir,
        feed: impl FnOnce(&mut parallel::Feed<'_, Probe>),
    ) -> Probed {
        // Starting a thread costs as much as looking at a few dozen directories.
        const LEAST: usize = 64;
        let start = || Worker {
            root: root.open_below(Path::new("."), Links::Follow).ok(),
            scratch: Scratch::default(),
            // Room that is not used costs nothing; growing through ever larger blocks of fresh memory
            // does. Blocks of more than 64 KiB stand alone: the allocator puts smaller ones into half a
            // megabyte each, of which the system then clears whole pages of two.
            probed: Probed { candidates: Vec::with_capacity(2048), ..Probed::default() },
        };
        let at_once = Dir::heads_at_once(parallel::cores());
        let task = |worker: &mut Worker, probes: Vec<Probe>| {
            let root = worker.root.as_ref().unwrap_or(root);
            let mut outcomes = Vec::with_capacity(probes.len());
            for probes in probes.chunks(at_once) {
                self.read_all(root, probes, &mut worker.scratch, "SKILL.md", &mut outcomes);
            }
            for (probe, outcome) in probes.into_iter().zip(outcomes) {
                worker.probed.add(probe.directory, outcome);
            }
        };
        let mut workers = parallel::spread(feed, LEAST, start, task).into_iter();
        let mut all = workers.next().map_or_else(Probed::default, |worker| worker.probed);
        workers.for_each(|worker| all.append(worker.probed));
        all
    }

    pub(super) fn read(
        &self,
        root: &Dir,
        probe: &Probe,
        scratch: &mut Scratch,
        name: &str,
    ) -> Outcome {
        let mut outcomes = Vec::with_capacity(1);
        self.read_all(root, std::slice::from_ref(probe), scratch, name, &mut outcomes);
        outcomes.pop().unwrap_or(Outcome::Nothing)
    }

    /// What each of `probes` is. All heads are read before the first is judged: reading and judging
    /// in turns, each finds the processor's caches full of the other's code.
    fn read_all(
        &self,
        root: &Dir,
        probes: &[Probe],
        scratch: &mut Scratch,
        name: &str,
        outcomes: &mut Vec<Outcome>,
    ) {
        scratch.aim_at(probes, name);
        let Scratch { paths, buffers, fences } = scratch;
        let enough = |at: usize, bytes: &[u8]| {
            let found = fence::find(bytes, Complete::No);
            let is_enough = found != Fence::Open;
            fences[at] = (found, bytes.len());
            is_enough
        };
        let limit = self.options.limits.frontmatter_bytes;
        let paths = &paths[..probes.len()];
        let heads = root.read_heads(paths, self.options.links, limit, buffers, enough);
        for (at, (probe, head)) in probes.iter().zip(heads).enumerate() {
            let bytes = buffers[at].bytes();
            // A file that changed was read again, and may have become empty: no one looked at that.
            let (found, looked_at) = std::mem::replace(&mut fences[at], (Fence::Open, 0));
            let found = if looked_at == bytes.len() { found } else { Fence::Open };
            outcomes.push(self.outcome(probe, name, head, bytes, found));
        }
    }

    fn outcome(
        &self,
        probe: &Probe,
        name: &str,
        head: Result<Stamp, HeadError>,
        bytes: &[u8],
        found: Fence,
    ) -> Outcome {
        match head {
            Ok(stamp) => {
                let parsed = self.judge(&probe.directory, bytes, found);
                Outcome::Skill(self.found(probe, parsed, &stamp))
            }
            Err(HeadError::Missing) => Outcome::Group,
            Err(HeadError::NotADirectory) => Outcome::Nothing,
            Err(HeadError::NotRegular) => {
                let message = format!("`{name}` is not a regular file");
                self.failed(probe, Code::FileNotRegular, message)
            }
            Err(HeadError::Changing) => {
                let message = format!("`{name}` changed while it was being read");
                self.failed(probe, Code::FileChanging, message)
            }
            Err(HeadError::Io(error)) => self.refused(probe, name, &error),
            Err(other) => Outcome::Note(Code::FileUnreadable, format!("{other:?}")),
        }
    }

    /// A refusal is about the directory when that cannot be entered, else about the file.
    fn refused(&self, probe: &Probe, name: &str, error: &io::Error) -> Outcome {
        if is_link_loop(error) && self.options.links == Links::Refuse {
            let message = format!("`{name}` is a link and was not followed");
            return Outcome::Note(Code::LinkNotFollowed, message);
        }
        if is_link_loop(error) {
            return Outcome::Note(Code::LinkCycle, "the link points back to itself".to_owned());
        }
        let enters = Dir::open(&self.root.join(&probe.directory)).is_ok_and(|dir| {
            !matches!(dir.stamp_below(Path::new(name)), Err(e) if e.kind() == io::ErrorKind::PermissionDenied)
        });
        if !enters && !probe.directory.is_empty() {
            return Outcome::Note(
                Code::DirectoryUnreadable,
                format!("the directory cannot be read: {error}"),
            );
        }
        let message = format!("`{name}` cannot be read: {error}");
        self.failed(probe, Code::FileUnreadable, message)
    }

    /// The candidate, or the reason why it is none. Done by the workers, not after them: at a
    /// hundred thousand skills the order of magnitude is that of reading the files.
    fn found(&self, probe: &Probe, mut parsed: Parsed, stamp: &Stamp) -> Found {
        let path = self.path_of(&probe.directory);
        warn_of_size(&mut parsed, stamp.size);
        if let Some(reason) = parsed.reason() {
            return Err(Ignored::because(path, reason));
        }
        let WalkRoot { root, priority, switches } = self.walkable;
        let modified = stamp.modified;
        let Some(mut entry) = Entry::of(parsed, root.source, path, priority, modified, switches)
        else {
            let message = "the skill could not be read".into();
            return Err(Ignored {
                path: self.root.to_owned(),
                code: Code::YamlSyntax,
                message,
                line: None,
                column: None,
            });
        };
        entry.mark = Some(stamp.mark());
        let plugin = root.plugin.as_deref().map(Into::into);
        Ok(Candidate {
            entry: Arc::new(entry),
            file: Some(stamp.id),
            via_link: probe.via_link,
            plugin,
        })
    }

    /// The directory's whole path, in no more memory than it needs.
    fn path_of(&self, directory: &OsStr) -> PathBuf {
        let mut path = PathBuf::with_capacity(self.root.as_os_str().len() + 1 + directory.len());
        path.push(self.root);
        if !directory.is_empty() {
            path.push(directory);
        }
        path
    }

    fn failed(&self, probe: &Probe, code: Code, message: String) -> Outcome {
        let path = self.path_of(&probe.directory);
        Outcome::Skill(Err(Ignored {
            path,
            code,
            message: message.into(),
            line: None,
            column: None,
        }))
    }

    fn judge(&self, directory: &OsStr, head: &[u8], found: Fence) -> Parsed {
        let name = if directory.is_empty() {
            self.root.file_name().and_then(OsStr::to_str)
        } else {
            match directory.to_str() {
                // The walk made the path: it ends in a name.
                Some(path) => path.rsplit(is_separator).next(),
                None => Path::new(directory).file_name().and_then(OsStr::to_str),
            }
        };
        let options = ParseOptions {
            profile: self.options.profile,
            limits: self.options.limits,
            directory: name,
        };
        parse_found(head, found, &options)
    }
}

/// Where a file is too large to be loaded: its head is fine, so it is listed, with a warning; otherwise
/// loading it would be the first sign.
pub(crate) fn warn_of_size(parsed: &mut Parsed, size: u64) {
    if size > MAX_FILE_BYTES {
        let message =
            format!("the file has {size} bytes; files over {MAX_FILE_BYTES} bytes are not loaded");
        let (code, severity) = (Code::SkillUnloadable, Severity::Warning);
        parsed.diagnostics.push(Diagnostic::about_file(code, severity, message));
    }
}

/// What one worker reuses for every directory; for several that are read at once each has its place.
#[derive(Default)]
pub(super) struct Scratch {
    paths: Vec<PathBuf>,
    buffers: Vec<HeadBuffer>,
    /// What was found in how many bytes.
    fences: Vec<(Fence, usize)>,
}

impl Scratch {
    fn aim_at(&mut self, probes: &[Probe], name: &str) {
        if self.paths.len() < probes.len() {
            self.paths.resize_with(probes.len(), PathBuf::new);
            self.buffers.resize_with(probes.len(), HeadBuffer::default);
            self.fences.resize(probes.len(), (Fence::Open, 0));
        }
        for (path, probe) in self.paths.iter_mut().zip(probes) {
            path.as_mut_os_string().clear();
            path.push(&probe.directory);
            path.push(name);
        }
    }
}
