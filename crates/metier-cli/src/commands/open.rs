//! `metier open`: a skill in the editor, or its folder in the file manager.
//!
//! The only command that starts another program, and only one that the user or the platform chose:
//! nothing that a skill says is run, and no shell is.

mod words;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use metier::CancelToken;
use metier::skill::Source;
use serde::Serialize;

use crate::commands::content::skill_file;
use crate::commands::list::path_text;
use crate::context::{Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::output::{Output, write_json};
use crate::render::safe;

/// How long a file manager may take to say that it cannot. Most hand over and end; one that stays
/// has opened the folder.
const FILE_MANAGER_TIMEOUT: Duration = Duration::from_secs(3);

/// Open a skill in your editor, or its folder in the file manager.
///
/// On a terminal SKILL.md opens in $VISUAL or $EDITOR where one is set; otherwise the folder opens
/// in the file manager. The editor may have arguments, as in `code --wait`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  metier open release-notes
  metier open --folder release-notes
  cd \"$(metier open --print release-notes)\"")]
pub(crate) struct OpenArgs {
    /// The skill.
    name: String,
    /// In the editor, on a terminal or not.
    #[arg(long, conflicts_with_all = ["folder", "print"])]
    editor: bool,
    /// In the file manager.
    #[arg(long, conflicts_with = "print")]
    folder: bool,
    /// Print the path of the folder and open nothing.
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    find: FindArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum With {
    Editor,
    Folder,
    Nothing,
}

#[derive(Serialize)]
struct Opened {
    id: String,
    path: String,
    file: String,
    with: With,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip)]
    directory: PathBuf,
}

pub(crate) fn run(args: &OpenArgs, context: &Context, json: bool) -> Result<Box<dyn Output>> {
    let entry = context.finding(&args.find).skill(&args.name)?;
    if entry.source == Source::Builtin {
        let name = safe(entry.name().as_str()).into_owned();
        let message = format!("`{name}` is built into metier and has no folder");
        return Err(CommandError::failed("skill-builtin", message).help(format!(
            "`metier read {name}` prints it, `metier files {name}` lists its files"
        )));
    }
    let directory = entry.path.clone();
    let file = skill_file(&directory);
    let with = match args {
        OpenArgs { print: true, .. } => With::Nothing,
        OpenArgs { folder: true, .. } => With::Folder,
        OpenArgs { editor: true, .. } => With::Editor,
        _ if context.editor.is_some() && on_terminal() => With::Editor,
        _ => With::Folder,
    };
    let program = match with {
        With::Nothing => None,
        With::Editor => Some(edit(context.editor.as_deref(), &file, json)?),
        With::Folder => Some(show(&directory, &file)?),
    };
    Ok(Box::new(Opened {
        id: entry.id().to_string(),
        path: directory.to_string_lossy().into_owned(),
        file: file.to_string_lossy().into_owned(),
        with,
        program,
        directory,
    }))
}

fn on_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Opens `file` in the editor and waits for its end. Where a program waits for the document, what the
/// editor prints goes to standard error.
fn edit(editor: Option<&OsStr>, file: &Path, json: bool) -> Result<String> {
    let advice = "set VISUAL or EDITOR to the editor's program, such as `vi` or `code --wait`";
    let Some(editor) = editor else {
        let message = "no editor is set";
        return Err(CommandError::failed("no-editor", message).help(advice));
    };
    let shown = safe(&editor.to_string_lossy()).into_owned();
    let words = editor.to_str().and_then(words::split).filter(|words| !words.is_empty());
    let Some((program, arguments)) = words.as_ref().and_then(|words| words.split_first()) else {
        let message = format!("the editor `{shown}` is not a valid command");
        return Err(CommandError::failed("no-editor", message).help(advice));
    };
    let mut command = command(program);
    command.args(arguments).arg(file);
    if json {
        command.stdout(io::stderr());
    }
    match command.status() {
        Ok(status) if status.success() => Ok(program.clone()),
        Ok(status) => Err(CommandError::failed(
            "editor-failed",
            format!("the editor `{shown}` ended with {status}"),
        )
        .help(advice)),
        Err(error) => Err(CommandError::failed(
            "editor-failed",
            format!("the editor `{shown}` cannot be started: {error}"),
        )
        .help(advice)),
    }
}

/// The platform's file manager, and the arguments that make it show a folder.
fn file_manager(directory: &Path, file: &Path) -> (&'static str, Vec<OsString>) {
    if cfg!(target_os = "macos") {
        // Shown in its folder, not opened: a folder called `x.app` would be run.
        ("open", vec!["-R".into(), file.into()])
    } else if cfg!(windows) {
        ("explorer", vec![directory.into()])
    } else {
        ("xdg-open", vec![directory.into()])
    }
}

fn show(directory: &Path, file: &Path) -> Result<String> {
    let (program, arguments) = file_manager(directory, file);
    let failed = |reason: String| {
        let message = format!("the file manager cannot be opened: {reason}");
        CommandError::failed("file-manager-failed", message).help(format!(
            "set VISUAL or EDITOR and use --editor; the folder is {}",
            path_text(directory)
        ))
    };
    let mut child = command(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(format!("`{program}`: {error}")))?;
    let deadline = Instant::now() + FILE_MANAGER_TIMEOUT;
    while Instant::now() < deadline {
        match child.try_wait() {
            // The Windows explorer ends with 1 when all went well.
            Ok(Some(status)) if status.success() || cfg!(windows) => break,
            Ok(Some(status)) => return Err(failed(format!("`{program}` ended with {status}"))),
            Ok(None) => {
                // Ctrl-C ends the program here: nothing is to be cleaned up.
                CancelToken::new().wait_timeout(Duration::from_millis(20));
            }
            Err(error) => return Err(failed(error.to_string())),
        }
    }
    Ok(program.to_owned())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program that the user or the platform chose, for the user to look at: no sandbox \
              belongs around it"
)]
fn command(program: &str) -> Command {
    Command::new(program)
}

impl Output for Opened {
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(self, out)
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.with != With::Nothing {
            return Ok(());
        }
        // For `cd` and its like: as it is, unless it would reach a terminal.
        if io::stdout().is_terminal() {
            return writeln!(out, "{}", path_text(&self.directory));
        }
        out.write_all(self.directory.as_os_str().as_encoded_bytes())?;
        writeln!(out)
    }

    fn is_raw(&self) -> bool {
        true
    }
}
