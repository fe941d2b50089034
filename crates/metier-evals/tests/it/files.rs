//! The store in append-only files: exactly once, crashes, several processes, reuse.
//! What `PostgreSQL` does is in `postgres`.

use std::fs;
use std::path::Path;

use metier_evals::{
    EvalPlan, EvalStore, EvalUnit, FileStore, MAX_ATTEMPTS, Stored, TrialErrorKind, TrialResult,
};

use crate::fake;

/// Takes and completes units until there are none; how many it was.
fn finish(store: &FileStore, plan: &EvalPlan) -> usize {
    let (id, mut count) = (plan.id(), 0);
    loop {
        let leases = store.lease(&id, "w", 7).expect("leases");
        if leases.is_empty() {
            return count;
        }
        for lease in leases {
            let stored = store.complete(&lease, &fake::result(plan, &lease.unit)).expect("keeps");
            assert_eq!(stored, Stored::New);
            count += 1;
        }
    }
}

fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("lists")
        .map(|it| it.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    names
}

#[test]
fn each_unit_is_taken_once_and_results_come_in_the_order_of_the_plan() {
    let dir = tempfile::tempdir().expect("dir");
    let (store, plan) = (FileStore::in_workspace(dir.path()), fake::plan(9));
    store.open_plan(&plan).expect("opens");
    store.open_plan(&plan).expect("the same plan twice is one");
    assert_eq!(store.open_plans().expect("lists"), [plan.id()]);
    assert_eq!(finish(&store, &plan), 36);
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
    let progress = store.progress(&plan.id()).expect("progress");
    assert_eq!((progress.units, progress.done, progress.leased, progress.lost), (36, 36, 0, 0));
    assert!(store.open_plans().expect("lists").is_empty());
    assert_eq!(store.plan(&plan.id()).expect("reads"), plan);
    let folder = store.folder(&plan.id());
    assert_eq!(files(&folder), ["attempts-0001.jsonl", "lock", "plan.json", "results-0001.jsonl"]);
    drop(store);
    let again = FileStore::in_workspace(dir.path());
    assert_eq!(fake::lines(&again, &plan), fake::expected(&plan), "without opening the plan");
    let saved = again.saved_plans().expect("lists");
    assert_eq!((saved.len(), saved[0].id, &saved[0].folder), (1, plan.id(), &folder));
    assert!(saved[0].modified.is_some());
    again.open_plan(&plan).expect("opens");
    assert!(again.lease(&plan.id(), "w", 7).expect("leases").is_empty(), "nothing is repeated");
}

#[test]
fn a_manifest_is_its_id_and_one_that_was_changed_is_refused() {
    let dir = tempfile::tempdir().expect("dir");
    let (store, mut plan) = (FileStore::at(dir.path()), fake::plan(2));
    // A number whose nearest neighbour a sloppy parser would read.
    plan.cases[0].expected.output.json_schema = Some(
        serde_json::json!({"maximum": 1.7976931348623155e308, "minimum": 122_457.239_999_999_96}),
    );
    store.open_plan(&plan).expect("opens");
    let path = store.folder(&plan.id()).join("plan.json");
    let bytes = fs::read(&path).expect("reads");
    assert_eq!(metier::skill::Digest::of(&bytes), plan.id(), "`sha256sum plan.json` gives the id");
    assert_eq!(store.plan(&plan.id()).expect("reads").id(), plan.id());
    let changed = String::from_utf8(bytes).expect("text").replace("number 1", "number 2");
    fs::write(&path, changed).expect("writes");
    let error = FileStore::at(dir.path()).open_plan(&plan).expect_err("changed");
    assert!(error.to_string().ends_with("holds another plan than its name says"), "{error}");
    let text = fs::read_to_string(&path).expect("reads");
    fs::write(&path, text.replacen('{', "{ ", 1)).expect("writes");
    let error = FileStore::at(dir.path()).plan(&plan.id()).expect_err("changed");
    assert!(error.to_string().ends_with("the plan was changed after it was written"), "{error}");
}

