//! What keeps a small model from going in circles and from saying what is not so: equal failures, answers
//! that are handed back, a schema of what can be done now, and what is said of a skill's files.

use std::sync::Mutex;

use metier_agent::{AutoApprove, Setup, Status};
use metier_cancel::CancelToken;
use metier_model::model::Sink;
use metier_model::{Model, ModelError, ModelInfo, PlanMode, Reply, Scripted, Turn};
use serde_json::{Value, json};

use crate::fakes::{FakeExecutor, Ran, answer, call, run, run_yes, script, scripted, select};

/// A scripted model that keeps every turn.
struct Turns {
    inner: Scripted,
    seen: Mutex<Vec<Turn>>,
}

impl Model for Turns {
    fn info(&self) -> ModelInfo {
        self.inner.info()
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        self.seen.lock().expect("whole").push(turn.clone());
        self.inner.reply(turn, sink, cancel)
    }
}

fn turns(replies: Value, change: impl FnOnce(&mut Setup)) -> (Vec<Turn>, Ran) {
    let model = Turns { inner: scripted(replies), seen: Mutex::default() };
    let ran = run(&model, FakeExecutor::default(), &AutoApprove, change);
    (model.seen.into_inner().expect("whole"), ran)
}

fn observed(turn: &Turn) -> String {
    turn.trail.last().map(|entry| entry.observation.to_string()).unwrap_or_default()
}

fn status(ran: &Ran) -> Status {
    ran.state.finished().expect("ended").status
}

#[test]
fn the_same_call_that_fails_again_is_a_loop_whatever_it_prints() {
    let again = script("pdf", &["--fail-anew"]);
    let (seen, ran) =
        turns(json!([select(&["pdf"]), again, again, again, answer("it does not work")]), |_| {});
    assert_eq!(status(&ran), Status::Stuck);
    assert_eq!(ran.executor.log().len(), 4, "{:?}", ran.executor.log());
    assert!(observed(&seen[3]).contains("try 3 failed"), "the new message is shown");
    assert!(
        seen[3].tail.ends_with(
            "[It failed twice. What is left: a tool, another skill, or `final_answer`.]"
        ),
        "{}",
        seen[3].tail
    );
    assert!(!seen[3].schema.to_string().contains("run_script"));
    let other = json!([
        select(&["pdf"]),
        script("pdf", &["--fail-anew"]),
        script("pdf", &["--wait"]),
        script("pdf", &["--fail-anew"]),
        answer("x")
    ]);
    assert_eq!(status(&run_yes(other)), Status::Completed, "another call in between is no circle");
}

#[test]
fn an_answer_that_copies_our_advice_is_handed_back_once() {
    let copy = "Read its message, and run it with the arguments that it wants.";
    let replies = json!([select(&["pdf"]), script("pdf", &["--fail"]), answer(copy), answer(copy)]);
    let (seen, ran) = turns(replies, |_| {});
    assert!(observed(&seen[3]).contains("InvalidReply"), "{}", observed(&seen[3]));
    assert!(observed(&seen[3]).contains("a copy of these instructions"));
    assert_eq!(ran.answer(), copy, "what it says then counts");
    assert_eq!(seen.len(), 4);
}

#[test]
fn what_a_file_says_or_that_something_is_not_allowed_may_be_copied() {
    let read = call("read_file", json!({"path": "a.md"}));
    let ran = run_yes(json!([read, answer("did read_file a.md, and that is all of it")]));
    assert_eq!(ran.observations(), ["ok"]);
    let write = call("write_file", json!({"path": "deny.txt"}));
    let executor = FakeExecutor { deny: vec!["write_file"], ..FakeExecutor::default() };
    let shown = "Not allowed here: write_file deny.txt. This stays so.";
    let ran = run(&scripted(json!([write, answer(shown)])), executor, &AutoApprove, |_| {});
    assert_eq!((ran.answer(), status(&ran)), (shown, Status::Denied));
}

#[test]
fn a_change_that_was_not_made_is_not_called_done_without_a_word() {
    let wish = |setup: &mut Setup| setup.request = "Delete the file notes/old.txt.".to_owned();
    let claim = answer("The file has been deleted.");
    let (seen, ran) = turns(json!([claim, answer("I cannot delete files here.")]), wish);
    assert_eq!(
        observed(&seen[1]),
        "[Observation: final_answer | InvalidReply]\nNothing was written, deleted, moved or sent in this run: \
         it was not done.\n"
    );
    assert_eq!(ran.answer(), "I cannot delete files here.");
    let end = ran.state.finished().expect("ended");
    assert_eq!(end.message.as_deref(), Some("nothing was changed in this run"));
    let (seen, ran) = turns(json!([claim, claim]), wish);
    assert_eq!((seen.len(), ran.answer()), (2, "The file has been deleted."));
    assert_eq!(
        ran.state.finished().and_then(|end| end.message.as_deref()),
        Some("nothing was changed in this run"),
        "the person sees it"
    );
    let done = json!([call("write_file", json!({"path": "notes/old.txt"})), claim]);
    let (_, ran) = turns(done, wish);
    assert_eq!(ran.state.finished().and_then(|end| end.message.as_deref()), None);
    assert_eq!(ran.observations(), ["ok"]);
}

