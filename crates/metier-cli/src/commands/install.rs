//! `metier install`: skills from a source, or what `skills.json` and the lock say.
//!
//! Staging, judging and moving are `metier-pack`'s. This file shows the plan, asks, and reports.

use std::io::{self, Write};

use clap::Args;
use metier::pack::{Dependencies, InstallPlan, InstallTarget, LockUse, Overwrite, PlanView};
use serde::Serialize;

use crate::commands::plan_consent::{OnFindings, PlanQuestion, PlanSeen, consent};
use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::plan::{left_out_lines, plan_lines, write_done};
use crate::render::style::{BOLD, DIM, paint};
use crate::render::{count, fold_line, safe, shell};
use crate::scope::ScopeArgs;

/// Install skills from a directory or an archive, or what skills.json says.
///
/// SOURCE is a directory, or a .zip, .skill or .tar.gz file, with one skill or several. Inside a repository
/// skills go into the project's .agent/skills, elsewhere into ~/.agent/skills. Everything is unpacked, checked
/// and scanned first, shown, and moved into place whole; what is replaced goes to a backup. A finding of high
/// severity that the installed version does not have stops it until you accept it. Skills of the source that
/// the chosen ones need are installed too. What was installed is
/// written to skills.json and, with digests of every file, to skills.lock.json beside the folder.
///
/// Without SOURCE, the folder is made to agree with these two files: what is missing is installed, and what is
/// no longer wanted is uninstalled. What this installs into a project is trusted only if you were shown it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier install ./pdf.zip
  metier install ./pdf.zip --dry-run       show the plan, and change nothing
  metier install ../skills --list          the skills in a directory
  metier install ../skills --skill a,b     only these
  metier install                           what skills.json and the lock say
  metier install --locked --yes            exactly the lock, for CI")]
pub(crate) struct InstallArgs {
    /// A directory, or a .zip, .skill or .tar.gz file.
    source: Option<String>,
    /// Only these skills of the source (may be repeated).
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "source")]
    skill: Vec<String>,
    /// List the skills of the source, and install nothing.
    #[arg(long, requires = "source", conflicts_with_all = ["dry_run", "force"])]
    list: bool,
    /// Install exactly what skills.lock.json says, and write neither file.
    #[arg(long, conflicts_with = "source")]
    locked: bool,
    /// Replace what stands in the way: skills that Metier did not install, or that were changed. A backup is
    /// kept.
    #[arg(long)]
    force: bool,
    /// Leave out the skills of the source that the chosen ones need.
    #[arg(long, requires = "skill")]
    no_deps: bool,
    /// Install although a scan found something of high severity; --yes alone does not.
    #[arg(long)]
    accept_findings: bool,
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
struct Installed {
    dry_run: bool,
    #[serde(flatten)]
    plan: PlanView,
    #[serde(skip)]
    listed: bool,
    /// Whether what landed waits for `metier trust`.
    #[serde(skip)]
    untrusted: bool,
}

pub(crate) fn run(args: &InstallArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let target = context.metier.install_target(args.scope.chosen())?;
    if args.dry_run || args.list {
        let plan = preview(args, context, &target)?;
        return Ok(Box::new(Installed {
            dry_run: true,
            plan,
            listed: args.list,
            untrusted: false,
        }));
    }
    let mut plan = plan(args, context, &target)?;
    let mut words = context.command_words();
    words.push("install --yes".to_owned());
    words.extend(args.source.as_deref().map(shell::quoted));
    let asked = PlanQuestion {
        question: "Install?",
        doing: "installing",
        command: words.join(" "),
        json,
        yes: args.yes,
        accept_findings: args.accept_findings,
        on_findings: OnFindings::Stop,
    };
    let seen = consent(&mut plan, &asked)?;
    let plan = context.metier.carry_out(plan)?;
    // What a person has seen, or named and agreed to, is trusted, as it is. Records that came with a clone are
    // neither: an agreement beforehand is to whatever they say.
    let is_confirmed = args.source.is_some() || seen == PlanSeen::Shown;
    if is_confirmed {
        context.metier.trust_installed(&target, &plan)?;
    }
    let untrusted = !is_confirmed && !target.is_users();
    Ok(Box::new(Installed { dry_run: false, plan, listed: false, untrusted }))
}

const fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Replace } else { Overwrite::Refuse }
}

fn lock_use(args: &InstallArgs) -> LockUse {
    if args.locked { LockUse::Exact } else { LockUse::Update }
}

fn preview(args: &InstallArgs, context: &Context, target: &InstallTarget) -> Result<PlanView> {
    let overwrite = overwrite(args.force || args.list);
    let Some(source) = &args.source else {
        return Ok(context.metier.preview_reconcile(target, lock_use(args), overwrite)?);
    };
    let mut request = context.metier.install_request(source);
    request.skills.clone_from(&args.skill);
    request.overwrite = overwrite;
    request.dependencies = dependencies(args);
    Ok(context.metier.preview_install(target, &request)?)
}

fn plan(args: &InstallArgs, context: &Context, target: &InstallTarget) -> Result<InstallPlan> {
    let overwrite = overwrite(args.force);
    let Some(source) = &args.source else {
        return Ok(context.metier.plan_reconcile(target, lock_use(args), overwrite)?);
    };
    let mut request = context.metier.install_request(source);
    request.skills.clone_from(&args.skill);
    request.overwrite = overwrite;
    request.dependencies = dependencies(args);
    Ok(context.metier.plan_install(target, &request)?)
}

fn dependencies(args: &InstallArgs) -> Dependencies {
    // A listing names what was asked for.
    if args.no_deps || args.list { Dependencies::Skip } else { Dependencies::Install }
}

/// Says how what was installed without being shown gets trusted.
pub(super) fn note_untrusted(plan: &PlanView) {
    if plan.changes_skills() {
        print_note(&paint(
            DIM,
            "not trusted yet: no one has seen it; `metier trust` shows it and trusts it",
        ));
    }
}

impl Output for Installed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.listed {
            for skill in &self.plan.skills {
                let description = skill.description.as_deref().unwrap_or_default();
                let description = paint(DIM, safe(&fold_line(description)));
                writeln!(out, "{}  {description}", paint(BOLD, safe(&skill.name)))?;
            }
            return Ok(());
        }
        if !self.dry_run {
            write_done(&self.plan, out)?;
            out.flush()?;
            for line in left_out_lines(&self.plan.left_out) {
                print_note(&line);
            }
            if self.untrusted {
                note_untrusted(&self.plan);
            }
            return Ok(());
        }
        for line in plan_lines(&self.plan) {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        let changed = self.plan.skills.len();
        print_note(&paint(
            DIM,
            format!("{} in the plan; nothing was changed", count(changed, "skill")),
        ));
        Ok(())
    }
}
