//! The offline model: picks a skill by its description and follows the skill's own commands.
//!
//! It is no language model and never claims to reason: a run on a fresh machine, without a key and
//! without a network, and a stand-in for a model in tests and demonstrations. The same turn always
//! gives the same decision.
//!
//! ```text
//! nothing loaded --a tool answers it--> call_tool --> final_answer
//! nothing loaded --a skill fires--> select_skills --> loaded --a command can be filled--> run_script
//!        |                                              |                                      |
//!        +--none fires--> final_answer                  +--none: load_resource (one)           |
//!                              ^------------------------+--------------------------------------+
//! ```
//!
//! | module | owns |
//! |---|---|
//! | `router`, `planning` | [`Router`]: the choice of a skill, what is done for it, the plan |
//! | `entities`, `chinese`, `chinese_files` | what a request names: files, columns, numbers |
//! | `commands` | the commands that a body gives |
//! | `fill` | what a request names, put into a command's placeholders |
//! | `formats`, `looks` | the kinds of files that a skill says it is for; requests to look at a file of data |
//! | `tables` | the table that is meant where none is named |
//! | `tool_requests`, `file_requests`, `set_phrases` | requests that a tool answers, and which call that is |
//! | `tool_answers` | the words about such a call, and what can be done at all |
//! | `refusals` | what a request says is not to be done |
//! | `reading` | what a skill without a command says about a request |
//! | `answer` | the words, English and Chinese |
//! | `unmet`, `leftover`, `filler_words`, `asides` | what a request asks for that was not passed to a script |
//! | `script` | the same about scripts: a result, or why there is none |
//!
//! It stands above `metier-model`, whose `Model` it is, and above `metier-registry`, whose search
//! ranks the skills: neither needs to know the other.
//!
//! Files on disk: none.

mod answer;
mod asides;
mod chinese;
mod chinese_files;
mod commands;
mod entities;
mod file_requests;
mod fill;
mod filler_words;
mod formats;
mod leftover;
mod looks;
mod planning;
mod reading;
mod refusals;
mod router;
mod script;
mod set_phrases;
mod tables;
mod tool_answers;
mod tool_requests;
mod unmet;

pub use router::Router;
