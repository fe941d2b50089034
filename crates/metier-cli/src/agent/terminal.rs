//! The person at the terminal, who answers the questions of a run.
//!
//! One listener among others: a question that was answered elsewhere, or whose run has stopped, is
//! withdrawn here too. When the terminal closes, this listener ends.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use metier::agent::{AskDetails, Op, ScriptTerms};
use metier::policy::{Answer, AskEvent, AskListener, Asks, PendingAsk, Request};
use metier::sandbox::NetworkAccess;
use metier::skill::Source;

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
        if let Some(script) = &about.script {
            for line in terms_lines(script) {
                let _ = writeln!(out, "  {}", safe(&line));
            }
        }
        let is_script = about.script.is_some();
        let keys = question_keys(is_script, &ask.request);
        loop {
            let answer = match self.line(&keys, ask) {
                Ok(answer) => answer,
                Err(ended) => return ended,
            };
            if let Some(reason) = rejection(&answer) {
                return match reason {
                    "" => self.rejected(ask),
                    words => TerminalAnswer::Answered(Answer::Reject(words.to_owned())),
                };
            }
            match prompt::parse_consent(&answer) {
                Some(Consent::Once) => return TerminalAnswer::Answered(Answer::Once),
                Some(Consent::Always(lifetime)) => {
                    return TerminalAnswer::Answered(lifetime.into());
                }
                Some(Consent::AlwaysScript(lifetime)) if is_script => {
                    return TerminalAnswer::Answered(Answer::script_for(lifetime));
                }
                Some(Consent::InvalidTime) => {
                    let _ = writeln!(out, "  {}", duration::EXPECTED_FORMAT);
                }
                _ if is_explain(&answer) => {
                    let _ = writeln!(out, "{}", explained(&about));
                }
                _ => {
                    let _ = writeln!(out, "  {}", unknown_key(&answer, is_script));
                }
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
                Ok(typed) => typed,
                Err(ended) => return ended,
            };
            match (typed.to_lowercase().as_str(), rejection(&typed)) {
                ("lift", _) => return TerminalAnswer::Answered(Answer::Lift),
                (_, Some("")) => return self.rejected(ask),
                (_, Some(words)) => {
                    return TerminalAnswer::Answered(Answer::Reject(words.to_owned()));
                }
                (typed, None) if is_explain(typed) => {
                    let _ = writeln!(out, "{}", explained_limits(about));
                }
                _ => {
                    let _ = writeln!(out, "  type `lift`, `n` or `e`");
                }
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
        self.watcher.unanswered();
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

/// What can be typed at a question.
fn question_keys(is_script: bool, request: &Request) -> String {
    let has_skill = request.skill.is_some();
    let (always, example) = match (is_script, has_skill) {
        (true, _) => (
            "[a]lways for exactly this, always for this [s]cript with any arguments",
            "`a 8h`, `s 8h`: for eight hours",
        ),
        (false, true) => ("[a]lways for this content", "`a 8h`: for eight hours"),
        (false, false) => ("[a]lways for this target", "`a 8h`: for eight hours"),
    };
    let place =
        if request.always_holds_everywhere() { "in every folder" } else { "in this folder" };
    let until = if has_skill { ", until the skill changes" } else { "" };
    format!("[y]es once, {always} ({place}{until}; {example}), [n]o (`n because ...`), [e]xplain:")
}

fn unknown_key(typed: &str, is_script: bool) -> String {
    let script = if is_script { "`s` always for this script, " } else { "" };
    let typed = match typed.trim() {
        "" => "nothing was typed".to_owned(),
        typed => format!("`{}` is not an answer", safe(typed)),
    };
    format!("{typed}: type `y` yes, `a` always, {script}`n` no, or `e` to see more")
}

/// The reason of a no, which may be empty; `None` where it is not a no.
fn rejection(typed: &str) -> Option<&str> {
    let typed = typed.trim();
    let (word, reason) = typed.split_once([' ', ',', ':']).unwrap_or((typed, ""));
    ["n", "no"].contains(&word.to_lowercase().as_str()).then(|| {
        let reason = reason.trim();
        let because = reason.get(..8).filter(|start| start.eq_ignore_ascii_case("because "));
        because.map_or(reason, |_| reason[8..].trim())
    })
}

fn is_explain(typed: &str) -> bool {
    ["e", "explain"].contains(&typed.trim().to_lowercase().as_str())
}

/// What a script may touch, and where it comes from.
fn terms_lines(script: &ScriptTerms) -> Vec<String> {
    let origin = match (script.source, &script.folder) {
        (Source::Builtin, _) | (_, None) => "it is built into metier".to_owned(),
        (Source::Project, Some(folder)) => {
            format!("it came with the project: {}", folder.display())
        }
        (source, Some(folder)) => format!("its skill is {} ({source})", folder.display()),
    };
    let reads = match &script.workspace {
        Some(workspace) => format!("reads {}, changes nothing there", workspace.display()),
        None => "does not see the current folder".to_owned(),
    };
    let network = match script.network {
        NetworkAccess::Open => "THE NETWORK IS OPEN",
        NetworkAccess::Closed => "no network",
    };
    let mut lines = vec![
        origin,
        format!(
            "it {reads}; {network}; nothing else of your home directory; {} s at most; sandbox {}",
            script.seconds, script.tier
        ),
    ];
    lines.extend(script.given.iter().map(|file| format!("it gets a copy of {}", file.display())));
    lines
}

/// Everything there is to know about a question.
fn explained(about: &AskDetails) -> String {
    let operation = serde_json::to_string_pretty(&about.operation).unwrap_or_default();
    let digest = about.request.map(|digest| digest.to_string()).unwrap_or_default();
    let text = about
        .script
        .as_ref()
        .map(|script| format!("  the script's text:\n{}\n", safe_lines(&script.text)));
    format!(
        "{}{}\n  because: {}\n  request: {digest}\n  `once` lets this pass; `always` also remembers it \
         for this content of the skill or, where none is named, for this file or command \
         (`metier permissions` lists and forgets); `metier explain` \
         names every rule",
        text.unwrap_or_default(),
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
