//! `metier chat`: several requests in one session, each with what was said before.
//!
//! Every request is a run of its own, with its own record; the session hands on what was asked and
//! answered, and the skills that were loaded.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use metier_agent::Status;

use crate::agent::shop::tell_turns;
use crate::agent::typed::Line;
use crate::commands::run::{HowArgs, Session, Wanted, end};
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, remark, tell};
use crate::render::style::{BOLD, DIM, paint};

/// Talk to the agent: several requests in one session.
///
/// A line is a request; `/name arguments` calls a skill; Ctrl-D or, on a terminal, an empty line ends
/// the session. Ctrl-C stops the request that is being worked on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier chat
  metier chat --model anthropic:claude-sonnet-5
  printf 'summarise examples/sales.csv by region\\n/project-overview\\n' | metier chat --yes")]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    find: FindArgs,
}

/// Characters of an answer that later requests are told.
const TOLD_CHARS: usize = 2000;
/// Exchanges that later requests are told.
const TOLD: usize = 8;

pub(crate) fn run(args: &ChatArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let session = Session::new(context, &args.how, &args.find, json)?;
    tell_turns(context, args.how.max_turns);
    let mut said: Vec<(String, String)> = Vec::new();
    let mut skills = args.how.skills.clone();
    let mut exit = Exit::Done;
    let is_terminal = io::stdin().is_terminal();
    if is_terminal && !json {
        remark(&paint(DIM, "an empty line ends the session"));
    }
    while let Some(request) = next(&session, is_terminal, json)? {
        let earlier = earlier(&said);
        let wanted = Wanted { request: &request, earlier: &earlier, skills: &skills };
        let (folder, state) = match session.run(&wanted) {
            Ok(ran) => ran,
            // Flags that cannot be are no matter of one request.
            Err(error) if error.exit == Exit::Usage => return Err(error),
            Err(error) => {
                exit = error.exit;
                tell(&error, json).map_err(|error| not_written(&error))?;
                // It may be a skill of before that is gone; it must not end every later request.
                skills.clone_from(&args.how.skills);
                continue;
            }
        };
        let ended = end(context, &folder, &state, &session, json);
        exit = ended.exit();
        if !json {
            ended.human(&mut io::stdout().lock()).map_err(|error| not_written(&error))?;
        }
        let answer = state.finished().and_then(|end| end.answer.as_deref()).unwrap_or_default();
        said.push((request, answer.chars().take(TOLD_CHARS).collect()));
        // The offline model follows what is loaded and chooses only where nothing is.
        if state.setup().model.provider != "router" {
            skills = state.loaded();
        }
        if state.finished().is_some_and(|end| end.status == Status::Cancelled) {
            session.interrupt.renew();
        }
    }
    // Ctrl-C where nothing is worked on ends the session.
    if session.interrupt.token().is_cancelled() {
        exit = Exit::Interrupted;
    }
    Ok(Box::new(Over { exit }))
}

/// The next request. An empty line ends the session of a person; in a pipe it says nothing.
fn next(session: &Session<'_>, is_terminal: bool, json: bool) -> Result<Option<String>> {
    loop {
        if is_terminal && !json {
            let mut out = anstream::stderr();
            let _ = write!(out, "{} ", paint(BOLD, ">")).and_then(|()| out.flush());
        }
        let line = session.typed.line(&session.interrupt.token()).map_err(|error| {
            CommandError::failed("request-unreadable", format!("standard input: {error}"))
        })?;
        match line {
            Line::Text(text) if text.is_empty() && !is_terminal => {}
            Line::Text(text) => return Ok(Some(text).filter(|text| !text.is_empty())),
            Line::End | Line::Stopped => return Ok(None),
        }
    }
}

fn not_written(error: &io::Error) -> CommandError {
    CommandError::failed("output", format!("the answer cannot be written: {error}"))
}

/// What was said before, for the model.
fn earlier(said: &[(String, String)]) -> String {
    if said.is_empty() {
        return String::new();
    }
    let start = said.len().saturating_sub(TOLD);
    let mut text = "# Earlier in this session\n".to_owned();
    for (request, answer) in &said[start..] {
        text.push_str(&format!("\nThe user asked: {request}\n"));
        text.push_str(&metier_loader::fenced("Answer", answer));
    }
    text
}

/// The session is over; everything has been printed.
struct Over {
    exit: Exit,
}

impl Output for Over {
    fn json(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn human(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn has_document(&self) -> bool {
        false
    }

    fn is_raw(&self) -> bool {
        true
    }

    fn exit(&self) -> Exit {
        self.exit
    }
}
