//! Models that follow a script or a recording.
//! What they say depends on the turn alone, so that a resumed run hears the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_model::{
    Action, Decision, Finish, LoadedText, Model, ModelError, ModelErrorKind, OutputMode,
    PastAction, Replay, Reply, Scripted, SkillRef, StreamEvent, TrailEntry, Turn, Usage, View,
    parse_reply,
};
use serde_json::{Value, json};

/// A turn of a run that had this past.
fn turn(past: Vec<PastAction>) -> Turn {
    let view = View { request: "fill the form".to_owned(), ..View::default() };
    let entry = |past: PastAction| TrailEntry {
        decision: Some("".into()),
        observation: "".into(),
        past: Arc::new(past),
    };
    Turn {
        number: u32::try_from(past.len()).expect("small") + 1,
        system: "You decide.".into(),
        system_for_call: "You decide.".into(),
        request: "fill the form".into(),
        trail: past.into_iter().map(entry).collect(),
        tail: String::new(),
        plan: metier_model::PlanMode::On,
        schema: Arc::new(Value::Null),
        held_schema: None,
        max_output_tokens: 1_000,
        view: Arc::new(view),
    }
}

fn past(action: Action, code: Option<&str>) -> PastAction {
    let code = code.map(|code| serde_json::from_value(json!(code)).expect("a code"));
    PastAction { action: Some(action), ok: code.is_none(), code, ..PastAction::default() }
}

fn search(query: &str) -> Action {
    Action::SearchSkills { query: query.to_owned() }
}

fn reply(model: &dyn Model, turn: &Turn) -> Result<Reply, ModelError> {
    model.reply(turn, &mut |_| {}, &CancelToken::new())
}

fn query(model: &dyn Model, turn: &Turn) -> String {
    let reply = reply(model, turn).expect("a reply");
    match parse_reply(&reply).expect("a decision").action {
        Action::SearchSkills { query } => query,
        other => panic!("{other:?}"),
    }
}

fn says(query: &str) -> Value {
    json!({"action": {"type": "search_skills", "query": query}})
}

fn script(script: &Value) -> Scripted {
    Scripted::parse(&script.to_string()).expect("a script")
}

#[test]
fn the_place_in_the_sequence_follows_from_the_turn_alone() {
    let model = script(&json!({"name": "two", "replies": [says("a"), says("b")]}));
    assert_eq!((model.info().provider.as_str(), model.info().name.as_str()), ("scripted", "two"));
    let second = turn(vec![past(search("a"), None)]);
    // Asked out of order and twice, as by a process that resumes.
    assert_eq!(query(&model, &second), "b");
    assert_eq!(query(&model, &turn(Vec::new())), "a");
    assert_eq!(query(&model, &second), "b");
    let third = turn(vec![past(search("a"), None), past(search("b"), Some("NotFound"))]);
    let error = reply(&model, &third).expect_err("no more");
    assert_eq!(error.kind, ModelErrorKind::Exhausted);
    assert!(error.message.contains("`two` has 2 replies"), "{error}");
}

#[test]
fn an_interrupted_action_is_decided_on_again_and_takes_no_place() {
    let decisions = ["a", "b"].map(|query| Decision::to(search(query)));
    let model = Scripted::from_decisions(decisions.to_vec());
    let cut = turn(vec![past(search("other"), Some("Interrupted"))]);
    assert_eq!(query(&model, &cut), "other");
    let after = turn(vec![past(search("a"), Some("Interrupted")), past(search("a"), None)]);
    assert_eq!(query(&model, &after), "b");
}

#[test]
fn rules_come_first_in_their_order_and_all_of_one_must_hold() {
    let model = script(&json!({
        "replies": [says("sequence")],
        "rules": [
            {"when": {"last_code": "NotAllowed", "turn": 2}, "reply": says("second and denied")},
            {"when": {"last_code": "NotAllowed"}, "reply": says("denied")},
            {"when": {"last_contains": "page"}, "reply": says("pages")},
            {"when": {"request": "fill*form", "loaded": "pdf"}, "reply": says("loaded")},
            {"when": {"request": "the bill"}, "reply": says("never")}
        ]
    }));
    assert_eq!(query(&model, &turn(Vec::new())), "sequence");
    let denied = || past(search("x"), Some("NotAllowed"));
    assert_eq!(query(&model, &turn(vec![denied()])), "second and denied");
    assert_eq!(query(&model, &turn(vec![denied(), denied()])), "denied");
    let pages = PastAction { text: "3 pages".into(), ..past(search("x"), None) };
    assert_eq!(query(&model, &turn(vec![pages])), "pages");
    let mut with_skill = turn(Vec::new());
    Arc::get_mut(&mut with_skill.view).expect("ours").loaded.push(loaded("pdf", false));
    assert_eq!(query(&model, &with_skill), "loaded");
}

