//! Approvals: the one way in which `exec`, `run`, `chat` and `resume` get a question answered.
//!
//! A request without an answer is written down as pending, and its digest is given to the caller.
//! Who approves that digest within a day lets this very request pass, once. What a yes lets pass was
//! judged before; what is denied is never asked about.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use metier_agent::{Answer, Approval, Approver, Question};
use metier_cancel::CancelToken;
use metier_skill::Digest;

/// How long a pending approval counts: after that no one remembers the question.
const PENDING_LIFETIME: Duration = Duration::from_hours(24);

/// Requests that wait for their approval, one file each.
#[derive(Debug, Clone)]
pub(crate) struct PendingApprovals {
    folder: PathBuf,
}

impl PendingApprovals {
    pub(crate) fn in_state(state: &Path) -> Self {
        Self { folder: state.join("pending") }
    }

    /// Writes down that a request waits. Where that fails, the approval asks again, which is safe.
    fn add(&self, request: Digest) {
        let _ = metier_fs::write_atomic(&self.file(request), b"");
    }

    /// Whether a request still waits; it waits no longer after that.
    fn take(&self, request: Digest) -> bool {
        let file = self.file(request);
        let is_recent = metier_fs::modified(&file)
            .is_ok_and(|at| at.elapsed().unwrap_or_default() < PENDING_LIFETIME);
        metier_fs::take_file(&file) && is_recent
    }

    fn file(&self, request: Digest) -> PathBuf {
        self.folder.join(request.to_string().replace(':', "-"))
    }
}

/// Answers the questions of one run: by an approval that was given beforehand, or by the session's
/// approver.
pub(crate) struct RunApprover<'a> {
    approver: &'a dyn Approver,
    pending: Option<PendingApprovals>,
    /// The request that was approved beforehand, for one use.
    approved: Mutex<Option<Digest>>,
    /// The request without an answer, of this run or of a loop inside it.
    unanswered: Mutex<Option<Digest>>,
    /// The request whose approval, given beforehand, had been used or had expired.
    stale: Mutex<Option<Digest>>,
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
            stale: Mutex::default(),
        }
    }

    /// What is left open.
    pub(crate) fn into_open(self) -> Option<OpenApproval> {
        let request = self.unanswered.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        let stale = self.stale.into_inner().unwrap_or_else(PoisonError::into_inner);
        Some(OpenApproval { request, is_stale: stale == Some(request) })
    }

    fn take_approval(&self, request: Digest) -> bool {
        let mut approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        if *approved != Some(request) {
            return false;
        }
        *approved = None;
        let is_pending = self.pending.as_ref().is_some_and(|pending| pending.take(request));
        if !is_pending {
            *self.stale.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        }
        is_pending
    }
}

/// A question without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenApproval {
    /// The digest that approves it.
    pub request: Digest,
    /// Whether it was approved before, and that approval had been used or had expired. Then no new
    /// one is pending: an approval that renews itself would count for ever.
    pub is_stale: bool,
}

impl Approver for RunApprover<'_> {
    fn answer(&self, question: &Question<'_>, cancel: &CancelToken) -> Option<Approval> {
        if question.request.is_some_and(|request| self.take_approval(request)) {
            return Some(Approval::new(Answer::Once, "approve"));
        }
        let given = self.approver.answer(question, cancel);
        if given.is_some() || cancel.is_cancelled() {
            return given;
        }
        *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner) = question.request;
        if let (Some(request), Some(pending)) = (question.request, &self.pending)
            && *self.stale.lock().unwrap_or_else(PoisonError::into_inner) != Some(request)
        {
            pending.add(request);
        }
        None
    }
}
