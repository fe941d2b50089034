//! A source, brought into staging (or only looked at) and judged: which skills it has, and what they are.
//!
//! An archive is hashed, unpacked and judged through one open descriptor; one that is written to meanwhile
//! is refused.

use std::path::Path;

use metier_fs::PiecewiseFile;
use metier_sign::TrustedKeys;
use metier_skill::{Digest, Profile};

use crate::access::SourceOrigin;
use crate::archive::{ArchiveFault, archive_kind, unpack};
use crate::directory::read_directory_without;
use crate::error::PackError;
use crate::facts::SKILL_FILE;
use crate::fetch::{FetchFolder, FetchWanted, FetchedKind};
use crate::left_out::{LeftOut, LeftOutReason};
use crate::limits::PackLimits;
use crate::marketplace::{Plugin, PluginPlace, read_plugins};
use crate::outgoing::{ByteCount, Outgoing};
use crate::pack::{check_manifest, joined};
use crate::records::{LockedSkill, SourceKind};
use crate::shipped_tree::ShippedTree;
use crate::signatures::{CheckedSignatures, Sidecar, read_sidecars};
use crate::skills_in::{
    FoundSkill, UnusableSkills, pickable_skills, skills_in, skills_left_out, usable_skills,
};
use crate::source::{InstallSource, parse_source};
use crate::target::{InstallTarget, Staging};
use crate::text_filter::TextFilter;

/// A source that was judged.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) source: InstallSource,
    pub(crate) resolved: Option<String>,
    /// Whether it was named by what should never mean anything else.
    pub(crate) is_fixed: bool,
    pub(crate) skills: Vec<FoundSkill>,
    plugins: Vec<Plugin>,
    /// Each `SKILL.md` that is not taken, where no skills were named.
    skills_left_out: Vec<LeftOut>,
    /// The directory in the staging directory that holds its tree.
    pub(crate) staged_in: String,
    /// The signatures beside it.
    pub(crate) sidecars: Vec<Sidecar>,
    /// Whether a list in the source that was named led to it.
    pub(crate) is_elsewhere: bool,
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
    /// Which texts are kept.
    pub(crate) texts: Option<&'a TextFilter>,
}

/// Which skills of a source are meant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SkillChoice<'a> {
    /// Those of these names.
    pub(crate) names: &'a [String],
    /// All of them, however many.
    pub(crate) all: bool,
    /// Those of this plugin.
    pub(crate) plugin: Option<&'a str>,
}

/// A source that was read.
#[derive(Debug, Default)]
struct ReadSource {
    tree: ShippedTree,
    resolved: Option<String>,
    is_fixed: bool,
    plugins: Vec<Plugin>,
    /// What is wrong with the list of them: only one who wants a plugin has to know.
    bad_plugins: Option<PackError>,
    /// The signatures beside it.
    sidecars: Vec<Sidecar>,
    staged_in: String,
}

impl ReadSource {
    /// With these of its skills; and its tree.
    fn prepared(self, source: InstallSource, skills: Vec<FoundSkill>) -> (Prepared, ShippedTree) {
        let Self { tree, resolved, is_fixed, plugins, sidecars, staged_in, .. } = self;
        let skills_left_out = Vec::new();
        let prepared = Prepared {
            source,
            resolved,
            is_fixed,
            skills,
            plugins,
            skills_left_out,
            staged_in,
            sidecars,
            is_elsewhere: false,
        };
        (prepared, tree)
    }
}

