//! The sections of a page: the verdict, the skills, the arms, the comparisons, and a row for each case.
//!
//! A row carries what the filter looks at; the script adds the trials of a case below it when it is opened.

use super::markup::{NAME, SENTENCE, safe};
use super::plots;
use crate::report::verdict::{counted, percent};
use crate::report::{ArmScore, CaseOutcome, CaseScore, EvalReport, words};

/// A case is filtered by the first of these that one of its arms has.
const BY_URGENCY: [CaseOutcome; 5] = [
    CaseOutcome::Error,
    CaseOutcome::Failed,
    CaseOutcome::Missing,
    CaseOutcome::Passed,
    CaseOutcome::NothingExpected,
];

/// The verdict, its reasons, and what was tested.
pub(super) fn verdict(report: &EvalReport, out: &mut String) {
    let verdict = report.verdict.verdict.as_str();
    let subject = &report.subject;
    out.push_str(&format!(
        "<header>\n<h1>Evals: <strong class=\"verdict {}\">{verdict}</strong></h1>\n<p>{}</p>\n",
        verdict.to_lowercase(),
        safe(&words::units(report), SENTENCE)
    ));
    if !report.verdict.reasons.is_empty() {
        out.push_str("<ul class=\"reasons\">\n");
        for reason in &report.verdict.reasons {
            out.push_str(&format!("<li>{}</li>\n", safe(&reason.message, SENTENCE)));
        }
        out.push_str("</ul>\n");
    }
    let model_kind = match subject.model_kind {
        crate::plan::ModelKind::Real => "a language model",
        crate::plan::ModelKind::Router => "the offline model, which is not a language model",
        crate::plan::ModelKind::Mock => {
            "scripted or replayed decisions, which say nothing about a skill"
        }
    };
    out.push_str("<dl>\n");
    let mut fact = |name: &str, value: &str| {
        out.push_str(&format!("<dt>{name}</dt><dd>{}</dd>\n", safe(value, SENTENCE)));
    };
    fact("tested", &format!("{}, {} {}", subject.kind, subject.provider, subject.model));
    fact("decided by", model_kind);
    if let Some(judge) = &report.judge {
        fact("judged by", judge);
    }
    fact("plan", &report.plan.to_string());
    fact("program", &report.harness);
    for time in report.times.iter().flatten() {
        fact(
            &format!("time, arm {}", time.arm.as_str()),
            &format!(
                "{} ms a trial, {} ms the slowest ({})",
                words::amount(time.mean_ms),
                time.slowest_ms,
                time.slowest_case
            ),
        );
    }
    out.push_str("</dl>\n</header>\n");
}

/// How well each skill is triggered.
pub(super) fn skills(report: &EvalReport, out: &mut String) {
    if report.skills.is_empty() {
        return;
    }
    out.push_str(
        "<section id=\"skills\">\n<h2>Skills</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>skill</th>\
         <th>should</th><th>should not</th><th>precision</th><th>recall</th><th>F1</th><th>specificity</th>\
         <th>steps followed</th></tr></thead>\n<tbody>\n",
    );
    for skill in &report.skills {
        out.push_str(&format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            safe(&skill.skill, NAME),
            skill.positives,
            skill.negatives,
            plots::interval(skill.precision.as_ref()),
            plots::interval(skill.recall.as_ref()),
            plots::estimate(skill.f1.as_ref()),
            plots::interval(skill.specificity.as_ref()),
            plots::interval(skill.steps_followed.as_ref()),
        ));
    }
    out.push_str("</tbody>\n</table></div>\n<p>Cases, and shares of trials with 95 % intervals.");
    if let Some(macro_f1) = report.macro_f1 {
        out.push_str(&format!(" Mean F1: {}.", percent(macro_f1)));
    }
    if let Some(abstention) = &report.abstention {
        out.push_str(&format!(" No skill where none fits: {}.", words::rate(abstention)));
    }
    out.push_str("</p>\n");
    for skill in report.skills.iter().filter(|skill| !skill.instead.is_empty()) {
        let name = safe(&skill.skill, NAME);
        out.push_str(&format!(
            "<details><summary>Done first instead of loading {name}</summary><ul>\n"
        ));
        let mut instead: Vec<_> = skill.instead.iter().collect();
        instead.sort_by_key(|(what, count)| (std::cmp::Reverse(**count), what.as_str()));
        for (what, count) in instead {
            let times = counted(*count, "time", "times");
            out.push_str(&format!("<li>{} ({times})</li>\n", safe(what, SENTENCE)));
        }
        out.push_str("</ul></details>\n");
    }
    out.push_str("</section>\n");
}

