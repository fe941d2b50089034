//! Answers to the questions of a run: an approval that was printed before, flags, a person, or nobody.
//! What a yes lets pass was judged before; what is denied is never asked about.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use metier_agent::{Answer, Approver, Op, Question};
use metier_skill::Digest;

use super::diff;
use super::typed::{Line, Typed};
use super::watch::Watcher;
use crate::context::Context;
use crate::render::safe;
use crate::render::style::{BOLD, DIM, paint};

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Every question is answered with yes, this once.
    Yes,
    /// A person at the terminal.
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
    pub(crate) workspace: PathBuf,
    pub(crate) watcher: &'a dyn Watcher,
    pub(crate) typed: &'a Typed,
    /// The request that nobody answered, of this run or of a loop inside it.
    pub(crate) open: &'a Mutex<Option<Digest>>,
}

impl Approver for Answers<'_> {
    fn answer(
        &self,
        question: &Question<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> (Answer, String) {
        if let Some(digest) = question.request
            && self.take(digest)
        {
            return (Answer::Once, "approve".to_owned());
        }
        let given = match self.who {
            Who::Yes => return (Answer::Once, "yes".to_owned()),
            Who::Person if !stop() => self.ask(question, stop),
            Who::Person | Who::Nobody => Answer::Nobody,
        };
        if given != Answer::Nobody {
            return (given, "user".to_owned());
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

    /// A person's answer; nobody's, when the terminal is closed or somebody wants to stop.
    fn ask(&self, question: &Question<'_>, stop: &(dyn Fn() -> bool + Sync)) -> Answer {
        self.watcher.pause();
        let mut out = anstream::stderr();
        let what = question.op.describe();
        let _ = writeln!(out, "{} {}", paint(BOLD, "?"), paint(BOLD, safe(&what)));
        let _ = writeln!(out, "  {}", paint(DIM, safe(question.reason)));
        if let Op::Tool { tool, args, .. } = question.op
            && let Some(diff) = diff::preview(tool, args, &self.workspace)
        {
            let _ = write!(out, "{diff}");
        }
        loop {
            let keys = match question.op {
                Op::Tool { skill: None, .. } => {
                    "[y]es once, [a]lways for this target, [n]o, [e]xplain:"
                }
                _ => "[y]es once, [a]lways for this content, [n]o, [e]xplain:",
            };
            let Some(answer) = self.typed(keys, stop) else { return Answer::Nobody };
            match answer.to_lowercase().as_str() {
                "y" | "yes" => return Answer::Once,
                "a" | "always" => return Answer::Always,
                "e" | "explain" => {
                    let _ = writeln!(out, "{}", explained(question));
                }
                "n" | "no" => {
                    let words = self.typed("Words for the model (may be empty):", stop);
                    return words.map_or(Answer::Nobody, Answer::Reject);
                }
                _ => {}
            }
        }
    }

    fn typed(&self, question: &str, stop: &(dyn Fn() -> bool + Sync)) -> Option<String> {
        let mut out = anstream::stderr();
        write!(out, "{} ", paint(BOLD, question)).and_then(|()| out.flush()).ok()?;
        match self.typed.line(&stop) {
            Ok(Line::Text(text)) => Some(text),
            Ok(Line::End | Line::Stopped) | Err(_) => {
                let _ = writeln!(out);
                None
            }
        }
    }
}

/// Everything that is known about a question.
fn explained(question: &Question<'_>) -> String {
    let operation = serde_json::to_string_pretty(question.op).unwrap_or_default();
    let digest = question.request.map(|digest| digest.to_string()).unwrap_or_default();
    format!(
        "{}\n  because: {}\n  request: {digest}\n  `once` lets this pass; `always` also remembers it \
         for this content of the skill or, where none is named, for this file or command \
         (`metier permissions` lists and forgets); `metier explain` \
         names every rule",
        safe_lines(&operation),
        safe(question.reason),
    )
}

fn safe_lines(text: &str) -> String {
    text.lines().map(|line| format!("  {}", safe(line))).collect::<Vec<_>>().join("\n")
}

impl Context {
    /// Where it is noted that a request waits for its approval.
    pub(crate) fn pending_folder(&self) -> Option<PathBuf> {
        self.user.as_ref().map(|user| user.state.join("pending"))
    }
}
