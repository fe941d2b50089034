//! Running a script of a skill: judged as a typed call, prepared, run.
//!
//! One way for a model's operation and for a person's command. What comes out of judging is the call
//! itself, so that nothing else can run; a script that the policy denies has nothing prepared. No
//! question is asked about what cannot run: the sandbox and what the skill needs are looked at before.

use std::sync::Arc;
use std::time::Duration;

use metier_fs::RootError;
use metier_policy::{Effect, Invoker, Request};
use metier_registry::Entry;
use metier_sandbox::{OutputStream, RunEvent};
use metier_skill::{RelPath, SkillId, nearest};
use metier_tools::policy_facts::acting_skill;
use metier_tools::requirements::Requirements;
use metier_tools::script::{ScriptCall, ScriptError, ScriptOutcome, as_path};
use metier_tools::skill_contents::{file_names, open_files};
use metier_tools::{
    FailureCode, ResultFilter, ScriptDecision, ScriptHost, ToolFailure, ToolGate, ToolResult,
};
use serde_json::{Value, json};

use super::{LocalExecutor, failed, now, skills, tools};
use crate::executor::{ActionContext, Asked, DecidedAction, Judgement, RunSkills, ScriptTerms};
use crate::op::Outcome;

/// What is wanted of a script.
#[derive(Debug, Clone, Copy)]
pub struct ScriptRequest<'r> {
    /// The skill, by its id.
    pub skill: &'r SkillId,
    /// The script's path in the skill.
    pub path: &'r str,
    /// Its arguments as they were typed. One that names an existing file stands for that file.
    pub args: &'r [String],
    /// The skills of the run, this one among those that are loaded.
    pub skills: &'r RunSkills,
    /// Who wants it.
    pub invoker: Invoker,
    /// Time on the clock, where it is to be less than the settings allow.
    pub timeout: Option<Duration>,
}

/// What the policy says about a script.
#[derive(Debug)]
pub struct ScriptJudgement {
    /// Its decision: effect, reasons, the digest of the request, who has to be asked what.
    pub decision: ScriptDecision,
    /// The very call that was judged, prepared to be run; nothing where it is denied.
    pub prepared: Option<PreparedScript>,
}

/// A script that was judged and can run. The caller has the answer that it needs, if it needs one.
#[derive(Debug)]
pub struct PreparedScript {
    executor: Arc<LocalExecutor>,
    host: Arc<ScriptHost>,
    call: ScriptCall,
    asked: Vec<Request>,
    text: String,
    /// Files that the person named and that it does not get, in sentences with the reason.
    pub not_given: Vec<String>,
    /// Programs that the skill's `compatibility` mentions and that are not installed: a doubt, not a
    /// refusal.
    pub perhaps_missing: Vec<String>,
}

impl PreparedScript {
    /// Whether the script sees the workspace; not where that would show what no rule opens.
    pub fn sees_workspace(&self) -> bool {
        self.host.workspace.is_some()
    }

    /// What a person should know before they let it run.
    pub fn terms(&self) -> ScriptTerms {
        let ScriptCall { entry, given, network, timeout, .. } = &self.call;
        let timeout = timeout.map_or(self.host.timeout, |asked| asked.min(self.host.timeout));
        ScriptTerms {
            source: entry.source,
            folder: entry.memory.is_none().then(|| entry.path.clone()),
            workspace: self.host.workspace.clone(),
            given: given.clone(),
            network: *network,
            seconds: timeout.as_secs(),
            tier: self.host.tier,
            text: self.text.clone(),
        }
    }

    /// Runs it to its end. An answer that is to be remembered is, before anything starts.
    pub fn run(&self, context: &ActionContext<'_>) -> Result<ScriptOutcome, ScriptError> {
        for request in &self.asked {
            self.executor.remember(request, context.answer);
        }
        self.host.run(&self.call, context.cancel, &|event| {
            if let RunEvent::Output { stream, text } = event {
                let stream = match stream {
                    OutputStream::Stdout => "stdout",
                    OutputStream::Stderr => "stderr",
                };
                (context.output)(stream, &text);
            }
        })
    }