/// What each arm came to.
pub(super) fn arms(report: &EvalReport, out: &mut String) {
    out.push_str(
        "<section id=\"arms\">\n<h2>Arms</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>arm</th><th>passed</th>\
         <th>job done</th><th>errors</th><th>model calls</th><th>tool calls</th></tr></thead>\n<tbody>\n",
    );
    for arm in &report.arms {
        let cost = arm.cost.as_ref();
        let mean = |of: fn(&crate::report::ArmCost) -> &crate::report::Estimate| {
            cost.map_or_else(|| "-".to_owned(), |cost| words::mean_cell(of(cost)))
        };
        out.push_str(&format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            arm.arm.as_str(),
            plots::interval(arm.passed.as_ref()),
            plots::interval(arm.job.as_ref()),
            arm.errors,
            mean(|cost| &cost.model_calls),
            mean(|cost| &cost.tool_calls),
        ));
    }
    out.push_str("</tbody>\n</table></div>\n");
    if let Some(why) = words::too_few_cases(report) {
        out.push_str(&format!("<p>Intervals: {why}.</p>\n"));
    }
    report.arms.iter().for_each(|arm| arm_details(arm, out));
    out.push_str("</section>\n");
}

fn arm_details(arm: &ArmScore, out: &mut String) {
    if arm.checks.is_empty() && arm.pass_at.len() < 2 {
        return;
    }
    out.push_str(&format!("<details><summary>Arm {} in detail</summary>\n", arm.arm.as_str()));
    if !arm.checks.is_empty() {
        out.push_str("<table>\n<thead><tr><th>checks</th><th>passed</th></tr></thead>\n<tbody>\n");
        for (kind, rate) in &arm.checks {
            let (kind, plot) = (kind.as_str(), plots::interval(Some(rate)));
            out.push_str(&format!("<tr><th>{kind}</th><td>{plot}</td></tr>\n"));
        }
        out.push_str("</tbody>\n</table>\n");
    }
    if arm.pass_at.len() > 1 {
        out.push_str(
            "<table>\n<thead><tr><th>k</th><th>cases</th><th>pass@k: some pass</th><th>pass^k: all pass</th>\
             </tr></thead>\n<tbody>\n",
        );
        for at in arm.pass_at.iter().filter(|at| at.k > 1) {
            let (any, all) = (plots::estimate(Some(&at.any)), plots::estimate(Some(&at.all)));
            let (k, cases) = (at.k, at.cases);
            out.push_str(&format!(
                "<tr><th>{k}</th><td>{cases}</td><td>{any}</td><td>{all}</td></tr>\n"
            ));
        }
        out.push_str("</tbody>\n</table>\n");
    }
    out.push_str("</details>\n");
}

/// Arms side by side.
pub(super) fn comparisons(report: &EvalReport, out: &mut String) {
    if report.comparisons.is_empty() {
        return;
    }
    out.push_str("<section id=\"comparisons\">\n<h2>Compared over the same cases</h2>\n<ul>\n");
    for comparison in &report.comparisons {
        let scope = comparison.skill.as_deref().unwrap_or("all cases");
        let sentence = format!(
            "{scope}, {} to {}: {}",
            comparison.from,
            comparison.to,
            words::comparison(comparison)
        );
        out.push_str(&format!("<li>{}</li>\n", safe(&sentence, SENTENCE)));
    }
    out.push_str("</ul>\n</section>\n");
}

