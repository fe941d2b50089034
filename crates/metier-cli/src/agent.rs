//! What the commands that run an agent share: who decides, what it may do, and how it is asked.
//!
//! | module | owns |
//! |---|---|
//! | `model` | the model that the settings and flags name |
//! | `key` | the key of a provider, from the environment or a program |
//! | `shop` | the hands of a run: index, policy, tools, machine |
//! | `own_runs` | which runs this user began |
//! | `approver` | answers: flags, whoever listens, or nobody |
//! | `terminal` | the person at the terminal, one of those who listen |
//! | `diff` | what a file would become, shown before somebody approves it |
//! | `signal` | Ctrl-C: once asks the run to stop, twice ends the program |
//! | `typed` | lines that somebody types, until Ctrl-C |
//! | `watch` | showing a run: live, in plain lines, or as JSON lines |

pub(crate) mod approver;
mod diff;
mod key;
pub(crate) mod model;
pub(crate) mod own_runs;
pub(crate) mod shop;
pub(crate) mod signal;
pub(crate) mod terminal;
pub(crate) mod typed;
pub(crate) mod watch;
