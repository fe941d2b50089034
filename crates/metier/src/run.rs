//! A run that has ended, or waits: its answer, how it ended, and what it left open.
//! The record on disk is read by `runs`.

use metier_agent::{RunFolder, RunId, State, Status};

use crate::approvals::OpenApproval;

/// A run that has ended, or waits.
#[derive(Debug)]
pub struct Run {
    folder: RunFolder,
    state: State,
    open: Option<OpenApproval>,
}

impl Run {
    pub(crate) const fn new(folder: RunFolder, state: State, open: Option<OpenApproval>) -> Self {
        Self { folder, state, open }
    }

    /// Its id.
    pub fn id(&self) -> &RunId {
        self.folder.id()
    }

    /// Where its record is.
    pub const fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Where it stands.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// How it ended.
    pub fn status(&self) -> Status {
        self.state.finished().map_or(Status::Failed, |end| end.status)
    }

    /// The answer; empty where there is none.
    pub fn answer(&self) -> String {
        let finished = self.state.finished().and_then(|end| end.answer.as_deref());
        finished.unwrap_or_default().to_owned()
    }

    /// The question that has to be answered before it can continue.
    pub fn open_approval(&self) -> Option<OpenApproval> {
        self.open.clone().filter(|_| self.status() == Status::NeedsApproval)
    }
}
