//! Where the bytes of a tree go: into a staging directory, or nowhere, and in any case into digests.
//!
//! Every source of skills ends here, so that a plan is made of the very bytes that were written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metier_cancel::CancelToken;
use metier_fs::{NewFileMode, TreeWriter};
use metier_registry::parallel;
use metier_scan::{InspectedFile, MAX_INSPECTED};
use metier_sign::OMS_FILE;
use metier_skill::{Digest, MAX_FILE_BYTES, Profile};
use sha2::{Digest as _, Sha256};

use crate::access::SourceAccess;
use crate::facts::{SKILL_FILE, read_facts};
use crate::fetch::FetchProgress;
use crate::pack::{MANIFEST_FILE, PackManifest};
use crate::shipped_tree::ShippedFile;
use crate::signatures::MAX_BUNDLE_BYTES;
use crate::text_filter::{MAX_TEXT_BYTES, TextFilter};

/// The most that is kept in memory of a `manifest.json`.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// From how many directories on another core is worth its start.
const DIRS_PER_CORE: usize = 64;

/// How many bytes of a tree have gone, for the person who waits, and who may wait no more.
#[derive(Debug)]
pub(crate) struct ByteCount<'a> {
    progress: &'a dyn FetchProgress,
    cancel: &'a CancelToken,
    what: &'static str,
    done: AtomicU64,
    /// 0 where it is not known.
    total: AtomicU64,
}

impl<'a> ByteCount<'a> {
    /// Says `what` is being done.
    pub(crate) fn new(access: &'a SourceAccess, what: &'static str) -> Self {
        let (progress, cancel) = (access.progress.as_ref(), &access.cancel);
        Self { progress, cancel, what, done: AtomicU64::new(0), total: AtomicU64::new(0) }
    }

    fn add(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let total = Some(self.total.load(Ordering::Relaxed)).filter(|total| *total > 0);
        self.progress.step(self.what, done, total);
    }
}

/// Where a tree goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    /// The staging directory, and the name of the directory in it that holds the tree.
    staging: Option<(&'a TreeWriter, &'a str)>,
    profile: Profile,
    /// Whether each file is scanned while its bytes are at hand: reading them again would cost more.
    inspects: bool,
    texts: Option<&'a TextFilter>,
    count: Option<&'a ByteCount<'a>>,
}

impl<'a> Outgoing<'a> {
    /// Into the directory `dir` of `staging`, judged under `profile`.
    pub(crate) const fn into_staging(
        staging: &'a TreeWriter,
        dir: &'a str,
        profile: Profile,
    ) -> Self {
        Self { staging: Some((staging, dir)), profile, inspects: false, texts: None, count: None }
    }

    /// Nowhere: only digests are made.
    pub(crate) const fn nowhere(profile: Profile) -> Self {
        Self { staging: None, profile, inspects: false, texts: None, count: None }
    }

    /// The same, with every file scanned for what it could do.
    pub(crate) const fn inspected(self) -> Self {
        Self { inspects: true, ..self }
    }

    /// The same, with the texts kept that `texts` asks for.
    pub(crate) const fn keeping(self, texts: &'a TextFilter) -> Self {
        Self { texts: Some(texts), ..self }
    }

    /// The same, with every file counted.
    pub(crate) const fn counted(self, count: &'a ByteCount<'a>) -> Self {
        Self { count: Some(count), ..self }
    }

    /// Whether each file is scanned.
    pub(crate) const fn inspects(&self) -> bool {
        self.inspects
    }

    /// Says how many bytes all files will have.
    pub(crate) fn expects(&self, bytes: u64) {
        if let Some(count) = self.count {
            count.total.store(bytes, Ordering::Relaxed);
        }
    }

