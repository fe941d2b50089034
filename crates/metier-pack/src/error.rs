//! Why something was not shipped. Each error has a stable code and says what to do.
//!
//! Unless the text says otherwise, nothing was changed.

mod wording;

use std::io;
use std::path::{Path, PathBuf};

use metier_registry::manage::ManageError;
use metier_sign::SignatureError;
use metier_skill::FailureCode;

use crate::archive::{ArchiveError, ArchiveFault};
use crate::facts::SkillProblem;
use crate::fetch::{FetchError, GitFault};
use crate::left_out::LeftOut;
use crate::plan::PlanView;
use crate::source_policy::SourceDenial;

/// Why something was not shipped.
#[derive(Debug)]
#[non_exhaustive]
pub enum PackError {
    /// An archive cannot be used.
    Archive {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: ArchiveError,
    },
    /// A directory cannot be shipped.
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        fault: ArchiveFault,
        /// The file in it, where one is at fault.
        entry: Option<String>,
    },
    /// A file or directory cannot be read.
    NotReadable {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Something cannot be written.
    NotWritten {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A change that counts could not be carried out to its end; the next command continues it.
    Unfinished {
        /// The folder of skills.
        root: PathBuf,
        /// What stopped it.
        error: Box<PackError>,
    },
    /// There is nothing at the path that was named.
    NoSource {
        /// The path.
        source: String,
        /// What has nearly that name.
        near: Option<String>,
    },
    /// The source lies in the folder that would be installed into.
    SourceIsTarget(String),
    /// The source is of a kind that is not supported.
    UnsupportedSource {
        /// As it was given.
        source: String,
        /// What kind of source it looks like.
        kind: &'static str,
    },
    /// The source has no skill.
    NoSkill(String),
    /// A `SKILL.md` of the source is not taken, because it is a link, say.
    SkillsLeftOut {
        /// The source.
        source: String,
        /// Each of them.
        left_out: Vec<LeftOut>,
    },
    /// The source has a skill at its top and others in folders.
    TwoLayouts(String),
    /// Several skills were to be packed into an archive that has `SKILL.md` at its top.
    FlatOfSeveral {
        /// The source.
        source: String,
        /// Its skills.
        has: Vec<String>,
    },
    /// A skill of the source cannot be used.
    BadSkill {
        /// Its directory in the source.
        path: String,
        /// Why.
        problem: SkillProblem,
    },
    /// The name of a skill cannot be the name of its folder.
    BadName(String),
    /// Two skills of the source have one name.
    NameTwice(String),
    /// The source has no skill of this name.
    NotInSource {
        /// The name.
        name: String,
        /// The names it has.
        has: Vec<String>,
    },
    /// The archive's own list of digests does not fit its files.
    ManifestMismatch {
        /// The archive.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// Skills are in the way that must not be replaced without a word.
    InTheWay(Vec<Obstacle>),
    /// The target changed between the plan and its execution.
    TargetChanged(PathBuf),
    /// The folder of skills cannot be used.
    BadTarget {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// The caller cancelled it.
    Cancelled,
    /// Another process has been installing for too long.
    Busy(PathBuf),
    /// `skills.json` or `skills.lock.json` cannot be understood.
    BadRecord {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// `skills.json` and `skills.lock.json` disagree.
    LockOutdated(Vec<String>),
    /// What `skills.lock.json` says of these skills contradicts itself.
    LockContradicts(Vec<String>),
    /// The source gives something else than what is locked.
    LockMismatch {
        /// The skill.
        name: String,
        /// The source.
        source: String,
    },
    /// No skill of this name is installed here.
    NotInstalled {
        /// Its name.
        name: String,
        /// An installed skill that has nearly that name.
        near: Option<String>,
    },
    /// A backup could not be made or used.
    Backup(ManageError),
    /// What was given cannot be a source.
    BadSource {
        /// As it was given, without credentials.
        source: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A source on the network was not fetched.
    Fetch(FetchError),
    /// A git repository could not be fetched.
    Git {
        /// As the records spell it.
        source: String,
        /// Why.
        fault: GitFault,
    },
    /// A source may not be used.
    SourceDenied {
        /// As the records spell it.
        source: String,
        /// Why.
        denial: SourceDenial,
    },
    /// The source has several skills, and none was chosen.
    SeveralSkills {
        /// As the records spell it.
        source: String,
        /// The names of its skills.
        has: Vec<String>,
    },
    /// The source lists no plugin of this name.
    NoPlugin {
        /// The source.
        source: String,
        /// The name.
        name: String,
        /// The plugins it lists.
        has: Vec<String>,
    },
    /// A signature is wrong, or a key cannot be used.
    Signature {
        /// The file of the signature or the key.
        file: String,
        /// What is wrong with it.
        error: SignatureError,
    },
    /// A skill is signed by someone else than when it was accepted, or by no one.
    SignerChanged {
        /// The skill.
        name: String,
        /// The signer that the lock pins.
        pinned: String,
        /// Who signed it now.
        found: Vec<String>,
    },
    /// There is a signature already.
    SignatureExists(PathBuf),
    /// New findings of high severity, which no one has accepted.
    NewFindings(Vec<FoundInSkill>),
    /// Skills that need each other in a circle, each the next one.
    DependencyCycle(Vec<String>),
    /// Skills that others need.
    Required(Vec<RequiredSkill>),
}

/// A finding that stops a plan.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct FoundInSkill {
    /// The skill.
    pub skill: String,
    /// The code of the rule.
    pub rule: &'static str,
    /// The file and, where it is known, the line.
    pub place: String,
}

/// A skill that others need.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct RequiredSkill {
    /// Its name.
    pub name: String,
    /// Those that need it.
    pub by: Vec<String>,
}

/// A skill that stands where another one should be put.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Obstacle {
    /// The name of both.
    pub name: String,
    /// Why it is not replaced.
    pub reason: ObstacleReason,
    /// Where it stands, for one that is not in the folder of skills itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

impl Obstacle {
    pub(crate) fn new(name: &str, reason: ObstacleReason) -> Self {
        Self { name: name.to_owned(), reason, path: None }
    }

    /// One at this place.
    pub(crate) fn at(name: &str, reason: ObstacleReason, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..Self::new(name, reason) }
    }
}

/// Why a skill is not replaced without a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ObstacleReason {
    /// It was not installed by Metier.
    Unmanaged,
    /// It was changed since it was installed.
    Modified,
    /// It was installed from another source.
    OtherSource,
    /// Something that is not a folder stands there.
    NotAFolder,
    /// The tag that it was installed from means another commit now.
    Moved,
    /// It was installed there as a copy, where a link is wanted.
    InstalledCopy,
    /// Its name differs in nothing but case, or in how accents are encoded.
    OtherSpelling,
    /// What the lock says of it contradicts itself.
    BadLock,
}

impl ObstacleReason {
    const fn text(self) -> &'static str {
        match self {
            Self::Unmanaged => "was not installed by Metier",
            Self::Modified => "was changed since it was installed",
            Self::OtherSource => "was installed from another source",
            Self::NotAFolder => "is not a folder",
            Self::Moved => "was installed from a tag that has been moved since",
            Self::InstalledCopy => "was installed there as a copy",
            Self::OtherSpelling => "differs only in case, which some systems ignore, from",
            Self::BadLock => "is not what skills.lock.json says, which contradicts itself about it",
        }
    }
}

