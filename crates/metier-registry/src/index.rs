//! The immutable, sorted, hashed result of a scan.
//!
//! A run pins one index; a refresh makes a new one. The hash covers what a model can see and what
//! is enforced, and neither times nor absolute paths, so that the same skills give the same hash on
//! another machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_fs::FileMark;
use metier_skill::{Code, Diagnostic, Digest, Parsed, Skill, SkillId, SkillName, Source, Value};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::memory::MemorySkillFiles;
use crate::parallel;
use crate::report::path_text;

/// A skill and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its frontmatter. The name is qualified (`plugin:name`) where a plugin's skill clashes.
    pub skill: Skill,
    /// Where it comes from.
    pub source: Source,
    /// Its directory; `builtin:NAME` for a compiled-in one, `SOURCE:NAME` for one of a
    /// [`crate::SkillSource`].
    pub path: PathBuf,
    /// Other directories that hold the same skill: links to it, or byte-identical copies.
    pub copies: Box<[Duplicate]>,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Whether the project's configuration switched it off.
    pub(crate) off_by_project: bool,
    /// The digest of the frontmatter as read.
    pub digest: Digest,
    /// What is wrong with it.
    pub diagnostics: Box<[Diagnostic]>,
    /// When its `SKILL.md` was modified, in nanoseconds since the epoch.
    pub modified: i64,
    /// What its `SKILL.md` looked like; nothing where it does not lie in a folder.
    pub mark: Option<FileMark>,
    /// The rank of its root.
    pub priority: usize,
    /// Its files, where it does not lie in a folder.
    pub memory: Option<MemorySkillFiles>,
    /// What a model can see and what is enforced, as one digest: its part of the index's hash. Made
    /// by the worker that read the skill; who changes a field of it seals the entry again.
    pub(crate) leaf: Digest,
}

impl Entry {
    /// The entry of a skill that was read; `None` when it is none. Of `switches` an id is more precise
    /// than a name, and a later one counts more than an earlier.
    pub(crate) fn of(
        parsed: Parsed,
        source: Source,
        path: PathBuf,
        priority: usize,
        modified: i64,
        switches: &[SwitchedSkill],
    ) -> Option<Self> {
        let mut entry = Self {
            skill: parsed.skill?,
            source,
            path,
            copies: Box::default(),
            enabled: true,
            off_by_project: false,
            digest: parsed.digest,
            diagnostics: parsed.diagnostics.into(),
            modified,
            mark: None,
            priority,
            memory: None,
            leaf: parsed.digest,
        };
        entry.switch(switches);
        entry.seal();
        Some(entry)
    }

    /// Switches the entry on or off. To be sealed afterwards.
    pub(crate) fn switch(&mut self, switches: &[SwitchedSkill]) {
        if switches.is_empty() {
            return;
        }
        let id = self.id().to_string();
        let name = self.skill.name.as_str();
        // A skill called `user:pdf` is not what a line about the user's `pdf` means.
        let name = Some(name).filter(|name| name.parse::<SkillId>().is_err());
        for wanted in name.into_iter().chain([id.as_str()]) {
            if let Some(switch) = switches.iter().rev().find(|switch| switch.key == wanted) {
                self.enabled = switch.enabled;
                self.off_by_project = switch.off_by_project;
            }
        }
    }

    /// Whether it gives way to others of its name: it is off, and it was not the project that switched off
    /// a skill of another source. In that case nothing takes its place, since the project may mean the
    /// name, and what would take over is what the project cannot have seen.
    pub(crate) fn gives_way(&self) -> bool {
        !self.enabled && (!self.off_by_project || self.source == Source::Project)
    }

    /// Whether its folder has its name: `pdf/` for `pdf`, `org/pdf` and `plugin:pdf`.
    pub fn has_own_folder(&self) -> bool {
        let name = self.skill.name.as_str();
        let last = name.rsplit(['/', ':']).next().unwrap_or(name);
        let folder = self.path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        // `db:pdf` is a folder of a source in memory.
        let folder = match &self.memory {
            Some(_) => folder.split_once(':').map_or(folder, |(_, folder)| folder),
            None => folder,
        };
        folder == last
    }

