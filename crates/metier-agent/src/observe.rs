//! What the model is shown of what came of its action. Pure.
//!
//! Foreign text (output, files) stands between marks that it cannot contain, as a skill's body does;
//! around it are only our own words.

use std::sync::Arc;

use metier_loader::{fenced, shown_block};
use metier_model::{Action, FaultCode, OutputMode, PastAction};
use metier_skill::FailureCode;
use metier_skill::text::label;
use serde_json::{Value, json};

use crate::op::{Op, Outcome, SkillText};
use crate::state::{Acting, TrailItem};

/// Characters of foreign words in a bracketed line.
const LABEL_CHARS: usize = 200;
/// Characters that stay of an observation in a context that has become too long.
const SUMMARY_CHARS: usize = 120;

/// After the text of a skill whose file was written to.
const CHANGED: &str = "[Note: the SKILL.md of this skill was modified after the run began; above is its \
                       text as it is now]\n";

/// What came of an action, ready to be shown.
#[derive(Debug)]
pub(crate) struct Observed {
    ok: bool,
    code: Option<FailureCode>,
    /// Whether it is about a reply that the limit of tokens cut off.
    cut_off: bool,
    /// As it stands in the prompt.
    words: String,
    /// The same in one line.
    line: String,
    protected: bool,
    text: Arc<str>,
    data: Value,
}

impl Observed {
    /// The entry of the trail.
    pub(crate) fn into_item(self, acting: &Acting) -> TrailItem {
        TrailItem {
            decision: acting.decision.clone(),
            past: Arc::new(PastAction {
                action: acting.action.clone(),
                ok: self.ok,
                code: self.code,
                text: self.text,
                data: self.data,
            }),
            observation: self.words.into(),
            line: self.line.into(),
            shortened: false,
            protected: self.protected,
            tokens: 0,
            cut_off: self.cut_off,
            times: 1,
        }
    }
}

/// What came of all operations of an action.
pub(crate) fn observation(acting: &Acting) -> Observed {
    let mut words = String::new();
    let mut line = Vec::new();
    let mut protected = false;
    for (op, outcome) in &acting.done {
        let state = outcome.code.map_or("ok", FailureCode::as_str);
        let described = op.describe();
        let what = label(&described, LABEL_CHARS);
        words.push_str(&format!("[Observation: {what} | {state}]\n"));
        match (&outcome.skill, op) {
            (Some(skill), _) if outcome.ok => {
                protected = true;
                words.push_str(&skill_words(skill));
            }
            // Our own words.
            (_, Op::Load { .. } | Op::Search { .. }) => {
                words.push_str(outcome.text.as_str());
                words.push('\n');
            }
            _ if is_ours(outcome) => {
                words.push_str(outcome.text.as_str());
                words.push('\n');
            }
            _ => words.push_str(&fenced("Output", outcome.text.as_str())),
        }
        let kept = outcome.storage_ref.as_ref().map(|at| format!("; the whole is in {at}"));
        let text = outcome.text.as_str();
        let summary = label(text, SUMMARY_CHARS);
        line.push(format!(
            "[Observation: {what} | {state} | shortened: {summary}{}]",
            kept.unwrap_or_default()
        ));
    }
    for note in &acting.notes {
        words.push_str(&format!("[Note: {}]\n", label(note, LABEL_CHARS)));
    }
    let failed = acting.done.iter().find(|(_, outcome)| !outcome.ok);
    let any_ok = acting.done.iter().any(|(_, outcome)| outcome.ok);
    let texts: Vec<&str> = acting.done.iter().map(|(_, outcome)| outcome.text.as_str()).collect();
    let data = match acting.done.as_slice() {
        [(_, outcome)] => outcome.data.clone(),
        several => several.iter().map(|(_, outcome)| outcome.data.clone()).collect(),
    };
    Observed {
        ok: any_ok,
        code: failed.filter(|_| !any_ok).and_then(|(_, outcome)| outcome.code),
        cut_off: false,
        words,
        line: line.join("\n"),
        protected,
        text: texts.join("\n").into(),
        data,
    }
}

/// A loaded skill, and what comes next: without that, a model selects it again.
fn skill_words(skill: &SkillText) -> String {
    let path = skill.path.as_deref();
    let mut words = shown_block(&skill.id, path, skill.body.as_str(), &skill.files);
    if skill.changed {
        words.push_str(CHANGED);
    }
    let name = label(skill.id.name.as_str(), LABEL_CHARS);
    words.push_str(&match next_use(skill) {
        None => format!(
            "[Next: the skill `{name}` has no files: its text above is all. Answer from it.]\n"
        ),
        Some(uses) => format!(
            "[Next: the skill `{name}` is loaded. Do what its text says. {uses} Do not select it again.]\n"
        ),
    });
    words
}

