//! The whole page, and what its browser may do: run the one script and use the one style that are in it.
//!
//! Results are added one by one, in any order; what is kept of them is bounded. The same report and results give
//! the same page.

use std::collections::HashMap;

use metier::skill::Digest;

use super::trials::Trials;
use super::{markup, plots, sections};
use crate::case::Case;
use crate::compare::{RunComparison, comparison_text};
use crate::plan::{Arm, EvalPlan};
use crate::report::EvalReport;
use crate::trial::TrialResult;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of a report, with the timelines of its trials.
#[derive(Debug)]
pub struct HtmlPage<'a> {
    cases: HashMap<&'a str, (usize, &'a Case)>,
    arms: &'a [Arm],
    trials: Trials,
}

impl<'a> HtmlPage<'a> {
    /// A page for a run of this plan, without a trial so far.
    pub fn new(plan: &'a EvalPlan) -> Self {
        let places = plan.cases.iter().enumerate();
        let cases = places.map(|(at, case)| (case.id.as_str(), (at, case)));
        Self { cases: cases.collect(), arms: &plan.arms, trials: Trials::default() }
    }

    /// Adds what was done in a trial. Past a bound, trials that passed are left out first.
    pub fn add(&mut self, result: &TrialResult) {
        let case = self.cases.get(result.case.as_str());
        let arm = self.arms.iter().position(|arm| *arm == result.arm);
        if let (Some(case), Some(arm)) = (case, arm) {
            self.trials.add(*case, arm, result);
        }
    }

    /// The page. Without `times` in the report, it shows no time either.
    pub fn finish(self, report: &EvalReport) -> String {
        let title = format!("Evals: {}", report.verdict.verdict.as_str());
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
            source_hash(SCRIPT),
            source_hash(STYLE)
        );
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n",
            markup::escape(&policy)
        );
        sections::verdict(report, &mut out);
        out.push_str(BASELINE_PLACE);
        sections::skills(report, &mut out);
        plots::confusion(report, &mut out);
        sections::arms(report, &mut out);
        plots::cost(report, &mut out);
        sections::comparisons(report, &mut out);
        sections::unstable(report, &mut out);
        sections::cases(report, self.trials.left_out(), &mut out);
        out.push_str("</main>\n<script type=\"application/json\" id=\"trials\">");
        self.trials.write(report, &mut out);
        out.push_str(&format!("</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"));
        out
    }
}

/// Where what changed since a baseline comes to stand: it is known after the page was made.
const BASELINE_PLACE: &str = "<!-- baseline -->\n";

/// The page with what changed since a baseline.
pub fn page_with_baseline(page: &str, baseline: &RunComparison) -> String {
    let text = markup::escape(&comparison_text(baseline));
    let colour = if baseline.fails() { "bad" } else { "good" };
    let section = format!(
        "<section>\n<h2>Baseline</h2>\n<p class=\"{colour}\">{}</p>\n<pre>{text}</pre>\n</section>\n",
        baseline.change.as_str()
    );
    page.replacen(BASELINE_PLACE, &section, 1)
}

/// How a content security policy names a script or a style by its content.
fn source_hash(content: &str) -> String {
    let digest = Digest::of(content.as_bytes()).to_string();
    let hex = digest.strip_prefix("sha256:").unwrap_or_default().as_bytes();
    let bytes = data_encoding::HEXLOWER.decode(hex).unwrap_or_default();
    format!("sha256-{}", data_encoding::BASE64.encode(&bytes))
}
