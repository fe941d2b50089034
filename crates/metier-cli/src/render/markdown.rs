//! Markdown as it is shown on a terminal: bold, headings, lists, code, tables.
//!
//! The text keeps its lines and its blanks: only markers are taken away or replaced, and styles put
//! in, so that plain text comes out as it went in. The text must be safe for a terminal already;
//! what is printed is pieces of it and styles of ours, and an entity such as `&#27;` stays as it is
//! spelled.

use std::ops::Range;

use anstyle::Style;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use crate::render::style::{BOLD, CYAN, DIM};

const ITALIC: Style = Style::new().italic();
const STRIKE: Style = Style::new().strikethrough();
const HEADING: Style = BOLD.underline();

/// The text with its marks drawn, for a terminal with so many columns.
pub(crate) fn render(text: &str, width: usize) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut writer = Writer { text, at: 0, out: String::new(), styles: Vec::new(), table: None };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        writer.take(&event, &range, width);
    }
    writer.copy_to(text.len());
    writer.out
}

struct Writer<'t> {
    text: &'t str,
    /// How much of the text has been written.
    at: usize,
    out: String,
    styles: Vec<Style>,
    table: Option<Table>,
}

/// A table that is being read: rows of cells, the first one its head.
#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

impl Writer<'_> {
    fn take(&mut self, event: &Event<'_>, range: &Range<usize>, width: usize) {
        if self.table.is_some() {
            self.take_cell(event, range, width);
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag, range),
            Event::Code(_) => {
                self.copy_to(range.start);
                let source = &self.text[range.clone()];
                let ticks = source.len() - source.trim_start_matches('`').len();
                self.open(CYAN);
                self.skip_to(range.start + ticks);
                self.copy_to(range.end - ticks);
                self.close();
                self.skip_to(range.end);
            }
            Event::Text(_) => {
                // A backslash that takes a mark its meaning.
                if self.text[self.at..range.start].ends_with('\\') && self.at + 1 == range.start {
                    self.skip_to(range.start);
                }
                self.copy_to(range.end);
            }
            _ => self.copy_to(range.end),
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Heading { .. } => {
                self.copy_to(range.start);
                self.open(HEADING);
                let source = &self.text[range.clone()];
                let marks = source.len() - source.trim_start_matches('#').len();
                let blanks = source[marks..].len() - source[marks..].trim_start_matches(' ').len();
                self.skip_to(range.start + if marks > 0 { marks + blanks } else { 0 });
            }
            Tag::Strong => self.open_marked(BOLD, range, 2),
            Tag::Emphasis => self.open_marked(ITALIC, range, 1),
            Tag::Strikethrough => {
                let source = &self.text[range.clone()];
                let marks = source.len() - source.trim_start_matches('~').len();
                self.open_marked(STRIKE, range, marks.min(2));
            }
            Tag::Item => {
                self.copy_to(range.start);
                if self.text[range.clone()].starts_with(['-', '*', '+']) {
                    self.out.push('•');
                    self.skip_to(range.start + 1);
                }
            }
            Tag::CodeBlock(kind) => {
                self.copy_to(range.start);
                self.open(CYAN);
                if kind.is_fenced() {
                    // The line of the fence goes, with the language that it names.
                    let source = &self.text[range.clone()];
                    self.skip_to(range.start + source.find('\n').map_or(source.len(), |at| at + 1));
                }
            }
            Tag::BlockQuote(_) => {
                self.copy_to(range.start);
                self.open(DIM);
            }
            Tag::Link { .. } | Tag::Image { .. } => self.copy_to(range.start),
            Tag::Table(_) => {
                self.copy_to(range.start);
                self.table = Some(Table::default());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Heading(_) => {
                let source = self.text[..range.end].trim_end();
                // A heading that is underlined keeps its line.
                self.copy_to(source.len().max(self.at));
                self.close();
            }
            TagEnd::Strong => self.close_marked(range, 2),
            TagEnd::Emphasis => self.close_marked(range, 1),
            TagEnd::Strikethrough => {
                let source = &self.text[range.clone()];
                let marks = source.len() - source.trim_end_matches('~').len();
                self.close_marked(range, marks.min(2));
            }
            TagEnd::CodeBlock => {
                let source = &self.text[self.at..range.end];
                if source.trim_start().starts_with(['`', '~']) {
                    self.skip_to(range.end);
                    // The line before has ended already.
                    if self.out.ends_with('\n') && self.text[self.at..].starts_with('\n') {
                        self.skip_to(self.at + 1);
                    }
                }
                self.close();
            }
            TagEnd::BlockQuote(_) => {
                self.copy_to(self.text[..range.end].trim_end().len().max(self.at));
                self.close();
            }
            _ => {}
        }
    }

    /// Collects a table; draws it at its end, or leaves it as it was where it would be too wide.
    fn take_cell(&mut self, event: &Event<'_>, range: &Range<usize>, width: usize) {
        let Some(table) = &mut self.table else { return };
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => table.rows.push(Vec::new()),
            Event::End(TagEnd::TableCell) => {
                let cell = self.text[range.clone()].trim().trim_matches('|').trim();
                let cell = cell.replace("**", "").replace('`', "").replace("\\|", "|");
                if let Some(row) = table.rows.last_mut() {
                    row.push(cell);
                }
            }
            Event::End(TagEnd::Table) => {
                let drawn = table.drawn(width);
                self.table = None;
                if let Some(drawn) = drawn {
                    let end = self.text[..range.end].trim_end().len();
                    self.out.push_str(&drawn);
                    self.skip_to(end);
                }
            }
            _ => {}
        }
    }

    fn open_marked(&mut self, style: Style, range: &Range<usize>, marks: usize) {
        self.copy_to(range.start);
        self.skip_to(range.start + marks);
        self.open(style);
    }

    fn close_marked(&mut self, range: &Range<usize>, marks: usize) {
        self.copy_to(range.end - marks);
        self.skip_to(range.end);
        self.close();
    }

    fn open(&mut self, style: Style) {
        self.styles.push(style);
        self.out.push_str(&style.render().to_string());
    }

    /// Ends a style. A terminal can only end all of them, so those around it begin again.
    fn close(&mut self) {
        self.styles.pop();
        self.out.push_str("\u{1b}[0m");
        for style in &self.styles {
            self.out.push_str(&style.render().to_string());
        }
    }

    fn copy_to(&mut self, end: usize) {
        if end > self.at {
            self.out.push_str(&self.text[self.at..end]);
            self.at = end;
        }
    }

    fn skip_to(&mut self, end: usize) {
        self.at = self.at.max(end);
    }
}

