//! Why something was not shipped. Each error has a stable code and says what to do.
//!
//! Unless the text says otherwise, nothing was changed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use metier_registry::manage::ManageError;
use metier_sign::SignatureError;

use crate::archive::{ArchiveError, ArchiveFault};
use crate::facts::SkillProblem;
use crate::fetch::GitFault;
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
    /// There is nothing at the path that was named.
    NoSource(String),
    /// The source is of a kind that is not supported.
    UnsupportedSource {
        /// As it was given.
        source: String,
        /// What kind of source it looks like.
        kind: &'static str,
    },
    /// The source has no skill.
    NoSkill(String),
    /// The source has a skill at its top and others in folders.
    TwoLayouts(String),
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
    /// The source gives something else than what is locked.
    LockMismatch {
        /// The skill.
        name: String,
        /// The source.
        source: String,
    },
    /// No skill of this name is installed here.
    NotInstalled(String),
    /// A backup could not be made or used.
    Backup(ManageError),
    /// What was given cannot be a source.
    BadSource {
        /// As it was given, without credentials.
        source: String,
        /// What is wrong with it.
        reason: &'static str,
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
}

/// A skill that stands where another one should be put.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Obstacle {
    /// The name of both.
    pub name: String,
    /// Why it is not replaced.
    pub reason: ObstacleReason,
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
}