#[test]
fn a_line_that_a_crash_cut_off_is_left_out_and_said_and_its_unit_runs_again() {
    let dir = tempfile::tempdir().expect("dir");
    let plan = fake::plan(3);
    let store = FileStore::at(dir.path());
    store.open_plan(&plan).expect("opens");
    finish(&store, &plan);
    let results = store.folder(&plan.id()).join("results-0001.jsonl");
    drop(store);
    let mut bytes = fs::read(&results).expect("reads");
    bytes.truncate(bytes.len() - 20);
    fs::write(&results, &bytes).expect("writes");
    let store = FileStore::at(dir.path());
    store.open_plan(&plan).expect("opens");
    assert_eq!(store.progress(&plan.id()).expect("progress").done, 11);
    assert_eq!(finish(&store, &plan), 1);
    let notes = store.notes();
    assert!(
        matches!(&notes[..], [one] if one.starts_with("results-0001.jsonl: the last line was cut off")),
        "{notes:?}"
    );
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
    drop(store);
    // A disk can also put zeros in the middle.
    let mut bytes = fs::read(&results).expect("reads");
    let second = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    bytes[second..second + 9].fill(0);
    fs::write(&results, &bytes).expect("writes");
    let store = FileStore::at(dir.path());
    store.open_plan(&plan).expect("opens");
    assert_eq!(finish(&store, &plan), 1);
    let notes = store.notes();
    let wanted =
        format!("results-0001.jsonl: the line at byte {second} is not a line of this plan");
    assert!(matches!(&notes[..], [one] if one.starts_with(&wanted)), "{notes:?}");
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
}

#[test]
fn what_a_process_held_that_is_gone_is_taken_again_and_given_up_after_its_attempts() {
    let dir = tempfile::tempdir().expect("dir");
    let plan = fake::plan(1);
    let id = plan.id();
    for attempt in 1..=MAX_ATTEMPTS {
        // A process that is killed: its store is dropped with units in hand.
        let store = FileStore::at(dir.path());
        store.open_plan(&plan).expect("opens");
        let leases = store.lease(&id, "w", 10).expect("leases");
        assert_eq!(leases.len(), 4);
        assert!(leases.iter().all(|lease| lease.attempt == attempt));
        let other = FileStore::at(dir.path());
        assert!(other.lease(&id, "x", 10).expect("leases").is_empty(), "they are in other hands");
        assert_eq!(other.progress(&id).expect("progress").leased, 4);
        assert_eq!(store.heartbeat(&leases).expect("beats"), []);
    }
    let store = FileStore::at(dir.path());
    store.open_plan(&plan).expect("opens");
    assert!(store.lease(&id, "w", 10).expect("leases").is_empty());
    let progress = store.progress(&id).expect("progress");
    assert_eq!((progress.done, progress.lost, progress.leased), (4, 4, 0));
    let mut lost = Vec::new();
    store
        .results(&plan, &mut |result: TrialResult| {
            lost.push(result.error_kind());
            Ok(())
        })
        .expect("reads");
    assert_eq!(lost, [Some(TrialErrorKind::Lost); 4]);
    assert_eq!(store.retry_errors(&id).expect("retries"), 4);
    assert_eq!(store.progress(&id).expect("progress").done, 0);
    for lease in store.lease(&id, "w", 10).expect("leases") {
        // An error that says what happened is better than one that says that nothing is known.
        let stored = store.complete(&lease, &fake::result(&plan, &lease.unit)).expect("keeps");
        assert_eq!(stored, Stored::New);
    }
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
    assert_eq!(store.progress(&id).expect("progress").done, 4);
}

