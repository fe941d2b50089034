//! Parts of a plan and putting them together: exactly what one run gives, in any order and grouping.
//! Property tests hold the laws.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use metier::Environment;
use metier_evals::{EvalPlan, EvalStore, FileStore, MergeReport, Shard};
use proptest::prelude::*;

use crate::fake;

/// Runs the units of a part, or some of them, in a folder of its own.
fn run_part(dir: &Path, plan: &EvalPlan, part: Shard, most: usize) -> PathBuf {
    let store = FileStore::at(dir).with_part(part);
    store.open_plan(plan).expect("opens");
    for lease in store.lease(&plan.id(), "w", most).expect("leases") {
        store.complete(&lease, &fake::result(plan, &lease.unit)).expect("keeps");
    }
    store.folder(&plan.id())
}

fn merge(sources: &[PathBuf], into: &Path) -> Result<MergeReport, metier_evals::EvalError> {
    metier_evals::merge(sources, &FileStore::at(into))
}

fn bytes(report: &MergeReport) -> Vec<u8> {
    std::fs::read(report.folder.join("results-0001.jsonl")).expect("reads")
}

#[test]
fn parts_divide_the_cases_and_keep_arms_and_trials_of_a_case_together() {
    let plan = fake::plan(200);
    let parts: Vec<Shard> = (1..=8).map(|number| Shard::new(number, 8).expect("a part")).collect();
    for case in &plan.cases {
        assert_eq!(parts.iter().filter(|part| part.holds(&case.id)).count(), 1);
    }
    let dir = tempfile::tempdir().expect("dir");
    let store = FileStore::at(dir.path()).with_part(parts[3]);
    store.open_plan(&plan).expect("opens");
    let leases = store.lease(&plan.id(), "w", 1000).expect("leases");
    let cases: BTreeSet<usize> = leases.iter().map(|lease| lease.unit.case).collect();
    assert_eq!(leases.len(), cases.len() * 4);
    assert_eq!(store.progress(&plan.id()).expect("progress").units, leases.len() as u64);
    // The same on every machine and in every version.
    let held: Vec<usize> = (0..20).filter(|at| parts[3].holds(&plan.cases[*at].id)).collect();
    assert_eq!(held, HELD_BY_THE_FOURTH_OF_EIGHT);
}

const HELD_BY_THE_FOURTH_OF_EIGHT: [usize; 3] = [3, 4, 10];

#[test]
fn a_part_is_named_by_number_or_by_the_pod_of_an_indexed_job() {
    let none = Environment::empty();
    let pod = |index: &str| Environment::empty().with("JOB_COMPLETION_INDEX", index);
    assert_eq!(Shard::parse("2/8", &none).expect("a part"), Shard::new(2, 8).expect("a part"));
    assert_eq!(Shard::parse("job/8", &pod("0")).expect("a part").to_string(), "1/8");
    assert_eq!(Shard::parse("job/8", &pod("7")).expect("a part").to_string(), "8/8");
    assert_eq!(Shard::parse("1/1", &none).expect("a part"), Shard::WHOLE);
    for wrong in ["", "1", "0/8", "9/8", "1/0", "-1/8", "a/8", "1/8/2", "job/8", "job/0"] {
        let error = Shard::parse(wrong, &none).expect_err(wrong);
        assert_eq!(error.code(), "usage", "{wrong}: {error}");
    }
    let error = Shard::parse("job/8", &pod("8")).expect_err("too large").to_string();
    assert_eq!(error, "JOB_COMPLETION_INDEX is 8, and `job/8` has parts 0 to 7 only");
}

#[test]
fn merged_parts_are_what_one_run_gives_and_what_is_missing_is_named() {
    let (dir, plan) = (tempfile::tempdir().expect("dir"), fake::plan(25));
    let folders: Vec<PathBuf> = (1..=3)
        .map(|number| {
            let part = Shard::new(number, 3).expect("a part");
            run_part(&dir.path().join(format!("part-{number}")), &plan, part, usize::MAX)
        })
        .collect();
    let whole = run_part(&dir.path().join("whole"), &plan, Shard::WHOLE, usize::MAX);
    let report = merge(&folders, &dir.path().join("merged")).expect("merges");
    assert!(report.is_complete() && report.missing_units.is_empty() && report.notes.is_empty());
    assert_eq!((report.units, report.results), (100, 100));
    assert_eq!(report.sources.iter().map(|it| it.results).sum::<u64>(), 100);
    assert_eq!(bytes(&report), std::fs::read(whole.join("results-0001.jsonl")).expect("reads"));
    let store = FileStore::at(&dir.path().join("merged"));
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
    // A folder that holds one plan's folder is as good as that folder.
    let above: Vec<PathBuf> = (2..=3).map(|it| dir.path().join(format!("part-{it}"))).collect();
    let report = merge(&above, &dir.path().join("two")).expect("merges");
    assert_eq!(report.missing, 100 - report.results);
    assert!(!report.is_complete());
    let first = &report.missing_units[0];
    assert!(Shard::new(1, 3).expect("a part").holds(&first.case), "{first:?}");
}

