//! Asking a person. Questions go to standard error, so that standard output stays data.
//!
//! Where there is no one to ask, a command says which flag would have answered.

use std::io::{self, BufRead, IsTerminal, Write};

use metier::policy::Lifetime;
use metier::sign::Zeroizing;

use crate::agent::signal::Interrupt;
use crate::agent::typed::{StdinLines, TypedLine};
use crate::render::duration;
use crate::render::style::{BOLD, paint};

/// Whether there is a person to ask: both ends are a terminal, and no program waits for JSON.
pub(crate) fn can_ask(json: bool) -> bool {
    !json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Discards what was typed before a question was shown: it cannot be an answer to it.
pub(crate) fn forget_typed() {
    #[cfg(unix)]
    {
        // Fails where this is not a terminal; then nothing was typed either.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}

/// The answer to a question, without blanks around it; `None` when there was none.
pub(crate) fn ask(question: &str) -> Option<String> {
    let mut out = anstream::stderr();
    write!(out, "{} ", paint(BOLD, question)).and_then(|()| out.flush()).ok()?;
    let line = if let Some(cancel) = Interrupt::of_sources() {
        match StdinLines::default().line(&cancel).ok()? {
            TypedLine::Text(line) => line,
            TypedLine::End => return None,
            TypedLine::Stopped => {
                // What follows is not an answer.
                let _ = writeln!(out);
                return None;
            }
        }
    } else {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).ok()?;
        line
    };
    let answer = line.trim();
    (!answer.is_empty()).then(|| answer.to_owned())
}

/// The answer to a question for a secret, which is not shown while it is typed; `None` when there was none.
pub(crate) fn ask_secret(question: &str) -> Option<Zeroizing<String>> {
    forget_typed();
    // Before the question is shown: an answer that comes at once is not seen either.
    let hidden = HiddenInput::begin();
    let mut out = anstream::stderr();
    write!(out, "{} ", paint(BOLD, question)).and_then(|()| out.flush()).ok()?;
    let mut line = Zeroizing::new(String::new());
    let read = io::stdin().lock().read_line(&mut line);
    drop(hidden);
    let _ = writeln!(out);
    read.ok()?;
    let end = line.trim_end_matches(['\r', '\n']).len();
    line.truncate(end);
    Some(line)
}

/// What is typed is not shown until this goes.
struct HiddenInput {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl HiddenInput {
    #[cfg(unix)]
    fn begin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin()).ok();
        if let Some(mut modes) = before.clone() {
            modes.local_modes.remove(LocalModes::ECHO);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        }
        Self { before }
    }

    #[cfg(not(unix))]
    fn begin() -> Self {
        Self {}
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            use rustix::termios::{OptionalActions, tcsetattr};
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// A yes to a request for approval.
pub(crate) enum Consent {
    /// Only this time.
    Once,
    /// Remembered for this long.
    Always(Lifetime),
    /// The same for a script, whatever its arguments.
    AlwaysScript(Lifetime),
    /// `always` with an invalid time: see [`duration::EXPECTED_FORMAT`].
    InvalidTime,
}

/// Reads what was typed as a yes: `y`, `a`, `a 8h`, `s`, `s 8h`.
pub(crate) fn parse_consent(typed: &str) -> Option<Consent> {
    let lower = typed.to_lowercase();
    let (word, time) = lower.split_once(' ').unwrap_or((&lower, ""));
    match (word, time.trim()) {
        ("y" | "yes", "") => Some(Consent::Once),
        ("a" | "always", time) => Some(remembered(time, Consent::Always)),
        ("s" | "script", time) => Some(remembered(time, Consent::AlwaysScript)),
        _ => None,
    }
}

fn remembered(time: &str, consent: fn(Lifetime) -> Consent) -> Consent {
    if time.is_empty() {
        return consent(Lifetime::Unlimited);
    }
    duration::seconds(time).map_or(Consent::InvalidTime, |s| consent(Lifetime::Seconds(s)))
}

/// Whether a person says yes; everything else is no.
pub(crate) fn confirm(question: &str) -> bool {
    forget_typed();
    let answer = ask(&format!("{question} [y/N]"));
    answer.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}
