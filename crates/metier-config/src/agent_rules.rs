//! The rules of an agent as a file writes them: a list, or the short form
//! `{"skill": {"internal-*": "deny", "*": "ask"}}`.
//!
//! In a list the last matching rule wins, as everywhere. In the short form order does not count, because
//! an object has none: the pattern with the most literal characters wins, and of equals the stricter. Both
//! become one list, in which the winner stands last, and each rule keeps the key under which it was written.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use metier_policy::{Effect, Permission, Rule};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::key_path::Segment;

/// Rules, in the order in which the last match wins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenRules")]
pub struct AgentRules {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Where the file has each of them.
    pub(crate) places: Vec<RulePlace>,
}

/// Where a file has a rule, below `permissions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RulePlace {
    /// In a list.
    Item(usize),
    /// In the short form: the permission and the pattern, as written.
    Pair(String, String),
}

impl RulePlace {
    /// The steps from `permissions` to the rule.
    pub(crate) fn segments(&self) -> Vec<Segment<'_>> {
        match self {
            Self::Item(at) => vec![Segment::Index(*at)],
            Self::Pair(permission, pattern) => {
                vec![Segment::Key(permission), Segment::Key(pattern)]
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenRules {
    List(Vec<Rule>),
    Short(BTreeMap<String, BTreeMap<String, Effect>>),
}

impl From<WrittenRules> for AgentRules {
    fn from(written: WrittenRules) -> Self {
        match written {
            WrittenRules::List(rules) => {
                let places = (0..rules.len()).map(RulePlace::Item).collect();
                Self { rules, places }
            }
            WrittenRules::Short(short) => {
                let (rules, places) = in_order(short).into_iter().unzip();
                Self { rules, places }
            }
        }
    }
}

fn in_order(short: BTreeMap<String, BTreeMap<String, Effect>>) -> Vec<(Rule, RulePlace)> {
    let mut rules = Vec::new();
    for (written, patterns) in short {
        // `skill` and `load_skill` are one permission, however long the word is.
        let known = Permission::named(&written).map(|known| known.to_string());
        let permission = known.unwrap_or_else(|_| written.clone());
        rules.extend(patterns.into_iter().map(|(pattern, effect)| {
            let place = RulePlace::Pair(written.clone(), pattern.clone());
            (Rule { permission: permission.clone(), pattern, effect }, place)
        }));
    }
    rules.sort_by_key(|(rule, _)| {
        (literals(&rule.permission), literals(&rule.pattern), Reverse(rule.effect))
    });
    rules
}

fn literals(pattern: &str) -> usize {
    pattern.chars().filter(|c| !matches!(c, '*' | '?')).count()
}

impl JsonSchema for AgentRules {
    fn schema_name() -> Cow<'static, str> {
        "AgentRules".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rule = generator.subschema_for::<Rule>();
        let effect = generator.subschema_for::<Effect>();
        json_schema!({
            "type": ["array", "object"],
            "maxItems": 1000,
            "items": rule,
            "additionalProperties": { "type": "object", "additionalProperties": effect },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Vec<(String, String, Effect)> {
        let rules: AgentRules = serde_json::from_str(text).expect("rules");
        rules.rules.into_iter().map(|rule| (rule.permission, rule.pattern, rule.effect)).collect()
    }

    fn row(permission: &str, pattern: &str, effect: Effect) -> (String, String, Effect) {
        (permission.to_owned(), pattern.to_owned(), effect)
    }

    #[test]
    fn the_most_literal_pattern_stands_last_and_of_equals_the_stricter() {
        assert_eq!(
            parse(r#"{"skill": {"internal-*": "deny", "*": "ask"}}"#),
            [row("load_skill", "*", Effect::Ask), row("load_skill", "internal-*", Effect::Deny)]
        );
        assert_eq!(
            parse(r#"{"skill": {"pdf-*": "deny", "*-pdf": "allow"}, "*": {"*": "deny"}}"#),
            [
                row("*", "*", Effect::Deny),
                row("load_skill", "*-pdf", Effect::Allow),
                row("load_skill", "pdf-*", Effect::Deny),
            ]
        );
    }

    proptest! {
        #[test]
        fn order_does_not_count(
            pairs in prop::collection::vec(("[a-c*?]{1,4}", 0usize..3), 0..6), seed: u64,
        ) {
            let effects = ["deny", "ask", "allow"];
            let pairs: BTreeMap<String, usize> = pairs.into_iter().collect();
            let written = |order: &[(&String, &usize)]| {
                let one = |(pattern, at): &(&String, &usize)| format!("{pattern:?}: {:?}", effects[**at]);
                let all: Vec<String> = order.iter().map(one).collect();
                format!("{{\"skill\": {{{}}}}}", all.join(", "))
            };
            let mut order: Vec<(&String, &usize)> = pairs.iter().collect();
            let first = parse(&written(&order));
            let shift = usize::try_from(seed % 7).unwrap_or(0) % order.len().max(1);
            order.rotate_left(shift);
            order.reverse();
            prop_assert_eq!(first, parse(&written(&order)));
        }
    }
}
