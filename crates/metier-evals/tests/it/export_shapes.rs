//! The public shapes: gradings in both spellings, a benchmark in either, and errors in neither.
//! What is written is read back as JSON.

use metier_evals::{
    Arm, CheckKind, EvalPlan, ExportOptions, ExportedFile, PublicShape, RunExport, TrialErrorKind,
    TrialResult,
};
use serde_json::{Value, json};

use crate::report_support::{checked, error, job, plan, result};

fn run(trials: u32) -> (EvalPlan, Vec<TrialResult>) {
    let cases = vec![job("fill: a form"), job("merge")];
    let plan = plan(&[Arm::None, Arm::Listed], trials, cases);
    let results = plan
        .units()
        .map(|unit| {
            let id = &plan.cases[unit.case].id;
            let one = result(&plan, id, unit.arm, unit.trial);
            let one = checked(one, CheckKind::Output, "contains `total`", unit.arm == Arm::Listed);
            checked(one, CheckKind::File, "report.pdf", true)
        })
        .collect();
    (plan, results)
}

fn export(
    plan: &EvalPlan,
    results: &[TrialResult],
    shape: PublicShape,
) -> (Vec<ExportedFile>, Value) {
    let timestamp = Some("2026-11-18T12:00:00Z".to_owned());
    let options = ExportOptions { shape, timestamp, ..ExportOptions::default() };
    let mut export = RunExport::new(plan, options);
    let mut files: Vec<ExportedFile> = results.iter().flat_map(|one| export.add(one)).collect();
    files.extend(export.finish());
    let benchmark = files.pop().expect("the benchmark");
    assert_eq!(benchmark.path, "benchmark.json");
    (files, serde_json::from_str(&benchmark.text).expect("JSON"))
}

#[test]
fn a_grading_has_both_spellings_of_its_list() {
    let (plan, results) = run(1);
    let (files, _) = export(&plan, &results, PublicShape::AgentSkills);
    let path = "eval-1-fill-a-form/with_skill/grading.json";
    let grading = files.iter().find(|file| file.path == path).expect("a grading");
    let grading: Value = serde_json::from_str(&grading.text).expect("JSON");
    assert_eq!(grading["assertion_results"], grading["expectations"]);
    assert_eq!(
        grading["assertion_results"][0],
        json!({"text": "output: contains `total`", "passed": true, "evidence": "step 1"})
    );
    assert_eq!(grading["summary"], json!({"passed": 2, "failed": 0, "total": 2, "pass_rate": 1.0}));
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert!(names.contains(&"eval-2-merge/without_skill/timing.json"), "{names:?}");
    assert!(names.contains(&"eval-2-merge/without_skill/outputs/answer.txt"), "{names:?}");
    let described = files.iter().find(|file| file.path == "eval-2-merge/eval_metadata.json");
    let described: Value = serde_json::from_str(&described.expect("one").text).expect("JSON");
    assert_eq!(
        (&described["eval_id"], &described["prompt"]),
        (&json!(2), &json!("please do merge"))
    );
}

#[test]
fn differences_are_numbers_or_signed_texts_as_the_shape_wants() {
    let (plan, results) = run(2);
    let (_, numbers) = export(&plan, &results, PublicShape::AgentSkills);
    assert_eq!(numbers["run_summary"]["delta"]["pass_rate"], json!(0.5));
    let (files, texts) = export(&plan, &results, PublicShape::SkillCreator);
    let delta = json!({"pass_rate": "+0.50", "time_seconds": "+0.0", "tokens": "+0"});
    assert_eq!(texts["run_summary"]["delta"], delta);
    assert_eq!(
        texts["run_summary"]["without_skill"]["pass_rate"],
        json!({"mean": 0.5, "stddev": 0.0, "min": 0.5, "max": 0.5})
    );
    assert_eq!(texts["metadata"]["runs_per_configuration"], 2);
    assert_eq!(texts["runs"].as_array().map(Vec::len), Some(8));
    assert_eq!(texts["runs"][0]["configuration"], "with_skill");
    assert!(files.iter().any(|file| file.path == "eval-2-merge/with_skill/run-2/grading.json"));
}

#[test]
fn an_error_is_in_the_notes_and_in_no_rate() {
    let (plan, mut results) = run(1);
    let last = results.len() - 1;
    results[last] = error(results[last].clone(), TrialErrorKind::Provider);
    let (files, benchmark) = export(&plan, &results, PublicShape::SkillCreator);
    assert!(!files.iter().any(|file| file.path.starts_with("eval-2-merge/with_skill")));
    assert_eq!(benchmark["notes"], json!(["with_skill: 1 trial is an error and not counted"]));
    assert_eq!(benchmark["run_summary"]["with_skill"]["pass_rate"]["mean"], json!(1.0));
}

#[test]
fn a_run_that_is_not_complete_says_so_and_names_only_the_cases_that_were_run() {
    let (plan, results) = run(2);
    let (_, whole) = export(&plan, &results, PublicShape::AgentSkills);
    assert_eq!((&whole["notes"], &whole["metadata"]["evals_run"]), (&json!([]), &json!([1, 2])));
    let first: Vec<TrialResult> =
        results.into_iter().filter(|one| one.arm == Arm::Listed).take(1).collect();
    let (_, some) = export(&plan, &first, PublicShape::AgentSkills);
    assert_eq!(some["metadata"]["evals_run"], json!([1]));
    let notes = json!([
        "with_skill: 3 of 4 trials have no result: the run is not complete",
        "without_skill: 4 of 4 trials have no result: the run is not complete",
    ]);
    assert_eq!(some["notes"], notes);
}
