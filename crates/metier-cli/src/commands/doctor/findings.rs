//! What the scan says about skills that were ignored, that shadow each other, or that exist several
//! times; each with what to do about it.
//!
//! A finding's code is one of the table that `docs/diagnostics.md` is made from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use metier::policy::{TrustStatus, TrustedFolders};
use metier::registry::{Conflict, Entry, Ignored, Index, Scan, ShadowReason, Shadowed};
use metier::skill::{Code, Diagnostic, Digest, Profile, Severity};
use metier::{Metier, UnmatchedRule, trust_status};
use serde::Serialize;

use crate::render::count;

/// Something worth knowing, and what to do about it. Keys of the JSON form are a contract.
#[derive(Serialize)]
pub(super) struct Finding {
    pub(super) code: Code,
    pub(super) severity: Severity,
    /// The id of the skill, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) skill: Option<String>,
    /// The directory it is about.
    pub(super) path: String,
    /// Where in its `SKILL.md`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) column: Option<u32>,
    pub(super) message: String,
    pub(super) help: Cow<'static, str>,
    /// Other directories it is about: copies, or the skill that is used instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) others: Vec<String>,
}

impl Finding {
    pub(super) fn new(
        code: Code,
        severity: Severity,
        path: &Path,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity,
            skill: None,
            path: text(path),
            line: None,
            column: None,
            message: message.into(),
            help: code.info().fix_advice.into(),
            others: Vec::new(),
        }
    }

    /// A finding about a skill that is listed.
    pub(super) fn about(
        entry: &Entry,
        code: Code,
        severity: Severity,
        message: impl Into<String>,
    ) -> Self {
        let skill = Some(entry.id().to_string());
        Self { skill, ..Self::new(code, severity, &entry.path, message) }
    }
}

/// The digests of the frontmatter of skills that others shadow, by their directories.
type Digests<'s> = HashMap<&'s Path, Digest>;

/// Skills of the project that have changed since they were trusted, each; and in one finding those that never
/// were: a clone may bring thousands.
pub(super) fn of_trust(scan: &Scan, trusted: &TrustedFolders) -> Vec<Finding> {
    const NAMED: usize = 5;
    let (mut findings, mut untrusted) = (Vec::new(), Vec::new());
    for entry in scan.index.entries() {
        let status = trust_status(entry, trusted);
        match (status, status.mark()) {
            (TrustStatus::Untrusted | TrustStatus::Added, _) => untrusted.push(entry),
            (_, Some(mark)) => {
                let code = Code::SkillTrustChanged;
                findings.push(Finding::about(entry, code, Severity::Warning, mark));
            }
            (_, None) => {}
        }
    }
    if let Some(first) = untrusted.first() {
        let names: Vec<&str> =
            untrusted.iter().take(NAMED).map(|entry| entry.name().as_str()).collect();
        let more = if untrusted.len() > NAMED { ", ..." } else { "" };
        let message = format!(
            "{} of the project not trusted: {}{more}",
            count(untrusted.len(), "skill"),
            names.join(", ")
        );
        let place = first.path.parent().unwrap_or(&first.path);
        findings.push(Finding::new(Code::SkillUntrusted, Severity::Note, place, message));
    }
    findings
}

/// Everything that the scan itself reports.
pub(super) fn of_scan(scan: &Scan) -> Vec<Finding> {
    let mut findings: Vec<Finding> = scan.report.ignored.iter().map(ignored).collect();
    findings.extend(scan.report.notes.iter().map(not_searched));
    let losers = scan.index.shadowed().iter();
    let digests: Digests<'_> = losers.map(|entry| (entry.path.as_path(), entry.digest)).collect();
    for conflict in &scan.report.conflicts {
        let finding = |loser| shadowed(conflict, loser, &scan.index, &digests);
        findings.extend(conflict.shadowed.iter().map(finding));
    }
    findings.extend(scan.index.entries().iter().filter_map(|entry| copied(entry)));
    findings.extend(scan.index.entries().iter().flat_map(|entry| unknown_tools(entry)));
    findings
}

/// Skills that only an older version of a plugin has.
pub(super) fn of_plugins(metier: &Metier) -> Vec<Finding> {
    let outdated = metier.outdated_plugin_skills().into_iter();
    let finding = |(folder, newest): (PathBuf, PathBuf)| {
        let message = format!("{}, the newest version, does not have this skill", text(&newest));
        let severity = Severity::Warning;
        let mut finding = Finding::new(Code::PluginOutdated, severity, &folder, message);
        finding.others = vec![text(&newest)];
        finding
    };
    outdated.map(finding).collect()
}

