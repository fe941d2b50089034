//! The line of a chat at a terminal: editing, and a history that outlives the session.
//!
//! The editor reads on a thread of its own, because nothing else would end it when a signal stops the
//! program; the terminal is then given back as it was. The history is the user's state: private,
//! bounded, and without lines that begin with a blank.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use metier::CancelToken;
use metier::fs::{read_bounded, write_private};
use rustyline::error::ReadlineError;
use rustyline::history::{History, MemHistory, SearchDirection};
use rustyline::{Config, Editor};

use super::typed::TypedLine;

/// Lines that are remembered.
const MAX_LINES: usize = 1000;
/// Bytes of the file that are read.
const MAX_BYTES: u64 = 4 << 20;

type LineReader = Editor<(), MemHistory>;

/// Reads lines from a person.
pub(crate) struct LineEditor {
    /// Nothing while the thread has it.
    editor: Option<LineReader>,
    file: PathBuf,
}

/// What ends the wait for a line.
enum Edited {
    Line(Box<LineReader>, Result<String, ReadlineError>),
    Cancelled,
}

impl LineEditor {
    /// An editor with the history of earlier sessions; `file` need not exist.
    pub(crate) fn open(file: PathBuf) -> Result<Self, ReadlineError> {
        let config = Config::builder().max_history_size(MAX_LINES)?.history_ignore_space(true);
        let config = config.build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history)?;
        // What cannot be read is not remembered; a chat works without it.
        let bytes = read_bounded(&file, MAX_BYTES).unwrap_or_default();
        for line in String::from_utf8_lossy(&bytes).lines() {
            editor.add_history_entry(line)?;
        }
        Ok(Self { editor: Some(editor), file })
    }

    /// The next line, unless `cancel` is cancelled before it comes. Ctrl-C gives an empty line, and ends
    /// the session when there was nothing before it but Ctrl-C.
    pub(crate) fn line(&mut self, prompt: &str, cancel: &CancelToken) -> io::Result<TypedLine> {
        let mut interrupted = false;
        loop {
            let Some(read) = self.read(prompt, cancel) else { return Ok(TypedLine::Stopped) };
            match read {
                Ok(line) => {
                    self.remember(&line);
                    return Ok(TypedLine::Text(line.trim().to_owned()));
                }
                Err(ReadlineError::Interrupted) if interrupted => return Ok(TypedLine::Stopped),
                Err(ReadlineError::Interrupted) => {
                    interrupted = true;
                    crate::output::print_note("press Ctrl-C again, or Ctrl-D, to end the session");
                }
                Err(ReadlineError::Eof) => return Ok(TypedLine::End),
                Err(ReadlineError::Io(error)) => return Err(error),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// What was typed; nothing where the wait was cancelled.
    fn read(
        &mut self,
        prompt: &str,
        cancel: &CancelToken,
    ) -> Option<Result<String, ReadlineError>> {
        let Some(mut editor) = self.editor.take() else {
            return Some(Err(ReadlineError::Eof));
        };
        let terminal = TerminalMode::now();
        let (sender, edited): (Sender<Edited>, Receiver<Edited>) = channel();
        let (typed, prompt) = (sender.clone(), prompt.to_owned());
        std::thread::spawn(move || {
            let read = editor.readline(&prompt);
            // The one who waits may have gone.
            let _ = typed.send(Edited::Line(Box::new(editor), read));
        });
        let _guard = cancel.on_cancel(move || {
            let _ = sender.send(Edited::Cancelled);
        });
        match edited.recv() {
            Ok(Edited::Line(editor, read)) => {
                self.editor = Some(*editor);
                Some(read)
            }
            Ok(Edited::Cancelled) | Err(_) => {
                terminal.restore();
                None
            }
        }
    }

    /// Adds a line to the history and writes it down.
    fn remember(&mut self, line: &str) {
        let Some(editor) = &mut self.editor else { return };
        if line.trim().is_empty() || !editor.add_history_entry(line).unwrap_or(false) {
            return;
        }
        let history = editor.history();
        let entry = |at| history.get(at, SearchDirection::Forward).ok().flatten();
        let lines = (0..history.len()).filter_map(entry);
        let text = lines.fold(String::new(), |text, line| text + &line.entry + "\n");
        // A history that cannot be written is no reason to end a chat.
        let _ = write_private(&self.file, text.as_bytes());
    }
}

/// How the terminal was before the editor took it.
struct TerminalMode {
    #[cfg(unix)]
    mode: Option<rustix::termios::Termios>,
}

impl TerminalMode {
    fn now() -> Self {
        Self {
            #[cfg(unix)]
            mode: rustix::termios::tcgetattr(io::stdin()).ok(),
        }
    }

    fn restore(&self) {
        #[cfg(unix)]
        if let Some(mode) = &self.mode {
            let now = rustix::termios::OptionalActions::Now;
            let _ = rustix::termios::tcsetattr(io::stdin(), now, mode);
        }
    }
}
