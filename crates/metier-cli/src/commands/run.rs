//! `metier run`: a request, worked on by a model with skills and tools, to an answer.
//!
//! Here are the flags and the ending; the loop is `metier-agent`'s, who decides and what may be done
//! is put together in `crate::agent`.

mod ending;
mod session;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::Args;

pub(crate) use self::ending::end;
pub(crate) use self::session::{Session, Wanted, told};
use crate::agent::approver::Who;
use crate::agent::shop::tell_turns;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::Output;
use crate::prompt;

/// Work on a request: pick skills, load them, run their scripts in the sandbox, answer.
///
/// Without a configured model the built-in one decides: it picks skills by their descriptions and
/// follows their commands, offline. What goes on is told on standard error, the answer is printed on
/// standard output. Every step is recorded in `.agent/runs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier run \"summarise examples/sales.csv by region\"
  metier run --yes \"summarise examples/sales.csv by region\"
  metier run /csv-summary examples/sales.csv      # your own call of a skill
  metier run --skill review-skill \"is my-skill ready?\" --file my-skill/SKILL.md
  metier run --model openai:gpt-5-mini \"...\"      # with OPENAI_API_KEY
  git log -20 | metier run -                      # the request from standard input
  metier run --json \"...\" | jq -r .type           # events as JSON lines

Exit codes: 0 answered, 1 failed, 3 something needs approval, 4 a budget is spent, 130 interrupted.")]
pub(crate) struct RunArgs {
    /// What you want; `-` reads it from standard input. `/name arguments` calls a skill.
    #[arg(required = true)]
    request: Vec<String>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    #[command(flatten)]
    pub(crate) find: FindArgs,
}

/// How a run is done; the same for `run` and `chat`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HowArgs {
    /// Load this skill before the first turn (may be repeated).
    #[arg(long = "skill", value_name = "NAME")]
    pub(crate) skills: Vec<String>,
    /// A file that the request is about (may be repeated).
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Who decides: openai:NAME, anthropic:NAME, scripted:FILE, replay:RUN or router.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Answer every question with yes, this once. A denial stays a denial.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Never ask: stop at the first question, with exit code 3.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) no_input: bool,
    /// At most so many decisions, besides a last turn to answer; not more than `budgets.turns`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Allow this tool in this run: PERMISSION or PERMISSION:PATTERN (may be repeated).
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Deny this tool in this run: PERMISSION or PERMISSION:PATTERN (may be repeated).
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Decide about everything, run and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl HowArgs {
    /// Who answers questions.
    pub(crate) fn who(&self, json: bool) -> Who {
        if self.yes {
            Who::Yes
        } else if self.no_input || !prompt::can_ask(json) {
            Who::Nobody
        } else {
            Who::Person
        }
    }
}

/// The largest request.
const REQUEST_BYTES: u64 = 1 << 20;

pub(crate) fn run(args: &RunArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let request = request(&args.request)?;
    let session = Session::new(context, &args.how, &args.find, json)?;
    tell_turns(context, args.how.max_turns);
    let wanted = Wanted { request: &request, earlier: "", skills: &args.how.skills };
    let (folder, state) = session.run(&wanted)?;
    Ok(end(context, &folder, &state, &session, json))
}

fn request(words: &[String]) -> Result<String> {
    let text = match words {
        [dash] if dash == "-" => {
            let mut text = String::new();
            let stdin = std::io::stdin();
            if stdin.is_terminal() {
                crate::output::remark("reading the request from standard input; Ctrl-D ends it");
            }
            let read = stdin.lock().take(REQUEST_BYTES + 1).read_to_string(&mut text);
            read.map_err(|error| {
                CommandError::failed("request-unreadable", format!("standard input: {error}"))
            })?;
            text
        }
        words => words.join(" "),
    };
    if text.len() as u64 > REQUEST_BYTES {
        return Err(CommandError::usage("the request is longer than 1 MiB")
            .help("put the text into a file and name it with --file"));
    }
    if text.trim().is_empty() {
        return Err(CommandError::usage("the request is empty")
            .help("say what you want: metier run \"summarise examples/sales.csv by region\""));
    }
    Ok(text.trim().to_owned())
}
