//! A run as a trace of OpenTelemetry: OTLP in JSON, with the spans of the conventions for generative
//! AI (version 1.41 of the semantic conventions, in which all of `gen_ai.*` is still in development).
//!
//! A run is `invoke_agent`, a request to the model `chat`, an operation `execute_tool`; a loop inside
//! a run is an `invoke_agent` below the operation that started it. Ids follow from the run's id and
//! the number of the event, so that exporting twice gives the same trace. What was said and read
//! stays out unless it is asked for.

use metier_policy::Effect;
use metier_skill::Digest;
use metier_skill::FailureCode;
use serde_json::{Value, json};

use super::{Content, RecordedRun, is_language_model, skill_of, tool_name};
use crate::event::{Event, Status};
use crate::log::Record;
use crate::op::Op;

const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";
/// Kinds of spans, as OTLP counts them.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const ERROR: u8 = 2;

/// The trace of a run, with the loops inside it.
pub fn otel(run: &RecordedRun, content: Content) -> Value {
    let mut spans = Vec::new();
    let trace =
        hex(&Digest::of_parts([b"metier trace".as_slice(), run.id.as_str().as_bytes()]), 16);
    write_run(run, &trace, None, content, &mut spans);
    let version = run.version();
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            text("service.name", "metier"),
            text("service.version", version),
        ]},
        "scopeSpans": [{
            "scope": {"name": "metier", "version": version},
            "spans": spans,
            "schemaUrl": SCHEMA,
        }],
        "schemaUrl": SCHEMA,
    }]})
}

/// A span that has begun.
struct Open {
    span: Value,
    attributes: Vec<Value>,
    events: Vec<Value>,
    content: Content,
}

impl Open {
    fn end(mut self, at: &Record, error: Option<(&str, &str)>) -> Value {
        self.span["endTimeUnixNano"] = json!(nanos(&at.time));
        if let Some((kind, message)) = error {
            self.attributes.push(text("error.type", kind));
            self.span["status"] = match self.content {
                // Our words may hold arguments, a provider's may hold the prompt.
                Content::LeftOut => json!({"code": ERROR}),
                Content::Included => json!({"code": ERROR, "message": message}),
            };
        }
        self.span["attributes"] = json!(self.attributes);
        if !self.events.is_empty() {
            self.span["events"] = json!(self.events);
        }
        self.span
    }
}

/// One run on its way to spans.
struct Writer<'r> {
    run: &'r RecordedRun,
    trace: &'r str,
    content: Content,
    /// The id of the run's own span, which the others stand below.
    id: String,
    chat: Option<Open>,
    tool: Option<(u32, Open)>,
    end: Option<(Status, String)>,
}

fn write_run(
    run: &RecordedRun,
    trace: &str,
    parent: Option<&str>,
    content: Content,
    spans: &mut Vec<Value>,
) {
    let (Some(first), Some(last)) = (run.records.first(), run.records.last()) else { return };
    let id = span_id(run, first.seq);
    let mut writer = Writer { run, trace, content, id, chat: None, tool: None, end: None };
    let mut root = writer.root_span(first, parent);
    for record in &run.records {
        writer.ask(record, spans);
        writer.act(record, spans);
        writer.add_event(record, &mut root);
    }
    writer.cut_off(last, CUT_OFF, spans);
    let ended = matches!(last.event, Event::RunFinished { .. });
    let error = match &writer.end {
        Some((Status::Completed | Status::DryRun, _)) => None,
        Some((status, message)) if ended => Some((status.as_str(), message.as_str())),
        _ => Some(CUT_OFF),
    };
    spans.push(root.end(last, error));
}

/// What is said of something that has no end in the record.
const CUT_OFF: (&str, &str) = ("interrupted", "the record ends before it does");

