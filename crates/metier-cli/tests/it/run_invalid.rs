//! Mistakes of a model: each becomes an observation with a code and costs a turn. None ends the run.
//! The whole table goes through the binary, one mistake after the other.

use serde_json::{Value, json};

use crate::run_support::{
    answer, call, codes, events, is_sound, of_type, project, resource, run_scripted, script, select,
};

/// A reply that is no good action, what the model is shown, and after which actions it comes.
fn mistakes() -> Vec<(&'static str, Vec<Value>, Value, &'static str)> {
    let loaded = || vec![select(&["csv-summary"])];
    let raw = |text: &str| json!({ "raw": text });
    let good = answer("x").to_string();
    vec![
        ("an unknown skill", vec![], select(&["no-such-skill"]), "SkillNotFound"),
        ("no skill at all", vec![], select(&[]), "InvalidArguments"),
        (
            "a resource of a skill that is not loaded",
            vec![],
            resource("csv-summary", "SKILL.md"),
            "SkillNotLoaded",
        ),
        ("a path outside", loaded(), resource("csv-summary", "../x"), "PathTraversalBlocked"),
        (
            "an absolute path",
            loaded(),
            resource("csv-summary", "/etc/passwd"),
            "PathTraversalBlocked",
        ),
        ("a script outside", loaded(), script("csv-summary", "../x.sh", &[]), "InvalidArguments"),
        ("a resource that is not there", loaded(), resource("csv-summary", "no.md"), "IoError"),
        (
            "a file outside",
            vec![],
            call("read_file", &json!({"path": "../x"})),
            "PathTraversalBlocked",
        ),
        ("an unknown tool", vec![], call("no_such_tool", &json!({})), "UnknownTool"),
        (
            "a tool that is not allowed",
            vec![],
            call("write_file", &json!({"path": "x", "content": "y"})),
            "NotAllowed",
        ),
        ("wrong arguments", vec![], call("read_file", &json!({"file": 7})), "InvalidArguments"),
        ("no JSON", vec![], raw("I would rather talk."), "not_json"),
        ("bad JSON", vec![], raw("{\"action\": {\"type\": final_answer}}"), "not_json"),
        (
            "a cut-off JSON that would parse as something smaller",
            vec![],
            json!({"raw": "{\"action\":{\"type\":\"select_skills\",\"skills\":[{\"name\":\"csv-summary\"}",
                "finish": "length"}),
            "truncated",
        ),
        (
            "a whole JSON that was cut off nevertheless",
            vec![],
            json!({"raw": good, "finish": "length"}),
            "truncated",
        ),
        ("two actions", vec![], raw(&format!("{good}\n{good}")), "two_actions"),
        ("two tool calls", vec![], json!({"raw": good, "parts": 2}), "two_actions"),
        ("an empty reply", vec![], raw(""), "empty_reply"),
        ("an unknown action", vec![], raw("{\"action\":{\"type\":\"dance\"}}"), "unknown_action"),
        ("a refusal", vec![], json!({"raw": "I can't.", "finish": "refusal"}), "refused"),
    ]
}

#[test]
fn every_mistake_is_reported_with_a_code_costs_a_turn_and_the_run_goes_on() {
    let mut wrong = Vec::new();
    for (what, before, reply, code) in mistakes() {
        let home = project();
        let turns = before.len() + 2;
        let mut replies = before;
        // Scripts and writes that came to nothing are not a run that was completed.
        let expected = match what {
            "a script outside" => 1,
            "a tool that is not allowed" => 3,
            _ => 0,
        };
        replies.extend([reply, answer("It continued.")]);
        let output = run_scripted(&home, &Value::Array(replies), &["--yes"]);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (expected, "It continued.\n"),
            "{what}: {output:?}"
        );
        let events = events(&home);
        let observed = codes(&events);
        assert_eq!(observed.len(), turns - 1, "{what}");
        // Of a reply that is not a decision the event says what is wrong with it.
        let invalid = of_type(&events, "decision.invalid");
        let found = invalid.last().and_then(|event| event["code"].as_str());
        let found = found.or(observed.last().copied());
        let twice = format!("{code}: {code}");
        assert!(!output.stderr.contains(&twice), "{what}: the code is said once: {output:?}");
        if found != Some(code) {
            wrong.push(format!("{what}: {found:?}, not {code}"));
        }
        let end = events.last().expect("events");
        assert_eq!(end["spent"]["turns"], turns, "{what}: it costs a turn");
        is_sound(&home);
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn nothing_but_mistakes_ends_the_run_in_the_end_and_it_can_go_on() {
    let home = project();
    let replies: Vec<Value> = (0..9).map(|_| json!({"raw": "no"})).collect();
    let output = run_scripted(&home, &Value::Array(replies), &[]);
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(output.stderr.contains("replies in a row were no decision"), "{output:?}");
    let events = events(&home);
    assert_eq!(of_type(&events, "decision.invalid").len(), 5);
    assert_eq!(events.last().expect("events")["status"], "failed");
    is_sound(&home);
}
