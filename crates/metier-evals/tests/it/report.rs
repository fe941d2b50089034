//! Reports: the numbers of a set that was worked out by hand, errors kept out of them, and the verdicts.
//! The results are made by hand, too; nothing is run.

use metier_evals::report::{
    CaseOutcome, ConfusionCell, EvalVerdict, Gates, ReasonCode, ReportOptions, RequiredModel,
};
use metier_evals::statistics::{Interval, SplitMix};
use metier_evals::{Arm, Case, CheckKind, CheckOutcome, ModelKind, TrialErrorKind, TrialResult};

use crate::report_support::{
    by_hand, case, checked, error, job, plan, report, report_with, result, triggered,
};

#[track_caller]
fn assert_interval(interval: Interval, low: f64, high: f64) {
    let is_close = |ours: f64, expected: f64| (ours - expected).abs() < 1e-9;
    assert!(is_close(interval.low, low) && is_close(interval.high, high), "{interval:?}");
}

fn codes(report: &metier_evals::report::EvalReport) -> Vec<ReasonCode> {
    report.verdict.reasons.iter().map(|reason| reason.code).collect()
}

#[test]
fn precision_recall_and_intervals_are_those_worked_out_by_hand() {
    let (plan, results) = by_hand();
    let report = report(&plan, &results);
    let [pdf] = report.skills.as_slice() else { panic!("{:?}", report.skills) };
    assert_eq!((pdf.positives, pdf.negatives), (10, 10));
    let counts = pdf.decisions;
    assert_eq!((counts.true_positives, counts.false_negatives), (8, 2));
    assert_eq!((counts.false_positives, counts.true_negatives), (1, 9));
    let precision = pdf.precision.expect("loaded");
    assert_eq!((precision.successes, precision.trials), (8, 9));
    assert_interval(precision.interval, 0.565_000_294_423, 0.980_109_112_361);
    let recall = pdf.recall.expect("expected");
    assert!((recall.rate - 0.8).abs() < 1e-12);
    assert_interval(recall.interval, 0.490_162_471_537, 0.943_317_848_546);
    let specificity = pdf.specificity.expect("negatives");
    assert_interval(specificity.interval, 0.595_849_973_205, 0.982_123_786_905);
    let f1 = pdf.f1.expect("something happened");
    assert!((f1.value - 16.0 / 19.0).abs() < 1e-12);
    assert_interval(f1.interval.expect("an interval"), 0.605_644_753_254, 0.948_773_416_973);
    assert_eq!(report.macro_f1, Some(f1.value));
    let abstention = report.abstention.expect("requests without a skill");
    assert_eq!((abstention.successes, abstention.trials), (9, 10));
    let passed = report.arms[0].passed.expect("judged");
    assert_eq!((passed.successes, passed.trials), (17, 20));
    assert_interval(passed.interval, 0.639_581_135_259, 0.947_631_254_104);
    assert_eq!(pdf.instead.get("call_tool read_file"), Some(&2));
}

#[test]
fn the_confusion_table_pairs_what_was_expected_with_what_was_loaded() {
    let cases = vec![case("a", &["pdf"]), case("b", &["pdf"]), case("c", &[]), case("d", &["pdf"])];
    let plan = plan(&[Arm::Listed], 1, cases);
    let one = |id| result(&plan, id, Arm::Listed, 0);
    let results = [
        triggered(one("a"), "pdf", true, true),
        triggered(triggered(one("b"), "pdf", true, false), "xlsx", false, true),
        one("c"),
        triggered(one("d"), "pdf", true, false),
    ];
    let cell = |expected: Option<&str>, loaded: Option<&str>| ConfusionCell {
        expected: expected.map(str::to_owned),
        loaded: loaded.map(str::to_owned),
        trials: 1,
    };
    let report = report(&plan, &results);
    let expected = vec![
        cell(None, None),
        cell(Some("pdf"), None),
        cell(Some("pdf"), Some("pdf")),
        cell(Some("pdf"), Some("xlsx")),
    ];
    assert_eq!(report.confusion, expected);
    let names: Vec<&str> = report.skills.iter().map(|skill| skill.skill.as_str()).collect();
    assert_eq!(names, ["pdf", "xlsx"], "a skill that intrudes is in the table");
    assert_eq!(report.skills[1].decisions.false_positives, 1);
}

