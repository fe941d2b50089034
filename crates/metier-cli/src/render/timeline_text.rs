//! The timeline of a run on a terminal: a line for each thing that happened, long texts folded.
//!
//! Everything that was recorded is foreign and goes through the filter for terminals.

use std::io::{self, Write};

use metier::model::StepStatus;
use metier::skill::text::escape_lines;

use crate::render::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint};
use crate::render::table::{cut, terminal_width};
use crate::render::timeline::{End, Entry, Mark, Section, Timeline, total};
use crate::render::{count, fold_line, safe};

/// Lines of a text that are shown when it is folded.
const FOLDED: usize = 6;
/// Columns of a folded line where no terminal says how many there are.
const WIDE: usize = 160;
/// Columns of the labels.
const LABEL: usize = 9;

/// How much of long texts is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Texts {
    /// The first lines.
    Folded,
    /// Everything.
    Full,
}

/// Writes a timeline. `status` is how the run stands.
pub(crate) fn write(
    out: &mut dyn Write,
    timeline: &Timeline,
    status: &str,
    texts: Texts,
) -> io::Result<()> {
    let style = match status {
        "completed" => GREEN,
        "failed" | "stuck" => RED,
        _ => YELLOW,
    };
    writeln!(out, "{}  {}", paint(BOLD, safe(&timeline.id)), paint(style, status))?;
    let mut writer = Writer { out, indent: 0, texts };
    writer.text(&timeline.request, Texts::Full)?;
    for (name, value) in facts(timeline) {
        writer.line(&format!("{}{value}", label(name, CYAN)))?;
    }
    writer.timeline(timeline)
}

struct Writer<'w> {
    out: &'w mut dyn Write,
    indent: usize,
    texts: Texts,
}

impl Writer<'_> {
    fn timeline(&mut self, timeline: &Timeline) -> io::Result<()> {
        for section in &timeline.sections {
            writeln!(self.out)?;
            self.section(section)?;
        }
        if let Some(end) = &timeline.end {
            writeln!(self.out)?;
            self.end(end, timeline.elapsed_ms)?;
        }
        Ok(())
    }

    fn section(&mut self, section: &Section) -> io::Result<()> {
        let title = match section.turn {
            Some(turn) => format!("turn {turn}"),
            None => "before the first turn".to_owned(),
        };
        let cost = paint(DIM, safe(&section.cost));
        let cost = if section.cost.is_empty() { String::new() } else { format!("  {cost}") };
        self.line(&format!("{}{cost}", paint(BOLD, title)))?;
        self.indent += 2;
        for entry in &section.entries {
            self.entry(entry)?;
        }
        self.indent -= 2;
        Ok(())
    }

    fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        let style = match entry.mark {
            Mark::Plain => CYAN,
            Mark::Good => GREEN,
            Mark::Warn => YELLOW,
            Mark::Bad => RED,
        };
        let title = fold_line(&entry.title);
        let title =
            if self.texts == Texts::Full { title.into_owned() } else { cut(&title, self.room()) };
        let notes: Vec<_> = entry.notes.iter().map(|note| fold_line(note)).collect();
        let notes =
            if notes.is_empty() { String::new() } else { format!("  ({})", notes.join(", ")) };
        self.line(&format!("{}{title}{}", label(entry.label, style), paint(DIM, notes)))?;
        self.indent += LABEL;
        if !entry.reason.is_empty() {
            self.line(&fold_line(&entry.reason))?;
        }
        for (status, title) in &entry.steps {
            let style = match status {
                StepStatus::Completed => GREEN,
                StepStatus::InProgress => CYAN,
                StepStatus::Pending | StepStatus::Skipped => DIM,
            };
            self.line(&format!("{} {}", paint(style, sign(*status)), fold_line(title)))?;
        }
        self.text(&entry.text, self.texts)?;
        if let Some(inner) = &entry.inner {
            // What it was given is the same, and how it ended stands at its end.
            self.indent -= LABEL - 2;
            self.line(&format!("{}{}", label("loop", CYAN), paint(BOLD, safe(&inner.id))))?;
            self.timeline(inner)?;
            self.indent += LABEL - 2;
        }
        self.indent -= LABEL;
        Ok(())
    }

    fn end(&mut self, end: &End, elapsed_ms: u64) -> io::Result<()> {
        let status = end.status.as_str();
        if end.message.is_empty() {
            self.line(&paint(BOLD, status))?;
        } else {
            self.line(&format!("{}: {}", paint(BOLD, status), fold_line(&end.message)))?;
        }
        self.text(&end.answer, Texts::Full)?;
        if let Some(data) = &end.data {
            self.text(&data.to_string(), self.texts)?;
        }
        self.line(&paint(DIM, format!("spent: {}", total(&end.spent, elapsed_ms))))
    }

    /// A foreign text, behind a bar that sets it off from our own text.
    fn text(&mut self, text: &str, texts: Texts) -> io::Result<()> {
        let text = text.trim_end();
        if text.is_empty() {
            return Ok(());
        }
        let lines: Vec<&str> = text.split('\n').collect();
        let shown =
            if texts == Texts::Full || lines.len() <= FOLDED + 1 { lines.len() } else { FOLDED };
        let room = self.room();
        for line in &lines[..shown] {
            let line = escape_lines(line);
            let line = if texts == Texts::Full { line.into_owned() } else { cut(&line, room) };
            self.line(format!("{} {line}", paint(DIM, "|")).trim_end())?;
        }
        if shown < lines.len() {
            let rest = count(lines.len() - shown, "more line");
            self.line(&paint(DIM, format!("| ... {rest} (--full shows all)")))?;
        }
        Ok(())
    }

    fn room(&self) -> usize {
        let wide = terminal_width().unwrap_or(WIDE);
        wide.saturating_sub(self.indent + LABEL + 2).max(20)
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{:indent$}{line}", "", indent = self.indent)
    }
}

fn label(name: &str, style: anstyle::Style) -> String {
    let fill = " ".repeat(LABEL.saturating_sub(name.len()).max(1));
    format!("{}{fill}", paint(style, name))
}

/// What a run was given, in lines.
fn facts(timeline: &Timeline) -> Vec<(&'static str, String)> {
    let listed = |names: &[String]| fold_line(&names.join(", ")).into_owned();
    let started: String = timeline.started.chars().take(19).collect();
    let mut facts = vec![("model", fold_line(&timeline.model).into_owned())];
    if !timeline.skills.is_empty() {
        facts.push(("skills", listed(&timeline.skills)));
    }
    if !timeline.files.is_empty() {
        facts.push(("files", listed(&timeline.files)));
    }
    if timeline.dry {
        facts.push(("dry run", "nothing was done".to_owned()));
    }
    facts.push(("started", format!("{} UTC", safe(&started.replace('T', " ")))));
    facts
}

/// The sign of a step of a plan.
const fn sign(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Pending => "[ ]",
        StepStatus::InProgress => "[>]",
        StepStatus::Completed => "[x]",
        StepStatus::Skipped => "[-]",
    }
}
