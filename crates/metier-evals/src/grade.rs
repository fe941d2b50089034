//! Judging what needs more than the trace: files that were left, programs, and a model's word.
//!
//! A program runs in the sandbox, as a model's command would. A judge's question and answer are kept. What
//! cannot be judged is neither passed nor failed: the trial is an error then.

mod files_after_trial;
mod judge;

use std::path::Path;
use std::sync::Mutex;

use metier::agent::{Observer, Op, Record};
use metier::model::Scripted;
use metier::{CancelToken, Event, Metier};
use serde_json::{Value, json};

use self::files_after_trial::FilesAfterTrial;
pub use self::judge::Judge;
use crate::case::{Case, CommandCheck};
use crate::subject::Trace;
use crate::trial::{CheckKind, CheckOutcome, CheckResult};
use crate::trial_runner::CaseCommands;

/// The file with the answer, for programs that judge it.
const ANSWER_FILE: &str = ".answer.txt";
/// What stands for it in a command.
const ANSWER_WORD: &str = "{answer}";
/// Characters of what a program printed that a result keeps.
const MAX_PRINTED_CHARS: usize = 400;

/// Judges what needs the world.
pub(crate) struct Grader {
    metier: Metier,
    judge: Option<Judge>,
    /// Whether programs may be run that a case names.
    runs_commands: bool,
}

impl Grader {
    pub(crate) fn new(metier: Metier, judge: Option<Judge>, commands: CaseCommands) -> Self {
        Self { metier, judge, runs_commands: commands == CaseCommands::Run }
    }

    /// The checks of files, programs and statements. What the judge took is added to the trace's cost.
    pub(crate) fn checks(
        &self,
        case: &Case,
        trace: &mut Trace,
        folder: &Path,
        cancel: &CancelToken,
    ) -> Vec<CheckResult> {
        let mut checks = Vec::new();
        let wanted = &case.expected.output;
        if !wanted.files.is_empty() {
            let files = FilesAfterTrial::of(folder, &trace.outputs, &case.contents);
            checks.extend(wanted.files.iter().map(|file| files.check(file)));
        }
        if !wanted.commands.is_empty() {
            let answer = trace.answer.as_deref().unwrap_or_default();
            let written = metier::fs::write_private(&folder.join(ANSWER_FILE), answer.as_bytes());
            for command in &wanted.commands {
                checks.push(match &written {
                    Ok(()) => self.command(command, folder, cancel),
                    Err(error) => ungraded(CheckKind::Command, &name(command), error.to_string()),
                });
            }
        }
        if let Some(judge) = &self.judge {
            let statements = wanted.judge.iter();
            checks
                .extend(statements.map(|it| judge.check(&self.metier, it, trace, folder, cancel)));
        }
        checks
    }

    fn command(&self, check: &CommandCheck, folder: &Path, cancel: &CancelToken) -> CheckResult {
        if !self.runs_commands {
            let why = "the programs of cases were not allowed to run";
            return ungraded(CheckKind::Command, &name(check), why);
        }
        match self.exit_status(check, folder, cancel) {
            Ok((status, printed)) => {
                let passed = status == i64::from(check.exit);
                CheckResult {
                    kind: CheckKind::Command,
                    name: name(check),
                    outcome: if passed { CheckOutcome::Passed } else { CheckOutcome::Failed },
                    detail: if passed {
                        String::new()
                    } else {
                        format!("exit {status}: {printed}")
                    },
                    step: None,
                }
            }
            Err(why) => ungraded(CheckKind::Command, &name(check), why),
        }
    }

    /// Runs a program as the tool `run_command` does, with everything that holds for it.
    fn exit_status(
        &self,
        check: &CommandCheck,
        folder: &Path,
        cancel: &CancelToken,
    ) -> Result<(i64, String), String> {
        let words = check.command.iter().map(|word| word.replace(ANSWER_WORD, ANSWER_FILE));
        let call = json!({"action": {"type": "call_tool", "tool": "run_command",
            "args": {"command": words.collect::<Vec<_>>()}}});
        let end = json!({"action": {"type": "final_answer", "text": "done"}});
        let script = json!({"name": "check", "replies": [call, end]}).to_string();
        let model = Scripted::parse(&script).map_err(|error| error.to_string())?;
        let heard = CommandObserver::default();
        let metier = self.metier.working_in(folder).map_err(|error| error.to_string())?;
        let empty = std::sync::Arc::new(metier.skills().empty());
        let session = metier.session().own_model(model).allow("run_command").pinned(empty);
        let session = session.unrecorded(folder.join(".agent/runs")).prepare();
        let session = session.map_err(|error| error.to_string())?;
        session.run("check", &heard, cancel).map_err(|error| error.to_string())?;
        let outcome = heard.0.into_inner().unwrap_or_default();
        let Some((text, data)) = outcome else {
            return Err("a rule does not let programs run here".to_owned());
        };
        let shown = metier::skill::text::clip(text.trim(), MAX_PRINTED_CHARS).into_owned();
        data["exit_code"].as_i64().map(|status| (status, shown.clone())).ok_or(shown)
    }
}

fn name(check: &CommandCheck) -> String {
    format!("`{}` exits with {}", check.command.join(" "), check.exit)
}

pub(crate) fn ungraded(kind: CheckKind, name: &str, why: impl Into<String>) -> CheckResult {
    CheckResult {
        kind,
        name: name.to_owned(),
        outcome: CheckOutcome::NotGraded,
        detail: why.into(),
        step: None,
    }
}

/// Hears what came of the one command.
#[derive(Default)]
struct CommandObserver(Mutex<Option<(String, Value)>>);

impl Observer for CommandObserver {
    fn event(&self, _: u32, record: &Record) {
        let finished = match &record.event {
            Event::ActionFinished { outcome, .. } => {
                Some((outcome.text.as_str().to_owned(), outcome.data.clone()))
            }
            Event::PolicyDecided { op: Op::Tool { .. }, effect, reason, .. }
                if *effect == metier::policy::Effect::Deny =>
            {
                Some((reason.clone(), Value::Null))
            }
            _ => None,
        };
        if let (Some(finished), Ok(mut known)) = (finished, self.0.lock()) {
            known.get_or_insert(finished);
        }
    }
}
