//! Which sources skills may be installed from: the lists of each file stay apart, because an allow of a project
//! must not add to that of the user. How they are judged is `metier-pack`'s.

use std::time::Duration;

use metier_pack::{SourcePolicy, SourceRuleScope, SourceRules};

use crate::layer::Scope;
use crate::resolve::Resolver;

const DAY: Duration = Duration::from_hours(24);

pub(crate) fn merge(r: &mut Resolver<'_>) -> SourcePolicy {
    let mut rules = Vec::new();
    let (mut has_allow, mut has_deny) = (false, false);
    for layer in r.managed.iter().chain([r.user, r.project].into_iter().flatten()) {
        let sources = &layer.config.sources;
        for (key, list) in [("allow", sources.allow.as_deref()), ("deny", Some(&sources.deny[..]))]
        {
            for (i, pattern) in list.unwrap_or_default().iter().enumerate() {
                r.record(&format!("sources.{key}[{i}]"), pattern, Some(layer));
            }
        }
        has_allow |= sources.allow.as_ref().is_some_and(|list| !list.is_empty());
        has_deny |= !sources.deny.is_empty();
        if sources.allow.is_some() || !sources.deny.is_empty() {
            rules.push(SourceRules {
                origin: layer.origin.clone(),
                scope: match layer.scope {
                    Scope::Managed => SourceRuleScope::Managed,
                    Scope::User => SourceRuleScope::User,
                    Scope::Project => SourceRuleScope::Project,
                },
                allow: sources.allow.clone(),
                deny: sources.deny.clone(),
            });
        }
    }
    for (key, is_set) in [("sources.allow", has_allow), ("sources.deny", has_deny)] {
        if !is_set {
            r.record(key, &[(); 0], None);
        }
    }
    let days = r.guard(
        "sources.min_release_age",
        None,
        |asked: &Option<u32>, baseline| asked > baseline,
        |c| c.sources.min_release_age.map(|days| Some(days.get())),
    );
    // The file that the row above names.
    let origin = r.rows.last().map(|row| row.origin.clone()).unwrap_or_default();
    let min_release_age = days.map(|days| (DAY * days, origin));
    SourcePolicy { rules, min_release_age }
}