impl Table {
    /// The table with its columns in line, if a terminal is wide enough for it.
    fn drawn(&self, width: usize) -> Option<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let column_width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|at| column_width(at).unwrap_or(0)).collect();
        if widths.iter().map(|width| width + 2).sum::<usize>() > width {
            return None;
        }
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths);
            let padded: Vec<String> = cells
                .map(|(cell, width)| format!("{cell}{}", " ".repeat(width + 2 - cell.width())))
                .collect();
            let line = padded.concat();
            let line = line.trim_end();
            lines.push(if at == 0 { format!("{BOLD}{line}{BOLD:#}") } else { line.to_owned() });
        }
        Some(lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(&render(text, 60)).to_string()
    }

    #[test]
    fn marks_become_styles() {
        assert_eq!(render("a **b** c", 60), "a \u{1b}[1mb\u{1b}[0m c");
        assert_eq!(
            plain("# Title\n\nSome *words* and `code`.\n"),
            "Title\n\nSome words and code.\n"
        );
        assert_eq!(
            plain("- one\n- two\n  * in\n\n1. first\n"),
            "• one\n• two\n  • in\n\n1. first\n"
        );
        assert_eq!(plain("so:\n\n```sh\nls  -l\n```\n\nEnd"), "so:\n\nls  -l\n\nEnd");
        assert_eq!(plain("~~no~~ [text](https://x.example)"), "no [text](https://x.example)");
        assert_eq!(plain("| a | bb |\n|---|---|\n| ccc | d |\n\nx"), "a    bb\nccc  d\n\nx");
        assert_eq!(plain("2 \\* 3 **four `five`**"), "2 * 3 four five");
        assert_eq!(plain("Title\n=====\n\ntext"), "Title\n=====\n\ntext");
    }

    #[test]
    fn plain_text_comes_out_as_it_went_in() {
        for text in [
            "region  count   sum\nEast        5  12.5\n\n  indented\n",
            "a_b_c * d * e, 1 < 2 && 3 > 2",
            "第一行\n第二行：好\n",
            "",
            "\n\n\n",
            "unclosed **bold and `code",
            "```\nnever closed",
        ] {
            let expected = text.strip_prefix("```\n").unwrap_or(text);
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn an_entity_is_not_decoded() {
        assert_eq!(plain("&#27;[2J &#x9b; &amp;"), "&#27;[2J &#x9b; &amp;");
        assert_eq!(
            plain("`&#27;`\n\n| &#27; | b |\n|-|-|\n| 1 | 2 |"),
            "&#27;\n\n&#27;  b\n1      2"
        );
    }
}
