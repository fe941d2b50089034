//! Questions that many hear: a whole run whose answers come from listeners on other threads.
//! The first answer counts, and a run never waits for a listener that is gone.

use std::sync::Barrier;
use std::thread::scope;

use metier_agent::{
    Agent, AskApprover, AskDetails, RunId, SilentObserver, Status, recorder::MemoryRecorder,
};
use metier_cancel::CancelToken;
use metier_policy::{Answer, AskEvent, AskListener};
use metier_skill::Digest;
use serde_json::{Value, json};

use crate::fakes::{FakeExecutor, Ran, answer, run, script, scripted, select, setup};

fn replies() -> Value {
    json!([select(&["pdf"]), script("pdf", &["a"]), script("pdf", &["b"]), answer("done")])
}

fn asking_executor() -> FakeExecutor {
    FakeExecutor { ask: vec!["run "], ..FakeExecutor::default() }
}

fn run_asking(asking: &AskApprover) -> Ran {
    run(&scripted(replies()), asking_executor(), asking, |_| {})
}

/// Who gave each answer.
fn answered_by(ran: &Ran) -> Vec<(Value, String)> {
    let events =
        ran.records.iter().map(|record| serde_json::to_value(&record.event).expect("JSON"));
    events
        .filter(|event| event["type"] == "ask.answered")
        .map(|event| (event["answer"].clone(), event["by"].as_str().expect("who").to_owned()))
        .collect()
}

/// The next question, of those that come.
fn question(listener: &AskListener) -> Option<std::sync::Arc<metier_policy::PendingAsk>> {
    loop {
        if let AskEvent::Opened { ask } = listener.wait()? {
            return Some(ask);
        }
    }
}

#[test]
fn everybody_hears_the_question_and_the_first_answer_counts() {
    let asking = AskApprover::default();
    let [page, terminal] = ["page", "terminal"].map(|name| (name, asking.asks.subscribe()));
    // Both have heard the question before either answers.
    let both = Barrier::new(2);
    let (ran, wins) = scope(|scope| {
        let clients = [page, terminal].map(|(name, listener)| {
            let (asks, both) = (asking.asks.clone(), &both);
            scope.spawn(move || {
                let mut wins = 0;
                while let Some(ask) = question(&listener) {
                    let about: AskDetails =
                        serde_json::from_str(&ask.about).expect("the operation");
                    let what = about.operation.describe();
                    assert!(what.starts_with("run user:pdf/scripts/do.sh "), "{about:?}");
                    assert_eq!(about.request, Some(Digest::of(what.as_bytes())));
                    both.wait();
                    wins += usize::from(asks.answer(ask.id, &Answer::Once, name).is_ok());
                }
                wins
            })
        });
        let ran = run_asking(&asking);
        asking.asks.close();
        (ran, clients.map(|client| client.join().expect("no panic")))
    });
    assert_eq!(ran.answer(), "done");
    assert_eq!(wins.iter().sum::<usize>(), 2, "two questions, one answer each: {wins:?}");
    let by = answered_by(&ran);
    assert_eq!(by.len(), 2);
    assert!(by.iter().all(|(answer, _)| answer == "once"), "{by:?}");
    assert_eq!(ran.executor.log().len(), 3, "{:?}", ran.executor.log());
}

#[test]
fn a_no_with_words_and_a_yes_for_some_time_reach_the_run() {
    let asking = AskApprover::default();
    let listener = asking.asks.subscribe();
    let ran = scope(|scope| {
        let asks = asking.asks.clone();
        scope.spawn(move || {
            for answer in [Answer::Reject("not that".to_owned()), Answer::AlwaysFor(60)] {
                let ask = question(&listener).expect("a question");
                asks.answer(ask.id, &answer, "page").expect("the first");
            }
        });
        run_asking(&asking)
    });
    let by = |answer: Value| (answer, "page".to_owned());
    assert_eq!(
        answered_by(&ran),
        [by(json!({"reject": "not that"})), by(json!({"always_for": 60}))]
    );
    assert_eq!(ran.observations(), ["ok", "Rejected", "ok"]);
}

#[test]
fn a_listener_that_goes_leaves_the_question_to_the_others_and_the_last_ends_it() {
    let asking = AskApprover::default();
    let [one, other] = [asking.asks.subscribe(), asking.asks.subscribe()];
    let ran = scope(|scope| {
        let asks = asking.asks.clone();
        scope.spawn(move || {
            let first = question(&one).expect("a question");
            drop(one);
            assert!(asks.is_open(first.id), "another listener may answer");
            asks.answer(first.id, &Answer::Once, "other").expect("open");
            let _ = question(&other).expect("the same");
            let _ = question(&other).expect("the next");
            // The last one goes without a word.
        });
        run_asking(&asking)
    });
    let end = ran.state.finished().expect("it ended");
    assert_eq!(end.status, Status::NeedsApproval, "it waits, and does not hang");
    assert_eq!(answered_by(&ran).len(), 1, "{:?}", answered_by(&ran));
}

#[test]
fn a_run_that_is_stopped_takes_its_question_back() {
    let asking = AskApprover::default();
    let listener = asking.asks.subscribe();
    let cancel = CancelToken::new();
    let model = scripted(replies());
    let setup = setup(&model);
    let mut recorder = MemoryRecorder::new(RunId::new("run-1").expect("an id"));
    let first = recorder.first_event(&setup);
    let executor = asking_executor();
    let agent = Agent {
        model: &model,
        executor: &executor,
        approver: &asking,
        observer: &SilentObserver,
        cancel: &cancel,
    };
    let state = scope(|scope| {
        let (asking, cancel) = (&asking, &cancel);
        scope.spawn(move || {
            let ask = question(&listener).expect("a question");
            cancel.cancel();
            assert_eq!(listener.wait(), Some(AskEvent::Withdrawn { id: ask.id }));
            let late = asking.asks.answer(ask.id, &Answer::Once, "page");
            assert_eq!(late.map_err(|error| error.code()), Err("not-pending"));
        });
        agent.run_with(&mut recorder, &first, std::sync::Arc::new(setup)).expect("runs")
    });
    assert_eq!(state.finished().expect("it ended").status, Status::Cancelled);
}
