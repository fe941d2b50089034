//! The one place where results reach standard output and exit codes are decided.
//!
//! A command gives an [`Output`], which knows both its forms, so that `--json` cannot be forgotten.
//! Data goes to standard output, everything else to standard error. A reader that closes the pipe
//! ends the program quietly.

use std::io::{self, BufWriter, IsTerminal, Write};

use metier::registry::parallel;
use metier::skill::FailureCode;
use serde::Serialize;

use crate::error::{CommandError, Exit};
use crate::render::style::{BOLD, CYAN, RED, paint};

/// What a command has to say.
pub(crate) trait Output {
    /// The one JSON document, without a line break at its end.
    fn json(&self, out: &mut dyn Write) -> io::Result<()>;
    /// The same for people; may be styled, colour is removed where it is not wanted.
    fn human(&self, out: &mut dyn Write) -> io::Result<()>;
    /// Whether the form for people is bytes that must arrive as they are, such as a file's.
    fn is_raw(&self) -> bool {
        false
    }
    /// Whether there is a document at the end; a command that prints JSON lines has none.
    fn has_document(&self) -> bool {
        true
    }
    /// How the command ends.
    fn exit(&self) -> Exit {
        Exit::Done
    }
}

/// Writes a value as JSON: indented on a terminal, compact elsewhere.
pub(crate) fn write_json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    if io::stdout().is_terminal() {
        serde_json::to_writer_pretty(out, value)?;
    } else {
        serde_json::to_writer(out, value)?;
    }
    Ok(())
}

/// Writes a JSON list of rows that `render` appends, on all cores where there are many; most rows have at
/// most `row_bytes`.
pub(crate) fn write_rows<T: Sync>(
    rows: &[T],
    row_bytes: usize,
    render: impl Fn(&T, &mut Vec<u8>) + Sync,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut before = false;
    let row = |row: &T, bytes: &mut Vec<u8>| {
        bytes.push(b',');
        render(row, bytes);
    };
    parallel::render_in_order(rows, row_bytes, row, |bytes| {
        // No comma before the first row of all.
        let start = usize::from(!std::mem::replace(&mut before, true));
        out.write_all(&bytes[start..])
    })?;
    out.write_all(b"]")
}

/// Prints the result and gives how the program ends.
pub(crate) fn finish(result: Result<Box<dyn Output>, CommandError>, wants_json: bool) -> Exit {
    let exit = match &result {
        Ok(output) => output.exit(),
        Err(error) => error.exit,
    };
    let printed = match &result {
        Ok(output) if wants_json && !output.has_document() => print_raw(|out| output.json(out)),
        Ok(output) if wants_json => print_json(|out| output.json(out)),
        Ok(output) if output.is_raw() => print_raw(|out| output.human(out)),
        Ok(output) => print(|out| output.human(out)),
        Err(error) => print_error(error, wants_json),
    };
    // The process ends here; freeing a hundred thousand skills first would only take time.
    std::mem::forget(result);
    match printed {
        Ok(()) => exit,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: cannot write the output: {error}");
            Exit::Findings
        }
    }
}

/// Ends the process here, without the hooks that run when `main` returns. Nothing of ours needs one,
/// and the allocator's gives memory back to a system that takes all of it a moment later: a
/// thirtieth of a listing of a thousand skills.
pub(crate) fn end_process(exit: Exit) -> ! {
    // A closed pipe is not an error.
    let _ = io::stdout().flush();
    signal_hook::low_level::exit(i32::from(exit.code()))
}

/// JSON holds no styles, so nothing has to be removed from it.
fn print_json(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    print_raw(|out| {
        write(out)?;
        out.write_all(b"\n")
    })
}

/// Past `anstream`, which takes escapes for styles: out of a file or a path they must not go.
fn print_raw(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // Large documents are written in larger pieces, which go past this buffer.
    let mut out = BufWriter::with_capacity(8 * 1024, bare_stdout());
    write(&mut out)?;
    out.flush()
}

/// Standard output without the buffer that looks through every byte for line breaks. Nothing may be
/// waiting in that buffer: it is emptied first.
#[cfg(unix)]
fn bare_stdout() -> Box<dyn Write> {
    use std::os::fd::AsFd;
    let mut stdout = io::stdout();
    let bare = stdout.flush().and_then(|()| stdout.as_fd().try_clone_to_owned());
    // Where standard output is closed, only the usual writer knows what to do.
    bare.map_or_else(|_| Box::new(stdout.lock()) as _, |fd| Box::new(std::fs::File::from(fd)) as _)
}

#[cfg(not(unix))]
fn bare_stdout() -> io::StdoutLock<'static> {
    io::stdout().lock()
}

fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(
        64 * 1024,
        anstream::AutoStream::new(io::stdout(), anstream::ColorChoice::global().or_detected()),
    );
    write(&mut out)?;
    out.flush()
}

trait OrDetected {
    fn or_detected(self) -> anstream::ColorChoice;
}

impl OrDetected for anstream::ColorChoice {
    /// `Auto` judged for standard output.
    fn or_detected(self) -> anstream::ColorChoice {
        if self == Self::Auto { anstream::AutoStream::choice(&io::stdout()) } else { self }
    }
}

/// Prints an error in the form that is wanted.
pub(crate) fn print_error(error: &CommandError, wants_json: bool) -> io::Result<()> {
    if wants_json {
        return print_json(|out| write_json(&serde_json::json!({ "error": error }), out));
    }
    print_error_text(error)
}

fn print_error_text(error: &CommandError) -> io::Result<()> {
    let mut out = anstream::stderr();
    if error.code == FailureCode::Cancelled.as_str() {
        // The user asked for it: nothing went wrong.
        writeln!(out, "{}", error.message)?;
    } else {
        writeln!(out, "{}: {}", paint(RED, "error"), error.message)?;
    }
    for fault in error.faults.iter().skip(1) {
        let help = fault.help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
        writeln!(out, "       {fault}{help}")?;
    }
    if let Some(help) = &error.help {
        writeln!(out, "{}: {help}", paint(CYAN, "help"))?;
    }
    Ok(())
}

/// Prints a line on standard error that is not an error: progress, totals, advice.
pub(crate) fn print_note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// A heading in human output.
pub(crate) fn heading(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "{}", paint(BOLD, text))
}
