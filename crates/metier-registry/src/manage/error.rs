//! Why a skill was not made, deleted or brought back; nothing was changed then.
//!
//! Each has a stable code and says what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

use metier_skill::{Code, PathFault, RelPath};

/// Why it was not done.
#[derive(Debug)]
#[non_exhaustive]
pub enum ManageError {
    /// The name breaks the public rules.
    BadName {
        /// What was asked for.
        name: String,
        /// The nearest name that does not.
        suggestion: Option<String>,
    },
    /// The skill would be kept out of the index.
    WouldBeIgnored {
        /// The diagnostic's code.
        code: Code,
        /// What is wrong.
        message: String,
    },
    /// Something stands where the skill should stand.
    Exists(PathBuf),
    /// A path that cannot be kept as text.
    PathNotText(PathBuf),
    /// A link above the skill leads out of the folder of skills.
    BehindLink {
        /// The skill's directory, by way of the link.
        path: PathBuf,
        /// Where it really stands.
        real: PathBuf,
        /// The link.
        link: PathBuf,
    },
    /// No backup is called so.
    NoBackup {
        /// What was asked for.
        query: String,
        /// How many backups of this name there are.
        of_this_name: usize,
        /// The newest one of another place: its id, and where the skill was.
        elsewhere: Option<(String, PathBuf)>,
    },
    /// The system refused.
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

impl ManageError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadName { .. } => "bad-name",
            Self::WouldBeIgnored { code, .. } => code.as_str(),
            Self::Exists(_) => "already-exists",
            Self::PathNotText(_) => "path-not-text",
            Self::BehindLink { .. } => "behind-a-link",
            Self::NoBackup { .. } => "no-backup",
            Self::Io { .. } => "not-written",
        }
    }

    /// What to do.
    pub fn help(&self) -> String {
        match self {
            Self::BadName { suggestion: Some(name), .. } => format!("try `{name}`"),
            Self::BadName { suggestion: None, name } if is_device(name) => {
                "choose another name: a skill has to work everywhere".to_owned()
            }
            Self::BadName { suggestion: None, .. } => {
                "use lower-case letters, digits and single hyphens, at most 64 characters"
                    .to_owned()
            }
            Self::WouldBeIgnored { code, .. } => code.info().fix_advice.to_owned(),
            Self::Exists(_) => "choose another name, or move the existing one away".to_owned(),
            Self::PathNotText(_) => "rename the folder, or move it by hand".to_owned(),
            Self::BehindLink { link, .. } => format!(
                "remove the link {} to remove everything behind it, or delete the folder it points to",
                link.display()
            ),
            Self::NoBackup { of_this_name: 0, elsewhere: Some((id, path)), .. } => format!(
                "the newest one is of {}; to restore it there: metier restore {id}",
                path.display()
            ),
            Self::NoBackup { of_this_name: 0, .. } => {
                "`metier restore --list` shows every backup".to_owned()
            }
            Self::NoBackup { of_this_name: 1, .. } => "there is one backup of it: @1".to_owned(),
            Self::NoBackup { of_this_name, .. } => {
                format!(
                    "there are {of_this_name} backups of it: @1 (the newest) to @{of_this_name}"
                )
            }
            Self::Io { .. } => {
                "nothing was changed; check the permissions and the free space".to_owned()
            }
        }
    }

    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists(path),
            _ => Self::Io { path, error },
        }
    }
}

/// Whether a name breaks no rule of skills but that of Windows: `con`, `nul`, `com1`.
fn is_device(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && RelPath::new(name) == Err(PathFault::Reserved)
}

impl fmt::Display for ManageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName { name, .. } if is_device(name) => {
                write!(
                    f,
                    "`{name}` is the name of a device on Windows, where no folder can have it"
                )
            }
            Self::BadName { name, .. } => write!(
                f,
                "`{name}` is not a valid skill name: use lower-case letters, digits and single \
                 hyphens inside, at most 64 characters"
            ),
            Self::WouldBeIgnored { code, message } => write!(f, "{message} [{code}]"),
            Self::Exists(path) => write!(f, "{} is there already", path.display()),
            Self::PathNotText(path) => {
                write!(
                    f,
                    "the path {} is not UTF-8, so a backup could not record it",
                    path.display()
                )
            }
            Self::BehindLink { path, real, .. } => write!(
                f,
                "{} is reached through a link; it is really at {}, outside your skills folder",
                path.display(),
                real.display()
            ),
            Self::NoBackup { query, elsewhere: Some(_), .. } => {
                write!(f, "there is no backup `{query}` of a skill here")
            }
            Self::NoBackup { query, .. } => write!(f, "there is no backup `{query}`"),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for ManageError {}
