//! One script of a skill: a session with one operation.
//!
//! The same request, decision, approval and sandbox as when a model asks for it in a run.

use std::sync::Arc;
use std::time::Duration;

use metier_agent::{Answer, Approver, Asked, Note, Op, Question};
use metier_policy::{
    AnswerScope, Effect, Invoker, Lifetime, Permission, RememberedAnswer, Request, RequestContext,
    Subject,
};
use metier_registry::{Entry, Scan};
use metier_sandbox::{Network, RunEvent, Stream};
use metier_skill::{Digest, RelPath};
use metier_tools::ScriptDecision;
use metier_tools::policy_facts::{acting_skill, loaded_skill};
use metier_tools::requirements::Requirements;
use metier_tools::script::{ScriptCall, ScriptOutcome, as_path};

use crate::approvals::{PendingApprovals, RunApprover};
use crate::error::{Error, ErrorKind, Result};
use crate::explain::script_path;
use crate::guard::{Guard, now};
use crate::session::Session;
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
    pub skill: String,
    /// How it ended, and what it left.
    pub outcome: ScriptOutcome,
    /// The digest of the request that was judged.
    pub request: Digest,
    /// What the policy said.
    pub effect: Effect,
    /// Whether it ran with the network open.
    pub network: Network,
    /// How it was approved, where it had to be: `approve`, `yes`, `user`, ...
    pub approved_by: Option<String>,
    /// The answer, where one was needed.
    pub answer: Option<Answer>,
}

impl Session {
    /// Runs one script of a skill, if the policy allows it and, where it asks, the approver does.
    ///
    /// ```
    /// use metier::{ErrorKind, ExecCall, Metier};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let call = ExecCall::new("csv-summary", "scripts/summarise.sh").arg("sales.csv");
    /// // Without an approver nothing runs; `.approve(|ask| ask.once())` would let it run.
    /// let error = metier.session().exec(&call).unwrap_err();
    /// assert_eq!(error.kind, ErrorKind::NeedsApproval);
    /// assert!(error.approval.is_some_and(|open| !open.is_stale));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exec(&self, call: &ExecCall) -> Result<Executed> {
        let metier = self.metier();
        let scan = metier.refresh();
        let entry = enabled(find(&call.skill, &scan)?)?;
        let script = script_path(&call.script)?;
        let passed: Vec<String> =
            call.args.iter().map(|word| as_path(word, metier.working_dir())).collect();
        let guard = metier.guard(&scan)?.with_rules(self.rules())?;
        let (request, content) = request(entry, &script, [&call.args, &passed], &guard)?;
        let loaded = [loaded_skill(entry, &guard.policy, &guard.trusted)];
        let situation = RequestContext { loaded: &loaded, memory: &guard.answers, now: guard.now };
        let decision = ScriptDecision::judge(&guard.policy, request, &situation);
        if decision.effect() != Effect::Deny {
            // Nobody is asked about what cannot run.
            self.check_requirements(entry, &scan)?;
        }
        let op = Op::Script {
            skill: entry.id().to_string(),
            path: call.script.clone(),
            args: call.args.clone(),
        };
        let given = self.permitted(&op, &decision)?;
        let script_call = ScriptCall {
            entry: Arc::new(entry.clone()),
            content,
            script,
            args: passed,
            network: decision.network(),
            timeout: call.timeout.map(|asked| asked.max(Duration::from_secs(1))),
        };
        let outcome = self.start(&script_call)?;
        let (answer, approved_by) = given.unzip();
        Ok(Executed {
            skill: entry.id().to_string(),
            outcome,
            request: decision.digest(),
            effect: decision.effect(),
            network: decision.network(),
            approved_by,
            answer,
        })
    }
}

impl Session {
    /// What the skill says it needs must be there.
    fn check_requirements(&self, entry: &Entry, scan: &Scan) -> Result<()> {
        let metier = self.metier();
        let passed = &metier.settings().execution.env;
        let has_variable = |name: &str| {
            passed.iter().any(|known| known == name) && metier.environment().text(name).is_some()
        };
        let missing = Requirements::of(&entry.skill).missing_on(
            &metier.search_path(),
            has_variable,
            |name| scan.index.find(name).is_some(),
        );
        for name in missing.perhaps {
            self.warn(format!(
                "the skill's `compatibility` mentions {name}, which is not installed"
            ));
        }
        if missing.certain.is_empty() {
            return Ok(());
        }
        let message = format!("the skill needs {}", missing.certain.join(", "));
        Err(Error::failed("requirement-missing", message).with_help(
            "install the program; pass a variable by `execution.env` in your configuration; \
             `metier search` finds skills",
        ))
    }

