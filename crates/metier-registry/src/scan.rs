//! All roots together: walk, judge, decide, account. And the registry that pins what it found.
//!
//! Total: whatever is on disk, a scan gives an index and a report.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use metier_fs::{FileId, Links, TreeFile, TreeLimits, list_files, same_tree};
use metier_skill::{Code, Limits, Profile, Source};

use crate::builtin::builtin_skills;
use crate::changes::{Change, changes};
use crate::holds_root::refuse_holders;
use crate::index::{Index, SwitchedSkill};
use crate::memory::{MemorySkill, SkillSource, SkillSources, is_place, judge};
use crate::precedence::{Candidate, Disk, decide};
use crate::report::{Ignored, RootReport, RootState, ScanReport};
use crate::roots::Root;
use crate::walk::{WalkOptions, WalkRoot, Walked, walk};

/// Bytes of skills that are compared to tell copies from rivals, in one scan.
const MAX_COMPARED_BYTES: u64 = 256 << 20;

/// Characters of a note whose words are a caller's own.
const MAX_NOTE_CHARS: usize = 500;

/// How to scan.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// Which faults keep a skill out.
    pub profile: Profile,
    /// Bounds on what is read of a skill.
    pub limits: Limits,
    /// Whether links are followed.
    pub follow_links: bool,
    /// Levels of directories below a root.
    pub max_depth: usize,
    /// Directory entries below a root.
    pub max_entries: usize,
    /// Skills that are switched on or off.
    pub switches: Vec<SwitchedSkill>,
    /// Whether the compiled-in skills are listed.
    pub builtin: bool,
    /// Sources of the caller's own, before all roots.
    pub sources: SkillSources,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            profile: Profile::Strict,
            limits: Limits::default(),
            follow_links: true,
            max_depth: 6,
            max_entries: 1_000_000,
            switches: Vec::new(),
            builtin: true,
            sources: SkillSources::default(),
        }
    }
}

/// What a scan gave.
#[derive(Debug)]
pub struct Scan {
    /// The skills.
    pub index: Index,
    /// The account.
    pub report: ScanReport,
    /// Roots, and directories below them that are no skills.
    listed: Vec<PathBuf>,
}

impl Scan {
    /// The directories in which a change can change what is found.
    pub fn watched(&self) -> impl Iterator<Item = &Path> {
        let skills = self.index.directories().filter(|path| path.is_absolute());
        let ignored = self.report.ignored.iter().map(|line| line.path.as_path());
        self.listed.iter().map(PathBuf::as_path).chain(skills).chain(ignored)
    }
}

impl Scan {
    /// The same without any skill.
    #[must_use]
    pub fn empty(&self) -> Self {
        let index = Index::new(Vec::new(), Vec::new());
        Self { index, report: self.report.clone(), listed: self.listed.clone() }
    }

    /// The same without any skill of this name, as if none had been there. What it shadowed does not take
    /// its place: that would be another skill of the same name.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        Self {
            index: self.index.without(name),
            report: self.report.clone(),
            listed: self.listed.clone(),
        }
    }
}

