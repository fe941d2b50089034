//! Asks the policy about planned calls: may this tool touch these files, hosts or commands?
//!
//! Every caller builds the same request, as for loading skills ([`crate::gate`]). The touch filter
//! asks the same question about each file that a search finds, and skips what would need approval.

use std::sync::Arc;

use metier_policy::{
    ActingSkill, AnswerMemory, Effect, Invoker, LoadedSkill, Permission, Policy, PolicyDecision,
    PolicyError, Request, RequestContext, Subject, UnixTime,
};

use metier_registry::Entry;
use metier_skill::{FailureCode, RelPath};

use crate::failure::ToolFailure;
use crate::policy_facts::content_digest;
use crate::script::ScriptCall;
use crate::script_decision::ScriptDecision;
use crate::tool::{Touch, TouchFilter};
use crate::toolbox::{BoxedTool, PlannedCall};

/// The policy, with the state that it decides by.
#[derive(Debug, Clone)]
pub struct ToolGate {
    /// The rules.
    pub policy: Arc<Policy>,
    /// Answers that are remembered.
    pub answers: Arc<AnswerMemory>,
    /// The skills that the run has loaded.
    pub loaded: Arc<[LoadedSkill]>,
    /// The time.
    pub now: UnixTime,
    /// Who asks.
    pub invoker: Invoker,
    /// The skill that it acts for.
    pub skill: Option<ActingSkill>,
}

impl ToolGate {
    /// The request that a planned call is.
    pub fn request(&self, planned: &PlannedCall) -> Result<Request, ToolFailure> {
        self.request_about(planned.tool(), planned.touches()).map_err(|error| unnamed(&error))
    }

    /// The decision about a planned call.
    pub fn judge(&self, planned: &PlannedCall) -> Result<PolicyDecision, ToolFailure> {
        Ok(self.decide(&self.request(planned)?))
    }

    /// The decision about running a script of a skill, and the call that it is about.
    ///
    /// The decision is about the content that would run. If the skill has changed since it was loaded,
    /// this fails, so that neither trust nor a remembered answer applies to the new content. Without an
    /// acting skill the script runs for its own skill. A rule about arguments is matched against them
    /// as typed (`typed`) and as passed to the script.
    pub fn judge_script(
        &self,
        entry: &Arc<Entry>,
        script: &RelPath,
        typed: &[String],
        passed: Vec<String>,
    ) -> Result<(ScriptDecision, ScriptCall), ToolFailure> {
        let content = content_digest(entry).map_err(|error| {
            ToolFailure::new(error.code(), format!("the skill's content: {error}"))
                .with_help(error.help())
        })?;
        let mut subjects = Vec::new();
        for args in [&*passed, typed] {
            let subject = Subject::script(entry.id(), script.clone(), args.to_vec());
            let subject = subject.map_err(|error| unnamed(&error))?;
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        let acting = match &self.skill {
            Some(acting) if acting.id == entry.id() && acting.digest != content => {
                let message = format!("the skill {} has changed since it was loaded", entry.id());
                return Err(ToolFailure::new(FailureCode::Changed, message)
                    .with_help("load the skill again, then decide again"));
            }
            Some(acting) => acting.clone(),
            None => ActingSkill::new(entry.id(), content),
        };
        let request =
            Request::new(Permission::RunScript, subjects).by(self.invoker).acting_for(acting);
        let situation =
            RequestContext { loaded: &self.loaded, memory: &self.answers, now: self.now };
        let decision = ScriptDecision::judge(&self.policy, request, &situation);
        let call = ScriptCall {
            entry: Arc::clone(entry),
            content,
            script: script.clone(),
            args: passed,
            given: Vec::new(),
            network: decision.network(),
            timeout: None,
        };
        Ok((decision, call))
    }

    /// A filter for what a call of `tool` finds: only what is allowed without asking passes.
    pub fn touch_filter(&self, tool: &BoxedTool) -> TouchFilter {
        let (gate, tool) = (self.clone(), tool.clone());
        Arc::new(move |touch| {
            let request = gate.request_about(&tool, std::slice::from_ref(touch));
            request.is_ok_and(|request| gate.decide(&request).effect == Effect::Allow)
        })
    }

    fn request_about(&self, tool: &BoxedTool, touches: &[Touch]) -> Result<Request, PolicyError> {
        let subjects = touches.iter().map(subject_of).collect::<Result<Vec<_>, _>>()?;
        let mut request = Request::new(Permission::named(tool.name())?, subjects).by(self.invoker);
        request.declared_risk = tool.declared_risk();
        Ok(match &self.skill {
            Some(skill) => request.acting_for(skill.clone()),
            None => request,
        })
    }

    fn decide(&self, request: &Request) -> PolicyDecision {
        let situation =
            RequestContext { loaded: &self.loaded, memory: &self.answers, now: self.now };
        self.policy.decide(request, &situation)
    }
}

fn unnamed(error: &PolicyError) -> ToolFailure {
    ToolFailure::new(FailureCode::NotAllowed, format!("no rule can name it: {error}"))
}

/// What the policy compares with its rules.
fn subject_of(touch: &Touch) -> Result<Subject, PolicyError> {
    match touch {
        Touch::Path { absolute, .. } => Subject::path(absolute),
        Touch::Host(host) => Subject::host(host),
        Touch::Command(words) => Subject::command(words.iter().map(String::as_str)),
    }
}
