//! `metier files`: the files of a skill, by kind, with their sizes.
//!
//! Nothing of them is read; `metier read NAME PATH` reads one.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use crate::commands::content::{self, FileRow};
use crate::context::{Context, FindArgs};
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::style::{CYAN, DIM, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{bytes, count, safe};
use crate::source_arg::SourceArg;

/// List the files of a skill, with their kinds and sizes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier files profile-csv
  metier files profile-csv --json")]
pub(crate) struct FilesArgs {
    /// The skill.
    name: String,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Files {
    skill: String,
    path: String,
    files: Vec<FileRow>,
    truncated: bool,
}

pub(crate) fn run(args: &FilesArgs, context: &Context) -> Result<Box<dyn Output>> {
    let entry = context.finding(&args.find).skill(&args.source.of(&args.name)?)?;
    let list = content::Files::list(&entry)?;
    Ok(Box::new(Files {
        skill: entry.id().to_string(),
        path: entry.path.to_string_lossy().into_owned(),
        files: list.rows,
        truncated: list.truncated,
    }))
}

impl Output for Files {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let plain = anstyle::Style::new();
        let mut table = Table::new(&[("KIND", CYAN), ("SIZE", plain), ("FILE", plain)]);
        for file in &self.files {
            let link = if file.link { " (link, not read)" } else { "" };
            table.row(vec![
                file.kind.as_str().to_owned(),
                bytes(file.bytes),
                format!("{}{link}", safe(&file.path)),
            ]);
        }
        table.write(out)?;
        out.flush()?;
        if self.truncated {
            print_note(&paint(YELLOW, "there are more files than are listed"));
        }
        let total: u64 = self.files.iter().map(|file| file.bytes).sum();
        print_note(&paint(
            DIM,
            format!(
                "{}, {}, below {}",
                count(self.files.len(), "file"),
                bytes(total),
                safe(&self.path)
            ),
        ));
        Ok(())
    }
}
