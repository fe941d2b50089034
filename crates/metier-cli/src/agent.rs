//! What the commands that run an agent share: how a run is shown, and how a person answers it.
//!
//! | module | owns |
//! |---|---|
//! | `console` | the terminal of one command: watcher, questions, Ctrl-C |
//! | `terminal` | a person at the terminal, who answers questions |
//! | `diff` | what a file would become, shown before it is approved |
//! | `line_editor` | the line of a chat: editing, history |
//! | `signal` | Ctrl-C: once cancels the run, twice ends the program |
//! | `typed` | lines that a person types, until Ctrl-C |
//! | `watch` | showing a run: live, in plain lines, or as JSON lines |

pub(crate) mod console;
mod diff;
pub(crate) mod line_editor;
pub(crate) mod signal;
mod terminal;
pub(crate) mod typed;
pub(crate) mod watch;
