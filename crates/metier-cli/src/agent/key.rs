//! The key of a provider: from the environment, or printed by a program that the user named.
//!
//! A key is never read from a project's file, never shown, and never kept.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use metier_config::ModelSettings;
use metier_model::Key;

use crate::context::promised_variable;
use crate::error::{CommandError, Result};
use crate::render::safe;

/// How long a program may take to print a key; somebody may have to unlock a store first.
const PATIENCE: Duration = Duration::from_mins(1);
const LARGEST: u64 = 16 * 1024;

/// The key for a provider; `usual` is the variable that its own tools read. `settings` are the user's
/// for this very provider: what opens one provider is no business of another.
pub(crate) fn key(settings: Option<&ModelSettings>, usual: &str) -> Result<Key> {
    let Some(settings) = settings else {
        return Ok(usual_key(usual));
    };
    if let Some([program, args @ ..]) = settings.key_command.as_deref() {
        return printed_by(program, args);
    }
    if let Some(name) = &settings.key_env {
        let value = promised_variable(name).filter(|value| !value.trim().is_empty());
        return value.map(Key::new).ok_or_else(|| {
            let message = format!("the variable {} (`model.key_env`) is not set", safe(name));
            CommandError::failed("no-key", message).help("set it, or name another variable")
        });
    }
    Ok(usual_key(usual))
}

fn usual_key(name: &str) -> Key {
    promised_variable(name).map(Key::new).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "the user's own program, outside any sandbox")]
fn printed_by(program: &str, args: &[String]) -> Result<Key> {
    let failed = |reason: String| {
        let message = format!("`model.key_command` ({}) gave no key: {reason}", safe(program));
        CommandError::failed("no-key", message)
            .help("run the command by hand; it must print the key alone")
    };
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let reader = child.stdout.take().map(|out| {
        std::thread::spawn(move || {
            let mut text = String::new();
            out.take(LARGEST).read_to_string(&mut text).map(|_| text)
        })
    });
    let since = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| failed(error.to_string()))? {
            Some(status) => break status,
            None if since.elapsed() > PATIENCE => {
                let _ = child.kill();
                return Err(failed("it took too long".to_owned()));
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    if !status.success() {
        return Err(failed(format!("it ended with {status}")));
    }
    let text = reader.and_then(|reader| reader.join().ok()).and_then(std::result::Result::ok);
    // The first line: some stores print notes after it.
    let line = text.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    if line.trim().is_empty() {
        return Err(failed("it printed nothing".to_owned()));
    }
    Ok(Key::new(line))
}
