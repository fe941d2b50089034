//! `metier keys`: the keys whose signatures count, and new ones.
//! The list is the runtime's; this file shows what would be trusted, and asks.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use metier::NewKey;
use metier::sign::{KeyKind, NamedKey, PublicKey, TrustedKey};
use serde::Serialize;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::password::PasswordArgs;
use crate::prompt;
use crate::render::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::render::{count, safe, shell};

/// Keys whose signatures you trust, and keys of your own.
///
/// Trusted keys are in ~/.agent/keys/trusted.json, for you alone. A trusted key says that you know who signed; what
/// a skill does is for `metier scan` and for you to judge.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier keys                              the keys that you trust
  metier keys generate                     a new key of minisign, which you trust
  metier keys trust publisher.pub          a public key of minisign or OpenSSH
  metier keys trust allowed_signers        every key in it
  metier keys trust nvidia-root.pem        an authority, for skill.oms.sig
  metier keys forget publisher")]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the keys that you trust (the default).
    List,
    /// Make a new key of minisign, and trust it: NAME.key is secret, NAME.pub is to be given away.
    Generate {
        /// The name of the key, in ~/.agent/keys.
        #[arg(long, default_value = "default")]
        name: String,
        /// Write FILE.key and FILE.pub instead.
        #[arg(long, short = 'o', value_name = "FILE")]
        output: Option<PathBuf>,
        /// Do not encrypt the secret key.
        #[arg(long, conflicts_with = "password_stdin")]
        no_password: bool,
        #[command(flatten)]
        password: PasswordArgs,
    },
    /// Trust the public keys in a file.
    ///
    /// FILE is a .pub of minisign, a public key of OpenSSH, a file of allowed signers, a PEM public key over P-256 or
    /// P-384, or the PEM certificate of an authority.
    Trust {
        /// The file.
        file: PathBuf,
        /// What you call the key.
        #[arg(long)]
        name: Option<String>,
        /// Do not ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
    /// Stop trusting a key. Skills that it signed stay installed.
    Forget {
        /// Its id, the beginning of it, or its name.
        id: String,
    },
}

#[derive(Serialize)]
struct KeyRow {
    id: String,
    kind: KeyKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    short_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl KeyRow {
    fn new(key: &PublicKey, name: Option<&str>) -> Self {
        let name = name.map(ToOwned::to_owned);
        Self { id: key.id(), kind: key.kind(), short_id: key.short_id(), name }
    }

    fn trusted(key: &TrustedKey) -> Self {
        Self::new(&key.key, key.name.as_deref())
    }

    fn line(&self) -> String {
        let name = self.name.as_deref().unwrap_or("-");
        let short = self.short_id.as_ref().map_or_else(String::new, |id| format!("  {id}"));
        format!("{}  {}{}", paint(BOLD, safe(name)), safe(&self.id), paint(DIM, short))
    }
}

#[derive(Serialize)]
struct Listed {
    keys: Vec<KeyRow>,
}

#[derive(Serialize)]
struct Changed {
    keys: Vec<KeyRow>,
    /// How many of them were not known before.
    added: usize,
    #[serde(skip)]
    word: &'static str,
}

#[derive(Serialize)]
struct Generated {
    #[serde(flatten)]
    key: NewKey,
}

pub(crate) fn run(args: &KeysArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    match &args.what {
        None | Some(What::List) => {
            let trusted = context.metier.trusted_keys()?;
            Ok(Box::new(Listed { keys: trusted.iter().map(KeyRow::trusted).collect() }))
        }
        Some(What::Generate { name, output, no_password, password }) => {
            let password = if *no_password { None } else { Some(password.new_one(context, json)?) };
            let password = password.as_deref().map(String::as_str);
            let (key, public) = context.metier.generate_key(name, output.as_deref(), password)?;
            let own = NamedKey { name: Some(name.clone()), key: public };
            context.metier.trust_keys(&[own])?;
            Ok(Box::new(Generated { key }))
        }
        Some(What::Trust { file, name, yes }) => trust(context, file, name.as_deref(), *yes, json),
        Some(What::Forget { id }) => {
            let key = KeyRow::trusted(&context.metier.forget_key(id)?);
            Ok(Box::new(Changed { keys: vec![key], added: 0, word: "forgot" }))
        }
    }
}

fn trust(
    context: &Context,
    file: &Path,
    name: Option<&str>,
    yes: bool,
    json: bool,
) -> Result<Box<dyn Output>> {
    let mut keys = context.metier.read_public_keys(file)?;
    if let Some(name) = name {
        match &mut keys[..] {
            [key] => key.name = Some(name.to_owned()),
            several => {
                let message = format!("--name is for one key, and the file has {}", several.len());
                return Err(CommandError::usage(message).help("leave --name out"));
            }
        }
    }
    let rows: Vec<KeyRow> =
        keys.iter().map(|named| KeyRow::new(&named.key, named.name.as_deref())).collect();
    if !yes {
        ask(context, file, &rows, json)?;
    }
    let added = context.metier.trust_keys(&keys)?.into_iter().filter(|new| *new).count();
    Ok(Box::new(Changed { keys: rows, added, word: "trusted" }))
}

fn ask(context: &Context, file: &Path, rows: &[KeyRow], json: bool) -> Result<()> {
    if !prompt::can_ask(json) {
        let mut words = context.command_words();
        words.push("keys trust --yes".to_owned());
        words.push(shell::quoted(&file.to_string_lossy()));
        let message = format!("trusting {} needs your confirmation", count(rows.len(), "key"));
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).take(3).collect();
        let help =
            format!("compare {} with the publisher's; then: {}", ids.join(", "), words.join(" "));
        return Err(CommandError::needs_approval(message).help(safe(&help).into_owned()));
    }
    for row in rows {
        print_note(&row.line());
    }
    if prompt::confirm("Trust what is signed with it? Compare the key with the publisher's first.")
    {
        return Ok(());
    }
    Err(CommandError { code: "Rejected", ..CommandError::needs_approval("nothing changed") })
}

impl Output for Listed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for key in &self.keys {
            writeln!(out, "{}", key.line())?;
        }
        out.flush()?;
        if self.keys.is_empty() {
            print_note(&paint(DIM, "you trust no keys; to trust one: metier keys trust FILE"));
        }
        Ok(())
    }
}

impl Output for Changed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for key in &self.keys {
            writeln!(out, "{} {}", paint(GREEN, self.word), key.line())?;
        }
        Ok(())
    }
}

impl Output for Generated {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let key = &self.key;
        writeln!(out, "{} {}", paint(GREEN, "made"), safe(&key.id))?;
        let secret = if key.encrypted { "secret, encrypted" } else { "secret, not encrypted" };
        writeln!(out, "  {}  {}", paint(BOLD, safe(&key.secret)), paint(YELLOW, secret))?;
        writeln!(out, "  {}  to be given away", paint(BOLD, safe(&key.public)))
    }
}