impl Writer<'_> {
    /// Requests to the model.
    fn ask(&mut self, record: &Record, spans: &mut Vec<Value>) {
        match &record.event {
            Event::ModelRequested { turn, tokens, .. } => {
                self.chat = Some(self.chat_span(record, *turn, *tokens));
            }
            Event::ModelRetrying { attempt, error, delay_ms, .. } => {
                let attributes = [
                    number("metier.attempt", u64::from(*attempt)),
                    text("error.type", error.kind.as_str()),
                    number("metier.delay_ms", *delay_ms),
                ];
                if let Some(open) = &mut self.chat {
                    open.events.push(happened(record, "metier.retry", &attributes));
                }
            }
            Event::ModelReplied { reply, .. } => {
                if let Some(mut open) = self.chat.take() {
                    open.attributes.extend(self.replied(reply));
                    spans.push(open.end(record, None));
                }
            }
            Event::ModelFailed { error, .. } => {
                let described = (error.kind.as_str(), error.message.as_str());
                spans.extend(self.chat.take().map(|open| open.end(record, Some(described))));
            }
            _ => {}
        }
    }

    /// Operations, and what stops them.
    fn act(&mut self, record: &Record, spans: &mut Vec<Value>) {
        match &record.event {
            Event::ActionStarted { op_id, op } => {
                self.tool = Some((*op_id, self.tool_span(record, *op_id, op)));
                if let Some(inner) = self.run.inner_of(*op_id) {
                    let parent = span_id(self.run, record.seq);
                    write_run(inner, self.trace, Some(&parent), self.content, spans);
                }
            }
            Event::ActionFinished { op_id, outcome } => {
                if let Some((_, mut open)) = self.tool.take_if(|(id, _)| id == op_id) {
                    if self.content == Content::Included {
                        let result = outcome.text.as_str();
                        open.attributes.push(text("gen_ai.tool.call.result", result));
                    }
                    let code = outcome.code.map_or("_OTHER", FailureCode::as_str);
                    let error = (!outcome.ok).then_some((code, code));
                    spans.push(open.end(record, error));
                }
            }
            // Another process continues: what was on its way in the one before never ended.
            Event::RunResumed { .. } => self.cut_off(record, CUT_OFF, spans),
            Event::CancelRequested {} => {
                self.cut_off(record, ("cancelled", "cancelled"), spans);
            }
            _ => {}
        }
    }

    /// What is written on the span of the run.
    fn add_event(&mut self, record: &Record, root: &mut Open) {
        let event = match &record.event {
            Event::PolicyDecided { op, effect, reason, .. } if *effect != Effect::Allow => {
                self.judged(record, op, *effect, reason)
            }
            Event::DecisionInvalid { code, .. } => {
                happened(record, "metier.invalid_reply", &[text("error.type", code.as_str())])
            }
            Event::ContextCompacted { .. } => happened(record, "metier.context_compacted", &[]),
            Event::BudgetSpent { budget, .. } => {
                happened(record, "metier.budget_spent", &[text("metier.budget", budget)])
            }
            Event::LoopDetected { action, .. } => {
                happened(record, "metier.loop_detected", &[text("metier.action", action)])
            }
            Event::RunFinished { status, message, spent, .. } => {
                self.end = Some((*status, message.clone().unwrap_or_default()));
                // A run that was gone on with has several ends; the last one counts.
                root.attributes.retain(|known| !is_usage(known));
                root.attributes.extend(usage(&spent.usage));
                return;
            }
            _ => return,
        };
        root.events.push(event);
    }

    fn cut_off(&mut self, at: &Record, why: (&str, &str), spans: &mut Vec<Value>) {
        spans.extend(self.chat.take().map(|open| open.end(at, Some(why))));
        spans.extend(self.tool.take().map(|(_, open)| open.end(at, Some(why))));
    }

    fn open(&self, record: &Record, name: &str, kind: u8, parent: Option<&str>) -> Open {
        let mut span = json!({
            "traceId": self.trace,
            "spanId": span_id(self.run, record.seq),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": nanos(&record.time),
        });
        if let Some(parent) = parent {
            span["parentSpanId"] = json!(parent);
        }
        Open { span, attributes: Vec::new(), events: Vec::new(), content: self.content }
    }

    fn root_span(&self, first: &Record, parent: Option<&str>) -> Open {
        let setup = &self.run.setup;
        // A loop inside a run works with one skill, and is known by it.
        let skill = setup.chosen.first().map(|chosen| chosen.id.to_string());
        let name = parent.and(skill).unwrap_or_else(|| "metier".to_owned());
        let mut open = self.open(first, &format!("invoke_agent {name}"), INTERNAL, parent);
        open.attributes = vec![
            text("gen_ai.operation.name", "invoke_agent"),
            text("gen_ai.provider.name", &setup.model.provider),
            text("gen_ai.agent.name", &name),
            text("gen_ai.agent.version", self.run.version()),
            text("gen_ai.conversation.id", self.run.id.as_str()),
            text("gen_ai.request.model", &setup.model.name),
        ];
        if self.content == Content::Included {
            let system = json!([{"type": "text", "content": setup.system}]);
            let parts = json!([{"type": "text", "content": setup.opening}]);
            let input = json!([{"role": "user", "parts": parts}]);
            open.attributes.push(text("gen_ai.system_instructions", &system.to_string()));
            open.attributes.push(text("gen_ai.input.messages", &input.to_string()));
        }
        open
    }

    fn chat_span(&self, record: &Record, turn: u32, tokens: u64) -> Open {
        let setup = &self.run.setup;
        let kind = if is_language_model(&setup.model) { CLIENT } else { INTERNAL };
        let name = format!("chat {}", setup.model.name);
        let mut open = self.open(record, &name, kind, Some(&self.id));
        open.attributes = vec![
            text("gen_ai.operation.name", "chat"),
            text("gen_ai.provider.name", &setup.model.provider),
            text("gen_ai.conversation.id", self.run.id.as_str()),
            text("gen_ai.request.model", &setup.model.name),
            number("gen_ai.request.max_tokens", u64::from(setup.limits.reply_tokens)),
            text("gen_ai.output.type", "json"),
            number("metier.turn", u64::from(turn)),
            number("metier.prompt.estimated_tokens", tokens),
        ];
        open
    }

    fn replied(&self, reply: &metier_model::Reply) -> Vec<Value> {
        let finish = json!(reply.finish);
        let finish = finish.as_str().unwrap_or("unknown");
        let mut attributes = usage(&reply.usage);
        attributes.push(json!({
            "key": "gen_ai.response.finish_reasons",
            "value": {"arrayValue": {"values": [{"stringValue": finish}]}},
        }));
        if self.content == Content::Included {
            let parts = json!([{"type": "text", "content": reply.text}]);
            let output = json!([{"role": "assistant", "parts": parts, "finish_reason": finish}]);
            attributes.push(text("gen_ai.output.messages", &output.to_string()));
        }
        attributes
    }

    fn tool_span(&self, record: &Record, op_id: u32, op: &Op) -> Open {
        let name = tool_name(op);
        let mut open = self.open(record, &format!("execute_tool {name}"), INTERNAL, Some(&self.id));
        open.attributes = vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", name),
            text("gen_ai.tool.type", "function"),
            text("gen_ai.tool.call.id", &op_id.to_string()),
        ];
        open.attributes.extend(skill_of(op).map(|skill| text("metier.skill", &skill.to_string())));
        if self.content == Content::Included {
            open.attributes.push(text("gen_ai.tool.call.arguments", &json!(op).to_string()));
        }
        open
    }

    fn judged(&self, record: &Record, op: &Op, effect: Effect, reason: &str) -> Value {
        let mut attributes =
            vec![text("metier.effect", effect.as_str()), text("gen_ai.tool.name", tool_name(op))];
        attributes.extend(skill_of(op).map(|skill| text("metier.skill", &skill.to_string())));
        if self.content == Content::Included {
            attributes.push(text("metier.reason", reason));
        }
        happened(record, "metier.policy", &attributes)
    }
}

