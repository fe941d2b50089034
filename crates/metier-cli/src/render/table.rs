//! Tables: columns as wide as their content; on a terminal the widest are cut so that a row fits.
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

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_within(terminal_width(), out)
    }

    fn write_within(&self, columns: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let last = self.header.len() - 1;
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].width());
            cells.chain([self.header[column].width()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..last).map(|column| width(column).min(60)).collect();
        let room = columns.map(|columns| shrink(&mut widths, columns, width(last)));
        let header: Vec<String> = self.header.iter().map(|name| (*name).to_owned()).collect();
        write_row(out, &header, &widths, room, |_| BOLD)?;
        for row in &self.rows {
            write_row(out, row, &widths, room, |column| self.styles[column])?;
        }
        Ok(())
    }
}

/// Makes the widest columns narrower until the last one, `last` wide, has a share of the `columns` of the
/// terminal; gives its room.
fn shrink(widths: &mut [usize], columns: usize, last: usize) -> usize {
    const LEAST: usize = 8;
    const LEAST_LAST: usize = 20;
    let used = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>();
    while used(widths) + last.min(LEAST_LAST) > columns {
        match widths.iter_mut().max() {
            Some(widest) if *widest > LEAST => *widest -= 1,
            _ => break,
        }
    }
    columns.saturating_sub(used(widths)).max(LEAST)
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
            // Without a terminal nothing is cut: a program may read it.
            let cell = if room.is_some() { cut(cell, *width) } else { cell.clone() };
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
    fn a_table_fits_the_terminal_whatever_stands_in_it() {
        let mut table = Table::new(&[("NAME", BOLD), ("SOURCE", BOLD), ("DESCRIPTION", BOLD)]);
        let name = "a-very-long-name-".repeat(4);
        for (name, text) in [(name.as_str(), "Does a thing. ".repeat(9)), ("短名", "短".repeat(80))]
        {
            table.row(vec![name.to_owned(), "builtin".to_owned(), text]);
        }
        for columns in [40, 80, 120, 300] {
            let mut out = Vec::new();
            table.write_within(Some(columns), &mut out).expect("written");
            let text = anstream::adapter::strip_bytes(&out).into_vec();
            let text = String::from_utf8(text).expect("text");
            for line in text.lines() {
                assert!(line.width() <= columns, "{} of {columns}: {line}", line.width());
            }
        }
        let mut out = Vec::new();
        table.write_within(None, &mut out).expect("written");
        assert!(String::from_utf8(out).expect("text").contains(&name), "a program reads all of it");
    }

    #[test]
    fn wide_characters_count_two_columns() {
        assert_eq!(cut("生成电子表格", 7), "生成电…");
        assert_eq!(cut("short", 7), "short");
        assert_eq!(cut("x👨\u{200d}👩\u{200d}👧 family", 6), "x…", "a family is not torn apart");
    }
}
