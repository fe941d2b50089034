//! Answers to the questions of a run: an approval that was printed before, flags, whoever listens, or
//! nobody. What a yes lets pass was judged before; what is denied is never asked about. The person at
//! the terminal is in `terminal`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use metier_agent::{Answer, Approver, Asking, Question};
use metier_cancel::CancelToken;
use metier_skill::Digest;

use crate::context::Context;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Every question is answered with yes, this once.
    Yes,
    /// Whoever listens: a person at the terminal.
    Person,
    /// Nobody: the run stops at the first question.
    Nobody,
}

/// Answers for one command.
pub(crate) struct Answers<'a> {
    pub(crate) who: Who,
    /// The digest of a request that was approved beforehand, for one use.
    pub(crate) approve: Mutex<Option<Digest>>,
    /// Where it is noted that a request waits for its approval.
    pub(crate) pending: Option<PathBuf>,
    /// Asks everybody who listens.
    pub(crate) asking: &'a Asking,
    /// The request that nobody answered, of this run or of a loop inside it.
    pub(crate) open: &'a Mutex<Option<Digest>>,
}

impl Approver for Answers<'_> {
    fn answer(&self, question: &Question<'_>, cancel: &CancelToken) -> (Answer, String) {
        if let Some(digest) = question.request
            && self.take(digest)
        {
            return (Answer::Once, "approve".to_owned());
        }
        let given = match self.who {
            Who::Yes => return (Answer::Once, "yes".to_owned()),
            Who::Person if !cancel.is_cancelled() => self.asking.answer(question, cancel),
            Who::Person | Who::Nobody => (Answer::Nobody, "nobody".to_owned()),
        };
        if given.0 != Answer::Nobody {
            return given;
        }
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = question.request;
        if let Some(digest) = question.request {
            self.note(digest);
        }
        (Answer::Nobody, "nobody".to_owned())
    }
}

impl Answers<'_> {
    /// Whether this request was approved, for one use: what was printed once lets one run pass.
    fn take(&self, digest: Digest) -> bool {
        let mut approved = self.approve.lock().unwrap_or_else(PoisonError::into_inner);
        if approved.is_none_or(|approved| approved != digest) {
            return false;
        }
        *approved = None;
        self.pending_file(digest).is_some_and(|file| metier_fs::take_file(&file))
    }

    fn note(&self, digest: Digest) {
        if let Some(file) = self.pending_file(digest) {
            // Without it the printed command asks again, which is safe.
            let _ = metier_fs::write_atomic(&file, b"");
        }
    }

    fn pending_file(&self, digest: Digest) -> Option<PathBuf> {
        let name = digest.to_string().replace(':', "-");
        self.pending.as_ref().map(|folder| folder.join(name))
    }
}

impl Context {
    /// Where it is noted that a request waits for its approval.
    pub(crate) fn pending_folder(&self) -> Option<PathBuf> {
        self.user.as_ref().map(|user| user.state.join("pending"))
    }
}
