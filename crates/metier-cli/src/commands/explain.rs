//! `metier explain`: what would be decided about a request, by which rules, and why.
//!
//! Nothing is done and nobody is asked. Deciding is `metier-policy`'s.

use std::io::{self, Write};

use clap::Args;
use metier_policy::{
    Decision, Effect, Invoker, Permission, Request, Situation, Subject, Verdict, subject_of,
};
use metier_registry::{Entry, Scan};
use metier_skill::nearest;
use metier_skill::{Digest, RelPath};
use metier_tools::ScriptLeave;
use metier_tools::ground::{absolute, acting_skill, loaded_skill, real_path};
use serde::Serialize;

use crate::commands::content::find;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::guard::{Guard, unusable};
use crate::output::{Output, remark, write_json};
use crate::render::safe;
use crate::render::style::{CYAN, DIM, GREEN, RED, YELLOW, paint};

/// Tell what would be decided about a request, and which rules decide it.
///
/// TOOL is `load_skill`, `read_file`, `list_dir`, `grep`, `run_script`, `run_command`, `write_file`,
/// `delete_file`, `network_request`, `script_network`, or the tool of another program. ARG is what it is used on: a
/// skill, a path, a script of the skill with its arguments, a command, a host. Words that begin with
/// a dash stand after `--`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier explain read_file src/main.rs
  metier explain run_script scripts/fill.py --skill pdf
  metier explain run_command --skill pdf -- git push --force
  metier explain load_skill pdf --json")]
pub(crate) struct ExplainArgs {
    /// What is wanted.
    tool: String,
    /// What it is used on.
    args: Vec<String>,
    /// The skill that it is done for.
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Serialize)]
struct Explanation {
    #[serde(flatten)]
    decision: Decision,
    /// The decision about the network of a script, where it is not closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'static str>,
    /// The digest of the request as a model makes it.
    digest: Digest,
    request: Request,
    #[serde(skip)]
    meant: Option<String>,
}

pub(crate) fn run(args: &ExplainArgs, context: &Context) -> Result<Box<dyn Output>> {
    let scan = context.scan(&args.find);
    let guard = context.guard(&args.find, &scan)?;
    let permission = Permission::named(&args.tool).map_err(|error| unusable(&error))?;
    let named = args.skill.as_deref().map(|name| find(name, &scan)).transpose()?;
    let (subject, entry) = subject(args, &permission, named, context, &scan, &guard)?;
    let mut request = Request::new(permission, Vec::from_iter(subject)).by(Invoker::Model);
    let mut loaded = Vec::new();
    if let Some(entry) = entry {
        let skill = acting_skill(entry, &guard.trusted).map_err(|error| {
            let message = format!("the content of {} cannot be told: {error}", entry.id());
            CommandError::failed("no-digest", safe(&message).into_owned())
                .help("a skill whose content is not known can be neither trusted nor approved")
        })?;
        request = request.acting_for(skill);
        loaded.push(loaded_skill(entry, &guard.policy, &guard.trusted));
    }
    let situation = Situation { loaded: &loaded, memory: &guard.answers, now: guard.now };
    let leave = ScriptLeave::explain(&guard.policy, request, &situation);
    let (request, mut decision) = (leave.request().clone(), leave.decision().clone());
    let network = leave.network_decision().filter(|_| decision.effect > Effect::Deny).cloned();
    if let Some(network) = network.as_ref().filter(|it| it.effect < decision.effect) {
        // One question is asked about both.
        (decision.effect, decision.reason) = (network.effect, network.reason.clone());
        decision.lifted = None;
    }
    let meant = match &request.permission {
        Permission::Other(_) => {
            let ours: Vec<Permission> = Permission::ours().collect();
            nearest(&args.tool, ours.iter().map(Permission::as_str)).map(str::to_owned)
        }
        _ => None,
    };
    let (help, digest) = (decision.help(), leave.digest());
    Ok(Box::new(Explanation { decision, network, help, digest, request, meant }))
}

/// What the request is about, and the skill that it is for.
fn subject<'s>(
    args: &ExplainArgs,
    permission: &Permission,
    named: Option<&'s Entry>,
    context: &Context,
    scan: &'s Scan,
    guard: &Guard,
) -> Result<(Option<Subject>, Option<&'s Entry>)> {
    let subject = match permission {
        Permission::LoadSkill => {
            let entry = match (args.args.first(), named) {
                (Some(name), _) => find(name, scan)?,
                (None, Some(entry)) => entry,
                (None, None) => return Err(missing("name the skill to load")),
            };
            return Ok((Some(Subject::Skill(entry.id())), Some(entry)));
        }
        Permission::RunScript | Permission::ScriptNetwork => {
            let Some(entry) = named else {
                return Err(missing("name the skill with --skill, and the script's path in it"));
            };
            let Some((script, rest)) = args.args.split_first() else {
                return Err(missing("name the script by its path in the skill"));
            };
            let path = RelPath::new(script).map_err(|fault| {
                CommandError::usage(format!("`{}` is no path in a skill: {fault}", safe(script)))
            })?;
            Subject::script(entry.id(), path, rest.to_vec())
        }
        Permission::ReadFile
        | Permission::ListDir
        | Permission::Grep
        | Permission::WriteFile
        | Permission::DeleteFile => {
            let [path] = args.args.as_slice() else {
                return Err(missing("name one file or directory"));
            };
            absolute(&real_path(&typed_path(path, context))).map(Subject::Path)
        }
        _ if args.args.is_empty() => return Ok((None, named)),
        _ => subject_of(permission, &args.args, guard.policy.places()),
    };
    Ok((Some(subject.map_err(|error| unusable(&error))?), named))
}

/// A path as it was typed: `~/` may come from a quoted argument.
fn typed_path(path: &str, context: &Context) -> std::path::PathBuf {
    match (path.strip_prefix("~/"), &context.user) {
        (Some(rest), Some(user)) => user.home.join(rest),
        _ => context.working_dir.join(path),
    }
}

fn missing(help: &str) -> CommandError {
    CommandError::usage("it is not said what the request is about").help(help)
}

impl Output for Explanation {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}  {}", painted(self.decision.effect), safe(&self.decision.reason))?;
        verdicts(&self.decision, out)?;
        if let Some(network) = &self.network {
            writeln!(out, "with the network open: {}", painted(network.effect))?;
            verdicts(network, out)?;
        }
        out.flush()?;
        if let Some(meant) = &self.meant {
            let tool = safe(self.decision.permission.as_str());
            remark(&format!(
                "{}: `{tool}` is no tool of Metier; did you mean `{meant}`?",
                paint(YELLOW, "warning")
            ));
        }
        if let Some(help) = self.help {
            remark(&format!("{}: {help}", paint(CYAN, "help")));
        }
        Ok(())
    }
}

/// What each layer says, and the rules that lost.
fn verdicts(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    for Verdict { layer, effect, because, losers, .. } in &decision.layers {
        let gap = " ".repeat(10 - layer.as_str().len());
        let wide = " ".repeat(7 - effect.as_str().len());
        let told = safe(because);
        writeln!(out, "  {}{gap}{}{wide}{told}", paint(CYAN, layer), painted(*effect))?;
        for rule in losers {
            let told = format!("overruled: {}", safe(&rule.to_string()));
            writeln!(out, "{}{}", " ".repeat(19), paint(DIM, told))?;
        }
    }
    Ok(())
}

fn painted(effect: Effect) -> String {
    let style = match effect {
        Effect::Deny => RED,
        Effect::Ask => YELLOW,
        Effect::Allow => GREEN,
    };
    paint(style, effect)
}
