//! The agent: a loop that asks a model, judges what it wants, does it, and shows it the result.
//!
//! ```text
//! Setup --> State --step(input)--> events + one effect --driver--> model | policy | person | tools
//!             ^                                                        |
//!             +--------------------------- input <---------------------+
//! every input and event --> events.jsonl (a hash chain) --> display, resume, replay, audit
//! ```
//!
//! | module | owns |
//! |---|---|
//! | [`setup`], `skill_cards` | what a run is given ([`Setup`]), and the skills that it knows |
//! | `run_id` | the name of a run, which sorts by age ([`RunId`]) |
//! | [`event`], [`op`] | everything that happens, as data ([`Event`], [`Op`], [`Outcome`]) |
//! | `state`, [`mod@step`] | where a run stands, and the pure step |
//! | `resolve`, `observe` | an action to operations; outcomes to what the model is shown (pure) |
//! | `prompt_parts` | what prompts of many runs share (pure) |
//! | `request_words` | what the words of a request tell before a model has read them (pure) |
//! | [`context`] | the prompt of a turn, and keeping it within its size (pure) |
//! | [`mod@fold`] | a record back to a state: resume and replay (pure) |
//! | [`log`] | the record as text: a line an event, chained by hashes (pure) |
//! | [`drive`], `inner` | the driver, and loops inside a loop ([`Agent`]) |
//! | `masking` | values that are never sent, shown or recorded (pure) |
//! | [`executor`] | what the driver needs of the world ([`Executor`], [`Approver`]) |
//! | [`ask_approver`] | questions that many can hear and answer ([`AskApprover`]) |
//! | [`recorder`], `unrecorded`, [`folder`] | writing events down, or not; the folder of a run ([`RunFolder`]) |
//! | [`anchor`] | what the user's state remembers of a record ([`Anchors`]) |
//! | [`summary`] | `run.json`, made from the events alone (pure; [`Summary`]) |
//! | [`trashed`] | the files that a run deleted, as its record knows them |
//! | [`mod@audit`] | whether a record is what was written |
//! | [`export`] | a record in the formats of others: ATIF, OpenTelemetry (pure) |
//! | [`local_executor`] | the real executor: index, policy, tools ([`LocalExecutor`]) |
//! | [`setup_builder`] | a setup from an index, a request and settings |
//! | `error` | why a run cannot begin or be resumed ([`AgentError`]) |
//!
//! Files on disk: the folder of a run, through `metier-fs`. Talking to models is `metier-model`'s,
//! deciding `metier-policy`'s, reading skills `metier-loader`'s, doing things `metier-tools`'.

pub mod anchor;
pub mod ask_approver;
pub mod audit;
pub mod context;
pub mod drive;
mod error;
pub mod event;
pub mod executor;
pub mod export;
pub mod fold;
pub mod folder;
mod inner;
pub mod local_executor;
pub mod log;
mod masking;
mod observe;
pub mod op;
mod prompt_parts;
pub mod recorder;
mod request_words;
mod resolve;
mod run_id;
pub mod setup;
pub mod setup_builder;
mod skill_cards;
mod state;
pub mod step;
pub mod summary;
pub mod trashed;
mod unrecorded;

pub use anchor::Anchors;
pub use ask_approver::{AskApprover, AskDetails};
pub use drive::{Agent, Note, Observer, SilentObserver};
pub use error::AgentError;
pub use event::{Event, PlanAuthor, Spent, Status};
pub use executor::{
    ActionContext, Approval, Approver, Asked, AutoApprove, DecidedAction, Executor, Judgement,
    NoApprover, PreparedAction, Question, RunSkills, ScriptTerms,
};
pub use fold::{Difference, fold};
pub use folder::{RunFolder, runs_in};
pub use local_executor::LocalExecutor;
pub use log::Record;
pub use metier_policy::Answer;
pub use op::{Op, Outcome};
pub use prompt_parts::KnownParts;
pub use run_id::{InvalidRunId, RunId};
pub use setup::{
    BudgetSetting, Chosen, Mode, OuterCeilings, PinnedSkill, RunLimits, Setup, SkillCard, ToolCard,
};
pub use skill_cards::{OfferedCards, SkillCards};
pub use state::{Finished, State};
pub use step::{StepEffect, step};
pub use summary::Summary;
pub use unrecorded::Unrecorded;
