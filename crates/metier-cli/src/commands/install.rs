//! `metier install`: skills from a source, or what `skills.json` and the lock say.
//!
//! Staging, judging and moving are `metier-pack`'s. This file shows the plan, asks, and reports.

mod several;

use std::io::{self, Write};

use clap::Args;
use metier::pack::{
    Dependencies, InstallPlan, InstallRequest, InstallTarget, LeftOut, LockUse, Overwrite,
    PlanView, SignerChange, SourceOrigin,
};
use metier::skill::Source;
use serde::Serialize;

use crate::commands::asking::SourceTalk;
use crate::commands::plan_consent::{OnFindings, PlanQuestion, PlanSeen, consent};
use crate::commands::switch;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note, write_json};
use crate::render::plan::{
    BackupsOf, bad_lock_note, left_out_lines, note_way_back, plan_lines, write_done,
};
use crate::render::style::{BOLD, DIM, YELLOW, paint};
use crate::render::{count, fold_line, safe, shell};
use crate::scope::ScopeArgs;
pub(super) use several::{SeveralInstalled, install_all};

/// Install skills from a directory, an archive, a git repository or another place on the network, or what
/// skills.json says.
///
/// SOURCE is a directory, a .zip, .skill or .tar.gz file, the https URL of one, a host that lists its skills, an OCI
/// artifact (`oci://HOST/NAME:TAG`, or a layout directory), or a git repository: owner/repo (GitHub) or its URL, with
/// /path for a directory of it and @ref for a branch, tag or commit. Of a repository with several skills you choose:
/// --skill, --all, --plugin, or the list on a terminal. A host that your setting `sources.allow` does not list is
/// asked about before anything is fetched.
///
/// Inside a repository skills go into the project's .agent/skills, elsewhere into ~/.agent/skills. Everything is unpacked,
/// checked and scanned first, shown, and moved into place whole; what is replaced goes to a backup. A finding of high
/// severity that the installed version does not have stops it until you accept it. Skills of the source that the chosen
/// ones need are installed too. What was installed is
/// written to skills.json and, with digests of every file, to skills.lock.json beside the folder.
///
/// A signature beside an archive (FILE.minisig, FILE.sig) or in a skill (skill.oms.sig) is checked and shown. The
/// signer is pinned: another one, or none, stops the next installation unless --accept-signer says otherwise.
///
/// Without SOURCE, the folder is made to agree with these two files: what is missing is installed, and what is
/// no longer wanted is uninstalled. What this installs into a project is trusted only if you were shown it.
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
  metier install ./pdf.zip --agent claude,codex
                                           into the folders of these agents
  metier install ./pdf.zip --agent claude,codex --link
                                           one copy, and links to it in their folders
  metier install                           what skills.json and the lock say
  metier install --locked --yes            exactly the lock, for CI")]
pub(crate) struct InstallArgs {
    /// A directory, a .zip, .skill or .tar.gz file, a URL, a git repository, or `oci://HOST/NAME:TAG`.
    source: Option<String>,
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
    #[command(flatten)]
    how: HowArgs,
    /// Where the source was named, where that is not the command line.
    #[arg(skip)]
    origin: Option<SourceOrigin>,
}

/// How something is installed, and for which agents.
#[derive(Debug, Clone, Args)]
pub(crate) struct HowArgs {
    /// Only these skills of the source (may be repeated).
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    skill: Vec<String>,
    /// Install into the folder of this agent, such as claude or codex (may be repeated).
    #[arg(long, value_name = "AGENT", value_delimiter = ',')]
    agent: Vec<String>,
    /// Give the agents of --agent links to one installed copy in Metier's own folder, instead of copies.
    #[arg(long, requires = "agent")]
    link: bool,
    /// Replace what stands in the way: skills that Metier did not install, or that were changed. A backup is
    /// kept.
    #[arg(long)]
    force: bool,
    /// Accept another signer than the one that skills.lock.json pins, or none.
    #[arg(long)]
    accept_signer: bool,
    /// Leave out the skills of the source that the chosen ones need.
    #[arg(long, requires = "skill")]
    no_deps: bool,
    /// Install although a scan found something of high severity; --yes alone does not.
    #[arg(long)]
    accept_findings: bool,
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
    /// Whether what landed waits for `metier trust`.
    #[serde(skip)]
    untrusted: bool,
    /// What landed and is switched off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    off: Vec<SwitchedOff>,
    #[serde(skip)]
    backups: BackupsOf,
}

