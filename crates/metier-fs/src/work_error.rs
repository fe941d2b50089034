//! Why a file of a workspace could not be read or changed.
//!
//! The reasons are few, and differ in what a caller can do about them; the tools turn each into
//! an observation with a stable code.

use std::fmt;
use std::io;

use metier_skill::PathFault;

/// Why a file of a workspace could not be read or changed. Nothing was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkError {
    /// There is no such file or directory.
    Missing,
    /// A link leads out of the directory, or to itself.
    Escapes,
    /// A link stands in the path, where none is followed: nothing is written through links.
    Link,
    /// It is a directory, pipe, socket or device.
    NotRegular,
    /// It is no directory.
    NotADirectory,
    /// Another directory entry names the same file, perhaps outside the directory.
    HardLink,
    /// It is larger than the limit, which is given.
    TooLarge(u64),
    /// Something stands there already.
    Exists,
    /// Another process changed it in the meantime.
    Changed,
    /// The path may not be used for this.
    Path(PathFault),
    /// Anything else.
    Io(io::Error),
}

impl fmt::Display for WorkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file or directory"),
            Self::Escapes => f.write_str("a link leads out of the directory"),
            Self::Link => f.write_str("the path contains a link, and links are not followed here"),
            Self::NotRegular => f.write_str("it is not a regular file"),
            Self::NotADirectory => f.write_str("it is not a directory"),
            Self::HardLink => {
                f.write_str("it is a hard link: another directory entry names the same file")
            }
            Self::TooLarge(limit) => write!(f, "it is larger than {limit} bytes"),
            Self::Exists => f.write_str("there is already something there"),
            Self::Changed => f.write_str("another process changed it in the meantime"),
            Self::Path(fault) => fault.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WorkError {}

impl From<io::Error> for WorkError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::AlreadyExists => Self::Exists,
            io::ErrorKind::NotADirectory => Self::NotADirectory,
            _ => Self::Io(error),
        }
    }
}

#[cfg(unix)]
impl From<rustix::io::Errno> for WorkError {
    fn from(error: rustix::io::Errno) -> Self {
        use rustix::io::Errno;
        match error {
            Errno::NOENT => Self::Missing,
            Errno::EXIST => Self::Exists,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::LOOP => Self::Link,
            Errno::XDEV => Self::Escapes,
            Errno::NXIO | Errno::OPNOTSUPP => Self::NotRegular,
            other => Self::Io(other.into()),
        }
    }
}
