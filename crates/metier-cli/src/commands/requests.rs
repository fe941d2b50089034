//! `metier requests`: what programs and agents want installed, listed, approved and rejected.
//! Requests are the runtime's; an approval goes through the same plan as `metier install`.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use metier::FiledRequest;
use metier::config::Scope;
use metier::pack::{Overwrite, PlanView, SignerChange};
use metier::skill::Source;
use serde::Serialize;

use crate::commands::asking::SourceTalk;
use crate::commands::plan_consent::{OnFindings, PlanQuestion, consent};
use crate::commands::switch;
use crate::context::Context;
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::prompt;
use crate::render::plan::{plan_lines, write_done};
use crate::render::style::{BOLD, CYAN, DIM, GREEN, paint};
use crate::render::table::Table;
use crate::render::{count, fold_line, safe, shell, time_text};
use crate::scope::ScopeArgs;

/// List what programs and agents want installed, and approve or reject it.
///
/// A program can only file a request; nothing is fetched or installed because of it. What you approve is shown as a
/// plan like any installation, and lands switched off and not trusted: `metier trust`, and the command that is printed
/// then (`metier enable --project project:NAME`), are yours.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier requests
  metier requests show 1f0c2ab39d4e       the plan, and nothing is changed
  metier requests approve 1f0c2ab39d4e
  metier requests reject 1f0c2ab39d4e")]
pub(crate) struct RequestsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the requests, oldest first.
    List,
    /// Show a request, and what approving it would install.
    Show {
        /// The request, by the id that the list shows.
        id: String,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Install what a request asks for, switched off.
    Approve(ApproveArgs),
    /// Forget a request.
    Reject {
        /// The request, by the id that the list shows.
        id: String,
    },
}

