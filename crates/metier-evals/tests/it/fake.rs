//! A subject that is not there: plans, and results that follow from the fingerprint of their unit alone.
//! What comes of a plan is known before it runs, so that stores can be held to it.

use std::collections::BTreeMap;

use metier::CancelToken;
use metier::skill::Digest;
use metier_evals::{
    Arm, Case, EvalPlan, EvalStore, EvalUnit, ModelKind, PLAN_FORMAT, SubjectInfo, TrialEnd,
    TrialErrorKind, TrialResult,
};

/// The version of the program in the plans here.
pub(crate) const HARNESS: &str = "test";

/// A plan with `cases` cases, two arms and two trials.
pub(crate) fn plan(cases: usize) -> EvalPlan {
    named_plan("case", cases)
}

pub(crate) fn named_plan(name: &str, cases: usize) -> EvalPlan {
    let case = |at: usize| Case {
        id: format!("{name}-{at}"),
        input: format!("do the thing number {at}"),
        ..Case::default()
    };
    EvalPlan {
        format: PLAN_FORMAT,
        harness: HARNESS.to_owned(),
        subject: SubjectInfo {
            kind: "metier".to_owned(),
            provider: "fake".to_owned(),
            model: "fake".to_owned(),
            model_kind: ModelKind::Mock,
            settings: Digest::of(b"settings"),
        },
        judge: None,
        index_hash: Digest::of(b"index"),
        skills: BTreeMap::from([("pdf".to_owned(), Digest::of(b"pdf"))]),
        arms: vec![Arm::None, Arm::Listed],
        trials: 2,
        cases: (0..cases).map(case).collect(),
    }
}

/// The result of a unit, the same for ever. One in eight is an error of the provider.
pub(crate) fn result(plan: &EvalPlan, unit: &EvalUnit) -> TrialResult {
    let case = &plan.cases[unit.case].id;
    let bytes = unit.fingerprint.as_bytes();
    let mut result = TrialResult::of_error(case, unit, TrialErrorKind::Provider, "overloaded");
    if !bytes[0].is_multiple_of(8) {
        result.end = TrialEnd::Finished { status: metier::agent::Status::Completed };
        result.answer = Some(format!("answer {} with \u{0} and \u{1f600}", bytes[1]));
        result.cost.tokens_in = u64::from(bytes[2]) * 10;
    }
    result
}

/// Carries out a unit at once.
pub(crate) fn run(plan: &EvalPlan, unit: &EvalUnit, _: &CancelToken) -> TrialResult {
    result(plan, unit)
}

/// All results that a store has of a plan, as lines in the order that it gives them.
pub(crate) fn lines(store: &dyn EvalStore, plan: &EvalPlan) -> Vec<String> {
    let mut lines = Vec::new();
    let each = &mut |result: TrialResult| {
        lines.push(serde_json::to_string(&result).expect("JSON"));
        Ok(())
    };
    store.results(plan, each).expect("reads");
    lines
}

/// What an undisturbed run of a plan gives.
pub(crate) fn expected(plan: &EvalPlan) -> Vec<String> {
    let line = |unit| serde_json::to_string(&result(plan, &unit)).expect("JSON");
    plan.units().map(line).collect()
}