#[test]
fn the_order_of_results_changes_no_byte() {
    let cases: Vec<Case> = (0..30).map(|at| case(&format!("c{at}"), &["pdf"])).collect();
    let plan = plan(&[Arm::None, Arm::Listed], 3, cases);
    let mut results = Vec::new();
    for unit in plan.units() {
        let id = &plan.cases[unit.case].id;
        let mut one = result(&plan, id, unit.arm, unit.trial);
        one.cost.tokens_in += unit.index * 7 % 13;
        one.cost.elapsed_ms = unit.index;
        if unit.arm == Arm::Listed {
            one = triggered(one, "pdf", true, unit.index % 5 != 0);
        }
        let name = format!("answer {}", unit.index % 2);
        one = checked(one, CheckKind::Output, &name, unit.index % 3 != 0);
        if unit.index % 17 == 0 {
            one = error(one, TrialErrorKind::Provider);
        }
        results.push(one);
    }
    let options = ReportOptions {
        gates: Gates { errors: 0.2, ..Gates::default() },
        ..ReportOptions::default()
    };
    let written = |results: &[TrialResult]| {
        serde_json::to_string(&report_with(&plan, results, options)).expect("JSON")
    };
    let first = written(&results);
    let mut random = SplitMix::new(3);
    for _ in 0..3 {
        for at in (1..results.len()).rev() {
            results.swap(at, random.below(at + 1));
        }
        assert_eq!(written(&results), first);
    }
    // Twice the same results are no more than once.
    let twice: Vec<TrialResult> = results.iter().chain(&results).cloned().collect();
    let report = report_with(&plan, &twice, options);
    assert_eq!(report.units.foreign, results.len() as u64);
    assert_eq!(report.units.scored + report.units.errors, plan.unit_count());
}

#[test]
fn errors_are_neither_missed_nor_passed_and_have_a_count_of_their_own() {
    let (plan, mut results) = by_hand();
    results[0] = error(results[0].clone(), TrialErrorKind::Provider);
    results[1] = error(results[1].clone(), TrialErrorKind::TimedOut);
    let ungraded = &mut results[2];
    *ungraded = checked(ungraded.clone(), CheckKind::Judge, "is polite", true);
    ungraded.checks[0].outcome = CheckOutcome::NotGraded;
    let report = report(&plan, &results);
    assert_eq!((report.units.scored, report.units.errors), (17, 3));
    let kinds: Vec<_> =
        report.units.errors_by_kind.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(kinds, [("grader", 1), ("provider", 1), ("timed_out", 1)]);
    let counts = report.skills[0].decisions;
    assert_eq!(counts.true_positives + counts.false_negatives, 8, "two positives are errors");
    assert_eq!(report.cases[0].arms[0].outcome, CaseOutcome::Error);
    assert_eq!(report.verdict.verdict, EvalVerdict::Invalid);
    assert_eq!(codes(&report), [ReasonCode::TooManyErrors]);
    let said = &report.verdict.reasons[0].message;
    assert!(
        said.contains("3 of 20 trials are errors (grader 1, provider 1, timed_out 1)"),
        "{said}"
    );
    let gates = Gates { errors: 0.2, ..Gates::default() };
    let options = ReportOptions { gates, ..ReportOptions::default() };
    let allowed = report_with(&plan, &results, options).verdict;
    assert_ne!(allowed.verdict, EvalVerdict::Invalid, "{allowed:?}");
}

