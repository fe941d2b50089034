//! Skills that do not lie in a folder: compiled into the program, or from a source of the caller's own
//! (a database, an archive, a service).
//!
//! Such a skill is its files, by path and bytes. Where the files of a skill are read, they are asked
//! for first; everything else about it is as for a skill on disk.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use metier_skill::RelPath;

/// A source of skills of the caller's own. Its skills rank like those of an explicit root.
pub trait SkillSource: Send + Sync {
    /// What the places of its skills begin with, such as `db` in `db:pdf`: one word.
    fn name(&self) -> &str;

    /// Its skills, as they are now. An error is a line in the report; it does not stop the scan.
    fn skills(&self) -> Result<Vec<MemorySkill>, String>;
}

/// A skill in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySkill {
    /// Its folder's name.
    pub folder: String,
    /// Its files.
    pub files: MemorySkillFiles,
}

impl MemorySkill {
    /// The skill in the folder `folder` with these files, by path and content. `SKILL.md` is one of
    /// them. A path that could not be a skill's on disk (`..`, absolute, hidden) is left out.
    pub fn new<P: Into<String>, B: Into<Vec<u8>>>(
        folder: impl Into<String>,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Self {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), bytes.into()));
        Self { folder: folder.into(), files: MemorySkillFiles::new(files) }
    }
}

/// The files of a skill in memory.
#[derive(Clone, PartialEq, Eq)]
pub struct MemorySkillFiles(Arc<[MemoryFile]>);

/// A path and its bytes.
type MemoryFile = (Cow<'static, str>, Cow<'static, [u8]>);

impl MemorySkillFiles {
    /// These files, by path below the skill's folder; one that has no valid path is left out, as it
    /// would be on disk.
    pub fn new<P, B>(files: impl IntoIterator<Item = (P, B)>) -> Self
    where
        P: Into<Cow<'static, str>>,
        B: Into<Cow<'static, [u8]>>,
    {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), bytes.into()));
        Self(files.filter(|(path, _)| RelPath::new(path).is_ok()).collect())
    }

    /// The files: paths and bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(path, bytes)| (&**path, &**bytes))
    }

    /// The bytes of one file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == path).map(|(_, bytes)| bytes)
    }
}

impl fmt::Debug for MemorySkillFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(path, bytes)| (path, bytes.len()))).finish()
    }
}

/// The sources of a scan, highest priority first.
#[derive(Clone, Default)]
pub struct SkillSources(pub Vec<Arc<dyn SkillSource>>);

impl fmt::Debug for SkillSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|source| source.name())).finish()
    }
}
