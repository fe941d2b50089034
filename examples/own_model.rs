//! A model of our own: whatever can decide what to do next.
//!
//! A model is asked once a turn. It sees the prompt as text (`turn.system`, `turn.messages()`) and the
//! same as data (`turn.view`, `turn.past()`), and replies with one decision. A model that writes text
//! returns it in `Reply::text`, as JSON; one that decides by itself uses `Reply::of`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use metier::model::{Action, Decision, ModelError, ModelInfo, Reply, Sink, Turn};
use metier::{CancelToken, Metier, Model};
use serde_json::json;

/// Lists the directory, then says what it saw.
struct Curious;

impl Model for Curious {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("example", "curious")
    }

    fn reply(&self, turn: &Turn, _: Sink<'_>, _: &CancelToken) -> Result<Reply, ModelError> {
        let action = match turn.trail.last() {
            None => Action::call("list_dir", json!({"path": "."})),
            Some(last) => Action::answer(format!("I saw this:\n{}", last.observation)),
        };
        Ok(Reply::of(&Decision::to(action)))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let project = tempfile::tempdir()?;
    let run = Metier::open(project.path())?.session().own_model(Curious).run("look around")?;
    println!("{}", run.answer());
    Ok(())
}
