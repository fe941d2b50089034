//! Tables: columns as wide as their content; on a terminal columns that matter less are left out and the widest
//! are cut so that a row fits. The first column is what a person types back (a name, the id of a run): it is
//! cut last.
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
    /// Columns that a narrow terminal does without, the first of them first.
    expendable: &'static [&'static str],
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Style)]) -> Self {
        Self {
            header: columns.iter().map(|(name, _)| *name).collect(),
            styles: columns.iter().map(|(_, style)| *style).collect(),
            rows: Vec::new(),
            expendable: &[],
        }
    }

    /// Leaves these columns out, one after the other, where the terminal is too narrow.
    pub(crate) const fn expendable(mut self, columns: &'static [&'static str]) -> Self {
        self.expendable = columns;
        self
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
        let width = |column: &usize| {
            let cells = self.rows.iter().map(|row| row[*column].width());
            cells.chain([self.header[*column].width()]).max().unwrap_or(0)
        };
        let mut shown: Vec<usize> = (0..self.header.len()).collect();
        let mut expendable = self.expendable.iter();
        let mut widths: Vec<usize>;
        let last = loop {
            let (last, others) = shown.split_last().unwrap_or((&0, &[]));
            widths = others.iter().map(|column| width(column).min(60)).collect();
            let fits = columns
                .is_none_or(|columns| used(&widths) + width(last).min(LEAST_LAST) <= columns);
            match if fits { None } else { expendable.next() } {
                Some(name) => shown.retain(|column| self.header[*column] != *name),
                None => break width(last),
            }
        };
        let room = columns.map(|columns| shrink(&mut widths, columns, last));
        let header: Vec<&str> = shown.iter().map(|column| self.header[*column]).collect();
        write_row(out, &header, &widths, room, |_| BOLD)?;
        for row in &self.rows {
            let cells: Vec<&str> = shown.iter().map(|column| row[*column].as_str()).collect();
            write_row(out, &cells, &widths, room, |at| self.styles[shown[at]])?;
        }
        Ok(())
    }
}

/// Columns of the terminal that a column of the table keeps, and the last one while others can give.
const LEAST: usize = 8;
const LEAST_LAST: usize = 20;
/// What is kept of each where even that is too wide: a letter or two, and that there is more.
const LEAST_OF_MANY: usize = 3;

fn used(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + 2).sum()
}

/// Makes columns narrower until a row fits the `columns` of the terminal, the last one being `last` wide: the
/// widest behind the first, then the last, then the first, and at last all of them alike. Gives the room of the
/// last one.
fn shrink(widths: &mut [usize], columns: usize, last: usize) -> usize {
    let narrow = |widths: &mut [usize], from: usize, least: usize, least_last: usize| {
        while used(widths) + last.min(least_last) > columns {
            match widths.get_mut(from..).unwrap_or_default().iter_mut().max() {
                Some(widest) if *widest > least => *widest -= 1,
                _ => break,
            }
        }
    };
    narrow(widths, 1, LEAST, LEAST_LAST);
    narrow(widths, 0, LEAST, LEAST);
    narrow(widths, 1, LEAST_OF_MANY, LEAST);
    narrow(widths, 0, LEAST_OF_MANY, LEAST_OF_MANY);
    columns.saturating_sub(used(widths)).max(LEAST_OF_MANY)
}

fn write_row(
    out: &mut dyn Write,
    cells: &[&str],
    widths: &[usize],
    room: Option<usize>,
    style: impl Fn(usize) -> Style,
) -> io::Result<()> {
    for (column, cell) in cells.iter().enumerate() {
        if let Some(width) = widths.get(column) {
            // Without a terminal nothing is cut: a program may read it.
            let cell = if room.is_some() { cut(cell, *width) } else { (*cell).to_owned() };
            let fill = " ".repeat((width + 2).saturating_sub(cell.width()).max(1));
            write!(out, "{}{fill}", paint(style(column), cell))?;
        } else {
            let cell = room.map_or_else(|| (*cell).to_owned(), |room| cut(cell, room));
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
    fn a_table_of_many_columns_fits_forty_columns() {
        const NAMES: [&str; 8] = ["ID", "TOOL", "SKILL", "WHERE", "GIVEN", "UNTIL", "WHAT", "MORE"];
        for many in 1..=NAMES.len() {
            for cell in ["a-long-name-".repeat(6), "生成电子表格".repeat(6), "ab".to_owned()]
            {
                let columns: Vec<_> = NAMES[..many].iter().map(|name| (*name, BOLD)).collect();
                let mut table = Table::new(&columns);
                table.row(vec![cell.clone(); many]);
                for columns in [40, 80] {
                    let mut out = Vec::new();
                    table.write_within(Some(columns), &mut out).expect("written");
                    let text = anstream::adapter::strip_bytes(&out).into_vec();
                    let text = String::from_utf8(text).expect("text");
                    assert!(
                        text.lines().all(|it| it.width() <= columns),
                        "{many} {columns}: {text}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_typed_back_is_whole_on_eighty_columns() {
        let text = |table: &Table| {
            let mut out = Vec::new();
            table.write_within(Some(80), &mut out).expect("written");
            String::from_utf8(anstream::adapter::strip_bytes(&out).into_vec()).expect("text")
        };
        let name = "n".repeat(60);
        let mut table = Table::new(&[("NAME", BOLD), ("SOURCE", BOLD), ("DESCRIPTION", BOLD)]);
        table.row(vec![name.clone(), "project".to_owned(), "Does a thing. ".repeat(9)]);
        assert!(text(&table).contains(&name), "{}", text(&table));
        let columns =
            ["RUN", "WHEN", "STATUS", "TOKENS", "MODEL", "REQUEST"].map(|name| (name, BOLD));
        let mut table = Table::new(&columns).expendable(&["MODEL", "TOKENS"]);
        let row = [
            "20261118-140306-5694rt",
            "2026-11-18 14:03",
            "completed",
            "1234567",
            "openai:gpt-5-mini",
        ];
        let row = row.iter().map(ToString::to_string).chain(["words ".repeat(9)]);
        table.row(row.collect());
        let seen = text(&table);
        assert!(
            seen.contains(" 2026-11-18 14:03  completed ") && seen.contains("-5694rt"),
            "{seen}"
        );
        assert!(!seen.contains("MODEL") && seen.lines().all(|line| line.width() <= 80), "{seen}");
    }

    #[test]
    fn wide_characters_count_two_columns() {
        assert_eq!(cut("生成电子表格", 7), "生成电…");
        assert_eq!(cut("short", 7), "short");
        assert_eq!(cut("x👨\u{200d}👩\u{200d}👧 family", 6), "x…", "a family is not torn apart");
    }
}