#[derive(Debug, Args)]
struct ApproveArgs {
    /// The request, by the id that the list shows.
    id: String,
    /// Only these skills of the source (may be repeated).
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    skill: Vec<String>,
    /// All skills of a repository.
    #[arg(long, conflicts_with = "skill")]
    all: bool,
    /// Replace what stands in the way: skills that Metier did not install, or that were changed. A backup is
    /// kept.
    #[arg(long)]
    force: bool,
    /// Accept another signer than the one that skills.lock.json pins, or none.
    #[arg(long)]
    accept_signer: bool,
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
struct Listed {
    requests: Vec<FiledRequest>,
}

#[derive(Serialize)]
struct Shown {
    request: FiledRequest,
    plan: PlanView,
}

#[derive(Serialize)]
struct Approved {
    request: FiledRequest,
    plan: PlanView,
    /// The commands that switch on what landed.
    enable: Vec<String>,
    #[serde(skip)]
    is_users: bool,
}

#[derive(Serialize)]
struct Rejected {
    rejected: FiledRequest,
}

pub(crate) fn run(args: &RequestsArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    match &args.action {
        None | Some(Action::List) => {
            Ok(Box::new(Listed { requests: context.metier.install_requests()? }))
        }
        Some(Action::Show { id, scope }) => {
            let request = context.metier.filed_request(id)?;
            let target = context.metier.install_target(scope.chosen())?;
            let wanted = context.metier.requested_install(&request)?;
            let plan = context.metier.preview_install(&target, &wanted)?;
            Ok(Box::new(Shown { request, plan }))
        }
        Some(Action::Approve(args)) => approve(args, context, json),
        Some(Action::Reject { id }) => {
            Ok(Box::new(Rejected { rejected: context.metier.reject_install_request(id)? }))
        }
    }
}

fn approve(args: &ApproveArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let request = context.metier.filed_request(&args.id)?;
    let change = if args.accept_signer { SignerChange::Accept } else { SignerChange::Refuse };
    let talk = SourceTalk::new(json, false, false);
    let target = context.metier.install_target(args.scope.chosen())?;
    let target = talk.join(target.with_signer_change(change));
    let mut wanted = context.metier.requested_install(&request)?;
    if !args.skill.is_empty() {
        wanted.skills.clone_from(&args.skill);
    }
    wanted.all = args.all;
    wanted.overwrite = if args.force { Overwrite::Replace } else { Overwrite::Refuse };
    if args.dry_run {
        let plan = context.metier.preview_install(&target, &wanted);
        talk.end(&context.metier)?;
        return Ok(Box::new(Shown { request, plan: plan? }));
    }
    let plan = context.metier.plan_install(&target, &wanted);
    talk.end(&context.metier)?;
    let mut plan = plan?;
    if !args.yes && prompt::can_ask(json) {
        print_note(&who_and_why(&request));
    }
    let mut words = context.command_words();
    words.push(format!("requests approve --yes {}", request.id));
    words.extend(args.skill.iter().map(|it| format!("--skill {}", shell::quoted(it))));
    words.extend(args.all.then(|| "--all".to_owned()));
    words.extend(args.force.then(|| "--force".to_owned()));
    words.extend(args.accept_signer.then(|| "--accept-signer".to_owned()));
    words.extend(args.scope.words());
    let asked = PlanQuestion {
        question: "Install, switched off?",
        doing: "installing",
        command: words.join(" "),
        json,
        yes: args.yes,
        accept_findings: args.accept_findings,
        on_findings: OnFindings::Stop,
    };
    consent(&mut plan, &asked)?;
    let plan = context.metier.carry_out_request(&request, &target, plan)?;
    let landed = plan.landing().map(|skill| skill.name.clone());
    let is_users = target.is_users();
    let enable = landed.map(|name| enable_command(context, is_users, &name)).collect();
    Ok(Box::new(Approved { request, plan, enable, is_users }))
}

/// The command that switches on what a request brought: it is off in the file of the scope that it landed in.
fn enable_command(context: &Context, is_users: bool, name: &str) -> String {
    let (scope, source) =
        if is_users { (Scope::User, Source::User) } else { (Scope::Project, Source::Project) };
    switch::enable_command(context, scope, &format!("{source}:{name}"))
}

fn who_and_why(request: &FiledRequest) -> String {
    let by = paint(BOLD, safe(&fold_line(&request.by)));
    format!("{by} asks: {}", safe(&fold_line(&request.reason)))
}

impl Output for Listed {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let plain = anstyle::Style::new();
        let mut table = Table::new(&[
            ("ID", CYAN),
            ("BY", BOLD),
            ("SOURCE", plain),
            ("SKILLS", plain),
            ("FILED", DIM),
            ("REASON", plain),
        ])
        .expendable(&["FILED"]);
        for request in &self.requests {
            let skills = if request.skills.is_empty() {
                "all".to_owned()
            } else {
                safe(&request.skills.join(", ")).into_owned()
            };
            table.row(vec![
                safe(&request.id).into_owned(),
                safe(&fold_line(&request.by)).into_owned(),
                safe(&request.source).into_owned(),
                skills,
                time_text(request.filed_at),
                safe(&fold_line(&request.reason)).into_owned(),
            ]);
        }
        if !table.is_empty() {
            table.write(out)?;
        }
        out.flush()?;
        let note = match self.requests.len() {
            0 => "no install requests".to_owned(),
            number => format!(
                "{}; to look at one: metier requests show ID",
                count(number, "install request")
            ),
        };
        print_note(&paint(DIM, note));
        Ok(())
    }
}

impl Output for Shown {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", who_and_why(&self.request))?;
        for line in plan_lines(&self.plan) {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        let id = safe(&self.request.id);
        // Where no one can be asked, it needs a yes.
        let yes = if prompt::can_ask(false) { "" } else { "--yes " };
        print_note(&paint(
            DIM,
            format!("to install it, switched off: metier requests approve {yes}{id}"),
        ));
        Ok(())
    }
}

impl Output for Approved {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        write_done(&self.plan, out)?;
        out.flush()?;
        if !self.enable.is_empty() {
            // The user's own skills need no trust.
            let how = if self.is_users { "switched off" } else { "switched off and not trusted" };
            let trust = if self.is_users { "" } else { "`metier trust`, then " };
            print_note(&paint(DIM, format!("{how}; to use it: {trust}{}", self.enable.join("; "))));
        }
        Ok(())
    }
}

impl Output for Rejected {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let FiledRequest { id, source, .. } = &self.rejected;
        let (id, source) = (paint(CYAN, safe(id)), safe(source));
        writeln!(out, "{} {id}: nothing of {source} was installed", paint(GREEN, "rejected"))
    }
}
