//! The report as Markdown, for a pull request or a step summary.
//!
//! Everything from cases and results is escaped: it opens no table cell, no link, no mention and no HTML.

use super::eval_report::{CaseOutcome, EvalReport};
use super::verdict::{counted, percent};
use super::words;
use crate::report::comparison::Comparison;

/// Cases that are listed one by one; the rest is counted.
const MAX_CASES: usize = 50;
/// Pairs of confused skills that are listed.
const MAX_CONFUSED: usize = 20;
/// What was done instead of loading a skill: so many ways are listed.
const MAX_INSTEAD: usize = 5;
/// Problems of one case that are listed.
const MAX_PROBLEMS: usize = 10;
/// Characters of one problem.
const MAX_PROBLEM: usize = 300;

/// The report as Markdown.
pub fn markdown(report: &EvalReport) -> String {
    let mut out = format!("# Evals: {}\n\n", report.verdict.verdict.as_str());
    let subject = &report.subject;
    out.push_str(&format!(
        "{} with {} {}: {}.\n",
        escape(&subject.kind),
        escape(&subject.provider),
        escape(&subject.model),
        words::units(report)
    ));
    if !report.verdict.reasons.is_empty() {
        out.push('\n');
    }
    let (reasons, more) = words::reasons(report);
    for reason in reasons {
        out.push_str(&format!("- {}\n", escape_at(reason, MAX_PROBLEM)));
    }
    if more > 0 {
        out.push_str(&format!("- and {more} more\n"));
    }
    skills(report, &mut out);
    arms(report, &mut out);
    comparisons(&report.comparisons, &mut out);
    if let Some(why) = words::too_few_cases(report) {
        out.push_str(&format!("\nIntervals: {why}.\n"));
    }
    cases(report, &mut out);
    unstable(report, &mut out);
    out
}

fn skills(report: &EvalReport, out: &mut String) {
    if report.skills.is_empty() {
        return;
    }
    out.push_str("\n## Triggers\n\n");
    out.push_str("| skill | cases | precision | recall | F1 | specificity |\n");
    out.push_str("|---|---|---|---|---|---|\n");
    for skill in &report.skills {
        out.push_str(&format!(
            "| {} | {} + {} | {} | {} | {} | {} |\n",
            escape(&skill.skill),
            skill.positives,
            skill.negatives,
            words::rate_cell(skill.precision.as_ref()),
            words::rate_cell(skill.recall.as_ref()),
            words::share_cell(skill.f1.as_ref()),
            words::rate_cell(skill.specificity.as_ref()),
        ));
    }
    out.push_str("\nCases: should load it + should not. In brackets: 95 % intervals.\n");
    if let Some(macro_f1) = report.macro_f1 {
        out.push_str(&format!("\nMean F1: {}.\n", percent(macro_f1)));
    }
    if let Some(abstention) = &report.abstention {
        out.push_str(&format!("\nNo skill where none fits: {}.\n", words::rate(abstention)));
    }
    confusion(report, out);
    let missed = report.skills.iter().filter(|skill| !skill.instead.is_empty());
    for skill in missed {
        let name = escape(&skill.skill);
        out.push_str(&format!("\nInstead of loading {name}, the first thing done was:\n\n"));
        let mut instead: Vec<_> = skill.instead.iter().collect();
        instead.sort_by_key(|(what, count)| (std::cmp::Reverse(**count), what.as_str()));
        for (what, count) in instead.into_iter().take(MAX_INSTEAD) {
            out.push_str(&format!("- {} ({})\n", escape(what), counted(*count, "time", "times")));
        }
    }
}

fn confusion(report: &EvalReport, out: &mut String) {
    let confused = words::confused(report);
    if confused.is_empty() {
        return;
    }
    let name =
        |skill: Option<&String>| skill.map_or_else(|| "no skill".to_owned(), |name| escape(name));
    out.push_str("\n| expected | loaded | trials |\n|---|---|---|\n");
    for cell in confused.iter().take(MAX_CONFUSED) {
        let (expected, loaded) = (name(cell.expected.as_ref()), name(cell.loaded.as_ref()));
        out.push_str(&format!("| {expected} | {loaded} | {} |\n", cell.trials));
    }
}