impl PackError {
    pub(crate) fn not_readable(path: impl AsRef<Path>, error: io::Error) -> Self {
        Self::NotReadable { path: path.as_ref().to_owned(), error }
    }

    pub(crate) fn not_written(path: impl AsRef<Path>, error: io::Error) -> Self {
        Self::NotWritten { path: path.as_ref().to_owned(), error }
    }

    pub(crate) fn in_directory(path: &Path, fault: ArchiveFault, entry: Option<String>) -> Self {
        Self::Directory { path: path.to_owned(), fault, entry }
    }

    pub(crate) fn archive(path: &Path, error: ArchiveError) -> Self {
        Self::Archive { path: path.to_owned(), error }
    }

    /// The same about a source that was fetched to `path`, which no one knows: it is called `shown`.
    pub(crate) fn called(mut self, path: &Path, shown: &str) -> Self {
        match &mut self {
            Self::Archive { path: at, .. }
            | Self::Directory { path: at, .. }
            | Self::NotReadable { path: at, .. } => {
                if let Ok(inner) = at.strip_prefix(path) {
                    let is_top = inner.as_os_str().is_empty();
                    *at = if is_top { PathBuf::from(shown) } else { Path::new(shown).join(inner) };
                }
            }
            _ => {}
        }
        self
    }

