//! The password of a secret key: from standard input, from the environment, or typed without being shown.
//! Never from the command line, which every process of the machine can read.

use std::io::{self, BufRead};

use clap::Args;
use metier::sign::Zeroizing;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::prompt;

/// The variable that holds a password where no one can be asked.
pub(crate) const PASSWORD_VARIABLE: &str = "METIER_KEY_PASSWORD";

/// Where the password of a secret key comes from.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct PasswordArgs {
    /// Read the key's password from the first line of standard input.
    #[arg(long)]
    password_stdin: bool,
}

impl PasswordArgs {
    /// The password of an existing key; `None` where there is none and no one to ask.
    pub(crate) fn existing(self, context: &Context, json: bool) -> Option<Zeroizing<String>> {
        match self.given(context) {
            Some(given) => Some(given),
            None if prompt::can_ask(json) => prompt::ask_secret("Password of the key:"),
            None => None,
        }
    }

    /// A password for a new key, typed twice.
    pub(crate) fn new_one(self, context: &Context, json: bool) -> Result<Zeroizing<String>> {
        if let Some(given) = self.given(context) {
            return Ok(given);
        }
        if !prompt::can_ask(json) {
            return Err(CommandError::usage("a new key needs a password").help(format!(
                "use --password-stdin, set {PASSWORD_VARIABLE}, or --no-password for a key without one"
            )));
        }
        let first = prompt::ask_secret("Password for the new key:").unwrap_or_default();
        if first.is_empty() {
            return Err(CommandError::failed("key-password", "no password was typed")
                .help("--no-password makes a key without one"));
        }
        match prompt::ask_secret("The same again:") {
            Some(second) if second == first => Ok(first),
            _ => Err(CommandError::failed(
                "key-password",
                "the two passwords differ; nothing was made",
            )),
        }
    }

    fn given(self, context: &Context) -> Option<Zeroizing<String>> {
        if self.password_stdin {
            let mut line = Zeroizing::new(String::new());
            io::stdin().lock().read_line(&mut line).ok()?;
            let end = line.trim_end_matches(['\r', '\n']).len();
            line.truncate(end);
            return Some(line);
        }
        context.metier.environment().text(PASSWORD_VARIABLE).map(Zeroizing::new)
    }
}
