//! The lines at the end of a terminal that are written over: the plan, what is being done now, and
//! what a script or a model is saying.
//!
//! They go to standard error past `anstream`: where colour is not wanted it removes every escape,
//! and the cursor has to move all the same.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};

/// Lines that are written over.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// How many are there now. The cursor stands at the end of the last one.
    drawn: usize,
}

impl Region {
    /// Shows these lines instead of those that are there. None may be wider than the terminal, nor
    /// may there be more than it has rows: a line that scrolled away cannot be written over.
    pub(super) fn draw(&mut self, lines: &[String]) {
        let mut text = self.to_start();
        for (at, line) in lines.iter().enumerate() {
            let end = if at + 1 == lines.len() { "" } else { "\n" };
            text.push_str(&format!("{}\u{1b}[K{end}", coloured(line)));
        }
        text.push_str("\u{1b}[J");
        self.drawn = lines.len();
        // A terminal that is gone needs no drawing.
        let mut out = io::stderr().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Takes the lines away.
    pub(super) fn erase(&mut self) {
        if self.drawn > 0 {
            self.draw(&[]);
        }
    }

    /// Moves the cursor to the first column of the first line.
    fn to_start(&self) -> String {
        match self.drawn {
            0 | 1 => "\r".to_owned(),
            lines => format!("\r\u{1b}[{}A", lines - 1),
        }
    }
}

/// The line with its styles, or without them where colour is not wanted.
fn coloured(line: &str) -> String {
    match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => anstream::adapter::strip_str(line).to_string(),
        _ => line.to_owned(),
    }
}
