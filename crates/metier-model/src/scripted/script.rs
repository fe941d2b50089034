//! The language of scripts: JSON, read strictly.
//!
//! ```json
//! {
//!   "name": "two turns",
//!   "replies": [
//!     {"action": {"type": "search_skills", "query": "pdf"}},
//!     {"raw": "I will not say.", "finish": "refusal"},
//!     {"chunks": ["{\"action\":", " {\"type\":"], "finish": "length"},
//!     {"fault": "rate_limited", "message": "slow down", "delay_ms": 50}
//!   ],
//!   "rules": [
//!     {"when": {"last_code": "NotAllowed"}, "times": 1,
//!      "reply": {"action": {"type": "final_answer", "text": "I may not."}}}
//!   ]
//! }
//! ```

use std::time::Duration;

use metier_skill::text::short_line;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::place::{ScriptFault, Step, plain};
use super::rule::{Rule, When};
use super::{Entry, Scripted, What};
use crate::json;
use crate::model::{Finish, ModelError, ModelErrorKind};

/// Objects and arrays within each other: a decision in a reply in a rule.
const MAX_DEPTH: usize = 80;

/// The replies of a scripted model: rules first, then the sequence.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the lists are read one by one, for their lines; here they are the schema's"
)]
pub(super) struct Script {
    /// What the script is called in records.
    name: Option<String>,
    /// The replies, one a turn.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::replies")]
    replies: Vec<Map<String, Value>>,
    /// Replies for turns that look in a certain way; the first that fits is given before the sequence.
    #[serde(default)]
    rules: Vec<RuleText>,
}

/// A reply with the turns that it is for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleText {
    /// What has to be true of a turn, all of it.
    when: When,
    /// How often it may be used; without it, as often as it fits.
    times: Option<u32>,
    /// The reply.
    #[schemars(schema_with = "super::schema::reply")]
    reply: Map<String, Value>,
}

/// Words as they are, for replies that are no decision.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawText {
    /// The words.
    raw: String,
    /// Why the reply ended; `stop` without it.
    finish: Option<Finish>,
    /// How many tool calls or messages it came in; 1 without it.
    parts: Option<u32>,
}

/// Words in the pieces in which they are streamed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChunksText {
    /// The pieces.
    chunks: Vec<String>,
    /// Why the reply ended; `stop` without it.
    finish: Option<Finish>,
    /// How many tool calls or messages it came in; 1 without it.
    parts: Option<u32>,
}

/// No reply, but a failure.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultText {
    /// What kind of failure.
    fault: ModelErrorKind,
    /// What the provider says.
    message: Option<String>,
    /// The status of HTTP.
    status: Option<u16>,
    /// How long the provider asks to wait, in milliseconds.
    retry_after_ms: Option<u64>,
}

/// Reads a script, or says what is wrong with it, and in which line.
pub(super) fn read(text: &str) -> Result<Scripted, String> {
    let value = json::read(text, MAX_DEPTH).map_err(|fault| {
        let message = match fault.message.as_str() {
            "expected ident" | "expected value" => "not JSON; expected an object with `replies`",
            message => message,
        };
        format!("line {}, column {}: {message}", fault.line, fault.column)
    })?;
    script(value).map_err(|fault| fault.describe(text))
}

/// The parts are read one by one, so that a fault has its place.
fn script(value: Value) -> Result<Scripted, ScriptFault> {
    let Value::Object(mut map) = value else {
        return Err(ScriptFault::at(&[], "expected an object with `replies`, `rules` or both"));
    };
    let mut take = |key: &'static str| (map.remove(key), [Step::Key(key)]);
    let ((replies, in_replies), (rules, in_rules)) = (take("replies"), take("rules"));
    // What is left has only the name and what is unknown.
    let Script { name, .. } = typed(Value::Object(map), &[])?;
    let mut entries = Vec::new();
    for (at, reply) in list(replies, &in_replies)?.into_iter().enumerate() {
        entries.push(entry(reply, &[Step::Key("replies"), Step::Item(at)])?);
    }
    let mut read_rules = Vec::new();
    for (at, rule) in list(rules, &in_rules)?.into_iter().enumerate() {
        read_rules.push(one_rule(rule, &[Step::Key("rules"), Step::Item(at)])?);
    }
    let name = name.unwrap_or_else(|| "script".to_owned());
    Ok(Scripted { name, replies: entries, rules: read_rules })
}

fn list(value: Option<Value>, path: &[Step]) -> Result<Vec<Value>, ScriptFault> {
    value.map_or_else(|| Ok(Vec::new()), |value| typed(value, path))
}

fn one_rule(value: Value, path: &[Step]) -> Result<Rule, ScriptFault> {
    let inside = |key: &'static str| [path, &[Step::Key(key)]].concat();
    let mut map: Map<String, Value> = typed(value, path)?;
    // Read apart from the rule, where their faults would have no place of their own.
    if let Some(when) = map.get("when") {
        typed::<When>(when.clone(), &inside("when"))?;
    }
    if let Some(times) = map.get("times") {
        typed::<Option<u32>>(times.clone(), &inside("times"))?;
    }
    if let Some(reply) = map.get_mut("reply").filter(|reply| !reply.is_object()) {
        typed::<Map<String, Value>>(reply.take(), &inside("reply"))?;
    }
    let RuleText { when, times, reply } = typed(Value::Object(map), path)?;
    Ok(Rule { when, times, reply: entry(Value::Object(reply), &inside("reply"))? })
}

fn entry(value: Value, path: &[Step]) -> Result<Entry, ScriptFault> {
    let mut map: Map<String, Value> = typed(value, path)?;
    let delay = map.remove("delay_ms");
    let delay = delay.map(|value| typed(value, &[path, &[Step::Key("delay_ms")]].concat()));
    let delay: u64 = delay.transpose()?.unwrap_or(0);
    let what = if map.contains_key("raw") {
        let RawText { raw, finish, parts } = typed(Value::Object(map), path)?;
        words(Entry::of(&raw), finish, parts)
    } else if map.contains_key("chunks") {
        let ChunksText { chunks, finish, parts } = typed(Value::Object(map), path)?;
        let what = What::Words { pieces: chunks, finish: Finish::Stop, parts: 1 };
        words(Entry::new(what), finish, parts)
    } else if map.contains_key("fault") {
        let FaultText { fault, message, status, retry_after_ms } = typed(Value::Object(map), path)?;
        let message = message.unwrap_or_else(|| "the script says so".to_owned());
        What::Fault(ModelError { status, retry_after_ms, ..ModelError::new(fault, message) })
    } else {
        let value = Value::Object(map);
        let text = value.to_string();
        // A script that is meant to give no decision says so by `raw`.
        crate::read::decision(value).map_err(|fault| ScriptFault::at(path, fault.to_string()))?;
        Entry::of(&text).what
    };
    Ok(Entry { delay: Duration::from_millis(delay), what })
}

fn words(entry: Entry, new_finish: Option<Finish>, new_parts: Option<u32>) -> What {
    match entry.what {
        What::Words { pieces, finish, parts } => What::Words {
            pieces,
            finish: new_finish.unwrap_or(finish),
            parts: new_parts.unwrap_or(parts),
        },
        fault @ What::Fault(_) => fault,
    }
}

fn typed<T: DeserializeOwned>(value: Value, path: &[Step]) -> Result<T, ScriptFault> {
    serde_json::from_value(value)
        .map_err(|error| ScriptFault::at(path, plain(&short_line(&error.to_string(), 400))))
}