impl ObstacleReason {
    const fn text(self) -> &'static str {
        match self {
            Self::Unmanaged => "was not installed by Metier",
            Self::Modified => "was changed since it was installed",
            Self::OtherSource => "was installed from another source",
            Self::NotAFolder => "is not a folder",
            Self::Moved => "was installed from a tag that has been moved since",
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

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Archive { error, .. } => error.code(),
            Self::Directory { fault, .. } => fault.code(),
            Self::NotReadable { .. } => "not-readable",
            Self::NotWritten { .. } => "not-written",
            Self::NoSource(_) => "source-not-found",
            Self::UnsupportedSource { .. } => "source-unsupported",
            Self::NoSkill(_) => "no-skill",
            Self::TwoLayouts(_) => "two-layouts",
            Self::BadSkill { problem, .. } => problem.code.as_str(),
            Self::BadName(_) => "bad-name",
            Self::NameTwice(_) => "name-twice",
            Self::NotInSource { .. } => "not-in-source",
            Self::ManifestMismatch { .. } => "manifest-mismatch",
            Self::InTheWay(_) => "already-exists",
            Self::TargetChanged(_) => "target-changed",
            Self::BadTarget { .. } => "bad-target",
            Self::Busy(_) => "busy",
            Self::BadRecord { .. } => "bad-record",
            Self::LockOutdated(_) => "lock-outdated",
            Self::LockMismatch { .. } => "lock-mismatch",
            Self::NotInstalled(_) => "not-installed",
            Self::Backup(error) => error.code(),
            Self::BadSource { .. } => "bad-source",
            Self::Signature { error, .. } => error.code(),
            Self::SignerChanged { found, .. } if found.is_empty() => "signer-missing",
            Self::SignerChanged { .. } => "signer-changed",
            Self::SignatureExists(_) => "signature-exists",
            Self::Git { fault, .. } => fault.code(),
            Self::SourceDenied { denial, .. } => denial.code(),
            Self::SeveralSkills { .. } => "several-skills",
            Self::NoPlugin { .. } => "no-plugin",
        }
    }

    /// What to do.
    pub fn help(&self) -> String {
        match self {
            Self::Archive {
                error: ArchiveError::Fault { fault: ArchiveFault::NameEncoding, .. },
                ..
            } => "programs read such names differently; pack it anew with `metier pack`".to_owned(),
            Self::Archive { error: ArchiveError::Fault { .. }, .. } => {
                "nothing was installed; get the archive again, or pack it anew with `metier pack`".to_owned()
            }
            Self::Archive { .. } | Self::NotReadable { .. } => {
                "check the path and the permissions".to_owned()
            }
            Self::Directory { .. } => "rename or remove the file, and try again".to_owned(),
            Self::NotWritten { .. } => {
                "nothing was changed; check the permissions and the free space there".to_owned()
            }
            Self::NoSource(_) | Self::UnsupportedSource { .. } | Self::BadSource { .. } => {
                format!("supported sources: {}", crate::source::SUPPORTED)
            }
            Self::NoSkill(_) => "a skill is a folder with a file named exactly SKILL.md".to_owned(),
            Self::TwoLayouts(_) => "name the folder of the skill that you want".to_owned(),
            Self::BadSkill { problem, .. } => problem.code.info().fix_advice.to_owned(),
            Self::BadName(_) => {
                "use lower-case letters, digits and single hyphens, at most 64 characters".to_owned()
            }
            Self::NameTwice(_) => "pack or install them one by one".to_owned(),
            Self::NotInSource { has, .. } => format!("it has: {}", has.join(", ")),
            Self::ManifestMismatch { .. } => "nothing was installed; get the archive again".to_owned(),
            Self::InTheWay(_) => {
                "--force replaces what is there; a backup is kept, and `metier restore` restores it".to_owned()
            }
            Self::TargetChanged(_) => "run the command again to see a new plan".to_owned(),
            Self::BadTarget { .. } => "replace it by a folder of your own, and try again".to_owned(),
            Self::Busy(_) => "wait for the other process, and try again".to_owned(),
            Self::BadRecord { .. } => {
                "nothing was changed; fix the file, or restore it from version control".to_owned()
            }
            Self::LockOutdated(_) => "run `metier install` without --locked, and commit the lock".to_owned(),
            Self::LockMismatch { name, source } => format!(
                "to accept what it gives now: metier install {source} --skill {name}"
            ),
            Self::NotInstalled(_) => {
                "`metier list` shows the skills; one that Metier did not install is removed by `metier delete`"
                    .to_owned()
            }
            Self::Backup(error) => error.help(),
            Self::Signature { error, .. } => error.help(),
            Self::SignerChanged { .. } => {
                "nothing was installed; ask the publisher, and if the change is right: --accept-signer"
                    .to_owned()
            }
            Self::SignatureExists(_) => "--force replaces it".to_owned(),
            Self::Git { fault, .. } => fault.help(),
            Self::SourceDenied { denial, .. } => denial.help(),
            Self::NoPlugin { has, .. } if has.is_empty() => {
                "plugins are listed in .claude-plugin/marketplace.json or .agents/plugins/marketplace.json"
                    .to_owned()
            }
            Self::NoPlugin { has, .. } => format!("it lists: {}", has.join(", ")),
            Self::SeveralSkills { has, .. } => {
                format!("choose with --skill NAME,NAME or --all; it has: {}", has.join(", "))
            }
        }
    }
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Directory { path, fault, entry: Some(entry) } => {
                write!(f, "{}: `{entry}`: {fault}", path.display())
            }
            Self::Directory { path, fault, entry: None } => {
                write!(f, "{}: {fault}", path.display())
            }
            Self::NotReadable { path, error } => {
                write!(f, "{} cannot be read: {error}", path.display())
            }
            Self::NotWritten { path, error } => {
                write!(f, "{} cannot be written: {error}", path.display())
            }
            Self::NoSource(source) => write!(f, "there is nothing at {source}"),
            Self::UnsupportedSource { source, kind } => {
                write!(f, "{source} is {kind}, which is not a supported source yet")
            }
            Self::NoSkill(source) => write!(f, "there is no SKILL.md in {source}"),
            Self::TwoLayouts(source) => write!(
                f,
                "{source} has a SKILL.md at its top and in folders below: it could be one skill or several"
            ),
            Self::BadSkill { path, problem } => {
                let file = if path.is_empty() {
                    "SKILL.md".to_owned()
                } else {
                    format!("{path}/SKILL.md")
                };
                write!(f, "{file}:{}: {}", problem.line, problem.message)
            }
            Self::BadName(name) => write!(f, "`{name}` cannot be the name of a skill's folder"),
            Self::NameTwice(name) => write!(f, "two skills are called `{name}`"),
            Self::NotInSource { name, .. } => write!(f, "the source has no skill `{name}`"),
            Self::ManifestMismatch { path, what } => {
                write!(f, "{}: its manifest.json does not fit its files: {what}", path.display())
            }
            Self::InTheWay(obstacles) => {
                let each: Vec<String> = obstacles
                    .iter()
                    .map(|it| format!("`{}` {}", it.name, it.reason.text()))
                    .collect();
                write!(f, "{}", each.join("; "))
            }
            Self::TargetChanged(path) => {
                write!(f, "{} changed since the plan was made", path.display())
            }
            Self::BadTarget { path, reason } => write!(f, "{} {reason}", path.display()),
            Self::Busy(path) => {
                write!(f, "another process has been changing {} for too long", path.display())
            }
            Self::BadRecord { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::LockOutdated(names) => {
                write!(f, "skills.json and skills.lock.json disagree about {}", names.join(", "))
            }
            Self::LockMismatch { name, source } => {
                write!(f, "`{name}`: {source} is not what skills.lock.json says it was")
            }
            Self::NotInstalled(name) => write!(f, "`{name}` is not installed here"),
            Self::Backup(error) => error.fmt(f),
            Self::SourceDenied { source, denial } => write!(f, "{source} {denial}"),
            Self::NoPlugin { source, name, .. } => write!(f, "{source} lists no plugin `{name}`"),
            Self::SeveralSkills { source, has } => {
                write!(f, "{source} has {} skills, and none was chosen", has.len())
            }
            Self::Git { source, fault } => write!(f, "{source}: {fault}"),
            Self::BadSource { source, reason } => {
                write!(f, "{source} cannot be a source: {reason}")
            }
            Self::Signature { file, error } => write!(f, "{file}: {error}"),
            Self::SignerChanged { name, pinned, found } if found.is_empty() => {
                write!(f, "`{name}` was signed by {pinned}, and no such signature is here now")
            }
            Self::SignerChanged { name, pinned, found } => {
                write!(f, "`{name}` was signed by {pinned}, and now by {}", found.join(", "))
            }
            Self::SignatureExists(path) => write!(f, "{} exists already", path.display()),
        }
    }
}

impl std::error::Error for PackError {}