#[test]
fn a_unit_that_is_given_back_has_not_spent_an_attempt() {
    let dir = tempfile::tempdir().expect("dir");
    let (store, plan) = (FileStore::at(dir.path()), fake::plan(1));
    store.open_plan(&plan).expect("opens");
    for _ in 0..2 * MAX_ATTEMPTS {
        let leases = store.lease(&plan.id(), "w", 4).expect("leases");
        assert_eq!(leases.iter().map(|it| it.attempt).collect::<Vec<_>>(), [1; 4]);
        for lease in &leases {
            store.release(lease).expect("gives back");
        }
        assert_eq!(store.heartbeat(&leases).expect("beats").len(), 4, "they are its own no more");
    }
    drop(store);
    let store = FileStore::at(dir.path());
    store.open_plan(&plan).expect("opens");
    assert_eq!(store.lease(&plan.id(), "w", 1).expect("leases")[0].attempt, 1);
}

#[test]
fn stores_that_share_a_folder_divide_the_units_between_them() {
    let dir = tempfile::tempdir().expect("dir");
    let plan = fake::plan(50);
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let store = FileStore::at(dir.path());
                    store.open_plan(&plan).expect("opens");
                    finish(&store, &plan)
                })
            })
            .collect();
        threads.into_iter().map(|it| it.join().expect("ends")).collect()
    });
    assert_eq!(counts.iter().sum::<usize>(), 200, "{counts:?}");
    let store = FileStore::at(dir.path());
    assert_eq!(fake::lines(&store, &plan), fake::expected(&plan));
}

#[test]
fn results_of_an_earlier_plan_are_reused_but_its_errors_are_not() {
    let dir = tempfile::tempdir().expect("dir");
    let (before, after) = (fake::plan(6), fake::plan(8));
    let store = FileStore::at(dir.path());
    store.open_plan(&before).expect("opens");
    finish(&store, &before);
    let errors = fake::expected(&before).iter().filter(|it| it.contains("overloaded")).count();
    store.open_plan(&after).expect("opens");
    assert_eq!(store.progress(&after.id()).expect("progress").done, 24 - errors as u64);
    assert_eq!(finish(&store, &after), 8 + errors);
    assert_eq!(fake::lines(&store, &after), fake::expected(&after));
    // What is in the skills is in the digest of all; which of them the chosen cases name changes nothing.
    let mut fewer = fake::plan(3);
    fewer.skills.clear();
    store.open_plan(&fewer).expect("opens");
    let progress = store.progress(&fewer.id()).expect("progress");
    let errors = fake::expected(&fewer).iter().filter(|it| it.contains("overloaded")).count();
    assert_eq!(progress.done, 12 - errors as u64);
    let index_hash = metier::skill::Digest::of(b"changed");
    let other_skill = EvalPlan { index_hash, ..fake::plan(6) };
    store.open_plan(&other_skill).expect("opens");
    assert_eq!(store.progress(&other_skill.id()).expect("progress").done, 0);
}

/// A result that is an error.
fn error(plan: &EvalPlan, unit: &EvalUnit, message: &str) -> TrialResult {
    let case = &plan.cases[unit.case].id;
    TrialResult::of_error(case, unit, TrialErrorKind::Network, message)
}

#[test]
fn of_two_errors_one_stays_whatever_the_order_and_every_process_sees_the_end() {
    let plan = fake::plan(1);
    let mut kept = Vec::new();
    for order in [["a", "b"], ["b", "a"]] {
        let dir = tempfile::tempdir().expect("dir");
        let (one, two) = (FileStore::at(dir.path()), FileStore::at(dir.path()));
        for (store, message) in [(&one, order[0]), (&two, order[1])] {
            store.open_plan(&plan).expect("opens");
            store.retry_errors(&plan.id()).expect("retries");
            for lease in store.lease(&plan.id(), "w", 9).expect("leases") {
                store.complete(&lease, &error(&plan, &lease.unit, message)).expect("keeps");
            }
        }
        for store in [&one, &two] {
            let progress = store.progress(&plan.id()).expect("progress");
            assert_eq!((progress.done, progress.leased), (4, 0), "{order:?}");
        }
        drop((one, two));
        let store = FileStore::at(dir.path());
        assert_eq!(store.progress(&plan.id()).expect("progress").done, 4);
        kept.push(fake::lines(&store, &plan));
    }
    assert_eq!(kept[0], kept[1]);
}

