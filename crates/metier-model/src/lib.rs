//! Talking to models: what they may decide, how they are asked, and who answers.
//!
//! ```text
//! Turn (what a model sees) --Model::reply--> Reply (its words) --parse--> Decision
//!                                 |
//!                                 +--StreamEvent--> Early: the action's kind and target, answer text
//! ```
//!
//! | module | owns |
//! |---|---|
//! | [`action`] | [`Decision`], [`Action`]: what a model may decide |
//! | [`plan`] | [`Plan`], and how it is replaced or patched |
//! | [`schema`] | the JSON Schema of a decision and the words that explain it, from one table |
//! | `protocol`, `words` | the table of all actions with their fields, and what a model reads of it |
//! | [`turn`] | [`Turn`]: everything that a model sees in one turn, as text and as data |
//! | [`model`] | [`Model`], [`Reply`], [`StreamEvent`], [`ModelError`]: the seam to all models |
//! | [`parse`], `read`, `json`, `fault` | a reply to a decision, or what is wrong with it; nothing is guessed |
//! | [`early`] | a decision while it still streams: for eyes only, never executed |
//! | [`scripted`] | a model whose replies stand in a script |
//! | [`replay`] | a model that gives recorded replies again |
//! | `provider` | [`Provider`]: the providers by the names that settings and flags use |
//! | [`endpoint`], `named_endpoint`, [`retry`] | the settings of an adapter: address, key, timeouts, backoff |
//! | [`openai`], [`anthropic`] | the adapters; in each, requests and replies apart, both pure |
//! | `responses` | the newer protocol of the first |
//! | [`mod@probe`] | one small decision, to try a model |
//! | `adapter` | what adapters share: attempts, backoff, stepping down, cancelling |
//! | `functions` | a decision as functions that a model can call |
//! | `request_style` | how a provider is asked, and what to try when it does not take that |
//! | `http` | one request over HTTP |
//! | `reader`, `sse`, `reply_builder` | bytes to a reply, however they are cut |
//! | `failure` | what a provider says when it does not answer |
//! | `raw` | the readers without HTTP, for fuzzing |
//!
//! Files on disk: none. Finding and loading skills, deciding what may be done and doing it are the
//! business of higher crates; keys are read by the caller.

#[cfg(feature = "http")]
mod adapter;
#[cfg(feature = "http")]
mod failure;
mod fault;
#[cfg(feature = "http")]
mod functions;
#[cfg(feature = "http")]
mod http;
mod json;
mod named_endpoint;
mod protocol;
mod provider;
mod read;
#[cfg(feature = "http")]
mod reader;
#[cfg(feature = "http")]
mod reply_builder;
#[cfg(feature = "http")]
mod request_style;
#[cfg(feature = "http")]
mod responses;
#[cfg(feature = "http")]
mod sse;
mod words;

pub mod action;
#[cfg(feature = "http")]
pub mod anthropic;
pub mod early;
#[cfg(feature = "http")]
pub mod endpoint;
pub mod model;
#[cfg(feature = "http")]
pub mod openai;
pub mod parse;
pub mod plan;
#[cfg(feature = "http")]
pub mod probe;
#[cfg(feature = "http")]
#[doc(hidden)]
pub mod raw;
pub mod replay;
#[cfg(feature = "http")]
pub mod retry;
pub mod schema;
pub mod scripted;
pub mod turn;

pub use action::{Action, AnswerStatus, Decision, SkillRef};
#[cfg(feature = "http")]
pub use anthropic::Anthropic;
pub use early::{Early, EarlyEvent};
#[cfg(feature = "http")]
pub use endpoint::{
    Endpoint, Key, Timeouts, is_on_this_machine, is_readable_on_the_way, is_same_server,
};
pub use model::{
    Finish, Model, ModelError, ModelErrorKind, ModelInfo, OutputMode, Reply, StreamEvent, Usage,
};
pub use named_endpoint::{NAMED_ENDPOINTS, NamedEndpoint, Protocol};
#[cfg(feature = "http")]
pub use openai::OpenAi;
pub use parse::{FaultCode, ParseFault, parse_reply, parse_text};
pub use plan::{Plan, PlanStep, PlanUpdate, StepStatus};
#[cfg(feature = "http")]
pub use probe::{EndpointTest, Probe, Support, probe};
pub use protocol::{DecisionForm, PlanMode, SkillSearch};
pub use provider::{Provider, UnknownProvider};
pub use replay::Replay;
#[cfg(feature = "http")]
pub use retry::RetryPolicy;
pub use schema::{call_instructions, decision_schema, instructions};
pub use scripted::{Scripted, script_schema};
pub use turn::{
    LoadedText, Message, OfferedSkill, PastAction, Role, ToolOffer, TrailEntry, Turn, View,
};
