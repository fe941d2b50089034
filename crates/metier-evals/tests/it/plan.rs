//! Plans: ids, units and fingerprints.
//! What a result is kept under must change with what it depends on, and with nothing else.

use std::collections::BTreeMap;

use metier::skill::Digest;
use metier_evals::{Arm, Case, EvalPlan, ModelKind, PLAN_FORMAT, SubjectInfo};

fn plan(inputs: &[&str]) -> EvalPlan {
    let case = |input: &&str| Case {
        id: (*input).to_owned(),
        input: (*input).to_owned(),
        ..Case::default()
    };
    EvalPlan {
        format: PLAN_FORMAT,
        harness: "test".to_owned(),
        subject: SubjectInfo {
            kind: "metier".to_owned(),
            provider: "router".to_owned(),
            model: "router".to_owned(),
            model_kind: ModelKind::Router,
            settings: Digest::of(b"settings"),
        },
        judge: None,
        index_hash: Digest::of(b"index"),
        skills: BTreeMap::from([("pdf".to_owned(), Digest::of(b"pdf"))]),
        arms: vec![Arm::None, Arm::Listed],
        trials: 2,
        cases: inputs.iter().map(case).collect(),
    }
}

#[test]
fn a_unit_keeps_its_fingerprint_when_other_cases_and_trials_are_added() {
    let before = plan(&["a", "b"]);
    let after = EvalPlan { trials: 3, ..plan(&["c", "b", "a"]) };
    assert_ne!(before.id(), after.id());
    assert_eq!(before.units().count() as u64, before.unit_count());
    for unit in before.units() {
        let same = |it: &metier_evals::EvalUnit| {
            (&after.cases[it.case].id, it.arm, it.trial)
                == (&before.cases[unit.case].id, unit.arm, unit.trial)
        };
        assert_eq!(after.units().find(same).unwrap().fingerprint, unit.fingerprint);
    }
}

#[test]
fn a_changed_skill_changes_every_fingerprint() {
    let before = plan(&["a", "b"]);
    let after = EvalPlan { index_hash: Digest::of(b"changed"), ..before.clone() };
    for (old, new) in before.units().zip(after.units()) {
        assert_ne!(old.fingerprint, new.fingerprint);
    }
}

#[test]
fn a_unit_keeps_its_fingerprint_when_the_chosen_cases_name_fewer_skills() {
    let all = plan(&["a", "b"]);
    let mut some = plan(&["a"]);
    some.skills.clear();
    for (old, new) in all.units().zip(some.units()) {
        assert_eq!(old.fingerprint, new.fingerprint);
    }
}

#[test]
fn other_replies_of_the_offline_model_change_the_fingerprints_of_their_case_alone() {
    let before = plan(&["a", "b"]);
    let mut after = before.clone();
    after.cases[0].replies = vec![serde_json::json!({"action": {"type": "final_answer"}})];
    for (old, new) in before.units().zip(after.units()) {
        assert_eq!(old.fingerprint == new.fingerprint, old.case == 1, "{old:?}");
    }
}

#[test]
fn no_two_units_of_a_plan_share_a_fingerprint() {
    let plan = plan(&["a", "b", "c"]);
    let distinct: std::collections::BTreeSet<_> =
        plan.units().map(|unit| unit.fingerprint.to_string()).collect();
    assert_eq!(distinct.len() as u64, plan.unit_count());
}
