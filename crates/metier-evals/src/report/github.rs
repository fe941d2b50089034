//! Annotations for GitHub Actions: workflow commands that put a problem beside the case it belongs to.
//!
//! GitHub shows ten errors and ten warnings of a step, so no more are written. The step summary is the Markdown
//! form.

use super::eval_report::{CaseArm, CaseOutcome, CaseScore, EvalReport};
use super::verdict::EvalVerdict;
use super::words;
use crate::compare::{RunComparison, comparison_text};

/// What GitHub shows of one step.
const MAX_ANNOTATIONS: usize = 10;
/// Characters of an annotation.
const MAX_MESSAGE: usize = 1000;

/// One workflow command a line. What changed since a baseline is one of its own, where there is a baseline.
pub fn github_annotations(report: &EvalReport, baseline: Option<&RunComparison>) -> String {
    let mut out = String::new();
    if let Some(baseline) = baseline {
        let level = if baseline.fails() { "error" } else { "notice" };
        let title = format!("Evals: {}", baseline.change.as_str());
        let message = data(comparison_text(baseline).trim_end());
        out.push_str(&format!("::{level} title={}::{message}\n", property(&title)));
    }
    // The verdict may have taken one of the ten, and so may the baseline.
    let room = MAX_ANNOTATIONS - 1 - usize::from(baseline.is_some());
    let verdict = report.verdict.verdict;
    let level = match verdict {
        EvalVerdict::Pass => "notice",
        EvalVerdict::Inconclusive => "warning",
        EvalVerdict::Fail | EvalVerdict::Invalid => "error",
    };
    let (reasons, _) = words::reasons(report);
    let message = format!("{}\n{}", words::units(report), reasons.join("\n"));
    let title = format!("Evals: {}", verdict.as_str());
    out.push_str(&format!("::{level} title={}::{}\n", property(&title), data(message.trim_end())));
    let with = |outcome, is_about: fn(bool) -> bool| {
        let cases = report.outcomes();
        cases.filter(move |(_, arm, is_main)| arm.outcome == outcome && is_about(*is_main))
    };
    for (case, arm, _) in with(CaseOutcome::Error, |_| true).take(room) {
        let message = words::errors(arm).unwrap_or_default();
        out.push_str(&annotation("error", case, arm, &message));
    }
    for (case, arm, _) in with(CaseOutcome::Failed, |is_main| is_main).take(room) {
        out.push_str(&annotation("warning", case, arm, &words::problems(arm).join("\n")));
    }
    out
}

fn annotation(level: &str, case: &CaseScore, arm: &CaseArm, message: &str) -> String {
    let place = if case.file.is_empty() {
        String::new()
    } else {
        format!("file={},line={},", property(&case.file), case.line)
    };
    let title = format!("{} ({}): {}", case.id, arm.arm.as_str(), arm.outcome.as_str());
    format!("::{level} {place}title={}::{}\n", property(&title), data(message))
}

/// The text as the message of a command.
fn data(text: &str) -> String {
    let lines =
        metier::skill::text::escape_lines(metier::skill::text::clip(text, MAX_MESSAGE).as_ref())
            .into_owned();
    lines.replace('%', "%25").replace('\n', "%0A")
}

/// The text as a property of a command, on one line.
fn property(text: &str) -> String {
    let line = metier::skill::text::short_line(text, 200);
    line.replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}
