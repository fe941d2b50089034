//! `metier chat`: several requests in one session, each with what was said before.
//!
//! Every request is a run of its own, with its own record; the session hands on what was asked and
//! answered, and the skills that were loaded.

mod chat_command;

use std::io::{self, IsTerminal, Write};

use clap::Args;
use metier::Metier;

use self::chat_command::ChatCommand;
use crate::agent::console::Console;
use crate::agent::line_editor::LineEditor;
use crate::agent::typed::TypedLine;
use crate::commands::run::{Resuming, RunOptionArgs, end};
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Exit, Result};
use crate::output::{Output, print_error, print_note};
use crate::render::style::{BOLD, DIM, paint};

/// Talk to the agent: several requests in one session.
///
/// A line is a request; `/name arguments` calls a skill, but not in what a pipe brings; `/help` lists the commands
/// of the chat; `/exit` or Ctrl-D ends the session. Ctrl-C stops the current request. At a terminal lines can be
/// edited, and the arrow keys bring back what was typed in earlier sessions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier chat
  metier chat --model anthropic:claude-sonnet-5
  printf 'summarise examples/sales.csv by region\\nproject overview\\n' | metier chat --yes")]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    how: RunOptionArgs,
    #[command(flatten)]
    find: FindArgs,
}

pub(crate) fn run(args: &ChatArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    context.metier.require_user_folders()?;
    let console = args.how.console(context, json);
    let metier = context.acting(&args.find, &args.how.agent)?;
    let mut session = args.how.session(&metier, &console)?;
    // What another program writes is not the person's own words, as for `run -`.
    if !io::stdin().is_terminal() {
        session = session.untrusted_request();
    }
    let mut chat = session.chat()?;
    let resuming = Resuming { find: &args.find, rules: &args.how.rules };
    let mut exit = Exit::Done;
    let mut input = Input::open(&metier, json)?;
    while let Some(line) = input.next(&console)? {
        chat.cancel_with(console.interrupt.token());
        let request = match ChatCommand::read(&line) {
            Some(ChatCommand::Exit) => break,
            Some(command) => {
                exit = match command.run(&mut chat, &metier, json) {
                    Ok(()) => Exit::Done,
                    Err(error) => {
                        print_error(&error, json).map_err(|error| not_written(&error))?;
                        error.exit
                    }
                };
                continue;
            }
            None => {
                // A slip is no request: a turn of the model would be spent on it.
                if let Some(error) = chat_command::mistyped(&line, &metier) {
                    exit = error.exit;
                    print_error(&error, json).map_err(|error| not_written(&error))?;
                    continue;
                }
                line
            }
        };
        match chat.send(&request) {
            Ok(run) => {
                let ended = end(context, &run, &console, &resuming, json);
                exit = ended.exit();
                if !json {
                    ended.human(&mut io::stdout().lock()).map_err(|error| not_written(&error))?;
                }
            }
            Err(error) => {
                let error = CommandError::from(error);
                exit = error.exit;
                print_error(&error, json).map_err(|error| not_written(&error))?;
            }
        }
        // What was cancelled is this request, not the session.
        if exit == Exit::Interrupted {
            console.interrupt.renew();
        }
    }
    // Ctrl-C while nothing is worked on ends the session.
    if input.was_stopped {
        exit = Exit::Interrupted;
    }
    Ok(Box::new(ChatEnd { exit }))
}

/// Where requests come from: a person at an editor, or lines of a pipe.
struct Input {
    editor: Option<LineEditor>,
    prompt: Prompt,
    was_stopped: bool,
}

/// Whether a person is asked for a line where there is no editor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prompt {
    Shown,
    Hidden,
}

impl Input {
    fn open(metier: &Metier, json: bool) -> Result<Self> {
        let is_person = io::stdin().is_terminal() && !json;
        let is_dumb = metier.environment().variable("TERM").is_some_and(|term| term == "dumb");
        // What a file takes must not hold prompts.
        let can_edit = is_person && io::stdout().is_terminal() && !is_dumb;
        let history = metier.require_user_folders()?.state.join("chat_history");
        let editor = if can_edit { LineEditor::open(history).ok() } else { None };
        if is_person {
            print_note(&paint(DIM, "/help lists the commands; Ctrl-D ends the session"));
        }
        let prompt = if is_person { Prompt::Shown } else { Prompt::Hidden };
        Ok(Self { editor, prompt, was_stopped: false })
    }

    /// The next line that says something.
    fn next(&mut self, console: &Console) -> Result<Option<String>> {
        let token = console.interrupt.token();
        loop {
            let line = if let Some(editor) = &mut self.editor {
                editor.line("> ", &token)
            } else {
                if self.prompt == Prompt::Shown {
                    let mut out = anstream::stderr();
                    let _ = write!(out, "{} ", paint(BOLD, ">")).and_then(|()| out.flush());
                }
                console.typed.line(&token)
            };
            let line = line.map_err(|error| {
                CommandError::failed("request-unreadable", format!("standard input: {error}"))
            })?;
            match line {
                TypedLine::Text(text) if text.is_empty() => {}
                TypedLine::Text(text) => return Ok(Some(text)),
                TypedLine::End => return Ok(None),
                TypedLine::Stopped => {
                    self.was_stopped = true;
                    return Ok(None);
                }
            }
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
