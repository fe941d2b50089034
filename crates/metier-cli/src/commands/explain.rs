//! `metier explain`: what would be decided about a request, by which rules, and why.
//!
//! Nothing is done and no question is asked. Deciding is `metier-policy`'s.

use std::io::{self, Write};

use clap::Args;
use metier::Explanation;
use metier::policy::{Effect, LayerDecision, Permission, PolicyDecision};
use metier::skill::Code;

use crate::context::{AgentArgs, Context, FindArgs, LoadedArgs};
use crate::error::Result;
use crate::output::{Output, print_note, write_json};
use crate::render::safe;
use crate::render::style::{CYAN, DIM, GREEN, RED, YELLOW, paint};

/// Explain what would be decided about a request, and which rules decide it.
///
/// TOOL is `load_skill`, `read_file`, `list_dir`, `grep`, `run_script`, `run_command`, `write_file`,
/// `delete_file`, `network_request`, `script_network`, or another program's tool. ARG is what it is
/// used on: a skill, a path, a script with its arguments, a command, a host. Put arguments that
/// begin with a dash after `--`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier explain read_file src/main.rs
  metier explain run_script scripts/fill.py --skill pdf
  metier explain run_command --skill pdf -- git push --force
  metier explain write_file notes.md --loaded profile-csv
  metier explain load_skill pdf --json")]
pub(crate) struct ExplainArgs {
    /// The tool.
    tool: String,
    /// What it is used on.
    args: Vec<String>,
    #[command(flatten)]
    skills: LoadedArgs,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    find: FindArgs,
}

struct Explained(Explanation);

pub(crate) fn run(args: &ExplainArgs, context: &Context) -> Result<Box<dyn Output>> {
    let metier = context.acting(&args.find, &args.agent)?;
    Ok(Box::new(Explained(metier.explain(&args.tool, &args.args, &(&args.skills).into())?)))
}

impl Output for Explained {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(&self.0, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}  {}", painted(self.0.decision.effect), safe(&self.0.decision.reason))?;
        verdicts(&self.0.decision, out)?;
        if let Some(network) = &self.0.network {
            writeln!(out, "with the network open: {}", painted(network.effect))?;
            verdicts(network, out)?;
        }
        out.flush()?;
        if let Permission::Other(_) = &self.0.decision.permission {
            let tool = safe(self.0.decision.permission.as_str());
            let advice = match &self.0.did_you_mean {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if Code::find(&tool).is_some() => {
                    format!("it is a diagnostic: metier check --explain {tool}")
                }
                None => "this holds for a tool of that name that another program adds".to_owned(),
            };
            print_note(&format!("{}: unknown tool `{tool}`; {advice}", paint(YELLOW, "warning")));
        }
        if let Some(help) = self.0.help {
            print_note(&format!("{}: {help}", paint(CYAN, "help")));
        }
        Ok(())
    }
}

/// What each layer says, and the rules that lost.
fn verdicts(decision: &PolicyDecision, out: &mut dyn Write) -> io::Result<()> {
    for LayerDecision { layer, effect, because, losers, .. } in &decision.layers {
        let gap = " ".repeat(10 - layer.as_str().len());
        let wide = " ".repeat(7 - effect.as_str().len());
        let text = safe(because);
        writeln!(out, "  {}{gap}{}{wide}{text}", paint(CYAN, layer), painted(*effect))?;
        for rule in losers {
            let text = format!("overruled: {}", safe(&rule.to_string()));
            writeln!(out, "{}{}", " ".repeat(19), paint(DIM, text))?;
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
