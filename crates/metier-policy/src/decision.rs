//! A decision and its reasons: data for programs, sentences for people.
//!
//! Untrusted text is escaped in every sentence, so that it can go to a terminal or a model unchanged.

use std::fmt;

use metier_skill::SkillId;
use serde::Serialize;

use crate::effect::Effect;
use crate::error::shown;
use crate::memory::UnixTime;
use crate::permission::Permission;
use crate::policy::CeilingReach;
use crate::rule::{RuleAt, RuleSource};
use crate::subject::Subject;

/// The layers that take part in a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// An administrator's rules.
    Managed,
    /// The user's rules.
    User,
    /// The default where neither of them has a rule.
    Default,
    /// The list of tools that ask before each use.
    Approval,
    /// The project's rules.
    Project,
    /// The agent's rules.
    Agent,
    /// A skill's `allowed-tools`.
    Skill,
    /// This run's rules.
    Run,
    /// Trust in the project's skills.
    Trust,
    /// The built-in questions about files that CI, builds and agents execute or obey.
    Guarded,
    /// The built-in refusals, which no rule can change.
    Floor,
}

impl LayerKind {
    /// The word used in JSON and sentences.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Default => "default",
            Self::Approval => "approval",
            Self::Project => "project",
            Self::Agent => "agent",
            Self::Skill => "skill",
            Self::Run => "run",
            Self::Trust => "trust",
            Self::Guarded => "guarded",
            Self::Floor => "floor",
        }
    }
}

impl From<RuleSource> for LayerKind {
    fn from(source: RuleSource) -> Self {
        match source {
            RuleSource::Managed => Self::Managed,
            RuleSource::User => Self::User,
            RuleSource::Approval => Self::Approval,
            RuleSource::Project => Self::Project,
            RuleSource::Agent => Self::Agent,
            RuleSource::Run => Self::Run,
        }
    }
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The effect that one layer gave, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerDecision {
    /// Which layer.
    pub layer: LayerKind,
    /// Its effect.
    pub effect: Effect,
    /// Why, as the end of a sentence.
    pub because: String,
    /// The rule that won, where the layer has rules.
    pub rule: Option<RuleAt>,
    /// Earlier rules that matched too and were overruled; only in explanations.
    pub losers: Vec<RuleAt>,
    /// The ceiling that refused, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<CeilingRefusal>,
}

/// A refusal by a skill's `allowed-tools`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CeilingRefusal {
    /// Whose.
    pub skill: SkillId,
    /// Why it holds this request: because of the run, which a person may lift, or because the
    /// request is the skill's own.
    pub holds: CeilingReach,
}

/// Why an ask became an allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AskWaiver {
    /// The user answered "always" before.
    Remembered {
        /// The id of the answer.
        id: String,
        /// When it was given.
        granted_at: UnixTime,
    },
    /// The skill's `allowed-tools` lists it, and the settings let trusted skills approve that way.
    Preapproved {
        /// The entry.
        entry: String,
    },
}

/// The decision about a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyDecision {
    /// What happens.
    pub effect: Effect,
    /// Why, in one sentence.
    pub reason: String,
    /// What the request wanted to do.
    pub permission: Permission,
    /// The deciding subject: of several, the one with the strictest effect.
    pub subject: Subject,
    /// The effect of each layer on that subject; a layer without one is left out.
    pub layers: Vec<LayerDecision>,
    /// Why an ask became an allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiver: Option<AskWaiver>,
    /// The skills whose ceilings alone refuse it. If a person lifts them for a run, it is decided
    /// again, and not refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub liftable: Vec<SkillId>,
}

impl PolicyDecision {
    pub(crate) fn new(
        permission: &Permission,
        subject: Subject,
        layers: Vec<LayerDecision>,
        waiver: Option<AskWaiver>,
    ) -> Self {
        let strictest = layers.iter().map(|decision| decision.effect).min().unwrap_or(Effect::Deny);
        let effect = if waiver.is_some() { Effect::Allow } else { strictest };
        let mut decision = Self {
            effect,
            reason: String::new(),
            permission: permission.clone(),
            subject,
            layers,
            waiver,
            liftable: Vec::new(),
        };
        decision.reason = decision.sentence();
        decision
    }

