//! A source, brought into staging (or only looked at) and judged: which skills it has, and what they are.
//!
//! An archive is hashed, unpacked and judged through one open descriptor; one that is written to meanwhile
//! is refused.

use metier_fs::PiecewiseFile;
use metier_skill::{Digest, Profile};

use crate::archive::{ArchiveFault, archive_kind, unpack};
use crate::directory::read_directory;
use crate::error::PackError;
use crate::left_out::LeftOut;
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::pack::{MANIFEST_FILE, joined};
use crate::records::{LockedSkill, SourceKind};
use crate::shipped_tree::ShippedTree;
use crate::skills_in::{FoundSkill, skills_in};
use crate::source::LocalSource;
use crate::target::Staging;

/// A source that was judged.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) source: LocalSource,
    pub(crate) resolved: Option<String>,
    pub(crate) skills: Vec<FoundSkill>,
    /// The directory in the staging directory that holds its tree.
    pub(crate) staged_in: String,
}

/// Brings a source into `staging`, or only looks at it without one.
pub(crate) fn prepare(
    source: LocalSource,
    chosen: &[String],
    staging: Option<&Staging>,
    number: usize,
    profile: Profile,
    limits: &PackLimits,
) -> Result<Prepared, PackError> {
    let staged_in = format!("tree-{number}");
    let outgoing = match staging.and_then(Staging::tree) {
        Some(tree) => Outgoing::into_staging(tree, &staged_in, profile),
        None => Outgoing::nowhere(profile),
    };
    let (tree, resolved) = match source.kind {
        SourceKind::Directory => (read_directory(&source.path, limits, outgoing)?, None),
        SourceKind::Archive => {
            let (tree, digest) = read_archive(&source, limits, outgoing)?;
            (tree, Some(digest.to_string()))
        }
    };
    check_manifest(&source, &tree)?;
    let skills = skills_in(&tree, &source.path.to_string_lossy(), chosen)?;
    Ok(Prepared { source, resolved, skills, staged_in })
}

fn read_archive(
    source: &LocalSource,
    limits: &PackLimits,
    outgoing: Outgoing<'_>,
) -> Result<(ShippedTree, Digest), PackError> {
    let path = &source.path;
    let file = PiecewiseFile::open(path)
        .map_err(|error| PackError::not_readable(path, std::io::Error::other(error.to_string())))?;
    let unsound = |error| PackError::archive(path, error);
    let kind = archive_kind(&file).map_err(unsound)?;
    let (digest, _) =
        Digest::of_reader(file.reader()).map_err(|error| PackError::not_readable(path, error))?;
    let tree = unpack(&file, kind, limits, outgoing).map_err(unsound)?;
    if !file.is_unchanged() {
        return Err(unsound(ArchiveFault::Changed.into()));
    }
    Ok((tree, digest))
}

/// An archive that lists its digests has to fit them.
fn check_manifest(source: &LocalSource, tree: &ShippedTree) -> Result<(), PackError> {
    if source.kind != SourceKind::Archive {
        return Ok(());
    }
    let listed = tree.files.iter().find(|file| file.path == MANIFEST_FILE);
    let Some(manifest) = listed.and_then(|file| file.manifest.as_deref()) else { return Ok(()) };
    let all = skills_in(tree, &source.path.to_string_lossy(), &[])?;
    match manifest.difference(&all) {
        None => Ok(()),
        Some(what) => Err(PackError::ManifestMismatch { path: source.path.clone(), what }),
    }
}

impl Prepared {
    /// What the lock says of one of its skills.
    pub(crate) fn locked(&self, skill: &FoundSkill) -> LockedSkill {
        let source = &self.source;
        let mut locked =
            LockedSkill::new(&source.recorded, source.kind, self.resolved.clone(), &skill.tree);
        locked.path = Some(skill.dir.clone()).filter(|dir| !dir.is_empty());
        locked.version.clone_from(&skill.summary.version);
        locked
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