fn loaded(name: &str, by_user: bool) -> LoadedText {
    LoadedText {
        name: name.to_owned(),
        source: "user".to_owned(),
        description: String::new(),
        body: "".into(),
        arguments: None,
        files: Vec::new(),
        by_user,
    }
}

#[test]
fn how_often_a_rule_was_used_is_worked_out_from_the_past() {
    let model = script(&json!({
        "replies": [says("1"), says("2"), says("3"), says("4")],
        "rules": [{"when": {"last_code": "NotFound"}, "times": 1, "reply": says("once")}]
    }));
    let failed = || past(search("x"), Some("NotFound"));
    let fine = || past(search("x"), None);
    assert_eq!(query(&model, &turn(vec![failed()])), "once");
    assert_eq!(query(&model, &turn(vec![failed(), fine()])), "3");
    assert_eq!(query(&model, &turn(vec![failed(), failed()])), "3");
    assert_eq!(query(&model, &turn(vec![fine(), fine(), failed()])), "once");
    // Before the skill was selected, a rule about it cannot have been used.
    let model = script(&json!({
        "replies": [says("1"), says("2"), says("3")],
        "rules": [{"when": {"loaded": "pdf"}, "times": 1, "reply": says("once")}]
    }));
    let select =
        Action::SelectSkills { skills: vec![SkillRef::named("pdf")], reason: String::new() };
    let with = |past: Vec<PastAction>| {
        let mut turn = turn(past);
        Arc::get_mut(&mut turn.view).expect("ours").loaded.push(loaded("pdf", false));
        turn
    };
    assert_eq!(query(&model, &with(vec![fine(), past(select.clone(), None)])), "once");
    assert_eq!(query(&model, &with(vec![past(select, None), fine()])), "3");
}

#[test]
fn raw_words_faults_and_chunks_are_given_as_they_stand() {
    let model = script(&json!({"replies": [
        {"raw": "{\"action\":", "finish": "length", "parts": 2},
        {"fault": "rate_limited", "message": "slow down", "retry_after_ms": 7, "status": 429},
        {"chunks": ["{\"a", "", "ction\"}"], "finish": "unknown", "delay_ms": 1}
    ]}));
    let done = |count: usize| turn(vec![past(search("x"), None); count]);
    let raw = reply(&model, &done(0)).expect("words");
    assert_eq!((raw.text.as_str(), raw.finish, raw.parts), ("{\"action\":", Finish::Length, 2));
    let expected = ModelError {
        status: Some(429),
        retry_after_ms: Some(7),
        ..ModelError::new(ModelErrorKind::RateLimited, "slow down")
    };
    assert_eq!(reply(&model, &done(1)), Err(expected));
    let mut pieces = Vec::new();
    let last =
        model.reply(&done(2), &mut |event| pieces.push(event), &CancelToken::new()).expect("words");
    assert_eq!((last.text.as_str(), last.finish), ("{\"action\"}", Finish::Unknown));
    let text = |piece: &str| StreamEvent::Text(piece.to_owned());
    assert_eq!(pieces, [text("{\"a"), text(""), text("ction\"}")]);
}

#[test]
fn words_are_streamed_in_pieces_and_tokens_estimated() {
    let model = Scripted::from_decisions(vec![Decision::to(search("pdf forms, 表格"))]);
    let mut pieces = Vec::new();
    let mut hear = |event| match event {
        StreamEvent::Text(text) => pieces.push(text),
        other => panic!("{other:?}"),
    };
    let reply = model.reply(&turn(Vec::new()), &mut hear, &CancelToken::new()).expect("a reply");
    assert!(pieces.len() > 1, "{pieces:?}");
    assert_eq!(pieces.concat(), reply.text);
    assert!(reply.usage.estimated && reply.usage.input > 0 && reply.usage.output > 0);
}

