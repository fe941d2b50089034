//! One script of a skill: a session with one operation.
//!
//! The same request, decision, approval and sandbox as when a model asks for it in a run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metier_agent::local_executor::{PreparedScript, ScriptRequest};
use metier_agent::{
    ActionContext, Answer, Approval, Approver, Asked, Note, Op, Question, RunFolder, RunSkills,
};
use metier_model::Key;
use metier_policy::{Effect, Invoker};
use metier_sandbox::NetworkAccess;
use metier_skill::{Digest, FailureCode, SkillId};
use metier_tools::ScriptDecision;
use metier_tools::script::ScriptOutcome;

use crate::approvals::RunApprover;
use crate::error::{Error, ErrorKind, Result};
use crate::explain::script_path;
use crate::open::Metier;
use crate::session::{Session, new_id};
use crate::skills::{enabled, find};

/// A script to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecCall {
    /// The skill, by name or id.
    pub skill: String,
    /// The script, by its path in the skill.
    pub script: String,
    /// Its arguments. No shell looks at them; one that names an existing file is passed as its
    /// absolute path.
    pub args: Vec<String>,
    /// Until it is stopped; at most what the settings allow.
    pub timeout: Option<Duration>,
}

impl ExecCall {
    /// A script of a skill, without arguments.
    pub fn new(skill: impl Into<String>, script: impl Into<String>) -> Self {
        Self { skill: skill.into(), script: script.into(), ..Self::default() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Stops the script after this time, if that is less than the settings allow.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// A script that ran.
#[derive(Debug)]
#[non_exhaustive]
pub struct Executed {
    /// The id of the skill.
    pub skill: SkillId,
    /// How it ended, and what it left.
    pub outcome: ScriptOutcome,
    /// The digest of the request that was judged.
    pub request: Digest,
    /// What the policy said.
    pub effect: Effect,
    /// Whether it ran with the network open.
    pub network: NetworkAccess,
    /// The approval, where one was needed.
    pub approval: Option<Approval>,
}

impl Metier {
    /// Runs one script of a skill, if the policy allows it without a question. Where it asks, the error
    /// names the request that has to be approved; [`Session::exec`] takes an approver.
    pub fn exec(&self, call: &ExecCall) -> Result<Executed> {
        self.session().exec(call)
    }
}

impl Session {
    /// Runs one script of a skill, if the policy allows it and, where it asks, the approver does.
    ///
    /// ```standalone_crate
    /// use metier::{ExecCall, Metier};
    ///
    /// metier::init();
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let call = ExecCall::new("csv-summary", "scripts/summarise.sh").arg("sales.csv");
    /// // Without an approver nothing runs; `.approve(|ask| ask.once())` would let it run.
    /// let error = metier.session().exec(&call).unwrap_err();
    /// if let Some(open) = &error.approval {
    ///     println!("{error}; `approve_request({})` lets it run once", open.request);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exec(&self, call: &ExecCall) -> Result<Executed> {
        let metier = self.metier();
        let scan = metier.refresh();
        let entry = enabled(find(&call.skill, &scan)?)?;
        script_path(&call.script)?;
        let guard = metier.guard(&scan)?.with_rules(self.rules())?;
        // Nothing is recorded there: the folder is only where a run would keep its outputs.
        let folder = RunFolder::new(&metier.state_dir()?.join("exec"), new_id());
        let executor = Arc::new(metier.executor(
            Arc::new(scan.index.clone()),
            guard,
            Arc::default(),
            &folder,
            &Key::default(),
            String::new(),
        ));
        let (id, timeout) = (entry.id(), call.timeout.map(|it| it.max(Duration::from_secs(1))));
        let judged = executor.judge_script(&ScriptRequest {
            skill: &id,
            path: &call.script,
            args: &call.args,
            skills: &RunSkills { loaded: vec![id.clone()], ..RunSkills::default() },
            invoker: Invoker::User,
            timeout,
        })?;
        let decision = judged.decision;
        let Some(prepared) = judged.prepared.filter(|_| decision.effect() > Effect::Deny) else {
            return Err(denied(&decision));
        };
        self.warn_about(&prepared);
        let op =
            Op::Script { skill: id.clone(), path: call.script.clone(), args: call.args.clone() };
        let approval = match decision.effect() {
            Effect::Ask => Some(self.approved_answer(&op, &decision, &prepared)?),
            Effect::Allow | Effect::Deny => None,
        };
        if self.cancel().is_cancelled() {
            return Err(cancelled());
        }
        let output = |stream: &str, text: &str| {
            self.note(&Note::Output { stream: stream.to_owned(), text: text.to_owned() });
        };
        let outcome = prepared
            .run(&ActionContext {
                cancel: self.cancel(),
                output: &output,
                answer: approval.as_ref().map(|approval| &approval.answer),
            })
            .map_err(|error| {
                Error::failed(error.code(), error.to_string()).with_help(error.help())
            })?;
        Ok(Executed {
            skill: id,
            outcome,
            request: decision.digest(),
            effect: decision.effect(),
            network: decision.network(),
            approval,
        })
    }

    /// What should be known before it runs.
    fn warn_about(&self, prepared: &PreparedScript) {
        for name in &prepared.perhaps_missing {
            self.warn(format!(
                "the skill's `compatibility` mentions {name}, which is not installed"
            ));
        }
        for refusal in &prepared.not_given {
            self.warn(refusal.clone());
        }
        if !prepared.sees_workspace() {
            self.warn(unseen_workspace(&self.metier().workspace()));
        }
    }

    fn warn(&self, text: String) {
        self.note(&Note::Warning(text));
    }

    pub(crate) fn note(&self, note: &Note) {
        for observer in self.observers() {
            observer.note(0, note);
        }
    }

    /// The answer that lets it pass; else why it may not.
    fn approved_answer(
        &self,
        op: &Op,
        decision: &ScriptDecision,
        prepared: &PreparedScript,
    ) -> Result<Approval> {
        let reason = decision.reason();
        let asked = decision.asked().last().map(|(request, decision)| Asked {
            request: request.clone(),
            decision: decision.clone(),
            script: Some(prepared.terms()),
        });
        let question = Question {
            op,
            reason: &reason,
            request: Some(decision.digest()),
            asked: asked.as_ref(),
            liftable: &[],
        };
        let pending = self.metier().pending_in_exec()?;
        let approver = RunApprover::new(self.inner_approver(), Some(pending), self.approved());
        match approver.answer(&question, self.cancel()) {
            _ if self.cancel().is_cancelled() => Err(cancelled()),
            None => {
                let open = approver.into_open().map(Box::new);
                let code = FailureCode::NeedsApproval.as_str();
                // The reason says that it needs approval.
                Err(Error { approval: open, ..Error::new(ErrorKind::NeedsApproval, code, reason) })
            }
            Some(Approval { answer: Answer::Reject(_), .. }) => Err(Error::denied(
                FailureCode::Rejected.as_str(),
                "rejected; the script did not run",
            )),
            Some(approval) => Ok(approval),
        }
    }
}

/// What should be known before anything starts where scripts do not see the workspace.
pub(crate) fn unseen_workspace(workspace: &Path) -> String {
    format!(
        "scripts do not see {}: it is or holds the home directory, or another place that no rule opens; they \
         get copies of files that you name, and `metier -C DIR` works in another folder",
        workspace.display()
    )
}

fn cancelled() -> Error {
    let code = FailureCode::Cancelled.as_str();
    Error::new(ErrorKind::Cancelled, code, "cancelled; the script did not run")
}

fn denied(decision: &ScriptDecision) -> Error {
    let reason = decision.reason();
    let help = decision.decision().help();
    Error::denied(FailureCode::NotAllowed.as_str(), format!("the script may not run: {reason}"))
        .with_help(help.unwrap_or(
            "`metier explain run_script SCRIPT --skill NAME` names the rule and its file",
        ))
}
