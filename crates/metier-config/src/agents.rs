//! Agents: named sets of rules, a model and budgets that a run can be started with.
//!
//! An agent only narrows. Its rules are layers of the policy that never grant, so its `allow` opens nothing
//! that is closed; its budgets only lower. Where the user's file and a project's define an agent of the
//! same name, or a built-in one, all of them hold at once: a project can narrow `full`, never replace it.

use std::collections::BTreeMap;

use metier_agent::RunLimits;
use metier_policy::{Effect, PlacedRule, PolicyError, Rule, RuleLayer, RuleSource};
use metier_skill::own_tools;
use serde_json::json;

use crate::config::{AgentConfig, BudgetsConfig};
use crate::key_path::{Segment, render};
use crate::layer::Layer;
use crate::resolve::Resolver;
use crate::settings::Settings;

/// The agent that changes nothing.
const FULL: &str = "full";
/// The agent that reads.
const READ_ONLY: &str = "read-only";
/// What it may do, of what is allowed anyway.
const READING: [&str; 4] =
    [own_tools::LOAD_SKILL, own_tools::READ_FILE, own_tools::LIST_DIR, own_tools::GREP];

/// One file's part of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentLayer {
    origin: String,
    rules: Vec<PlacedRule>,
    model: Option<String>,
    budgets: BudgetsConfig,
}

/// An agent, as a run is started with it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AgentSettings {
    /// Its name.
    pub name: String,
    /// Its rules, a layer for each file; none of them grants.
    pub layers: Vec<RuleLayer>,
    /// Its model, where the user chose one for it.
    pub model: Option<String>,
    /// What its runs may spend: never more than others.
    pub run_limits: RunLimits,
}

impl Settings {
    /// The agent of this name; nothing where there is none.
    ///
    /// # Errors
    ///
    /// A rule that cannot be compiled.
    pub fn agent(&self, name: &str) -> Result<Option<AgentSettings>, PolicyError> {
        let files = self.agents.get(name).map_or(&[][..], Vec::as_slice);
        let builtin = builtin(name);
        if builtin.is_none() && files.is_empty() {
            return Ok(None);
        }
        let mut agent = AgentSettings {
            name: name.to_owned(),
            layers: Vec::new(),
            model: files.iter().find_map(|file| file.model.clone()),
            run_limits: self.run_limits,
        };
        let rules = builtin.into_iter().map(|rules| ("built in", rules));
        let rules = rules.chain(files.iter().map(|file| (&*file.origin, file.rules.clone())));
        for (origin, rules) in rules.filter(|(_, rules)| !rules.is_empty()) {
            let origin = format!("agent {name}, {origin}");
            agent.layers.push(RuleLayer::new(RuleSource::Agent, origin, rules)?);
        }
        for file in files {
            agent.run_limits = lowered(agent.run_limits, &file.budgets);
        }
        Ok(Some(agent))
    }

    /// The names of all agents, sorted.
    pub fn agent_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.agents.keys().map(String::as_str).collect();
        names.extend([FULL, READ_ONLY]);
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn builtin(name: &str) -> Option<Vec<PlacedRule>> {
    let rule = |permission: &str, effect| PlacedRule {
        rule: Rule { permission: permission.to_owned(), pattern: "*".to_owned(), effect },
        line: None,
    };
    match name {
        FULL => Some(Vec::new()),
        READ_ONLY => {
            let reading = READING.map(|permission| rule(permission, Effect::Allow));
            Some([rule("*", Effect::Deny)].into_iter().chain(reading).collect())
        }
        _ => None,
    }
}

fn lowered(limits: RunLimits, budgets: &BudgetsConfig) -> RunLimits {
    let least = |limit: Option<u64>, asked: Option<u64>| match (limit, asked) {
        (Some(limit), Some(asked)) => Some(limit.min(asked)),
        (limit, asked) => limit.or(asked),
    };
    RunLimits {
        turns: budgets.turns.map_or(limits.turns, |asked| asked.get().min(limits.turns)),
        tool_calls: budgets.tool_calls.map_or(limits.tool_calls, |it| it.min(limits.tool_calls)),
        script_runs: budgets
            .script_runs
            .map_or(limits.script_runs, |it| it.min(limits.script_runs)),
        wall_ms: least(limits.wall_ms, budgets.wall_s.map(|it| u64::from(it.get()) * 1000)),
        tokens: least(limits.tokens, budgets.tokens.map(|it| it.get().into())),
        skills_a_turn: budgets
            .skills_a_turn
            .map_or(limits.skills_a_turn, |asked| asked.get().min(limits.skills_a_turn)),
        ..limits
    }
}

/// The agents of all files, each with what every file says about it: the user's first.
pub(crate) fn merge(r: &mut Resolver<'_>) -> BTreeMap<String, Vec<AgentLayer>> {
    let mut agents: BTreeMap<String, Vec<AgentLayer>> = BTreeMap::new();
    for layer in [r.user, r.project].into_iter().flatten() {
        for (name, agent) in &layer.config.agents {
            let placed = rules(name, agent, layer);
            let shown: Vec<&Rule> = placed.iter().map(|placed| &placed.rule).collect();
            let value = json!({ "permissions": shown, "model": agent.model });
            let key = render(&[Segment::Key("agents"), Segment::Key(name)]);
            r.record_at(&key, &format!("{key}.permissions"), &value, Some(layer));
            agents.entry(name.clone()).or_default().push(AgentLayer {
                origin: layer.origin.clone(),
                rules: placed,
                model: agent.model.clone(),
                budgets: agent.budgets.clone(),
            });
        }
    }
    if agents.is_empty() {
        r.record("agents", &serde_json::Map::new(), None);
    }
    agents
}

fn rules(name: &str, agent: &AgentConfig, layer: &Layer) -> Vec<PlacedRule> {
    let path = [Segment::Key("agents"), Segment::Key(name), Segment::Key("permissions")];
    let key = render(&path);
    let placed = |(at, rule): (usize, &Rule)| {
        let own = if agent.permissions.is_list { format!("{key}[{at}]") } else { key.clone() };
        PlacedRule { rule: rule.clone(), line: layer.line_of(&own) }
    };
    agent.permissions.rules.iter().enumerate().map(placed).collect()
}
