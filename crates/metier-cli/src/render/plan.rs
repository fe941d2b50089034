//! A plan for people: what happens to which skill, what it brings, and what is left out.
//!
//! The same text is the question before an installation and, in one line a skill, the answer after it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use metier::pack::{
    InstallTarget, LeftOut, LinkAction, PlanView, PlannedAction, PlannedLink, PlannedSkill,
    SkillChanges, SourceKind, UncheckedSignature,
};
use metier::sign::{Signer, SignerTrust};

use crate::context::Context;
use crate::output::print_note;
use crate::render::findings::finding_lines;
use crate::render::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::render::{bytes, count, fold_line, safe, shell};

/// How many names of a list are shown.
const MAX_NAMED: usize = 10;
/// How much of a description is shown.
const DESCRIPTION_CHARS: usize = 100;

/// What happens, as a word before or after it did.
fn word(action: PlannedAction, done: bool) -> String {
    let (before, after, style) = match action {
        PlannedAction::Add => ("install", "installed", GREEN),
        PlannedAction::Replace => ("replace", "replaced", YELLOW),
        PlannedAction::Remove => ("uninstall", "uninstalled", RED),
        PlannedAction::Restore => ("restore", "restored", GREEN),
        PlannedAction::Adopt => ("adopt", "adopted", YELLOW),
        _ => ("keep", "unchanged", DIM),
    };
    paint(style, if done { after } else { before })
}

/// The lines of a plan that is to be carried out.
pub(crate) fn plan_lines(view: &PlanView) -> Vec<String> {
    // Before the skills: however much a publisher lets be left out, what comes is read last.
    let mut lines = left_out_lines(&view.left_out);
    for skill in view.skills.iter().filter(|skill| skill.is_change()) {
        lines.push(head(skill));
        // What stays as it is was shown when it was installed.
        if skill.action != PlannedAction::Keep {
            lines.extend(details(skill));
        }
        lines.extend(link_lines(skill));
    }
    let kept = view.skills.iter().filter(|skill| !skill.is_change()).count();
    if kept > 0 {
        lines.push(paint(DIM, format!("{} unchanged", count(kept, "skill"))));
    }
    lines
}

fn head(skill: &PlannedSkill) -> String {
    let version = version_text(skill);
    let size = match skill.bytes {
        0 => count(skill.files, "file"),
        size => format!("{}, {}", count(skill.files, "file"), bytes(size)),
    };
    let from = paint(DIM, format!("from {} ({size})", safe(&skill.source)));
    format!("{} {}{version}  {from}", word(skill.action, false), paint(BOLD, safe(&skill.name)))
}

/// The version; both, where another one is replaced, and which of them is the older one.
fn version_text(skill: &PlannedSkill) -> String {
    let Some(version) = &skill.version else { return String::new() };
    let version = safe(version);
    match &skill.was_version {
        Some(was) if skill.older => {
            format!(" {} -> {version} {}", safe(was), paint(YELLOW, "(older)"))
        }
        Some(was) => format!(" {} -> {version}", safe(was)),
        None => format!(" {version}"),
    }
}

fn details(skill: &PlannedSkill) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(description) = &skill.description {
        let line = fold_line(description);
        let short: String = line.chars().take(DESCRIPTION_CHARS).collect();
        let cut = if short.len() < line.len() { "…" } else { "" };
        lines.push(format!("  {}{cut}", safe(&short)));
    }
    if !skill.required_by.is_empty() {
        lines.push(format!("  needed by: {}", named(&skill.required_by)));
    }
    if skill.action == PlannedAction::Remove {
        lines.extend(own_file_lines(skill));
        return lines;
    }
    if skill.action == PlannedAction::Adopt {
        lines.push("  its files are there already; only the records change".to_owned());
    }
    if let Some(hidden) = &skill.hides {
        let takes = paint(YELLOW, "takes the name of");
        lines.push(format!("  {takes} {}, which is hidden by it here", safe(hidden)));
    }
    lines.extend(source_line(skill));
    if let Some(changes) = &skill.changes {
        lines.extend(change_lines(changes));
    }
    if !skill.scripts.is_empty() {
        lines.push(format!("  scripts: {}", named(&skill.scripts)));
    }
    let is_said = skill.changes.as_ref().is_some_and(|changes| changes.tools.is_some());
    if let Some(tools) = skill.allowed_tools.as_ref().filter(|_| !is_said) {
        lines.push(format!("  tools: {}", named(tools)));
    }
    if let (SourceKind::Git, Some(commit)) = (skill.kind, &skill.resolved) {
        lines.push(format!("  {}", paint(DIM, format!("commit {}", safe(commit)))));
    }
    lines.extend(skill.signer.as_ref().map(|signer| format!("  {}", signer_line(signer))));
    lines.extend(skill.unchecked.iter().map(|it| format!("  {}", unchecked_line(it))));
    lines.push(format!("  {}", paint(DIM, skill.tree)));
    if skill.overrides.is_some() && skill.action != PlannedAction::Add {
        let what = paint(YELLOW, "what stands there");
        lines.push(format!("  {what} goes to a backup"));
    }
    lines.extend(own_file_lines(skill));
    if !skill.missing.is_empty() {
        let missing = paint(YELLOW, "missing");
        lines.push(format!("  {missing}: it needs {}", named(&skill.missing)));
    }
    lines.extend(finding_lines(skill));
    for problem in skill.warnings.iter().take(MAX_NAMED) {
        let warning = paint(YELLOW, "warning");
        let (line, code) = (problem.line, problem.code);
        lines.push(format!("  {warning}: SKILL.md:{line}: {} [{code}]", safe(&problem.message)));
    }
    lines
}

