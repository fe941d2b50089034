//! A source, brought into staging (or only looked at) and judged: which skills it has, and what they are.
//!
//! An archive is hashed, unpacked and judged through one open descriptor; one that is written to meanwhile
//! is refused.

use std::path::{Path, PathBuf};

use metier_fs::PiecewiseFile;
use metier_sign::TrustedKeys;
use metier_skill::{Digest, Profile};

use crate::access::SourceOrigin;
use crate::archive::{ArchiveFault, archive_kind, unpack};
use crate::directory::read_directory;
use crate::error::PackError;
use crate::fetch::{FetchFolder, FetchedKind};
use crate::left_out::LeftOut;
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::pack::{MANIFEST_FILE, joined};
use crate::records::{LockedSkill, SourceKind};
use crate::shipped_tree::ShippedTree;
use crate::signatures::{CheckedSignatures, Sidecar, read_sidecars};
use crate::skills_in::{FoundSkill, skills_in};
use crate::source::InstallSource;
use crate::target::{InstallTarget, Staging};

/// A source that was judged.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) source: InstallSource,
    pub(crate) resolved: Option<String>,
    pub(crate) skills: Vec<FoundSkill>,
    /// The directory in the staging directory that holds its tree.
    pub(crate) staged_in: String,
    /// The signatures beside it.
    pub(crate) sidecars: Vec<Sidecar>,
}

/// What was read at a path, and where it was staged.
struct ReadSource {
    tree: ShippedTree,
    digest: Option<Digest>,
    sidecars: Vec<Sidecar>,
    staged_in: String,
}

/// An archive that was read.
pub(crate) struct ReadArchive {
    pub(crate) tree: ShippedTree,
    pub(crate) digest: Digest,
    pub(crate) sidecars: Vec<Sidecar>,
}

/// How sources are prepared: for one plan, the same for all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Preparing<'a> {
    pub(crate) target: &'a InstallTarget,
    /// Without one, sources are only looked at.
    pub(crate) staging: Option<&'a Staging>,
    pub(crate) profile: Profile,
    pub(crate) limits: &'a PackLimits,
    pub(crate) origin: SourceOrigin,
}

impl Preparing<'_> {
    /// Brings a source into staging, or only looks at it. What is not on this machine is fetched first, at
    /// `pinned` where the lock has it.
    pub(crate) fn prepare(
        &self,
        source: InstallSource,
        pinned: Option<&str>,
        chosen: &[String],
        number: usize,
    ) -> Result<Prepared, PackError> {
        let shown = source.shown();
        let (read, resolved) = if let InstallSource::Local(local) = &source {
            let is_archive = local.kind == SourceKind::Archive;
            let read = self.read(&local.path, &shown, is_archive, number)?;
            let resolved = read.digest.map(|digest| digest.to_string());
            (read, resolved)
        } else {
            let access = &self.target.access;
            let folder = FetchFolder::create(&self.target.state)?;
            let fetched = access.fetch.fetch(
                &source,
                pinned,
                folder.path(),
                self.limits,
                access.progress.as_ref(),
            )?;
            let is_archive = fetched.kind == FetchedKind::Archive;
            let mut read = self.read(&fetched.path, &shown, is_archive, number)?;
            read.tree.left_out.extend(fetched.left_out);
            read.tree.left_out.sort();
            (read, Some(fetched.resolved))
        };
        let ReadSource { tree, sidecars, staged_in, .. } = read;
        let skills = skills_in(&tree, &shown, chosen)?;
        Ok(Prepared { source, resolved, skills, staged_in, sidecars })
    }

    /// Reads what is at `path` on this machine; errors call it `shown`.
    fn read(
        &self,
        path: &Path,
        shown: &str,
        is_archive: bool,
        number: usize,
    ) -> Result<ReadSource, PackError> {
        let staged_in = format!("tree-{number}");
        let outgoing = match self.staging.and_then(Staging::tree) {
            Some(tree) => Outgoing::into_staging(tree, &staged_in, self.profile),
            None => Outgoing::nowhere(self.profile),
        };
        if !is_archive {
            let tree = read_directory(path, self.limits, outgoing);
            let tree = tree.map_err(|error| error.called(path, shown))?;
            return Ok(ReadSource { tree, digest: None, sidecars: Vec::new(), staged_in });
        }
        let read = read_archive(path, shown, self.limits, outgoing)
            .map_err(|error| error.called(path, shown))?;
        check_manifest(shown, &read.tree)?;
        let ReadArchive { tree, digest, sidecars } = read;
        Ok(ReadSource { tree, digest: Some(digest), sidecars, staged_in })
    }
}

