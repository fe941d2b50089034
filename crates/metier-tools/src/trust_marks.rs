//! Marks of trust for a list of many skills: which content a skill has, without reading its files again.
//!
//! A list once took eight times as long where skills were trusted, because each was hashed to be compared with what was
//! trusted. What was hashed is remembered in the user's state with what every file and directory of the skill looked
//! like, and counts as long as all of them look the same. Only for people: whatever is decided is decided by the
//! bytes. The file may be removed at any time.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use metier_fs::{Dir, EntryKind, entry_kind, read_bounded, writable_by_others, write_private};
use metier_policy::{TrustStatus, TrustedFolders, UnixTime};
use metier_registry::Entry;
use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::policy_facts::{ContentError, content_digest, hashed_files, real_path, trust_status_by};

const MAX_BYTES: u64 = 64 << 20;
/// What has another meaning is not read.
const VERSION: u32 = 2;
/// Two changes within the steps of a file system's clock look the same. The coarsest in use are of two seconds.
const CLOCK_STEP: i64 = 2;

/// Whether skills are trusted, for a list of them.
#[derive(Debug)]
pub struct TrustMarks {
    trusted: TrustedFolders,
    /// Where it is remembered.
    file: Option<PathBuf>,
    known: HashMap<String, KnownContent>,
    /// What was hashed meanwhile.
    hashed: Mutex<HashMap<String, KnownContent>>,
    /// Folders that hold skills, without links: most skills are beside each other.
    real_parents: Mutex<HashMap<PathBuf, PathBuf>>,
    now: UnixTime,
}

/// What a skill contained, and how that looked.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KnownContent {
    content: Digest,
    /// One digest over how they looked.
    looked: Digest,
    /// Its directories, its files, and what was left out, one a line: thousands of texts take longer to read than one.
    entries: String,
}

#[derive(Serialize, Deserialize)]
struct KnownFile<K> {
    version: u32,
    /// By the skills' directories, without links.
    skills: K,
}

impl TrustMarks {
    /// What is remembered, in the state folder. Its mode is judged, and so never corrected in passing.
    pub const FILE: &str = "contents.json";

    /// By these records alone: what they are about is hashed.
    pub fn new(trusted: TrustedFolders) -> Self {
        let (known, hashed, real_parents) = (HashMap::new(), Mutex::default(), Mutex::default());
        Self { trusted, file: None, known, hashed, real_parents, now: UnixTime(0) }
    }

    /// By these records, and what is remembered in the state folder; it is now `now`.
    pub fn in_state(trusted: TrustedFolders, state: &Path, now: UnixTime) -> Self {
        let mut marks = Self { now, ..Self::new(trusted) };
        if marks.trusted.iter().next().is_some() {
            let file = state.join(Self::FILE);
            marks.known = read(&file).unwrap_or_default();
            marks.file = Some(file);
        }
        marks
    }

    /// Whether a skill is trusted.
    pub fn of(&self, entry: &Entry) -> TrustStatus {
        let real = || self.real_path(&entry.path);
        trust_status_by(entry, &self.trusted, real, |real| self.digest(real, entry))
    }