#[derive(Serialize)]
struct SwitchedOff {
    name: String,
    /// The command that switches it on.
    enable: String,
}

impl HowArgs {
    /// Whether a skill of this name is meant.
    pub(super) fn means(&self, name: &String) -> bool {
        self.skill.is_empty() || self.skill.contains(name)
    }

    /// The same for these skills.
    pub(super) fn of_skills(&self, skills: Vec<String>) -> Self {
        Self { skill: skills, ..self.clone() }
    }

    pub(super) fn scope(&self) -> Option<metier::config::Scope> {
        self.scope.chosen()
    }
}

impl InstallArgs {
    /// The chosen skills of a source that a file names. It may have come with a clone: `--yes` does not
    /// answer for its hosts.
    pub(super) fn from_record(source: String, how: &HowArgs) -> Self {
        Self { origin: Some(SourceOrigin::Recorded), ..Self::from_folder(source, how) }
    }

    /// Everything, or the chosen skills, of a folder.
    pub(super) fn from_folder(source: String, how: &HowArgs) -> Self {
        Self {
            source: Some(source),
            all: false,
            plugin: None,
            reference: None,
            list: false,
            locked: false,
            how: how.clone(),
            origin: None,
        }
    }
}

pub(crate) fn run(args: &InstallArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    if args.source.is_none() && !args.how.skill.is_empty() {
        return Err(CommandError::usage("--skill needs a source")
            .help("metier install SOURCE --skill NAME"));
    }
    if args.source.is_none() && args.how.link {
        return Err(CommandError::usage("--link needs a source")
            .help("metier install SOURCE --agent claude --link; `metier install` makes the links that the lock names"));
    }
    let scope = args.how.scope.chosen();
    if args.how.agent.is_empty() || args.how.link {
        let target = context.metier.install_target(scope)?;
        return Ok(Box::new(install_into(target, args, context, json)?));
    }
    Ok(Box::new(install_all(std::slice::from_ref(args), context, json)?))
}

fn install_into(
    target: InstallTarget,
    args: &InstallArgs,
    context: &Context,
    json: bool,
) -> Result<Installed> {
    // What is only listed is not installed.
    let accepts = args.how.accept_signer || args.list;
    let change = if accepts { SignerChange::Accept } else { SignerChange::Refuse };
    let backups = BackupsOf::target(&target, context);
    let talk = SourceTalk::new(json, args.how.yes, args.list);
    let target = talk.join(target.with_signer_change(change));
    if args.how.dry_run || args.list {
        let plan = preview(args, context, &target);
        talk.end(&context.metier)?;
        return Ok(Installed {
            dry_run: true,
            plan: plan?,
            listed: args.list,
            untrusted: false,
            off: Vec::new(),
            backups,
        });
    }
    let plan = plan(args, context, &target);
    talk.end(&context.metier)?;
    let mut plan = plan?;
    let mut words = context.command_words();
    words.push("install --yes".to_owned());
    words.extend(args.source.as_deref().map(shell::quoted));
    words.extend(args.reference.iter().map(|it| format!("--ref {}", shell::quoted(it))));
    words.extend(args.plugin.iter().map(|it| format!("--plugin {}", shell::quoted(it))));
    words.extend(args.how.skill.iter().map(|it| format!("--skill {}", shell::quoted(it))));
    words.extend(args.all.then(|| "--all".to_owned()));
    words.extend(args.locked.then(|| "--locked".to_owned()));
    words.extend(args.how.force.then(|| "--force".to_owned()));
    words.extend(args.how.accept_signer.then(|| "--accept-signer".to_owned()));
    words.extend(args.how.link.then(|| "--link".to_owned()));
    words.extend(args.how.no_deps.then(|| "--no-deps".to_owned()));
    words.extend(args.how.scope.words());
    words.extend(args.how.agent.iter().map(|it| format!("--agent {}", shell::quoted(it))));
    let asked = PlanQuestion {
        question: "Install?",
        doing: "installing",
        command: words.join(" "),
        json,
        yes: args.how.yes,
        accept_findings: args.how.accept_findings,
        on_findings: OnFindings::Stop,
    };
    let seen = consent(&mut plan, &asked)?;
    let plan = context.metier.carry_out(plan)?;
    // What a person has seen, or named and agreed to, is trusted, as it is. Records that came with a clone are
    // neither: an agreement beforehand is to whatever they say. So is one to a list that leads to another source.
    let is_named =
        args.source.is_some() && args.origin != Some(SourceOrigin::Recorded) && !plan.led_elsewhere;
    let is_confirmed = is_named || seen == PlanSeen::Shown;
    let untrusted = if is_confirmed {
        context.metier.trust_installed(&target, &plan)?;
        false
    } else {
        !context.metier.untrusted_installed(&target, &plan)?.is_empty()
    };
    let off = switched_off(context, &target, &plan);
    Ok(Installed { dry_run: false, plan, listed: false, untrusted, off, backups })
}

