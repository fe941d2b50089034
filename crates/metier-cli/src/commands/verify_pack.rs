//! `metier verify FILE.zip`: the structure, the manifest and the signatures of an archive or a skill's folder.
//! Judging is `metier-pack`'s; something that no trusted key signed is a finding, and gives the exit code 1.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use metier::fs::{EntryKind, entry_kind};
use metier::pack::VerifiedPack;
use metier::sign::TrustedKeys;
use serde::Serialize;

use crate::context::Context;
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::plan::{signer_line, unchecked_line};
use crate::render::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::render::{count, safe};

#[derive(Serialize)]
struct VerifiedPacks {
    packs: Vec<VerifiedPack>,
}

/// Whether a word of the command line is a file or a folder, not the name of an installed skill.
pub(crate) fn is_pack(context: &Context, word: &str) -> bool {
    let path = context.metier.working_dir().join(word);
    word.contains('/') || matches!(entry_kind(&path), Some(EntryKind::File | EntryKind::Link))
}

pub(crate) fn run(
    packs: &[String],
    key_files: &[PathBuf],
    context: &Context,
) -> Result<Box<dyn Output>> {
    let keys = keys(key_files, context)?;
    let mut verified = Vec::new();
    for pack in packs {
        verified.push(context.metier.verify_pack(Path::new(pack), &keys)?);
    }
    Ok(Box::new(VerifiedPacks { packs: verified }))
}

/// The keys of these files, or those that the user trusts.
fn keys(files: &[PathBuf], context: &Context) -> Result<TrustedKeys> {
    if files.is_empty() {
        return Ok(context.metier.trusted_keys()?);
    }
    let mut keys = TrustedKeys::default();
    for file in files {
        for named in context.metier.read_public_keys(file)? {
            keys.add(named.key, named.name).map_err(|error| {
                CommandError::failed(error.code(), error.to_string()).help(error.help())
            })?;
        }
    }
    Ok(keys)
}

impl Output for VerifiedPacks {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for pack in &self.packs {
            let (style, word) = if pack.is_signed() {
                (GREEN, "signed")
            } else {
                (YELLOW, "not signed by a key that you trust")
            };
            writeln!(out, "{}  {}", paint(BOLD, safe(&pack.path)), paint(style, word))?;
            if let Some(digest) = pack.digest {
                let manifest = if pack.manifest { "its manifest fits" } else { "no manifest" };
                writeln!(out, "  {}  {manifest}", paint(DIM, digest))?;
            }
            for signer in &pack.signers {
                writeln!(out, "  {}", signer_line(signer))?;
            }
            for unchecked in &pack.unchecked {
                writeln!(out, "  {}", unchecked_line(unchecked))?;
            }
            for skill in &pack.skills {
                let name = paint(BOLD, safe(&skill.name));
                let files = count(skill.files, "file");
                writeln!(out, "  {name}  {files}  {}", paint(DIM, skill.tree))?;
                for signer in &skill.signers {
                    writeln!(out, "    {}", signer_line(signer))?;
                }
                for unchecked in &skill.unchecked {
                    writeln!(out, "    {}", unchecked_line(unchecked))?;
                }
            }
        }
        out.flush()?;
        let unsigned = self.packs.iter().filter(|pack| !pack.is_signed()).count();
        if unsigned > 0 {
            let note = "to trust a publisher's key: metier keys trust FILE";
            print_note(&paint(DIM, note));
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        let signed = self.packs.iter().all(VerifiedPack::is_signed);
        if signed { Exit::Done } else { Exit::Findings }
    }
}