    /// The same for the loop: the outcome as the model sees it.
    fn run_for_model(&self, context: &ActionContext<'_>) -> Outcome {
        let (ran, results) = (self.run(context), self.executor.results());
        let answer = ToolFailure::if_cancelled(context.cancel).and_then(|()| match ran {
            Ok(mut outcome) => {
                self.show_relative_paths(&mut outcome);
                Ok(self.describe(&outcome, &results))
            }
            Err(error) => {
                let (code, detail) = (error.failure_code(), error.code());
                let detail =
                    if detail == code.as_str() { String::new() } else { format!(" [{detail}]") };
                Err(ToolFailure::new(code, format!("{error}{detail}")).with_help(error.help()))
            }
        });
        let answer = results.filter("run_script", answer);
        tools::program_outcome(&self.executor, answer, context.cancel)
    }

    /// Files of the workspace in messages as the tools take them: an argument that names one is given to a
    /// script as its absolute path. Standard output is the script's result, and stays as it is.
    fn show_relative_paths(&self, outcome: &mut ScriptOutcome) {
        let Some(workspace) = &self.host.workspace else { return };
        let prefix = format!("{}/", workspace.to_string_lossy());
        outcome.report.stderr.change_text(|text| text.replace(&prefix, ""));
    }

    fn describe(&self, outcome: &ScriptOutcome, results: &ResultFilter) -> ToolResult {
        let mut notes = Vec::new();
        // A doubt is worth a word only where it may be the reason.
        if !self.perhaps_missing.is_empty() && !outcome.report.succeeded() {
            let names = self.perhaps_missing.join(", ");
            notes.push(format!("the skill's `compatibility` mentions {names}: not installed"));
        }
        notes.extend(self.not_given.iter().cloned());
        // Otherwise a script that finds no file would be blamed for it.
        if !self.sees_workspace() {
            notes.push(UNSEEN_WORKSPACE.to_owned());
        }
        let mut result = outcome.to_result(self.call.network, notes, results);
        if !self.perhaps_missing.is_empty() {
            result.data["perhaps_missing"] = json!(self.perhaps_missing);
        }
        if let Some(Value::String(stderr)) = result.data.get_mut("stderr") {
            let unseen = (!self.sees_workspace()).then_some(UNSEEN_WORKSPACE);
            for reason in self.not_given.iter().map(String::as_str).chain(unseen) {
                stderr.push_str(&format!("({reason})"));
            }
        }
        result
    }
}

/// What a model reads where scripts do not see the workspace.
const UNSEEN_WORKSPACE: &str = "The script does not see the workspace, which is or holds the home directory \
                                or another place that no rule opens. It gets copies of files that the \
                                person names; `metier -C DIR` works in another folder.";