#[test]
fn a_call_that_is_stopped_ends_while_it_waits_and_while_it_streams() {
    let slow = json!({"replies": [{"raw": "x", "delay_ms": 3_600_000}]});
    let slow = script(&slow);
    let cancel = CancelToken::new();
    let error = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| slow.reply(&turn(Vec::new()), &mut |_| {}, &cancel));
        cancel.cancel();
        waiting.join().expect("no panic").expect_err("stopped")
    });
    assert_eq!(error.kind, ModelErrorKind::Cancelled);
    let long = script(&json!({"replies": [{"raw": "x".repeat(1_000)}]}));
    let heard = AtomicUsize::new(0);
    let cancel = CancelToken::new();
    let mut hear = |_| {
        if heard.fetch_add(1, Ordering::Relaxed) == 2 {
            cancel.cancel();
        }
    };
    let error = long.reply(&turn(Vec::new()), &mut hear, &cancel).expect_err("stopped");
    assert_eq!((error.kind, heard.load(Ordering::Relaxed)), (ModelErrorKind::Cancelled, 3));
}

#[test]
fn a_wrong_script_is_refused_with_its_place() {
    for (text, expected) in [
        ("{\"replies\": [}", "line 1, column 14: not JSON; expected an object with `replies`"),
        ("[]", "line 1: expected an object with `replies`, `rules` or both"),
        (r#"{"replys": []}"#, "line 1: unknown field `replys`; expected one of `name`, `replies`"),
        ("{\n\"replies\": {}}", "line 2, replies: this is an object; expected a list"),
        (
            "{\"replies\": [\n{\"raw\": \"\"},\n3]}",
            "line 3, replies[1]: this is a number; expected an object",
        ),
        (r#"{"replies": [{"action": {"type": "jump"}}]}"#, "line 1, replies[0]: unknown_action"),
        (r#"{"replies": [{"raw": 7}]}"#, "replies[0]: this is a number; expected text"),
        (r#"{"replies": [{"raw": "x", "finsh": "length"}]}"#, "replies[0]: unknown field `finsh`"),
        (r#"{"replies": [{"fault": "boredom"}]}"#, "replies[0]: unknown value `boredom`; expected"),
        (
            "{\"replies\": [{\"raw\": \"x\",\n\"delay_ms\": \"1 s\"}]}",
            "line 2, replies[0].delay_ms: this is text; expected a whole number",
        ),
        (
            "{\"rules\": [{\n\"when\": {\"moon\": 1}, \"reply\": {\"raw\": \"\"}}]}",
            "line 2, rules[0].when: unknown field `moon`; expected one of `request`",
        ),
        (r#"{"rules": [{"when": {}}]}"#, "line 1, rules[0]: `reply` is missing"),
        (
            r#"{"rules": [{"when": {}, "reply": []}]}"#,
            "rules[0].reply: this is a list; expected an object",
        ),
        (r#"{"rules": [{"when": {}, "reply": {}}]}"#, "rules[0].reply: not_a_decision"),
        (r#"{"name": "a", "name": "b"}"#, "`name` appears twice"),
    ] {
        let error = Scripted::parse(text).expect_err(text);
        assert_eq!(error.kind, ModelErrorKind::Config);
        assert!(error.message.contains(expected), "{text}: {error}");
        for word in ["struct", "invalid type", "u64", "sequence"] {
            assert!(!error.message.contains(word), "{text}: {error}");
        }
    }
}

#[test]
fn a_recording_gives_each_turn_its_reply_and_no_more() {
    let recorded = Reply {
        text: "words".to_owned(),
        finish: Finish::Stop,
        parts: 1,
        usage: Usage { input: 3, ..Usage::default() },
        mode: OutputMode::ToolCall,
    };
    let failed = ModelError::new(ModelErrorKind::TimedOut, "too slow");
    let model = Replay::new("run-1", vec![Ok(recorded.clone()), Err(failed.clone())]);
    let mut first = turn(Vec::new());
    let mut heard = Vec::new();
    let given = model.reply(&first, &mut |event| heard.push(event), &CancelToken::new());
    assert_eq!(given, Ok(recorded));
    assert_eq!(heard, [StreamEvent::Text("words".to_owned())]);
    first.number = 2;
    assert_eq!(reply(&model, &first), Err(failed));
    for number in [0, 3] {
        first.number = number;
        let kind = reply(&model, &first).map_err(|error| error.kind);
        assert_eq!(kind, Err(ModelErrorKind::Exhausted));
    }
    let cancel = CancelToken::new();
    cancel.cancel();
    let stopped = model.reply(&first, &mut |_| {}, &cancel).map_err(|error| error.kind);
    assert_eq!(stopped, Err(ModelErrorKind::Cancelled));
}

#[test]
fn a_delay_passes_before_the_words() {
    let model = script(&json!({"replies": [{"raw": "x", "delay_ms": 20}]}));
    let start = std::time::Instant::now();
    assert_eq!(reply(&model, &turn(Vec::new())).expect("words").text, "x");
    assert!(start.elapsed() >= Duration::from_millis(20));
}
