//! What keeps skills and rules here from working, beyond what a scan sees: requirements that are not met,
//! skills that only an older version of a plugin has, rules that match nothing. For `metier doctor`.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use metier_policy::{Permission, Rule, RuleAt};
use metier_registry::roots::outdated_plugin_skills;
use metier_registry::{Entry, Scan};
use metier_skill::{SkillId, nearest};
use metier_tools::requirements::Requirements;

use crate::error::Result;
use crate::open::Metier;

/// A rule that matches no skill and no tool that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmatchedRule {
    /// The rule, with its place.
    pub at: RuleAt,
    /// The skill or tool that was likely meant.
    pub near: Option<String>,
}

impl fmt::Display for UnmatchedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { effect, permission, pattern } = &self.at.rule;
        write!(f, "the rule `{effect} {permission} {pattern}` matches no known skill or tool")?;
        match &self.near {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => Ok(()),
        }
    }
}

impl Metier {
    /// What the skill says it needs and is not there, described; its scripts are refused because of it.
    pub fn missing_requirements(&self, entry: &Entry, scan: &Scan) -> Vec<String> {
        // Programs that only prose names are looked for where a script is about to need them.
        let wanted = Requirements { perhaps: BTreeSet::new(), ..Requirements::of(&entry.skill) };
        if wanted == Requirements::default() {
            return Vec::new();
        }
        let is_passed = |name: &str| {
            let named = self.settings().execution.env.iter().any(|passed| passed == name);
            named && self.environment().text(name).is_some()
        };
        let has_skill = |name: &str| scan.index.find(name).is_some();
        wanted.missing_on(&self.search_path(), is_passed, has_skill).certain
    }

    /// Skills that only an older version of a plugin has, each with the newest version's folder.
    pub fn outdated_plugin_skills(&self) -> Vec<(PathBuf, PathBuf)> {
        self.inner.user.as_ref().map(outdated_plugin_skills).unwrap_or_default()
    }

    /// Rules of the configuration, those of its agents too, that match no skill and no tool that is known here.
    pub fn unmatched_rules(&self, scan: &Scan) -> Result<Vec<UnmatchedRule>> {
        let mut layers = self.settings().policy_layers()?;
        for name in self.settings().agents.keys() {
            layers
                .extend(self.settings().agent(name)?.map(|agent| agent.layers).unwrap_or_default());
        }
        if layers.is_empty() {
            return Ok(Vec::new());
        }
        let known = scan.index.entries().iter().chain(scan.index.shadowed());
        let ids: Vec<SkillId> = known.map(|entry| entry.id()).collect();
        let ours: Vec<Permission> = Permission::ours().collect();
        let mut found = Vec::new();
        for layer in layers {
            found.extend(layer.foreign().map(|at| {
                let tools = ours.iter().map(Permission::as_str);
                let near = nearest(&at.rule.permission, tools).map(str::to_owned);
                UnmatchedRule { at, near }
            }));
            found.extend(layer.without_skill(&ids).into_iter().map(|at| {
                let near = nearest_skill(&at.rule.pattern, &ids);
                UnmatchedRule { at, near }
            }));
        }
        Ok(found)
    }
}

/// The skill that a pattern likely means: of `skill/NAME` and of a script's path, the name.
fn nearest_skill(pattern: &str, ids: &[SkillId]) -> Option<String> {
    let first = pattern.split_whitespace().next()?;
    let first = first.strip_prefix("skill/").unwrap_or(first);
    let written = first.split('/').next().filter(|it| !it.contains(['*', '?']))?;
    let has_source = written.contains(':');
    let names = ids.iter().map(|id| if has_source { id.to_string() } else { id.name.to_string() });
    let names: Vec<String> = names.collect();
    let near = nearest(written, names.iter().map(String::as_str))?;
    // The skill is there: a rule about its scripts names them too.
    Some(if near == written { format!("{near}/*") } else { near.to_owned() })
}