    /// The directory of a skill without links. Its parent is resolved once for all that are in it.
    fn real_path(&self, dir: &Path) -> PathBuf {
        let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
            return real_path(dir);
        };
        if entry_kind(dir) != Some(EntryKind::Directory) {
            return real_path(dir);
        }
        let mut known = self.real_parents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(real) = known.get(parent) {
            return real.join(name);
        }
        let real = real_path(parent);
        known.entry(parent.to_owned()).or_insert(real).join(name)
    }

    fn digest(&self, real: &Path, entry: &Entry) -> Result<Digest, ContentError> {
        let on_disk = self.file.is_some() && entry.memory.is_none();
        let Some(real) = real.to_str().filter(|_| on_disk) else { return content_digest(entry) };
        if let Some(known) = self.known.get(real)
            && Look::of(entry, &known.entries).is_some_and(|look| look.digest == known.looked)
        {
            return Ok(known.content);
        }
        let hashed = hashed_files(entry)?;
        let content = hashed.content();
        let files = hashed.files.into_iter().map(|(path, _)| path);
        let left_out = hashed.left_out.into_iter().map(|(path, _)| path);
        let entries: Vec<String> = hashed.dirs.into_iter().chain(files).chain(left_out).collect();
        let has_lines = entries.iter().any(|entry| entry.contains('\n'));
        let entries = entries.join("\n");
        // What changed while it was hashed, or just before, could change again and look the same.
        let before = i64::try_from(self.now.0).unwrap_or(0).saturating_sub(CLOCK_STEP);
        let settled = Look::of(entry, &entries)
            .filter(|look| !has_lines && look.changed < before.saturating_mul(1_000_000_000));
        if let Some(look) = settled {
            let known = KnownContent { content, looked: look.digest, entries };
            let mut hashed = self.hashed.lock().unwrap_or_else(PoisonError::into_inner);
            hashed.insert(real.to_owned(), known);
        }
        Ok(content)
    }

    /// Remembers what was hashed, and forgets what is trusted no more. That it cannot be written only costs time.
    pub fn remember(&self) {
        let mut hashed = self.hashed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = self.file.as_ref().filter(|_| !hashed.is_empty()) else { return };
        let trusted: Vec<String> = self
            .trusted
            .iter()
            .flat_map(|record| {
                let folder = Path::new(record.folder.as_str());
                record.skills.keys().map(move |path| folder.join(path))
            })
            .filter_map(|path| path.to_str().map(str::to_owned))
            .collect();
        let mut skills = BTreeMap::new();
        for path in trusted {
            let known = hashed.remove(&path).or_else(|| self.known.get(&path).cloned());
            skills.extend(known.map(|known| (path, known)));
        }
        hashed.clear();
        if let Ok(bytes) = serde_json::to_vec(&KnownFile { version: VERSION, skills }) {
            let _ = write_private(file, &bytes);
        }
    }
}

/// What is remembered; nothing where other accounts could have written it.
fn read(file: &Path) -> Option<HashMap<String, KnownContent>> {
    if writable_by_others(file).is_some() {
        return None;
    }
    let bytes = read_bounded(file, MAX_BYTES).ok()?;
    let read: KnownFile<HashMap<String, KnownContent>> = serde_json::from_slice(&bytes).ok()?;
    (read.version == VERSION).then_some(read.skills)
}

/// How the entries of a skill look.
struct Look {
    digest: Digest,
    /// When one of them changed last, in nanoseconds since the epoch.
    changed: i64,
}

impl Look {
    /// `None` where one is not there, where the system keeps no time of changes that a program cannot set, or where
    /// `SKILL.md` is not the one that the index has.
    fn of(entry: &Entry, entries: &str) -> Option<Self> {
        let file = entry.file();
        let name = file.file_name()?.to_str()?;
        let dir = Dir::open(&entry.path).ok()?;
        let mut bytes = Vec::with_capacity(8 * entries.len());
        let (mut changed, mut is_indexed) = (0, false);
        for path in entries.split('\n') {
            let at = if path.is_empty() { Path::new(".") } else { Path::new(path) };
            let stamp = dir.entry_stamp(at).ok().filter(|stamp| stamp.changed > 0)?;
            changed = changed.max(stamp.changed);
            is_indexed |= path == name && entry.mark == Some(stamp.mark());
            for part in [
                stamp.id.device,
                stamp.id.inode,
                stamp.size,
                u64::from(stamp.links),
                stamp.modified.cast_unsigned(),
                stamp.changed.cast_unsigned(),
            ] {
                bytes.extend_from_slice(&part.to_le_bytes());
            }
        }
        is_indexed.then(|| Self { digest: Digest::of(&bytes), changed })
    }
}
