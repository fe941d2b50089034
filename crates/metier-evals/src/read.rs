//! Case files: found, read in every spelling, and brought to one form.
//!
//! | module | owns |
//! |---|---|
//! | `document` | YAML and JSON to a tree with places, within limits |
//! | `deserialize` | a tree to types, an error at its place |
//! | `short`, `pattern`, `files` | the short spellings |
//! | `format` | our own format, with its JSON Schema |
//! | `dialects` | the public `evals.json` and lists of triggers |
//! | `find` | which files there are |
//! | `ids` | ids of cases that have none |
//!
//! Reading a text is pure and total: any bytes give cases or faults with their places.

mod deserialize;
mod dialects;
mod document;
mod files;
mod find;
mod format;
mod ids;
mod pattern;
pub(crate) mod short;

use std::ops::Range;

use metier::model::Scripted;
use metier::skill::yaml::Node;
use metier::tools::schemars::generate::SchemaSettings;
use serde_json::Value;

pub(crate) use self::files::target;
pub use self::find::{CaseSource, find_case_files};
pub(crate) use self::pattern::kind as action_kind;
use crate::case::{Case, CaseOrigin};
use crate::error::{CaseFault, EvalError, Result};

/// Something that is wrong in a file, before it has a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadFault {
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl ReadFault {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A case, and the byte that it begins at.
pub(crate) struct ReadCase {
    pub(crate) at: usize,
    pub(crate) case: Case,
    /// Whether it stands in a list of another format.
    pub(crate) is_foreign: bool,
}

/// The JSON Schema of our own format.
pub fn case_file_schema() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator();
    schema.into_root_schema_for::<format::CaseFile>().to_value()
}

/// Reads the cases of files. All faults of all files are one error; a file without a case is a fault.
pub fn read_cases(sources: &[CaseSource], skill: Option<&str>) -> Result<Vec<Case>> {
    let (mut cases, mut faults) = (Vec::new(), Vec::new());
    for source in sources {
        let skill = source.skill.as_deref().or(skill);
        match source.text().and_then(|text| parse_cases(&text, &source.name, skill)) {
            Ok(read) => cases.extend(read),
            Err(found) => faults.extend(found),
        }
    }
    faults.extend(ids::name_all(&mut cases));
    if faults.is_empty() { Ok(cases) } else { Err(EvalError::CaseFiles { faults }) }
}

/// Reads the cases of one text. `name` says how it is written, and stands in faults; `skill` is the one that
/// they are about where they do not say. Cases without an id have an empty one.
pub fn parse_cases(
    text: &str,
    name: &str,
    skill: Option<&str>,
) -> std::result::Result<Vec<Case>, Vec<CaseFault>> {
    let syntax = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("json" | "jsonc") => document::Syntax::Json,
        _ => document::Syntax::Yaml,
    };
    // A byte order mark is no part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let placed = |fault: &ReadFault| CaseFault {
        file: name.to_owned(),
        line: line(text, fault.span.start),
        column: column(text, fault.span.start),
        message: fault.message.clone(),
        help: fault.help.clone(),
    };
    let root = document::tree(text, syntax).map_err(|fault| vec![placed(&fault)])?;
    let read = dialects::cases(&root).unwrap_or_else(|| format::cases(&root));
    let read = read.map_err(|faults| faults.iter().map(placed).collect::<Vec<_>>())?;
    let (mut cases, mut faults) = (Vec::new(), Vec::new());
    let mut lines = Lines::new(text);
    for ReadCase { at, mut case, is_foreign } in read {
        case.origin = CaseOrigin { file: name.to_owned(), line: lines.at(at), is_foreign };
        match complete(&mut case, skill) {
            Ok(()) => cases.push(case),
            Err(fault) => faults.push(placed(&ReadFault { span: at..at, ..fault })),
        }
    }
    if cases.is_empty() && faults.is_empty() {
        faults.push(placed(&without_cases(&root)));
    }
    if faults.is_empty() { Ok(cases) } else { Err(faults) }
}

fn without_cases(root: &Node<'_>) -> ReadFault {
    ReadFault::new(root.span.clone(), "there are no cases in this file")
        .with_help("add one, or delete the file; `metier eval init SKILL` writes a first one")
}

