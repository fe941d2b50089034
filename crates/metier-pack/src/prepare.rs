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
use crate::skills_in::{FoundSkill, UnusableSkills, skills_in, usable_skills};
use crate::source::LocalSource;
use crate::target::Staging;
use crate::text_filter::TextFilter;

/// A source that was judged.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) source: LocalSource,
    pub(crate) resolved: Option<String>,
    pub(crate) skills: Vec<FoundSkill>,
    /// The directory in the staging directory that holds its tree.
    pub(crate) staged_in: String,
}

/// A source that was read: its tree is in staging, or was only looked at.
#[derive(Debug)]
pub(crate) struct ReadSource {
    pub(crate) source: LocalSource,
    pub(crate) resolved: Option<String>,
    pub(crate) tree: ShippedTree,
    staged_in: String,
}

/// How a source is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadOptions<'a> {
    pub(crate) profile: Profile,
    pub(crate) limits: &'a PackLimits,
    /// Which texts of it are kept.
    pub(crate) texts: Option<&'a TextFilter>,
}

/// Brings a source into `staging`, or only looks at it without one. Every file is scanned as it passes.
pub(crate) fn read_source(
    source: LocalSource,
    staging: Option<&Staging>,
    number: usize,
    options: ReadOptions<'_>,
) -> Result<ReadSource, PackError> {
    let ReadOptions { profile, limits, texts } = options;
    let staged_in = format!("tree-{number}");
    let outgoing = match staging.and_then(Staging::tree) {
        Some(tree) => Outgoing::into_staging(tree, &staged_in, profile).inspected(),
        None => Outgoing::nowhere(profile).inspected(),
    };
    let outgoing = texts.map_or(outgoing, |texts| outgoing.keeping(texts));
    let (tree, resolved) = match source.kind {
        SourceKind::Directory => (read_directory(&source.path, limits, outgoing)?, None),
        SourceKind::Archive => {
            let (tree, digest) = read_archive(&source, limits, outgoing)?;
            (tree, Some(digest.to_string()))
        }
    };
    check_manifest(&source, &tree)?;
    Ok(ReadSource { source, resolved, tree, staged_in })
}

impl ReadSource {
    /// The skills of these names, or all of them; an error where one cannot be used.
    pub(crate) fn chosen(self, names: &[String]) -> Result<(Prepared, ShippedTree), PackError> {
        let skills = skills_in(&self.tree, &self.source.path.to_string_lossy(), names)?;
        let Self { source, resolved, tree, staged_in } = self;
        Ok((Prepared { source, resolved, skills, staged_in }, tree))
    }

    /// The skills that can be used, and what is wrong with the others.
    pub(crate) fn usable(self) -> Result<(Prepared, UnusableSkills), PackError> {
        let (skills, unusable) = usable_skills(&self.tree, &self.source.path.to_string_lossy())?;
        let Self { source, resolved, staged_in, .. } = self;
        Ok((Prepared { source, resolved, skills, staged_in }, unusable))
    }
}

/// Brings a source into `staging`, or only looks at it without one, and judges the skills of these names.
pub(crate) fn prepare(
    source: LocalSource,
    chosen: &[String],
    staging: Option<&Staging>,
    number: usize,
    profile: Profile,
    limits: &PackLimits,
) -> Result<Prepared, PackError> {
    let options = ReadOptions { profile, limits, texts: None };
    Ok(read_source(source, staging, number, options)?.chosen(chosen)?.0)
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
        locked.requires = skill.summary.requires.certain.iter().cloned().collect();
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
