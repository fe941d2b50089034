//! A run beside a baseline: regressions beyond noise, what cannot be compared, and saved reports.
//! The runs are made by hand, through the library.

use metier_evals::report::{ComparedMetric, ComparisonResult, EvalReport};
use metier_evals::statistics::Correction;
use metier_evals::{
    Arm, CheckKind, FiredSkill, ModelKind, RunChange, RunComparison, TrialErrorKind, compare,
    comparison_markdown, comparison_text,
};

use crate::report_support::{by_hand, case, checked, error, plan, report, result, triggered};

/// Forty cases for `pdf`, of which so many load it.
fn run(loaded: usize, kind: ModelKind) -> EvalReport {
    let cases = (0..40).map(|at| case(&format!("c{at}"), &["pdf"])).collect();
    let mut plan = plan(&[Arm::Listed], 1, cases);
    plan.subject.model_kind = kind;
    let results: Vec<_> = (0..40)
        .map(|at| {
            let one = result(&plan, &format!("c{at}"), Arm::Listed, 0);
            triggered(one, "pdf", true, at < loaded)
        })
        .collect();
    report(&plan, &results)
}

fn compared(before: &EvalReport, after: &EvalReport) -> RunComparison {
    compare(before, after, Correction::Holm)
}

fn recall(comparison: &RunComparison) -> &metier_evals::report::Comparison {
    let is_recall = |one: &&metier_evals::report::Comparison| one.metric == ComparedMetric::Recall;
    comparison.comparisons.iter().find(is_recall).expect("recall is compared")
}

#[test]
fn a_loss_beyond_noise_is_a_regression_and_a_gain_an_improvement() {
    let (low, high) = (run(20, ModelKind::Real), run(36, ModelKind::Real));
    let worse = compared(&high, &low);
    assert_eq!(worse.change, RunChange::Regression);
    assert!(worse.fails());
    let recall_lost = recall(&worse);
    assert_eq!(recall_lost.skill.as_deref(), Some("pdf"));
    assert_eq!((recall_lost.paired.up, recall_lost.paired.down), (0, 16));
    assert_eq!(recall_lost.result, ComparisonResult::Worse);
    assert_eq!(worse.changed.len(), 16);
    let better = compared(&low, &high);
    assert_eq!(better.change, RunChange::Improvement);
    assert!(!better.fails());
}

#[test]
fn a_loss_within_noise_is_none_and_says_what_could_have_been_seen() {
    let comparison = compared(&run(36, ModelKind::Real), &run(34, ModelKind::Real));
    assert_eq!(comparison.change, RunChange::NoDifference);
    let lost = recall(&comparison);
    assert_eq!((lost.paired.down, lost.result), (2, ComparisonResult::NoDifference));
    assert!(
        lost.detectable.is_some_and(|size| size > 0.05) && lost.cases_needed > Some(40),
        "{lost:?}"
    );
    let text = comparison_text(&comparison);
    assert!(text.starts_with("NO DIFFERENCE SEEN: 40 cases compared\n"), "{text}");
    assert!(text.contains("the smallest detectable difference is"), "{text}");
    let page = comparison_markdown(&comparison);
    assert!(page.starts_with("# Compared with a baseline: NO DIFFERENCE SEEN\n"), "{page}");
    assert!(page.contains("- c35 (listed): passed, now failed"), "{page}");
    assert!(text.contains("`c35` (listed): passed, now failed"), "{text}");
}

#[test]
fn a_case_whose_request_calls_the_skill_is_no_pair_of_what_models_chose() {
    let run = |wrong: bool| {
        let mut cases: Vec<_> = (0..8).map(|at| case(&format!("n{at}"), &[])).collect();
        cases.push(case("called", &["pdf"]));
        let plan = plan(&[Arm::Listed], 1, cases);
        let results: Vec<_> = plan
            .cases
            .iter()
            .map(|case| {
                let mut one = result(&plan, &case.id, Arm::Listed, 0);
                if case.id == "called" {
                    one.fired.push(FiredSkill { skill: "pdf".to_owned(), step: 0, inner: false });
                    return checked(one, CheckKind::Called, "loads pdf by its name", true);
                }
                if wrong && case.id == "n3" { triggered(one, "pdf", false, true) } else { one }
            })
            .collect();
        report(&plan, &results)
    };
    let (quiet, loud) = (run(false), run(true));
    assert_eq!(quiet.cases[8].arms[0].called, ["pdf"]);
    let comparison = compared(&quiet, &loud);
    let specificity =
        comparison.comparisons.iter().find(|one| one.metric == ComparedMetric::Specificity);
    let paired = &specificity.expect("it is compared").paired;
    assert_eq!((paired.cases, paired.down), (8, 1));
    let saved: EvalReport =
        serde_json::from_str(&serde_json::to_string(&quiet).expect("JSON")).expect("a report");
    assert_eq!(compared(&saved, &loud), comparison, "a saved report knows it too");
}

