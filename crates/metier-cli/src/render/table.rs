//! Tables: columns as wide as their content, the last one cut to the terminal.
//!
//! Widths are those a terminal shows: a CJK character takes two columns.

use std::io::{self, IsTerminal, Write};

use anstyle::Style;
use metier::skill::text::clip_at;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::render::style::{BOLD, paint};

/// A table of plain cells with a style for each column.
pub(crate) struct Table {
    header: Vec<&'static str>,
    styles: Vec<Style>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Style)]) -> Self {
        Self {
            header: columns.iter().map(|(name, _)| *name).collect(),
            styles: columns.iter().map(|(_, style)| *style).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells must be safe for a terminal already.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let last = self.header.len() - 1;
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].width());
            cells.chain([self.header[column].width()]).max().unwrap_or(0).min(60)
        };
        let widths: Vec<usize> = (0..last).map(width).collect();
        let used: usize = widths.iter().map(|width| width + 2).sum();
        let room = terminal_width().map(|columns| columns.saturating_sub(used).max(20));
        let header: Vec<String> = self.header.iter().map(|name| (*name).to_owned()).collect();
        write_row(out, &header, &widths, room, |_| BOLD)?;
        for row in &self.rows {
            write_row(out, row, &widths, room, |column| self.styles[column])?;
        }
        Ok(())
    }
}

fn write_row(
    out: &mut dyn Write,
    cells: &[String],
    widths: &[usize],
    room: Option<usize>,
    style: impl Fn(usize) -> Style,
) -> io::Result<()> {
    for (column, cell) in cells.iter().enumerate() {
        if let Some(width) = widths.get(column) {
            let fill = " ".repeat((width + 2).saturating_sub(cell.width()).max(1));
            write!(out, "{}{fill}", paint(style(column), cell))?;
        } else {
            let cell = room.map_or_else(|| cell.clone(), |room| cut(cell, room));
            writeln!(out, "{}", paint(style(column), cell))?;
        }
    }
    Ok(())
}

/// The columns of the terminal that standard output is, if it is one.
pub(crate) fn terminal_width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    terminal_size::terminal_size_of(stdout).map(|(width, _)| usize::from(width.0))
}

/// `text`, which is safe already, cut with an ellipsis where it is wider than `room` columns. The one
/// bound that is not in `metier::skill::text`: columns are a terminal's business.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut used = 0;
    let too_wide = |(_, ch): &(usize, char)| {
        used += ch.width().unwrap_or(0);
        used + 1 > room
    };
    let end = text.char_indices().find(too_wide).map_or(text.len(), |(at, _)| at);
    clip_at(text, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_two_columns() {
        assert_eq!(cut("生成电子表格", 7), "生成电…");
        assert_eq!(cut("short", 7), "short");
        assert_eq!(cut("x👨\u{200d}👩\u{200d}👧 family", 6), "x…", "a family is not torn apart");
    }
}
