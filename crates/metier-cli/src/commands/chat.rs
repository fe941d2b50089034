//! `metier chat`: several requests in one session, each with what was said before.
//!
//! Every request is a run of its own, with its own record; the session hands on what was asked and
//! answered, and the skills that were loaded.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use metier::agent::Status;

use crate::agent::console::Console;
use crate::agent::typed::TypedLine;
use crate::commands::run::{Resuming, RunOptionArgs, end};
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_error, print_note};
use crate::render::style::{BOLD, DIM, paint};

/// Talk to the agent: several requests in one session.
///
/// A line is a request; `/name arguments` calls a skill; Ctrl-D or, on a terminal, an empty line ends
/// the session. Ctrl-C stops the current request.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier chat
  metier chat --model anthropic:claude-sonnet-5
  printf 'summarise examples/sales.csv by region\\n/project-overview\\n' | metier chat --yes")]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    how: RunOptionArgs,
    #[command(flatten)]
    find: FindArgs,
}

pub(crate) fn run(args: &ChatArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    context.metier.require_user_folders()?;
    let console = args.how.console(context, json);
    let mut chat =
        args.how.session(&context.acting(&args.find, &args.how.agent)?, &console).chat()?;
    let resuming = Resuming { find: &args.find, rules: &args.how.rules };
    let mut exit = Exit::Done;
    let is_terminal = io::stdin().is_terminal();
    if is_terminal && !json {
        print_note(&paint(DIM, "press Enter on an empty line to end the session"));
    }
    while let Some(request) = next(&console, is_terminal, json)? {
        chat.cancel_with(console.interrupt.token());
        let run = match chat.send(&request) {
            Ok(run) => run,
            Err(error) => {
                let error = CommandError::from(error);
                // Wrong flags are not a matter of one request.
                if error.exit == Exit::Usage {
                    return Err(error);
                }
                exit = error.exit;
                print_error(&error, json).map_err(|error| not_written(&error))?;
                continue;
            }
        };
        let ended = end(context, &run, &console, &resuming, json);
        exit = ended.exit();
        if !json {
            ended.human(&mut io::stdout().lock()).map_err(|error| not_written(&error))?;
        }
        if run.status() == Status::Cancelled {
            console.interrupt.renew();
        }
    }
    // Ctrl-C while nothing is worked on ends the session.
    if console.interrupt.token().is_cancelled() {
        exit = Exit::Interrupted;
    }
    Ok(Box::new(ChatEnd { exit }))
}

/// The next request. An empty line ends the session of a person; in a pipe it says nothing.
fn next(console: &Console, is_terminal: bool, json: bool) -> Result<Option<String>> {
    loop {
        if is_terminal && !json {
            let mut out = anstream::stderr();
            let _ = write!(out, "{} ", paint(BOLD, ">")).and_then(|()| out.flush());
        }
        let line = console.typed.line(&console.interrupt.token()).map_err(|error| {
            CommandError::failed("request-unreadable", format!("standard input: {error}"))
        })?;
        match line {
            TypedLine::Text(text) if text.is_empty() && !is_terminal => {}
            TypedLine::Text(text) => return Ok(Some(text).filter(|text| !text.is_empty())),
            TypedLine::End | TypedLine::Stopped => return Ok(None),
        }
    }
}

fn not_written(error: &io::Error) -> CommandError {
    CommandError::failed("output", format!("the answer cannot be written: {error}"))
}

/// The session is over; everything has been printed.
struct ChatEnd {
    exit: Exit,
}

impl Output for ChatEnd {
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
