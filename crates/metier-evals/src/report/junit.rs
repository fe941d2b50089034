//! The report as `JUnit` XML: one test case for each case and arm, and one for the verdict.
//!
//! A case that did not pass is a failure, one that could not be scored an error: the two never mix. Written by
//! hand, as it takes five elements.

use super::eval_report::{CaseArm, CaseOutcome, CaseScore, EvalReport};
use super::verdict::EvalVerdict;
use super::words;
use crate::compare::{RunComparison, comparison_text};

/// The report as `JUnit` XML, with a test case for what changed since a baseline where there is one.
pub fn junit(report: &EvalReport, baseline: Option<&RunComparison>) -> String {
    let cases: Vec<(&CaseScore, &CaseArm, bool)> = report.outcomes().collect();
    let count =
        |outcome| cases.iter().filter(|(_, arm, is_main)| shown(arm, *is_main) == outcome).count();
    let verdict = report.verdict.verdict;
    let failures = count(CaseOutcome::Failed)
        + usize::from(matches!(verdict, EvalVerdict::Fail | EvalVerdict::Inconclusive))
        + usize::from(baseline.is_some_and(RunComparison::fails));
    let errors = count(CaseOutcome::Error) + usize::from(verdict == EvalVerdict::Invalid);
    let skipped = count(CaseOutcome::Missing) + count(CaseOutcome::NothingExpected);
    let totals = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"",
        cases.len() + 1 + usize::from(baseline.is_some())
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!("<testsuites name=\"evals\" {totals}>\n"));
    out.push_str(&format!("  <testsuite name=\"evals\" {totals}>\n    <properties>\n"));
    let latencies = report.arms.iter().filter_map(|arm| {
        let latency = words::latency(report, arm.arm)?;
        Some((format!("time.{}", arm.arm.as_str()), latency))
    });
    let latencies: Vec<(String, String)> = latencies.collect();
    let mut property = |name: &str, value: &str| {
        out.push_str(&format!(
            "      <property name=\"{}\" value=\"{}\"/>\n",
            escape(name),
            escape(value)
        ));
    };
    property("verdict", verdict.as_str());
    property("plan", &report.plan.to_string());
    property("model", &format!("{} {}", report.subject.provider, report.subject.model));
    property("units", &words::units(report));
    for (kind, count) in &report.units.errors_by_kind {
        property(&format!("errors.{kind}"), &count.to_string());
    }
    for (name, latency) in &latencies {
        property(name, latency);
    }
    out.push_str("    </properties>\n");
    for (case, arm, is_main) in &cases {
        test_case(case, arm, *is_main, &mut out);
    }
    verdict_case(report, &mut out);
    if let Some(baseline) = baseline {
        baseline_case(baseline, &mut out);
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// How a case is counted: one that fails in an arm that is only there for comparison is left out.
fn shown(arm: &CaseArm, is_main: bool) -> CaseOutcome {
    match arm.outcome {
        CaseOutcome::Failed if !is_main => CaseOutcome::NothingExpected,
        outcome => outcome,
    }
}

fn test_case(case: &CaseScore, arm: &CaseArm, is_main: bool, out: &mut String) {
    let class = case.skill.as_deref().unwrap_or("no skill");
    let mut open = format!(
        "    <testcase classname=\"{}\" name=\"{} [{}]\"",
        escape(class),
        escape(&case.id),
        arm.arm.as_str()
    );
    if !case.file.is_empty() {
        open.push_str(&format!(" file=\"{}\" line=\"{}\"", escape(&case.file), case.line));
    }
    let problems = words::problems(arm).join("\n");
    let errors = words::errors(arm);
    let passed = arm.passed.as_ref().map(words::rate).unwrap_or_default();
    let mut inside = String::new();
    match shown(arm, is_main) {
        CaseOutcome::Passed => {}
        CaseOutcome::Failed => {
            inside.push_str(&element("failure", &format!("passed: {passed}"), &problems));
        }
        CaseOutcome::Error => {
            let kinds = words::kinds(&arm.errors);
            inside.push_str(&element("error", &kinds, errors.as_deref().unwrap_or_default()));
        }
        CaseOutcome::Missing => inside.push_str("      <skipped message=\"no result\"/>\n"),
        CaseOutcome::NothingExpected => {
            let why = match arm.outcome {
                CaseOutcome::Failed => format!("for comparison only; passed: {passed}"),
                _ => "nothing is expected of this arm".to_owned(),
            };
            inside.push_str(&format!("      <skipped message=\"{}\"/>\n", escape(&why)));
        }
    }
    // Trials that could not be scored beside others that were, and single failures of a case that passed.
    let is_shown = matches!(shown(arm, is_main), CaseOutcome::Failed | CaseOutcome::Error);
    let more: Vec<String> = (!is_shown)
        .then_some(problems)
        .into_iter()
        .chain(errors.filter(|_| arm.outcome != CaseOutcome::Error))
        .filter(|said| !said.is_empty())
        .collect();
    if !more.is_empty() {
        inside.push_str(&format!("      <system-out>{}</system-out>\n", escape(&more.join("\n"))));
    }
    out.push_str(&open);
    if inside.is_empty() {
        out.push_str("/>\n");
    } else {
        out.push_str(&format!(">\n{inside}    </testcase>\n"));
    }
}

fn verdict_case(report: &EvalReport, out: &mut String) {
    let verdict = report.verdict.verdict;
    let reasons: Vec<&str> =
        report.verdict.reasons.iter().map(|reason| reason.message.as_str()).collect();
    out.push_str("    <testcase classname=\"evals\" name=\"verdict\"");
    let element = match verdict {
        EvalVerdict::Pass => return out.push_str("/>\n"),
        EvalVerdict::Fail | EvalVerdict::Inconclusive => {
            element("failure", verdict.as_str(), &reasons.join("\n"))
        }
        EvalVerdict::Invalid => element("error", verdict.as_str(), &reasons.join("\n")),
    };
    out.push_str(&format!(">\n{element}    </testcase>\n"));
}

fn baseline_case(baseline: &RunComparison, out: &mut String) {
    let text = comparison_text(baseline);
    out.push_str("    <testcase classname=\"evals\" name=\"baseline\">\n");
    out.push_str(&if baseline.fails() {
        element("failure", baseline.change.as_str(), &text)
    } else {
        format!("      <system-out>{}</system-out>\n", escape(&text))
    });
    out.push_str("    </testcase>\n");
}

fn element(name: &str, message: &str, text: &str) -> String {
    format!("      <{name} message=\"{}\">{}</{name}>\n", escape(message), escape(text))
}

/// The text as XML 1.0 can hold it: control characters that it forbids are shown as escapes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}
