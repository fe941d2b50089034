//! Where a skill's files are: a directory that is held open, or the program itself.
//!
//! The loader knows only this trait, so that compiled-in skills and those of other sources are read
//! by the same code, under the same limits.

use metier_fs::{RootError, SkillRoot};
use metier_skill::RelPath;

/// A skill's files.
pub trait SkillFiles {
    /// The bytes of one file, if it has at most `limit`.
    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, RootError>;
}

impl SkillFiles for SkillRoot {
    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, RootError> {
        Self::read(self, path, limit)
    }
}

/// Files that are in memory: paths and bytes.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles(pub Vec<(String, Vec<u8>)>);

impl SkillFiles for MemoryFiles {
    fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, RootError> {
        let found = self.0.iter().find(|(known, _)| known == path.as_str());
        let (_, bytes) = found.ok_or(RootError::Missing)?;
        if bytes.len() as u64 > limit {
            return Err(RootError::TooLarge(limit));
        }
        Ok(bytes.clone())
    }
}
