//! Whether an action is one that a pattern means, and the pattern in words.
//! Pure, and shared by all checks of actions.

use serde_json::Value;

use crate::case::{ActionPattern, ArgumentPattern};
use crate::read::action_kind;
use crate::trial::TrialAction;

/// Whether an action fits a pattern. What the pattern does not give fits everything.
pub(crate) fn fits(pattern: &ActionPattern, action: &TrialAction) -> bool {
    let kind = pattern.action.as_deref();
    kind.is_none_or(|kind| action_kind(kind).unwrap_or(kind) == action.action)
        && pattern.skill.as_deref().is_none_or(|wanted| is_skill(wanted, action.skill.as_deref()))
        && pattern.path.as_deref().is_none_or(|wanted| {
            action.path.as_deref().is_some_and(|path| matches_wildcard(wanted, path))
        })
        && pattern.tool.as_deref().is_none_or(|wanted| {
            action.tool.as_deref().is_some_and(|tool| matches_wildcard(wanted, tool))
                || action_kind(wanted) == Some(action.action.as_str())
        })
        && pattern.ok.is_none_or(|ok| ok == action.ok)
        && pattern.args.iter().all(|(name, wanted)| has_argument(&action.args, name, wanted))
}

/// Whether an action is one that was wanted, and worked. A pattern that says how it came out is taken at its word.
pub(crate) fn was_done(pattern: &ActionPattern, action: &TrialAction) -> bool {
    fits(pattern, action) && (action.ok || pattern.ok.is_some())
}

/// Whether a pattern means loading one skill.
pub(super) fn is_load_of(skill: &str, pattern: &ActionPattern) -> bool {
    let kind = pattern.action.as_deref().or(pattern.tool.as_deref()).and_then(action_kind);
    kind == Some("select_skills")
        && pattern.skill.as_deref().is_some_and(|wanted| is_skill(wanted, Some(skill)))
}

/// A skill by its name, or as `source:name`.
fn is_skill(wanted: &str, skill: Option<&str>) -> bool {
    let Some(skill) = skill else { return false };
    wanted == skill || wanted.split_once(':').is_some_and(|(_, name)| name == skill)
}

fn has_argument(args: &Value, name: &str, wanted: &ArgumentPattern) -> bool {
    match args {
        Value::Object(args) if name == "*" => args.values().any(|value| is_value(value, wanted)),
        Value::Object(args) => args.get(name).is_some_and(|value| is_value(value, wanted)),
        Value::Array(args) if name == "*" => args.iter().any(|value| is_value(value, wanted)),
        Value::Array(args) => {
            let at = name.parse::<usize>().ok();
            at.and_then(|at| args.get(at)).is_some_and(|value| is_value(value, wanted))
        }
        _ => false,
    }
}

fn is_value(value: &Value, wanted: &ArgumentPattern) -> bool {
    let text = || match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match wanted {
        // A number that was written as a text in one place and as a number in the other is the same.
        ArgumentPattern::Equals(wanted) => value == wanted || wanted.as_str() == Some(&text()),
        ArgumentPattern::Contains(part) => text().contains(part.as_str()),
        ArgumentPattern::Regex(expression) => {
            regex::Regex::new(expression).is_ok_and(|expression| expression.is_match(&text()))
        }
    }
}

/// `*` is any text, `?` one character.
pub(crate) fn matches_wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, from)) => {
                    (p, t) = (at + 1, from + 1);
                    star = Some((at, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Whether the name of a forbidden tool, in which `*` is any text, means this one. `*` alone means whatever acts: a
/// skill is loaded to know what to do, and who forbids that says so.
pub(crate) fn is_tool_meant(forbidden: &str, tool: &str) -> bool {
    let is_load = action_kind(tool) == Some("select_skills");
    matches_wildcard(forbidden, tool) && !(is_load && forbidden.chars().all(|c| c == '*'))
}

/// A pattern in words, as it would be written in one line.
pub(crate) fn describe(pattern: &ActionPattern) -> String {
    let mut words: Vec<String> = Vec::new();
    let is_tool = pattern.tool.is_some() && pattern.action.as_deref() == Some("call_tool");
    words.extend(pattern.action.clone().filter(|_| !is_tool));
    match (&pattern.skill, &pattern.path) {
        (Some(skill), Some(path)) => words.push(format!("{skill}/{path}")),
        (Some(one), None) | (None, Some(one)) => words.push(one.clone()),
        (None, None) => {}
    }
    words.extend(pattern.tool.clone());
    for (name, wanted) in &pattern.args {
        words.push(match wanted {
            ArgumentPattern::Equals(value) => format!("{name}={value}"),
            ArgumentPattern::Contains(part) => format!("{name} with `{part}`"),
            ArgumentPattern::Regex(expression) => format!("{name}~`{expression}`"),
        });
    }
    match pattern.ok {
        Some(true) => words.push("that works".to_owned()),
        Some(false) => words.push("that fails".to_owned()),
        None => {}
    }
    if words.is_empty() { "action".to_owned() } else { words.join(" ") }
}
