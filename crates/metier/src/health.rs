//! What keeps skills and rules here from working, beyond what a scan sees: requirements that are not met,
//! skills that only an older version of a plugin has, rules that match nothing. For `metier doctor`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use metier_policy::RuleAt;
use metier_registry::roots::outdated_plugin_skills;
use metier_registry::{Entry, Scan};
use metier_skill::SkillId;
use metier_tools::requirements::Requirements;

use crate::error::Result;
use crate::open::Metier;

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
    pub fn unmatched_rules(&self, scan: &Scan) -> Result<Vec<RuleAt>> {
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
        let mut found = Vec::new();
        for layer in layers {
            found.extend(layer.foreign());
            found.extend(layer.without_skill(&ids));
        }
        Ok(found)
    }
}
