//! What a run's event lines say about it: how it ended, what it cost, how often it repeated itself.
//!
//! Whether the answer is right is the business of `judge`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The figures of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFigures {
    pub(crate) run_id: String,
    /// As the run calls it; empty where it had no end.
    pub(crate) status: String,
    pub(crate) answer: Option<String>,
    /// Replies of the model.
    pub(crate) turns: u32,
    pub(crate) decisions: u32,
    /// Decisions equal to the one before.
    pub(crate) repeated: u32,
    /// Replies that were no decision.
    pub(crate) invalid: u32,
    /// Tokens of all prompts, cached ones included.
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) seconds: f64,
    /// The actions, in few words.
    pub(crate) actions: Vec<String>,
}

/// Reads the lines of `metier run --json`.
pub(crate) fn read(stdout: &str, took: Duration) -> RunFigures {
    let mut run = RunFigures { seconds: took.as_secs_f64(), ..RunFigures::default() };
    let mut last = Value::Null;
    for event in stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().unwrap_or_default() {
            "run.started" => run.run_id = text("run_id"),
            "model.replied" => {
                run.turns += 1;
                let usage = &event["reply"]["usage"];
                run.input += usage["input"].as_u64().unwrap_or_default();
                run.output += usage["output"].as_u64().unwrap_or_default();
            }
            "decision.made" => {
                // The plan may differ; what is done again is the same action.
                let action = event["decision"]["action"].clone();
                run.decisions += 1;
                run.repeated += u32::from(action == last);
                run.actions.push(in_few_words(&action));
                last = action;
            }
            "decision.invalid" => {
                run.invalid += 1;
                run.actions.push(format!("invalid:{}", text("code")));
            }
            "run.finished" => {
                run.status = text("status");
                run.answer = event["answer"].as_str().map(str::to_owned);
            }
            _ => {}
        }
    }
    run
}

fn in_few_words(action: &Value) -> String {
    let word = |name: &str| action[name].as_str().unwrap_or_default();
    let args = || action["args"].to_string();
    match word("type") {
        "call_tool" => format!("{} {}", word("tool"), args()),
        "run_script" => format!("run {} {}", word("relative_path"), args()),
        "select_skills" => format!("select {}", action["skills"]),
        "final_answer" => "answer".to_owned(),
        kind => {
            let mut rest = action.clone();
            if let Some(fields) = rest.as_object_mut() {
                fields.remove("type");
            }
            format!("{kind} {rest}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_equal_to_the_one_before_is_a_repeated_one() {
        let events = r#"
{"type":"run.started","run_id":"r1"}
{"type":"model.replied","reply":{"usage":{"input":100,"output":7}}}
{"type":"decision.made","decision":{"plan":["a"],"action":{"type":"select_skills","skills":["x"]}}}
{"type":"model.replied","reply":{"usage":{"input":120,"output":8}}}
{"type":"decision.made","decision":{"action":{"type":"select_skills","skills":["x"]}}}
{"type":"decision.invalid","code":"not_json"}
{"type":"decision.made","decision":{"action":{"type":"final_answer","text":"4"}}}
{"type":"run.finished","status":"completed","answer":"4"}"#;
        let expected = RunFigures {
            run_id: "r1".to_owned(),
            status: "completed".to_owned(),
            answer: Some("4".to_owned()),
            turns: 2,
            decisions: 3,
            repeated: 1,
            invalid: 1,
            input: 220,
            output: 15,
            seconds: 2.0,
            actions: ["select [\"x\"]", "select [\"x\"]", "invalid:not_json", "answer"]
                .map(str::to_owned)
                .to_vec(),
        };
        assert_eq!(read(events, Duration::from_secs(2)), expected);
    }
}
