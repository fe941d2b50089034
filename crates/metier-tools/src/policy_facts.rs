//! What the policy needs to know about the disk: where files are, what a skill contains, what is
//! trusted.
//!
//! The policy is pure and compares texts; here paths are resolved and skills are hashed for it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use metier_fs::{
    CopyError, CopyLimits, CopySummary, EntryKind, FileId, RootError, SkillRoot, TreeLimits,
    UserFolders, canonical, content_of, directory_birth, directory_id, entry_kind, exists,
    hash_skill, link_target, list_files, writable_by_others, writable_by_others_below,
};
use metier_policy::{
    AbsolutePath, ActingSkill, Ceiling, CeilingReach, FollowedFolder, LoadedSkill, Policy,
    PolicyError, PolicyPlaces, Preapproval, TrustStatus, TrustedFolder, TrustedFolders,
};
use metier_registry::{Entry, Index, Root};
use metier_skill::{Digest, FailureCode, Source};

use crate::skill_contents::{open_files, skill_file};

/// A path as the policy takes it. A path that is not UTF-8 is refused: no rule could match it.
pub fn absolute(path: &Path) -> Result<AbsolutePath, PolicyError> {
    let Some(text) = path.to_str() else {
        return Err(PolicyError::BadPath(path.to_string_lossy().into_owned()));
    };
    if cfg!(windows) {
        let text = text.strip_prefix(r"\\?\").unwrap_or(text).replace('\\', "/");
        return AbsolutePath::new(&text);
    }
    AbsolutePath::new(text)
}

/// Dangling links in a chain that are followed before giving up.
const MAX_LINKS: usize = 40;

/// The path without links, as far as it exists; the rest is what would be created. A dangling link is
/// followed too, since writing to it would create its target. What cannot be resolved stays as it is,
/// and the policy refuses a path with `..` in it.
pub fn real_path(path: &Path) -> PathBuf {
    resolve(path.to_owned(), MAX_LINKS)
}

fn resolve(path: PathBuf, links: usize) -> PathBuf {
    if let Ok(real) = canonical(&path) {
        return real;
    }
    if let Some(target) = link_target(&path).filter(|_| links > 0) {
        return resolve(target, links - 1);
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolve(parent.to_owned(), links).join(name),
        _ => path,
    }
}

/// The folders that the policy protects or knows, for a run in `workspace`.
pub fn places_of(
    index: &Index,
    roots: &[Root],
    workspace: &Path,
    user: Option<&UserFolders>,
) -> Result<PolicyPlaces, PolicyError> {
    let mut resolver = Resolver::default();
    let mut real = |path: &Path| absolute(&resolver.real_path(path));
    let mut places = PolicyPlaces::new(real(workspace)?);
    if let Some(user) = user {
        places = places
            .with_home(real(&user.home)?)
            .with_own(real(&user.agent.join("config.json"))?)
            .with_own(real(&user.state)?);
    }
    for root in roots {
        if let Ok(path) = real(&root.path) {
            places = places.with_skill_root(path);
        }
    }
    let entries = index.entries().iter().chain(index.shadowed());
    for entry in entries.filter(|entry| entry.memory.is_none()) {
        let copies = entry.copies.iter().map(|copy| &copy.path);
        for path in std::iter::once(&entry.path).chain(copies) {
            if let Ok(path) = real(path) {
                places = places.with_skill(&path, entry.id());
            }
        }
    }
    Ok(places)
}

/// [`real_path`] for many paths with common parents: each parent is looked up once. A policy asks
/// about a hundred folders of other agents, nearly all of which do not exist.
#[derive(Default)]
struct Resolver {
    /// The real path, and whether it exists.
    known: HashMap<PathBuf, (PathBuf, bool)>,
}

impl Resolver {
    fn real_path(&mut self, path: &Path) -> PathBuf {
        self.look(path).0
    }

    fn look(&mut self, path: &Path) -> (PathBuf, bool) {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return (real_path(path), true);
        };
        let (parent, there) = self.look(parent);
        let kind = if there { entry_kind(path) } else { None };
        let found = match kind {
            Some(EntryKind::Link) => {
                let real = real_path(path);
                let there = exists(&real);
                (real, there)
            }
            kind => (parent.join(name), kind.is_some()),
        };
        self.known.insert(path.to_owned(), found.clone());
        found
    }
}