#[test]
fn other_plans_other_versions_and_units_that_ran_twice_are_refused() {
    let (dir, plan) = (tempfile::tempdir().expect("dir"), fake::plan(3));
    let one = run_part(&dir.path().join("one"), &plan, Shard::WHOLE, usize::MAX);
    let refused = |name: &str, other: &EvalPlan| {
        let folder = run_part(&dir.path().join(name), other, Shard::WHOLE, usize::MAX);
        merge(&[one.clone(), folder], &dir.path().join("into")).expect_err("two plans").to_string()
    };
    let newer = EvalPlan { harness: "newer".to_owned(), ..plan.clone() };
    let error = refused("newer", &newer);
    assert!(
        error.ends_with("two plans, made by the versions test and newer of the program"),
        "{error}"
    );
    let error = refused("more", &fake::plan(4));
    assert!(error.ends_with("two plans, about different cases, arms or trials"), "{error}");
    // The same results twice are one; different ones of the same unit are not.
    let copy = run_part(&dir.path().join("copy"), &plan, Shard::WHOLE, usize::MAX);
    let merged = merge(&[one.clone(), copy.clone()], &dir.path().join("both")).expect("merges");
    assert_eq!(merged.results, 12);
    let path = copy.join("results-0001.jsonl");
    let text = std::fs::read_to_string(&path).expect("reads");
    std::fs::write(&path, text.replace("\"elapsed_ms\":0", "\"elapsed_ms\":7")).expect("writes");
    let error = merge(&[one, copy], &dir.path().join("twice")).expect_err("twice").to_string();
    assert!(error.contains("has two different results, in "), "{error}");
    assert!(merge(&[], dir.path()).is_err());
    assert!(merge(&[dir.path().join("into")], dir.path()).is_err(), "no plan in it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever was run where, in any order and grouping: the same bytes.
    #[test]
    fn merging_is_independent_of_order_and_grouping(
        runs in prop::collection::vec((1u32..4, 0usize..40), 2..5),
        split in 1usize..4,
        errors_elsewhere in 0usize..4,
    ) {
        let (dir, plan) = (tempfile::tempdir().expect("dir"), fake::plan(10));
        let mut folders: Vec<PathBuf> = runs.iter().enumerate().map(|(at, (number, most))| {
            let part = Shard::new(*number, 3).expect("a part");
            run_part(&dir.path().join(format!("run-{at}")), &plan, part, *most)
        }).collect();
        // Somewhere every unit is an error, each run another one.
        for number in 0..errors_elsewhere {
            let store = FileStore::at(&dir.path().join(format!("errors-{number}")));
            store.open_plan(&plan).expect("opens");
            for lease in store.lease(&plan.id(), "w", 25).expect("leases") {
                let case = &plan.cases[lease.unit.case].id;
                let kind = metier_evals::TrialErrorKind::Network;
                let why = format!("unreachable {number}");
                let result = metier_evals::TrialResult::of_error(case, &lease.unit, kind, why);
                store.complete(&lease, &result).expect("keeps");
            }
            folders.push(store.folder(&plan.id()));
        }
        let merged = |name: &str, from: &[PathBuf]| {
            merge(from, &dir.path().join(name)).expect("merges")
        };
        let forward = merged("forward", &folders);
        let backward: Vec<PathBuf> = folders.iter().rev().cloned().collect();
        prop_assert_eq!(bytes(&forward), bytes(&merged("backward", &backward)));
        let split = split.min(folders.len() - 1);
        let left = merged("left", &folders[..split]).folder;
        let right = merged("right", &folders[split..]).folder;
        let both = merged("both", &[right, left]);
        prop_assert_eq!(bytes(&forward), bytes(&both));
        prop_assert_eq!((forward.results, forward.missing), (both.results, both.missing));
        // One after the other into one folder, and all of it again, which changes nothing.
        let stepwise = dir.path().join("stepwise");
        for folder in &backward {
            merge(std::slice::from_ref(folder), &stepwise).expect("merges");
        }
        let store = |name: &str| FileStore::at(&dir.path().join(name));
        let wanted = fake::lines(&store("forward"), &plan);
        prop_assert_eq!(&wanted, &fake::lines(&store("stepwise"), &plan));
        let before = bytes(&merge(&folders, &stepwise).expect("merges"));
        prop_assert_eq!(before, bytes(&merge(&folders, &stepwise).expect("merges")));
        prop_assert_eq!(&wanted, &fake::lines(&store("stepwise"), &plan));
    }
}