/// What landed and is switched off: a configuration can say so long before, as an approved request does.
fn switched_off(context: &Context, target: &InstallTarget, plan: &PlanView) -> Vec<SwitchedOff> {
    let source = if target.is_users() { Source::User } else { Source::Project };
    plan.landing()
        .filter_map(|skill| {
            let id = format!("{source}:{}", skill.name);
            let scope = context.metier.switched_off_in(&id)?;
            let enable = switch::enable_command(context, scope, &id);
            Some(SwitchedOff { name: skill.name.clone(), enable })
        })
        .collect()
}

const fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Replace } else { Overwrite::Refuse }
}

fn lock_use(args: &InstallArgs) -> LockUse {
    if args.locked { LockUse::Exact } else { LockUse::Update }
}

fn preview(args: &InstallArgs, context: &Context, target: &InstallTarget) -> Result<PlanView> {
    let overwrite = overwrite(args.how.force || args.list);
    let Some(source) = &args.source else {
        return Ok(context.metier.preview_reconcile(target, lock_use(args), overwrite)?);
    };
    let request = request(args, context, source, overwrite)?;
    Ok(context.metier.preview_install(target, &request)?)
}

fn plan(args: &InstallArgs, context: &Context, target: &InstallTarget) -> Result<InstallPlan> {
    let overwrite = overwrite(args.how.force);
    let Some(source) = &args.source else {
        return Ok(context.metier.plan_reconcile(target, lock_use(args), overwrite)?);
    };
    let request = request(args, context, source, overwrite)?;
    Ok(context.metier.plan_install(target, &request)?)
}

fn request(
    args: &InstallArgs,
    context: &Context,
    source: &str,
    overwrite: Overwrite,
) -> Result<InstallRequest> {
    let mut request = context.metier.install_request(source);
    request.skills.clone_from(&args.how.skill);
    request.overwrite = overwrite;
    request.all = args.all;
    request.origin = args.origin.unwrap_or(SourceOrigin::Named);
    request.plugin.clone_from(&args.plugin);
    request.reference.clone_from(&args.reference);
    request.dependencies = dependencies(args);
    if args.how.link {
        request.links = context.metier.agents_to_link(&args.how.agent)?;
    }
    Ok(request)
}

fn dependencies(args: &InstallArgs) -> Dependencies {
    // A listing names what was asked for.
    if args.how.no_deps || args.list { Dependencies::Skip } else { Dependencies::Install }
}

/// Says how what was installed without being shown gets trusted.
pub(super) fn note_untrusted() {
    print_note(&paint(
        DIM,
        "not trusted yet: no one has seen it; `metier trust` shows it and trusts it",
    ));
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
            out.flush()?;
            let is_skill = |left: &&LeftOut| left.path.ends_with("SKILL.md");
            let skills: Vec<_> = self.plan.left_out.iter().filter(is_skill).cloned().collect();
            for line in left_out_lines(&skills) {
                print_note(&line);
            }
            return Ok(());
        }
        if let Some(note) = bad_lock_note(&self.plan) {
            print_note(&note);
        }
        if !self.dry_run {
            write_done(&self.plan, out)?;
            out.flush()?;
            for line in left_out_lines(&self.plan.left_out) {
                print_note(&line);
            }
            note_way_back(&self.plan, self.backups);
            if self.untrusted {
                note_untrusted();
            }
            for SwitchedOff { name, enable } in &self.off {
                let off = paint(YELLOW, "switched off");
                print_note(&format!("{off}: {}; to use it: {enable}", safe(name)));
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
