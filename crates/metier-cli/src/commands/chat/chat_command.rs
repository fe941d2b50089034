//! The commands of a chat: lines that are for the chat itself, not for the model.
//! Any other `/name` calls a skill.

use std::io::Write;
use std::path::Path;

use metier::skill::nearest;
use metier::{Chat, Metier};

use crate::error::{CommandError, Result};
use crate::output::print_note;
use crate::render::style::BOLD;
use crate::render::table::Table;
use crate::render::{fold_line, safe};

const HELP: &str = "\
/help              this list
/skills            the skills that can be used here
/model [MODEL]     the model that decides; with a name, another one from now on
/exit              ends the session, like Ctrl-D
/NAME ARGUMENTS    calls the skill NAME
Anything else is a request. Ctrl-C stops the one that is being worked on.
";

/// A line that is for the chat.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatCommand {
    Help,
    Skills,
    /// Without a name: which one decides.
    Model(Option<String>),
    Exit,
}

impl ChatCommand {
    /// The command that a line is; nothing where it is a request.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let command = match (words.next()?, words.next()) {
            ("/help" | "/?", None) => Self::Help,
            ("/skills", None) => Self::Skills,
            ("/exit" | "/quit", None) => Self::Exit,
            ("/model", name) => Self::Model(name.map(str::to_owned)),
            _ => return None,
        };
        words.next().is_none().then_some(command)
    }

    /// Does it. A program that reads JSON lines gets no other text on standard output.
    pub(super) fn run(&self, chat: &mut Chat, metier: &Metier, json: bool) -> Result<()> {
        let text = match self {
            Self::Help => HELP.to_owned(),
            Self::Skills => skills(metier)?,
            Self::Model(name) => {
                if let Some(name) = name {
                    chat.set_model(name)?;
                }
                let model = chat.model()?;
                format!("{}\n", safe(&format!("{}:{}", model.provider, model.name)))
            }
            Self::Exit => String::new(),
        };
        if json {
            print_note(text.trim_end());
            return Ok(());
        }
        let mut out = anstream::stdout();
        // Where standard output is closed, no one waits for a list.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        Ok(())
    }
}

/// The error of a line that begins with nearly a command: `/modle x`. What calls a skill, or begins with a
/// path, is a request.
pub(super) fn mistyped(line: &str, metier: &Metier) -> Option<CommandError> {
    let typed = line.split_whitespace().next()?.strip_prefix('/')?;
    let meant = nearest(typed, ["help", "skills", "model", "exit", "quit"])?;
    if meant == typed || metier::fs::exists(&Path::new("/").join(typed)) {
        return None;
    }
    let skills = metier.usable_skills().ok()?;
    if skills.iter().any(|entry| entry.name().as_str() == typed) {
        return None;
    }
    let message = format!("there is no command `/{}`; did you mean `/{meant}`?", safe(typed));
    Some(CommandError::usage(message).help("`/help` lists the commands of a chat"))
}

fn skills(metier: &Metier) -> Result<String> {
    let skills = metier.usable_skills()?;
    if skills.is_empty() {
        return Ok("There are no skills here.\n".to_owned());
    }
    let mut table = Table::new(&[("NAME", BOLD), ("DESCRIPTION", anstyle::Style::new())]);
    for entry in &skills {
        let description = fold_line(&entry.skill.description).into_owned();
        table.row(vec![safe(entry.name().as_str()).into_owned(), description]);
    }
    let mut text = Vec::new();
    table.write(&mut text).map_err(|error| CommandError::failed("internal", error.to_string()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_the_whole_line_and_other_names_are_skills() {
        assert_eq!(ChatCommand::read("/help"), Some(ChatCommand::Help));
        assert_eq!(ChatCommand::read(" /exit "), Some(ChatCommand::Exit));
        assert_eq!(ChatCommand::read("/model"), Some(ChatCommand::Model(None)));
        let named = ChatCommand::Model(Some("router".to_owned()));
        assert_eq!(ChatCommand::read("/model router"), Some(named));
        for request in ["/csv-summary a.csv", "help", "/helper", "/exit now", "what is /help?"] {
            assert_eq!(ChatCommand::read(request), None, "{request}");
        }
    }
}