/// Fills in what a case leaves to where it stands, and checks what no type says.
fn complete(case: &mut Case, skill: Option<&str>) -> std::result::Result<(), ReadFault> {
    let fault = |message: &str| ReadFault::new(0..0, message);
    if case.input.trim().is_empty() {
        return Err(fault("the request is empty"));
    }
    let expected = &mut case.expected;
    let only = match expected.skills.as_deref() {
        Some([one]) if !one.is_empty() => Some(one.clone()),
        _ => None,
    };
    case.skill = case.skill.take().or(only).or_else(|| skill.map(str::to_owned));
    let Some(skill) = &case.skill else {
        if case.origin.is_foreign {
            let message = "nothing says which skill this is about";
            let help =
                "add a key `skill`, put the file into the skill's folder, or name it with --skill";
            return Err(fault(message).with_help(help));
        }
        return checked(case);
    };
    let lists = expected.skills.iter_mut().flatten().chain(&mut expected.not_skills);
    for name in lists.filter(|name| name.is_empty()) {
        name.clone_from(skill);
    }
    checked(case)
}

/// The names of the tool that loads a skill.
const LOADS: [&str; 2] = ["load_skill", "select_skills"];

/// What a case says is judged with expressions and schemas: those that cannot be read are found here, and not
/// at the end of a run.
fn checked(case: &Case) -> std::result::Result<(), ReadFault> {
    let fault = |message: String| ReadFault::new(0..0, message);
    crate::score::check_expected(&case.expected).map_err(fault)?;
    case.files.keys().try_for_each(|to| target(to).map(drop)).map_err(fault)?;
    let limits = &case.constraints;
    for (key, number) in
        [("trigger_within", limits.trigger_within.map(u64::from)), ("timeout_s", limits.timeout_s)]
    {
        if number == Some(0) {
            return Err(fault(format!("`{key}` is 0: nothing could be done in it"))
                .with_help("leave it out, or give at least 1"));
        }
    }
    if let Some(tool) = limits.forbidden_tools.iter().find(|it| it.contains([':', ' ', '('])) {
        return Err(fault(format!("`{tool}` is not the name of a tool"))
            .with_help("name the tool alone; `--deny` takes rules with patterns"));
    }
    let expected = &case.expected;
    let skills = || expected.skills.iter().flatten();
    if let Some(both) = skills().find(|name| expected.not_skills.contains(name)) {
        return Err(fault(format!("`{both}` is listed both in `skills` and in `not_skills`"))
            .with_help("leave it out of `skills` or of `not_skills`"));
    }
    let forbids_loads =
        |tool: &&String| LOADS.iter().any(|load| crate::score::is_tool_meant(tool, load));
    if let (Some(skill), Some(tool)) =
        (skills().next(), limits.forbidden_tools.iter().find(forbids_loads))
    {
        return Err(fault(format!("`{skill}` is to be loaded, and `{tool}` is forbidden"))
            .with_help(
                "`forbidden_tools: [\"*\"]` forbids every tool, and lets skills be loaded",
            ));
    }
    if !case.replies.is_empty() {
        own_model(case).map_err(|error| fault(format!("`replies` cannot be read: {error}")))?;
    }
    Ok(())
}

/// The model that a case brings: its `replies`, in this order.
pub(crate) fn own_model(case: &Case) -> std::result::Result<Scripted, String> {
    let script = serde_json::json!({"name": case.id, "replies": case.replies}).to_string();
    Scripted::parse(&script).map_err(|error| error.to_string())
}

fn line(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    text.as_bytes()[..at].split(|byte| *byte == b'\n').count()
}

fn column(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    before[start..].chars().count() + 1
}

/// Lines of places that only grow.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Lines<'t> {
    const fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    fn at(&mut self, place: usize) -> usize {
        let place = place.min(self.text.len());
        if place < self.at {
            return line(self.text, place);
        }
        let between = &self.text.as_bytes()[self.at..place];
        self.line += between.split(|byte| *byte == b'\n').count() - 1;
        self.at = place;
        self.line
    }
}
