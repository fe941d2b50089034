//! Names in a case that nothing here has, and texts that say nothing: a check with one can only pass, or only fail.
//!
//! Pure but for one question: whether a file of a skill is there. `check` reports all of them, and a plan refuses
//! those that are certainly wrong.

use metier::registry::Scan;
use metier::skill::nearest;

use crate::case::{ActionChecks, ActionPattern, Case, Expected, TOOLS};
use crate::read::action_kind;

/// Something that is written wrong in a case.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongName {
    /// The stable code.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
    /// Whether it can mean nothing else: a program may have tools of its own, and a model may try a file that is not
    /// there.
    pub(crate) is_certain: bool,
}

/// What is written wrong in a case.
pub(crate) fn wrong_names(scan: &Scan, case: &Case) -> Vec<WrongName> {
    let Expected { skills, not_skills, actions, steps, output } = &case.expected;
    let ActionChecks { must, must_not, order, counts } = actions;
    let mut found: Vec<WrongName> = skills
        .iter()
        .flatten()
        .chain(not_skills)
        .chain(&case.skill)
        .filter_map(|skill| unknown_skill(scan, skill))
        .collect();
    let wanted = must
        .iter()
        .chain(order.iter().flat_map(|sequence| &sequence.actions))
        .chain(counts.iter().map(|count| &count.action))
        .chain(steps.iter().map(|step| &step.action))
        .map(|pattern| (pattern, true));
    for (pattern, is_wanted) in wanted.chain(must_not.iter().map(|pattern| (pattern, false))) {
        match pattern.skill.as_deref().and_then(|skill| unknown_skill(scan, skill)) {
            Some(unknown) => found.push(unknown),
            None => found.extend(unknown_file(scan, pattern, is_wanted)),
        }
        found.extend(pattern.tool.as_deref().and_then(unknown_tool));
    }
    found.extend(case.constraints.forbidden_tools.iter().filter_map(|tool| unknown_tool(tool)));
    let texts = [
        (&output.contains, "is in every answer"),
        (&output.not_contains, "is in every answer"),
        (&output.regex, "is found in every answer"),
    ];
    for (list, what) in texts {
        if list.iter().any(String::is_empty) {
            found.push(WrongName {
                code: "empty-text",
                message: format!("an empty text {what}"),
                help: "write what the answer must have, or leave it out".to_owned(),
                is_certain: true,
            });
        }
    }
    found.dedup();
    found
}

/// A skill by its name, or as `source:name`.
fn unknown_skill(scan: &Scan, skill: &str) -> Option<WrongName> {
    if scan.index.find(skill).is_some() {
        return None;
    }
    let names = scan.index.entries().iter().map(|entry| entry.name().as_str());
    let help = match nearest(skill, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`metier list --all` shows every skill".to_owned(),
    };
    let message = format!("there is no skill `{skill}` here");
    Some(WrongName { code: "unknown-skill", message, help, is_certain: true })
}

fn unknown_file(scan: &Scan, pattern: &ActionPattern, is_wanted: bool) -> Option<WrongName> {
    let (skill, path) = (pattern.skill.as_deref()?, pattern.path.as_deref()?);
    let folder = &scan.index.find(skill)?.path;
    // What must fail may well be about a file that is not there. A skill in memory has no folder.
    let says_nothing = pattern.ok == Some(false) || path.contains(['*', '?']);
    if says_nothing || !metier::fs::is_dir(folder) || metier::fs::exists(&folder.join(path)) {
        return None;
    }
    let files = metier::fs::read_dir_names(folder.join(path).parent()?);
    let files = files.unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or(path);
    let help = match nearest(name, files.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}{near}`?", &path[..path.len() - name.len()]),
        None => format!("`metier files {skill}` lists its files"),
    };
    let message = format!("the skill `{skill}` has no file `{path}`");
    Some(WrongName { code: "unknown-file", message, help, is_certain: is_wanted })
}

fn unknown_tool(tool: &str) -> Option<WrongName> {
    if tool.contains(['*', '?']) || TOOLS.contains(&tool) || action_kind(tool).is_some() {
        return None;
    }
    let near = nearest(tool, TOOLS);
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "`metier tools` lists the tools; one of a program's own is not known here".to_owned()
        }
    };
    let message = format!("there is no tool `{tool}`");
    Some(WrongName { code: "unknown-tool", message, help, is_certain: near.is_some() })
}