#[test]
fn a_broken_harness_is_invalid_and_never_a_score() {
    let (plan, results) = by_hand();
    let broken: Vec<_> =
        results.iter().map(|one| error(one.clone(), TrialErrorKind::Network)).collect();
    assert_eq!(codes(&report(&plan, &broken)), [ReasonCode::NothingScored]);
    assert_eq!(report(&plan, &[]).verdict.verdict, EvalVerdict::Invalid);
    let empty = crate::report_support::plan(&[Arm::Listed], 1, Vec::new());
    let nothing = report(&empty, &[]);
    assert_eq!(codes(&nothing), [ReasonCode::NothingScored]);
    assert_eq!(nothing.verdict.reasons[0].message, "there is no case to run");
    // Nothing fires: every negative is right, and still the numbers mean nothing.
    let silent: Vec<TrialResult> = plan
        .units()
        .map(|unit| {
            let case = &plan.cases[unit.case];
            let one = result(&plan, &case.id, unit.arm, 0);
            if case.id.starts_with('p') { triggered(one, "pdf", true, false) } else { one }
        })
        .collect();
    assert_eq!(codes(&report(&plan, &silent)), [ReasonCode::NoPositiveFired]);
}

#[test]
fn a_gate_that_asks_for_a_model_refuses_scripted_and_offline_decisions() {
    let (mut plan, results) = by_hand();
    let gates = Gates { model: RequiredModel::Real, ..Gates::default() };
    let options = ReportOptions { gates, ..ReportOptions::default() };
    for (kind, is_refused) in
        [(ModelKind::Mock, true), (ModelKind::Router, true), (ModelKind::Real, false)]
    {
        plan.subject.model_kind = kind;
        let report = report_with(&plan, &results, options);
        assert_eq!(codes(&report).contains(&ReasonCode::NotARealModel), is_refused, "{kind:?}");
        assert_eq!(report.verdict.verdict == EvalVerdict::Invalid, is_refused, "{kind:?}");
    }
}

#[test]
fn a_gate_is_passed_or_failed_only_beyond_noise() {
    let (plan, results) = by_hand();
    let verdict = |recall: f64| {
        let gates =
            Gates { recall: Some(recall), precision: None, pass_rate: None, ..Gates::default() };
        report_with(&plan, &results, ReportOptions { gates, ..ReportOptions::default() }).verdict
    };
    // 8 of 10 is 49 % to 94 %.
    assert_eq!(verdict(0.45).verdict, EvalVerdict::Pass);
    assert_eq!(verdict(0.95).verdict, EvalVerdict::Fail);
    let open = verdict(0.5);
    assert_eq!(open.verdict, EvalVerdict::Inconclusive);
    let [reason] = open.reasons.as_slice() else { panic!("{open:?}") };
    assert_eq!(reason.code, ReasonCode::TooFew);
    assert_eq!(reason.cases_needed, Some(11));
    let said = "recall of `pdf` is 80 % (49 % to 94.3 %), too wide to compare with 50 %: about 11 cases like \
                these would decide it; there are 10";
    assert_eq!(reason.message, said);
    let never = verdict(0.8);
    assert_eq!(never.reasons[0].cases_needed, None);
    assert!(never.reasons[0].message.ends_with("for any number of cases to decide"), "{never:?}");
}

#[test]
fn a_run_with_missing_results_is_inconclusive() {
    let (plan, results) = by_hand();
    let gates = Gates { precision: None, recall: None, pass_rate: None, ..Gates::default() };
    let options = ReportOptions { gates, ..ReportOptions::default() };
    let report = report_with(&plan, &results[..15], options);
    assert_eq!(report.verdict.verdict, EvalVerdict::Inconclusive);
    assert_eq!(codes(&report), [ReasonCode::Incomplete]);
    assert_eq!(report.units.missing, 5);
    assert_eq!(report.cases.last().expect("cases").arms[0].outcome, CaseOutcome::Missing);
}

