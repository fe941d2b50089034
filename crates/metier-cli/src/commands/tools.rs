//! `metier tools`: the tools, how much harm each can do, and what the policy says about it here.
//!
//! Deciding is `metier-policy`'s; `metier explain` shows the rules behind an answer.

use std::io::{self, Write};

use clap::Args;
use metier::ToolRule;
use serde::Serialize;

use crate::context::{AgentArgs, Context, FindArgs, LoadedArgs};
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::safe;
use crate::render::style::{BOLD, CYAN, DIM, paint};
use crate::render::table::Table;

/// List the tools, their risk, and what the policy says about each here.
///
/// Tools that take a path are decided for the project's own files. With --skill, the decision is the
/// one while acting for that skill, whose `allowed-tools` is a ceiling; with --loaded, the one while
/// that skill is loaded, whose ceiling holds what could do harm.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier tools
  metier tools --skill profile-csv
  metier tools --json")]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    skills: LoadedArgs,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Tools {
    tools: Vec<ToolRule>,
}

pub(crate) fn run(args: &ToolsArgs, context: &Context) -> Result<Box<dyn Output>> {
    let tools = context.acting(&args.find, &args.agent)?.tool_rules(&(&args.skills).into())?;
    Ok(Box::new(Tools { tools }))
}

impl Output for Tools {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let plain = anstyle::Style::new();
        let mut table =
            Table::new(&[("TOOL", BOLD), ("RISK", CYAN), ("HERE", plain), ("BECAUSE", plain)]);
        for tool in &self.tools {
            table.row(vec![
                safe(&tool.name).into_owned(),
                tool.risk.clone(),
                tool.effect.to_string(),
                safe(&tool.reason).into_owned(),
            ]);
        }
        table.write(out)?;
        out.flush()?;
        print_note(&paint(DIM, "metier explain TOOL ARG shows every rule behind a decision"));
        Ok(())
    }
}
