//! One unit by itself: what goes in is enough, and what comes out is the same each time.
//! The command over it is tested in `metier-cli`.

use metier::CancelToken;
use metier_evals::{EvalPlan, EvalUnit, MAX_REQUEST_BYTES, TrialErrorKind, UnitRequest};

use crate::fake;

#[test]
fn a_request_stands_alone_and_its_result_is_that_of_the_plan() {
    let plan = fake::plan(4);
    let results: Vec<String> = UnitRequest::all(&plan)
        .map(|request| {
            let json = serde_json::to_vec(&request).expect("JSON");
            let request = UnitRequest::parse(&json).expect("reads");
            assert_eq!((request.plan.cases.len(), request.plan_id), (1, plan.id()));
            let once = request.run(&fake::run, &CancelToken::new());
            assert_eq!(once, request.run(&fake::run, &CancelToken::new()));
            serde_json::to_string(&once).expect("JSON")
        })
        .collect();
    assert_eq!(results, fake::expected(&plan));
}

#[test]
fn a_request_whose_unit_does_not_follow_from_its_plan_is_refused() {
    let plan = fake::plan(2);
    let request = UnitRequest::all(&plan).nth(3).expect("a unit");
    let other = EvalUnit { trial: 0, ..request.unit };
    let error = |request: &UnitRequest| {
        let json = serde_json::to_vec(request).expect("JSON");
        UnitRequest::parse(&json).expect_err("refused").to_string()
    };
    let wrong = UnitRequest { unit: other, ..request.clone() };
    assert_eq!(error(&wrong), "the unit of the request is not one of its plan");
    let wrong = UnitRequest { format: 9, ..request.clone() };
    assert_eq!(error(&wrong), "the request has the format 9; this program reads 1");
    assert!(UnitRequest::parse(b"{}").is_err());
    let plan_of = |trials| EvalPlan { trials, ..request.plan.clone() };
    let wrong = UnitRequest { plan: plan_of(u32::MAX), ..request.clone() };
    assert!(error(&wrong).contains("has 4294967295 trials a case"), "{}", error(&wrong));
    let wrong = UnitRequest { plan: fake::plan(3), ..request.clone() };
    assert_eq!(error(&wrong), "the plan of a request has one case");
    let large = vec![b' '; MAX_REQUEST_BYTES + 1];
    let refused = UnitRequest::parse(&large).expect_err("too large").to_string();
    assert_eq!(refused, "the request is larger than 64 MB");
    let panics = request.run(&|_, _, _| panic!("no model"), &CancelToken::new());
    assert_eq!(panics.error_kind(), Some(TrialErrorKind::Harness));
}
