//! `metier tools`: the tools, how much harm each can do, and what the policy says about it here.
//!
//! Deciding is `metier-policy`'s; `metier explain` tells the rules behind an answer.

use std::io::{self, Write};

use clap::Args;
use metier_policy::{Effect, Invoker, Permission, Request, Situation, Subject};
use metier_skill::Digest;
use metier_tools::ground::{absolute, acting_skill, loaded_skill};
use serde::Serialize;

use crate::commands::content::find;
use crate::context::{Context, FindArgs};
use crate::error::Result;
use crate::guard::unusable;
use crate::output::{Output, remark, write_json};
use crate::render::safe;
use crate::render::style::{BOLD, CYAN, DIM, paint};
use crate::render::table::Table;

/// List the tools, their risk, and what the policy says about each here.
///
/// Path tools are judged by the project's own files. With --skill: while acting for that skill, whose
/// `allowed-tools` is a ceiling.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier tools
  metier tools --skill profile-csv
  metier tools --json")]
pub(crate) struct ToolsArgs {
    /// While acting for this skill.
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Tools {
    tools: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    risk: String,
    effect: Effect,
    reason: String,
    /// The digest of the request as a model makes it.
    request: Digest,
}

pub(crate) fn run(args: &ToolsArgs, context: &Context) -> Result<Box<dyn Output>> {
    let scan = context.scan(&args.find);
    let guard = context.guard(&args.find, &scan)?;
    let entry = args.skill.as_deref().map(|name| find(name, &scan)).transpose()?;
    let known = |entry| loaded_skill(entry, &guard.policy, &guard.trusted);
    let loaded: Vec<_> = entry.map(known).into_iter().collect();
    let situation = Situation { loaded: &loaded, memory: &guard.answers, now: guard.now };
    let workspace = absolute(&context.workspace()).map_err(|error| unusable(&error))?;
    let mut tools = Vec::new();
    for permission in Permission::ours() {
        let subjects = match &permission {
            Permission::ReadFile | Permission::ListDir | Permission::Grep => {
                vec![Subject::Path(workspace.clone())]
            }
            // A plain file in it: no tool changes the workspace itself.
            Permission::WriteFile | Permission::DeleteFile => {
                let file = absolute(&context.workspace().join("file"));
                vec![Subject::Path(file.map_err(|error| unusable(&error))?)]
            }
            Permission::LoadSkill => {
                entry.map(|entry| Subject::Skill(entry.id())).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let mut request = Request::new(permission.clone(), subjects).by(Invoker::Model);
        if let Some(skill) = entry.and_then(|entry| acting_skill(entry, &guard.trusted).ok()) {
            request = request.acting_for(skill);
        }
        let decision = guard.policy.decide(&request, &situation);
        tools.push(Row {
            name: permission.to_string(),
            risk: permission.risk().to_string(),
            effect: decision.effect,
            reason: decision.deciding().map_or_else(String::new, |by| by.because.clone()),
            request: request.digest(),
        });
    }
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
        remark(&paint(DIM, "metier explain TOOL ARG tells every rule behind an answer"));
        Ok(())
    }
}
