//! `skills.json` and `skills.lock.json`: what is wanted, and what it came to. Made to be read in a diff.
//!
//! Both are sorted and hold no times, so that two machines that install the same write the same bytes.
//! Keys that are not known are kept. A version that is not known is an error: guessing would lose data.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use metier_fs::{ReadError, read_bounded};
use metier_skill::Digest;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::error::PackError;
use crate::shipped_tree::{ShippedTree, tree_digest};
use crate::skills_in::check_folder_name;

/// The names of the two files, in the folder that holds the folder of skills.
pub(crate) const WANTED_FILE: &str = "skills.json";
pub(crate) const LOCK_FILE: &str = "skills.lock.json";
/// The largest one that is read.
const MAX_RECORD_BYTES: u64 = 64 << 20;
const VERSION: u32 = 1;

/// Where a skill came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SourceKind {
    /// A directory.
    Directory,
    /// An archive on this machine.
    Archive,
    /// A git repository.
    Git,
    /// An archive at a URL.
    Https,
    /// A host that lists its skills.
    WellKnown,
    /// An artifact of a registry.
    Oci,
}

impl SourceKind {
    /// What an error calls it.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Directory => "a directory",
            Self::Archive => "an archive",
            Self::Git => "a git repository",
            Self::Https => "an archive at a URL",
            Self::WellKnown => "a list of skills at a URL",
            Self::Oci => "an artifact of a registry",
        }
    }
}

/// `skills.lock.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillsLock {
    version: u32,
    /// The skills, by name.
    pub skills: BTreeMap<String, LockedSkill>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

/// What a skill was resolved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LockedSkill {
    /// The source, as `skills.json` has it.
    pub source: String,
    /// Its kind.
    pub kind: SourceKind,
    /// What the source was at that time: a commit, or the digest of an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// Whether the source was named by what should never mean anything else: a tag, a version, a commit or a digest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    /// The directory in the source; absent for its top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The version that the skill gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Who signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// The digest of the tree.
    pub tree: Digest,
    /// The digest of each file.
    pub files: BTreeMap<String, Digest>,
    /// The files that may be executed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executable: Vec<String>,
    /// The agents whose folders have a link to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// The skills that it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

/// `skills.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WantedSkills {
    version: u32,
    pub(crate) skills: BTreeMap<String, WantedSkill>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

/// A skill that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WantedSkill {
    pub(crate) source: String,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

impl WantedSkill {
    pub(crate) fn from_source(source: &str) -> Self {
        Self { source: source.to_owned(), other: BTreeMap::new() }
    }
}

impl LockedSkill {
    /// The record of a tree that came from `source`.
    pub(crate) fn new(
        source: &str,
        kind: SourceKind,
        resolved: Option<String>,
        tree: &ShippedTree,
    ) -> Self {
        let files = tree.files.iter();
        Self {
            source: source.to_owned(),
            kind,
            resolved,
            fixed: false,
            path: None,
            version: None,
            signer: None,
            tree: tree.digest(),
            files: files.clone().map(|file| (file.path.clone(), file.digest)).collect(),
            executable: files
                .filter(|file| file.executable)
                .map(|file| file.path.clone())
                .collect(),
            links: Vec::new(),
            requires: Vec::new(),
            other: BTreeMap::new(),
        }
    }

    /// Whether it is about this tree. Of one that contradicts itself, either half may say so: the other was edited.
    pub(crate) fn is_of(&self, tree: &ShippedTree) -> bool {
        let same_files = || {
            let files = tree.files.iter().map(|file| (&file.path, &file.digest));
            self.files.iter().eq(files)
        };
        tree.digest() == self.tree || (!self.is_consistent() && same_files())
    }

    /// Whether its digest of the tree is that of its files: a lock that was edited by hand may lie.
    pub(crate) fn is_consistent(&self) -> bool {
        let files = self.files.iter().map(|(path, digest)| {
            (path.as_str(), self.executable.iter().any(|it| it == path), *digest)
        });
        tree_digest(files) == self.tree
    }
}

/// A record with a version.
trait Versioned: Serialize + DeserializeOwned {
    fn empty() -> Self;
    fn version(&self) -> u32;
}