    /// Its id: `source:name`.
    pub fn id(&self) -> SkillId {
        SkillId { source: self.source, name: self.skill.name.clone() }
    }

    /// Its name.
    pub fn name(&self) -> &SkillName {
        &self.skill.name
    }

    /// Its `SKILL.md`, or `skill.md` where it is called so.
    pub fn file(&self) -> PathBuf {
        // The walk says so in every profile that finds skills; nothing else has to be remembered.
        let lower = self.diagnostics.iter().any(|found| found.code == Code::FileNameCase);
        self.path.join(if lower { "skill.md" } else { "SKILL.md" })
    }

    /// Makes the entry's part of the index's hash.
    pub(crate) fn seal(&mut self) {
        let controls = &self.skill.controls;
        let switches = [
            u8::from(controls.disable_model_invocation),
            u8::from(controls.user_invocable),
            u8::from(controls.allowed_tools.is_some()),
            u8::from(self.enabled),
        ];
        let fixed = [
            self.skill.name.as_str().as_bytes(),
            self.source.as_str().as_bytes(),
            self.skill.description.as_bytes(),
            controls.run_mode.as_str().as_bytes(),
            switches.as_slice(),
        ];
        let tools = controls.allowed_tools.iter().flat_map(|tools| tools.iter());
        let globs = self.skill.details().paths.iter();
        let counts = [tools.clone().count() as u64, globs.len() as u64].map(u64::to_le_bytes);
        self.leaf = Digest::of_parts(
            fixed
                .into_iter()
                .chain(counts.iter().map(<[u8; 8]>::as_slice))
                .chain(tools.chain(globs).map(|text| text.as_bytes())),
        );
    }
}

/// What the configuration says about a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedSkill {
    /// Its id, or the name of all that have it.
    pub key: String,
    /// Whether it is used.
    pub enabled: bool,
    /// Whether the project's own configuration says that it is not.
    pub off_by_project: bool,
}

/// Another place of a skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Duplicate {
    /// The directory.
    #[serde(serialize_with = "path_text")]
    pub path: PathBuf,
    /// Where it would come from.
    pub source: Source,
}

/// All skills of a scan: the ones that count, by name, and the ones they shadow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    entries: Vec<Arc<Entry>>,
    shadowed: Vec<Arc<Entry>>,
    hash: Digest,
}

impl Index {
    /// An index of `entries` (one a name) and the ones they shadow.
    pub(crate) fn new(mut entries: Vec<Arc<Entry>>, mut shadowed: Vec<Arc<Entry>>) -> Self {
        let order = |a: &Arc<Entry>, b: &Arc<Entry>| {
            (a.skill.name.as_str(), a.source, a.priority, &a.path).cmp(&(
                b.skill.name.as_str(),
                b.source,
                b.priority,
                &b.path,
            ))
        };
        parallel::sort_by(&mut entries, order);
        // Inside a source in the order of precedence, which is the order of `source:name#2`.
        shadowed.sort_by(|a, b| {
            let key = |e: &Entry| {
                (e.source, e.priority, !e.has_own_folder(), std::cmp::Reverse(e.modified))
            };
            a.skill
                .name
                .cmp(&b.skill.name)
                .then_with(|| key(a).cmp(&key(b)))
                .then_with(|| a.path.cmp(&b.path))
        });
        let hash = Digest::of_all(entries.iter().map(|entry| &entry.leaf));
        Self { entries, shadowed, hash }
    }

    /// The same without the skills of this name.
    pub(crate) fn without(&self, name: &str) -> Self {
        let others = |entries: &[Arc<Entry>]| -> Vec<Arc<Entry>> {
            entries.iter().filter(|entry| entry.name().as_str() != name).cloned().collect()
        };
        Self::new(others(&self.entries), others(&self.shadowed))
    }

