//! Findings of a plan for people: in a line each below their skill, and in full where they are asked about.
//! What was found, and what of it is new, is the plan's to say.

use metier::pack::{PlanView, PlannedFinding, PlannedSkill};
use metier::scan::{FindingSeverity, ScanFinding, rule};

use crate::render::style::{BOLD, DIM, RED, YELLOW, paint};
use crate::render::{count, safe};

/// How many findings of a skill are shown.
const MAX_SHOWN: usize = 10;
/// A share below which the reader is warned, in percent.
pub(crate) const LOW_COVERAGE: u8 = 50;

/// The severity, as a word in its colour.
pub(crate) fn severity_word(severity: FindingSeverity) -> String {
    let style = match severity {
        FindingSeverity::High => RED,
        FindingSeverity::Medium => YELLOW,
        FindingSeverity::Low => DIM,
    };
    paint(style, severity.as_str())
}

/// Where a finding is, below its skill.
pub(crate) fn finding_place(finding: &ScanFinding) -> String {
    match finding.line {
        0 => finding.file.clone(),
        line => format!("{}:{line}", finding.file),
    }
}

/// The new findings of a skill in a plan, heaviest first, and how many it had before.
pub(crate) fn finding_lines(skill: &PlannedSkill) -> Vec<String> {
    let mut new: Vec<&PlannedFinding> = skill.findings.iter().filter(|it| it.new).collect();
    new.sort_by_key(|it| std::cmp::Reverse(it.finding.severity));
    let is_shown = |it: &&&PlannedFinding| it.finding.severity > FindingSeverity::Low;
    let mut lines: Vec<String> =
        new.iter().filter(is_shown).take(MAX_SHOWN).map(|it| finding_line(&it.finding)).collect();
    let more = new.len() - lines.len();
    if more > 0 {
        let what = if lines.is_empty() { "finding" } else { "more finding" };
        let low = new.iter().all(|it| it.finding.severity == FindingSeverity::Low);
        let weight = if low { " of low severity" } else { "" };
        lines.push(paint(DIM, format!("  {}{weight}: see --json", count(more, what))));
    }
    let accepted = skill.findings.iter().filter(|it| it.finding.suppressed.is_some()).count();
    let known = skill.findings.len() - new.len() - accepted;
    for (number, what) in [(known, "that the installed version has too"), (accepted, "accepted")] {
        if number > 0 {
            lines.push(paint(DIM, format!("  {} {what}", count(number, "finding"))));
        }
    }
    if let Some(percent) = skill.inspected_percent.filter(|percent| *percent < LOW_COVERAGE) {
        let text = format!("  only {percent} % of its bytes could be inspected");
        lines.push(paint(YELLOW, text));
    }
    let unread = &skill.unread_programs;
    lines.extend(unread.iter().take(MAX_SHOWN).map(|path| unread_program_line(path)));
    if unread.len() > MAX_SHOWN {
        let more = count(unread.len() - MAX_SHOWN, "more program");
        lines.push(paint(YELLOW, format!("  {more} not inspected to the end: see --json")));
    }
    lines
}

/// A program that a scan did not read, or not to its end.
pub(crate) fn unread_program_line(path: &str) -> String {
    let text = format!("  {}: not inspected to its end, and may be run", safe(path));
    paint(YELLOW, text)
}

/// One finding in one line.
pub(crate) fn finding_line(finding: &ScanFinding) -> String {
    let what = rule(finding.rule).map_or("", |rule| rule.what);
    format!(
        "  {} [{}] {}: {what}",
        severity_word(finding.severity),
        finding.rule,
        safe(&finding_place(finding))
    )
}

/// The findings that stop a plan, with their evidence.
pub(crate) fn stopping_lines(view: &PlanView) -> Vec<String> {
    let mut lines = Vec::new();
    for (skill, PlannedFinding { finding, .. }) in view.stopping().take(MAX_SHOWN) {
        let what = rule(finding.rule).map_or("", |rule| rule.what);
        let code = paint(BOLD, format!("[{}]", finding.rule));
        let severity = severity_word(finding.severity);
        lines.push(format!("{severity} {code} {} {what}", paint(BOLD, safe(&skill.name))));
        lines.push(format!("  --> {}", safe(&finding_place(finding))));
        lines.push(format!("      {}", safe(&finding.evidence)));
        if let Some(decoded) = &finding.decoded {
            lines.push(format!("      decodes to: {}", safe(decoded)));
        }
    }
    let more = view.stopping().count().saturating_sub(MAX_SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}
