//! A listener of our own: hears everything that happens in a run.
//!
//! An event is heard after it was written to the record, so what is shown has happened. Notes are what
//! lies between two events and is not recorded: text that streams, output of a script. Where only the
//! events count, a function is enough: `.on_event(|event| println!("{}", event.kind()))`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use metier::{Event, Metier, Note, Observer, Record};

/// Prints what is done, and counts the events.
#[derive(Default)]
struct Narrator {
    events: Arc<AtomicU32>,
}

impl Observer for Narrator {
    // `depth` is 1 for a skill that works in a loop of its own.
    fn event(&self, depth: u32, record: &Record) {
        self.events.fetch_add(1, Ordering::Relaxed);
        let indent = "  ".repeat(depth as usize);
        match &record.event {
            Event::RunStarted { model, .. } => println!("{indent}{} begins", model.provider),
            Event::ActionStarted { op, .. } => println!("{indent}does: {}", op.describe()),
            Event::RunFinished { status, .. } => println!("{indent}ends: {}", status.as_str()),
            _ => {}
        }
    }

    fn note(&self, _: u32, note: &Note) {
        if let Note::Output { text, .. } = note {
            print!("{text}");
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let project = tempfile::tempdir()?;
    let narrator = Narrator::default();
    let events = Arc::clone(&narrator.events);
    let session = Metier::open(project.path())?.session().model("router").observer(narrator);
    let run = session.run("how do I write a good description for a skill?")?;
    println!("{}", run.answer().lines().next().unwrap_or_default());
    println!("{} events", events.load(Ordering::Relaxed));
    Ok(())
}
