//! The run's own folder: a private copy of the skill's files, and a fresh working directory.
//!
//! The copy is what makes "the approved bytes" true. Each file is read once, from a descriptor, and
//! its digest is taken of the bytes that are written to the copy; the script runs from the copy. So a
//! swap of the script, or of a module beside it that it imports, gains nothing after the approval,
//! and hard links into other people's files do not come along. In the run the copy is read-only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier_fs::SkillRoot;
use metier_skill::{Digest, RelPath};

use crate::error::Error;

/// How much of a skill is copied.
#[derive(Debug, Clone, Copy)]
pub struct StageLimits {
    /// The most files.
    pub files: usize,
    /// The most bytes in all of them.
    pub bytes: u64,
}

impl StageLimits {
    /// The limits that every run uses.
    pub const DEFAULT: Self = Self { files: 5_000, bytes: 256 << 20 };
}

impl Default for StageLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The folder of one run.
#[derive(Debug)]
pub struct Stage {
    /// The copy of the skill: the script's `SKILL_DIR`.
    pub skill_dir: PathBuf,
    /// Where the script runs and may write: its home.
    pub work_dir: PathBuf,
    /// What the script leaves here is kept with the run.
    pub outputs: PathBuf,
    /// Files of the skill that were left out, with the reason: links, special files, hidden files.
    pub left_out: Vec<(String, String)>,
    digests: BTreeMap<String, Digest>,
}

impl Stage {
    /// Copies the skill below `into`, which is made and must not exist yet.
    pub fn prepare(skill: &SkillRoot, into: &Path, limits: StageLimits) -> Result<Self, Error> {
        let doing = || format!("preparing the run in {}", into.display());
        if metier_fs::exists(into) {
            let reason = format!("the folder of the run, {}, is there already", into.display());
            return Err(Error::Plan { reason });
        }
        if into.starts_with(skill.path()) {
            let reason = format!("the folder of the run, {}, lies in the skill", into.display());
            return Err(Error::Plan { reason });
        }
        metier_fs::create_private_dir(into).map_err(Error::io(doing()))?;
        let into = metier_fs::canonical(into).map_err(Error::io(doing()))?;
        let (skill_dir, work_dir) = (into.join("skill"), into.join("work"));
        let outputs = work_dir.join("outputs");
        for dir in [&skill_dir, &outputs, &work_dir.join("tmp")] {
            metier_fs::create_private_dir(dir).map_err(Error::io(doing()))?;
        }
        let copy_limits = metier_fs::CopyLimits { files: limits.files, bytes: limits.bytes };
        let copied = metier_fs::copy_skill(skill, &skill_dir, copy_limits)
            .map_err(|error| Error::Skill { path: error.path, message: error.message })?;
        let digests = copied.files.into_iter().collect();
        Ok(Self { skill_dir, work_dir, outputs, left_out: copied.left_out, digests })
    }

    /// The digest of a file, as it was copied.
    pub fn digest_of(&self, path: &RelPath) -> Option<Digest> {
        self.digests.get(path.as_str()).copied()
    }

    /// Every file that was copied, with its digest, sorted by path: what a digest of the whole tree
    /// is made from.
    pub fn digests(&self) -> impl Iterator<Item = (&str, Digest)> {
        self.digests.iter().map(|(path, digest)| (path.as_str(), *digest))
    }

    /// Where the script is in the copy, if it is the one that was approved.
    pub fn approved(&self, script: &RelPath, approved: Digest) -> Result<PathBuf, Error> {
        let named = script.as_str().to_owned();
        match self.digest_of(script) {
            None => {
                let message = "it is not there, or cannot be copied".to_owned();
                Err(Error::Skill { path: named, message })
            }
            Some(found) if found != approved => {
                Err(Error::ScriptChanged { script: named, found, approved })
            }
            Some(_) => Ok(self.skill_dir.join(script.as_str())),
        }
    }
}
