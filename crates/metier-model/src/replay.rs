//! A model that gives recorded replies again, by the number of the turn.
//! It looks at nothing else; comparing what it is asked with what was asked is the caller's.

use metier_cancel::CancelToken;

use crate::model::{Model, ModelError, ModelErrorKind, ModelInfo, Reply, Sink, StreamEvent};
use crate::turn::Turn;

/// What a model replied once, turn by turn.
#[derive(Debug, Clone)]
pub struct Replay {
    name: String,
    replies: Vec<Result<Reply, ModelError>>,
}

impl Replay {
    /// The replies of a recorded run; the first is for turn 1.
    pub fn new(name: impl Into<String>, replies: Vec<Result<Reply, ModelError>>) -> Self {
        Self { name: name.into(), replies }
    }
}

impl Model for Replay {
    fn info(&self) -> ModelInfo {
        ModelInfo { provider: "replay".to_owned(), name: self.name.clone(), window: None }
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::new(ModelErrorKind::Cancelled, "the call was stopped"));
        }
        let position = turn.number.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        let Some(recorded) = position.and_then(|at| self.replies.get(at)) else {
            let message = format!(
                "the recording `{}` has {} replies, and this is turn {}",
                self.name,
                self.replies.len(),
                turn.number
            );
            return Err(ModelError::new(ModelErrorKind::Exhausted, message));
        };
        let reply = recorded.clone()?;
        if !reply.text.is_empty() {
            sink(StreamEvent::Text(reply.text.clone()));
        }
        Ok(reply)
    }
}
