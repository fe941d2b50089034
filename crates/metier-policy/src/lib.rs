//! What may be done: requests, rules, layers, decisions that explain themselves, and open asks.
//!
//! This crate is pure: no files, no clock, no runtime. A caller makes a [`Request`], asks the
//! [`Policy`], and follows the [`PolicyDecision`]. The same request gets the same decision from every
//! caller: a model's action, a slash command, the command line, a server.
//!
//! ```text
//! who wants what, on what, for which skill        Request
//!         |
//!         v   rules of managed, user, approval, project, run      RuleLayer      last match wins
//!         |   what holds without a rule, by risk and place         defaults
//!         |   a skill's allowed-tools                              Ceiling    only takes away
//!         |   trust in a project's skills                          TrustStatus   only takes away
//!         |   files that CI and builds run                        guarded    only a rule about that file
//!         |   keys, start-up files, our own files, other skills    floor      nothing lowers it
//!         v   joined by the strictest: deny < ask < allow
//!     PolicyDecision --ask--> remembered "always"?  AnswerMemory   else  Asks: once | always | reject
//! ```
//!
//! | module | owns |
//! |---|---|
//! | `permission` | what can be asked for, and its risk ([`Permission`], [`Risk`]) |
//! | `subject`, `command_line` | what it is about ([`Subject`]), checked as text |
//! | `request` | [`Request`] and its digest, which an approval names |
//! | `wildcard`, `words`, `pattern` | matching: text, commands word by word, both |
//! | `rule` | [`Rule`]s in a [`RuleLayer`] |
//! | `defaults` | what applies without rules |
//! | `floor`, `protected`, `executed`, `places`, `place_table` | what no rule can change, and what asks unless a rule names that very file |
//! | `ceiling`, `tool_names`, `attribution` | `allowed-tools`, other agents' names for tools, and what a ceiling holds |
//! | `policy`, `decision`, `effect` | [`Policy`], [`PolicyDecision`] and its sentences |
//! | `memory`, `trust` | remembered answers and trust, as data ([`AnswerMemory`], [`TrustedFolders`]) |
//! | `asks`, `answer` | asks that wait for an [`Answer`], between threads ([`Asks`]) |
//! | `examples` | expectations in policy files ([`check_examples`]) |
//! | `error` | why a request, a rule or an answer is invalid ([`PolicyError`]) |
//!
//! Files on disk: none. Reading rules is `metier-config`'s, keeping memory and trust is the caller's.
//! The sandbox, not this crate, limits what a program does once it runs.
//!
//! ```
//! use metier_policy::{
//!     AbsolutePath, Effect, RuleLayer, AnswerMemory, Permission, PlacedRule, PolicyPlaces, Policy, Request, Rule,
//!     RuleSource, RequestContext, Subject, UnixTime,
//! };
//!
//! # fn main() -> Result<(), metier_policy::PolicyError> {
//! let rule = |pattern: &str, effect| PlacedRule {
//!     rule: Rule { permission: "run_command".into(), pattern: pattern.into(), effect },
//!     line: None,
//! };
//! let rules = [rule("git *", Effect::Allow), rule("git push", Effect::Ask)];
//! let policy = Policy::new(PolicyPlaces::new(AbsolutePath::new("/home/me/project")?))
//!     .with_layer(RuleLayer::new(RuleSource::User, "config.json", rules)?);
//!
//! let memory = AnswerMemory::default();
//! let situation = RequestContext { loaded: &[], memory: &memory, now: UnixTime(0) };
//! let push = Subject::command(["git", "push", "--force"])?;
//! let decision = policy.decide(&Request::new(Permission::RunCommand, vec![push]), &situation);
//! assert_eq!(decision.effect, Effect::Ask);
//! assert_eq!(
//!     decision.reason,
//!     "`run_command` of `git push --force` needs approval: \
//!      by the rule ask `run_command` `git push` (config.json)"
//! );
//! # Ok(())
//! # }
//! ```

mod answer;
mod asks;
mod attribution;
mod ceiling;
mod command_line;
mod decision;
mod defaults;
mod effect;
mod error;
mod examples;
mod executed;
mod floor;
mod memory;
mod pattern;
mod permission;
mod place_table;
mod places;
mod policy;
mod protected;
mod request;
mod rule;
mod subject;
mod tool_names;
mod trust;
mod wildcard;
mod words;

pub use answer::Answer;
pub use asks::{AskEvent, AskId, AskListener, AskOutcome, AskWaiter, Asks, PendingAsk};
pub use ceiling::Ceiling;
pub use command_line::parse_command_line;
pub use decision::{AskWaiver, CeilingRefusal, LayerDecision, LayerKind, PolicyDecision};
pub use effect::Effect;
pub use error::PolicyError;
pub use examples::{
    Example, ExampleFault, ExampleOutcome, PlacedExample, check_examples, subject_of,
};
pub use memory::{AnswerMemory, AnswerScope, Lifetime, RememberedAnswer, UnixTime};
pub use permission::{ForeignToolName, Permission, Risk};
pub use places::PolicyPlaces;
pub use policy::{CeilingReach, LoadedSkill, Policy, Preapproval, RequestContext};
pub use request::{ActingSkill, AlwaysScope, Invoker, Request};
pub use rule::{PlacedRule, Rule, RuleAt, RuleLayer, RuleSource};
pub use subject::{AbsolutePath, Argv, Host, Subject};
pub use trust::{FollowedFolder, TrustStatus, TrustedFolder, TrustedFolders};
