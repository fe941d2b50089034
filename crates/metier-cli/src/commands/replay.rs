//! `metier replay`: the events of a run again, without a model and without doing anything.
//!
//! What came from outside (replies, answers, outcomes) drives the same step as in the run; what
//! follows must be what was recorded. A record that was changed is reported instead.

use std::io::{self, Write};

use clap::Args;
use metier::agent::{Difference, Event};
use metier::{RunRecord, damage};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::audit::finding_line;
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::style::{BOLD, DIM, GREEN, RED, paint};
use crate::render::table::cut;
use crate::render::{count, fold_line, safe};

/// Replay the events of a run, without a model, and show the first difference.
///
/// Nothing is asked and nothing is done: the recorded replies, answers and outcomes drive the same
/// steps, and what follows from them must be what was recorded. RUN is a run's id, the beginning or
/// end of it, or `last`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier replay
  metier replay 20261116-070842-k3f9a --json

Exit codes: 0 all reproduced, 1 a difference, or a changed record.")]
pub(crate) struct ReplayArgs {
    /// The run.
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
}

#[derive(Serialize)]
struct Replayed {
    run_id: String,
    /// Events of the record, those of the loops inside it too.
    events: usize,
    reproduced: bool,
    difference: Option<Found>,
    /// Events that follow from the last one and were not written any more.
    missing: usize,
    /// What is wrong with the record. Then nothing is replayed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Value>,
    #[serde(skip)]
    finding_lines: Vec<String>,
}

/// A difference, and the run that it is in.
#[derive(Serialize)]
struct Found {
    run_id: String,
    #[serde(flatten)]
    difference: Box<Difference>,
    /// Where in the event the two part.
    at: String,
}

pub(crate) fn run(args: &ReplayArgs, context: &Context) -> Result<Box<dyn Output>> {
    let folder = context.metier.find_run(&args.run)?;
    let mut replayed = Replayed {
        run_id: folder.id().to_string(),
        events: 0,
        reproduced: false,
        difference: None,
        missing: 0,
        findings: Vec::new(),
        finding_lines: Vec::new(),
    };
    for (run_id, finding) in damage(&folder)? {
        replayed.finding_lines.push(finding_line(&finding));
        let mut value = json!(finding);
        value["run_id"] = json!(run_id);
        replayed.findings.push(value);
    }
    if replayed.findings.is_empty() {
        replay(&RunRecord::read(&folder)?, &mut replayed);
    }
    Ok(Box::new(replayed))
}

fn replay(record: &RunRecord, replayed: &mut Replayed) {
    let report = record.replay();
    (replayed.events, replayed.missing) = (report.events, report.missing);
    replayed.reproduced = report.difference.is_none();
    replayed.difference = report.difference.map(|(run_id, difference)| {
        let at = place(&json!(difference.expected), &json!(difference.recorded));
        Found { run_id, difference, at }
    });
}

/// Where two values part, as a JSON pointer.
fn place(expected: &Value, recorded: &Value) -> String {
    match (expected, recorded) {
        (Value::Object(expected), Value::Object(recorded)) => {
            let keys = expected.keys().chain(recorded.keys());
            let mut differing = keys.filter(|key| expected.get(*key) != recorded.get(*key));
            differing.next().map_or_else(String::new, |key| {
                let of = |map: &serde_json::Map<_, _>| map.get(key).cloned().unwrap_or_default();
                let name = key.replace('~', "~0").replace('/', "~1");
                format!("/{name}{}", place(&of(expected), &of(recorded)))
            })
        }
        (Value::Array(expected), Value::Array(recorded)) => {
            let both = expected.iter().zip(recorded).position(|(one, other)| one != other);
            let at = both.unwrap_or_else(|| expected.len().min(recorded.len()));
            let of = |list: &[Value]| list.get(at).cloned().unwrap_or_default();
            format!("/{at}{}", place(&of(expected), &of(recorded)))
        }
        _ => String::new(),
    }
}

impl Output for Replayed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let id = paint(BOLD, safe(&self.run_id));
        if !self.finding_lines.is_empty() {
            writeln!(out, "{id}  {}: the record was changed", paint(RED, "broken"))?;
            for line in &self.finding_lines {
                writeln!(out, "  {line}")?;
            }
            return Ok(());
        }
        let Some(found) = &self.difference else {
            let events = count(self.events, "event");
            writeln!(out, "{id}  {events}, {}", paint(GREEN, "all reproduced"))?;
            out.flush()?;
            if self.missing > 0 {
                let more = count(self.missing, "event");
                print_note(&paint(
                    DIM,
                    format!("the record ends where {more} would have followed"),
                ));
            }
            return Ok(());
        };
        let Difference { seq, expected, recorded } = &*found.difference;
        writeln!(
            out,
            "{}  {} at event {seq}, in {}",
            paint(BOLD, safe(&found.run_id)),
            paint(RED, "differs"),
            if found.at.is_empty() { "the whole" } else { &found.at }.to_owned()
        )?;
        writeln!(out, "  expected  {}", event_line(expected.as_ref()))?;
        writeln!(out, "  recorded  {}", event_line(recorded.as_ref()))?;
        out.flush()?;
        let words = "the record was rewritten, or another version of Metier wrote it";
        print_note(&paint(DIM, words));
        Ok(())
    }

    fn exit(&self) -> Exit {
        if self.reproduced { Exit::Done } else { Exit::Findings }
    }
}

fn event_line(event: Option<&Event>) -> String {
    let text = event.and_then(|event| serde_json::to_string(event).ok());
    text.map_or_else(|| "nothing".to_owned(), |text| cut(&fold_line(&text), 400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_difference_is_the_innermost() {
        let one = json!({"type": "x", "plan": {"steps": [{"id": "a"}, {"id": "b"}]}});
        let mut other = one.clone();
        other["plan"]["steps"][1]["id"] = json!("c");
        assert_eq!(place(&one, &other), "/plan/steps/1/id");
        other["plan"]["steps"].as_array_mut().expect("a list").truncate(1);
        assert_eq!(place(&one, &other), "/plan/steps/1");
        assert_eq!(place(&one, &Value::Null), "");
    }
}
