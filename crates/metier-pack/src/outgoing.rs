//! Where the bytes of a tree go: into a staging directory, or nowhere, and in any case into digests.
//!
//! Every source of skills ends here, so that a plan is made of the very bytes that were written.

use std::fs::File;
use std::io::{self, Write};

use metier_fs::{NewFileMode, TreeWriter};
use metier_sign::OMS_FILE;
use metier_skill::{Digest, MAX_FILE_BYTES, Profile};
use sha2::{Digest as _, Sha256};

use crate::facts::{SKILL_FILE, read_facts};
use crate::pack::{MANIFEST_FILE, PackManifest};
use crate::shipped_tree::ShippedFile;
use crate::signatures::MAX_BUNDLE_BYTES;

/// The most that is kept in memory of a `manifest.json`.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// Where a tree goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    /// The staging directory, and the name of the directory in it that holds the tree.
    staging: Option<(&'a TreeWriter, &'a str)>,
    profile: Profile,
}

impl<'a> Outgoing<'a> {
    /// Into the directory `dir` of `staging`, judged under `profile`.
    pub(crate) const fn into_staging(
        staging: &'a TreeWriter,
        dir: &'a str,
        profile: Profile,
    ) -> Self {
        Self { staging: Some((staging, dir)), profile }
    }

    /// Nowhere: only digests are made.
    pub(crate) const fn nowhere(profile: Profile) -> Self {
        Self { staging: None, profile }
    }

    /// Makes the directories, which come outermost first, and the one that holds them.
    pub(crate) fn make_dirs<'d>(&self, dirs: impl Iterator<Item = &'d str>) -> io::Result<()> {
        let Some((staging, tree)) = self.staging else { return Ok(()) };
        staging.make_dir(tree)?;
        for dir in dirs {
            staging.make_dir(&format!("{tree}/{dir}"))?;
        }
        Ok(())
    }

    /// Makes one more directory, whose parent is there. One that is there already is fine.
    pub(crate) fn make_dir(&self, dir: &str) -> io::Result<()> {
        let Some((staging, tree)) = self.staging else { return Ok(()) };
        match staging.make_dir(&format!("{tree}/{dir}")) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    /// Begins the file at `path`.
    pub(crate) fn begin(&self, path: &str, executable: bool) -> io::Result<OutgoingFile> {
        let mode = if executable { NewFileMode::Executable } else { NewFileMode::Plain };
        let file = match self.staging {
            Some((staging, tree)) => Some(staging.make_file(&format!("{tree}/{path}"), mode)?),
            None => None,
        };
        let is_manual = path.rsplit('/').next() == Some(SKILL_FILE);
        let is_bundle = path.rsplit('/').next() == Some(OMS_FILE);
        let keep = match path {
            _ if is_manual => MAX_FILE_BYTES,
            MANIFEST_FILE => MAX_MANIFEST_BYTES,
            _ if is_bundle => MAX_BUNDLE_BYTES,
            _ => 0,
        };
        Ok(OutgoingFile {
            path: path.to_owned(),
            executable,
            file,
            hasher: Sha256::new(),
            size: 0,
            keep,
            kept: Vec::new(),
            is_manual,
            is_bundle,
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
    /// How many bytes are kept, of what is read here already: a `SKILL.md` or a `manifest.json`.
    keep: u64,
    kept: Vec<u8>,
    is_manual: bool,
    is_bundle: bool,
    profile: Profile,
}

impl OutgoingFile {
    pub(crate) fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.hasher.update(chunk);
        self.size += chunk.len() as u64;
        let room = usize::try_from(self.keep).unwrap_or(0).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
        match &mut self.file {
            Some(file) => file.write_all(chunk),
            None => Ok(()),
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn finish(self) -> ShippedFile {
        let manifest = if self.is_manual || self.is_bundle {
            None
        } else {
            PackManifest::parse(&self.kept).map(Box::new)
        };
        ShippedFile {
            facts: self.is_manual.then(|| Box::new(read_facts(&self.kept, self.profile))),
            manifest,
            bundle: self.is_bundle.then(|| self.kept.into()),
            path: self.path,
            size: self.size,
            executable: self.executable,
            digest: Digest::from_bytes(self.hasher.finalize().into()),
        }
    }
}
