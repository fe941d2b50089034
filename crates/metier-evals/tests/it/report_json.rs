//! The JSON of reports and comparisons: every key is in `docs/eval-reports.md`, and what is there is written.
//! Saved reports are read again in `compare_runs`.

use std::collections::BTreeSet;

use metier_evals::statistics::Correction;
use metier_evals::{Arm, CheckKind, FiredSkill, TrialErrorKind, compare};
use serde_json::Value;

use crate::report_support::{case, checked, error, plan, report, result, triggered};

/// The keys of all objects, except those that are names: of skills, of kinds, of what was done.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    const NAMED: [&str; 5] = ["tested", "errors_by_kind", "instead", "checks", "errors"];
    match value {
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                let is_named = NAMED.contains(&key.as_str());
                match value {
                    Value::Object(named) if is_named => {
                        named.values().for_each(|value| keys(value, found));
                    }
                    value => keys(value, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_key_of_the_json_is_documented_and_every_documented_key_is_written() {
    let positives = (0..20).map(|at| case(&format!("c{at}"), &["pdf"]));
    let cases = positives.chain([case("none", &[])]).collect();
    let mut plan = plan(&[Arm::None, Arm::Listed], 2, cases);
    plan.judge = Some("openai:judge".to_owned());
    let results: Vec<_> = plan
        .units()
        .map(|unit| {
            let mut one = result(&plan, &plan.cases[unit.case].id, unit.arm, unit.trial);
            if unit.arm == Arm::Listed {
                one = triggered(one, "pdf", unit.case < 20, unit.case % 10 != 1);
                one = triggered(one, "xlsx", false, unit.case == 2);
            }
            if unit.case == 2 {
                one.fired.push(FiredSkill { skill: "called".to_owned(), step: 0, inner: false });
            }
            one = checked(
                one,
                CheckKind::Steps,
                "runs fill.py",
                unit.case > 2 || unit.arm == Arm::Listed,
            );
            let is_error = unit.case == 3 && unit.trial == 1;
            if is_error { error(one, TrialErrorKind::Provider) } else { one }
        })
        .collect();
    let now = report(&plan, &results);
    let mut baseline = now.clone();
    baseline.cases[0].arms[1].outcome = metier_evals::report::CaseOutcome::Failed;
    let comparison = compare(&baseline, &now, Correction::Holm);
    let mut written = BTreeSet::new();
    keys(&serde_json::to_value(&now).expect("JSON"), &mut written);
    keys(&serde_json::to_value(&comparison).expect("JSON"), &mut written);
    let page = include_str!("../../../../docs/eval-reports.md");
    let (_, section) = page.split_once("## JSON").expect("the section");
    let mut documented = BTreeSet::new();
    for quoted in section.split('`').skip(1).step_by(2) {
        let is_object = quoted.starts_with('{');
        let is_row = section.contains(&format!("\n| `{quoted}` |"));
        if is_object || is_row {
            let names = quoted.trim_matches(['{', '}']).split(", ");
            documented.extend(names.map(str::to_owned));
        }
    }
    let undocumented: Vec<_> = written.difference(&documented).collect();
    assert!(undocumented.is_empty(), "not in docs/eval-reports.md: {undocumented:?}");
    let unwritten: Vec<_> = documented.difference(&written).collect();
    assert!(unwritten.is_empty(), "documented and not written: {unwritten:?}");
}
