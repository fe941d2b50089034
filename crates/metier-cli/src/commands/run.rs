//! `metier run`: a request, worked on by a model with skills and tools, to an answer.
//!
//! Here are the flags; putting a run together is the runtime's, showing it `crate::agent`'s.

mod ending;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use metier::skill::Source;
use metier::{Metier, Session};

pub(crate) use self::ending::{Resuming, end};
use crate::agent::console::{Answerer, Console};
use crate::agent::watch::{JsonLines, Lines, Watcher};
use crate::context::{AgentArgs, Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, print_note};
use crate::render::{count, safe, shell};
use crate::source_arg::SourceArg;

/// Work on a request: pick skills, load them, run their scripts in the sandbox, answer.
///
/// Without a configured model the built-in one decides: it picks skills by their descriptions and
/// follows their commands, offline. Progress is shown on standard error, the answer is printed on
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

Exit codes: 0 answered, 1 failed or nothing fits, 3 denied or something needs approval, 4 a budget is spent, 130 interrupted.")]
pub(crate) struct RunArgs {
    /// What you want; `-` reads it from standard input. `/name arguments` calls a skill, and so does `use the NAME skill`,
    /// but not in what a pipe brings.
    #[arg(required = true)]
    request: Vec<String>,
    #[command(flatten)]
    pub(crate) how: RunOptionArgs,
    #[command(flatten)]
    pub(crate) find: FindArgs,
}

/// How a run is done; the same for `run` and `chat`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunOptionArgs {
    /// Load this skill before the first turn (may be repeated).
    #[arg(long = "skill", value_name = "NAME")]
    pub(crate) skills: Vec<String>,
    /// Take the skills of `--skill` from this source: explicit, project, user, plugin or builtin.
    #[arg(long, value_name = "SOURCE", requires = "skills")]
    source: Option<Source>,
    /// A file that the request is about (may be repeated).
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The model: openai:NAME, anthropic:NAME, ollama:NAME, scripted:FILE, replay:RUN, router, ...
    /// (`metier models` lists them).
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// Answer every question with yes, this once. A denial stays a denial.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Never ask: stop at the first question, with exit code 3.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) no_input: bool,
    /// At most N decisions, plus a last turn to answer; not more than `budgets.turns`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Decide about every action, but run and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Rules for one run; the same for `run`, `chat` and `resume`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RuleArgs {
    /// Allow this tool in this run: PERMISSION or PERMISSION:PATTERN (may be repeated).
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Deny this tool in this run: PERMISSION or PERMISSION:PATTERN (may be repeated). It stays
    /// denied when the run is resumed.
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
}

impl RuleArgs {
    pub(crate) fn apply(&self, session: Session) -> Session {
        let session = self.allow.iter().fold(session, Session::allow);
        self.deny.iter().fold(session, Session::deny)
    }

    /// The same flags, as they would be typed.
    pub(crate) fn words(&self) -> Vec<String> {
        let flags = [("--allow", &self.allow), ("--deny", &self.deny)];
        let mut words = Vec::new();
        for (flag, texts) in flags {
            words.extend(texts.iter().map(|text| format!("{flag} {}", shell::quoted(text))));
        }
        words
    }
}

impl RunOptionArgs {
    /// A session as the flags say, connected to `console`.
    pub(crate) fn session(&self, metier: &Metier, console: &Console) -> Result<Session> {
        let agent = metier.agent();
        let most = agent.map_or(metier.settings().run_limits, |agent| agent.run_limits).turns;
        if let Some(asked) = self.max_turns.filter(|asked| *asked > most) {
            let settings = metier.settings().budget_settings(agent.map(|it| it.name.as_str()));
            let key = settings.get("turns").map_or("budgets.turns", |setting| setting.key.as_str());
            print_note(&format!(
                "`--max-turns {asked}` is more than `{}` allows: {}",
                safe(key),
                count(most as usize, "turn")
            ));
        }
        let mut session = self.rules.apply(console.connect(metier.session()));
        if let Some(model) = &self.model {
            session = session.model(model);
        }
        if let Some(turns) = self.max_turns {
            session = session.max_turns(turns);
        }
        if self.dry_run {
            session = session.dry_run();
        }
        let source = SourceArg { source: self.source };
        for name in &self.skills {
            session = session.skill(source.of(name)?);
        }
        Ok(self.files.iter().fold(session, Session::file))
    }

    /// The terminal of a command with these flags.
    pub(crate) fn console(&self, context: &Context, json: bool) -> Console {
        console(Answerer::new(self.yes, self.no_input, json), context, json)
    }
}

/// The terminal of a command.
pub(crate) fn console(answerer: Answerer, context: &Context, json: bool) -> Console {
    let watcher: Arc<dyn Watcher> =
        if json { Arc::new(JsonLines::default()) } else { Arc::new(Lines::new()) };
    Console::new(answerer, watcher, context.metier.workspace())
}

/// The largest request.
const REQUEST_BYTES: u64 = 1 << 20;

pub(crate) fn run(args: &RunArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    context.metier.require_user_folders()?;
    let (request, author) = request(&args.request)?;
    let console = args.how.console(context, json);
    let mut session = args.how.session(&context.acting(&args.find, &args.how.agent)?, &console)?;
    if author == Author::Pipe {
        session = session.untrusted_request();
    }
    let run = session.run(&request)?;
    let resuming = Resuming { find: &args.find, rules: &args.how.rules };
    Ok(end(context, &run, &console, &resuming, json))
}
/// Whose words a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    Person,
    /// Another program's: a commit message that says `use the deploy skill` must not deploy.
    Pipe,
}

fn request(words: &[String]) -> Result<(String, Author)> {
    let mut author = Author::Person;
    let text = match words {
        [dash] if dash == "-" => {
            let mut text = String::new();
            let stdin = std::io::stdin();
            if stdin.is_terminal() {
                print_note("reading the request from standard input; press Ctrl-D to end it");
            } else {
                author = Author::Pipe;
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
    Ok((text.trim().to_owned(), author))
}
