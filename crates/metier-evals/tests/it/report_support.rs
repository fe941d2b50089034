//! Plans and results made by hand, for the tests of reports.
//! Nothing here asserts anything.

use std::collections::BTreeMap;

use metier::agent::Status;
use metier::skill::Digest;
use metier_evals::report::{EvalReport, ReportBuilder, ReportOptions};
use metier_evals::{
    Arm, Case, CaseOrigin, CheckKind, CheckOutcome, CheckResult, EvalPlan, Expected, FiredSkill,
    ModelKind, PLAN_FORMAT, RESULT_FORMAT, SubjectInfo, TrialAction, TrialCost, TrialEnd,
    TrialErrorKind, TrialResult, TriggerScore,
};
use serde_json::json;

pub(crate) fn plan(arms: &[Arm], trials: u32, cases: Vec<Case>) -> EvalPlan {
    EvalPlan {
        format: PLAN_FORMAT,
        harness: "metier 0.1.0".to_owned(),
        subject: SubjectInfo {
            kind: "metier".to_owned(),
            provider: "openai".to_owned(),
            model: "gpt-x".to_owned(),
            model_kind: ModelKind::Real,
            settings: Digest::of(b"settings"),
        },
        judge: None,
        index_hash: Digest::of(b"index"),
        skills: BTreeMap::from([("pdf".to_owned(), Digest::of(b"pdf"))]),
        arms: arms.to_vec(),
        trials,
        cases,
    }
}

/// A case that should load exactly these skills.
pub(crate) fn case(id: &str, skills: &[&str]) -> Case {
    Case {
        id: id.to_owned(),
        input: format!("please do {id}"),
        skill: Some("pdf".to_owned()),
        expected: Expected {
            skills: Some(skills.iter().map(|skill| (*skill).to_owned()).collect()),
            ..Expected::default()
        },
        origin: CaseOrigin {
            file: ".agent/evals/pdf.yaml".to_owned(),
            line: 7,
            ..CaseOrigin::default()
        },
        ..Case::default()
    }
}

/// A case whose answer is checked, whatever is loaded.
pub(crate) fn job(id: &str) -> Case {
    Case { expected: Expected::default(), ..case(id, &[]) }
}

pub(crate) fn result(plan: &EvalPlan, case: &str, arm: Arm, trial: u32) -> TrialResult {
    let of = plan.units().find(|unit| {
        (plan.cases[unit.case].id.as_str(), unit.arm, unit.trial) == (case, arm, trial)
    });
    TrialResult {
        format: RESULT_FORMAT,
        fingerprint: of.map_or_else(|| Digest::of(b"none"), |unit| unit.fingerprint),
        case: case.to_owned(),
        arm,
        trial,
        end: TrialEnd::Finished { status: Status::Completed },
        fired: Vec::new(),
        actions: vec![TrialAction {
            step: 1,
            action: "final_answer".to_owned(),
            target: "the answer".to_owned(),
            skill: None,
            path: None,
            tool: None,
            args: json!(null),
            ok: true,
            code: None,
            inner: false,
        }],
        answer: Some(format!("done: {case}")),
        triggers: Vec::new(),
        checks: Vec::new(),
        cost: TrialCost {
            tokens_in: 100,
            tokens_out: 20,
            model_calls: 2,
            tool_calls: 1,
            elapsed_ms: 1500,
            ..TrialCost::default()
        },
        run: Some("run-1".to_owned()),
    }
}

/// The result with what is known of one skill's trigger.
pub(crate) fn triggered(
    mut result: TrialResult,
    skill: &str,
    expected: bool,
    fired: bool,
) -> TrialResult {
    if fired {
        result.fired.push(FiredSkill { skill: skill.to_owned(), step: 1, inner: false });
    }
    let instead = (expected && !fired).then(|| "call_tool read_file".to_owned());
    result.triggers.push(TriggerScore { skill: skill.to_owned(), expected, fired, instead });
    result
}

pub(crate) fn checked(
    mut result: TrialResult,
    kind: CheckKind,
    name: &str,
    passed: bool,
) -> TrialResult {
    result.checks.push(CheckResult {
        kind,
        name: name.to_owned(),
        outcome: if passed { CheckOutcome::Passed } else { CheckOutcome::Failed },
        detail: if passed { String::new() } else { format!("no {name}") },
        step: Some(1),
    });
    result
}

pub(crate) fn error(mut result: TrialResult, kind: TrialErrorKind) -> TrialResult {
    result.end = TrialEnd::Error { kind, message: "the provider answered 503".to_owned() };
    result.answer = None;
    result
}

pub(crate) fn report(plan: &EvalPlan, results: &[TrialResult]) -> EvalReport {
    report_with(plan, results, ReportOptions::default())
}

pub(crate) fn report_with(
    plan: &EvalPlan,
    results: &[TrialResult],
    options: ReportOptions,
) -> EvalReport {
    let mut builder = ReportBuilder::new(plan, options);
    for result in results {
        builder.add(result);
    }
    builder.finish()
}

/// Ten cases for `pdf`, of which eight load it, and ten that are not, of which one does.
pub(crate) fn by_hand() -> (EvalPlan, Vec<TrialResult>) {
    let positive = (0..10).map(|at| case(&format!("p{at}"), &["pdf"]));
    let negative = (0..10).map(|at| case(&format!("n{at}"), &[]));
    let plan = plan(&[Arm::Listed], 1, positive.chain(negative).collect());
    let mut results = Vec::new();
    for at in 0..10 {
        let one = result(&plan, &format!("p{at}"), Arm::Listed, 0);
        results.push(triggered(one, "pdf", true, at < 8));
        let one = result(&plan, &format!("n{at}"), Arm::Listed, 0);
        results.push(if at == 4 { triggered(one, "pdf", false, true) } else { one });
    }
    (plan, results)
}
