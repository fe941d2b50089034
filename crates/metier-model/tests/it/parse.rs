//! Replies to decisions: what is taken, what goes back, and with which words.
//! What is refused must say enough for the next reply to be right.

use metier_model::{
    Action, Decision, FaultCode, Finish, OutputMode, ParseFault, Reply, SkillRef, Usage,
    parse_reply, parse_text,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::any;

const SEARCH: &str = r#"{"action":{"type":"search_skills","query":"pdf"}}"#;

fn search() -> Decision {
    Decision::to(Action::SearchSkills { query: "pdf".to_owned() })
}

fn reply(text: &str, finish: Finish, parts: u32) -> Reply {
    Reply {
        text: text.to_owned(),
        finish,
        parts,
        usage: Usage::default(),
        mode: OutputMode::Prompted,
    }
}

fn fault(text: &str) -> ParseFault {
    parse_text(text).expect_err(text)
}

fn with_action(action: &Value) -> String {
    json!({"action": action}).to_string()
}

#[test]
fn one_object_is_taken_bare_in_a_fence_in_prose_and_in_a_string() {
    let string = Value::from(SEARCH).to_string();
    for text in [
        SEARCH.to_owned(),
        format!("\n  {SEARCH}\n"),
        format!("```json\n{SEARCH}\n```"),
        format!("```\n{SEARCH}\n```\n"),
        format!("I'll look for {{skills}} first.\n{SEARCH}\nThat's \"it\"."),
        format!("<think>Which one?</think>{SEARCH}"),
        string,
    ] {
        assert_eq!(parse_text(&text), Ok(search()), "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_call_is_said_in_words_of_the_function() {
    let said = |text: &str| {
        let reply = Reply { mode: OutputMode::ToolCall, ..reply(text, Finish::Stop, 1) };
        parse_reply(&reply).expect_err(text).without_code()
    };
    let of = |action: &str| format!(r#"{{"action":{{"type":{action}}}}}"#);
    let tool = r#""call_tool","tool":"read_file""#;
    assert_eq!(
        said(&of(&format!(r#"{tool},"path":"notes.txt""#))),
        "at `path`: put the arguments of the tool in `args` of `read_file`: {\"args\": {...}}"
    );
    let broken = said(&of(r#""search_skills","query":"csv","#));
    assert!(
        broken.starts_with("the arguments of `search_skills` are not a JSON object: "),
        "{broken}"
    );
    assert!(!broken.contains("column") && !broken.contains("decision"), "{broken}");
    let missing = said(&of(r#""run_script","skill":"pdf""#));
    assert!(missing.starts_with("at `relative_path`: this is missing"), "{missing}");
    let cut = said(r#"{"action":{"type":"final_answer","text":"x"}"#);
    assert!(cut.starts_with("the arguments of `final_answer` end before"), "{cut}");
}

#[test]
fn a_call_that_is_whole_counts_whatever_was_cut_off_behind_it() {
    let cut = |text: &str, mode| parse_reply(&Reply { mode, ..reply(text, Finish::Length, 1) });
    assert_eq!(cut(SEARCH, OutputMode::ToolCall), Ok(search()));
    let truncated = |text: &str, mode| cut(text, mode).map_err(|fault| fault.code);
    assert_eq!(truncated(SEARCH, OutputMode::JsonSchema), Err(FaultCode::Truncated));
    let open = &SEARCH[..SEARCH.len() - 1];
    assert_eq!(truncated(open, OutputMode::ToolCall), Err(FaultCode::Truncated));
}

#[test]
fn a_string_is_unwrapped_once_only() {
    let twice = Value::from(Value::from(SEARCH).to_string()).to_string();
    assert_eq!(fault(&twice).code, FaultCode::NotADecision);
}

#[test]
fn a_reply_that_ended_badly_is_never_a_decision() {
    let code = |finish, parts| parse_reply(&reply(SEARCH, finish, parts)).map_err(|it| it.code);
    assert_eq!(code(Finish::Stop, 1), Ok(search()));
    assert_eq!(code(Finish::Unknown, 1), Ok(search()));
    assert_eq!(code(Finish::Length, 1), Err(FaultCode::Truncated));
    assert_eq!(code(Finish::Refusal, 1), Err(FaultCode::Refused));
    assert_eq!(code(Finish::Stop, 2), Err(FaultCode::TwoActions));
    let refused = parse_reply(&reply("I can't help.", Finish::Refusal, 1)).expect_err("refused");
    assert!(refused.message.contains("I can't help."), "{refused}");
}

#[test]
fn no_beginning_of_a_reply_is_a_smaller_decision() {
    let whole = with_action(&json!({
        "type": "select_skills",
        "skills": [{"name": "pdf"}, {"name": "xlsx"}],
        "reason": "both: {\"a\": 1}"
    }));
    for text in [whole.clone(), format!("Here it is:\n```json\n{whole}\n```")] {
        let end = text.rfind('}').expect("an end") + 1;
        for cut in (0..end).filter(|cut| text.is_char_boundary(*cut)) {
            let cut_off = reply(&text[..cut], Finish::Unknown, 1);
            let found = parse_reply(&cut_off).expect_err("cut off");
            let expected = [FaultCode::EmptyReply, FaultCode::Truncated, FaultCode::NotJson];
            assert!(expected.contains(&found.code), "{found}: {}", cut_off.text);
        }
        assert!(parse_text(&text[..end]).is_ok());
    }
}

#[test]
fn two_objects_are_two_actions() {
    for text in [
        format!("{SEARCH}{SEARCH}"),
        format!("{SEARCH}\nand then\n{SEARCH}"),
        format!("{{\"thought\": 1}}\n{SEARCH}"),
        format!("[{SEARCH},{SEARCH}]"),
        format!("{{\"action\":{{\"type\":\"search_skills\",\"query\":\"a\"}},{}", &SEARCH[1..]),
        r#"{"action":[{"type":"search_skills"},{"type":"search_skills"}]}"#.to_owned(),
    ] {
        assert_eq!(fault(&text).code, FaultCode::TwoActions, "{text}");
    }
    // An object in an action is a part of it, whatever it says.
    let inside = with_action(&json!({"type": "call_tool", "tool": "write_file",
        "args": {"content": SEARCH, "more": {"action": {"type": "search_skills", "query": "x"}}}}));
    assert_eq!(parse_text(&inside).expect("one").action.kind(), "call_tool");
}

#[test]
fn a_list_with_one_object_is_no_decision_wherever_it_stands() {
    for text in [format!("[{SEARCH}]"), format!("So: [{SEARCH}]"), format!("[{SEARCH}, ")] {
        assert_eq!(fault(&text).code, FaultCode::NotADecision, "{text}");
    }
}

#[test]
fn nothing_is_repaired() {
    for (text, code, place) in [
        (
            r#"{"action":{"type":"search_skills","query":"a"},}"#,
            FaultCode::NotJson,
            "line 1, column 48",
        ),
        ("{'action':{'type':'search_skills','query':'a'}}", FaultCode::NotJson, "line 1, column 2"),
        (
            "{action:{\"type\":\"search_skills\",\"query\":\"a\"}}",
            FaultCode::NotJson,
            "line 1, column 2",
        ),
        ("Sure:\n  {\"action\": None}", FaultCode::NotJson, "line 2, column 14"),
        (
            "{\"action\":{\"type\":\"search_skills\",\"query\":\"a\nb\"}}",
            FaultCode::NotJson,
            "line 2, column 0",
        ),
        (
            r#"{"action":{"type":"search_skills","query":"a"}"#,
            FaultCode::Truncated,
            "line 1, column 46",
        ),
        (r#"{"plan":null,"plan":null,"action":{}}"#, FaultCode::NotJson, "`plan` appears twice"),
        ("I think that is all.", FaultCode::NotJson, "line 1, column 1"),
    ] {
        let fault = fault(text);
        assert_eq!(fault.code, code, "{fault}");
        assert!(fault.message.contains(place), "{fault}");
    }
}

#[test]
fn what_is_too_long_or_too_deep_goes_back() {
    let long = with_action(&json!({"type": "final_answer", "text": "x".repeat(300_000)}));
    assert_eq!(fault(&long).code, FaultCode::TooLarge);
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let call = |args: String| {
        format!(r#"{{"action":{{"type":"call_tool","tool":"t","args":{{"a":{args}}}}}}}"#)
    };
    assert!(parse_text(&call(nested(61))).is_ok());
    assert_eq!(fault(&call(nested(62))).code, FaultCode::TooLarge);
    assert_eq!(fault(&call(nested(100_000))).code, FaultCode::TooLarge);
    // The text of arguments and data counts as deep as what it holds.
    let text = |depth| Value::from(format!(r#"{{"a":{}}}"#, nested(depth)));
    let call = |depth| with_action(&json!({"type": "call_tool", "tool": "t", "args": text(depth)}));
    assert!(parse_text(&call(61)).is_ok());
    assert_eq!(fault(&call(62)).code, FaultCode::WrongType);
    let answer = |depth| {
        let text = with_action(&json!({"type": "final_answer", "text": "", "data": text(depth)}));
        match parse_text(&text).expect("an answer").action {
            Action::FinalAnswer { data, .. } => data.expect("data"),
            other => panic!("{other:?}"),
        }
    };
    assert!(answer(61).is_object() && answer(62).is_string());
    assert_eq!(fault(&"{\"a\":".repeat(40_000)).code, FaultCode::TooLarge);
}

#[test]
fn empty_replies_are_distinguished_from_wrong_ones() {
    for text in ["", "  \n\t"] {
        assert_eq!(fault(text).code, FaultCode::EmptyReply);
    }
    for text in ["null", "[]", "7", "\"hello\"", "{}", r#"{"tool": "x"}"#] {
        assert_eq!(fault(text).code, FaultCode::NotADecision, "{text}");
    }
    let alone = fault(r#"{"type": "search_skills", "query": "x"}"#);
    assert_eq!(alone.code, FaultCode::NotADecision);
    assert!(alone.message.contains("an action alone"), "{alone}");
}

#[test]
fn a_fault_says_where_what_is_expected_and_what_is_near() {
    for (action, expected) in [
        (
            json!({"type": "select_skill", "skills": []}),
            "unknown_action at `action.type`: unknown action `select_skill`; did you mean \
             `select_skills`? (expected one of: select_skills, load_resource, run_script, search_skills, \
             call_tool, final_answer)",
        ),
        (
            json!({"type": "select_skills", "skill": ["pdf"]}),
            "unknown_field at `action.skill`: select_skills has no field `skill`; did you mean \
             `skills`? (it has: type, skills, reason)",
        ),
        (
            json!({"type": "load_resource", "skill": {"name": "pdf"}, "relative_path": null}),
            "missing_field at `action.relative_path`: this is missing; expected a text",
        ),
        (
            json!({"type": "select_skills", "skills": [{"name": "a"}, {"name": 1}]}),
            "wrong_type at `action.skills[1].name`: expected a text, got a number",
        ),
        (
            json!({"type": "run_script", "skill": "pdf", "relative_path": "a.py", "args": "-x"}),
            "wrong_type at `action.args`: expected a list of texts, got a text",
        ),
        (
            json!({"type": "call_tool", "tool": "x", "args": "[1]"}),
            "wrong_type at `action.args`: expected an object, got a list",
        ),
        (
            json!({"query": "x"}),
            "missing_field at `action.type`: this is missing; expected one of \
            select_skills, load_resource, run_script, search_skills, call_tool, final_answer",
        ),
    ] {
        assert_eq!(fault(&with_action(&action)).to_string(), expected);
    }
    let step = json!({"plan": {"goal": "g", "steps": [{"id": "a", "title": "t", "status": "complete"}]},
        "action": {"type": "search_skills", "query": "x"}});
    assert_eq!(
        fault(&step.to_string()).to_string(),
        "wrong_type at `plan.steps[0].status`: unknown status `complete`; did you mean \
         `completed`? (expected one of: pending, in_progress, completed, skipped)"
    );
}

#[test]
fn a_plan_update_is_a_plan_or_a_patch() {
    let with = |update: Value| {
        parse_text(
            &json!({"plan_update": update, "action": {"type": "search_skills", "query": "pdf"}})
                .to_string(),
        )
    };
    assert_eq!(with(json!({"replace": null, "patch": null})), Ok(search()));
    for (update, path) in [
        (json!({"replace": {"goal": "g"}, "patch": []}), "plan_update"),
        (json!({"replace": {"steps": []}}), "plan_update.replace.goal"),
        (json!({"patch": {}}), "plan_update.patch"),
        (json!({"patch": [{"op": "set", "path": "/goal", "value": 1}]}), "plan_update.patch[0].op"),
        (json!({"patch": [{"op": "add", "path": "/goal"}]}), "plan_update.patch[0].value"),
        (json!({"patch": [{"op": "move", "path": "/goal"}]}), "plan_update.patch[0].from"),
        (json!({"patch": [{"op": "remove"}]}), "plan_update.patch[0].path"),
        (json!({"patches": []}), "plan_update.patches"),
    ] {
        let fault = with(update).expect_err(path);
        assert_eq!(fault.path.as_deref(), Some(path), "{fault}");
    }
}

#[test]
fn other_ways_to_write_the_same_are_the_same() {
    let same = |one: Value, other: Value| {
        let (one, other) = (parse_text(&with_action(&one)), parse_text(&with_action(&other)));
        assert!(one.is_ok(), "{one:?}");
        assert_eq!(one, other);
    };
    same(
        json!({"type": "select_skills", "skills": ["pdf"], "tool": null, "reason": null}),
        json!({"type": "select_skills", "skills": [{"name": "pdf", "source": null}], "reason": ""}),
    );
    same(
        json!({"type": "call_tool", "tool": "x", "args": null, "skill": "pdf"}),
        json!({"type": "call_tool", "tool": "x", "args": {}, "skill": {"name": "pdf"}}),
    );
    same(
        json!({"type": "call_tool", "tool": "x", "args": "{\"a\": [1]}"}),
        json!({"type": "call_tool", "tool": "x", "args": {"a": [1]}}),
    );
    same(
        json!({"type": "final_answer", "text": "t", "data": "{\"a\": [1]}"}),
        json!({"type": "final_answer", "text": "t", "data": {"a": [1]}}),
    );
    let text = with_action(&json!({"type": "final_answer", "text": "t", "data": "{no JSON"}));
    let expected = Action::FinalAnswer {
        text: "t".to_owned(),
        data: Some(json!("{no JSON")),
        status: metier_model::AnswerStatus::Done,
    };
    assert_eq!(parse_text(&text), Ok(Decision::to(expected)));
}

#[test]
fn what_a_model_wrote_is_quoted_briefly_on_one_line() {
    let name = format!("a\n\u{1b}[31m{}", "x".repeat(500));
    let fault = fault(&with_action(&json!({"type": "final_answer", "text": "", name: 1})));
    let message = fault.to_string();
    assert!(!message.contains(['\n', '\u{1b}']) && message.len() < 600, "{message}");
}

proptest! {
    #[test]
    fn a_decision_that_is_written_is_read_as_the_same(decision in any::decision()) {
        let text = serde_json::to_string(&decision).expect("JSON");
        prop_assert_eq!(parse_text(&text), Ok(decision.clone()));
        let fenced = format!("```json\n{text}\n```");
        prop_assert_eq!(parse_text(&fenced), Ok(decision));
    }

    #[test]
    fn no_text_makes_the_parser_panic_and_what_is_read_stays_the_same(
        text in r#"[ \[\]{}":,\\a-z0-9\n]{0,60}"#
    ) {
        if let Ok(decision) = parse_text(&text) {
            let again = serde_json::to_string(&decision).expect("JSON");
            prop_assert_eq!(parse_text(&again), Ok(decision));
        }
    }

    #[test]
    fn no_cut_of_a_decision_is_a_decision(decision in any::decision(), part in 0.0..1.0_f64) {
        let text = serde_json::to_string(&decision).expect("JSON");
        let chars = text.chars().count();
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss,
            reason = "any place in the text will do")]
        let keep = (chars as f64 * part) as usize;
        let cut: String = text.chars().take(keep).collect();
        prop_assert!(parse_text(&cut).is_err(), "{}", cut);
    }
}

#[test]
fn a_skill_keeps_its_source() {
    let text = with_action(&json!({"type": "select_skills",
        "skills": [{"name": "pdf", "source": "user"}]}));
    let skills = vec![SkillRef { name: "pdf".to_owned(), source: Some("user".to_owned()) }];
    let expected = Action::SelectSkills { skills, reason: String::new() };
    assert_eq!(parse_text(&text), Ok(Decision::to(expected)));
}
