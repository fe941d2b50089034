//! Where the bytes of a tree go: into a staging directory, or nowhere, and in any case into digests.
//!
//! Every source of skills ends here, so that a plan is made of the very bytes that were written.

use std::fs::File;
use std::io::{self, Write};

use metier_fs::{NewFileMode, TreeWriter};
use metier_skill::{Digest, MAX_FILE_BYTES, Profile};
use sha2::{Digest as _, Sha256};

use crate::facts::{SKILL_FILE, read_facts};
use crate::shipped_tree::ShippedFile;

/// The directory inside a staging directory that holds the tree.
pub(crate) const TREE_DIR: &str = "tree";

/// Where a tree goes.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    staging: Option<&'a TreeWriter>,
    profile: Profile,
}

impl<'a> Outgoing<'a> {
    /// Into `staging`, judged under `profile`.
    pub fn into_staging(staging: &'a TreeWriter, profile: Profile) -> Self {
        Self { staging: Some(staging), profile }
    }

    /// Nowhere: only digests are made.
    pub const fn nowhere(profile: Profile) -> Self {
        Self { staging: None, profile }
    }

    /// Makes the directories, which come outermost first, and the one that holds them.
    pub(crate) fn make_dirs<'d>(&self, dirs: impl Iterator<Item = &'d str>) -> io::Result<()> {
        let Some(staging) = self.staging else { return Ok(()) };
        staging.make_dir(TREE_DIR)?;
        for dir in dirs {
            staging.make_dir(&format!("{TREE_DIR}/{dir}"))?;
        }
        Ok(())
    }

    /// Makes one more directory, whose parent is there. One that is there already is fine.
    pub(crate) fn make_dir(&self, dir: &str) -> io::Result<()> {
        let Some(staging) = self.staging else { return Ok(()) };
        match staging.make_dir(&format!("{TREE_DIR}/{dir}")) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    /// Begins the file at `path`.
    pub(crate) fn begin(&self, path: &str, executable: bool) -> io::Result<OutgoingFile> {
        let mode = if executable { NewFileMode::Executable } else { NewFileMode::Plain };
        let file = match self.staging {
            Some(staging) => Some(staging.make_file(&format!("{TREE_DIR}/{path}"), mode)?),
            None => None,
        };
        let is_manual = path.rsplit('/').next() == Some(SKILL_FILE);
        Ok(OutgoingFile {
            path: path.to_owned(),
            executable,
            file,
            hasher: Sha256::new(),
            size: 0,
            manual: is_manual.then(Vec::new),
            profile: self.profile,
        })
    }
}

/// A file that is being written.
pub(crate) struct OutgoingFile {
    path: String,
    executable: bool,
    file: Option<File>,
    hasher: Sha256,
    size: u64,
    /// The bytes of a `SKILL.md`, as far as it may have any.
    manual: Option<Vec<u8>>,
    profile: Profile,
}

impl OutgoingFile {
    pub(crate) fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.hasher.update(chunk);
        self.size += chunk.len() as u64;
        if let Some(manual) = &mut self.manual {
            let room = usize::try_from(MAX_FILE_BYTES).unwrap_or(0).saturating_sub(manual.len());
            manual.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        match &mut self.file {
            Some(file) => file.write_all(chunk),
            None => Ok(()),
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn finish(self) -> ShippedFile {
        ShippedFile {
            facts: self.manual.map(|bytes| Box::new(read_facts(&bytes, self.profile))),
            path: self.path,
            size: self.size,
            executable: self.executable,
            digest: Digest::from_bytes(self.hasher.finalize().into()),
        }
    }
}
