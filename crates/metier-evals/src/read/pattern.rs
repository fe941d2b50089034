//! An action in one line, as a person writes it: `run_script pdf/scripts/fill.py form.pdf`.
//!
//! The kind stands first, then what it is about. A word that is no kind is a tool.

use std::collections::BTreeMap;

use metier::model::Action;

use crate::case::{ActionPattern, ArgumentPattern};

/// Other words for the kinds: what documents and other agents call them.
const ALIASES: [(&str, &str); 6] = [
    ("load_skill", "select_skills"),
    ("select_skill", "select_skills"),
    ("read_resource", "load_resource"),
    ("search_skill", "search_skills"),
    ("answer", "final_answer"),
    ("tool", "call_tool"),
];

/// The kind that a word means.
pub(crate) fn kind(word: &str) -> Option<&'static str> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == word).map(|(_, kind)| *kind);
    alias.or_else(|| Action::KINDS.iter().copied().find(|kind| *kind == word))
}

/// Reads a line.
pub(crate) fn parse(line: &str) -> Result<ActionPattern, String> {
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return Err("the action is empty".to_owned()) };
    let about: Vec<&str> = words.collect();
    let kind = kind(first);
    let mut pattern = ActionPattern { action: kind.map(str::to_owned), ..ActionPattern::default() };
    match (kind, about.as_slice()) {
        (Some(_), []) => {}
        (Some("select_skills"), [skill]) => pattern.skill = Some((*skill).to_owned()),
        (Some("load_resource"), [file]) => in_skill(&mut pattern, file),
        (Some("run_script"), [script, args @ ..]) => {
            in_skill(&mut pattern, script);
            pattern.args = by_place(args);
        }
        (Some("call_tool"), [tool]) => pattern.tool = Some((*tool).to_owned()),
        (None, []) => {
            pattern.action = Some("call_tool".to_owned());
            pattern.tool = Some(first.to_owned());
        }
        (_, [next, ..]) => {
            return Err(format!(
                "`{first}` takes nothing like `{next}` in one line: write its keys, such as \
                 `{{tool: {first}, args: {{...}}}}`"
            ));
        }
    }
    Ok(pattern)
}

/// `pdf/scripts/fill.py`: a file of a skill; `pdf` is the skill, whatever the file.
fn in_skill(pattern: &mut ActionPattern, text: &str) {
    match text.split_once('/') {
        Some((skill, path)) => {
            pattern.skill = Some(skill.to_owned());
            pattern.path = Some(path.to_owned());
        }
        None => pattern.skill = Some(text.to_owned()),
    }
}

fn by_place(args: &[&str]) -> BTreeMap<String, ArgumentPattern> {
    let places = args.iter().enumerate();
    places.map(|(at, arg)| (at.to_string(), ArgumentPattern::Equals((*arg).into()))).collect()
}