/// How much of a skill is hashed: as much as a run copies.
const LIMITS: CopyLimits = CopyLimits {
    files: metier_sandbox::StageLimits::DEFAULT.files,
    bytes: metier_sandbox::StageLimits::DEFAULT.bytes,
};

/// Why a skill's content has no digest, so that nothing about it can be trusted or remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentError {
    /// A file of it cannot be read, or there is too much of it.
    Unreadable(String),
    /// Its `SKILL.md` is a link, or another directory entry names the same file. What is enforced
    /// comes from bytes that are elsewhere and that no digest of the skill covers.
    Elsewhere(String),
    /// Its frontmatter, from which everything that is enforced was taken, is another by now.
    Changed,
}

impl ContentError {
    /// The stable code.
    pub const fn code(&self) -> FailureCode {
        match self {
            Self::Unreadable(_) | Self::Elsewhere(_) => FailureCode::NotAllowed,
            Self::Changed => FailureCode::Changed,
        }
    }

    /// What to do next.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => {
                "a skill whose content is not known can be neither trusted nor approved"
            }
            Self::Elsewhere(_) => {
                "make SKILL.md a file of its own: what is elsewhere can change without the skill"
            }
            Self::Changed => "continue without it; a new run lists the skills again",
        }
    }
}

impl std::fmt::Display for ContentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(message) | Self::Elsewhere(message) => f.write_str(message),
            Self::Changed => {
                f.write_str("its frontmatter has changed since the skills were listed")
            }
        }
    }
}

impl std::error::Error for ContentError {}