/// Scans `roots`, given highest priority first. Total: whatever is on disk, there is an answer, and
/// what did not make it is in the report.
pub fn scan(roots: &[Root], options: &ScanOptions) -> Scan {
    let start = Instant::now();
    let mut builder = ScanBuilder::default();
    for (priority, source) in options.sources.0.iter().enumerate() {
        builder.add_source(priority, &**source, options);
    }
    let first = options.sources.0.len();
    for (at, root) in roots.iter().enumerate() {
        let priority = first + at;
        let walkable = WalkRoot { root, priority, switches: &options.switches };
        builder.add(walkable, walk_root(walkable, options));
    }
    if builder.has_links {
        let refused = refuse_holders(&mut builder.candidates, roots, first);
        builder.ignored.extend(refused);
    }
    if options.builtin {
        builder.add_builtin(first + roots.len(), options);
    }
    let mut disk = RealDisk { budget: MAX_COMPARED_BYTES };
    let candidates = std::mem::take(&mut builder.candidates);
    let decided = decide(candidates, &options.switches, &mut disk);
    let index = Index::new(decided.entries, decided.shadowed);
    builder.ignored.sort_by(|a, b| a.path.cmp(&b.path));
    builder.notes.sort_by(|a, b| (&a.path, a.code).cmp(&(&b.path, b.code)));
    let report = ScanReport {
        roots: builder.roots,
        found: builder.found,
        valid: builder.found - builder.ignored.len(),
        ignored: builder.ignored,
        notes: builder.notes,
        conflicts: decided.conflicts,
        truncated: builder.truncated,
        index_hash: index.hash(),
        elapsed_ms: (start.elapsed().as_secs_f64() * 1e6).round() / 1e3,
    };
    Scan { index, report, listed: builder.listed }
}

fn walk_root(walkable: WalkRoot<'_>, options: &ScanOptions) -> Walked {
    let walk_options = WalkOptions {
        links: if options.follow_links { Links::Follow } else { Links::Refuse },
        max_depth: options.max_depth,
        max_entries: options.max_entries,
        profile: options.profile,
        limits: options.limits,
    };
    walk(walkable, &walk_options)
}

/// The disk, asked a bounded number of times: each comparison costs, also one that fails.
struct RealDisk {
    budget: u64,
}

impl Disk for RealDisk {
    fn directory(&mut self, path: &Path) -> Option<FileId> {
        metier_fs::directory_id(path).ok()
    }

    fn same_tree(&mut self, a: &Path, b: &Path) -> bool {
        const MIN_BYTES: u64 = 64 << 10;
        let limits = TreeLimits { bytes: self.budget.min(8 << 20), ..TreeLimits::default() };
        if self.budget < MIN_BYTES {
            return false;
        }
        let same = same_tree(a, b, limits);
        let size = |files: &[TreeFile]| files.iter().map(|file| file.size).sum::<u64>();
        let read =
            if same { list_files(a, limits).map_or(0, |(files, _)| size(&files)) } else { 0 };
        self.budget = self.budget.saturating_sub(read.max(MIN_BYTES));
        same
    }
}

#[derive(Default)]
struct ScanBuilder {
    candidates: Vec<Candidate>,
    roots: Vec<RootReport>,
    ignored: Vec<Ignored>,
    notes: Vec<Ignored>,
    listed: Vec<PathBuf>,
    found: usize,
    truncated: bool,
    has_links: bool,
}

impl ScanBuilder {
    fn add(&mut self, WalkRoot { root, priority, .. }: WalkRoot<'_>, walked: Walked) {
        let found = walked.found();
        self.found += found;
        self.truncated |= walked.truncated;
        self.has_links |= walked.has_links;
        self.notes.extend(walked.notes);
        self.listed.push(root.path.clone());
        self.listed.extend(walked.listed);
        let refusal = match walked.state {
            RootState::Missing if root.required => {
                Some((Code::RootMissing, "the root does not exist".to_owned()))
            }
            RootState::Ok | RootState::Missing => None,
            RootState::NotDirectory => {
                Some((Code::RootNotDirectory, "the root is not a directory".to_owned()))
            }
            RootState::Unreadable => {
                Some((Code::RootUnreadable, "the root cannot be read".to_owned()))
            }
            RootState::Foreign => {
                let access = root.foreign.as_ref().map(ToString::to_string);
                Some((Code::RootForeign, format!("not searched: {}", access.unwrap_or_default())))
            }
        };
        if let Some((code, message)) = refusal {
            let path = root.path.clone();
            self.notes.push(Ignored {
                path,
                code,
                message: message.into(),
                line: None,
                column: None,
            });
        }
        if walked.state != RootState::Missing || root.required {
            self.roots.push(RootReport {
                source: root.source,
                path: root.path.clone(),
                priority,
                state: walked.state,
                found,
                plugin: root.plugin.clone(),
            });
        }
        self.ignored.extend(walked.ignored);
        if self.candidates.is_empty() {
            self.candidates = walked.candidates;
        } else {
            self.candidates.extend(walked.candidates);
        }
    }

