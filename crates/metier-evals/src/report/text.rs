//! The report as plain text for a terminal: the verdict, each skill, each arm, and what did not pass.
//!
//! Everything from cases and results is made safe to show, and none of it begins a line: CI servers read commands there.

use metier::skill::text::{quoted, short_line};

use super::comparison::Comparison;
use super::eval_report::{CaseOutcome, EvalReport};
use super::verdict::{counted, percent};
use super::words;

/// Cases that are listed one by one; the rest is counted.
const MAX_CASES: usize = 20;
/// Pairs of confused skills that are listed.
const MAX_CONFUSED: usize = 20;
/// Characters of a line about a case.
const MAX_LINE: usize = 240;

/// The report as plain text.
pub fn plain_text(report: &EvalReport) -> String {
    let mut out = format!("{}: {}\n", report.verdict.verdict.as_str(), words::units(report));
    let (reasons, more) = words::reasons(report);
    for reason in reasons {
        out.push_str(&format!("  {}\n", short_line(reason, 400)));
    }
    if more > 0 {
        out.push_str(&format!("  and {more} more\n"));
    }
    for skill in &report.skills {
        out.push_str(&format!("\nskill {}\n", short_line(&skill.skill, 64)));
        let mut line = |name: &str, value: String| out.push_str(&format!("  {name:<12} {value}\n"));
        if let Some(precision) = &skill.precision {
            line("precision", words::rate(precision));
        }
        if let Some(recall) = &skill.recall {
            line("recall", words::rate(recall));
        }
        if skill.f1.is_some() {
            line("F1", words::share_cell(skill.f1.as_ref()));
        }
        if let Some(specificity) = &skill.specificity {
            line("specificity", words::rate(specificity));
        }
        if let Some(steps) = &skill.steps_followed {
            line("steps", words::rate(steps));
        }
        for (what, count) in &skill.instead {
            line("instead", format!("{} ({count})", short_line(what, 120)));
        }
    }
    if let Some(macro_f1) = report.macro_f1.filter(|_| report.skills.len() > 1) {
        out.push_str(&format!("\nmean F1 {}\n", percent(macro_f1)));
    }
    if let Some(abstention) = &report.abstention {
        out.push_str(&format!("\nno skill where none fits: {}\n", words::rate(abstention)));
    }
    confusion(report, &mut out);
    arms(report, &mut out);
    comparisons(&report.comparisons, &mut out);
    if let Some(why) = words::too_few_cases(report) {
        out.push_str(&format!("\n{why}\n"));
    }
    cases(report, &mut out);
    unstable(report, &mut out);
    out
}

fn confusion(report: &EvalReport, out: &mut String) {
    let confused = words::confused(report);
    if confused.is_empty() {
        return;
    }
    let name = |skill: Option<&String>| {
        skill.map_or_else(|| "no skill".to_owned(), |it| short_line(it, 64).into_owned())
    };
    out.push_str("\nexpected and loaded instead\n");
    for cell in confused.iter().take(MAX_CONFUSED) {
        let (expected, loaded) = (name(cell.expected.as_ref()), name(cell.loaded.as_ref()));
        // No name begins a line.
        out.push_str(&format!("  - {expected} -> {loaded} ({})\n", cell.trials));
    }
    if confused.len() > MAX_CONFUSED {
        out.push_str(&format!("  and {} more\n", confused.len() - MAX_CONFUSED));
    }
}

fn arms(report: &EvalReport, out: &mut String) {
    for arm in &report.arms {
        out.push_str(&format!("\narm {}\n", arm.arm.as_str()));
        let mut line = |name: &str, value: String| out.push_str(&format!("  {name:<12} {value}\n"));
        if let Some(passed) = &arm.passed {
            line("passed", words::rate(passed));
        }
        if let Some(job) = &arm.job {
            line("job done", words::rate(job));
        }
        for (kind, rate) in &arm.checks {
            line(kind.as_str(), words::rate(rate));
        }
        for at in arm.pass_at.iter().filter(|at| at.k > 1) {
            let over = format!("over {}", counted(at.cases, "case", "cases"));
            let (any, all) = (words::share_cell(Some(&at.any)), words::share_cell(Some(&at.all)));
            line(&format!("pass@{}", at.k), format!("{any} {over}"));
            line(&format!("pass^{}", at.k), format!("{all} {over}"));
        }
        if let Some(cost) = &arm.cost {
            let about = if cost.estimated { " (estimated)" } else { "" };
            line("tokens in", format!("{}{about}", words::mean_cell(&cost.tokens_in)));
            line("tokens out", format!("{}{about}", words::mean_cell(&cost.tokens_out)));
            line("model calls", words::mean_cell(&cost.model_calls));
            line("tool calls", words::mean_cell(&cost.tool_calls));
            if let Some(latency) = words::latency(report, arm.arm) {
                line("time", latency);
            }
            if cost.judge_calls > 0 {
                line("judge", words::judge(cost));
            }
        }
    }
}

/// The comparisons, one a line, under a heading of their own.
pub(crate) fn comparisons(comparisons: &[Comparison], out: &mut String) {
    if comparisons.is_empty() {
        return;
    }
    out.push_str("\ncompared over the same cases\n");
    let (shown, more) = words::notable(comparisons);
    for comparison in shown {
        let scope =
            comparison.skill.as_deref().map_or("all cases".into(), |skill| short_line(skill, 64));
        let (from, to) = (&comparison.from, &comparison.to);
        out.push_str(&format!("  - {scope}, {from} to {to}: {}\n", words::comparison(comparison)));
    }
    if more > 0 {
        out.push_str(&format!("  and {more} more\n"));
    }
}

fn cases(report: &EvalReport, out: &mut String) {
    let listed: Vec<_> = report
        .outcomes()
        .filter(|(_, arm, is_main)| {
            arm.outcome == CaseOutcome::Error || *is_main && arm.outcome == CaseOutcome::Failed
        })
        .collect();
    if listed.is_empty() {
        return;
    }
    out.push_str("\nnot passed\n");
    for (case, arm, _) in listed.iter().take(MAX_CASES) {
        let (id, arm_word) = (quoted(&case.id, 80), arm.arm.as_str());
        out.push_str(&format!("  {id} ({arm_word}, {})\n", arm.outcome.as_str()));
        for problem in words::problems(arm).into_iter().chain(words::errors(arm)) {
            out.push_str(&format!("    - {}\n", short_line(&problem, MAX_LINE)));
        }
    }
    if listed.len() > MAX_CASES {
        out.push_str(&format!("  and {} more\n", listed.len() - MAX_CASES));
    }
}

/// The cases that pass in some trials and fail in others, whatever most of them say.
fn unstable(report: &EvalReport, out: &mut String) {
    let unstable: Vec<_> = words::unstable(report).collect();
    if unstable.is_empty() {
        return;
    }
    out.push_str("\nunstable\n");
    for (case, arm, passed) in unstable.iter().take(MAX_CASES) {
        let (id, arm) = (quoted(&case.id, 80), arm.as_str());
        out.push_str(&format!("  {id} ({arm}): {passed}\n"));
    }
    if unstable.len() > MAX_CASES {
        out.push_str(&format!("  and {} more\n", unstable.len() - MAX_CASES));
    }
}
