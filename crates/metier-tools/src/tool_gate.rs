//! The policy as planned calls ask it: may this tool touch these things?
//!
//! One request for every way in, as for loading skills ([`crate::gate`]). The screen asks the same
//! question about each file that a call comes upon, and lets nothing pass that would need an answer.

use std::sync::Arc;

use metier_policy::{
    ActingSkill, Decision, Effect, Invoker, LoadedSkill, Memory, Permission, Policy, PolicyError,
    Request, Situation, Subject, UnixTime,
};

use crate::failure::{FailureCode, ToolFailure};
use crate::script_leave::ScriptLeave;
use crate::tool::{Screen, Touch};
use crate::toolbox::{BoxedTool, Planned};

/// The policy, and what it has to know of now.
#[derive(Debug, Clone)]
pub struct ToolGate {
    /// The rules.
    pub policy: Arc<Policy>,
    /// Answers that are remembered.
    pub answers: Arc<Memory>,
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
    ///
    /// A script is judged by the content that would run: one that is not what the gate knows of its
    /// skill is a failure, so that neither trust nor a remembered answer holds for it. One that is
    /// run for nobody in particular is run for its own skill.
    pub fn request(&self, planned: &Planned) -> Result<Request, ToolFailure> {
        let request = self.request_about(planned.tool(), planned.touches());
        let mut request = request.map_err(|error| {
            ToolFailure::new(FailureCode::NotAllowed, format!("no rule can name it: {error}"))
        })?;
        for touch in planned.touches() {
            let Touch::Script { skill, content, .. } = touch else { continue };
            match &request.skill {
                Some(acting) if acting.id == *skill && acting.digest != *content => {
                    let told = format!("the skill {skill} has changed since it was loaded");
                    return Err(ToolFailure::new(FailureCode::Changed, told)
                        .with_help("load the skill again, then decide again"));
                }
                Some(_) => {}
                None => request = request.acting_for(ActingSkill::new(skill.clone(), *content)),
            }
        }
        Ok(request)
    }

    /// What is decided about a planned call, and for a script about its network. What the call is
    /// given is [`ScriptLeave::network`].
    pub fn judge(&self, planned: &Planned) -> Result<ScriptLeave, ToolFailure> {
        let situation = Situation { loaded: &self.loaded, memory: &self.answers, now: self.now };
        Ok(ScriptLeave::judge(&self.policy, self.request(planned)?, &situation))
    }

    /// Judges what a call of `tool` comes upon: only what is allowed without a question.
    pub fn screen(&self, tool: &BoxedTool) -> Screen {
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

    fn decide(&self, request: &Request) -> Decision {
        let situation = Situation { loaded: &self.loaded, memory: &self.answers, now: self.now };
        self.policy.decide(request, &situation)
    }
}

/// What the policy compares with its rules.
fn subject_of(touch: &Touch) -> Result<Subject, PolicyError> {
    match touch {
        Touch::Path { absolute, .. } => Subject::path(absolute),
        Touch::Host(host) => Subject::host(host),
        Touch::Script { skill, path, args, .. } => {
            Subject::script(skill.clone(), path.clone(), args.clone())
        }
        Touch::Command(words) => Subject::command(words.iter().map(String::as_str)),
    }
}