/// Records of installed skills that cannot be read.
pub(super) fn of_records(metier: &Metier) -> Vec<Finding> {
    let finding = |(path, reason): (PathBuf, String)| {
        Finding::new(Code::RecordsUnreadable, Severity::Error, &path, reason)
    };
    metier.unreadable_records().into_iter().map(finding).collect()
}

/// Rules that have no effect.
pub(super) fn of_rules(metier: &Metier, scan: &Scan) -> Vec<Finding> {
    let finding = |rule: UnmatchedRule| {
        let (at, message) = (&rule.at, rule.to_string());
        let mut finding =
            Finding::new(Code::RuleUnmatched, Severity::Warning, Path::new(&at.origin), message);
        finding.line = at.line.and_then(|line| u32::try_from(line).ok());
        finding
    };
    metier.unmatched_rules(scan).unwrap_or_default().into_iter().map(finding).collect()
}

fn ignored(line: &Ignored) -> Finding {
    let mut finding = Finding::new(line.code, Severity::Error, &line.path, &*line.message);
    (finding.line, finding.column) = (line.line, line.column);
    finding.help += " `metier check PATH` shows the line.";
    finding
}

fn not_searched(line: &Ignored) -> Finding {
    let severity = line.code.severity(Profile::Strict).unwrap_or(Severity::Note);
    Finding::new(line.code, severity, &line.path, &*line.message)
}

/// A project's skill in place of the user's is what precedence is for; two of one source are more
/// often a mistake, and in one root one of them cannot be meant.
fn shadowed(
    conflict: &Conflict,
    loser: &Shadowed,
    index: &Index,
    digests: &Digests<'_>,
) -> Finding {
    let severity = match loser.reason {
        reason if reason.is_clash() => Severity::Error,
        ShadowReason::SwitchedOff => Severity::Note,
        _ if loser.source == conflict.source => Severity::Warning,
        _ => Severity::Note,
    };
    // What counts under a name is what the conflict says won.
    let entries = index.entries();
    let winner = entries.binary_search_by(|entry| entry.name().as_str().cmp(&conflict.name));
    let winner = winner.ok().map(|at| entries[at].digest);
    let differs = if digests.get(loser.path.as_path()).copied() == winner {
        "their frontmatter is the same, the body or other files differ"
    } else {
        "their frontmatter differs"
    };
    let message = format!(
        "{}:{} at {} is used instead: {}; {differs}",
        conflict.source,
        conflict.name,
        text(&conflict.winner),
        loser.reason.as_sentence()
    );
    let mut finding = Finding::new(Code::SkillShadowed, severity, &loser.path, message);
    finding.skill = reached_as(conflict, loser, index);
    if let Some(id) = &finding.skill {
        finding.help =
            format!("Keep one of them, or rename one. `{id}` still selects this one.").into();
    }
    finding.others = vec![text(&conflict.winner)];
    finding
}

/// The id that means this very skill: the second of one source has a rank.
fn reached_as(conflict: &Conflict, loser: &Shadowed, index: &Index) -> Option<String> {
    const RANKS: usize = 32;
    let id = format!("{}:{}", loser.source, conflict.name);
    let ranked = (2..RANKS).map(|rank| format!("{id}#{rank}"));
    let means = |id: &String| index.find(id).is_some_and(|entry| entry.path == loser.path);
    std::iter::once(id.clone()).chain(ranked).find(means)
}

/// A link to the skill is not a copy, since the two cannot drift apart.
fn copied(entry: &Entry) -> Option<Finding> {
    if entry.copies.is_empty() {
        return None;
    }
    let real = |path: &Path| metier::fs::canonical(path).unwrap_or_else(|_| path.to_owned());
    let own: PathBuf = real(&entry.path);
    let others: Vec<String> = entry
        .copies
        .iter()
        .filter(|copy| real(&copy.path) != own)
        .map(|copy| text(&copy.path))
        .collect();
    if others.is_empty() {
        return None;
    }
    let message = format!("the same skill is in {} folders and is listed once", others.len() + 1);
    let severity = Code::SkillCopied.severity(Profile::Strict)?;
    let mut finding = Finding::about(entry, Code::SkillCopied, severity, message);
    finding.others = others;
    Some(finding)
}

/// Names in `allowed-tools` that no tool has: what was meant is not listed, and so it is refused.
fn unknown_tools(entry: &Entry) -> impl Iterator<Item = Finding> {
    let unknown = |it: &&Diagnostic| it.code == Code::AllowedToolsUnknown;
    entry.diagnostics.iter().filter(unknown).map(|it| {
        let mut finding = Finding::about(entry, it.code, it.severity, &*it.message);
        (finding.line, finding.column) = (Some(it.line), Some(it.column));
        finding
    })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