#[test]
fn what_is_not_judged_in_an_arm_is_no_pass_there() {
    let (mut plan, mut results) = by_hand();
    plan.arms = vec![Arm::None, Arm::Listed];
    for at in 0..10 {
        results.push(result(&plan, &format!("p{at}"), Arm::None, 0));
        results.push(result(&plan, &format!("n{at}"), Arm::None, 0));
    }
    let report = report(&plan, &results);
    let [none, listed] = report.arms.as_slice() else { panic!("two arms") };
    assert_eq!(none.passed, None, "nothing is expected without the skill");
    assert_eq!(listed.passed.map(|rate| rate.trials), Some(20));
    assert_eq!(report.cases[0].arms[0].outcome, CaseOutcome::NothingExpected);
    assert!(none.cost.is_some(), "and still it cost something");
}

/// Twenty cases whose job is done more often with the skill: in 6 of them with it only.
fn two_arms(trials: u32) -> (metier_evals::EvalPlan, Vec<TrialResult>) {
    let plan =
        plan(&[Arm::None, Arm::Listed], trials, (0..20).map(|at| job(&format!("j{at}"))).collect());
    let results = plan
        .units()
        .map(|unit| {
            let mut one = result(&plan, &plan.cases[unit.case].id, unit.arm, unit.trial);
            one.cost.tokens_in += if unit.arm == Arm::Listed { 40 } else { 0 };
            let works = unit.case < 10 || unit.arm == Arm::Listed && unit.case < 16;
            checked(one, CheckKind::Output, "contains `total`", works)
        })
        .collect();
    (plan, results)
}

#[test]
fn arms_are_compared_over_the_same_cases_and_corrected_together() {
    let (plan, results) = two_arms(1);
    let report = report(&plan, &results);
    let [job, tokens, models, tools] = report.comparisons.as_slice() else {
        panic!("{:?}", report.comparisons)
    };
    assert_eq!((job.from.as_str(), job.to.as_str()), ("none", "listed"));
    assert_eq!((job.paired.cases, job.paired.up, job.paired.down), (20, 6, 0));
    assert!((job.paired.difference - 0.3).abs() < 1e-12);
    // McNemar's exact test on 6 to 0, and Holm's factor behind the tokens that differ in every case.
    assert!((job.paired.p_value - 0.031_25).abs() < 1e-12);
    assert!((job.corrected_p - 3.0 * 0.031_25).abs() < 1e-12);
    assert_eq!(job.result.as_str(), "no difference seen");
    // Eight cases must differ one way, in four samples of five, and of these twenty six do.
    assert_eq!(job.cases_needed, Some(33), "{job:?}");
    assert!(job.detectable.is_some_and(|size| (0.469..0.470).contains(&size)), "{job:?}");
    assert_eq!(models.detectable, None, "nothing varies");
    assert_eq!(tokens.result.as_str(), "worse", "40 more in every case");
    assert!(models.corrected_p >= 1.0 && tools.corrected_p >= 1.0);
}

#[test]
fn pass_at_k_is_reported_for_every_k_up_to_the_trials() {
    let (plan, mut results) = two_arms(3);
    // One case passes once in three trials.
    for one in results.iter_mut().filter(|one| one.case == "j0" && one.arm == Arm::Listed) {
        if one.trial > 0 {
            one.checks[0].outcome = CheckOutcome::Failed;
        }
    }
    let report = report(&plan, &results);
    let at = &report.arms[1].pass_at;
    assert_eq!(
        at.iter().map(|at| (at.k, at.cases)).collect::<Vec<_>>(),
        [(1, 20), (2, 20), (3, 20)]
    );
    let value = |share: f64, of: f64| (share - of / 20.0).abs() < 1e-12;
    assert!(value(at[0].any.value, 15.0 + 1.0 / 3.0) && value(at[0].all.value, 15.0 + 1.0 / 3.0));
    assert!(value(at[1].any.value, 15.0 + 2.0 / 3.0) && value(at[1].all.value, 15.0));
    assert!(value(at[2].any.value, 16.0) && value(at[2].all.value, 15.0));
    assert!(at.iter().all(|at| at.any.interval.is_some_and(|ends| ends.low < at.any.value)));
}