/// The cases that pass in some trials and fail in others.
pub(super) fn unstable(report: &EvalReport, out: &mut String) {
    let mut unstable = words::unstable(report).peekable();
    if unstable.peek().is_none() {
        return;
    }
    out.push_str("<section id=\"unstable\">\n<h2>Unstable cases</h2>\n<ul>\n");
    for (case, arm, passed) in unstable {
        let (id, arm) = (safe(&case.id, NAME), arm.as_str());
        out.push_str(&format!("<li>{id} ({arm}): {passed}</li>\n"));
    }
    out.push_str("</ul>\n</section>\n");
}

/// The filter and a row for each case.
pub(super) fn cases(report: &EvalReport, left_out: u64, out: &mut String) {
    out.push_str(
        "<section id=\"cases\">\n<h2>Cases</h2>\n<form id=\"filter\"><label>search <input id=\"words\" \
         type=\"search\" autocomplete=\"off\"></label> <label>outcome <select id=\"outcome\">\
         <option value=\"\">all</option>",
    );
    for outcome in BY_URGENCY {
        out.push_str(&format!("<option>{}</option>", outcome.as_str()));
    }
    out.push_str(
        "</select></label> <label>skill <select id=\"skill\"><option value=\"\">all</option>",
    );
    let skills: std::collections::BTreeSet<&str> =
        report.cases.iter().filter_map(|case| case.skill.as_deref()).collect();
    for skill in skills {
        let skill = safe(skill, NAME);
        out.push_str(&format!("<option value=\"{skill}\">{skill}</option>"));
    }
    out.push_str("</select></label> <output id=\"shown\"></output></form>\n");
    if left_out > 0 {
        let trials = counted(left_out, "trial", "trials");
        out.push_str(&format!(
            "<p>The timelines of {trials} are left out to keep this page small; those that did not pass come first.</p>\n"
        ));
    }
    out.push_str("<div class=\"wide\"><table id=\"rows\">\n<thead><tr><th>case</th><th>skill</th>");
    for arm in &report.arms {
        out.push_str(&format!("<th>{}</th>", arm.arm.as_str()));
    }
    out.push_str("<th>request</th></tr></thead>\n<tbody>\n");
    for (at, case) in report.cases.iter().enumerate() {
        row(at, case, out);
    }
    out.push_str("</tbody>\n</table></div>\n</section>\n");
}

fn row(at: usize, case: &CaseScore, out: &mut String) {
    let has = |outcome| case.arms.iter().any(|arm| arm.outcome == outcome);
    let outcome =
        BY_URGENCY.into_iter().find(|outcome| has(*outcome)).unwrap_or(CaseOutcome::Missing);
    let skill = case.skill.as_deref().map(|skill| safe(skill, NAME)).unwrap_or_default();
    out.push_str(&format!(
        "<tr class=\"case\" data-case=\"{at}\" data-outcome=\"{}\" data-skill=\"{skill}\"><th><button \
         type=\"button\" aria-expanded=\"false\">{}</button></th><td>{skill}</td>",
        outcome.as_str(),
        safe(&case.id, NAME)
    ));
    for arm in &case.arms {
        let share = arm
            .passed
            .map_or_else(String::new, |passed| format!(" {}/{}", passed.successes, passed.trials));
        let word = arm.outcome.as_str();
        let class = word.replace(' ', "-");
        let problems: Vec<String> =
            words::problems(arm).into_iter().chain(words::errors(arm)).collect();
        out.push_str(&format!(
            "<td><span class=\"chip {class}\" title=\"{}\">{word}{share}</span></td>",
            safe(&problems.join("; "), SENTENCE)
        ));
    }
    out.push_str(&format!("<td class=\"request\">{}</td></tr>\n", safe(&case.input, 200)));
}