/// Reads the archive at `path`, and the signatures beside it; their errors call it `shown`.
pub(crate) fn read_archive(
    path: &Path,
    shown: &str,
    limits: &PackLimits,
    outgoing: Outgoing<'_>,
) -> Result<ReadArchive, PackError> {
    let file = PiecewiseFile::open(path)
        .map_err(|error| PackError::not_readable(path, std::io::Error::other(error.to_string())))?;
    // A signature that cannot be one is known before anything is unpacked.
    let sidecars = read_sidecars(&file, path, shown)?;
    let (tree, digest) = read_open_archive(&file, path, limits, outgoing)?;
    Ok(ReadArchive { tree, digest, sidecars })
}

/// The same of an archive that is open: whatever was read of it before is of the same bytes.
pub(crate) fn read_open_archive(
    file: &PiecewiseFile,
    path: &Path,
    limits: &PackLimits,
    outgoing: Outgoing<'_>,
) -> Result<(ShippedTree, Digest), PackError> {
    let unsound = |error| PackError::archive(path, error);
    let kind = archive_kind(file).map_err(unsound)?;
    let (digest, _) =
        Digest::of_reader(file.reader()).map_err(|error| PackError::not_readable(path, error))?;
    let tree = unpack(file, kind, limits, outgoing).map_err(unsound)?;
    if !file.is_unchanged() {
        return Err(unsound(ArchiveFault::Changed.into()));
    }
    Ok((tree, digest))
}

/// An archive that lists its digests has to fit them.
pub(crate) fn check_manifest(shown: &str, tree: &ShippedTree) -> Result<(), PackError> {
    let listed = tree.files.iter().find(|file| file.path == MANIFEST_FILE);
    let Some(manifest) = listed.and_then(|file| file.manifest.as_deref()) else { return Ok(()) };
    let all = skills_in(tree, shown, &[])?;
    match manifest.difference(&all) {
        None => Ok(()),
        Some(what) => Err(PackError::ManifestMismatch { path: PathBuf::from(shown), what }),
    }
}

impl Prepared {
    /// What the lock says of one of its skills.
    pub(crate) fn locked(&self, skill: &FoundSkill) -> LockedSkill {
        let source = &self.source;
        let resolved = self.resolved.clone();
        let mut locked = LockedSkill::new(&source.recorded(), source.kind(), resolved, &skill.tree);
        locked.path = Some(skill.dir.clone()).filter(|dir| !dir.is_empty());
        locked.version.clone_from(&skill.summary.version);
        locked
    }

    /// Checks the signatures of one of its skills: beside the source, and in the skill's folder.
    pub(crate) fn check_signatures(
        &self,
        skill: &FoundSkill,
        keys: &TrustedKeys,
        pinned: Option<&str>,
    ) -> Result<CheckedSignatures, PackError> {
        let mut checked = CheckedSignatures::of_sidecars(&self.sidecars, keys, pinned)?;
        checked.add_bundle(&skill.tree, &skill.dir, keys)?;
        Ok(checked)
    }

    /// Where the tree of one of its skills is in the staging directory.
    pub(crate) fn staged(&self, skill: &FoundSkill) -> String {
        match skill.dir.as_str() {
            "" => self.staged_in.clone(),
            dir => joined(&self.staged_in, dir),
        }
    }

    /// What is in its skills and is not installed.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = LeftOut> + '_ {
        self.skills.iter().flat_map(|skill| {
            let inside =
                |it: &LeftOut| LeftOut { path: joined(&skill.dir, &it.path), reason: it.reason };
            skill.tree.left_out.iter().map(inside)
        })
    }
}
