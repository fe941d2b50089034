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
use metier_model::{Key, NAMED_ENDPOINTS, NamedEndpoint, is_readable_on_the_way, is_same_server};
use metier_tools::FailureCode;

use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};

/// How long a program may take to print a key; a person may have to unlock a store first.
const KEY_COMMAND_TIMEOUT: Duration = Duration::from_mins(1);
const MAX_KEY_BYTES: u64 = 16 * 1024;

/// A key, and where it came from in words for the user.
pub(crate) struct FoundKey {
    pub(crate) key: Key,
    pub(crate) origin: String,
}

/// The key for an endpoint. `settings` are the user's for this very one: a key for one provider must
/// not reach another.
pub(crate) fn key(
    settings: Option<&ModelSettings>,
    endpoint: &NamedEndpoint,
    environment: &Environment,
    cancel: &CancelToken,
) -> Result<FoundKey> {
    if let Some([program, args @ ..]) = settings.and_then(|it| it.key_command.as_deref()) {
        let key = printed_by(program, args, cancel)?;
        let origin = format!("the key was printed by `{program}` (`model.key_command`)");
        return Ok(FoundKey { key, origin });
    }
    let value = |name: &str| environment.text(name).map(Key::new).filter(|key| !key.is_empty());
    let found =
        |name: &str, key: Key| FoundKey { key, origin: format!("the key is the one in {name}") };
    if let Some(name) = settings.and_then(|it| it.key_env.as_deref()) {
        return value(name).map(|key| found(name, key)).ok_or_else(|| {
            let message = format!("the variable {name} (`model.key_env`) is not set");
            Error::failed("no-key", message).with_help("set it, or name another variable")
        });
    }
    let none = |origin: String| FoundKey { key: Key::default(), origin };
    let Some(name) = endpoint.key_env else {
        let origin = "no key was sent; `model.key_env` names the variable that holds one";
        return Ok(none(origin.to_owned()));
    };
    if let Some(reason) = reason_to_withhold(settings, endpoint, environment) {
        let origin = format!(
            "no key was sent, because {reason}; `model.key_env` names the variable whose key may go there"
        );
        return Ok(none(origin));
    }
    Ok(value(name).map_or_else(
        || FoundKey {
            key: Key::default(),
            origin: format!("no key was sent, because {name} is not set"),
        },
        |key| found(name, key),
    ))
}

/// Why the key in an endpoint's usual variable, which no setting names, does not go to the address in use: it is
/// meant for the provider, and the address is someone else's, or others on the way can read it.
pub(crate) fn reason_to_withhold(
    settings: Option<&ModelSettings>,
    endpoint: &NamedEndpoint,
    environment: &Environment,
) -> Option<&'static str> {
    let is_named = |it: &ModelSettings| it.key_env.is_some() || it.key_command.is_some();
    if settings.is_some_and(is_named) {
        return None;
    }
    if let Some(address) = settings.and_then(|it| it.base_url.as_deref()) {
        return (!is_same_server(address, endpoint.base_url))
            .then_some("`model.base_url` is an address of your own");
    }
    let address = endpoint.base_url_env.and_then(|name| environment.text(name));
    address
        .filter(|address| is_readable_on_the_way(address))
        .map(|_| "the connection is not encrypted")
}

/// The keys that the environment holds, whichever model is asked.
pub(crate) fn keys_of_environment(settings: &ModelSettings, environment: &Environment) -> Vec<Key> {
    let names = NAMED_ENDPOINTS.iter().map(|endpoint| endpoint.key_env);
    let names = names.chain([settings.key_env.as_deref()]);
    let values = names.flatten().filter_map(|name| environment.text(name));
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
