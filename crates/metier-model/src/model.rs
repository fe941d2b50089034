//! The seam to all models: one call, one reply, and why there was none.
//!
//! A model gives words; what they mean is `parse`'s business. Retrying what can be retried (429,
//! 5xx, resets) is the adapter's; an error that comes out of here is final for this turn. The
//! token ends a call wherever it waits, as `Cancelled`.

use std::fmt;
use std::time::Duration;

use metier_cancel::CancelToken;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Decision;
use crate::turn::Turn;

/// Receives events while a reply is streamed.
pub type Sink<'a> = &'a mut dyn FnMut(StreamEvent);

/// A model: turns the state of a run into the next decision.
pub trait Model: Send + Sync {
    /// The provider and the model's name.
    fn info(&self) -> ModelInfo;

    /// The reply to one turn.
    fn reply(&self, turn: &Turn, sink: Sink<'_>, cancel: &CancelToken)
    -> Result<Reply, ModelError>;

    /// Asks in this mode and no other from now on; false where there is only one way to ask.
    fn ask_only_in(&self, mode: OutputMode) -> bool {
        let _ = mode;
        false
    }

    /// Tokens that it can take in: as the settings say, or else as its server does.
    fn context_size(&self, cancel: &CancelToken) -> Option<u32> {
        let _ = cancel;
        self.info().window
    }
}

/// Who a model is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The adapter: `openai`, `anthropic`, `scripted`, `replay`, `router`.
    pub provider: String,
    /// The model's name there.
    pub name: String,
    /// Tokens that it can take in, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

impl ModelInfo {
    /// A model whose window is not known.
    pub fn new(provider: impl Into<String>, name: impl Into<String>) -> Self {
        Self { provider: provider.into(), name: name.into(), window: None }
    }
}

/// How a decision is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// The provider holds the reply to a JSON Schema.
    JsonSchema,
    /// A tool whose arguments are the decision.
    ToolCall,
    /// The prompt asks for JSON; the provider does not enforce it.
    Prompted,
}

impl OutputMode {
    /// The word that is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonSchema => "json_schema",
            Self::ToolCall => "tool_call",
            Self::Prompted => "prompted",
        }
    }
}

/// What happens while a reply is on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// More of the reply's text. After `Retrying` it starts anew.
    Text(String),
    /// An attempt failed and another follows.
    Retrying {
        /// Which attempt failed, from 1.
        attempt: u32,
        /// Why.
        error: ModelError,
        /// How long until the next.
        delay: Duration,
    },
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The words: of the message, or the arguments of the one tool call.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// How many decisions it holds: more than one when a provider gave several tool calls.
    #[serde(default = "one")]
    pub parts: u32,
    /// What it cost.
    #[serde(default)]
    pub usage: Usage,
    /// How it was asked for.
    pub mode: OutputMode,
}

impl Reply {
    /// The complete reply of a model that makes decisions instead of writing text.
    pub fn of(decision: &Decision) -> Self {
        Self {
            text: decision.to_json(),
            finish: Finish::Stop,
            parts: one(),
            usage: Usage::default(),
            mode: OutputMode::JsonSchema,
        }
    }
}

const fn one() -> u32 {
    1
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was complete.
    Stop,
    /// It was cut off at the limit of tokens.
    Length,
    /// The model or its provider refused.
    Refusal,
    /// The provider did not say. What it gave may be incomplete.
    Unknown,
}

/// Tokens and times of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens sent, those from a cache included.
    pub input: u64,
    /// Tokens received, reasoning included.
    pub output: u64,
    /// Tokens sent that the provider had in its cache.
    pub cache_read: u64,
    /// Tokens that the provider put into its cache.
    pub cache_write: u64,
    /// Tokens of reasoning among those received.
    pub reasoning: u64,
    /// Whether we had to estimate.
    pub estimated: bool,
    /// Attempts that it took.
    pub attempts: u32,
    /// Milliseconds until the first words.
    pub first_ms: u64,
    /// Milliseconds in all.
    pub total_ms: u64,
    /// Bytes of the request's body as it went out, of the attempt that succeeded; 0 where nothing is
    /// sent.
    pub sent_bytes: u64,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelError {
    /// What kind of failure.
    pub kind: ModelErrorKind,
    /// What happened, with the provider's own words; never a key.
    pub message: String,
    /// The status of HTTP, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Attempts that were made.
    #[serde(default)]
    pub attempts: u32,
}

/// The kinds of failures, with stable codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// Too many requests (429).
    RateLimited,
    /// The provider is overloaded (529, 503).
    Overloaded,
    /// The provider failed (5xx).
    ServerError,
    /// It cannot be reached, or the connection broke off.
    Network,
    /// The connection is not safe: a certificate or the protocol is wrong.
    Tls,
    /// It took too long.
    TimedOut,
    /// The prompt is larger than the model's window.
    ContextOverflow,
    /// The key is missing, wrong or may not do this (401, 403).
    Unauthorized,
    /// The model or the address does not exist (404).
    NotFound,
    /// The provider does not take the request (400, 413, 422).
    BadRequest,
    /// What came back is not what the protocol says.
    Protocol,
    /// What came back is larger than we take.
    ReplyTooLarge,
    /// The caller stopped it.
    Cancelled,
    /// A scripted or recorded model has no more replies.
    Exhausted,
    /// The settings cannot be used.
    Config,
}

impl ModelErrorKind {
    /// The code as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::Network => "network",
            Self::Tls => "tls",
            Self::TimedOut => "timed_out",
            Self::ContextOverflow => "context_overflow",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not_found",
            Self::BadRequest => "bad_request",
            Self::Protocol => "protocol",
            Self::ReplyTooLarge => "reply_too_large",
            Self::Cancelled => "cancelled",
            Self::Exhausted => "exhausted",
            Self::Config => "config",
        }
    }

    /// Whether another attempt may succeed.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Overloaded
                | Self::ServerError
                | Self::Network
                | Self::TimedOut
                | Self::Protocol
        )
    }

    /// What to do next.
    pub const fn help(self) -> &'static str {
        match self {
            Self::RateLimited => "wait, or use another model or key",
            Self::Overloaded | Self::ServerError => "try again later; the fault is the provider's",
            Self::Network => "check the address (`model.base_url`) and the connection",
            Self::Tls => "check the address and the certificate of the server",
            Self::TimedOut => "try again, or raise `model.params.timeout_s`",
            Self::ContextOverflow => "ask for less at once, or use a model with a larger window",
            Self::Unauthorized => "check the key, and that it may use this model",
            Self::NotFound => "check the model's name and the address (`model.base_url`)",
            Self::BadRequest => "see what the provider says; `model.params` are passed as they are",
            Self::Protocol => "check that the address speaks this provider's protocol",
            Self::ReplyTooLarge => "check the address; no model answers at such length",
            Self::Cancelled => "nothing to do: it was cancelled",
            Self::Exhausted => "give the model more replies, or the run fewer turns",
            Self::Config => "fix the settings of the model",
        }
    }
}

impl ModelError {
    /// A failure of this kind.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after_ms: None, attempts: 1 }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.kind.as_str())
    }
}

impl std::error::Error for ModelError {}
