//! Prompts: a stable prefix, a trail that only grows, skills that stay, foreign text in its fence.
//! A scripted model that keeps every prompt it was shown is the witness.

use std::sync::Mutex;

use metier_agent::{AutoApprove, Event};
use metier_cancel::CancelToken;
use metier_model::model::Sink;
use metier_model::{Message, Model, ModelError, ModelInfo, Reply, Role, Scripted, Turn};
use serde_json::{Value, json};

use crate::fakes::{FakeExecutor, answer, run, script, scripted, select};

/// A scripted model that keeps every prompt.
struct Watched {
    inner: Scripted,
    seen: Mutex<Vec<(String, Vec<Message>, String)>>,
}

impl Model for Watched {
    fn info(&self) -> ModelInfo {
        self.inner.info()
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        let seen = (turn.system.to_string(), turn.messages(), turn.tail.clone());
        self.seen.lock().expect("whole").push(seen);
        self.inner.reply(turn, sink, cancel)
    }
}

fn watched(replies: Value) -> Watched {
    Watched { inner: scripted(replies), seen: Mutex::default() }
}

fn resource(path: &str) -> Value {
    json!({"action": {"type": "load_resource", "skill": {"name": "pdf"}, "relative_path": path}})
}

#[test]
fn the_prompt_of_a_turn_continues_that_of_the_turn_before_but_for_its_tail() {
    let model = watched(json!([
        select(&["pdf"]), resource("a.md"), script("pdf", &["x"]), {"raw": "oops"}, answer("x")
    ]));
    run(&model, FakeExecutor::default(), &AutoApprove, |_| {});
    let seen = model.seen.into_inner().expect("whole");
    assert_eq!(seen.len(), 5);
    let whole = |(system, messages, tail): &(String, Vec<Message>, String)| {
        let described = messages.iter().map(|m| format!("{:?}:{}\n\n", m.role, m.text));
        let text = described.collect::<Vec<_>>().concat();
        let text =
            text.trim_end().strip_suffix(tail.as_str()).expect("the tail is last").trim_end();
        format!("{system}{text}")
    };
    for pair in seen.windows(2) {
        assert_eq!(pair[0].0, pair[1].0, "the system's part is byte-identical");
        assert!(whole(&pair[1]).starts_with(&whole(&pair[0])), "it only grows");
        let roles: Vec<Role> = pair[1].1.iter().map(|message| message.role).collect();
        assert!(roles.windows(2).all(|two| two[0] != two[1]), "roles alternate");
        assert_eq!((roles[0], roles[roles.len() - 1]), (Role::User, Role::User));
    }
}

#[test]
fn skill_text_stands_only_inside_its_fence() {
    let model = watched(json!([select(&["pdf"]), answer("x")]));
    run(&model, FakeExecutor::default(), &AutoApprove, |_| {});
    let seen = model.seen.into_inner().expect("whole");
    let text = &seen[1].1.iter().map(|message| message.text.as_str()).collect::<String>();
    let open = text.find("[Skill Text ").expect("a fence");
    let close = text.find("[End of Skill Text ").expect("its end");
    let body = text.find("Run scripts/do.sh.").expect("the body");
    assert!(open < body && body < close);
    assert_eq!(text.matches("Run scripts/do.sh.").count(), 1);
}

#[test]
fn a_long_context_shortens_old_observations_and_keeps_skills_and_the_latest() {
    let model = watched(json!([
        select(&["pdf"]),
        resource("long.md"),
        resource("b.md"),
        resource("c.md"),
        answer("x")
    ]));
    let ran = run(&model, FakeExecutor::default(), &AutoApprove, |setup| {
        setup.limits.prompt_tokens = 3000;
    });
    let compacted: Vec<(u32, u64, u64)> = ran
        .records
        .iter()
        .filter_map(|record| match record.event {
            Event::ContextCompacted { shortened, tokens_before, tokens_after } => {
                Some((shortened, tokens_before, tokens_after))
            }
            _ => None,
        })
        .collect();
    assert_eq!(compacted.len(), 1);
    let (shortened, before, after) = compacted[0];
    assert_eq!(shortened, 1);
    assert!(after < before && after < 3000, "{before} {after}");
    let seen = model.seen.into_inner().expect("whole");
    let last = seen[4].1.iter().map(|message| message.text.as_str()).collect::<String>();
    assert!(last.contains("Run scripts/do.sh."), "the skill stays");
    let line = last.lines().find(|line| line.contains("read user:pdf/long.md | ok | shortened: "));
    let line = line.expect("the old observation is a line");
    assert!(line.contains("shortened: long text."), "with its beginning: {line}");
    assert!(last.matches("long text.").count() < 15, "and no more");
    let third = seen[2].1.iter().map(|message| message.text.as_str()).collect::<String>();
    assert!(third.contains("long text."), "what was not seen yet is never shortened");
}

#[test]
fn a_reply_that_is_too_long_and_old_decisions_do_not_fill_the_context() {
    let long = json!({"action": {"type": "call_tool", "tool": "write_file",
        "args": {"path": "a", "content": "words ".repeat(2000)}}});
    let model =
        watched(json!([{"raw": "noise ".repeat(60_000)}, long, resource("a.md"), answer("x")]));
    run(&model, FakeExecutor::default(), &AutoApprove, |setup| setup.limits.prompt_tokens = 1500);
    let seen = model.seen.into_inner().expect("whole");
    let sizes: Vec<usize> =
        seen.iter().map(|(_, messages, _)| messages.iter().map(|m| m.text.len()).sum()).collect();
    assert!(sizes[1] < 5_000, "an invalid reply is quoted in part: {sizes:?}");
    assert!(sizes[2] > 10_000, "a decision is whole at first: {sizes:?}");
    assert!(sizes[3] < 5_000, "later its beginning is enough: {sizes:?}");
}

#[test]
fn an_overflow_shortens_the_context_once_and_tries_again() {
    let model = scripted(json!([
        select(&["pdf"]), resource("long.md"), resource("b.md"),
        {"fault": "context_overflow", "message": "too long"},
    ]));
    let ran = run(&model, FakeExecutor::default(), &AutoApprove, |_| {});
    let count = |kind: &str| ran.kinds().iter().filter(|known| *known == kind).count();
    assert_eq!(count("context.compacted"), 1);
    assert_eq!(count("model.failed"), 2, "once more after it was shortened, then no more");
    assert_eq!(ran.state.finished().expect("ended").status, metier_agent::Status::Failed);
}