    fn warn(&self, text: String) {
        self.note(&Note::Warning(text));
    }

    fn note(&self, note: &Note) {
        for observer in self.observers() {
            observer.note(0, note);
        }
    }

    /// Nothing where it is allowed; the answer and who gave it where it had to be asked; else why not.
    fn permitted(&self, op: &Op, decision: &ScriptDecision) -> Result<Option<(Answer, String)>> {
        let reason = decision.sentences().join("; ");
        match decision.effect() {
            Effect::Allow => return Ok(None),
            Effect::Deny => {
                let help = decision.decision().help().unwrap_or(
                    "`metier explain run_script SCRIPT --skill NAME` names the rule and its file",
                );
                let message = format!("the script may not run: {reason}");
                return Err(Error::denied("denied", message).with_help(help));
            }
            Effect::Ask => {}
        }
        let asked = decision.asked().last().map(|(request, decision)| Asked {
            request: request.clone(),
            decision: decision.clone(),
        });
        let question = Question {
            op,
            reason: &reason,
            request: Some(decision.digest()),
            asked: asked.as_ref(),
        };
        let state = self.metier().state_dir()?;
        let pending = PendingApprovals::in_state(&state);
        let approver = RunApprover::new(self.inner_approver(), Some(pending), self.approved());
        let (answer, by) = approver.answer(&question, self.cancel());
        match &answer {
            Answer::Nobody if self.cancel().is_cancelled() => Err(Error::new(
                ErrorKind::Cancelled,
                "Cancelled",
                "cancelled; the script did not run",
            )),
            Answer::Nobody => {
                let open = approver.into_open().map(Box::new);
                let message = format!("the script needs approval: {reason}");
                let error = Error::new(ErrorKind::NeedsApproval, "needs-approval", message);
                Err(Error { approval: open, ..error })
            }
            Answer::Reject(_) => Err(Error::denied("rejected", "rejected; the script did not run")),
            Answer::Once => Ok(Some((answer, by))),
            Answer::Always => {
                self.remember(decision, Lifetime::Unlimited).map(|()| Some((answer, by)))
            }
            Answer::AlwaysFor(seconds) => {
                self.remember(decision, Lifetime::Seconds(*seconds)).map(|()| Some((answer, by)))
            }
        }
    }

    fn remember(&self, decision: &ScriptDecision, lifetime: Lifetime) -> Result<()> {
        let metier = self.metier();
        let lifetime = metier.settings().execution.always.at_most(lifetime);
        let answers: Vec<RememberedAnswer> = decision
            .asked()
            .map(|(request, _)| {
                RememberedAnswer::of(request, AnswerScope::Everywhere, now(), lifetime)
            })
            .collect();
        metier.policy_store()?.change_answers(|known| {
            for answer in answers {
                known.remember(answer);
            }
        })?;
        Ok(())
    }

    fn start(&self, call: &ScriptCall) -> Result<ScriptOutcome> {
        let metier = self.metier();
        let (variables, secrets) = metier.script_variables();
        let host = metier.script_host(variables, secrets, None)?;
        if host.workspace.is_none() {
            let hidden = metier.workspace();
            self.warn(format!(
                "the script does not see {}: it holds what no rule opens",
                hidden.display()
            ));
        }
        let print = |event: RunEvent| {
            if let RunEvent::Output { stream, text } = event {
                let stream = match stream {
                    Stream::Stdout => "stdout",
                    Stream::Stderr => "stderr",
                };
                self.note(&Note::Output { stream: stream.to_owned(), text });
            }
        };
        host.run(call, self.cancel(), &print)
            .map_err(|error| Error::failed(error.code(), error.to_string()).with_help(error.help()))
    }
}

/// The request about the arguments as they were typed and as the script gets them: a rule about
/// either counts.
fn request(
    entry: &Entry,
    script: &RelPath,
    words: [&[String]; 2],
    guard: &Guard,
) -> Result<(Request, Digest)> {
    let mut subjects = Vec::new();
    for words in words {
        let subject = Subject::script(entry.id(), script.clone(), words.to_vec())?;
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let skill = acting_skill(entry, &guard.trusted).map_err(|error| {
        let message = format!("the content of {} cannot be read: {error}", entry.id());
        Error::failed("no-digest", message)
            .with_help("a skill whose content is not known can be neither trusted nor approved")
    })?;
    let content = skill.digest;
    let request = Request::new(Permission::RunScript, subjects).by(Invoker::User).acting_for(skill);
    Ok((request, content))
}
