//! Inline SVG: intervals on a line, the confusion matrix, and the cost of each arm.
//!
//! Colours come from classes and shades from attributes, as the page's policy forbids inline styles. Every mark has
//! a title with its numbers, so that nothing is only seen.

use std::collections::{BTreeMap, BTreeSet};

use super::markup::{NAME, safe};
use crate::report::verdict::{counted, percent};
use crate::report::{Estimate, EvalReport, words};
use crate::statistics::{Interval, Rate};

/// Skills on a side of the confusion matrix; those that are confused most come first.
const MAX_SKILLS: usize = 40;
/// The width of a plot's line from 0 to 1.
const WIDTH: f64 = 160.0;
/// The side of a cell of the matrix.
const CELL: usize = 26;

/// A share and its interval as a dot on a line from 0 to 1.
pub(super) fn interval(rate: Option<&Rate>) -> String {
    rate.map_or_else(
        || "-".to_owned(),
        |rate| {
            let seen = format!("{} of {}", rate.successes, rate.trials);
            whiskers(rate.rate, Some(rate.interval), &seen)
        },
    )
}

/// The same for an estimate.
pub(super) fn estimate(estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(|| "-".to_owned(), |one| whiskers(one.value, one.interval, ""))
}

fn whiskers(value: f64, interval: Option<Interval>, seen: &str) -> String {
    let ends = interval.unwrap_or(Interval { low: value, high: value });
    let title =
        format!("{} ({} to {}) {seen}", percent(value), percent(ends.low), percent(ends.high));
    let x = |share: f64| 4.0 + share * (WIDTH - 8.0);
    format!(
        "<span class=\"rate\">{}</span> <span class=\"ends\">{}</span><br><svg class=\"line\" width=\"{WIDTH}\" height=\"16\" role=\"img\">\
         <title>{}</title><line class=\"axis\" x1=\"4\" x2=\"{:.1}\" y1=\"8\" y2=\"8\"/>\
         <line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"8\" y2=\"8\"/>\
         <circle class=\"dot\" cx=\"{:.1}\" cy=\"8\" r=\"4\"/></svg>",
        percent(value),
        interval.map_or_else(String::new, |ends| format!(
            "{} to {}",
            percent(ends.low),
            percent(ends.high)
        )),
        title.trim_end(),
        WIDTH - 4.0,
        x(ends.low),
        x(ends.high),
        x(value),
    )
}

/// The confusion matrix: a row for what was expected, a column for what was loaded.
pub(super) fn confusion(report: &EvalReport, out: &mut String) {
    if report.confusion.is_empty() {
        return;
    }
    let labels = labels(report);
    let place: BTreeMap<Option<&str>, usize> =
        labels.iter().enumerate().map(|(at, label)| (*label, at)).collect();
    let mut rows = vec![0_u64; labels.len()];
    let shown: Vec<(usize, usize, u64)> = report
        .confusion
        .iter()
        .filter_map(|cell| {
            let row = place.get(&cell.expected.as_deref())?;
            Some((*row, *place.get(&cell.loaded.as_deref())?, cell.trials))
        })
        .collect();
    for (row, _, trials) in &shown {
        rows[*row] += trials;
    }
    let name =
        |label: Option<&str>| label.map_or_else(|| "no skill".to_owned(), |name| safe(name, 24));
    let (left, top) = (170, 120);
    let (width, height) = (left + CELL * labels.len() + 60, top + CELL * labels.len() + 10);
    out.push_str(&format!(
        "<section id=\"confusion\">\n<h2>Expected and loaded</h2>\n<p>Rows: what was expected. Columns: what was \
         loaded.</p>\n<div class=\"wide\"><svg width=\"{width}\" height=\"{height}\" role=\"img\">\
         <title>Confusion matrix</title>\n"
    ));
    for (at, label) in labels.iter().enumerate() {
        let y = top + CELL * at + CELL / 2 + 4;
        let x = left + CELL * at + CELL / 2;
        let name = name(*label);
        out.push_str(&format!(
            "<text class=\"label\" x=\"{}\" y=\"{y}\">{name}</text>\n",
            left - 6
        ));
        out.push_str(&format!(
            "<text x=\"{x}\" y=\"{}\" transform=\"rotate(-45 {x} {})\">{name}</text>\n",
            top - 6,
            top - 6
        ));
    }
    for (row, column, trials) in shown {
        let (x, y) = (left + CELL * column, top + CELL * row);
        let share = share(trials, rows[row]);
        let class = if row == column { "right" } else { "wrong" };
        let title = format!(
            "expected {}, loaded {}: {}",
            name(labels[row]),
            name(labels[column]),
            counted(trials, "trial", "trials")
        );
        out.push_str(&format!(
            "<g><title>{title}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" \
             fill-opacity=\"{:.2}\"/><text class=\"count\" x=\"{}\" y=\"{}\">{trials}</text></g>\n",
            CELL - 1,
            CELL - 1,
            0.15 + 0.75 * share,
            x + CELL / 2,
            y + CELL / 2 + 4,
        ));
    }
    out.push_str("</svg></div>\n</section>\n");
}

