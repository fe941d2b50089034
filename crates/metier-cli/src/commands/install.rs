//! `metier install`: skills from a source, or what `skills.json` and the lock say.
//!
//! Staging, judging and moving are `metier-pack`'s. This file shows the plan, asks, and reports.

mod asking;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use clap::Args;
use metier::pack::{InstallPlan, InstallRequest, InstallTarget, LockUse, Overwrite, PlanView};
use serde::Serialize;

use self::asking::Asking;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::prompt;
use crate::render::fetching::FetchLine;
use crate::render::plan::{left_out_lines, plan_lines, write_done};
use crate::render::style::{BOLD, DIM, paint};
use crate::render::{count, fold_line, safe, shell};
use crate::scope::ScopeArgs;

/// Install skills from a directory, an archive, a git repository or another place on the network, or what
/// skills.json says.
///
/// SOURCE is a directory, a .zip, .skill or .tar.gz file, the https URL of one, a host that lists its skills, an OCI
/// artifact (`oci://HOST/NAME:TAG`, or a layout directory), or a git repository: owner/repo (GitHub) or its URL, with
/// /path for a directory of it and @ref for a branch, tag or commit. Of a repository with several skills you choose:
/// --skill, --all, --plugin, or the list on a terminal. A host that your setting `sources.allow` does not list is
/// asked about before anything is fetched. Inside a repository skills go into the project's .agent/skills, elsewhere into ~/.agent/skills. Everything is unpacked and
/// checked first, shown, and moved into place whole; what is replaced goes to a backup. What was installed is
/// written to skills.json and, with digests of every file, to skills.lock.json beside the folder.
///
/// Without SOURCE, the folder is made to agree with these two files: what is missing is installed, and what is
/// no longer wanted is uninstalled.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier install ./pdf.zip
  metier install https://example.org/pdf.zip
  metier install https://example.org       what the host lists in /.well-known/agent-skills/
  metier install oci://ghcr.io/me/pdf:1.2.0
  metier install ./pdf.zip --dry-run       show the plan, and change nothing
  metier install ../skills --list          the skills in a directory
  metier install ../skills --skill a,b     only these
  metier install anthropics/skills --list  the skills of a repository
  metier install anthropics/skills/skills/pdf@main
  metier install git@host:team/skills.git --ref v2 --all
  metier install                           what skills.json and the lock say
  metier install --locked --yes            exactly the lock, for CI")]
pub(crate) struct InstallArgs {
    /// A directory, a .zip, .skill or .tar.gz file, a URL, a git repository, or `oci://HOST/NAME:TAG`.
    source: Option<String>,
    /// Only these skills of the source (may be repeated).
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "source")]
    skill: Vec<String>,
    /// All skills of a repository.
    #[arg(long, requires = "source", conflicts_with_all = ["skill", "plugin"])]
    all: bool,
    /// Only the skills of this plugin, where the source lists plugins.
    #[arg(long, value_name = "NAME", requires = "source")]
    plugin: Option<String>,
    /// The branch, tag or commit of a repository.
    #[arg(long = "ref", value_name = "REF", requires = "source")]
    reference: Option<String>,
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
    /// Show the plan, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask. Hosts of sources that you did not name yourself still have to be allowed.
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
}

pub(crate) fn run(args: &InstallArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let asking = Arc::new(Asking {
        can_ask: prompt::can_ask(json),
        yes: args.yes,
        lists: args.list,
        always: Mutex::new(Vec::new()),
    });
    let line = Arc::new(FetchLine::new());
    let target = context.metier.install_target(args.scope.chosen())?;
    let target = target.with_questions(asking.clone()).with_progress(line.clone());
    if args.dry_run || args.list {
        let plan = preview(args, context, &target);
        line.clear();
        asking.remember(&context.metier)?;
        let plan = plan?;
        return Ok(Box::new(Installed { dry_run: true, plan, listed: args.list }));
    }
    let plan = plan(args, context, &target);
    line.clear();
    asking.remember(&context.metier)?;
    let plan = plan?;
    if plan.view().changes_skills() && !args.yes {
        let mut words = context.command_words();
        words.push("install --yes".to_owned());
        words.extend(args.source.as_deref().map(shell::quoted));
        words.extend(args.reference.iter().map(|it| format!("--ref {}", shell::quoted(it))));
        words.extend(args.plugin.iter().map(|it| format!("--plugin {}", shell::quoted(it))));
        words.extend(args.skill.iter().map(|it| format!("--skill {}", shell::quoted(it))));
        words.extend(args.all.then(|| "--all".to_owned()));
        approve(plan.view(), "Install?", "installing", &words.join(" "), json)?;
    }
    let plan = context.metier.carry_out(plan)?;
    // What a person has seen and confirmed is trusted, as it is.
    context.metier.trust_installed(&target, &plan)?;
    Ok(Box::new(Installed { dry_run: false, plan, listed: false }))
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
    let request = request(args, context, source, overwrite);
    Ok(context.metier.preview_install(target, &request)?)
}

fn plan(args: &InstallArgs, context: &Context, target: &InstallTarget) -> Result<InstallPlan> {
    let overwrite = overwrite(args.force);
    let Some(source) = &args.source else {
        return Ok(context.metier.plan_reconcile(target, lock_use(args), overwrite)?);
    };
    let request = request(args, context, source, overwrite);
    Ok(context.metier.plan_install(target, &request)?)
}

fn request(
    args: &InstallArgs,
    context: &Context,
    source: &str,
    overwrite: Overwrite,
) -> InstallRequest {
    let mut request = context.metier.install_request(source);
    request.skills.clone_from(&args.skill);
    request.overwrite = overwrite;
    request.all = args.all;
    request.plugin.clone_from(&args.plugin);
    request.reference.clone_from(&args.reference);
    request
}

/// Shows a plan and asks; an error where no one can be asked, or the answer is no.
pub(super) fn approve(
    view: &PlanView,
    question: &str,
    doing: &str,
    command: &str,
    json: bool,
) -> Result<()> {
    if !prompt::can_ask(json) {
        let names: Vec<String> =
            view.skills.iter().map(|skill| safe(&skill.name).into_owned()).collect();
        let message = format!("{doing} {} needs your confirmation", names.join(", "));
        return Err(CommandError::needs_approval(message)
            .help(format!("see it with --dry-run; then: {command}")));
    }
    print_note(&paint(DIM, format!("in {}", safe(&view.target))));
    for line in plan_lines(view) {
        print_note(&line);
    }
    if prompt::confirm(question) {
        return Ok(());
    }
    Err(CommandError { code: "Rejected", ..CommandError::needs_approval("nothing changed") })
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
                let plugin = skill.plugin.as_deref().map(|it| format!("  ({})", safe(it)));
                let plugin = plugin.unwrap_or_default();
                writeln!(out, "{}{plugin}  {description}", paint(BOLD, safe(&skill.name)))?;
            }
            return Ok(());
        }
        if !self.dry_run {
            write_done(&self.plan, out)?;
            out.flush()?;
            for line in left_out_lines(&self.plan.left_out) {
                print_note(&line);
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