impl From<CopyError> for ContentError {
    fn from(error: CopyError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// The digest of what a script or a loader can see of a skill: its files, by path and bytes. Links,
/// hidden and special files are left out, for neither sees them.
///
/// What is enforced is in it: `SKILL.md` must be among the files, and have the frontmatter that the
/// index has. A linked `SKILL.md` could be hashed where it leads, but then its bytes change without a
/// change in the skill's folder, no loader reads it, and a copy of the skill does not have it; so it has
/// no digest.
pub fn content_digest(entry: &Entry) -> Result<Digest, ContentError> {
    Ok(skill_content(entry)?.digest)
}

/// What a skill consists of, as far as a digest covers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillContent {
    /// The digest of all of it.
    pub digest: Digest,
    /// The digest of each file, by its path in the skill.
    pub files: BTreeMap<String, Digest>,
}

/// The same with every file.
pub fn skill_content(entry: &Entry) -> Result<SkillContent, ContentError> {
    if let Some(files) = &entry.memory {
        let bytes: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        if files.iter().count() > LIMITS.files || bytes > LIMITS.bytes {
            let message = format!(
                "{}: more than {} files or {} bytes",
                entry.path.display(),
                LIMITS.files,
                LIMITS.bytes
            );
            return Err(ContentError::Unreadable(message));
        }
        let mut files: Vec<_> =
            files.iter().map(|(path, bytes)| (path, Digest::of(bytes))).collect();
        files.sort_unstable();
        // A program may give two files of one name: all of them count.
        let digest = content_of(files.iter().copied());
        let files = files.into_iter().map(|(path, digest)| (path.to_owned(), digest)).collect();
        return Ok(SkillContent { digest, files });
    }
    let hashed = hashed_files(entry)?;
    Ok(SkillContent { digest: hashed.content(), files: hashed.files.into_iter().collect() })
}

/// The files of a skill on the disk, hashed; `SKILL.md` is among them, as the index has it.
pub(crate) fn hashed_files(entry: &Entry) -> Result<CopySummary, ContentError> {
    let unreadable = |error: &dyn std::fmt::Display| {
        ContentError::Unreadable(format!("{}: {error}", entry.path.display()))
    };
    let root = SkillRoot::open(&entry.path).map_err(|error| unreadable(&error))?;
    let hashed = hash_skill(&root, LIMITS)?;
    let files = open_files(entry).map_err(|error| unreadable(&error))?;
    let bytes = skill_file(entry, &*files).map_err(|error| match error {
        RootError::Changed => ContentError::Changed,
        RootError::Escapes | RootError::HardLink => {
            ContentError::Elsewhere(format!("SKILL.md: {error}"))
        }
        error => unreadable(&error),
    })?;
    // The frontmatter that was compared is the one that was hashed.
    let digest = Digest::of(&bytes);
    let name = entry.file();
    let name = name.file_name().and_then(std::ffi::OsStr::to_str);
    let is_hashed = |(path, known): &(String, Digest)| Some(&**path) == name && *known == digest;
    if hashed.files.iter().any(is_hashed) { Ok(hashed) } else { Err(ContentError::Changed) }
}

/// The skill as a request names it: with its content, and whether that is trusted.
pub fn acting_skill(entry: &Entry, trusted: &TrustedFolders) -> Result<ActingSkill, ContentError> {
    let digest = content_digest(entry)?;
    let standing = standing(&real_path(&entry.path), digest, trusted);
    Ok(ActingSkill::new(entry.id(), digest).with_standing(standing))
}

/// The skill by its name and frontmatter, for a decision that does not depend on its content.
pub fn named_skill(entry: &Entry) -> LoadedSkill {
    let tools = entry.skill.controls.allowed_tools.as_ref();
    let on_disk = entry.memory.is_none();
    LoadedSkill {
        id: entry.id(),
        dir: on_disk.then(|| absolute(&real_path(&entry.path)).ok()).flatten(),
        ceiling: tools.map(Ceiling::from_allowed_tools),
        reach: CeilingReach::Run,
        trusted: false,
    }
}

/// The skill as a run that has loaded it knows it. Its content is hashed only where trust in it can
/// approve something.
pub fn loaded_skill(entry: &Entry, policy: &Policy, trusted: &TrustedFolders) -> LoadedSkill {
    let counts = policy.preapproval() == Preapproval::TrustedSkills;
    let is_trusted = |skill: ActingSkill| skill.standing == TrustStatus::Trusted;
    LoadedSkill {
        trusted: counts && acting_skill(entry, trusted).is_ok_and(is_trusted),
        ..named_skill(entry)
    }
}

/// Whether a skill is trusted, for people. Only one that a record is about is hashed; one without a digest
/// is not trusted.
pub fn trust_status(entry: &Entry, trusted: &TrustedFolders) -> TrustStatus {
    trust_status_by(entry, trusted, || real_path(&entry.path), |_| content_digest(entry))
}

/// The same, with the skill's directory without links, and with the digest of the skill there, from elsewhere.
pub(crate) fn trust_status_by(
    entry: &Entry,
    trusted: &TrustedFolders,
    real: impl FnOnce() -> PathBuf,
    digest: impl FnOnce(&Path) -> Result<Digest, ContentError>,
) -> TrustStatus {
    if entry.source != Source::Project {
        return TrustStatus::by_source(entry.source);
    }
    if trusted.iter().next().is_none() {
        return TrustStatus::Untrusted;
    }
    let real = real();
    if records_of(&real, trusted).next().is_none() {
        return without_record(&real, trusted);
    }
    digest(&real).map_or(TrustStatus::Untrusted, |it| standing(&real, it, trusted))
}

/// The skills of a trusted folder that are not what they were, or are gone, by their paths below it.
pub fn changed_since_trusted(record: &TrustedFolder) -> Vec<String> {
    let folder = Path::new(record.folder.as_str());
    let is_same = |path: &str, digest: Digest| {
        let root = SkillRoot::open(&folder.join(path)).ok();
        let now = root.and_then(|root| hash_skill(&root, LIMITS).ok());
        now.is_some_and(|now| now.content() == digest)
    };
    let changed = record.skills.iter().filter(|(path, digest)| !is_same(path, **digest));
    changed.map(|(path, _)| path.clone()).collect()
}

/// Whether the project's skill in the directory `skill` is trusted, by the nearest trusted folder that has a
/// record of it.
fn standing(skill: &Path, digest: Digest, trusted: &TrustedFolders) -> TrustStatus {
    let Some((folder, record, path)) = records_of(skill, trusted).next() else {
        return without_record(skill, trusted);
    };
    match trusted.standing(&record.folder, &path, digest) {
        TrustStatus::Changed
            if record.followed_skills.contains(&path) && is_followed(folder, skill, record) =>
        {
            TrustStatus::Followed
        }
        standing => standing,
    }
}

/// What a skill is that no trusted folder has a record of: new where its folder is trusted. A project below a
/// trusted folder is another one.
fn without_record(skill: &Path, trusted: &TrustedFolders) -> TrustStatus {
    /// `.agent/skills/NAME`.
    const OWN_DEPTH: usize = 3;
    let near = skill.ancestors().skip(1).take(OWN_DEPTH);
    let is_trusted =
        |folder: &Path| absolute(folder).is_ok_and(|folder| trusted.get(&folder).is_some());
    if near.into_iter().any(is_trusted) { TrustStatus::Added } else { TrustStatus::Untrusted }
}

/// The trusted folders that have a record of the skill in the directory `skill`, the nearest first, each with
/// the skill's path below it. The directory is without links, so what is above it is too, and nothing is
/// looked up on the disk: a listing asks this of every skill.
fn records_of<'a>(
    skill: &'a Path,
    trusted: &'a TrustedFolders,
) -> impl Iterator<Item = (&'a Path, &'a TrustedFolder, String)> {
    skill.ancestors().filter_map(|folder| {
        let record = trusted.get(&absolute(folder).ok()?)?;
        let path = stripped(folder, skill)?;
        record.skills.contains_key(&path).then_some((folder, record, path))
    })
}

