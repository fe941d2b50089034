//! `metier catalog`: the list of skills that a model is shown, and why it looks the way it does.
//!
//! Making the list is the runtime's; this file prints it.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use metier::registry::catalog::{Catalog, CatalogEntry, CatalogFormat, DisplayLevel};
use metier::{CatalogBudget, CatalogOptions};
use serde_json::json;

use crate::context::{AgentArgs, Context, FindArgs};
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::safe;
use crate::render::style::{BOLD, CYAN, DIM, paint};
use crate::render::table::Table;

/// Print the list of skills that a model is shown, within a token budget.
///
/// When not every description fits, every name is kept and the skills that match the request best
/// keep their descriptions, plus a few by rotation. The first part of the text is the same for every
/// request, so that a provider's prompt cache stays valid.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier catalog
  metier catalog --request 'fill a pdf form' --budget 1000
  metier catalog --request 'fill a pdf form' --explain
  metier catalog --format xml --budget none")]
pub(crate) struct CatalogArgs {
    /// How the list is written [default: lines, or what the configuration says].
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatArg>,
    /// What the user wants: decides which descriptions are shown when not all fit.
    #[arg(long, value_name = "TEXT")]
    request: Option<String>,
    /// Tokens the list may take, or `none` [default: 4000, or what the configuration says].
    #[arg(long, value_name = "TOKENS", value_parser = budget)]
    budget: Option<Budget>,
    /// A file being worked on, relative to the project (may be repeated): skills with `paths` are
    /// shown when one matches.
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// Which turn of a session this is; advances the rotation.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    turn: u64,
    /// Explain for every skill how it is shown and why, instead of printing the list.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Debug, Clone, Copy)]
struct Budget(Option<usize>);

fn budget(text: &str) -> std::result::Result<Budget, String> {
    if text == "none" {
        return Ok(Budget(None));
    }
    let tokens: usize =
        text.replace('_', "").parse().map_err(|_| "a number of tokens, or `none`".to_owned())?;
    Ok(Budget(Some(tokens)))
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatArg {
    /// One line a skill.
    Lines,
    /// An `<available_skills>` element.
    Xml,
    /// For the description of the skill tool.
    Tool,
    /// With paths and file names, for a model that reads files itself.
    Awareness,
    /// With the opening of each body that may be loaded without a question, for a model without tools.
    Direct,
    /// A JSON document.
    Json,
}

impl From<FormatArg> for CatalogFormat {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Lines => Self::Lines,
            FormatArg::Xml => Self::Xml,
            FormatArg::Tool => Self::Tool,
            FormatArg::Awareness => Self::Awareness,
            FormatArg::Direct => Self::Direct,
            FormatArg::Json => Self::Json,
        }
    }
}

struct Listed {
    catalog: Catalog,
    budget: Option<usize>,
    explain: bool,
}

pub(crate) fn run(args: &CatalogArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.acting(&args.find, &args.agent)?;
    let budget = match args.budget {
        None => CatalogBudget::Configured,
        Some(Budget(None)) => CatalogBudget::Unlimited,
        Some(Budget(Some(tokens))) => CatalogBudget::Tokens(tokens),
    };
    let options = CatalogOptions {
        format: args.format.map(CatalogFormat::from),
        request: args.request.clone(),
        budget,
        files: args.files.clone(),
        turn: args.turn,
    };
    let catalog = metier.catalog(&options)?;
    let budget = metier.catalog_budget(budget);
    Ok(Box::new(Listed { catalog, budget, explain: args.explain }))
}

impl Listed {
    fn list(&self, how: DisplayLevel) -> Vec<&CatalogEntry> {
        self.catalog.shown(how).collect()
    }

    fn totals(&self) -> String {
        let budget = match self.budget {
            Some(budget) => format!("of {budget} tokens"),
            None => "tokens, no limit".to_owned(),
        };
        format!(
            "{} {budget}: {} in full, {} by name, {} left out",
            self.catalog.tokens,
            self.list(DisplayLevel::Full).len(),
            self.list(DisplayLevel::Named).len(),
            self.list(DisplayLevel::Omitted).len()
        )
    }
}

impl Output for Listed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let document = json!({
            "text": self.catalog.text(),
            "tokens": self.catalog.tokens,
            "budget": self.budget,
            "prefix_bytes": self.catalog.prefix.len(),
            "shown": self.list(DisplayLevel::Full),
            "named": self.list(DisplayLevel::Named),
            "omitted": self.list(DisplayLevel::Omitted),
        });
        write_json(&document, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.explain {
            // No control character is in it: names and descriptions are checked, the rest is folded.
            out.write_all(self.catalog.text().as_bytes())?;
            out.flush()?;
            if self.catalog.placed.is_empty() {
                print_note("no skills found; `metier roots` shows where Metier looks");
            } else {
                print_note(&paint(
                    DIM,
                    format!("{} (metier catalog --explain says why)", self.totals()),
                ));
            }
            return Ok(());
        }
        let mut table = Table::new(&[
            ("NAME", BOLD),
            ("SHOWN", CYAN),
            ("TOKENS", DIM),
            ("WHY", anstyle::Style::new()),
        ]);
        for placed in &self.catalog.placed {
            let how = match placed.shown {
                DisplayLevel::Full => "in full",
                DisplayLevel::Named => "by name",
                DisplayLevel::Omitted => "left out",
            };
            table.row(vec![
                safe(&placed.name).into_owned(),
                how.to_owned(),
                placed.tokens.map_or_else(String::new, |tokens| tokens.to_string()),
                safe(&placed.message).into_owned(),
            ]);
        }
        table.write(out)?;
        writeln!(out, "{}", paint(DIM, self.totals()))
    }
}