    /// The error of a plan with findings that no one has accepted.
    pub(crate) fn new_findings(view: &PlanView) -> Self {
        let found = view.stopping().map(|(skill, found)| FoundInSkill {
            skill: skill.name.clone(),
            rule: found.finding.rule,
            place: match found.finding.line {
                0 => found.finding.file.clone(),
                line => format!("{}:{line}", found.finding.file),
            },
        });
        Self::NewFindings(found.collect())
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Archive { error, .. } => error.code(),
            Self::Directory { fault, .. } => fault.code(),
            Self::NotReadable { .. } => "not-readable",
            Self::NotWritten { .. } => "not-written",
            Self::Unfinished { .. } => "unfinished",
            Self::NoSource { .. } => "source-not-found",
            Self::SourceIsTarget(_) => "source-is-target",
            Self::UnsupportedSource { .. } => "source-unsupported",
            Self::NoSkill(_) => "no-skill",
            Self::SkillsLeftOut { .. } => "skill-left-out",
            Self::TwoLayouts(_) => "two-layouts",
            Self::FlatOfSeveral { .. } => "flat-of-several",
            Self::BadSkill { problem, .. } => problem.code.as_str(),
            Self::BadName(_) => "bad-name",
            Self::NameTwice(_) => "name-twice",
            Self::NotInSource { .. } => "not-in-source",
            Self::ManifestMismatch { .. } => "manifest-mismatch",
            Self::InTheWay(_) => "already-exists",
            Self::TargetChanged(_) => "target-changed",
            Self::BadTarget { .. } => "bad-target",
            Self::Cancelled => FailureCode::Cancelled.as_str(),
            Self::Busy(_) => "busy",
            Self::BadRecord { .. } => "bad-record",
            Self::LockOutdated(_) => "lock-outdated",
            Self::LockContradicts(_) => "bad-lock",
            Self::LockMismatch { .. } => "lock-mismatch",
            Self::NotInstalled { .. } => "not-installed",
            Self::Backup(error) => error.code(),
            Self::BadSource { .. } => "bad-source",
            Self::Fetch(error) => error.code(),
            Self::Git { fault, .. } => fault.code(),
            Self::SourceDenied { denial, .. } => denial.code(),
            Self::SeveralSkills { .. } => "several-skills",
            Self::NoPlugin { .. } => "no-plugin",
            Self::Signature { error, .. } => error.code(),
            Self::SignerChanged { found, .. } if found.is_empty() => "signer-missing",
            Self::SignerChanged { .. } => "signer-changed",
            Self::SignatureExists(_) => "signature-exists",
            Self::NewFindings(_) => "new-findings",
            Self::DependencyCycle(_) => "dependency-cycle",
            Self::Required(_) => "required",
        }
    }
}

impl std::error::Error for PackError {}

impl From<FetchError> for PackError {
    fn from(error: FetchError) -> Self {
        Self::Fetch(error)
    }
}