    /// The skills that count, sorted by name; no name stands twice.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The skills that others of the same name shadow.
    pub fn shadowed(&self) -> &[Arc<Entry>] {
        &self.shadowed
    }

    /// The hash over what a model can see and what is enforced.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// The skill that `query` means: `source:name` or `name@source`, else a name. Of several skills
    /// with one id the best answers; `source:name#2` means the next. An id comes before a name, so
    /// that no skill can pose as another by calling itself `user:pdf`.
    pub fn find(&self, query: &str) -> Option<&Entry> {
        self.find_id(query).or_else(|| self.find_name(query))
    }

    fn find_name(&self, name: &str) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.skill.name.as_str().cmp(name)).ok()?;
        Some(&self.entries[at])
    }

    /// A rank comes before a name that ends in one: of two skills in one source the second must
    /// stay reachable, whatever a third calls itself.
    fn find_id(&self, query: &str) -> Option<&Entry> {
        let ranked = query.rsplit_once('#').and_then(|(id, rank)| {
            let rank = rank.parse::<usize>().ok()?.checked_sub(1)?;
            self.find_rank(id, rank)
        });
        ranked.or_else(|| self.find_rank(query, 0))
    }

    fn find_rank(&self, query: &str, rank: usize) -> Option<&Entry> {
        let id: SkillId = query.parse().ok()?;
        let here = |entry: &Entry| {
            entry.source == id.source || entry.copies.iter().any(|copy| copy.source == id.source)
        };
        let winner = self.find_name(id.name.as_str());
        // They are sorted by name: in a large collection every third one is asked for by its rank.
        let first = self.shadowed.partition_point(|entry| entry.skill.name < id.name);
        let losers = self.shadowed[first..].iter().map(|entry| &**entry);
        let named =
            winner.into_iter().chain(losers.take_while(|entry| entry.skill.name == id.name));
        named.filter(|entry| here(entry)).nth(rank)
    }

    /// Every directory that holds a skill of this index.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        let own = self.entries.iter().chain(&self.shadowed);
        own.flat_map(|entry| {
            std::iter::once(entry.path.as_path())
                .chain(entry.copies.iter().map(|copy| copy.path.as_path()))
        })
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Entry", 11)?;
        out.serialize_field("id", &IdText(self))?;
        out.serialize_field("name", &self.skill.name)?;
        out.serialize_field("description", &self.skill.description)?;
        out.serialize_field("source", &self.source)?;
        out.serialize_field("path", &PathText(&self.path))?;
        if !self.copies.is_empty() {
            out.serialize_field("copies", &self.copies)?;
        }
        out.serialize_field("controls", &self.skill.controls)?;
        out.serialize_field("meta", &Meta(&self.skill))?;
        out.serialize_field("enabled", &self.enabled)?;
        out.serialize_field("digest", &self.digest)?;
        out.serialize_field("diagnostics", &self.diagnostics)?;
        out.end()
    }
}

struct IdText<'a>(&'a Entry);

impl Serialize for IdText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!(
            "{}:{}",
            self.0.source.as_str(),
            self.0.skill.name.as_str()
        ))
    }
}

struct PathText<'a>(&'a Path);

impl Serialize for PathText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        path_text(self.0, serializer)
    }
}

/// The fields that neither a model sees nor anything enforces.
struct Meta<'a>(&'a Skill);

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let details = self.0.details();
        let mut out = serializer.serialize_map(None)?;
        for (key, value) in details.texts() {
            if let Some(text) = value {
                out.serialize_entry(key, text)?;
            }
        }
        if !details.paths.is_empty() {
            out.serialize_entry("paths", &details.paths)?;
        }
        if !details.metadata.is_empty() {
            out.serialize_entry("metadata", &Fields(&details.metadata))?;
        }
        if !details.unknown.is_empty() {
            out.serialize_entry("unknown", &Fields(&details.unknown))?;
        }
        out.end()
    }
}

pub(crate) struct Fields<'a>(pub(crate) &'a [(Box<str>, Value)]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