#[test]
fn without_a_model_there_is_no_noise_and_any_loss_is_one() {
    let comparison = compared(&run(36, ModelKind::Router), &run(35, ModelKind::Router));
    assert_eq!(comparison.change, RunChange::Regression);
    let same = compared(&run(36, ModelKind::Router), &run(36, ModelKind::Router));
    assert_eq!(same.change, RunChange::NoDifference);
    assert!(same.changed.is_empty());
}

#[test]
fn a_run_is_no_regression_of_itself_even_when_saved_and_read_again() {
    let (plan, results) = by_hand();
    let now = report(&plan, &results);
    let saved = serde_json::to_string_pretty(&now).expect("JSON");
    let read: EvalReport = serde_json::from_str(&saved).expect("the same report");
    assert_eq!(read, now);
    let comparison = compared(&read, &now);
    assert_eq!(comparison.change, RunChange::NoDifference);
    assert!(comparison.notes.is_empty() && comparison.edited.is_empty(), "{comparison:?}");
}

#[test]
fn edited_cases_and_those_of_one_run_are_left_out_and_counted() {
    let before = run(36, ModelKind::Real);
    let mut after = run(36, ModelKind::Real);
    after.cases[0].digest = metier::skill::Digest::of(b"edited");
    after.cases[1].id = "new".to_owned();
    let comparison = compared(&before, &after);
    assert_eq!((comparison.cases, comparison.only_in_one), (38, 2));
    assert_eq!(comparison.edited, ["c0"]);
}

#[test]
fn an_invalid_run_is_not_compared() {
    let (plan, results) = by_hand();
    let good = report(&plan, &results);
    let broken: Vec<_> =
        results.iter().map(|one| error(one.clone(), TrialErrorKind::Provider)).collect();
    let broken = report(&plan, &broken);
    for (before, after) in [(&good, &broken), (&broken, &good)] {
        let comparison = compared(before, after);
        assert_eq!(comparison.change, RunChange::Invalid);
        assert!(comparison.fails() && !comparison.notes.is_empty());
    }
    let other = run(36, ModelKind::Real);
    let nothing = compared(&good, &other);
    assert_eq!(nothing.change, RunChange::Invalid);
    assert!(nothing.notes.iter().any(|note| note.contains("no scored case in common")));
}

#[test]
fn what_else_changed_is_said() {
    let before = run(36, ModelKind::Real);
    let mut after = run(36, ModelKind::Real);
    after.subject.model = "other".to_owned();
    after.judge = Some("openai:judge".to_owned());
    after.tested.insert("pdf".to_owned(), metier::skill::Digest::of(b"new text"));
    let notes = compared(&before, &after).notes.join("\n");
    assert!(notes.contains("`metier openai gpt-x` to `metier openai other`"), "{notes}");
    assert!(notes.contains("the judge changed") && notes.contains("changed: `pdf`"), "{notes}");
}

#[test]
fn a_mean_against_most_of_the_cases_shows_nothing_where_there_is_noise() {
    // In 16 cases one trial of a hundred more loads the skill, and in one none does any more.
    let run = |is_after: bool| {
        let cases = (0..17).map(|at| case(&format!("c{at}"), &["pdf"])).collect();
        let plan = plan(&[Arm::Listed], 100, cases);
        let results: Vec<_> = plan
            .units()
            .map(|unit| {
                let one = result(&plan, &format!("c{}", unit.case), Arm::Listed, unit.trial);
                let loaded = match (unit.case, is_after) {
                    (16, after) => !after,
                    (_, false) => unit.trial < 98,
                    (_, true) => unit.trial < 99,
                };
                triggered(one, "pdf", true, loaded)
            })
            .collect();
        report(&plan, &results)
    };
    let comparison = compared(&run(false), &run(true));
    let recall = recall(&comparison);
    assert_eq!((recall.paired.up, recall.paired.down), (16, 1));
    assert!(recall.corrected_p <= 0.05 && recall.paired.difference < 0.0, "{recall:?}");
    assert_eq!(recall.result, ComparisonResult::NoDifference);
    assert_eq!(comparison.change, RunChange::NoDifference);
}

#[test]
fn without_noise_a_case_that_is_lost_is_worse_though_another_is_gained() {
    let before = run(20, ModelKind::Router);
    let mut after = run(20, ModelKind::Router);
    // The case at 19 and the one at 20 come out the other way round.
    let (one, other) = (after.cases[19].arms.clone(), after.cases[20].arms.clone());
    (after.cases[19].arms, after.cases[20].arms) = (other, one);
    let comparison = compared(&before, &after);
    let recall = recall(&comparison);
    assert_eq!((recall.paired.up, recall.paired.down), (1, 1));
    assert_eq!(recall.result, ComparisonResult::Worse);
    assert_eq!(comparison.change, RunChange::Regression);
}

#[test]
fn a_baseline_in_which_nothing_fired_is_improved_on_and_no_obstacle() {
    let (never, fixed) = (run(0, ModelKind::Real), run(36, ModelKind::Real));
    let comparison = compared(&never, &fixed);
    assert_eq!(comparison.change, RunChange::Improvement, "{:?}", comparison.notes);
    assert!(comparison.notes.iter().any(|note| note.contains("none of 40")), "{comparison:?}");
    assert_eq!(compared(&fixed, &never).change, RunChange::Invalid, "the other way round");
}
