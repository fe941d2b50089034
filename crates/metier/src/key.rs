//! The key of a provider: from the environment, or printed by a program that the user named.
//!
//! A key is never read from a project's file, never shown, and never stored: where it stands in a file
//! that a run reads, it is masked, and so is a key in the environment that the run does not use.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_config::ModelSettings;
use metier_model::Key;
use metier_tools::FailureCode;

use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};

/// The variables that the providers' own tools read.
pub(crate) const OPENAI_KEY: &str = "OPENAI_API_KEY";
pub(crate) const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";

/// How long a program may take to print a key; a person may have to unlock a store first.
const KEY_COMMAND_TIMEOUT: Duration = Duration::from_mins(1);
const MAX_KEY_BYTES: u64 = 16 * 1024;

/// The key for a provider; `usual` is the variable that its own tools read. `settings` are the user's
/// for this very provider: a key for one provider must not reach another.
pub(crate) fn key(
    settings: Option<&ModelSettings>,
    usual: &str,
    environment: &Environment,
    cancel: &CancelToken,
) -> Result<Key> {
    let usual_key = || environment.text(usual).map(Key::new).unwrap_or_default();
    let Some(settings) = settings else { return Ok(usual_key()) };
    if let Some([program, args @ ..]) = settings.key_command.as_deref() {
        return printed_by(program, args, cancel);
    }
    let Some(name) = &settings.key_env else { return Ok(usual_key()) };
    let value = environment.text(name).filter(|value| !value.trim().is_empty());
    value.map(Key::new).ok_or_else(|| {
        let message = format!("the variable {name} (`model.key_env`) is not set");
        Error::failed("no-key", message).with_help("set it, or name another variable")
    })
}

/// The keys that the environment holds, whichever model is asked.
pub(crate) fn keys_of_environment(settings: &ModelSettings, environment: &Environment) -> Vec<Key> {
    let names = [Some(OPENAI_KEY), Some(ANTHROPIC_KEY), settings.key_env.as_deref()];
    let values = names.into_iter().flatten().filter_map(|name| environment.text(name));
    values.map(Key::new).collect()
}

/// What ends the wait for a key.
enum KeyOutput {
    /// All that was printed; nothing where it cannot be read.
    Printed(Option<String>),
    Cancelled,
}

fn printed_by(program: &str, args: &[String], cancel: &CancelToken) -> Result<Key> {
    let failed = |reason: String| {
        let message = format!("`model.key_command` ({program}) printed no key: {reason}");
        Error::failed("no-key", message)
            .with_help("run the command by hand; it must print the key alone")
    };
    let mut child = start(program, args).map_err(|error| failed(error.to_string()))?;
    let (sender, heard) = channel();
    let out = child.stdout.take();
    let printed = sender.clone();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = out.map(|out| out.take(MAX_KEY_BYTES).read_to_string(&mut text));
        let text = read.is_some_and(|read| read.is_ok()).then_some(text);
        // The one who waits may have given up.
        let _ = printed.send(KeyOutput::Printed(text));
    });
    let _guard = cancel.on_cancel(move || {
        let _ = sender.send(KeyOutput::Cancelled);
    });
    let heard = heard.recv_timeout(KEY_COMMAND_TIMEOUT);
    let Ok(KeyOutput::Printed(text)) = heard else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(match heard {
            Ok(_) => Error::new(
                ErrorKind::Cancelled,
                FailureCode::Cancelled.as_str(),
                format!("cancelled while `model.key_command` ({program}) was running"),
            ),
            Err(_) => failed("it took too long".to_owned()),
        });
    };
    // Its output has ended, so it is about to.
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        return Err(failed(format!("it exited with {status}")));
    }
    // The first line: some stores print notes after it.
    let line = text.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    if line.trim().is_empty() {
        return Err(failed("its output is empty".to_owned()));
    }
    Ok(Key::new(line))
}

#[expect(clippy::disallowed_methods, reason = "the user's own program, outside any sandbox")]
fn start(program: &str, args: &[String]) -> std::io::Result<Child> {
    Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()
}
