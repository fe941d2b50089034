//! Approvals: the one way in which `exec`, `run`, `chat` and `resume` get a question answered.
//!
//! A request without an answer is written down as pending, with the run that asked, its workspace and
//! the time, and its digest is given to the caller. Who approves that digest there within a day lets
//! this very request pass, once. The note vouches for all of it: a digest alone is the same in every
//! run and every workspace. What a yes lets pass was judged before; what is denied is never asked
//! about.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use metier_agent::{Answer, Approval, Approver, Question, RunId};
use metier_cancel::CancelToken;
use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::guard::now;
use crate::open::Metier;

/// How long a pending approval counts, in seconds: after that no one remembers the question.
const PENDING_SECONDS: u64 = 24 * 60 * 60;
/// How long an expired note is kept, so that its approval is not taken for an unknown one.
const KEPT_SECONDS: u64 = 30 * PENDING_SECONDS;
/// How far a clock may be set back before a note seems to come from the future and does not count.
const CLOCK_SKEW_SECONDS: u64 = 5 * 60;
const MAX_NOTES: usize = 1000;
const MAX_NOTE_BYTES: u64 = 16 * 1024;

/// Requests of one run, or of `exec`, that wait for their approval, one file each.
#[derive(Debug, Clone)]
pub(crate) struct PendingApprovals {
    folder: PathBuf,
    /// Nothing for `exec`, which is no run.
    run: Option<RunId>,
    workspace: String,
}

/// What is written down about a request that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PendingNote {
    request: Digest,
    run: Option<RunId>,
    workspace: String,
    /// Seconds since 1970.
    asked_at: u64,
}

impl PendingNote {
    fn counts(&self) -> bool {
        let now = now().0;
        self.asked_at <= now.saturating_add(CLOCK_SKEW_SECONDS)
            && now.saturating_sub(self.asked_at) < PENDING_SECONDS
    }
}

/// Why an approval that was given beforehand does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalFault {
    /// The question is older than a day.
    Expired,
    /// Another run asked, or `exec` did.
    OtherRun,
    /// It was asked in this other workspace.
    OtherWorkspace(String),
    /// Nothing of the kind is pending: it was used already, or was never asked.
    NotPending,
}

impl fmt::Display for ApprovalFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("it is older than a day"),
            Self::OtherRun => f.write_str("it is for another run"),
            Self::OtherWorkspace(place) => write!(f, "it is for another workspace, {place}"),
            Self::NotPending => f.write_str("it was used already, or was never asked for"),
        }
    }
}

impl Metier {
    /// What waits for an approval in a run of this workspace.
    pub(crate) fn pending_in_run(&self, run: &RunId) -> Result<PendingApprovals> {
        Ok(PendingApprovals { run: Some(run.clone()), ..self.pending_in_exec()? })
    }

    /// What waits for an approval of `exec` in this workspace.
    pub(crate) fn pending_in_exec(&self) -> Result<PendingApprovals> {
        Ok(PendingApprovals {
            folder: self.state_dir()?.join("pending"),
            run: None,
            workspace: self.workspace().to_string_lossy().into_owned(),
        })
    }
}

impl PendingApprovals {
    /// Writes down that a request waits. Where that fails, the approval asks again, which is safe.
    fn add(&self, request: Digest) {
        self.sweep();
        let note = self.note(request, now().0);
        if let Ok(bytes) = serde_json::to_vec(&note) {
            let _ = metier_fs::write_private(&self.folder.join(self.name(request)), &bytes);
        }
    }

    /// Takes the approval of a request that waits here; it waits no longer after that.
    fn take(&self, request: Digest) -> std::result::Result<(), ApprovalFault> {
        let name = self.name(request);
        let Some(note) = self.read(&name) else { return Err(self.elsewhere(request)) };
        // The name is made from the same words; a note that says otherwise is not ours.
        if note != self.note(request, note.asked_at) {
            return Err(ApprovalFault::NotPending);
        }
        if !note.counts() {
            return Err(ApprovalFault::Expired);
        }
        // Of several who try, one takes it.
        let taken = metier_fs::take_file(&self.folder.join(name));
        if taken { Ok(()) } else { Err(ApprovalFault::NotPending) }
    }

    /// Why a request does not wait here.
    fn elsewhere(&self, request: Digest) -> ApprovalFault {
        let names = metier_fs::read_dir_names(&self.folder).unwrap_or_default();
        let prefix = prefix(request);
        let others = names.iter().filter(|name| name.starts_with(&prefix));
        let mut others = others.filter_map(|name| self.read(name)).filter(PendingNote::counts);
        let mut place = None;
        let in_this_one = others.any(|note| {
            let is_here = note.workspace == self.workspace;
            place = Some(note.workspace);
            is_here
        });
        match place {
            _ if in_this_one => ApprovalFault::OtherRun,
            Some(place) => ApprovalFault::OtherWorkspace(place),
            None => ApprovalFault::NotPending,
        }
    }