/// The skills of the matrix, no skill last: by how often they are confused, then by name.
fn labels(report: &EvalReport) -> Vec<Option<&str>> {
    let mut confused: BTreeMap<&str, u64> = BTreeMap::new();
    for cell in &report.confusion {
        let wrong = if cell.expected == cell.loaded { 0 } else { cell.trials };
        for skill in [&cell.expected, &cell.loaded].into_iter().flatten() {
            *confused.entry(skill.as_str()).or_default() += wrong;
        }
    }
    let mut order: Vec<(&str, u64)> = confused.into_iter().collect();
    order.sort_by_key(|(name, wrong)| (std::cmp::Reverse(*wrong), *name));
    let shown: BTreeSet<&str> = order.into_iter().take(MAX_SKILLS).map(|(name, _)| name).collect();
    shown.into_iter().map(Some).chain([None]).collect()
}

/// The mean tokens of a trial in each arm.
pub(super) fn cost(report: &EvalReport, out: &mut String) {
    let costs: Vec<_> =
        report.arms.iter().filter_map(|arm| Some((arm.arm, arm.cost.as_ref()?))).collect();
    let total = |cost: &crate::report::ArmCost| cost.tokens_in.value + cost.tokens_out.value;
    let largest = costs.iter().map(|(_, cost)| total(cost)).fold(0.0, f64::max);
    if largest <= 0.0 {
        return;
    }
    let height = 30 * costs.len() + 10;
    out.push_str(&format!(
        "<section id=\"cost\">\n<h2>Cost of a trial</h2>\n<p>Mean tokens: <span class=\"key sent\">sent</span> and \
         <span class=\"key received\">received</span>.</p>\n<div class=\"wide\"><svg width=\"640\" \
         height=\"{height}\" role=\"img\"><title>Mean tokens of a trial</title>\n"
    ));
    for (at, (arm, cost)) in costs.into_iter().enumerate() {
        let y = 30 * at + 6;
        let scale = 400.0 / largest;
        let (sent, received) = (cost.tokens_in.value * scale, cost.tokens_out.value * scale);
        let about = if cost.estimated { "~" } else { "" };
        let title = format!(
            "{}: {about}{} sent, {about}{} received; {} model calls, {} tool calls",
            arm.as_str(),
            words::mean_cell(&cost.tokens_in),
            words::mean_cell(&cost.tokens_out),
            words::mean_cell(&cost.model_calls),
            words::mean_cell(&cost.tool_calls)
        );
        out.push_str(&format!(
            "<g><title>{}</title><text class=\"label\" x=\"80\" y=\"{}\">{}</text>\
             <rect class=\"sent\" x=\"90\" y=\"{y}\" width=\"{sent:.1}\" height=\"20\"/>\
             <rect class=\"received\" x=\"{:.1}\" y=\"{y}\" width=\"{received:.1}\" height=\"20\"/>\
             <text x=\"{:.1}\" y=\"{}\">{about}{}</text></g>\n",
            safe(&title, 4 * NAME),
            y + 15,
            arm.as_str(),
            90.0 + sent,
            96.0 + sent + received,
            y + 15,
            words::amount(total(cost)),
        ));
    }
    out.push_str("</svg></div>\n</section>\n");
}

fn share(part: u64, whole: u64) -> f64 {
    use crate::statistics::binomial::as_f64;
    as_f64(part) / as_f64(whole.max(1))
}
