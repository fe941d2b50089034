//! Which other skills a skill says it needs, from its `metadata`.
//!
//! Authors write it in several ways, and the same words often mean packages or programs
//! (`dependencies: [torch]`). What can only mean skills is certain: `metier.requires`, and `skills` in a map
//! of `requires`, `depends` or `dependencies`. A plain list of these is a guess, which counts only where a
//! skill of that name is at hand, and is never reported as missing.

use std::collections::BTreeSet;

use crate::name::SkillName;
use crate::skill::Skill;
use crate::value::Value;

const KEYS: &[&str] = &["requires", "depends", "dependencies"];

/// The skills that a skill needs, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequiredSkills {
    /// What was certainly meant.
    pub certain: BTreeSet<String>,
    /// What may be a skill, or a program, or a package.
    pub perhaps: BTreeSet<String>,
}

impl RequiredSkills {
    /// What the skill's `metadata` says.
    pub fn of(skill: &Skill) -> Self {
        let mut found = Self::default();
        for (key, value) in &skill.details().metadata {
            match (&**key, value) {
                ("metier.requires", value) => found.add_ours(value),
                (key, value) if KEYS.contains(&key) => found.add(value),
                (outer, Value::Map(inner)) => {
                    for (key, value) in inner {
                        match &**key {
                            "requires" if outer == "metier" => found.add_ours(value),
                            key if KEYS.contains(&key) => found.add(value),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        // No skill needs itself.
        found.certain.remove(skill.name.as_str());
        found.perhaps.remove(skill.name.as_str());
        found.perhaps = found.perhaps.difference(&found.certain).cloned().collect();
        found
    }

    /// Our own key: whatever it lists are skills.
    fn add_ours(&mut self, value: &Value) {
        match value {
            Value::Map(_) => self.add(value),
            other => self.certain.extend(names(other)),
        }
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Map(entries) => {
                let skills = entries.iter().filter(|(key, _)| &**key == "skills");
                self.certain.extend(skills.flat_map(|(_, value)| names(value)));
            }
            other => self.perhaps.extend(names(other)),
        }
    }
}

/// The words of a text or list that can be the names of skills.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Text(text) => {
            text.split([',', ' ']).filter(|word| is_name(word)).map(str::to_owned).collect()
        }
        Value::List(items) => items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// Stricter than names have to be: `numpy>=2.0` and `owner/repo` are none.
fn is_name(word: &str) -> bool {
    let is_plain = |ch: char| ch.is_alphanumeric() || matches!(ch, '-' | '_' | '.');
    word.chars().all(is_plain) && SkillName::new(word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParseOptions, parse};

    fn of(metadata: &str) -> (Vec<String>, Vec<String>) {
        let text = format!("---\nname: a\ndescription: b\nmetadata:\n{metadata}---\n");
        let skill = parse(text.as_bytes(), &ParseOptions::default()).skill.expect("a skill");
        let found = RequiredSkills::of(&skill);
        (found.certain.into_iter().collect(), found.perhaps.into_iter().collect())
    }

    #[test]
    fn what_can_only_mean_skills_is_certain_and_the_rest_is_a_guess() {
        let none: Vec<String> = Vec::new();
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        assert_eq!(of("  metier.requires: pdf, csv\n"), (names(&["csv", "pdf"]), none.clone()));
        assert_eq!(of("  metier:\n    requires: [pdf, a]\n"), (names(&["pdf"]), none.clone()));
        assert_eq!(
            of("  requires:\n    bins: [jq]\n    skills: [pdf]\n"),
            (names(&["pdf"]), none.clone())
        );
        assert_eq!(
            of("  other-agent:\n    depends:\n      skills: pdf\n"),
            (names(&["pdf"]), none.clone())
        );
        assert_eq!(
            of("  dependencies: [torch, \"numpy>=2.0\", pdf]\n"),
            (none.clone(), names(&["pdf", "torch"]))
        );
        assert_eq!(of("  note: pdf\n"), (none.clone(), none));
    }
}