#[test]
fn a_unit_that_is_tried_again_is_in_one_pair_of_hands() {
    let dir = tempfile::tempdir().expect("dir");
    let plan = fake::plan(1);
    let store = FileStore::at(dir.path());
    store.open_plan(&plan).expect("opens");
    let take = |store: &FileStore| store.lease(&plan.id(), "w", 9).expect("leases");
    for lease in take(&store) {
        store.complete(&lease, &error(&plan, &lease.unit, "first")).expect("keeps");
    }
    store.retry_errors(&plan.id()).expect("retries");
    let held = take(&store);
    assert_eq!(held.len(), 4);
    let other = FileStore::at(dir.path());
    other.open_plan(&plan).expect("opens");
    assert_eq!(other.retry_errors(&plan.id()).expect("retries"), 4);
    assert_eq!(take(&other), [], "the first process has them");
    for lease in &held {
        store.complete(lease, &error(&plan, &lease.unit, "second")).expect("keeps");
    }
    assert_eq!(other.progress(&plan.id()).expect("progress").done, 4);
}

#[test]
fn the_last_run_is_known_without_the_times_of_files() {
    let dir = tempfile::tempdir().expect("dir");
    let store = FileStore::at(dir.path());
    let plans = [fake::plan(1), fake::named_plan("b", 1), fake::named_plan("c", 1)];
    for plan in &plans {
        store.open_plan(plan).expect("opens");
        finish(&store, plan);
    }
    let ids = || -> Vec<_> {
        store.saved_plans().expect("lists").into_iter().map(|plan| plan.id).collect()
    };
    let [a, b, c] = plans.each_ref().map(EvalPlan::id);
    assert_eq!(ids(), [c, b, a]);
    store.open_plan(&plans[1]).expect("opens");
    assert!(store.lease(&b, "w", 9).expect("leases").is_empty(), "nothing is left to do");
    assert_eq!(ids(), [b, c, a]);
}

#[test]
fn a_plan_that_is_larger_than_one_may_be_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().expect("dir");
    let store = FileStore::at(dir.path());
    let twice = EvalPlan { cases: vec![fake::plan(1).cases[0].clone(); 2], ..fake::plan(1) };
    let plans = [
        (EvalPlan { trials: u32::MAX, ..fake::plan(1) }, "4294967295 trials"),
        (EvalPlan { trials: 0, ..fake::plan(1) }, "0 trials"),
        (EvalPlan { trials: 1000, ..fake::plan(2501) }, "5002000 units"),
        (EvalPlan { arms: Vec::new(), ..fake::plan(1) }, "arms"),
        (EvalPlan { format: 2, ..fake::plan(1) }, "format 2"),
        (twice, "two cases with the id `case-0`"),
    ];
    for (plan, why) in plans {
        let error = store.open_plan(&plan).expect_err(why);
        assert!(error.to_string().contains(why) && error.code() == "eval-plan", "{error}");
    }
    assert!(files(dir.path()).is_empty());
}

#[test]
fn the_folder_of_results_may_not_be_a_link() {
    let dir = tempfile::tempdir().expect("dir");
    let outside = dir.path().join("outside");
    fs::create_dir_all(&outside).expect("dir");
    fs::create_dir_all(dir.path().join("w/.agent")).expect("dir");
    std::os::unix::fs::symlink(&outside, dir.path().join("w/.agent/evals")).expect("link");
    let store = FileStore::in_workspace(&dir.path().join("w"));
    let error = store.open_plan(&fake::plan(1)).expect_err("a link").to_string();
    assert!(error.ends_with("is a link"), "{error}");
    assert!(files(&outside).is_empty());
}
