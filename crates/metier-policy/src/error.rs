//! Why a request, a rule or an answer is invalid. Each kind has a stable code and a hint.
//!
//! A caller that gets one of these while it builds a request must refuse the request: what cannot be
//! described cannot be allowed.

use std::fmt;

/// Why a value was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The name of a permission is empty, too long, or has blanks or control characters.
    BadPermission(String),
    /// The name of another program's tool is that of a built-in tool.
    ReservedName(String),
    /// The path is not absolute, or has parts such as `..` that only a file system can resolve.
    BadPath(String),
    /// The host is empty or malformed.
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
    /// The subject of the request is longer than any rule could match.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The limit.
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
    /// The ask is not open: it was answered or withdrawn, or never existed.
    NotPending(String),
    /// The answer is to another kind of question: only [`crate::Answer::Lift`] lifts ceilings, and it
    /// approves nothing.
    OtherQuestion(String),
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
            Self::OtherQuestion(_) => "other-question",
        }
    }

    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::BadPermission(_) => "a permission is one word, such as `run_script`",
            Self::ReservedName(_) => "give the tool another name",
            Self::BadPath(_) => "use the absolute, resolved path of the file",
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
            Self::NotPending(_) => "list the open asks",
            Self::OtherQuestion(_) => {
                "answer `lift` to a question about ceilings, `once` or `always` to any other"
            }
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPermission(name) => {
                write!(f, "{} is not a valid permission name", shown(name))
            }
            Self::ReservedName(name) => {
                write!(f, "{} is the name of a built-in tool", shown(name))
            }
            Self::BadPath(path) => write!(f, "{} is not an absolute, resolved path", shown(path)),
            Self::BadHost(host) => write!(f, "{} is not a valid host", shown(host)),
            Self::EmptyCommand => f.write_str("the command has no program"),
            Self::ShellSyntax { command, found } => {
                write!(f, "the command {} needs a shell for {}", shown(command), shown(found))
            }
            Self::TooLong { bytes, limit } => {
                write!(f, "the request has {bytes} bytes; the limit is {limit}")
            }
            Self::BadPattern(pattern) => write!(f, "{} is not a valid pattern", shown(pattern)),
            Self::BadRule { origin, line: Some(line), reason } => {
                write!(f, "{origin}:{line}: {reason}")
            }
            Self::BadRule { origin, line: None, reason } => write!(f, "{origin}: {reason}"),
            Self::NotPending(ask) => write!(f, "{} is not waiting for an answer", shown(ask)),
            Self::OtherQuestion(ask) => write!(f, "{} asks something else", shown(ask)),
        }
    }
}

impl std::error::Error for PolicyError {}

/// Characters of an untrusted text in a sentence.
const SHOWN_CHARS: usize = 160;

/// An untrusted text, escaped and quoted for a sentence.
pub(crate) fn shown(text: &str) -> String {
    metier_skill::text::quoted(text, SHOWN_CHARS)
}