    pub(crate) fn with_liftable(self, liftable: Vec<SkillId>) -> Self {
        Self { liftable, ..self }
    }

    /// Whether a question about it is whether a person lifts ceilings.
    pub const fn asks_to_lift(&self) -> bool {
        !self.liftable.is_empty()
    }

    /// The deciding layer: of those with the strictest effect, the one that is hardest to change.
    pub fn deciding(&self) -> Option<&LayerDecision> {
        let strictest = self.layers.iter().map(|decision| decision.effect).min()?;
        self.layers.iter().rev().find(|decision| decision.effect == strictest)
    }

    fn sentence(&self) -> String {
        let outcome = match self.effect {
            Effect::Deny => "is refused",
            Effect::Ask => "needs approval",
            Effect::Allow => "is allowed",
        };
        let because = match (&self.waiver, self.deciding()) {
            (Some(AskWaiver::Remembered { id, .. }), _) => {
                format!("you answered \"always\" before (answer {id})")
            }
            (Some(AskWaiver::Preapproved { entry }), _) => {
                format!("the trusted skill lists {} in its allowed-tools", shown(entry))
            }
            (None, Some(decision)) => decision.because.clone(),
            (None, None) => "nothing allows it".to_owned(),
        };
        format!("{}: {because}", self.headline(outcome))
    }

    fn headline(&self, outcome: &str) -> String {
        let about = match &self.subject {
            Subject::Text(text) if text.is_empty() => String::new(),
            subject => format!(" of {subject}"),
        };
        format!("`{}`{about} {outcome}", self.permission)
    }

    /// What the user can do about a refusal or an ask.
    pub fn help(&self) -> Option<&'static str> {
        if self.effect == Effect::Allow {
            return None;
        }
        Some(match (self.deciding()?.layer, self.effect) {
            (LayerKind::Floor, _) => "no rule can allow this; do it yourself, outside a run",
            (LayerKind::Trust, Effect::Deny) => {
                "read the skill, then trust its folder with `metier trust`"
            }
            (LayerKind::Skill, _) if !self.liftable.is_empty() => {
                "a person at a terminal can lift this for a run, when asked; `--yes` does not"
            }
            (LayerKind::Skill, _) => "the skill's author decides what `allowed-tools` lists",
            (LayerKind::Default, Effect::Deny) => {
                "rules are under `permissions` in ~/.agent/config.json"
            }
            (LayerKind::Agent, Effect::Deny) => {
                "start the run with another agent, or change this one under `agents`"
            }
            (LayerKind::Guarded, _) => {
                "answer once, always or no; your own rule with this very path, without `*`, allows it"
            }
            (_, Effect::Deny) => "change the rule, if it is yours to change",
            _ => "answer once, always or no",
        })
    }

    /// The full explanation, one sentence per line: the outcome, each layer, the overruled rules.
    pub fn sentences(&self) -> Vec<String> {
        std::iter::once(self.reason.clone()).chain(self.layer_sentences()).collect()
    }

    /// What each layer says, and the rules that it overruled: for the record, and for a person who wants
    /// to know more than the reason.
    pub fn layer_sentences(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for decision in &self.layers {
            lines.push(format!("{}: {}, {}", decision.layer, decision.effect, decision.because));
            lines.extend(decision.losers.iter().map(|rule| format!("  overruled: {rule}")));
        }
        lines
    }
}

impl fmt::Display for RuleAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = &self.rule;
        write!(f, "{} {} {}", rule.effect, shown(&rule.permission), shown(&rule.pattern))?;
        let origin = shown(&self.origin);
        let origin = origin.trim_matches('`');
        match self.line {
            Some(line) => write!(f, " ({origin}:{line})"),
            None => write!(f, " ({origin})"),
        }
    }
}