/// How the files of a skill are used, in the order of its text; nothing where it has none. A model that is
/// shown the script first runs it with the arguments of an example.
fn next_use(skill: &SkillText) -> Option<String> {
    let is_script = |file: &&String| file.starts_with("scripts/");
    let (scripts, others): (Vec<&String>, Vec<&String>) = skill.files.iter().partition(is_script);
    let body = skill.body.as_str();
    let place = |file: &&String| body.find(file.as_str());
    let script = scripts.iter().copied().filter_map(|file| Some((place(&file)?, file))).min();
    let named = others.iter().copied().filter_map(|file| Some((place(&file)?, file))).min();
    let name = |file: &str| label(file, LABEL_CHARS).to_string();
    let run = match (scripts.as_slice(), script) {
        ([], _) => None,
        ([only], _) => Some(format!("run its script with `run_script`: `{}`", name(only))),
        (_, Some((_, first))) => {
            Some(format!("run its scripts with `run_script`, such as `{}`", name(first)))
        }
        _ => Some("run its scripts with `run_script`".to_owned()),
    };
    let is_first = named.is_some_and(|(at, _)| script.is_none_or(|(script, _)| at < script));
    let read = match named {
        Some((_, file)) if is_first => Some(format!("read `{}` with `load_resource`", name(file))),
        _ if others.is_empty() => None,
        _ => Some("read its files with `load_resource`".to_owned()),
    };
    let (first, second) = if is_first { (read, run) } else { (run, read) };
    let words = match (first, second) {
        (Some(first), Some(second)) if is_first => format!("First {first}, then {second}."),
        (Some(first), Some(second)) => format!("{}. {}.", capital(&first), capital(&second)),
        (Some(only), None) | (None, Some(only)) => format!("{}.", capital(&only)),
        (None, None) => return None,
    };
    Some(words)
}

fn capital(words: &str) -> String {
    let mut rest = words.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// Whether the text is ours alone, and needs no marks.
fn is_ours(outcome: &Outcome) -> bool {
    let is_refusal = matches!(outcome.code, Some(FailureCode::NotAllowed | FailureCode::Rejected));
    !outcome.ok && (outcome.data.is_null() || is_refusal)
}

/// The same action had the same result before, and that stands above.
pub(crate) fn again(item: &mut TrailItem) {
    let code = item.past.code.map_or("ok", FailureCode::as_str);
    let what = named(item.past.action.as_ref());
    item.observation =
        format!("[Observation: {what} | {code} | same as before: it stands above]\n").into();
}

/// An action as a model knows it: a tool by its name, which is the function that was called where each has one.
fn named(action: Option<&Action>) -> String {
    match action {
        Some(Action::CallTool { tool, .. }) => label(tool, LABEL_CHARS).into_owned(),
        action => action.map_or("reply", Action::kind).to_owned(),
    }
}

/// An action that cannot be.
pub(crate) fn impossible(acting: &Acting, outcome: &Outcome) -> Observed {
    let kind = named(acting.action.as_ref());
    let state = outcome.code.map_or("ok", FailureCode::as_str);
    let mut words = format!("[Observation: {kind} | {state}]\n{}\n", outcome.text.as_str());
    for note in &acting.notes {
        words.push_str(&format!("[Note: {}]\n", label(note, LABEL_CHARS)));
    }
    Observed {
        ok: outcome.ok,
        code: outcome.code,
        cut_off: false,
        line: format!("[Observation: {kind} | {state}]"),
        words,
        protected: false,
        text: outcome.text.shared(),
        data: outcome.data.clone(),
    }
}

/// A reply that is no decision.
pub(crate) fn invalid(fault: FaultCode, message: &str, mode: OutputMode) -> Observed {
    let code = fault.as_str();
    let form = match mode {
        OutputMode::ToolCall => "one call of a function",
        OutputMode::JsonSchema | OutputMode::Prompted => "one JSON object that holds one action",
    };
    let words = format!(
        "[Observation: your reply was not executed | {code}]\n{message}\nReply with {form}, and nothing \
         else.\n"
    );
    Observed {
        ok: false,
        code: Some(FailureCode::InvalidReply),
        cut_off: fault == FaultCode::Truncated,
        line: format!("[Observation: a reply was not executed | {code}]"),
        words,
        protected: false,
        text: message.into(),
        data: Value::Null,
    }
}

/// The process ended while something was done.
pub(crate) fn interrupted(op: &Op) -> Outcome {
    let text = format!(
        "The program ended while this was being done ({}). It may have been done in whole, in part \
         or not at all. Look before you do it again.",
        label(&op.describe(), LABEL_CHARS)
    );
    Outcome::failed(FailureCode::Interrupted, text)
}

/// Nothing is done in a dry run.
pub(crate) fn dry(op: &Op, words: &str) -> Outcome {
    let text =
        format!("Dry run: nothing was done ({}); {words}.", label(&op.describe(), LABEL_CHARS));
    Outcome::done(text, json!({"dry_run": true}))
}
