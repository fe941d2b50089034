//! One skill, looked at as a model would load it: what it costs, whether its body can be loaded,
//! and whether the files that the body mentions exist.
//!
//! Called for many skills at once, on any thread.

use metier::loader::{ResourceLimits, count_lines, is_surely_whole, load_raw, measure_body};
use metier::registry::{Entry, Scan};
use metier::skill::fence::{Complete, Fence, find};
use metier::skill::{
    Code, FileNames, Profile, Severity, Source, check_references, estimate_tokens,
};
use metier::{Metier, files};
use serde::Serialize;

use super::findings::Finding;
use crate::commands::content::{Files, listed_tokens};

/// What a skill is and costs.
#[derive(Serialize)]
pub(super) struct SkillRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) path: String,
    pub(super) enabled: bool,
    /// Whether a model sees it in every request.
    pub(super) listed: bool,
    /// Whether a model sees it while one of its files is worked on.
    #[serde(skip)]
    pub(super) conditional: bool,
    pub(super) tokens: Tokens,
    pub(super) body_lines: usize,
}

/// What is paid when a skill is listed, and when its body is loaded; estimates.
#[derive(Clone, Copy, Default, Serialize)]
pub(super) struct Tokens {
    pub(super) catalog: usize,
    pub(super) body: usize,
}

impl Tokens {
    pub(super) fn sum(self) -> usize {
        self.catalog + self.body
    }
}

pub(super) struct Examined {
    pub(super) row: SkillRow,
    pub(super) findings: Vec<Finding>,
}

pub(super) fn examine(entry: &Entry, metier: &Metier, scan: &Scan) -> Examined {
    let seen = entry.enabled && !entry.skill.controls.disable_model_invocation;
    let for_files = !entry.skill.details().paths.is_empty();
    let mut row = SkillRow {
        id: entry.id().to_string(),
        name: entry.name().to_string(),
        source: entry.source,
        path: entry.path.to_string_lossy().into_owned(),
        enabled: entry.enabled,
        listed: seen && !for_files,
        conditional: seen && for_files,
        tokens: Tokens { catalog: listed_tokens(entry), body: 0 },
        body_lines: 0,
    };
    let mut findings = Vec::new();
    match skill_md(entry) {
        Ok(bytes) => look(entry, metier, &bytes, &mut row, &mut findings),
        Err(message) => findings.push(unloadable(entry, message)),
    }
    let missing = metier.missing_requirements(entry, scan);
    if !missing.is_empty() {
        let message = format!("the skill needs {}", missing.join(", "));
        let (code, severity) = (Code::RequirementMissing, Severity::Error);
        findings.push(Finding::about(entry, code, severity, message));
    }
    Examined { row, findings }
}

/// The whole file, by the way that a model's request would take; or why not.
fn skill_md(entry: &Entry) -> Result<Vec<u8>, String> {
    let files = files(entry).map_err(|error| error.message)?;
    load_raw(&*files, "SKILL.md", &ResourceLimits::default()).map_err(|error| error.to_string())
}

fn look(
    entry: &Entry,
    metier: &Metier,
    bytes: &[u8],
    row: &mut SkillRow,
    findings: &mut Vec<Finding>,
) {
    let limits = &metier.settings().body_limits;
    let mut is_whole = false;
    if let Fence::Closed(found) = find(bytes, Complete::Yes) {
        let (head, body) = bytes.split_at(found.body);
        let text = std::str::from_utf8(body);
        is_whole = text.is_ok_and(|body| is_surely_whole(head, body, limits));
        let body = text.map_or_else(|_| String::from_utf8_lossy(body), Into::into);
        row.tokens.body = estimate_tokens(&body);
        row.body_lines = count_lines(&body);
        // Copies below other folders are the same files, so one look is enough.
        let mut files = Ok(());
        let names = || match Files::list(entry) {
            Ok(list) => list.names(),
            Err(error) => {
                files = Err(error);
                FileNames::default()
            }
        };
        let broken = check_references(bytes, found.body, Profile::Strict, names);
        for it in broken.into_iter().filter(|_| files.is_ok()) {
            let mut finding = Finding::about(entry, it.code, it.severity, it.message);
            (finding.line, finding.column) = (Some(it.line), Some(it.column));
            findings.push(finding);
        }
    }
    if is_whole {
        return;
    }
    match measure_body(bytes, limits) {
        Ok(size) if !size.is_whole => {
            let message = format!(
                "the body has {} lines and {} characters; a loader gives {} and {} and names \
                 the rest",
                row.body_lines, size.chars, limits.lines, limits.chars
            );
            findings.push(Finding::about(entry, Code::BodyTooLong, Severity::Warning, message));
        }
        Ok(_) => {}
        Err(error) => findings.push(unloadable(entry, error.to_string())),
    }
}

fn unloadable(entry: &Entry, message: String) -> Finding {
    let mut finding = Finding::about(entry, Code::SkillUnloadable, Severity::Error, message);
    finding.help += " `metier read ID` shows the error.";
    finding
}