#[test]
fn a_local_model_is_held_to_the_files_that_loaded_skills_have() {
    let replies = json!([select(&["notes"]), select(&["lead-plan"]), answer("x")]);
    let (seen, _) = turns(replies.clone(), |setup| setup.plan = PlanMode::Off);
    let schema = |at: usize| seen[at].enforced_schema().to_string();
    for at in [0, 1] {
        let schema = schema(at);
        assert!(!schema.contains("run_script") && !schema.contains("load_resource"), "{schema}");
        assert!(schema.contains("select_skills") && schema.contains("read_file"));
    }
    let script = r#""relative_path":{"enum":["scripts/do.sh"],"type":"string"}"#;
    let file =
        r#""relative_path":{"enum":["references/zones.md","scripts/do.sh"],"type":"string"}"#;
    assert!(schema(2).contains(script) && schema(2).contains(file), "{}", schema(2));
    assert_eq!(seen[0].schema, seen[1].schema, "what stands in a prompt stays");
    let (seen, _) = turns(replies, |_| {});
    assert!(seen.iter().all(|turn| turn.held_schema.is_none()), "elsewhere it is cached");
}

#[test]
fn after_a_load_the_files_are_named_in_the_order_of_the_text() {
    let (seen, _) = turns(json!([select(&["lead-plan"]), select(&["notes"]), answer("x")]), |_| {});
    assert!(
        observed(&seen[1]).ends_with(
            "Do what its text says. First read `references/zones.md` with `load_resource`, then run its \
             script with `run_script`: `scripts/do.sh`. Do not select it again.]\n"
        ),
        "{}",
        observed(&seen[1])
    );
    assert!(
        observed(&seen[2]).ends_with(
            "[Next: the skill `notes` has no files: its text above is all. Answer from it.]\n"
        ),
        "{}",
        observed(&seen[2])
    );
}

#[test]
fn the_blanks_of_a_skill_are_no_arguments() {
    let replies = json!([select(&["lead-plan"]), script("lead-plan", &["ZONE"]), answer("x")]);
    let (seen, ran) = turns(replies.clone(), |_| {});
    assert!(
        observed(&seen[2]).contains("`ZONE` stands for words of the request: write those instead."),
        "{}",
        observed(&seen[2])
    );
    assert_eq!(ran.executor.log(), ["load user:lead-plan"], "nothing was run");
    let (_, ran) = turns(replies, |setup| setup.request = "what of zone Zone?".to_owned());
    assert_eq!(ran.executor.log().len(), 2, "a word of the request is one");
}

#[test]
fn a_skill_that_is_not_there_leads_to_an_answer_not_to_another_guess() {
    let listed = |setup: &mut Setup| {
        let mut written = serde_json::to_value(&setup.skills).expect("cards");
        written
            .as_array_mut()
            .expect("a list")
            .iter_mut()
            .for_each(|card| card["listed"] = json!(true));
        setup.skills = serde_json::from_value(written).expect("cards");
    };
    let (seen, _) = turns(json!([select(&["jukebox"]), answer("x")]), listed);
    assert!(
        seen[1].tail.ends_with(
            "[No skill fits: answer from what you know, or say that it is not possible here.]"
        ),
        "{}",
        seen[1].tail
    );
    assert!(!seen[1].schema.to_string().contains("select_skills"));
    let (seen, _) = turns(json!([select(&["pdfs"]), answer("x")]), listed);
    assert!(observed(&seen[1]).contains("Did you mean `pdf`?"));
    assert!(seen[1].schema.to_string().contains("select_skills"), "a slip can be put right");
}

#[test]
fn the_arguments_of_an_example_are_called_that_where_the_request_has_none_of_them() {
    let replies = json!([select(&["lead-plan"]), script("lead-plan", &["B", "3"]), answer("x")]);
    let note = "[Note: These are the arguments of the example in the skill's text.";
    let (seen, ran) = turns(replies.clone(), |_| {});
    assert!(observed(&seen[2]).contains(note), "{}", observed(&seen[2]));
    assert_eq!(ran.executor.log().len(), 2, "it is run");
    let (seen, _) = turns(replies, |setup| setup.request = "what of 3 kg?".to_owned());
    assert!(!observed(&seen[2]).contains(note), "{}", observed(&seen[2]));
}

#[test]
fn a_skill_without_files_that_is_selected_again_is_to_be_answered_from() {
    let (seen, _) = turns(json!([select(&["notes"]), select(&["notes"]), answer("x")]), |_| {});
    assert!(observed(&seen[2]).ends_with("is all there is. Answer from it.\n"));
    assert!(
        seen[2].tail.ends_with(
            "[The text of the skill stands above: do now what it says for the request.]"
        ),
        "{}",
        seen[2].tail
    );
}