/// The source that the records named before, where it is another one from now on.
fn source_line(skill: &PlannedSkill) -> Option<String> {
    let before = skill.replaces_source.as_ref()?;
    let other = paint(YELLOW, "another source");
    Some(format!("  {other}: it was from {}", safe(before)))
}

/// What happens to the links in the folders of other agents.
fn link_lines(skill: &PlannedSkill) -> impl Iterator<Item = String> {
    let line = |link: &PlannedLink| {
        let (word, style) = match link.action {
            LinkAction::Add => ("link", GREEN),
            LinkAction::Replace => ("link, and what stands there goes to a backup", YELLOW),
            LinkAction::Remove => ("link removed", RED),
            _ => return None,
        };
        Some(format!("  {} ({}): {}", paint(style, word), safe(&link.agent), safe(&link.path)))
    };
    skill.links.iter().filter_map(line)
}

/// Files in the folder of a skill that no installation put there: what becomes of them.
pub(crate) fn own_file_lines(skill: &PlannedSkill) -> Vec<String> {
    let mut lines = Vec::new();
    if !skill.kept_files.is_empty() {
        lines.push(format!("  your files come along: {}", named(&skill.kept_files)));
    }
    if !skill.not_copied.is_empty() {
        let only = paint(YELLOW, "not copied (not regular files)");
        lines.push(format!("  {only}: {}", named(&skill.not_copied)));
    }
    let is_said = |file: &&String| {
        skill.changes.as_ref().is_some_and(|changes| changes.removed.contains(*file))
    };
    let other: Vec<String> = skill.backup_files.iter().filter(|it| !is_said(it)).cloned().collect();
    if !other.is_empty() {
        let only = paint(YELLOW, "only in the backup afterwards");
        lines.push(format!("  {only}: {}", named(&other)));
    }
    lines
}

/// Who signed something, in a line.
pub(crate) fn signer_line(signer: &Signer) -> String {
    let name = signer.name.as_ref().map_or_else(String::new, |name| format!("{} ", safe(name)));
    let (style, trust) = match signer.trust {
        SignerTrust::Trusted => (GREEN, "a key that you trust"),
        SignerTrust::Pinned => (GREEN, "the same key as before"),
        _ => (YELLOW, "a key that you do not know"),
    };
    let trust = paint(style, trust);
    let comment = signer.comment.as_deref().map(fold_line).unwrap_or_default();
    let comment = if comment.is_empty() { String::new() } else { format!(": {}", safe(&comment)) };
    format!("signed by {name}{} ({trust}){comment}", safe(&signer.id))
}

/// A signature that could not be checked, in a line.
pub(crate) fn unchecked_line(unchecked: &UncheckedSignature) -> String {
    let note = paint(YELLOW, "not checked");
    format!("{note}: {}: {}", safe(&unchecked.file), safe(&unchecked.reason))
}

/// What a newer version changes: files, what may be run, and the tools that it may use.
fn change_lines(changes: &SkillChanges) -> Vec<String> {
    let mut lines = Vec::new();
    for (what, files) in [
        ("added", &changes.added),
        ("changed", &changes.changed),
        ("removed", &changes.removed),
        ("new scripts", &changes.new_scripts),
        ("can be executed now", &changes.now_executable),
        ("can no longer be executed", &changes.no_longer_executable),
    ] {
        if !files.is_empty() {
            lines.push(format!("  {what}: {}", named(files)));
        }
    }
    if let Some(tools) = &changes.tools {
        let text = |tools: &Option<Vec<String>>| match tools {
            None => "any".to_owned(),
            Some(tools) if tools.is_empty() => "none".to_owned(),
            Some(tools) => named(tools),
        };
        let (before, after) = (text(&tools.before), text(&tools.after));
        lines.push(format!("  {}: {before} -> {after}", paint(YELLOW, "tools")));
    }
    lines
}

