//! A first file of cases for a skill: what its description says it is for, and what its neighbours are for.
//! It is a beginning that a person edits, and says so.

use metier::registry::Entry;
use metier::registry::Scan;

use crate::overlap::SkillRanking;
use crate::phrases::phrases;

/// Cases of each kind that are asked for.
const WANTED: usize = 5;
/// Neighbours whose requests become negatives.
const MAX_NEIGHBOURS: usize = 6;

/// The text of a first file of cases for a skill.
pub fn first_case_file(skill: &Entry, scan: &Scan) -> String {
    let name = skill.name().as_str();
    let positives = phrases(&skill.skill.description);
    let mut text = format!(
        "# Cases for the skill {name}. Edit them: write what your users type, in their words.\n\
         # At least {WANTED} that need the skill and {WANTED} that do not; the best ones nearly do.\n\
         skill: {}\ncases:\n  # These should load the skill.\n",
        yaml(name)
    );
    for phrase in &positives {
        text.push_str(&case(
            phrase,
            &format!("[{}]", yaml(name)),
            "skills",
            "from the description",
        ));
    }
    for number in positives.len()..WANTED {
        text.push_str(&format!(
            "  # - input: \"\"  # positive {}\n  #   expected: {{skills: [{name}]}}\n",
            number + 1
        ));
    }
    text.push_str("  # These should not: they belong to another skill, or to none.\n");
    let negatives = negatives(skill, scan);
    for (phrase, other) in &negatives {
        let from = format!("from the description of {other}");
        text.push_str(&case(phrase, &format!("[{}]", yaml(name)), "not_skills", &from));
    }
    for number in negatives.len()..WANTED {
        text.push_str(&format!(
            "  # - input: \"\"  # negative {}\n  #   expected: {{not_skills: [{name}]}}\n",
            number + 1
        ));
    }
    text
}

fn case(phrase: &str, skills: &str, key: &str, from: &str) -> String {
    format!("  - input: {}  # edit: {from}\n    expected: {{{key}: {skills}}}\n", yaml(phrase))
}

/// Requests of the skills that are nearest, each with its skill.
fn negatives(skill: &Entry, scan: &Scan) -> Vec<(String, String)> {
    let others = scan.index.entries().iter().filter(|entry| entry.name() != skill.name());
    let others: Vec<&Entry> = others.map(|entry| &**entry).filter(|entry| entry.enabled).collect();
    let ranking = SkillRanking::new(others.iter().copied());
    let near = ranking.competitors(&skill.skill.description).into_iter().take(MAX_NEIGHBOURS);
    let found = near.filter_map(|rival| {
        let entry = others.iter().find(|entry| entry.name().as_str() == rival.skill)?;
        Some((phrases(&entry.skill.description).into_iter().next()?, rival.skill))
    });
    found.collect()
}

/// A text as a quoted scalar: JSON's strings are YAML's.
fn yaml(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}