#[test]
fn only_the_times_differ_between_two_runs_with_the_same_results() {
    let (plan, results) = by_hand();
    let mut later = results.clone();
    for (at, one) in later.iter_mut().enumerate() {
        one.cost.elapsed_ms = at as u64;
        one.run = Some(format!("run-{at}"));
    }
    let (mut first, mut second) = (report(&plan, &results), report(&plan, &later));
    assert_ne!(first, second);
    (first.times, second.times) = (None, None);
    assert_eq!(first, second);
}

/// Eight cases, with what happens to `pdf` in each trial.
fn one_sided(skills: &[&str], is_loaded: bool) -> metier_evals::report::EvalReport {
    let plan = plan(&[Arm::Listed], 2, (0..8).map(|at| case(&format!("c{at}"), skills)).collect());
    let results: Vec<_> = plan
        .units()
        .map(|unit| {
            let one = result(&plan, &plan.cases[unit.case].id, unit.arm, unit.trial);
            triggered(one, "pdf", !skills.is_empty(), is_loaded)
        })
        .collect();
    report(&plan, &results)
}

#[test]
fn a_model_that_never_loads_anything_passes_no_set_of_negatives() {
    let quiet = one_sided(&[], false);
    assert_eq!(quiet.verdict.verdict, EvalVerdict::Inconclusive);
    let [reason] = quiet.verdict.reasons.as_slice() else { panic!("{:?}", quiet.verdict) };
    let said = "no case should load `pdf`, so its recall is not known: add cases that should";
    assert_eq!((reason.code, reason.message.as_str()), (ReasonCode::TooFew, said));
}

#[test]
fn a_model_that_always_loads_the_skill_passes_no_set_of_positives() {
    let eager = one_sided(&["pdf"], true);
    assert_eq!(eager.verdict.verdict, EvalVerdict::Inconclusive);
    let [reason] = eager.verdict.reasons.as_slice() else { panic!("{:?}", eager.verdict) };
    assert_eq!(reason.code, ReasonCode::TooFew);
    assert!(reason.message.starts_with("every case should load `pdf`"), "{}", reason.message);
    let pdf = &eager.skills[0];
    assert_eq!((pdf.precision, pdf.f1), (None, None), "nothing could be loaded wrongly");
    let gates = Gates { precision: None, ..Gates::default() };
    assert_eq!(eager.judged_by(gates).verdict.verdict, EvalVerdict::Pass, "recall alone");
}

#[test]
fn ten_cases_show_70_percent_and_not_80_however_often_each_is_tried() {
    let positive = (0..10).map(|at| case(&format!("p{at}"), &["pdf"]));
    let negative = (0..10).map(|at| case(&format!("n{at}"), &[]));
    let plan = plan(&[Arm::Listed], 5, positive.chain(negative).collect());
    for misses in [0, 1] {
        let results: Vec<_> = plan
            .units()
            .map(|unit| {
                let id = &plan.cases[unit.case].id;
                let one = result(&plan, id, unit.arm, unit.trial);
                let is_missed = unit.case == 3 && unit.trial < misses;
                if id.starts_with('p') { triggered(one, "pdf", true, !is_missed) } else { one }
            })
            .collect();
        let verdict = |recall| {
            let gates = Gates { recall: Some(recall), ..Gates::default() };
            report_with(&plan, &results, ReportOptions { gates, ..ReportOptions::default() })
                .verdict
        };
        assert_eq!(verdict(0.7).verdict, EvalVerdict::Pass, "{misses} misses");
        let open = verdict(0.8);
        assert_eq!(open.verdict, EvalVerdict::Inconclusive, "{misses} misses");
        assert!(open.reasons[0].cases_needed > Some(10), "{open:?}");
    }
}

