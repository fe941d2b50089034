//! Agents: named sets of rules, a model and budgets that a run can be started with.
//!
//! An agent only narrows. Its rules are layers of the policy that never grant, so its `allow` opens nothing
//! that is closed; its budgets only lower. Where the user's file and a project's define an agent of the
//! same name, or a built-in one, all of them hold at once: a project can narrow `full`, never replace it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use metier_agent::{BudgetSetting, RunLimits};
use metier_policy::{Effect, PlacedRule, PolicyError, Rule, RuleLayer, RuleSource};
use metier_skill::own_tools;

use crate::agent_rules::RulePlace;
use crate::config::{AgentConfig, BudgetsConfig};
use crate::key_path::{Segment, render};
use crate::layer::Layer;
use crate::resolve::{Explained, Resolver};
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

    /// The setting behind each budget of a run that acts as `agent`, by the name that the run has for the budget.
    pub fn budget_settings(&self, agent: Option<&str>) -> BTreeMap<String, BudgetSetting> {
        let row = |key: &str| self.explained.iter().find(|row| row.key_path == key);
        let setting = |(budget, _): (&str, _)| {
            let everyone = row(&format!("budgets.{budget}"))?;
            let own = agent.and_then(|name| row(&agent_key(name, &["budgets", budget])));
            let Explained { key_path, origin, line, .. } =
                own.filter(|own| own.value != everyone.value).unwrap_or(everyone);
            let place = line.map(|line| format!("{origin}:{line}"));
            let name = if budget == "wall_s" { "wall_ms" } else { budget };
            Some((name.to_owned(), BudgetSetting { key: key_path.clone(), place }))
        };
        asked_budgets(&BudgetsConfig::default()).into_iter().filter_map(setting).collect()
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

/// The budgets that an agent can lower, as a file spells them, with what a file asks for.
fn asked_budgets(budgets: &BudgetsConfig) -> [(&'static str, Option<u32>); 6] {
    let BudgetsConfig { turns, tool_calls, script_runs, wall_s, tokens, skills_a_turn } = budgets;
    [
        ("turns", turns.map(NonZeroU32::get)),
        ("tool_calls", *tool_calls),
        ("script_runs", *script_runs),
        ("wall_s", wall_s.map(NonZeroU32::get)),
        ("tokens", tokens.map(NonZeroU32::get)),
        ("skills_a_turn", skills_a_turn.map(NonZeroU32::get)),
    ]
}

/// The agents of all files, each with what every file says about it: the user's first. `budgets` are the rows of
/// the budgets in effect, below which an agent's count.
pub(crate) fn merge(
    r: &mut Resolver<'_>,
    budgets: &[Explained],
) -> BTreeMap<String, Vec<AgentLayer>> {
    let mut agents: BTreeMap<String, Vec<AgentLayer>> = BTreeMap::new();
    let files: Vec<&Layer> = [r.user, r.project].into_iter().flatten().collect();
    for layer in &files {
        for (name, agent) in &layer.config.agents {
            agents.entry(name.clone()).or_default().push(AgentLayer {
                origin: layer.origin.clone(),
                rules: rules(name, agent, layer),
                model: agent.model.clone(),
                budgets: agent.budgets.clone(),
            });
        }
    }
    for name in agents.keys() {
        let before = r.rows.len();
        let parts = files.iter().filter_map(|layer| Some((*layer, layer.config.agents.get(name)?)));
        let parts: Vec<(&Layer, &AgentConfig)> = parts.collect();
        for (layer, agent) in &parts {
            for (rule, place) in agent.permissions.rules.iter().zip(&agent.permissions.places) {
                let key = rule_key(name, place);
                match place {
                    RulePlace::Item(_) => r.record(&key, rule, Some(layer)),
                    RulePlace::Pair(..) => r.record(&key, &rule.effect, Some(layer)),
                }
            }
            if let Some(model) = &agent.model {
                r.record(&agent_key(name, &["model"]), model, Some(layer));
            }
        }
        explain_budgets(r, name, &parts, budgets);
        if let ([(layer, _), ..], true) = (&*parts, r.rows.len() == before) {
            r.record(&agent_key(name, &[]), &serde_json::Map::new(), Some(layer));
        }
    }
    if agents.is_empty() {
        r.record("agents", &serde_json::Map::new(), None);
    }
    agents
}

/// A row for each budget that a file sets for the agent: the least of them, unless all runs have as little.
fn explain_budgets(
    r: &mut Resolver<'_>,
    name: &str,
    parts: &[(&Layer, &AgentConfig)],
    budgets: &[Explained],
) {
    let columns = parts.iter().map(|(layer, agent)| (*layer, asked_budgets(&agent.budgets)));
    let columns: Vec<_> = columns.collect();
    for (at, (budget, _)) in asked_budgets(&BudgetsConfig::default()).iter().enumerate() {
        let asked = columns.iter().filter_map(|(layer, asked)| Some((asked[at].1?, *layer)));
        let mut asked: Vec<(u32, &Layer)> = asked.collect();
        asked.sort_by_key(|(limit, _)| *limit);
        let Some((least, layer)) = asked.first().copied() else { continue };
        let key = agent_key(name, &["budgets", budget]);
        let everyone = budgets.iter().find(|row| row.key_path == format!("budgets.{budget}"));
        let limit = everyone.and_then(|row| row.value.as_u64());
        if let Some(row) = everyone.filter(|_| limit.is_some_and(|limit| limit < least.into())) {
            r.rows.push(Explained { key_path: key.clone(), overruled: None, ..row.clone() });
            r.overrule_at(&key, &least, layer);
        } else {
            r.record(&key, &least, Some(layer));
            if let Some((more, layer)) = asked.get(1).filter(|(more, _)| *more > least) {
                r.overrule_at(&key, more, layer);
            }
        }
    }
}

/// `agents.NAME.budgets.turns`, with a name in quotes that has a dot.
fn agent_key(name: &str, keys: &[&str]) -> String {
    let keys = keys.iter().map(|key| Segment::Key(key));
    let path: Vec<Segment<'_>> =
        [Segment::Key("agents"), Segment::Key(name)].into_iter().chain(keys).collect();
    render(&path)
}

fn rule_key(name: &str, place: &RulePlace) -> String {
    let path = [Segment::Key("agents"), Segment::Key(name), Segment::Key("permissions")];
    render(&path.into_iter().chain(place.segments()).collect::<Vec<_>>())
}

fn rules(name: &str, agent: &AgentConfig, layer: &Layer) -> Vec<PlacedRule> {
    let written = agent.permissions.rules.iter().zip(&agent.permissions.places);
    let placed = |(rule, place): (&Rule, &RulePlace)| PlacedRule {
        rule: rule.clone(),
        line: layer.line_of(&rule_key(name, place)),
    };
    written.map(placed).collect()
}
