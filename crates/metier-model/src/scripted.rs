//! A model whose replies stand in a script: for tests, evals and trying things out.
//!
//! Which reply is given follows from the turn alone, never from what this process did before, so a
//! run that is resumed elsewhere continues where it was. Reading the script's file is the caller's
//! business; its language is described in `scripted/script.rs`.

mod place;
mod rule;
mod schema;
mod script;

use std::time::{Duration, Instant};

use metier_cancel::CancelToken;
use metier_skill::{FailureCode, estimate_tokens};

use crate::action::Decision;
use crate::model::{
    Finish, Model, ModelError, ModelErrorKind, ModelInfo, OutputMode, Reply, Sink, StreamEvent,
    Usage,
};
use crate::turn::{PastAction, Turn};
use rule::Rule;
pub use schema::script_schema;

/// Characters of a piece of streamed text.
const PIECE: usize = 24;

/// A model that follows a script.
#[derive(Debug, Clone)]
pub struct Scripted {
    name: String,
    replies: Vec<Entry>,
    rules: Vec<Rule>,
}

/// One reply of a script.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    delay: Duration,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    /// Words, in the pieces in which they are streamed.
    Words {
        pieces: Vec<String>,
        finish: Finish,
        parts: u32,
    },
    Fault(ModelError),
}

impl Scripted {
    /// Reads a script: a JSON object with `replies`, and maybe a `name` and `rules`.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        script::read(text).map_err(|words| ModelError::new(ModelErrorKind::Config, words))
    }

    /// A model that decides these things, one after the other.
    pub fn from_decisions(decisions: Vec<Decision>) -> Self {
        let replies =
            decisions.into_iter().map(|decision| Entry::of(&decision.to_json())).collect();
        Self { name: "decisions".to_owned(), replies, rules: Vec::new() }
    }

    /// What is replied in this turn.
    fn entry(&self, turn: &Turn) -> Result<Entry, ModelError> {
        if let Some(rule) = rule::matching(&self.rules, turn) {
            return Ok(rule.reply.clone());
        }
        let past: Vec<&PastAction> = turn.past().collect();
        // The action was cut off and may be half done: it is decided on again, as it was.
        if let Some(PastAction { action: Some(action), code: Some(code), .. }) = past.last()
            && *code == FailureCode::Interrupted
        {
            return Ok(Entry::of(&Decision::to(action.clone()).to_json()));
        }
        let position = past.iter().filter(|it| it.code != Some(FailureCode::Interrupted)).count();
        self.replies.get(position).cloned().ok_or_else(|| {
            let message = format!(
                "the script `{}` has {}, and turn {} needs one more",
                self.name,
                // Not a noun for `counted`.
                match self.replies.len() {
                    1 => "1 reply".to_owned(),
                    number => format!("{number} replies"),
                },
                turn.number
            );
            ModelError::new(ModelErrorKind::Exhausted, message)
        })
    }
}

impl Entry {
    /// Whole words, streamed in small pieces.
    fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let pieces = chars.chunks(PIECE).map(|piece| piece.iter().collect()).collect();
        Self::new(What::Words { pieces, finish: Finish::Stop, parts: 1 })
    }

    const fn new(what: What) -> Self {
        Self { delay: Duration::ZERO, what }
    }
}

impl Model for Scripted {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("scripted", &self.name)
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        let start = Instant::now();
        let cancelled = || Err(ModelError::new(ModelErrorKind::Cancelled, "the call was stopped"));
        let Entry { delay, what } = self.entry(turn)?;
        if !delay.is_zero() && cancel.wait_timeout(delay) {
            return cancelled();
        }
        let (pieces, finish, parts) = match what {
            What::Words { pieces, finish, parts } => (pieces, finish, parts),
            What::Fault(error) => return Err(error),
        };
        let first_ms = millis(start);
        let text = pieces.concat();
        for piece in pieces {
            if cancel.is_cancelled() {
                return cancelled();
            }
            sink(StreamEvent::Text(piece));
        }
        let usage = Usage {
            input: input_tokens(turn),
            output: tokens(&text),
            estimated: true,
            attempts: 1,
            first_ms,
            total_ms: millis(start),
            ..Usage::default()
        };
        Ok(Reply { text, finish, parts, usage, mode: OutputMode::Prompted })
    }
}

fn millis(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The tokens of everything that a turn sends, estimated part by part.
fn input_tokens(turn: &Turn) -> u64 {
    let trail = turn
        .trail
        .iter()
        .map(|entry| tokens(&entry.observation) + entry.decision.as_deref().map_or(0, tokens));
    tokens(&turn.system) + tokens(&turn.request) + trail.sum::<u64>() + tokens(&turn.tail)
}

fn tokens(text: &str) -> u64 {
    estimate_tokens(text) as u64
}