impl LocalExecutor {
    /// What the policy says about a script, and the call that it judged.
    pub fn judge_script(
        self: &Arc<Self>,
        wanted: &ScriptRequest<'_>,
    ) -> Result<ScriptJudgement, ToolFailure> {
        let entry = self.entry(wanted.skill)?;
        let script = RelPath::new(wanted.path).map_err(|fault| {
            ToolFailure::new(FailureCode::InvalidArguments, format!("`relative_path`: {fault}"))
        })?;
        if !wanted.skills.loaded.contains(wanted.skill) {
            let message = format!("the skill {} is not loaded", entry.id());
            return Err(ToolFailure::new(FailureCode::SkillNotFound, message)
                .with_help("load the skill first"));
        }
        let loaded = self.skills_with_a_say(wanted.skills)?;
        let acting = acting_skill(&entry, &self.trusted).map_err(|error| {
            let message = format!("the content of {} cannot be verified: {error}", entry.id());
            ToolFailure::new(error.code(), message).with_help(error.help())
        })?;
        let gate = ToolGate {
            policy: Arc::clone(&self.policy),
            answers: Arc::new(self.answers().clone()),
            loaded: loaded.into(),
            now: now(),
            invoker: wanted.invoker,
            skill: Some(acting),
        };
        let passed =
            wanted.args.iter().map(|word| as_path(word, &self.working_dir, self.home.as_deref()));
        let passed = passed.collect();
        let (decision, call) = gate.judge_script(&entry, &script, wanted.args, passed)?;
        if decision.effect() == Effect::Deny {
            return Ok(ScriptJudgement { decision, prepared: None });
        }
        let text = script_text(&entry, &script)?;
        let host = Arc::clone(self.host()?);
        let (given, not_given) = self.given_files(wanted, &call.args, &host);
        let missing = Requirements::of(&entry.skill).missing_on(
            &host.search,
            |name| host.variables.contains_key(name),
            |name| self.index.find(name).is_some(),
        );
        if !missing.certain.is_empty() {
            let message = format!("the skill needs {}", missing.certain.join(", "));
            return Err(ToolFailure::new(FailureCode::RequirementMissing, message));
        }
        let prepared = PreparedScript {
            executor: Arc::clone(self),
            host,
            call: ScriptCall { given, timeout: wanted.timeout, ..call },
            asked: decision.asked().map(|(request, _)| request.clone()).collect(),
            text,
            not_given,
            perhaps_missing: missing.perhaps,
        };
        Ok(ScriptJudgement { decision, prepared: Some(prepared) })
    }
}

/// Bytes of a script that a question shows.
const SHOWN_BYTES: u64 = 64 << 10;

/// The text of a script, for the question about it. One that does not exist is not asked about.
fn script_text(entry: &Entry, script: &RelPath) -> Result<String, ToolFailure> {
    let read = open_files(entry).ok().map(|files| files.read(script, SHOWN_BYTES));
    match read {
        Some(Ok(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Some(Err(RootError::Missing)) => Err(no_such_script(entry, script)),
        _ => Ok(format!("(`metier read {} {script}` shows it)", entry.id())),
    }
}

fn no_such_script(entry: &Entry, script: &RelPath) -> ToolFailure {
    let names = file_names(entry);
    let wanted = script.as_str();
    let is_elsewhere = |name: &&str| {
        let file = |path: &str| path.rsplit('/').next().map(str::to_owned);
        file(name) == file(wanted)
    };
    let all = || names.iter().map(String::as_str);
    let help = match nearest(wanted, all()).or_else(|| all().find(is_elsewhere)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => skills::files_words(entry),
    };
    let message = format!("the skill {} has no script `{wanted}`", entry.id());
    ToolFailure::new(FailureCode::NotFound, message).with_help(help)
}

/// A script that a model wants.
pub(super) fn script(
    executor: &Arc<LocalExecutor>,
    id: &SkillId,
    path: &str,
    args: &[String],
    skills: &RunSkills,
) -> Judgement {
    let invoker = Invoker::Model;
    let wanted = ScriptRequest { skill: id, path, args, skills, invoker, timeout: None };
    let ScriptJudgement { decision, prepared } = match executor.judge_script(&wanted) {
        Ok(judgement) => judgement,
        Err(failure) => return Judgement::impossible(failed(&failure)),
    };
    let terms = prepared.as_ref().map(PreparedScript::terms);
    let asked = decision.asked().last().map(|(request, decision)| {
        let (request, decision) = (request.clone(), decision.clone());
        Box::new(Asked { request, decision, script: terms })
    });
    Judgement::Decided(DecidedAction {
        effect: decision.effect(),
        reason: decision.reason(),
        layers: decision.layer_sentences(),
        request: Some(decision.digest()),
        asked,
        // A script is held to the ceiling of its own skill, which is not lifted.
        liftable: Vec::new(),
        prepared: Box::new(move |context| match prepared {
            Some(prepared) => prepared.run_for_model(context),
            None => Outcome::failed(FailureCode::NotAllowed, "The script is denied."),
        }),
    })
}
