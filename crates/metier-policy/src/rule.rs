//! Rules and layers: the rules of one file in their order; the last match wins.
//!
//! A layer is compiled once and asked often. It has no effect on a request that none of its rules
//! matches; `policy` decides what that means.

use metier_skill::SkillId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::error::PolicyError;
use crate::pattern::{Pattern, PermissionPattern};
use crate::permission::Permission;
use crate::subject::{Subject, SubjectSpellings};
use crate::wildcard::Wildcard;
use crate::words::MatchMode;

/// Bytes that a pattern may have.
const MAX_PATTERN: usize = 4096;

/// One rule on what may be done, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What the rule is about, such as `run_script`, `load_skill` or `*`.
    #[schemars(length(min = 1))]
    pub permission: String,
    /// What it applies to; `*` and `?` are wildcards.
    #[schemars(length(min = 1))]
    pub pattern: String,
    /// What happens when the rule matches.
    pub effect: Effect,
}

/// A rule and its line in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRule {
    /// The rule.
    pub rule: Rule,
    /// Its line, where there is a file.
    pub line: Option<usize>,
}

/// A rule with its place, as a decision shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleAt {
    /// The rule.
    #[serde(flatten)]
    pub rule: Rule,
    /// The file or other origin.
    pub origin: String,
    /// The line in it.
    pub line: Option<usize>,
}

/// Whose rules they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleSource {
    /// An administrator's.
    Managed,
    /// The user's.
    User,
    /// The user's or a project's list of tools that ask before each use; it can only tighten.
    Approval,
    /// The project's; they can only tighten.
    Project,
    /// The agent's that a run was started with; they can only tighten.
    Agent,
    /// This run's; they can only tighten.
    Run,
}

impl RuleSource {
    /// Whether a match in this layer replaces the built-in default.
    pub const fn grants(self) -> bool {
        matches!(self, Self::Managed | Self::User)
    }
}

/// The rules of one origin, compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleLayer {
    source: RuleSource,
    origin: String,
    rules: Vec<CompiledRule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CompiledRule {
    placed: PlacedRule,
    permission: PermissionPattern,
    pattern: Pattern,
    /// The rest of `skill/NAME`, as some write the name of a skill in a rule about loading skills.
    skill: Option<Pattern>,
    mode: MatchMode,
}

/// The rule of a layer that won.
pub(crate) struct RuleMatch<'a> {
    layer: &'a RuleLayer,
    winner: usize,
    losers: Vec<usize>,
    /// Whether it replaces the built-in default.
    grants: bool,
}

/// Whether to collect the rules that matched and were overruled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverruledRules {
    Listed,
    Skipped,
}