    /// Removes notes that no longer say anything, and the oldest where there are too many.
    fn sweep(&self) {
        let names = metier_fs::read_dir_names(&self.folder).unwrap_or_default();
        let mut notes: Vec<(u64, String)> = names
            .into_iter()
            .filter(|name| !name.starts_with('.'))
            .map(|name| (self.read(&name).map_or(0, |note| note.asked_at), name))
            .collect();
        notes.sort_unstable();
        let too_many = (notes.len() + 1).saturating_sub(MAX_NOTES);
        for (at, (asked_at, name)) in notes.iter().enumerate() {
            if at < too_many || now().0.saturating_sub(*asked_at) > KEPT_SECONDS {
                let _ = metier_fs::remove_file(&self.folder.join(name));
            }
        }
    }

    fn read(&self, name: &str) -> Option<PendingNote> {
        let bytes = metier_fs::read_bounded(&self.folder.join(name), MAX_NOTE_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn note(&self, request: Digest, asked_at: u64) -> PendingNote {
        let (run, workspace) = (self.run.clone(), self.workspace.clone());
        PendingNote { request, run, workspace, asked_at }
    }

    fn name(&self, request: Digest) -> String {
        let run = self.run.as_ref().map_or("", |run| run.as_str());
        let place = Digest::of_parts([run.as_bytes(), self.workspace.as_bytes()]);
        format!("{}{}", prefix(request), &place.to_string()[7..39])
    }
}

/// What the names of all notes about a request begin with.
fn prefix(request: Digest) -> String {
    format!("{}-", request.to_string().replace(':', "-"))
}

/// Answers the questions of one run: by an approval that was given beforehand, or by the session's
/// approver.
pub(crate) struct RunApprover<'a> {
    approver: &'a dyn Approver,
    /// Where open questions are written down; nothing for a run that keeps no record.
    pending: Option<PendingApprovals>,
    /// The request that was approved beforehand, for one use.
    approved: Mutex<Option<Digest>>,
    /// The request without an answer, of this run or of a loop inside it.
    unanswered: Mutex<Option<Digest>>,
    /// The request whose approval, given beforehand, does not count, and why.
    refused: Mutex<Option<(Digest, ApprovalFault)>>,
}

impl<'a> RunApprover<'a> {
    pub(crate) fn new(
        approver: &'a dyn Approver,
        pending: Option<PendingApprovals>,
        approved: Option<Digest>,
    ) -> Self {
        Self {
            approver,
            pending,
            approved: Mutex::new(approved),
            unanswered: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// What is left open.
    pub(crate) fn into_open(self) -> Option<OpenApproval> {
        let request = self.unanswered.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        let refused = self.refused.into_inner().unwrap_or_else(PoisonError::into_inner);
        let refused = refused.filter(|(refused, _)| *refused == request).map(|(_, fault)| fault);
        Some(OpenApproval { request, refused })
    }

    fn take_approval(&self, request: Digest) -> bool {
        let mut approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        if *approved != Some(request) {
            return false;
        }
        *approved = None;
        let taken =
            self.pending.as_ref().map_or(Err(ApprovalFault::NotPending), |it| it.take(request));
        let is_taken = taken.is_ok();
        if let Err(fault) = taken {
            *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some((request, fault));
        }
        is_taken
    }

    fn is_refused(&self, request: Digest) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.as_ref().is_some_and(|(refused, _)| *refused == request)
    }
}

/// A question without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenApproval {
    /// The digest that approves it.
    pub request: Digest,
    /// Why the approval that was given beforehand does not count. Then no new one is pending: an
    /// approval that renews itself would count for ever.
    pub refused: Option<ApprovalFault>,
}

impl Approver for RunApprover<'_> {
    fn answer(&self, question: &Question<'_>, cancel: &CancelToken) -> Option<Approval> {
        if !question.liftable.is_empty() {
            // Nothing that was approved beforehand lifts a ceiling, and nothing stays pending.
            return self.approver.answer(question, cancel);
        }
        if question.request.is_some_and(|request| self.take_approval(request)) {
            return Some(Approval::new(Answer::Once, "approve"));
        }
        let given = self.approver.answer(question, cancel);
        if given.is_some() || cancel.is_cancelled() {
            return given;
        }
        *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner) = question.request;
        let open = question.request.filter(|request| !self.is_refused(*request));
        if let (Some(request), Some(pending)) = (open, &self.pending) {
            pending.add(request);
        }
        None
    }
}
