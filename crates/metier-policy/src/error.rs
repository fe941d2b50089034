//! Why something is no request, no rule or no answer. Each kind has a stable code and a hint.
//!
//! A caller that gets one of these while it makes a request must refuse the request: what cannot be
//! described cannot be allowed.

use std::fmt;

/// Why a value was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The name of a permission is empty, too long, or has blanks or control characters.
    BadPermission(String),
    /// The name of a foreign tool is one that means a tool of ours.
    ReservedName(String),
    /// The path is not absolute, or has parts such as `..` that only a file system can resolve.
    BadPath(String),
    /// The host is empty or is no host.
    BadHost(String),
    /// There is no program in the command.
    EmptyCommand,
    /// The command line is more than plain words: it needs a shell, and there is none.
    ShellSyntax {
        /// The command line.
        command: String,
        /// What only a shell understands.
        found: String,
    },
    /// What the request is about is longer than anything a rule could mean.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The most it may have.
        limit: usize,
    },
    /// The pattern of a rule is empty or too long.
    BadPattern(String),
    /// A rule of a file cannot be used.
    BadRule {
        /// The file.
        origin: String,
        /// The line in it.
        line: Option<usize>,
        /// What is wrong with it.
        reason: Box<PolicyError>,
    },
    /// Nobody waits for the answer to this ask: it is answered, withdrawn or was never made.
    NotPending(String),
}

impl PolicyError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadPermission(_) => "bad-permission",
            Self::ReservedName(_) => "reserved-name",
            Self::BadPath(_) => "bad-path",
            Self::BadHost(_) => "bad-host",
            Self::EmptyCommand => "empty-command",
            Self::ShellSyntax { .. } => "shell-syntax",
            Self::TooLong { .. } => "too-long",
            Self::BadPattern(_) => "bad-pattern",
            Self::BadRule { .. } => "bad-rule",
            Self::NotPending(_) => "not-pending",
        }
    }

    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::BadPermission(_) => "a permission is one word, such as `run_script`",
            Self::ReservedName(_) => "give the tool a name of its own",
            Self::BadPath(_) => "name the file by its absolute, resolved path",
            Self::BadHost(_) => {
                "name a host, such as `api.example.com`, in ASCII (`xn--...` where it has other letters)"
            }
            Self::EmptyCommand => "name the program to run",
            Self::ShellSyntax { .. } => {
                "run one program with its arguments; put pipes and the like into a script"
            }
            Self::TooLong { .. } => "pass large input as a file",
            Self::BadPattern(_) => "write `*` for everything",
            Self::BadRule { reason, .. } => reason.help(),
            Self::NotPending(_) => "list the asks that are open",
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPermission(name) => write!(f, "{} is no name of a permission", shown(name)),
            Self::ReservedName(name) => {
                write!(f, "{} means a tool of Metier's own", shown(name))
            }
            Self::BadPath(path) => write!(f, "{} is no absolute, resolved path", shown(path)),
            Self::BadHost(host) => write!(f, "{} is no host", shown(host)),
            Self::EmptyCommand => f.write_str("the command names no program"),
            Self::ShellSyntax { command, found } => {
                write!(f, "the command {} needs a shell for {}", shown(command), shown(found))
            }
            Self::TooLong { bytes, limit } => {
                write!(f, "the request has {bytes} bytes; at most {limit} are looked at")
            }
            Self::BadPattern(pattern) => write!(f, "{} is no pattern", shown(pattern)),
            Self::BadRule { origin, line: Some(line), reason } => {
                write!(f, "{origin}:{line}: {reason}")
            }
            Self::BadRule { origin, line: None, reason } => write!(f, "{origin}: {reason}"),
            Self::NotPending(ask) => write!(f, "nobody waits for an answer to {}", shown(ask)),
        }
    }
}

impl std::error::Error for PolicyError {}

/// Characters of a foreign text that a sentence shows.
const SHOWN_CHARS: usize = 160;

/// A foreign text inside a sentence.
pub(crate) fn shown(text: &str) -> String {
    metier_skill::text::quoted(text, SHOWN_CHARS)
}
