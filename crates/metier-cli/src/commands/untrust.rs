//! `metier untrust`: a project's skills are no longer trusted.
//!
//! The folder need not exist any more; only the record in the user's state is touched.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::commands::list::path_text;
use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, write_json};
use crate::render::style::{BOLD, paint};

/// Stop trusting the skills of a project.
///
/// Loading them asks again, and their scripts do not run. Without DIR, the project of the working
/// directory is meant.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier untrust
  metier untrust ~/src/shop")]
pub(crate) struct UntrustArgs {
    /// The folder, as `metier trust --list` shows it.
    dir: Option<PathBuf>,
}

#[derive(Serialize)]
struct Untrusted {
    folder: String,
    /// Whether it was trusted before.
    changed: bool,
}

pub(crate) fn run(args: &UntrustArgs, context: &Context) -> Result<Box<dyn Output>> {
    let (folder, changed) = context.metier.untrust(args.dir.as_deref())?;
    Ok(Box::new(Untrusted { folder: folder.to_string_lossy().into_owned(), changed }))
}

impl Output for Untrusted {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let folder = paint(BOLD, path_text(self.folder.as_ref()));
        let was = if self.changed { "is no longer trusted" } else { "was not trusted" };
        writeln!(out, "{folder} {was}")
    }
}
