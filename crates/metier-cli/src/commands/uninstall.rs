//! `metier uninstall`: installed skills go to a backup, and out of the two records.
//! Moving them is `metier-pack`'s; this file finds where they are installed, asks, and reports.

use std::io::{self, Write};

use clap::Args;
use metier::pack::{Overwrite, PlanView, PlannedAction, PlannedSkill};
use serde::Serialize;

use crate::commands::installed_target::{installed_target, linked_target};
use crate::commands::plan_consent::{OnFindings, PlanQuestion, consent};
use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::plan::{BackupsOf, plan_lines, restore_commands, write_done};
use crate::render::shell;
use crate::render::style::{DIM, paint};
use crate::scope::ScopeArgs;

/// Uninstall skills; a backup is kept, and `metier restore` restores it.
///
/// Only skills that `metier install` installed can be uninstalled; others are removed by `metier delete`. One that
/// another installed skill needs stays, unless --force says otherwise.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier uninstall pdf
  metier uninstall pdf csv --yes
  metier uninstall pdf --force     although it was changed
  metier uninstall pdf --agent claude")]
pub(crate) struct UninstallArgs {
    /// The skills, by name.
    #[arg(required = true)]
    names: Vec<String>,
    /// Uninstall them from the folder of this agent; what is a link there only loses the link.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Uninstall them although they were changed, or other skills need them.
    #[arg(long)]
    force: bool,
    /// Show the plan, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short = 'y')]
    yes: bool,
    #[command(flatten)]
    scope: ScopeArgs,
}

#[derive(Serialize)]
struct Uninstalled {
    dry_run: bool,
    #[serde(flatten)]
    plan: PlanView,
    #[serde(skip)]
    backups: BackupsOf,
}

pub(crate) fn run(args: &UninstallArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let (scope, names) = args.scope.of_names(&args.names)?;
    let target = installed_target(args.agent.as_deref(), &names, scope, context)?;
    let unlinks = match &args.agent {
        Some(agent) => linked_target(agent, &names, scope, context)?.map(|_| agent),
        None => None,
    };
    let overwrite = if args.force { Overwrite::Replace } else { Overwrite::Refuse };
    let mut plan = match unlinks {
        // The agent loses its links; the skills stay.
        Some(agent) => context.metier.plan_unlink(&target, &names, agent)?,
        None => context.metier.plan_uninstall(&target, &names, overwrite)?,
    };
    let backups = BackupsOf::target(&target, context);
    if args.dry_run {
        let plan = plan.view().clone();
        return Ok(Box::new(Uninstalled { dry_run: true, plan, backups }));
    }
    let mut words = context.command_words();
    words.push("uninstall --yes".to_owned());
    words.extend(args.force.then(|| "--force".to_owned()));
    words.extend(args.agent.iter().map(|it| format!("--agent {}", shell::quoted(it))));
    words.extend(scope.words());
    words.extend(names.iter().map(|name| shell::quoted(name)));
    let asked = PlanQuestion {
        question: if unlinks.is_some() {
            "Remove the links?"
        } else {
            "Uninstall? A backup is kept."
        },
        doing: "uninstalling",
        command: words.join(" "),
        json,
        yes: args.yes,
        accept_findings: false,
        on_findings: OnFindings::Stop,
    };
    consent(&mut plan, &asked)?;
    let plan = context.metier.carry_out(plan)?;
    Ok(Box::new(Uninstalled { dry_run: false, plan, backups }))
}

impl Output for Uninstalled {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.dry_run {
            for line in plan_lines(&self.plan) {
                writeln!(out, "{line}")?;
            }
            out.flush()?;
            print_note(&paint(DIM, "nothing was changed"));
            return Ok(());
        }
        write_done(&self.plan, out)?;
        out.flush()?;
        let is_gone = |skill: &&PlannedSkill| skill.action == PlannedAction::Remove;
        let gone = self.plan.skills.iter().filter(is_gone);
        let what = if gone.clone().count() == 1 { "it" } else { "them" };
        if let Some(commands) = restore_commands(gone, self.backups) {
            print_note(&paint(DIM, format!("to restore {what}: {commands}")));
        }
        Ok(())
    }
}