/// What was to be updated and is not, with the reason.
pub(crate) fn not_updated_lines(view: &PlanView) -> Vec<String> {
    let mut lines = Vec::new();
    for it in &view.not_updated {
        let style = if it.reason.is_failure() { RED } else { YELLOW };
        let name = paint(BOLD, safe(&it.name));
        lines.push(format!(
            "{} {name}: {}",
            paint(style, "not updated"),
            safe(&it.problem.message)
        ));
        lines.push(paint(DIM, format!("  {}", safe(&it.problem.help))));
    }
    lines
}

/// What was left out: a line for each, where it is not one of many caches of the same name.
pub(crate) fn left_out_lines(left_out: &[LeftOut]) -> Vec<String> {
    let note = paint(YELLOW, "left out");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in left_out.iter().filter_map(LeftOut::counted_as) {
        *counts.entry(name).or_default() += 1;
    }
    let mut lines = Vec::new();
    for left in left_out {
        let reason = left.reason.text();
        let counted = left.counted_as().and_then(|name| Some((counts.remove(&name)?, name)));
        match counted {
            Some((number @ 2.., name)) => {
                lines.push(format!("{note}: {number} times {} ({reason})", safe(&name)));
            }
            // Said with the first one.
            None if left.counted_as().is_some() => {}
            _ => lines.push(format!("{note}: {} ({reason})", safe(&left.path))),
        }
    }
    lines
}

/// The commands that restore these skills from their backups; `None` where there is none.
pub(crate) fn restore_commands<'s>(
    skills: impl Iterator<Item = &'s PlannedSkill>,
    backups: BackupsOf,
) -> Option<String> {
    let source = if backups == BackupsOf::UserInProject { "user:" } else { "" };
    let command = |skill: &PlannedSkill| {
        format!("metier restore {}", shell::quoted(&format!("{source}{}", skill.name)))
    };
    let commands: Vec<String> = skills.map(command).collect();
    (!commands.is_empty()).then(|| commands.join("; "))
}

/// Whose backups a name has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackupsOf {
    /// Those of here.
    Here,
    /// The user's own, which a name alone does not mean inside a project.
    UserInProject,
}

impl BackupsOf {
    pub(crate) fn target(target: &InstallTarget, context: &Context) -> Self {
        let is_elsewhere = target.is_users() && context.metier.repository().is_some();
        if is_elsewhere { Self::UserInProject } else { Self::Here }
    }
}

/// How to go back to what was replaced.
pub(crate) fn note_way_back(view: &PlanView, backups: BackupsOf) {
    let is_replaced = |skill: &&PlannedSkill| skill.action == PlannedAction::Replace;
    let replaced = view.skills.iter().filter(is_replaced);
    if let Some(commands) = restore_commands(replaced.take(MAX_NAMED), backups) {
        print_note(&paint(DIM, format!("to go back: {commands}")));
    }
}

fn named(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(MAX_NAMED).map(|name| safe(name).into_owned()).collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// What is said of a lock that contradicts itself.
pub(crate) fn bad_lock_note(view: &PlanView) -> Option<String> {
    let names = named(&view.bad_lock);
    (!view.bad_lock.is_empty()).then(|| {
        format!(
            "skills.lock.json contradicts itself about {names}: it is written again from the source"
        )
    })
}

/// One line a skill, after the plan was carried out.
pub(crate) fn write_done(view: &PlanView, out: &mut dyn Write) -> io::Result<()> {
    for skill in view.skills.iter().filter(|skill| skill.is_change()) {
        let version = version_text(skill);
        let name = paint(BOLD, safe(&skill.name));
        let path = paint(DIM, safe(&skill.path));
        writeln!(out, "{} {name}{version}  {path}", word(skill.action, true))?;
        let more = source_line(skill).into_iter().chain(own_file_lines(skill));
        for line in more.chain(link_lines(skill)) {
            writeln!(out, "{line}")?;
        }
    }
    if !view.changes_skills() {
        let one = view.skills.len() == 1;
        let state = if one { "is as it should be" } else { "are as they should be" };
        writeln!(out, "{} {state}", count(view.skills.len(), "skill"))?;
    }
    Ok(())
}