    /// Makes the directories, and the one that holds them.
    pub(crate) fn make_dirs<'d>(&self, dirs: impl Iterator<Item = &'d str>) -> io::Result<()> {
        let Some((staging, tree)) = self.staging else { return Ok(()) };
        staging.make_dir(tree)?;
        let mut by_depth: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for dir in dirs {
            by_depth.entry(dir.matches('/').count()).or_default().push(dir);
        }
        let make = |(): &mut (), dir: &str| staging.make_dir(&format!("{tree}/{dir}"));
        // Those that hold others first, and what is beside each other on all cores; but in one directory one after the
        // other, because threads would only wait for each other.
        by_depth.into_iter().try_for_each(|(depth, dirs)| match depth {
            0 => dirs.into_iter().try_for_each(|dir| make(&mut (), dir)),
            _ => parallel::map(dirs, DIRS_PER_CORE, || (), make).into_iter().collect(),
        })
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
    pub(crate) fn begin(&self, path: &str, executable: bool) -> io::Result<OutgoingFile<'a>> {
        let mode = if executable { NewFileMode::Executable } else { NewFileMode::Plain };
        let file = match self.staging {
            Some((staging, tree)) => Some(staging.make_file(&format!("{tree}/{path}"), mode)?),
            None => None,
        };
        let is_manual = path.rsplit('/').next() == Some(SKILL_FILE);
        let is_bundle = path.rsplit('/').next() == Some(OMS_FILE);
        let keep = [
            (is_manual, MAX_FILE_BYTES),
            (path == MANIFEST_FILE, MAX_MANIFEST_BYTES),
            (is_bundle, MAX_BUNDLE_BYTES),
            (self.inspects, MAX_INSPECTED as u64),
            (self.texts.is_some(), MAX_TEXT_BYTES),
        ];
        let keep = keep.into_iter().filter(|(wanted, _)| *wanted).map(|(_, bytes)| bytes);
        Ok(OutgoingFile {
            path: path.to_owned(),
            executable,
            file,
            hasher: Sha256::new(),
            size: 0,
            keep: usize::try_from(keep.max().unwrap_or(0)).unwrap_or(0),
            kept: Vec::new(),
            is_manual,
            is_bundle,
            outgoing: *self,
        })
    }
}

/// A file that is being written.
pub(crate) struct OutgoingFile<'a> {
    path: String,
    executable: bool,
    file: Option<File>,
    hasher: Sha256,
    size: u64,
    /// How many bytes are kept, of what is judged when the file ends.
    keep: usize,
    kept: Vec<u8>,
    is_manual: bool,
    is_bundle: bool,
    outgoing: Outgoing<'a>,
}

impl OutgoingFile<'_> {
    pub(crate) fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        if self.outgoing.count.is_some_and(|count| count.cancel.is_cancelled()) {
            return Err(io::Error::other("cancelled"));
        }
        self.hasher.update(chunk);
        self.size += chunk.len() as u64;
        let room = self.keep.saturating_sub(self.kept.len());
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
        let Self { path, executable, hasher, size, kept, is_manual, is_bundle, .. } = self;
        let outgoing = self.outgoing;
        if let Some(count) = outgoing.count {
            count.add(size);
        }
        let manual = &kept[..kept.len().min(usize::try_from(MAX_FILE_BYTES).unwrap_or(0))];
        let bundle = &kept[..kept.len().min(usize::try_from(MAX_BUNDLE_BYTES).unwrap_or(0))];
        let manifest = || PackManifest::parse(&kept).map(|it| it.map(Arc::new));
        let digest = Digest::from_bytes(hasher.finalize().into());
        ShippedFile {
            facts: is_manual.then(|| Arc::new(read_facts(manual, outgoing.profile))),
            manifest: if path == MANIFEST_FILE { manifest() } else { None },
            bundle: is_bundle.then(|| bundle.into()),
            inspected: outgoing.inspects.then(|| Arc::new(InspectedFile::new(&path, &kept, size))),
            text: outgoing.texts.and_then(|texts| texts.text(digest, size, &kept)),
            path,
            size,
            executable,
            digest,
        }
    }
}
