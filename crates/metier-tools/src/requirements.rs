//! What a skill says it needs (programs, variables, other skills), checked before any of it runs.
//!
//! Read from `metadata.requires` (`bins`, `env`: lists or texts with commas), also below one more key, as
//! other agents nest it; which skills are meant is `metier-skill`'s. And from words of `compatibility` that can mean nothing else.
//! What only `compatibility` names is a doubt, not a refusal: it is written for people.

use std::collections::BTreeSet;

use metier_sandbox::{Interpreter, Located, Runtime, SearchPath};
use metier_skill::{RequiredSkills, Skill, Value};

/// Programs that `compatibility` may name in passing.
const PROGRAMS: &[&str] = &[
    "bash",
    "bun",
    "cargo",
    "curl",
    "deno",
    "docker",
    "ffmpeg",
    "gh",
    "git",
    "go",
    "imagemagick",
    "java",
    "jq",
    "kubectl",
    "make",
    "node",
    "npm",
    "npx",
    "pandoc",
    "perl",
    "pip",
    "pnpm",
    "psql",
    "python3",
    "rg",
    "ruby",
    "sqlite3",
    "tesseract",
    "uv",
    "yarn",
];

/// What a skill needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirements {
    /// Programs.
    pub bins: BTreeSet<String>,
    /// Environment variables.
    pub env: BTreeSet<String>,
    /// Other skills.
    pub skills: BTreeSet<String>,
    /// Programs that only `compatibility` names.
    pub perhaps: BTreeSet<String>,
}

/// Requirements that are not met.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingRequirements {
    /// What is certainly missing, described.
    pub certain: Vec<String>,
    /// What may be missing.
    pub perhaps: Vec<String>,
}

impl Requirements {
    /// What the skill's frontmatter says.
    pub fn of(skill: &Skill) -> Self {
        let mut found = Self { skills: RequiredSkills::of(skill).certain, ..Self::default() };
        let details = skill.details();
        for (key, value) in &details.metadata {
            if &**key == "requires" {
                found.add(value);
            } else if let Value::Map(inner) = value {
                let requires = inner.iter().filter(|(key, _)| &**key == "requires");
                requires.for_each(|(_, value)| found.add(value));
            }
        }
        let words = details.compatibility.as_deref().unwrap_or_default();
        for word in words.split(|c: char| !c.is_ascii_alphanumeric()) {
            let word = match word.to_ascii_lowercase() {
                word if word == "python" => "python3".to_owned(),
                word if word == "nodejs" => "node".to_owned(),
                word => word,
            };
            if PROGRAMS.contains(&word.as_str()) && !found.bins.contains(&word) {
                found.perhaps.insert(word);
            }
        }
        found
    }

    fn add(&mut self, requires: &Value) {
        let Value::Map(entries) = requires else { return };
        for (key, value) in entries {
            let into = match &**key {
                "bins" | "binaries" | "commands" => &mut self.bins,
                "env" | "environment" => &mut self.env,
                _ => continue,
            };
            into.extend(texts(value));
        }
    }

    /// What is not there on a machine with these programs and variables, among these skills.
    pub fn missing_on(
        &self,
        search: &SearchPath,
        has_variable: impl Fn(&str) -> bool,
        has_skill: impl Fn(&str) -> bool,
    ) -> MissingRequirements {
        let has_program = |name: &str| {
            let runtime = Runtime { program: name.to_owned(), args: Vec::new() };
            let wanted = Interpreter {
                script: String::new(),
                candidates: vec![runtime],
                needs_packages: false,
            };
            Located::find(&wanted, search).is_ok()
        };
        self.missing(has_program, has_variable, has_skill)
    }

    /// What is missing, by the caller's own checks.
    pub fn missing(
        &self,
        has_program: impl Fn(&str) -> bool,
        has_variable: impl Fn(&str) -> bool,
        has_skill: impl Fn(&str) -> bool,
    ) -> MissingRequirements {
        let mut missing = MissingRequirements::default();
        let mut lack = |names: &BTreeSet<String>, there: &dyn Fn(&str) -> bool, what: &str| {
            let absent = names.iter().filter(|name| !there(name));
            missing.certain.extend(absent.map(|name| format!("{what} `{name}`")));
        };
        lack(&self.bins, &has_program, "the program");
        lack(&self.env, &has_variable, "the variable");
        lack(&self.skills, &has_skill, "the skill");
        missing.perhaps = self.perhaps.iter().filter(|name| !has_program(name)).cloned().collect();
        missing
    }
}

fn texts(value: &Value) -> Vec<String> {
    let words = |text: &str| {
        text.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    match value {
        Value::Text(text) => words(text),
        Value::List(items) => items.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use metier_skill::{ParseOptions, parse};

    use super::*;

    fn of(frontmatter: &str) -> Requirements {
        let text = format!("---\nname: a\ndescription: b\n{frontmatter}---\n");
        let parsed = parse(text.as_bytes(), &ParseOptions::default());
        Requirements::of(&parsed.skill.expect("a skill"))
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn lists_and_texts_are_read_also_one_level_deeper() {
        let plain = of("metadata:\n  requires:\n    bins: [jq, git]\n    env: A_KEY, B_KEY\n");
        assert_eq!((plain.bins, plain.env), (set(&["git", "jq"]), set(&["A_KEY", "B_KEY"])));
        let nested = of("metadata:\n  other-agent:\n    requires:\n      skills:\n        - pdf\n");
        assert_eq!(nested.skills, set(&["pdf"]));
        assert_eq!(of("metadata:\n  requires: jq\n"), Requirements::default());
    }

    #[test]
    fn compatibility_raises_a_doubt_and_no_more() {
        let found = of("compatibility: Needs Docker and Python 3.11+, works with any shell\n");
        assert_eq!(found.perhaps, set(&["docker", "python3"]));
        let missing = found.missing(|name| name == "python3", |_| false, |_| false);
        assert_eq!(
            missing,
            MissingRequirements { certain: Vec::new(), perhaps: vec!["docker".to_owned()] }
        );
    }
}