impl RuleLayer {
    /// Compiles the rules of one origin, in their order.
    pub fn new(
        source: RuleSource,
        origin: impl Into<String>,
        rules: impl IntoIterator<Item = PlacedRule>,
    ) -> Result<Self, PolicyError> {
        let origin = origin.into();
        let compile = |placed: PlacedRule| {
            let line = placed.line;
            CompiledRule::new(placed).map_err(|reason| PolicyError::BadRule {
                origin: origin.clone(),
                line,
                reason: Box::new(reason),
            })
        };
        let rules = rules.into_iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { source, origin, rules })
    }

    /// Whose rules they are.
    pub const fn source(&self) -> RuleSource {
        self.source
    }

    /// The file or other origin.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The rules about a tool that is not built in: a typo, or another program's tool.
    pub fn foreign(&self) -> impl Iterator<Item = RuleAt> {
        let foreign = |rule: &&CompiledRule| {
            matches!(&rule.permission, PermissionPattern::One(Permission::Other(_)))
        };
        self.rules.iter().filter(foreign).map(|rule| self.at(rule))
    }

    /// The rules about loading skills and about their scripts that match none of these: a typo, or a skill that is
    /// gone.
    pub fn without_skill(&self, skills: &[SkillId]) -> Vec<RuleAt> {
        let is_about = |rule: &CompiledRule, skill: &SubjectSpellings<'_>| match &rule.permission {
            PermissionPattern::One(Permission::LoadSkill) => rule.matches(skill),
            PermissionPattern::One(Permission::RunScript | Permission::ScriptNetwork) => {
                rule.pattern.may_match_script_of(skill)
            }
            _ => true,
        };
        let subjects: Vec<Subject> = skills.iter().cloned().map(Subject::Skill).collect();
        let skills: Vec<_> = subjects.iter().map(SubjectSpellings::of_skill).collect();
        // Without any skill, `*` would match none either.
        let matches_none = |rule: &&CompiledRule| {
            rule.placed.rule.pattern != "*" && !skills.iter().any(|skill| is_about(rule, skill))
        };
        let about_skills = |rule: &&CompiledRule| {
            use Permission::{LoadSkill, RunScript, ScriptNetwork};
            matches!(
                &rule.permission,
                PermissionPattern::One(LoadSkill | RunScript | ScriptNetwork)
            )
        };
        let rules = self.rules.iter().filter(about_skills).filter(matches_none);
        rules.map(|rule| self.at(rule)).collect()
    }

    fn at(&self, rule: &CompiledRule) -> RuleAt {
        let PlacedRule { rule, line } = rule.placed.clone();
        RuleAt { rule, origin: self.origin.clone(), line }
    }

    /// The rule that wins, if any rule matches.
    pub(crate) fn judge(
        &self,
        permission: &Permission,
        spellings: &SubjectSpellings<'_>,
        losers: OverruledRules,
    ) -> Option<RuleMatch<'_>> {
        let matching =
            |rule: &CompiledRule| rule.permission.matches(permission) && rule.matches(spellings);
        let mut found = self
            .rules
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, rule)| matching(rule))
            .map(|(at, _)| at);
        let mut winner = found.next()?;
        let mut others: Vec<usize> =
            if losers == OverruledRules::Listed { found.collect() } else { Vec::new() };
        let mut grants = self.source.grants();
        if grants && *permission == Permission::ScriptNetwork {
            match self.naming(permission, spellings, winner) {
                Some(counts) if counts != winner => {
                    others.retain(|at| *at != counts);
                    others.insert(0, winner);
                    winner = counts;
                }
                Some(_) => {}
                // A rule for `*` never opens the network; it may only ask about what another layer opens.
                None if self.rules[winner].placed.rule.effect == Effect::Allow => return None,
                None => grants = false,
            }
        }
        let losers = if losers == OverruledRules::Listed { others } else { Vec::new() };
        Some(RuleMatch { layer: self, winner, losers, grants })
    }

    /// Of a rule for `*` and one that names this tool, the stricter: `*` can refuse, and can ask about
    /// what was opened by name, but opens nothing itself. `None` where no rule names the tool.
    fn naming(
        &self,
        permission: &Permission,
        spellings: &SubjectSpellings<'_>,
        winner: usize,
    ) -> Option<usize> {
        let effect = |at: usize| self.rules[at].placed.rule.effect;
        let names = |rule: &CompiledRule| matches!(&rule.permission, PermissionPattern::One(_));
        if names(&self.rules[winner]) || effect(winner) == Effect::Deny {
            return Some(winner);
        }
        let named = self.rules.iter().rposition(|rule| {
            names(rule)
                && rule.permission.matches(permission)
                && rule.pattern.matches(spellings, rule.mode)
        })?;
        Some(if effect(named) <= effect(winner) { named } else { winner })
    }

    /// Whether a rule that may grant allows it and has this very path, not a pattern that covers it.
    pub(crate) fn names_path(
        &self,
        permission: &Permission,
        spellings: &SubjectSpellings<'_>,
    ) -> bool {
        let names = |rule: &CompiledRule| {
            let pattern = &rule.placed.rule.pattern;
            rule.placed.rule.effect == Effect::Allow
                && !pattern.contains(['*', '?'])
                && !pattern.ends_with('/')
                && rule.permission.matches(permission)
                && rule.pattern.matches(spellings, rule.mode)
        };
        self.source.grants() && self.rules.iter().any(names)
    }

    /// Whether an allow or ask rule covers this permission, which switches the tool on.
    pub(crate) fn switches_on(&self, permission: &Permission) -> bool {
        let on = |rule: &CompiledRule| {
            rule.placed.rule.effect > Effect::Deny && rule.permission.matches(permission)
        };
        self.source.grants() && self.rules.iter().any(on)
    }
}

impl CompiledRule {
    fn new(placed: PlacedRule) -> Result<Self, PolicyError> {
        let Rule { permission, pattern, effect } = &placed.rule;
        if pattern.trim().is_empty() || pattern.len() > MAX_PATTERN {
            return Err(PolicyError::BadPattern(pattern.clone()));
        }
        let permission = if permission.contains(['*', '?']) {
            PermissionPattern::Like(Wildcard::new(permission))
        } else {
            PermissionPattern::One(Permission::named(permission)?)
        };
        if permission == PermissionPattern::One(Permission::NetworkRequest) && !pattern.is_ascii() {
            // Requests have hosts in ASCII (`xn--...`): such a pattern would never match.
            return Err(PolicyError::BadHost(pattern.clone()));
        }
        let mode = if *effect == Effect::Allow { MatchMode::Exact } else { MatchMode::Wide };
        let about_skills = permission == PermissionPattern::One(Permission::LoadSkill);
        let skill = pattern.strip_prefix("skill/").filter(|rest| about_skills && !rest.is_empty());
        let (skill, pattern) = (skill.map(Pattern::new), Pattern::new(pattern));
        Ok(Self { placed, permission, pattern, skill, mode })
    }

    fn matches(&self, spellings: &SubjectSpellings<'_>) -> bool {
        self.pattern.matches(spellings, self.mode)
            || self.skill.as_ref().is_some_and(|skill| skill.matches(spellings, self.mode))
    }
}

impl RuleMatch<'_> {
    pub(crate) fn effect(&self) -> Effect {
        self.layer.rules[self.winner].placed.rule.effect
    }

    pub(crate) fn source(&self) -> RuleSource {
        self.layer.source
    }

    pub(crate) fn grants(&self) -> bool {
        self.grants
    }

    pub(crate) fn winner(&self) -> RuleAt {
        self.layer.at(&self.layer.rules[self.winner])
    }

    /// The overruled rules, the latest first.
    pub(crate) fn losers(&self) -> Vec<RuleAt> {
        self.losers.iter().map(|at| self.layer.at(&self.layer.rules[*at])).collect()
    }
}
