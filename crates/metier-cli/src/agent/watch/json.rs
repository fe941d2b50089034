//! Events as JSON lines on standard output. A note between two events has the number of the event
//! before it, and `"note": true`.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use metier::agent::{Event, Note, Observer, Record};
use metier::fs::utc_text;
use serde_json::{Value, json};

use super::Watcher;
use crate::error::ApprovalAdvice;

/// Events as JSON lines.
#[derive(Debug, Default)]
pub(crate) struct JsonLines {
    last: AtomicU64,
    /// The end of the run, until it is known how an open question can be answered.
    end: Mutex<Option<Value>>,
}

impl JsonLines {
    fn print(value: &Value) {
        let mut out = io::stdout().lock();
        // The reader may be gone; the record has everything.
        let _ = serde_json::to_writer(&mut out, value);
        let _ = out.write_all(b"\n").and_then(|()| out.flush());
    }
}

/// A record as one JSON object.
pub(crate) fn record_json(record: &Record) -> Value {
    let mut value = serde_json::to_value(&record.event).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("seq".to_owned(), json!(record.seq));
        fields.insert("time".to_owned(), json!(record.time));
        fields.insert("elapsed_ms".to_owned(), json!(record.elapsed_ms));
    }
    value
}

impl Observer for JsonLines {
    fn event(&self, depth: u32, record: &Record) {
        let mut value = record_json(record);
        if depth > 0 {
            value["depth"] = json!(depth);
        } else {
            self.last.store(record.seq, Ordering::Relaxed);
            if let Event::RunFinished { .. } = &record.event {
                *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                return;
            }
        }
        Self::print(&value);
    }

    fn note(&self, depth: u32, note: &Note) {
        let mut value = match note {
            Note::ActionKnown { turn, kind, target } => {
                json!({"type": "action.known", "turn": turn, "kind": kind, "target": target})
            }
            Note::AnswerText(text) => json!({"type": "answer.text", "text": text}),
            Note::Warning(text) => json!({"type": "warning", "text": text}),
            Note::Anew => json!({"type": "answer.anew"}),
            Note::Output { stream, text } => {
                json!({"type": "action.output", "stream": stream, "text": text})
            }
            _ => return,
        };
        value["seq"] = json!(self.last.load(Ordering::Relaxed));
        value["time"] = json!(utc_text(SystemTime::now()));
        value["note"] = json!(true);
        if depth > 0 {
            value["depth"] = json!(depth);
        }
        Self::print(&value);
    }
}

impl Watcher for JsonLines {
    fn pause(&self) {}

    fn unanswered(&self) {}

    fn ended(&self, approval: Option<&ApprovalAdvice>) {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut end) = end {
            if let Some(approval) = approval {
                end["approval"] = json!(approval);
            }
            Self::print(&end);
        }
    }
}

impl Drop for JsonLines {
    /// Prints an end that nothing was said about, because the command failed after it.
    fn drop(&mut self) {
        self.ended(None);
    }
}
