//! Case files in the formats of others: the public `evals.json`, and lists of requests that should trigger a
//! skill or not.
//!
//! They grow keys of their own, so unknown keys are left alone here. Two official documents disagree on the
//! name of the list of statements (`assertions`, `expectations`): both are read.

use metier::skill::yaml::{Node, NodeKind};

use super::files::named;
use super::{ReadCase, ReadFault};
use crate::case::{Case, Expected, JudgeCheck, OutputChecks};

/// The keys under which a file keeps its list.
const LIST_KEYS: [&str; 5] = ["evals", "items", "queries", "prompts", "tests"];
/// The keys that name the skill.
const SKILL_KEYS: [&str; 3] = ["skill", "skill_name", "skillName"];
/// How a file says yes and no, in any case.
const TRUE: [&str; 3] = ["true", "yes", "1"];
const FALSE: [&str; 3] = ["false", "no", "0"];
/// The keys that a request stands under.
const REQUEST_KEYS: [&str; 3] = ["query", "prompt", "input"];

/// The cases of a file, if it is in one of these formats.
pub(crate) fn cases(root: &Node<'_>) -> Option<Result<Vec<ReadCase>, Vec<ReadFault>>> {
    let skill = SKILL_KEYS.iter().find_map(|key| text(root, key));
    let (yes, no) = ("should_trigger_prompts", "should_not_trigger_prompts");
    if get(root, yes).is_some() || get(root, no).is_some() {
        let lists = [(yes, true), (no, false)];
        let items = lists.iter().flat_map(|(key, expected)| {
            items(get(root, key)).iter().map(move |item| (item, *expected))
        });
        let read = items.map(|(item, expected)| {
            let request = item.text().map(str::to_owned).or_else(|| request(item));
            let request = request.ok_or_else(|| missing(item))?;
            trigger(item, request, expected, skill.as_deref())
        });
        return Some(collect(read));
    }
    let list = match &root.kind {
        NodeKind::List(_) => root,
        _ => LIST_KEYS.iter().find_map(|key| get(root, key))?,
    };
    let all = items(Some(list));
    if !all.is_empty() && all.iter().all(|item| should_trigger(item).is_some()) {
        return Some(collect(all.iter().map(|item| {
            let request = request(item).ok_or_else(|| missing(item))?;
            let own = SKILL_KEYS.iter().find_map(|key| text(item, key)).or_else(|| skill.clone());
            trigger(item, request, should_trigger(item).unwrap_or_default(), own.as_deref())
        })));
    }
    if let Some(item) = all.iter().find(|item| says_trigger(item) && should_trigger(item).is_none())
    {
        let message = "`should_trigger` is neither true nor false";
        return Some(Err(vec![ReadFault::new(item.span.clone(), message)]));
    }
    if let Some(item) = all.iter().find(|item| should_trigger(item).is_some()) {
        let message = "some of these say whether the skill should trigger, and others do not";
        return Some(Err(vec![ReadFault::new(item.span.clone(), message)]));
    }
    (get(root, "evals").is_some()).then(|| {
        collect(all.iter().map(|item| {
            let request = request(item).ok_or_else(|| missing(item))?;
            public(item, request, skill.as_deref())
        }))
    })
}

