//! Asking a person. Questions go to standard error, so that standard output stays data.
//!
//! Where nobody can answer nobody is asked: a command then says which flag would have answered.

use std::io::{self, BufRead, IsTerminal, Write};

use metier::policy::Lifetime;

use crate::render::duration;
use crate::render::style::{BOLD, paint};

/// Whether there is a person to ask: both ends are a terminal, and no program waits for JSON.
pub(crate) fn can_ask(json: bool) -> bool {
    !json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Forgets what was typed before a question about leave: it was no answer to what had not been asked.
pub(crate) fn forget_typed() {
    #[cfg(unix)]
    {
        // Where this is no terminal, nothing was typed.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}

/// The answer to a question, without blanks around it; `None` when there was none.
pub(crate) fn ask(question: &str) -> Option<String> {
    let mut out = anstream::stderr();
    write!(out, "{} ", paint(BOLD, question)).and_then(|()| out.flush()).ok()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).ok()?;
    let answer = line.trim();
    (!answer.is_empty()).then(|| answer.to_owned())
}

/// A yes to a question about leave.
pub(crate) enum Leave {
    /// This time.
    Once,
    /// And it is remembered for so long.
    Always(Lifetime),
    /// The same, for what is no time: see [`duration::EXPECTED`].
    NoTime,
}

/// What somebody typed, if it is a yes: `y`, `a`, `a 8h`.
pub(crate) fn leave(typed: &str) -> Option<Leave> {
    let lower = typed.to_lowercase();
    let (word, time) = lower.split_once(' ').unwrap_or((&lower, ""));
    match (word, time.trim()) {
        ("y" | "yes", "") => Some(Leave::Once),
        ("a" | "always", "") => Some(Leave::Always(Lifetime::Unlimited)),
        ("a" | "always", time) => Some(
            duration::seconds(time).map_or(Leave::NoTime, |s| Leave::Always(Lifetime::Seconds(s))),
        ),
        _ => None,
    }
}

/// Whether a person says yes; everything else is no.
pub(crate) fn confirm(question: &str) -> bool {
    forget_typed();
    let answer = ask(&format!("{question} [y/N]"));
    answer.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}