#[test]
fn a_request_that_calls_a_skill_counts_in_no_trigger_number_and_in_no_job() {
    let cases = vec![case("none", &[]), case("wanted", &["pdf"]), case("other", &[])];
    let plan = plan(&[Arm::Listed], 1, cases);
    let called = |id: &str, passed: bool| {
        let mut one = result(&plan, id, Arm::Listed, 0);
        one.fired.push(metier_evals::FiredSkill { skill: "pdf".to_owned(), step: 0, inner: false });
        checked(one, CheckKind::Called, "loads pdf by its name in the request", passed)
    };
    let results =
        [called("none", false), called("wanted", true), result(&plan, "other", Arm::Listed, 0)];
    let report = report(&plan, &results);
    let [pdf] = report.skills.as_slice() else { panic!("{:?}", report.skills) };
    assert_eq!((pdf.positives, pdf.negatives), (0, 1), "only the request that calls no skill");
    assert_eq!(report.abstention.map(|rate| (rate.successes, rate.trials)), Some((1, 1)));
    assert_eq!(report.confusion.iter().map(|cell| cell.trials).sum::<u64>(), 1);
    assert_eq!(report.arms[0].job, None, "what is called is not the job");
    assert_eq!(report.arms[0].passed.map(|rate| (rate.successes, rate.trials)), Some((2, 3)));
}

#[test]
fn steps_are_followed_or_not_only_where_the_skill_was_loaded() {
    let plan = plan(&[Arm::Listed], 2, vec![case("a", &["pdf"]), case("b", &[])]);
    let one = |trial| result(&plan, "a", Arm::Listed, trial);
    let results = [
        checked(triggered(one(0), "pdf", true, true), CheckKind::Steps, "reads forms.md", true),
        checked(triggered(one(1), "pdf", true, false), CheckKind::Steps, "reads forms.md", false),
    ];
    let report = report(&plan, &results);
    let steps = report.skills[0].steps_followed.expect("loaded once");
    assert_eq!((steps.successes, steps.trials), (1, 1));
}

#[test]
fn a_case_passes_by_more_than_half_of_its_trials_and_is_unstable_by_any_that_fails() {
    let plan = plan(&[Arm::Listed], 2, vec![job("half"), job("all"), job("never")]);
    let results: Vec<_> = plan
        .units()
        .map(|unit| {
            let id = plan.cases[unit.case].id.as_str();
            let works = id == "all" || id == "half" && unit.trial == 0;
            let one = result(&plan, id, unit.arm, unit.trial);
            checked(one, CheckKind::Output, "contains `total`", works)
        })
        .collect();
    let report = report(&plan, &results);
    let outcomes: Vec<_> = report.cases.iter().map(|case| case.arms[0].outcome).collect();
    assert_eq!(outcomes, [CaseOutcome::Failed, CaseOutcome::Passed, CaseOutcome::Failed]);
    let text = metier_evals::report::plain_text(&report);
    assert!(text.contains("\nunstable\n  `half` (listed): passed in 1 of 2 trials\n"), "{text}");
    let page = metier_evals::report::markdown(&report);
    assert!(page.contains("- half (listed): passed in 1 of 2 trials"), "{page}");
    let html = metier_evals::report::HtmlPage::new(&plan).finish(&report);
    assert!(html.contains("<li>half (listed): passed in 1 of 2 trials</li>"), "{html}");
    // Three cases: costs stand without an interval, and each form says why.
    for form in [text, page, html] {
        assert!(form.contains("no interval over fewer than 6 cases"), "{form}");
    }
    let (plan, results) = by_hand();
    let text =
        metier_evals::report::plain_text(&report_with(&plan, &results, ReportOptions::default()));
    assert!(!text.contains("fewer than 6 cases"), "{text}");
}
