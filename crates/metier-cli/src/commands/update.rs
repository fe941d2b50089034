//! `metier update`: installed skills, brought up to date with their sources.
//! Reading sources, judging and moving are `metier-pack`'s. This file shows what changes, asks, and reports.

use std::io::{self, Write};

use clap::Args;
use metier::pack::{Overwrite, PlanView, SignerChange};
use serde::Serialize;

use crate::commands::asking::SourceTalk;
use crate::commands::install::note_untrusted;
use crate::commands::installed_target::installed_target;
use crate::commands::plan_consent::{OnFindings, PlanQuestion, PlanSeen, consent};
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::plan::{
    BackupsOf, left_out_lines, not_updated_lines, note_way_back, plan_lines, write_done,
};
use crate::render::style::{DIM, paint};
use crate::render::{count, shell};
use crate::scope::ScopeArgs;

/// Update installed skills to what their sources give now.
///
/// Shows which files change, what may be executed and which tools may be used afterwards, and what a scan finds that
/// the installed version does not have. Nothing is added: only skills that are installed are updated. One that
/// you changed stays as it is, unless --force says otherwise; a backup is kept. One that is gone or renamed
/// at its source stays, and is named. A source that cannot be read does not stop the others.
///
/// A skill of a project is trusted afterwards if you were shown the changes and said yes; with --yes it waits for
/// `metier trust`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier outdated                 what could be updated
  metier diff pdf                 the lines that would change
  metier update pdf
  metier update --all --dry-run   show the plan, and change nothing
  metier update --all --yes
  metier update pdf --agent claude

Exit code 1 means that a skill could not be updated; the others were.")]
pub(crate) struct UpdateArgs {
    /// The skills, by name.
    #[arg(required_unless_present = "all")]
    names: Vec<String>,
    /// Every installed skill.
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Read at most N sources at a time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// Update skills that were changed here. A backup is kept.
    #[arg(long)]
    force: bool,
    /// Accept another signer than the one that skills.lock.json pins, or none.
    #[arg(long)]
    accept_signer: bool,
    /// Update although a scan found something new of high severity; --yes alone does not.
    #[arg(long)]
    accept_findings: bool,
    /// Show the plan, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short = 'y')]
    yes: bool,
    /// Update what is installed in the folder of this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

#[derive(Serialize)]
struct Updated {
    dry_run: bool,
    #[serde(flatten)]
    plan: PlanView,
    /// Whether the skills were named one by one.
    #[serde(skip)]
    named: bool,
    /// Whether what landed waits for `metier trust`.
    #[serde(skip)]
    untrusted: bool,
    #[serde(skip)]
    backups: BackupsOf,
}

pub(crate) fn run(args: &UpdateArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let (scope, names) = args.scope.of_names(&args.names)?;
    let talk = SourceTalk::new(json, args.yes, false);
    let change = if args.accept_signer { SignerChange::Accept } else { SignerChange::Refuse };
    let target = installed_target(args.agent.as_deref(), &names, scope, context)?;
    let target = talk.join(target.with_signer_change(change));
    let mut request = context.metier.update_request(names.clone());
    request.overwrite = if args.force { Overwrite::Replace } else { Overwrite::Refuse };
    request.jobs = args.jobs.map_or(request.jobs, usize::from);
    let named = !args.all;
    let backups = BackupsOf::target(&target, context);
    if args.dry_run {
        let plan = context.metier.preview_update(&target, &request);
        talk.end(&context.metier)?;
        let plan = plan?;
        return Ok(Box::new(Updated { dry_run: true, plan, named, untrusted: false, backups }));
    }
    let plan = context.metier.plan_update(&target, &request);
    talk.end(&context.metier)?;
    let mut plan = plan?;
    let mut words = context.command_words();
    words.push("update --yes".to_owned());
    words.extend(args.all.then(|| "--all".to_owned()));
    words.extend(args.force.then(|| "--force".to_owned()));
    words.extend(args.accept_signer.then(|| "--accept-signer".to_owned()));
    words.extend(args.agent.iter().map(|it| format!("--agent {}", shell::quoted(it))));
    words.extend(scope.words());
    words.extend(names.iter().map(|name| shell::quoted(name)));
    let asked = PlanQuestion {
        question: "Update?",
        doing: "updating",
        command: words.join(" "),
        json,
        yes: args.yes,
        accept_findings: args.accept_findings,
        on_findings: OnFindings::HoldBack,
    };
    let seen = consent(&mut plan, &asked)?;
    let plan = context.metier.carry_out(plan)?;
    // Trusted is what a person saw the difference of, and nothing that was agreed to unseen.
    if seen == PlanSeen::Shown {
        context.metier.trust_installed(&target, &plan)?;
    }
    let untrusted = !context.metier.untrusted_installed(&target, &plan)?.is_empty();
    Ok(Box::new(Updated { dry_run: false, plan, named, untrusted, backups }))
}

impl Output for Updated {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let is_current = !self.plan.changes_skills();
        if is_current && !self.plan.skills.is_empty() {
            writeln!(out, "{} up to date", count(self.plan.skills.len(), "skill"))?;
        } else if !is_current && self.dry_run {
            for line in plan_lines(&self.plan) {
                writeln!(out, "{line}")?;
            }
        } else if !is_current {
            write_done(&self.plan, out)?;
        }
        for line in not_updated_lines(&self.plan) {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        if self.plan.skills.is_empty() && self.plan.not_updated.is_empty() {
            print_note(&paint(DIM, "no skills are installed here"));
        }
        if self.dry_run {
            print_note(&paint(DIM, "nothing was changed"));
            return Ok(());
        }
        for line in left_out_lines(&self.plan.left_out) {
            print_note(&line);
        }
        note_way_back(&self.plan, self.backups);
        if self.untrusted {
            note_untrusted();
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        // What is gone upstream is no failure of an update of everything; who named it has to know.
        let fails = |it: &metier::pack::NotUpdated| self.named || it.reason.is_failure();
        if self.plan.not_updated.iter().any(fails) { Exit::Findings } else { Exit::Done }
    }
}
