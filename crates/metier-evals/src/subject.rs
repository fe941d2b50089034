//! What is tested: something that works on a request and can be watched doing it.
//!
//! Our own loop is one; another agent, driven over a protocol, is another. A subject carries out and
//! observes; it never judges.

use std::path::{Path, PathBuf};

use metier::CancelToken;
use metier::agent::Status;
use serde_json::Value;

use crate::case::Case;
use crate::plan::{Arm, SubjectInfo};
use crate::trial::{FiredSkill, TrialAction, TrialCost, TrialErrorKind};

/// Something that works on a request and can be watched doing it.
pub trait EvalSubject: Send + Sync {
    /// Who it is.
    fn info(&self) -> SubjectInfo;

    /// Works on a case in a folder of its own.
    fn run(
        &self,
        case: &Case,
        arm: Arm,
        workspace: &Path,
        cancel: &CancelToken,
    ) -> Result<Trace, TraceError>;
}

/// What was seen of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// How it ended.
    pub status: Status,
    /// The skills that were loaded, in order.
    pub fired: Vec<FiredSkill>,
    /// What was done, in order.
    pub actions: Vec<TrialAction>,
    /// The answer.
    pub answer: Option<String>,
    /// The answer for programs.
    pub data: Option<Value>,
    /// Folders with files that scripts left.
    pub outputs: Vec<PathBuf>,
    /// What it cost.
    pub cost: TrialCost,
    /// The id of the run's record, where one was kept.
    pub run: Option<String>,
}

/// Why a trial could not be carried out. What was seen until then is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceError {
    /// What kind of error.
    pub kind: TrialErrorKind,
    /// What happened.
    pub message: String,
    /// What was seen until then.
    pub seen: Option<Box<Trace>>,
}