/// Whether a change of the skill in the directory `skill` can only be the user's: the folder is still the
/// directory that was trusted, no other project lies between, and no other account can write any of it.
/// Both paths are without links.
fn is_followed(folder: &Path, skill: &Path, record: &TrustedFolder) -> bool {
    record.followed.is_some_and(|known| followed_folder(folder).is_ok_and(|now| now == known))
        && can_follow(folder, skill).is_ok()
}

/// The directory at `folder`, so that it is known again. Fails where the file system keeps no time of birth.
pub fn followed_folder(folder: &Path) -> std::io::Result<FollowedFolder> {
    let FileId { device, inode } = directory_id(folder)?;
    Ok(FollowedFolder { device, inode, born: directory_birth(folder)? })
}

/// Whether changes of the skill in the directory `skill` below `folder` can be followed, or why not. Both
/// paths are without links.
pub fn can_follow(folder: &Path, skill: &Path) -> Result<(), String> {
    let inner = skill.ancestors().take_while(|dir| *dir != folder);
    if let Some(project) = inner.into_iter().find(|dir| exists(&dir.join(".git"))) {
        return Err(format!("{} is a project of its own", project.display()));
    }
    let foreign = |path: &Path| writable_by_others(path).map(|access| access.about(path));
    if let Some(reason) = foreign(skill) {
        return Err(reason);
    }
    let (files, truncated) = list_files(skill, TreeLimits::default())
        .map_err(|error| format!("{}: {error}", skill.display()))?;
    if truncated {
        return Err(format!("{} has too many files", skill.display()));
    }
    let own = |file: &Path| {
        writable_by_others_below(skill, file).map_or(Ok(()), |access| Err(access.about(file)))
    };
    files.iter().try_for_each(|file| own(&skill.join(&file.path)))
}

/// The path of a skill below a folder, both without links: the key of a trust record.
pub fn path_below(folder: &Path, skill: &Path) -> Option<String> {
    stripped(&real_path(folder), &real_path(skill))
}

fn stripped(folder: &Path, skill: &Path) -> Option<String> {
    let below = skill.strip_prefix(folder).ok()?.to_str()?;
    Some(if cfg!(windows) { below.replace('\\', "/") } else { below.to_owned() })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_resolved_as_far_as_it_exists() {
        let dir = tempfile::tempdir().expect("a directory");
        let real = canonical(dir.path()).expect("is there");
        std::fs::create_dir(real.join("a")).expect("makes");
        std::os::unix::fs::symlink(real.join("a"), real.join("link")).expect("links");
        assert_eq!(real_path(&real.join("link/new/file")), real.join("a/new/file"));
        assert_eq!(real_path(&real.join("a")), real.join("a"));
        assert_eq!(path_below(&real, &real.join("link")).as_deref(), Some("a"));
        std::os::unix::fs::symlink("../elsewhere/new", real.join("a/dangling")).expect("links");
        assert_eq!(real_path(&real.join("a/dangling")), real.join("elsewhere/new"));
        std::os::unix::fs::symlink("loop", real.join("loop")).expect("links");
        assert_eq!(real_path(&real.join("loop/x")), real.join("loop/x"));
        assert_eq!(path_below(&real.join("a"), &real), None);
        metier_fs::write_atomic(&real.join("file"), b"").expect("writes");
        let mut resolver = Resolver::default();
        for path in [
            "a",
            "link",
            "a/new",
            "link/new",
            "gone/x",
            "gone/x/y",
            "a/dangling",
            "a/dangling/x",
            "loop",
            "loop/x",
            "file",
            "file/x",
            "link/../b",
            "gone/../b",
            "link/dangling",
        ] {
            let path = real.join(path);
            for _ in 0..2 {
                assert_eq!(resolver.real_path(&path), real_path(&path), "{}", path.display());
            }
        }
    }
}