fn arms(report: &EvalReport, out: &mut String) {
    out.push_str(
        "\n## Arms\n\n| arm | passed | job done | errors | tokens | model calls | tool calls |\n",
    );
    out.push_str("|---|---|---|---|---|---|---|\n");
    for arm in &report.arms {
        let cost = arm.cost.as_ref();
        let mean = |of: fn(&super::ArmCost) -> &super::Estimate| {
            cost.map_or_else(|| "-".to_owned(), |cost| words::amount(of(cost).value))
        };
        let tokens = cost.map_or_else(
            || "-".to_owned(),
            |cost| {
                let about = if cost.estimated { "~" } else { "" };
                format!("{about}{}", words::amount(cost.tokens_in.value + cost.tokens_out.value))
            },
        );
        out.push_str(&format!(
            "| {} | {} | {} | {} | {tokens} | {} | {} |\n",
            arm.arm.as_str(),
            words::rate_cell(arm.passed.as_ref()),
            words::rate_cell(arm.job.as_ref()),
            arm.errors,
            mean(|cost| &cost.model_calls),
            mean(|cost| &cost.tool_calls),
        ));
    }
    for arm in &report.arms {
        if let Some(latency) = words::latency(report, arm.arm) {
            out.push_str(&format!("\nTime in the arm {}: {latency}.\n", arm.arm.as_str()));
        }
    }
    for arm in report.arms.iter().filter(|arm| arm.pass_at.len() > 1) {
        out.push_str(&format!(
            "\nArm {}:\n\n| k | cases | pass@k | pass^k |\n|---|---|---|---|\n",
            arm.arm.as_str()
        ));
        for at in arm.pass_at.iter().filter(|at| at.k > 1) {
            let (any, all) = (words::share_cell(Some(&at.any)), words::share_cell(Some(&at.all)));
            out.push_str(&format!("| {} | {} | {any} | {all} |\n", at.k, at.cases));
        }
    }
    for arm in report.arms.iter().filter(|arm| !arm.checks.is_empty()) {
        out.push_str(&format!("\nChecks in the arm {}:\n\n", arm.arm.as_str()));
        for (kind, rate) in &arm.checks {
            out.push_str(&format!("- {}: {}\n", kind.as_str(), words::rate(rate)));
        }
    }
}

/// The comparisons as a list, under a heading of their own.
pub(crate) fn comparisons(comparisons: &[Comparison], out: &mut String) {
    if comparisons.is_empty() {
        return;
    }
    out.push_str("\n## Compared over the same cases\n\n");
    let (shown, more) = words::notable(comparisons);
    for comparison in shown {
        let scope = comparison.skill.as_deref().map_or_else(|| "all cases".to_owned(), escape);
        let sides = format!("{} to {}", escape(&comparison.from), escape(&comparison.to));
        out.push_str(&format!("- {scope}, {sides}: {}\n", words::comparison(comparison)));
    }
    if more > 0 {
        out.push_str(&format!("- and {more} more\n"));
    }
}

fn cases(report: &EvalReport, out: &mut String) {
    let listed: Vec<_> = report
        .outcomes()
        .filter(|(_, arm, is_main)| {
            let is_bad = !matches!(arm.outcome, CaseOutcome::Passed | CaseOutcome::NothingExpected);
            *is_main && is_bad || !arm.errors.is_empty()
        })
        .collect();
    if listed.is_empty() {
        return;
    }
    out.push_str("\n## Cases that did not pass\n");
    for (case, arm, _) in listed.iter().take(MAX_CASES) {
        out.push_str(&format!(
            "\n**{}** ({}, {}): {}\n\n",
            escape(&case.id),
            arm.arm.as_str(),
            arm.outcome.as_str(),
            escape_at(&case.input, 160)
        ));
        let problems = words::problems(arm).into_iter().chain(words::errors(arm));
        for problem in problems.take(MAX_PROBLEMS) {
            out.push_str(&format!("- {}\n", escape_at(&problem, MAX_PROBLEM)));
        }
    }
    if listed.len() > MAX_CASES {
        out.push_str(&format!("\nAnd {} more.\n", listed.len() - MAX_CASES));
    }
}

/// The cases that pass in some trials and fail in others.
fn unstable(report: &EvalReport, out: &mut String) {
    let unstable: Vec<_> = words::unstable(report).collect();
    if unstable.is_empty() {
        return;
    }
    out.push_str("\n## Unstable cases\n\n");
    for (case, arm, passed) in unstable.iter().take(MAX_CASES) {
        out.push_str(&format!("- {} ({}): {passed}\n", escape(&case.id), arm.as_str()));
    }
    if unstable.len() > MAX_CASES {
        out.push_str(&format!("- and {} more\n", unstable.len() - MAX_CASES));
    }
}

/// The text on one line, so that Markdown and GitHub read it as text.
pub(crate) fn escape(text: &str) -> String {
    escape_at(text, 200)
}

/// The same, at most so many characters.
fn escape_at(text: &str, max: usize) -> String {
    let line = metier::skill::text::short_line(text, max);
    let mut escaped = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            // Mentions and references to issues are made of these.
            '@' => escaped.push_str("&#64;"),
            '#' => escaped.push_str("&#35;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '~' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    // An address becomes a link by itself.
    escaped.replace("://", "&#58;//").replace("www.", "www&#46;")
}