fn happened(record: &Record, name: &str, attributes: &[Value]) -> Value {
    json!({"timeUnixNano": nanos(&record.time), "name": name, "attributes": attributes})
}

fn usage(usage: &metier_model::Usage) -> Vec<Value> {
    vec![
        number("gen_ai.usage.input_tokens", usage.input),
        number("gen_ai.usage.output_tokens", usage.output),
        number("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        number("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
    ]
}

fn is_usage(attribute: &Value) -> bool {
    attribute["key"].as_str().is_some_and(|key| key.starts_with("gen_ai.usage."))
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// OTLP writes whole numbers as text.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn span_id(run: &RecordedRun, seq: u64) -> String {
    let parts = [b"metier span".as_slice(), run.id.as_str().as_bytes(), &seq.to_le_bytes()];
    hex(&Digest::of_parts(parts), 8)
}

fn hex(digest: &Digest, bytes: usize) -> String {
    let text = digest.to_string();
    let digits = text.trim_start_matches("sha256:");
    digits.chars().take(bytes * 2).collect()
}

/// `2026-11-16T07:08:42.123Z` as nanoseconds since 1970, as text; 0 for what is no time.
fn nanos(time: &str) -> String {
    metier_fs::utc_millis(time).map_or_else(|| "0".to_owned(), |millis| format!("{millis}000000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_nanoseconds_and_what_is_none_is_zero() {
        assert_eq!(nanos("1970-01-01T00:00:01.002Z"), "1002000000");
        assert_eq!(nanos("no time"), "0");
    }
}
