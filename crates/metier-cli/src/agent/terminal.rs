//! The person at the terminal, who answers the questions of a run.
//!
//! One listener among others: a question that was answered elsewhere, or whose run has stopped, is
//! withdrawn here too. When the terminal closes, this listener ends.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use metier::agent::{AskDetails, Op};
use metier::policy::{Answer, AskEvent, AskListener, Asks, PendingAsk};

use super::diff;
use super::typed::{StdinLines, TypedLine};
use super::watch::Watcher;
use crate::prompt::{self, Consent};
use crate::render::style::{BOLD, DIM, paint};
use crate::render::{duration, safe};

/// A person at the terminal.
pub(super) struct Terminal {
    pub(super) asks: Asks,
    pub(super) workspace: PathBuf,
    pub(super) watcher: Arc<dyn Watcher>,
    pub(super) typed: Arc<StdinLines>,
}

impl Terminal {
    /// Answers what is asked, until the list of questions is closed.
    pub(super) fn serve(&self, listener: &AskListener) {
        while let Some(event) = listener.wait() {
            let AskEvent::Opened { ask } = event else { continue };
            if !self.asks.is_open(ask.id) {
                continue;
            }
            match self.ask(&ask) {
                // Another listener may have been faster; the first answer counts.
                TerminalAnswer::Answered(answer) => drop(self.asks.answer(ask.id, &answer, "user")),
                TerminalAnswer::Withdrawn => {}
                // The terminal is gone: the listener ends, and with it the question.
                TerminalAnswer::Closed => return,
            }
        }
    }

    /// The person's answer to one question.
    fn ask(&self, ask: &PendingAsk) -> TerminalAnswer {
        self.watcher.pause();
        self.typed.forget();
        let mut out = anstream::stderr();
        let Ok(about) = serde_json::from_str::<AskDetails>(&ask.about) else {
            // Not the question of a run, so it cannot be shown here.
            return TerminalAnswer::Closed;
        };
        if ask.decision.asks_to_lift() {
            return self.ask_to_lift(ask, &about);
        }
        let what = about.operation.describe();
        let _ = writeln!(out, "{} {}", paint(BOLD, "?"), paint(BOLD, safe(&what)));
        let _ = writeln!(out, "  {}", paint(DIM, safe(&about.reason)));
        if let Op::Tool { tool, args, .. } = &about.operation
            && let Some(diff) = diff::preview(tool, args, &self.workspace)
        {
            let _ = write!(out, "{diff}");
        }
        let whole = if ask.request.skill.is_some() { "content" } else { "target" };
        let keys = format!(
            "[y]es once, [a]lways for this {whole} (`a 8h`: for eight hours), [n]o, [e]xplain:"
        );
        loop {
            let answer = match self.line(&keys, ask) {
                Ok(answer) => answer,
                Err(ended) => return ended,
            };
            match (prompt::parse_consent(&answer), answer.to_lowercase().as_str()) {
                (Some(Consent::Once), _) => return TerminalAnswer::Answered(Answer::Once),
                (Some(Consent::Always(lifetime)), _) => {
                    return TerminalAnswer::Answered(lifetime.into());
                }
                (Some(Consent::InvalidTime), _) => {
                    let _ = writeln!(out, "  {}", duration::EXPECTED_FORMAT);
                }
                (None, "e" | "explain") => {
                    let _ = writeln!(out, "{}", explained(&about));
                }
                (None, "n" | "no") => return self.rejected(ask),
                _ => {}
            }
        }
    }

    /// The person's answer to the question whether ceilings are lifted for this run. It takes a word
    /// of its own: a `y` that is typed by habit lifts nothing.
    fn ask_to_lift(&self, ask: &PendingAsk, about: &AskDetails) -> TerminalAnswer {
        let mut out = anstream::stderr();
        let skills: Vec<String> = ask.decision.liftable.iter().map(ToString::to_string).collect();
        let skills = skills.join(", ");
        let question = format!("lift the limits of {} for this run?", safe(&skills));
        let _ = writeln!(out, "{} {}", paint(BOLD, "?"), paint(BOLD, question));
        let what = about.operation.describe();
        let _ = writeln!(out, "  {}", paint(DIM, safe(&format!("wanted: {what}"))));
        let _ = writeln!(out, "  {}", paint(DIM, safe(&about.reason)));
        loop {
            let keys = "type `lift` to lift them for this run, [n]o, [e]xplain:";
            let typed = match self.line(keys, ask) {
                Ok(typed) => typed.to_lowercase(),
                Err(ended) => return ended,
            };
            match typed.as_str() {
                "lift" => return TerminalAnswer::Answered(Answer::Lift),
                "n" | "no" => return self.rejected(ask),
                "e" | "explain" => {
                    let _ = writeln!(out, "{}", explained_limits(about));
                }
                _ => {}
            }
        }
    }

    fn rejected(&self, ask: &PendingAsk) -> TerminalAnswer {
        match self.line("Reason, for the model (may be empty):", ask) {
            Ok(words) => TerminalAnswer::Answered(Answer::Reject(words)),
            Err(ended) => ended,
        }
    }

    /// A line that is typed, unless the question is over before.
    fn line(&self, question: &str, ask: &PendingAsk) -> Result<String, TerminalAnswer> {
        let mut out = anstream::stderr();
        let _ = write!(out, "{} ", paint(BOLD, question)).and_then(|()| out.flush());
        // A run that is cancelled takes its question back.
        let ended = match self.typed.line(&self.asks.over(ask.id)) {
            Ok(TypedLine::Text(text)) => return Ok(text),
            Ok(TypedLine::Stopped) => TerminalAnswer::Withdrawn,
            Ok(TypedLine::End) | Err(_) => TerminalAnswer::Closed,
        };
        let _ = writeln!(out);
        Err(ended)
    }
}

/// What came of asking.
enum TerminalAnswer {
    Answered(Answer),
    /// It was answered elsewhere, or the run stops.
    Withdrawn,
    /// The terminal is gone.
    Closed,
}

/// Everything there is to know about a question.
fn explained(about: &AskDetails) -> String {
    let operation = serde_json::to_string_pretty(&about.operation).unwrap_or_default();
    let digest = about.request.map(|digest| digest.to_string()).unwrap_or_default();
    format!(
        "{}\n  because: {}\n  request: {digest}\n  `once` lets this pass; `always` also remembers it \
         for this content of the skill or, where none is named, for this file or command \
         (`metier permissions` lists and forgets); `metier explain` \
         names every rule",
        safe_lines(&operation),
        safe(&about.reason),
    )
}

/// What lifting means.
fn explained_limits(about: &AskDetails) -> String {
    let operation = serde_json::to_string_pretty(&about.operation).unwrap_or_default();
    format!(
        "{}\n  because: {}\n  The text of a limited skill can move the model to calls that the skill may \
         not make. `lift` frees the calls of this run from these limits, also after `metier resume`; what \
         is done for such a skill stays limited, and this call is then decided by the other rules. `no` \
         holds for the whole run",
        safe_lines(&operation),
        safe(&about.reason),
    )
}

fn safe_lines(text: &str) -> String {
    text.lines().map(|line| format!("  {}", safe(line))).collect::<Vec<_>>().join("\n")
}