    fn add_builtin(&mut self, priority: usize, options: &ScanOptions) {
        self.add_memory("builtin", Source::Builtin, priority, builtin_skills(), options);
    }

    /// The skills of a caller's own source; where they cannot be had, that is noted.
    fn add_source(&mut self, priority: usize, source: &dyn SkillSource, options: &ScanOptions) {
        let place = source.name();
        if !is_place(place) {
            let message = "the source's name is not one word, so it is not searched";
            return self.note(format!("{place}:").into(), Code::RootUnreadable, message);
        }
        let mut skills = source.skills().unwrap_or_else(|reason| {
            self.note(format!("{place}:").into(), Code::RootUnreadable, &reason);
            Vec::new()
        });
        if skills.len() > options.max_entries {
            skills.truncate(options.max_entries);
            self.truncated = true;
            let message = format!("more than {} skills in this source", options.max_entries);
            self.note(format!("{place}:").into(), Code::WalkTooMany, &message);
        }
        // A folder is there once; of two in a source the first counts.
        let mut folders = HashSet::new();
        let (first, again) =
            skills.into_iter().partition::<Vec<_>, _>(|skill| folders.insert(skill.folder.clone()));
        for MemorySkill { folder, .. } in again {
            let message = format!("the source has more than one folder {folder:?}");
            self.note(format!("{place}:").into(), Code::FilePathInvalid, &message);
        }
        self.add_memory(place, Source::Explicit, priority, first.into_iter(), options);
    }

    fn note(&mut self, path: PathBuf, code: Code, message: &str) {
        let message = metier_skill::text::short_line(message, MAX_NOTE_CHARS).into();
        self.notes.push(Ignored { path, code, message, line: None, column: None });
    }

    fn add_memory(
        &mut self,
        place: &str,
        source: Source,
        priority: usize,
        skills: impl Iterator<Item = MemorySkill>,
        options: &ScanOptions,
    ) {
        let before = self.found;
        for skill in skills {
            self.found += 1;
            match judge(skill, place, source, priority, options) {
                Ok(candidate) => self.candidates.push(candidate),
                Err(ignored) => self.ignored.push(ignored),
            }
        }
        self.roots.push(RootReport {
            source,
            path: PathBuf::from(format!("{place}:")),
            priority,
            state: RootState::Ok,
            found: self.found - before,
            plugin: None,
        });
    }
}

/// The skills of a program that runs for a while: pinned snapshots, refreshed when asked.
pub struct Registry {
    roots: Box<dyn Fn() -> Vec<Root> + Send + Sync>,
    options: ScanOptions,
    current: Mutex<Arc<Scan>>,
}

impl Registry {
    /// Scans for the first time. `roots` is asked again at each refresh, since folders come and go.
    pub fn open(
        roots: impl Fn() -> Vec<Root> + Send + Sync + 'static,
        options: ScanOptions,
    ) -> Self {
        let first = scan(&roots(), &options);
        Self { roots: Box::new(roots), options, current: Mutex::new(Arc::new(first)) }
    }

    /// What the last scan found. It never changes under its holder.
    pub fn snapshot(&self) -> Arc<Scan> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Scans again, and tells what changed. Holders of older snapshots keep what they have.
    pub fn refresh(&self) -> (Arc<Scan>, Vec<Change>) {
        let new = Arc::new(scan(&(self.roots)(), &self.options));
        let old = {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, new.clone())
        };
        let changed = changes(&old.index, &new.index);
        (new, changed)
    }
}