fn collect(
    read: impl Iterator<Item = Result<ReadCase, ReadFault>>,
) -> Result<Vec<ReadCase>, Vec<ReadFault>> {
    let (mut cases, mut faults) = (Vec::new(), Vec::new());
    for one in read {
        match one {
            Ok(case) => cases.push(case),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(cases) } else { Err(faults) }
}

/// Whether the skill is to fire: `should_trigger`, or `expected: fire | no_fire`.
fn should_trigger(item: &Node<'_>) -> Option<bool> {
    match text(item, "should_trigger").or_else(|| text(item, "shouldTrigger")).as_deref() {
        Some(word) if TRUE.contains(&word.to_lowercase().as_str()) => return Some(true),
        Some(word) if FALSE.contains(&word.to_lowercase().as_str()) => return Some(false),
        _ => {}
    }
    match text(item, "expected").as_deref() {
        Some("fire" | "trigger") => Some(true),
        Some("no_fire" | "no_trigger") => Some(false),
        _ => None,
    }
}

/// Whether there is a word about it, whatever it says.
fn says_trigger(item: &Node<'_>) -> bool {
    get(item, "should_trigger").or_else(|| get(item, "shouldTrigger")).is_some()
}

fn trigger(
    item: &Node<'_>,
    input: String,
    expected: bool,
    skill: Option<&str>,
) -> Result<ReadCase, ReadFault> {
    let named = skill.map(str::to_owned);
    let split = text(item, "split").into_iter();
    let case = Case {
        id: text(item, "id").unwrap_or_default(),
        input,
        skill: named,
        // Which skill is filled in where the file does not say; an empty name stands for it.
        expected: Expected {
            output: OutputChecks { judge: statements(item)?, ..OutputChecks::default() },
            ..expected_trigger(expected, skill.unwrap_or_default())
        },
        tags: split.chain(["trigger".to_owned()]).collect(),
        ..Case::default()
    };
    Ok(ReadCase { at: item.span.start, case, is_foreign: true })
}

fn expected_trigger(fires: bool, skill: &str) -> Expected {
    let skills = vec![skill.to_owned()];
    if fires {
        Expected { skills: Some(skills), ..Expected::default() }
    } else {
        Expected { not_skills: skills, ..Expected::default() }
    }
}

/// What an item says of the answer: for a judge.
fn statements(item: &Node<'_>) -> Result<Vec<JudgeCheck>, ReadFault> {
    let mut judge = Vec::new();
    if let Some(wanted) = text(item, "expected_output").filter(|it| !it.trim().is_empty()) {
        judge.push(JudgeCheck { statement: format!("The result is as described: {wanted}") });
    }
    for key in ["assertions", "expectations"] {
        for statement in items(get(item, key)) {
            let keys = ["text", "assertion", "expectation", "description", "name"];
            let words = statement.text().map(str::to_owned);
            let words = words.or_else(|| keys.iter().find_map(|key| text(statement, key)));
            let Some(words) = words else {
                let message = format!("one of `{key}` is not a text");
                return Err(ReadFault::new(statement.span.clone(), message));
            };
            if judge.iter().all(|known: &JudgeCheck| known.statement != words) {
                judge.push(JudgeCheck { statement: words });
            }
        }
    }
    Ok(judge)
}

/// A case of the public `evals.json`: its statements are for a judge.
fn public(item: &Node<'_>, input: String, skill: Option<&str>) -> Result<ReadCase, ReadFault> {
    let judge = statements(item)?;
    let paths = items(get(item, "files")).iter().filter_map(|file| file.text());
    let files = named(paths.map(str::to_owned));
    let files = files.map_err(|message| ReadFault::new(item.span.clone(), message))?;
    let output = OutputChecks { judge, ..OutputChecks::default() };
    let case = Case {
        id: text(item, "id").unwrap_or_default(),
        input,
        skill: skill.map(str::to_owned),
        files,
        expected: Expected { output, ..Expected::default() },
        tags: vec!["evals.json".to_owned()],
        ..Case::default()
    };
    Ok(ReadCase { at: item.span.start, case, is_foreign: true })
}

fn request(item: &Node<'_>) -> Option<String> {
    REQUEST_KEYS.iter().find_map(|key| text(item, key))
}

fn missing(item: &Node<'_>) -> ReadFault {
    ReadFault::new(item.span.clone(), "there is no request here")
        .with_help("write it as `query` or `prompt`")
}

fn get<'n, 'a>(node: &'n Node<'a>, key: &str) -> Option<&'n Node<'a>> {
    let entries = node.entries()?;
    entries.iter().find(|(name, _)| name.key_text() == key).map(|(_, value)| value)
}

fn text(node: &Node<'_>, key: &str) -> Option<String> {
    get(node, key).filter(|value| !value.is_null())?.text().map(str::to_owned)
}

/// The items of a list; a value alone is a list of one.
fn items<'n, 'a>(node: Option<&'n Node<'a>>) -> &'n [Node<'a>] {
    match node {
        Some(Node { kind: NodeKind::List(items), .. }) => items,
        Some(one) if one.text().is_some() && !one.is_null() => std::slice::from_ref(one),
        _ => &[],
    }
}