impl Preparing<'_> {
    /// Brings a source into staging, or only looks at it. What is not on this machine is fetched first, at
    /// `pinned` where the lock has it. Every file is scanned as it passes.
    pub(crate) fn prepare(
        &self,
        source: InstallSource,
        pinned: Option<&str>,
        choice: SkillChoice<'_>,
        number: usize,
    ) -> Result<Prepared, PackError> {
        Ok(self.prepare_with_tree(source, pinned, choice, number)?.0)
    }

    /// The same, with all that the source has.
    pub(crate) fn prepare_with_tree(
        &self,
        source: InstallSource,
        pinned: Option<&str>,
        choice: SkillChoice<'_>,
        number: usize,
    ) -> Result<(Prepared, ShippedTree), PackError> {
        let wanted = choice.plugin.map_or(choice.names, |_| &[]);
        let mut read = self.bring(&source, FetchWanted::new(pinned, wanted), number)?;
        let shown = source.shown();
        if let Some(name) = choice.plugin {
            if let Some(error) = read.bad_plugins {
                return Err(error);
            }
            let Some(plugin) = read.plugins.iter().find(|plugin| plugin.name == name) else {
                let has = read.plugins.into_iter().map(|plugin| plugin.name).collect();
                return Err(PackError::NoPlugin { source: shown, name: name.to_owned(), has });
            };
            match &plugin.place {
                PluginPlace::Here(top) => {
                    read.tree = read.tree.only(|dir| plugin.has_skill(top, dir));
                }
                PluginPlace::Elsewhere { source, commit } => {
                    return self.prepare_elsewhere(
                        plugin,
                        source,
                        commit.as_deref(),
                        choice,
                        number,
                    );
                }
                PluginPlace::Unknown(place) => {
                    let source = place.clone();
                    let kind = "where this program does not look for plugins";
                    return Err(PackError::UnsupportedSource { source, kind });
                }
            }
        }
        let picked = self.picked(&source, &read.tree, choice)?;
        let skills = skills_in(&read.tree, &shown, picked.as_deref().unwrap_or(choice.names))?;
        self.target.access.admit_dirs(&source, skills.iter().map(|skill| skill.dir.as_str()))?;
        let (mut prepared, tree) = read.prepared(source, skills);
        if choice.names.is_empty() {
            prepared.skills_left_out = skills_left_out(&tree);
        }
        Ok((prepared, tree))
    }

    /// The skills of a source that can be used, and what is wrong with the others.
    pub(crate) fn prepare_usable(
        &self,
        source: InstallSource,
        wanted: FetchWanted<'_>,
        number: usize,
    ) -> Result<(Prepared, UnusableSkills), PackError> {
        let read = self.bring(&source, wanted, number)?;
        let (mut skills, mut unusable) = usable_skills(&read.tree, &source.shown())?;
        let access = &self.target.access;
        // A rule about one of them is none about the others.
        skills.retain(|skill| {
            let admitted = access.admit_dirs(&source, std::iter::once(skill.dir.as_str()));
            let name = || skill.summary.name.to_string();
            admitted.map_err(|error| unusable.denied.insert(name(), error)).is_ok()
        });
        Ok((read.prepared(source, skills).0, unusable))
    }

    /// The skills of a plugin that is somewhere else. The list named its source, not the person.
    fn prepare_elsewhere(
        &self,
        plugin: &Plugin,
        source: &str,
        commit: Option<&str>,
        choice: SkillChoice<'_>,
        number: usize,
    ) -> Result<(Prepared, ShippedTree), PackError> {
        let (top, base) = (Path::new("/"), &self.target.base);
        let source = parse_source(source, top, base)?;
        // A list that came from elsewhere must not reach into this machine.
        if source.host().is_none() {
            return Err(PackError::NoSource { source: source.recorded(), near: None });
        }
        let elsewhere = Self { origin: SourceOrigin::Recorded, ..*self };
        let mut read = elsewhere.bring(&source, FetchWanted::new(commit, &[]), number + 1000)?;
        let own = read.tree.only(|dir| plugin.has_skill("", dir));
        if !own.files.is_empty() {
            read.tree = own;
        }
        let skills = skills_in(&read.tree, &source.shown(), choice.names)?;
        let (mut prepared, tree) = read.prepared(source, skills);
        prepared.is_elsewhere = true;
        Ok((prepared, tree))
    }

    /// The names that a person picks, where a repository has several skills and none was chosen. A
    /// directory or an archive was put together to be installed; a repository often was not.
    fn picked(
        &self,
        source: &InstallSource,
        tree: &ShippedTree,
        choice: SkillChoice<'_>,
    ) -> Result<Option<Vec<String>>, PackError> {
        let is_collection = matches!(source.kind(), SourceKind::Git | SourceKind::WellKnown);
        let is_chosen = choice.all || choice.plugin.is_some() || !choice.names.is_empty();
        if !is_collection || is_chosen {
            return Ok(None);
        }
        let offered = pickable_skills(tree);
        if offered.len() < 2 {
            return Ok(None);
        }
        let picked =
            self.target.access.questions.pick(&offered).filter(|picked| !picked.is_empty());
        self.target.access.check_cancelled()?;
        picked.map(Some).ok_or_else(|| PackError::SeveralSkills {
            source: source.shown(),
            has: offered.into_iter().map(|skill| skill.name).collect(),
        })
    }

    /// Lets a source through, fetches it where it is not on this machine, and reads it; an error once it is cancelled.
    fn bring(
        &self,
        source: &InstallSource,
        wanted: FetchWanted<'_>,
        number: usize,
    ) -> Result<ReadSource, PackError> {
        self.target.access.check_cancelled()?;
        let read = self.fetch_and_read(source, wanted, number);
        self.target.access.check_cancelled().and(read)
    }

    fn fetch_and_read(
        &self,
        source: &InstallSource,
        wanted: FetchWanted<'_>,
        number: usize,
    ) -> Result<ReadSource, PackError> {
        let access = &self.target.access;
        access.admit(source, self.origin)?;
        let shown = source.shown();
        if let InstallSource::Local(local) = source {
            return self.read(&local.path, &shown, local.kind == SourceKind::Archive, number);
        }
        let folder = FetchFolder::create(&self.target.state)?;
        let (progress, cancel) = (access.progress.as_ref(), &access.cancel);
        let fetched =
            access.fetch.fetch(source, wanted, folder.path(), self.limits, progress, cancel)?;
        access.check_age(source, &fetched)?;
        let is_archive = fetched.kind == FetchedKind::Archive;
        let mut read = self.read(&fetched.path, &shown, is_archive, number)?;
        read.tree.left_out.extend(fetched.left_out);
        read.tree.left_out.sort();
        read.resolved = Some(fetched.resolved);
        read.is_fixed = fetched.is_fixed;
        Ok(read)
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
            Some(tree) => Outgoing::into_staging(tree, &staged_in, self.profile).inspected(),
            None => Outgoing::nowhere(self.profile).inspected(),
        };
        let what = if is_archive { "unpacking" } else { "reading" };
        let count = ByteCount::new(&self.target.access, what);
        let outgoing = outgoing.counted(&count);
        let outgoing = self.texts.map_or(outgoing, |texts| outgoing.keeping(texts));
        let called = |error: PackError| error.called(path, shown);
        if !is_archive {
            let own = self.target.places_in(path);
            let mut tree =
                read_directory_without(&own, path, self.limits, outgoing).map_err(called)?;
            note_linked_skills(path, &mut tree);
            let (plugins, bad_plugins) = match read_plugins(path, shown) {
                Ok(plugins) => (plugins, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            let read =
                ReadSource { tree, plugins, bad_plugins, staged_in, ..ReadSource::default() };
            return Ok(read);
        }
        let read = read_archive(path, shown, self.limits, outgoing).map_err(called)?;
        check_manifest(shown, &read.tree)?;
        let ReadArchive { tree, digest, sidecars } = read;
        let resolved = Some(digest.to_string());
        Ok(ReadSource { tree, resolved, sidecars, staged_in, ..ReadSource::default() })
    }
}

