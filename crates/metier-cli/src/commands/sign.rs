//! `metier sign`: a signature beside an archive.
//! Signing is `metier-sign`'s and `metier-pack`'s; this file names the key and asks for its password.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use metier::pack::{Overwrite, SignedPack};

use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, write_json};
use crate::password::PasswordArgs;
use crate::render::safe;
use crate::render::style::{BOLD, DIM, GREEN, paint};

/// Sign an archive of skills, in a file beside it.
///
/// With a secret key of minisign the signature is PACK.minisig, with one of OpenSSH it is PACK.sig; `minisign -V`
/// and `ssh-keygen -Y verify -n metier-pack` check them too. A signature says who signed these bytes, not that they
/// are harmless. The password of an encrypted key is asked for, or comes from --password-stdin or the variable
/// `METIER_KEY_PASSWORD`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier keys generate                          a key of minisign, once
  metier sign pdf.zip --key ~/.agent/keys/default.key
  metier sign pdf.zip --key ~/.ssh/id_ed25519   writes pdf.zip.sig
  metier sign pdf.zip --key ci.key --password-stdin < password.txt")]
pub(crate) struct SignArgs {
    /// The archive.
    pack: PathBuf,
    /// The file of the secret key, of minisign or OpenSSH.
    #[arg(long, short = 'k', value_name = "FILE")]
    key: PathBuf,
    /// What the signature says, signed too; by default the skill and its digest. Minisign only.
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Replace a signature that is there.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    password: PasswordArgs,
}

struct Signed(SignedPack);

pub(crate) fn run(args: &SignArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let key =
        context.metier.open_signing_key(&args.key, || args.password.existing(context, json))?;
    let replace = if args.force { Overwrite::Replace } else { Overwrite::Refuse };
    let signed = context.metier.sign_pack(&args.pack, &key, args.comment.as_deref(), replace)?;
    Ok(Box::new(Signed(signed)))
}

impl Output for Signed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let signed = &self.0;
        writeln!(out, "{} {}", paint(GREEN, "signed"), paint(BOLD, safe(&signed.signature)))?;
        writeln!(out, "  by {}", safe(&signed.signer))?;
        match &signed.comment {
            Some(comment) => writeln!(out, "  {}", safe(comment)),
            None => writeln!(out, "  {}", paint(DIM, signed.digest)),
        }
    }
}