impl Versioned for SkillsLock {
    fn empty() -> Self {
        Self { version: VERSION, skills: BTreeMap::new(), other: BTreeMap::new() }
    }

    fn version(&self) -> u32 {
        self.version
    }
}

impl Versioned for WantedSkills {
    fn empty() -> Self {
        Self { version: VERSION, skills: BTreeMap::new(), other: BTreeMap::new() }
    }

    fn version(&self) -> u32 {
        self.version
    }
}

/// Both records of one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Records {
    pub(crate) wanted: WantedSkills,
    pub(crate) lock: SkillsLock,
}

impl Records {
    /// The records in `folder`; empty ones where there are none.
    pub(crate) fn read(folder: &Path) -> Result<Self, PackError> {
        let records =
            Self { wanted: read(&folder.join(WANTED_FILE))?, lock: read(&folder.join(LOCK_FILE))? };
        check_names(folder, WANTED_FILE, records.wanted.skills.keys())?;
        check_names(folder, LOCK_FILE, records.lock.skills.keys())?;
        Ok(records)
    }

    /// The error for a skill that is not installed.
    pub(crate) fn not_installed(&self, name: &str) -> PackError {
        let near = metier_skill::nearest(name, self.lock.skills.keys().map(String::as_str));
        PackError::NotInstalled { name: name.to_owned(), near: near.map(str::to_owned) }
    }

    /// An error where there is a lock and no `skills.json` beside it: nothing would be wanted, and everything that
    /// is installed would be uninstalled.
    pub(crate) fn check_wanted(&self, folder: &Path) -> Result<(), PackError> {
        let path = folder.join(WANTED_FILE);
        if self.lock.skills.is_empty() || metier_fs::exists(&path) {
            return Ok(());
        }
        let number = self.lock.skills.len();
        let skills = if number == 1 { "skill" } else { "skills" };
        let reason = format!("it is missing, and {LOCK_FILE} beside it names {number} {skills}");
        Err(PackError::BadRecord { path, reason })
    }

    /// Both as text: `skills.json` and `skills.lock.json`.
    pub(crate) fn to_texts(&self) -> (String, String) {
        let skills = self.wanted.skills.len().max(self.lock.skills.len());
        let files: usize = self.lock.skills.values().map(|skill| skill.files.len()).sum();
        (text(&self.wanted, 100 * skills), text(&self.lock, 600 * skills + 150 * files))
    }
}

/// They become paths, and a clone may bring the files.
fn check_names<'n>(
    folder: &Path,
    file: &str,
    mut names: impl Iterator<Item = &'n String>,
) -> Result<(), PackError> {
    match names.find(|name| check_folder_name(name).is_err()) {
        None => Ok(()),
        Some(name) => Err(PackError::BadRecord {
            path: folder.join(file),
            reason: format!("`{name}` cannot be the name of a skill's folder"),
        }),
    }
}

fn read<R: Versioned>(path: &Path) -> Result<R, PackError> {
    let bad = |reason: String| PackError::BadRecord { path: path.to_owned(), reason };
    let bytes = match read_bounded(path, MAX_RECORD_BYTES) {
        Ok(bytes) => bytes,
        // Where a plain file stands in place of an agent's folder, there are no records either.
        Err(ReadError::Io(error))
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            return Ok(R::empty());
        }
        Err(error) => return Err(bad(error.to_string())),
    };
    if let Some(at) = bytes.windows(7).position(|it| it == b"<<<<<<<") {
        let line = bytes[..at].split(|byte| *byte == b'\n').count();
        return Err(bad(format!("line {line}: it has conflicts of a merge in it")));
    }
    let record: R = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
    match record.version() {
        VERSION => Ok(record),
        other => {
            Err(bad(format!("it has version {other}, and this program knows version {VERSION}")))
        }
    }
}

/// A record as text, which may have about so many bytes: growing step by step through megabytes of fresh memory takes
/// longer than writing into them.
fn text(record: &impl Serialize, bytes: usize) -> String {
    let mut text = Vec::with_capacity(bytes);
    if serde_json::to_writer_pretty(&mut text, record).is_err() {
        text.clear();
    }
    text.push(b'\n');
    String::from_utf8(text).unwrap_or_default()
}