/// Names the skills behind folders that are links: no link is followed, and a folder of links would look empty.
fn note_linked_skills(path: &Path, tree: &mut ShippedTree) {
    let is_link = |left: &&LeftOut| left.reason == LeftOutReason::Link;
    let linked = tree.left_out.iter().filter(is_link).map(|left| joined(&left.path, SKILL_FILE));
    let linked: Vec<LeftOut> = linked
        .filter(|file| metier_fs::exists(&path.join(file)))
        .map(|path| LeftOut { path, reason: LeftOutReason::Link })
        .collect();
    tree.left_out.extend(linked);
    tree.left_out.sort();
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
    // The core that is idle while the structure is checked and directories are made gets ready for the scan, and makes
    // the digest.
    let (digest, tree) = std::thread::scope(|scope| {
        let hash = || Digest::of_reader(file.reader());
        let get_ready_and_hash = move || {
            if outgoing.inspects() {
                metier_scan::prepare();
            }
            hash()
        };
        let hashing = std::thread::Builder::new().spawn_scoped(scope, get_ready_and_hash);
        let tree = unpack(file, kind, limits, outgoing);
        let hashed = hashing.ok().and_then(|thread| thread.join().ok());
        (hashed.unwrap_or_else(hash), tree)
    });
    let tree = tree.map_err(unsound)?;
    let (digest, _) = digest.map_err(|error| PackError::not_readable(path, error))?;
    if !file.is_unchanged() {
        return Err(unsound(ArchiveFault::Changed.into()));
    }
    Ok((tree, digest))
}

impl Prepared {
    /// What the lock says of one of its skills.
    pub(crate) fn locked(&self, skill: &FoundSkill) -> LockedSkill {
        let source = &self.source;
        let resolved = self.resolved.clone();
        let mut locked = LockedSkill::new(&source.recorded(), source.kind(), resolved, &skill.tree);
        locked.fixed = self.is_fixed;
        locked.path = Some(skill.dir.clone()).filter(|dir| !dir.is_empty());
        locked.version.clone_from(&skill.summary.version);
        locked.requires = skill.summary.requires.certain.iter().cloned().collect();
        locked
    }

    /// Whether it is or was named by what should never mean anything else, and means something else than the lock says.
    /// A tag that gave way to a branch of the same name was one.
    pub(crate) fn is_moved(&self, locked: &LockedSkill) -> bool {
        (self.is_fixed || locked.fixed)
            && self.source.recorded() == locked.source
            && self.resolved != locked.resolved
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

    /// The plugin that one of its skills belongs to, where it lists plugins.
    pub(crate) fn plugin_of(&self, skill: &FoundSkill) -> Option<String> {
        let has = |plugin: &&Plugin| match &plugin.place {
            PluginPlace::Here(top) => plugin.has_skill(top, &skill.dir),
            _ => false,
        };
        self.plugins.iter().find(has).map(|plugin| plugin.name.clone())
    }

    /// What is in its skills and is not installed.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = LeftOut> + '_ {
        let inside = self.skills.iter().flat_map(|skill| {
            let inside =
                |it: &LeftOut| LeftOut { path: joined(&skill.dir, &it.path), reason: it.reason };
            skill.tree.left_out.iter().map(inside)
        });
        inside.chain(self.skills_left_out.iter().cloned())
    }
}
