//! Why a run cannot begin or be resumed. What goes wrong inside a run is an observation or a status.
//! The words for people, and the exit code, are the command line's.

use std::path::PathBuf;

use thiserror::Error;

use crate::log::LogFault;
use crate::run_id::RunId;

/// Why a run cannot begin or be resumed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// There is a folder of that name already.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// Another process is running it.
    #[error("the run in {} is running in another process", .0.display())]
    Busy(PathBuf),
    /// A link stands where a folder of records should be.
    #[error("{} is a link: records are neither written nor read through links", .0.display())]
    Link(PathBuf),
    /// Something else stands where a folder of records should be.
    #[error("{} is not a folder, so there is no place for records", .0.display())]
    NotAFolder(PathBuf),
    /// A file of the run cannot be read.
    #[error("{} cannot be read: {}", .0.display(), .1)]
    Unreadable(PathBuf, String),
    /// The record cannot be written. Nothing is done that is not written down.
    #[error("the record in {} cannot be written: {}", .0.display(), .1)]
    Unwritten(PathBuf, String),
    /// The record is not what was written.
    #[error("{}: {}", .0.display(), .1)]
    Record(PathBuf, LogFault),
    /// A stored text is not what the record says.
    #[error("{} is not what the record says", .0.display())]
    Text(PathBuf),
    /// Its time cannot be kept, so it does not begin.
    #[error("the time limit of the run cannot be kept: {0}")]
    NoTimer(String),
    /// The process ended before the first event: nothing says what the run was given.
    #[error("the run {0} ended before anything was recorded")]
    NotBegun(RunId),
    /// The run has ended and cannot be resumed.
    #[error("the run has ended ({0}) and cannot be resumed")]
    Ended(&'static str),
}

impl AgentError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Exists(_) => "run-exists",
            Self::Busy(_) => "run-busy",
            Self::Link(_) => "behind-a-link",
            Self::NotAFolder(_) => "not-a-folder",
            Self::Unreadable(..) => "run-unreadable",
            Self::Unwritten(..) => "run-unwritable",
            Self::Record(..) | Self::Text(_) => "record-broken",
            Self::NoTimer(_) => "no-timer",
            Self::NotBegun(_) => "run-not-begun",
            Self::Ended(_) => "run-ended",
        }
    }

    /// The same about this file.
    pub(crate) fn in_file(self, file: &std::path::Path) -> Self {
        match self {
            Self::Record(_, fault) => Self::Record(file.to_owned(), fault),
            other => other,
        }
    }

    /// What to do next.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Exists(_) => "start again: every run gets a new name",
            Self::Busy(_) => "wait for it, or stop that process",
            Self::Link(_) => "replace the link by a folder of the project, or remove it",
            Self::NotAFolder(_) => "move it away: records are kept in `.agent/runs`",
            Self::Unreadable(..) => "`metier runs` lists the runs that can be read",
            Self::Unwritten(..) => "check the permissions and the free space there",
            Self::Record(..) | Self::Text(_) => {
                "`metier audit verify RUN` says what is wrong; start a new run"
            }
            Self::NoTimer(_) => {
                "the system starts no more threads: end other programs, then try again"
            }
            Self::NotBegun(_) => "nothing was done; start it again",
            Self::Ended(_) => "start a new run; `metier show RUN` shows this one",
        }
    }
}
