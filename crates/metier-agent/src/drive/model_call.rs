//! Asking the model: the turn goes out, notes come while its reply streams, and the reply or the failure
//! is the input that follows.
//!
//! Nothing that may not be sent is in the turn, and nothing that may not be shown in the notes.

use std::sync::Arc;

use metier_model::early::{Early, EarlyEvent};
use metier_model::{ModelErrorKind, StreamEvent};
use metier_sandbox::Redactor;

use super::run_time::RunTime;
use super::{Agent, Note};
use crate::context::Fixed;
use crate::error::AgentError;
use crate::event::Event;
use crate::masking;
use crate::recorder::Recorder;
use crate::state::State;

impl Agent<'_> {
    pub(super) fn call_model(
        &self,
        recorder: &mut dyn Recorder,
        state: &State,
        fixed: &Fixed,
        time: &RunTime<'_>,
        depth: u32,
    ) -> Result<Event, AgentError> {
        recorder.sync()?;
        let mut turn = fixed.turn(state);
        let secrets = self.executor.secrets();
        if let Some(secrets) = secrets {
            // What was recorded before a value was known as one: a run may be resumed with another key.
            masking::mask_turn(&mut turn, secrets);
        }
        let number = turn.number;
        let is_heard = self.observer.hears_notes();
        let mut early = Early::new();
        let mut stream = secrets.map(|secrets| Redactor::of_values(Arc::clone(secrets)));
        let mut unwritten = None;
        let show = |known: Vec<EarlyEvent>| {
            for known in known {
                let note = match known {
                    EarlyEvent::ActionKnown { kind, target } => {
                        Note::ActionKnown { turn: number, kind: kind.to_owned(), target }
                    }
                    EarlyEvent::AnswerText(text) => Note::AnswerText(text),
                };
                self.observer.note(depth, &note);
            }
        };
        let mut sink = |event: StreamEvent| match event {
            StreamEvent::Text(text) if is_heard => {
                let text = match &mut stream {
                    Some(stream) => shown(&stream.push(text.as_bytes())),
                    None => text,
                };
                show(early.push(&text));
            }
            StreamEvent::Retrying { attempt, error, delay } => {
                early.reset();
                stream = secrets.map(|secrets| Redactor::of_values(Arc::clone(secrets)));
                self.observer.note(depth, &Note::Anew);
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                let event = Event::ModelRetrying { turn: number, attempt, error, delay_ms };
                if let Err(error) = self.write(recorder, &event, depth) {
                    unwritten.get_or_insert(error);
                }
            }
            _ => {}
        };
        let replied = self.model.reply(&turn, &mut sink, self.cancel);
        if let Some(error) = unwritten {
            return Err(error);
        }
        if let Some(mut stream) = stream {
            show(early.push(&shown(&stream.finish())));
        }
        Ok(match replied {
            Ok(reply) => Event::ModelReplied { turn: number, reply },
            // A model that is not ours may give up in its own words.
            Err(_) if time.is_stopped() => time.no_reply(number),
            Err(error) if error.kind == ModelErrorKind::Cancelled => Event::CancelRequested {},
            Err(error) => Event::ModelFailed { turn: number, error },
        })
    }
}

/// A piece of a stream as text. Values are masked whole, so no character is cut.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
