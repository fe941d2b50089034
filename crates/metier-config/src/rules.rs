//! The permission rules of all files as the policy takes them.
//!
//! Each file's rules stay a layer of their own, with their lines: a decision names the rule that
//! made it, and the policy joins the layers by the strictest answer.

use metier_policy::{
    Effect, ExampleFault, Permission, PlacedRule, PolicyError, PolicyPlaces, Rule, RuleLayer,
    RuleSource, check_examples,
};

use crate::layer::Scope;
use crate::settings::{PermissionLayer, Settings};

impl Settings {
    /// The layers of the policy: administrators' rules, the user's, the project's, and the tools
    /// that `execution.require_approval_for` makes ask; where skills are switched off, a layer that denies
    /// them.
    pub fn policy_layers(&self) -> Result<Vec<RuleLayer>, PolicyError> {
        let files = self.permissions.iter().map(PermissionLayer::policy_layer);
        let mut layers = files.collect::<Result<Vec<RuleLayer>, PolicyError>>()?;
        let asking = &self.execution.require_approval_for;
        if !asking.is_empty() {
            let ask = |permission: &Permission| PlacedRule {
                rule: Rule {
                    permission: permission.as_str().to_owned(),
                    pattern: "*".to_owned(),
                    effect: Effect::Ask,
                },
                line: None,
            };
            let origin = "execution.require_approval_for";
            layers.push(RuleLayer::new(RuleSource::Approval, origin, asking.iter().map(ask))?);
        }
        if !self.enable_skills {
            let deny = |permission: Permission| PlacedRule {
                rule: Rule {
                    permission: permission.as_str().to_owned(),
                    pattern: "*".to_owned(),
                    effect: Effect::Deny,
                },
                line: None,
            };
            let skills = [Permission::LoadSkill, Permission::RunScript].map(deny);
            layers.push(RuleLayer::new(RuleSource::Run, "enable_skills is off", skills)?);
        }
        Ok(layers)
    }

    /// The examples of all files that do not come out as their authors expect. `places` should not
    /// be those of this run: whether an example holds must not depend on where the program was
    /// started.
    pub fn failed_examples(&self, places: &PolicyPlaces) -> Result<Vec<ExampleFault>, PolicyError> {
        let mut faults = Vec::new();
        for file in &self.permissions {
            let checked = check_examples(&file.policy_layer()?, &file.examples, places);
            faults.extend(checked.err().unwrap_or_default());
        }
        Ok(faults)
    }

    /// The hosts that rules about the network allow or ask about: those that a tool may be offered
    /// for at all. A project's rules name none, or a clone could offer its own server.
    pub fn network_hosts(&self) -> impl Iterator<Item = &str> {
        let files = self.permissions.iter().filter(|file| file.scope != Scope::Project);
        let rules = files.flat_map(|file| &file.rules).map(|placed| &placed.rule);
        rules
            .filter(|rule| rule.effect != Effect::Deny)
            .filter(|rule| {
                matches!(Permission::named(&rule.permission), Ok(Permission::NetworkRequest))
            })
            .map(|rule| rule.pattern.as_str())
    }
}

impl PermissionLayer {
    fn policy_layer(&self) -> Result<RuleLayer, PolicyError> {
        RuleLayer::new(self.scope.into(), &*self.origin, self.rules.iter().cloned())
    }
}

impl From<Scope> for RuleSource {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Managed => Self::Managed,
            Scope::User => Self::User,
            Scope::Project => Self::Project,
        }
    }
}
