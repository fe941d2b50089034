//! The fast path: the plain `key: value` frontmatter that most skills have.
//!
//! A general YAML parser costs some ten microseconds a document, three times as much as opening and
//! reading the file. This reader knows the part of YAML that 95 % of real skills keep to (scalars,
//! blocks, nested maps, lists, JSON inside YAML) and answers `None` for everything else, in which case
//! the full parser decides.
//!
//! The danger is not that it knows too little but that it answers differently. A frontmatter says what
//! a skill may do, so a text that two readers take for two things is a way to show a reviewer one
//! `allowed-tools` and to enforce another. Hence the rules: it never guesses and never repairs, it
//! leaves a text at the first thing it does not know (a tab, a comment behind a value, an
//! unusual escape, a key that appears twice, an indent that fits nothing, an empty value), and where it
//! does answer, the tree is that of the full parser to the byte, spans included. Three property tests
//! over broken and sound pieces, a test over all texts of the corpus and a fuzz target hold it to that:
//! extend them before you teach it anything new. Measured on 1,209 real skills: when inline
//! metadata (a third of them) was left to the full parser, a listing took a fifth longer.

mod flow;

use std::borrow::Cow;

use self::flow::Flow;
use crate::source_map::{Characters, characters};
use crate::yaml::{Node, NodeKind, Style};

/// Levels this reader descends before it leaves the text to the full parser.
const MAX_DEPTH: usize = 8;
/// Values this reader takes before it leaves the text to the full parser.
const MAX_NODES: usize = 512;

/// The node tree of `text`, or `None` when the text is more than this reader knows. The text holds
/// line feeds and characters that can be seen, and nothing else.
pub(crate) fn parse_visible(text: &str) -> Option<Node<'_>> {
    let mut reader = Reader { text, at: 0, pending: None, nodes: 0 };
    let map = reader.block_map(0, 1)?;
    reader.peek().is_none().then_some(map)
}

/// As [`parse_visible`], for any text.
pub(crate) fn parse(text: &str) -> Option<Node<'_>> {
    (characters(text) != Characters::Any).then(|| parse_visible(text))?
}

/// A line that holds something: not blank, not a comment.
#[derive(Clone, Copy)]
struct Line<'a> {
    indent: usize,
    /// From the first to the last non-blank character.
    content: &'a str,
    /// Where `content` starts.
    start: usize,
    /// Where the next line starts.
    next: usize,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The rest of a list item's line, which is the first line of a map.
    pending: Option<Line<'a>>,
    nodes: usize,
}

impl<'a> Reader<'a> {
    /// The raw line at `at`, without its line break, and where the next one starts.
    fn raw_line(&self, at: usize) -> Option<(&'a str, usize)> {
        if at >= self.text.len() {
            return None;
        }
        let rest = &self.text[at..];
        Some(match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(end) => (&rest[..end], at + end + 1),
            None => (rest, self.text.len()),
        })
    }

    fn peek(&self) -> Option<Line<'a>> {
        if self.pending.is_some() {
            return self.pending;
        }
        let mut at = self.at;
        loop {
            let (raw, next) = self.raw_line(at)?;
            let content = raw.trim_start_matches(' ');
            if !content.is_empty() && !content.starts_with('#') {
                let indent = raw.len() - content.len();
                let content = content.trim_end_matches(' ');
                return Some(Line { indent, content, start: at + indent, next });
            }
            at = next;
        }
    }

    /// Steps over a line that [`Self::peek`] gave.
    fn consume(&mut self, line: &Line<'a>) {
        self.pending = None;
        self.at = line.next;
    }

    fn count(&mut self, nodes: usize) -> Option<()> {
        self.nodes += nodes;
        (self.nodes <= MAX_NODES).then_some(())
    }

    fn block_map(&mut self, indent: usize, depth: usize) -> Option<Node<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut entries: Vec<(Node<'a>, Node<'a>)> =
            Vec::with_capacity(if depth == 1 { 8 } else { 4 });
        while let Some(line) = self.peek() {
            if line.indent < indent {
                break;
            }
            if line.indent > indent {
                return None;
            }
            let key_len = key_len(line.content)?;
            let (key, rest) = line.content.split_at(key_len);
            if entries.iter().any(|(known, _)| known.key_text() == key) {
                return None;
            }
            let rest = &rest[1..];
            let value = rest.trim_start_matches(' ');
            let value_start = line.start + line.content.len() - value.len();
            self.consume(&line);
            self.count(2)?;
            let node = match value.as_bytes().first() {
                None => self.nested(indent, depth)?,
                Some(_) if !rest.starts_with(' ') => return None,
                Some(b'|' | b'>') => self.block_scalar(value, indent)?,
                Some(b'[' | b'{') => self.flow(value_start, indent, depth + 1)?,
                Some(b'"' | b'\'') => self.quoted(value, value_start, indent)?,
                Some(_) => self.plain(value, value_start, indent)?,
            };
            let span = line.start..line.start + key_len;
            let key = NodeKind::Scalar { text: Cow::Borrowed(key), style: Style::Plain };
            entries.push((Node { kind: key, span }, node));
        }
        let start = entries.first()?.0.span.start;
        let end = entries.last()?.1.span.end;
        Some(Node { kind: NodeKind::Map(entries), span: start..end })
    }

    /// The value of a key whose line ends after the colon. An empty value is left to the full
    /// parser.
    fn nested(&mut self, indent: usize, depth: usize) -> Option<Node<'a>> {
        let line = self.peek()?;
        match line.content.as_bytes() {
            [b'-', b' ', ..] if line.indent >= indent => self.block_list(line.indent, depth + 1),
            [b'[' | b'{', ..] if line.indent > indent => {
                self.consume(&line);
                self.flow(line.start, indent, depth + 1)
            }
            _ if line.indent > indent => self.block_map(line.indent, depth + 1),
            _ => None,
        }
    }

    fn block_list(&mut self, indent: usize, depth: usize) -> Option<Node<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut items: Vec<Node<'a>> = Vec::with_capacity(4);
        while let Some(line) = self.peek() {
            if line.indent != indent {
                break;
            }
            let Some(rest) = line.content.strip_prefix("- ") else {
                break;
            };
            let value = rest.trim_start_matches(' ');
            let start = line.start + line.content.len() - value.len();
            self.consume(&line);
            self.count(1)?;
            items.push(match value.as_bytes().first()? {
                b'[' | b'{' => self.flow(start, indent, depth + 1)?,
                _ if is_entry(value) => {
                    let indent = indent + line.content.len() - value.len();
                    self.pending = Some(Line { indent, content: value, start, next: line.next });
                    self.block_map(indent, depth + 1)?
                }
                _ => scalar(value, start)?,
            });
        }
        let span = items.first()?.span.start..items.last()?.span.end;
        Some(Node { kind: NodeKind::List(items), span })
    }

    /// A quoted scalar, folded over several lines or not. The line it starts on is consumed.
    fn quoted(&mut self, value: &'a str, start: usize, indent: usize) -> Option<Node<'a>> {
        let quote = value.as_bytes()[0];
        if value.len() > 1 && value.as_bytes().ends_with(&[quote]) {
            return scalar(value, start);
        }
        let mut fold = Fold::default();
        fold.line(&value[1..]);
        loop {
            let (raw, next) = self.raw_line(self.at)?;
            let content = raw.trim_matches(' ');
            if !content.is_empty() && raw.len() - raw.trim_start_matches(' ').len() <= indent {
                return None;
            }
            let at = self.at;
            self.at = next;
            let Some(body) = content.strip_suffix(char::from(quote)) else {
                fold.line(content);
                continue;
            };
            fold.last(body);
            let inner = fold.text.as_str();
            let text = match quote {
                b'"' if inner.contains(['"', '\\']) => return None,
                b'"' => fold.text,
                _ if inner.replace("''", "").contains('\'') => return None,
                _ => inner.replace("''", "'"),
            };
            let kind = NodeKind::Scalar { text: Cow::Owned(text), style: Style::Quoted };
            let end = at + raw.trim_end_matches(' ').len();
            return Some(Node { kind, span: start..end });
        }
    }

    /// An unquoted scalar, folded over several lines or not. The line it starts on is consumed.
    fn plain(&mut self, value: &'a str, start: usize, indent: usize) -> Option<Node<'a>> {
        let first = scalar(value, start)?;
        if !matches!(self.text.as_bytes().get(self.at), Some(b' ' | b'\n')) {
            return Some(first);
        }
        let continues = |reader: &Self| {
            let mut at = reader.at;
            loop {
                let (raw, next) = reader.raw_line(at)?;
                let content = raw.trim_start_matches(' ');
                if !content.is_empty() {
                    return (raw.len() - content.len() > indent).then_some(());
                }
                at = next;
            }
        };
        if continues(self).is_none() {
            return Some(first);
        }
        let mut fold = Fold::default();
        fold.line(value);
        let mut end = 0;
        while continues(self).is_some() {
            let (raw, next) = self.raw_line(self.at)?;
            let content = raw.trim_matches(' ');
            // A comment ends the scalar, and what follows it belongs to nothing.
            if content.starts_with('#') || (!content.is_empty() && !stays_plain(content.as_bytes()))
            {
                return None;
            }
            fold.line(content);
            if !content.is_empty() {
                end = self.at + raw.trim_end_matches(' ').len();
            }
            self.at = next;
        }
        let kind = NodeKind::Scalar { text: Cow::Owned(fold.text), style: Style::Plain };
        Some(Node { kind, span: start..end })
    }

    fn block_scalar(&mut self, header: &str, indent: usize) -> Option<Node<'a>> {
        let folded = header.starts_with('>');
        let strip = match &header[1..] {
            "" => false,
            "-" => true,
            _ => return None,
        };
        let mut text = String::new();
        let mut block_indent = None;
        let mut blanks = 0;
        let (mut start, mut end) = (0, 0);
        while let Some((raw, next)) = self.raw_line(self.at) {
            let content = raw.trim_start_matches(' ');
            if content.is_empty() {
                // Blanks beyond the block's indent are text, and before its first line mean much.
                if block_indent.is_none_or(|own| raw.len() > own) {
                    return None;
                }
                blanks += 1;
                self.at = next;
                continue;
            }
            let width = raw.len() - content.len();
            if width <= indent {
                break;
            }
            if block_indent.is_none() {
                start = self.at + width;
            }
            let own = *block_indent.get_or_insert(width);
            let more = width > own;
            if width < own || (folded && (more || raw.ends_with(' '))) {
                return None;
            }
            if !text.is_empty() {
                match (folded, blanks) {
                    (true, 0) => text.push(' '),
                    (true, _) => text.extend(std::iter::repeat_n('\n', blanks)),
                    (false, _) => text.extend(std::iter::repeat_n('\n', blanks + 1)),
                }
            }
            text.push_str(&raw[own..]);
            blanks = 0;
            end = self.at + raw.trim_end_matches(' ').len();
            self.at = next;
        }
        block_indent?;
        if !strip {
            text.push('\n');
        }
        let kind = NodeKind::Scalar { text: Cow::Owned(text), style: Style::Block };
        Some(Node { kind, span: start..end })
    }

    /// An inline list or map that starts at `start`, and nothing after it. The line it starts on
    /// is consumed.
    fn flow(&mut self, start: usize, indent: usize, depth: usize) -> Option<Node<'a>> {
        let mut flow = Flow { text: self.text, at: start, indent, nodes: self.nodes };
        let node = flow.collection(depth)?;
        self.nodes = flow.nodes;
        let (rest, next) = self.raw_line(flow.at).unwrap_or(("", flow.at));
        self.at = next;
        rest.bytes().all(|byte| byte == b' ').then_some(node)
    }
}

/// Folds the lines of a flow scalar: a line break is a blank, an empty line a line break.
#[derive(Default)]
struct Fold {
    text: String,
    blanks: usize,
    begun: bool,
}

impl Fold {
    /// Adds a line. Blanks at its start are the first line's own; at its end they are dropped.
    fn line(&mut self, line: &str) {
        if self.begun && line.is_empty() {
            self.blanks += 1;
        } else {
            self.last(line);
        }
    }

    /// Adds the line that ends the scalar; it counts even when it is empty.
    fn last(&mut self, line: &str) {
        if self.begun {
            let kept = self.text.trim_end_matches(' ').len();
            self.text.truncate(kept);
            match self.blanks {
                0 => self.text.push(' '),
                blanks => self.text.extend(std::iter::repeat_n('\n', blanks)),
            }
        }
        self.text.push_str(line);
        self.blanks = 0;
        self.begun = true;
    }
}

/// The length of the simple key that `content` starts with; its colon follows.
fn key_len(content: &str) -> Option<usize> {
    let bytes = content.as_bytes();
    let first = *bytes.first()?;
    if !(first.is_ascii_alphabetic() || first == b'_') {
        return None;
    }
    let len = bytes
        .iter()
        .take(129)
        .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')))?;
    (bytes[len] == b':').then_some(len)
}

/// Whether a list item is the first entry of a map: a simple key, its colon, and a blank or nothing.
fn is_entry(value: &str) -> bool {
    key_len(value).is_some_and(|len| matches!(value.as_bytes()[len + 1..], [] | [b' ', ..]))
}

/// A scalar that fills the rest of its line.
fn scalar(value: &str, start: usize) -> Option<Node<'_>> {
    let bytes = value.as_bytes();
    let span = start..start + value.len();
    let (text, style) = match *bytes.first()? {
        b'"' => {
            let inner = value.strip_prefix('"')?.strip_suffix('"')?;
            (unescaped(inner)?, Style::Quoted)
        }
        b'\'' => {
            let inner = value.strip_prefix('\'')?.strip_suffix('\'')?;
            if !inner.contains('\'') {
                (Cow::Borrowed(inner), Style::Quoted)
            } else if inner.replace("''", "").contains('\'') {
                return None;
            } else {
                (Cow::Owned(inner.replace("''", "'")), Style::Quoted)
            }
        }
        first => {
            let opens = first.is_ascii_alphanumeric()
                || first >= 0x80
                || matches!(first, b'(' | b'/' | b'.' | b'_' | b'$' | b'+' | b'~' | b'<');
            if !opens || !stays_plain(bytes) {
                return None;
            }
            (Cow::Borrowed(value), Style::Plain)
        }
    };
    Some(Node { kind: NodeKind::Scalar { text, style }, span })
}

/// The text between double quotes, if it has no escapes but the common ones.
fn unescaped(inner: &str) -> Option<Cow<'_, str>> {
    if memchr::memchr2(b'"', b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) {
        let escaped = rest[at..].strip_prefix('\\')?;
        let meant = match escaped.as_bytes().first()? {
            b'"' => '"',
            b'\\' => '\\',
            b'n' => '\n',
            _ => return None,
        };
        text.push_str(&rest[..at]);
        text.push(meant);
        rest = &escaped[1..];
    }
    text.push_str(rest);
    Some(Cow::Owned(text))
}

/// No `: `, no ` #`, no colon at the end.
fn stays_plain(bytes: &[u8]) -> bool {
    !bytes.ends_with(b":")
        && !memchr::memchr2_iter(b':', b'#', bytes).any(|at| match bytes[at] {
            b':' => bytes.get(at + 1) == Some(&b' '),
            _ => at > 0 && bytes[at - 1] == b' ',
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;
    use proptest::prelude::*;

    fn agrees(text: &str) -> bool {
        let Some(fast) = parse(text) else {
            return false;
        };
        let full = yaml::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
        assert_eq!(fast, full, "{text:?}");
        true
    }

    #[test]
    fn the_common_shapes_take_the_fast_path() {
        for text in [
            "name: a\ndescription: Does this, then: that's not here\n"
                .replace("then: ", "then ")
                .as_str(),
            "name: a\ndescription: \"Use when: asked\"\nlicense: MIT # no\n"
                .replace(" # no", "")
                .as_str(),
            "name: a\ndescription: 'It''s quoted: yes'\n",
            "name: a\n# comment\n\ndescription: https://example.org/x#y\nversion: 1.10\n",
            "name: a\ndescription: >-\n  one\n  two\n\n  three\nmetadata:\n  author: me\n  deep:\n    x: 1\n",
            "name: a\ndescription: |\n  one\n    two\n\nallowed-tools:\n  - Read\n  - \"Bash(git:*)\"\n",
            "name: a\ntags:\n- one\n- two\nallowed-tools: [Read, \"Write\", Bash]\nempty: []\n",
            "name: a\ndescription: \"Say \\\"yes\\\": a\\\\b\\nc\"\n",
            "name: 技能\ndescription: 生成电子表格。\n",
            "name: a\ndescription: 'one\n  two''s\n\n  three '\nb: \"x\n  y\"\n",
            "name: a\ndescription: one\n  two\n\n  three\n\nb: c\n",
            "name: a\nmetadata: {\"x\":{\"emoji\":\"🔷\",\"on\":true,\"bins\":[\"jq\", 'it''s']}}\n",
            "name: a\nm: { x: 1, y: [], z: {}, \"u\": \"a\\n{b}, #c: d\" }  \nb: c\n",
            "name: a\nm:\n  {\n    \"x\":\n      {\n        \"y\": [ \"z\" ],\n      \"w\": 1\n      }\n  }\nb: c\n",
            "tools: [Bash(git:*), https://x.y/z, Read]\n",
            "a:\n  - id: x\n    kind: y\n    bins: [\"jq\"]\n  - id: z\n    deep:\n      - q: 1\n  - w\n  - {a: b}\nb: c\n",
            "a:\n- x: |\n    one\n    two\n  y: 2\nb: c\n",
            "a: |\n  one\n  \n two\n".replace(" two", "  two").as_str(),
        ] {
            assert!(agrees(text), "{text:?} should be plain");
        }
    }

    #[test]
    fn everything_else_is_left_to_the_full_parser() {
        for text in [
            "name: a: b\n",
            "name: a #c\n",
            "name:\tb\n",
            "name: *a\n",
            "name: [a: b]\n",
            "name: {a:b}\n",
            "name: {a: b, a: c}\n",
            "name: {\"<<\": b}\n",
            "name: {a: b,}\n",
            "name: {a: }\n",
            "name: {a}\n",
            "name: {\"a\": b} # c\n",
            "name: {\"a\": b} c\n",
            "name: {\"a\": b\n",
            "name: {\"a\": b\n}\n",
            "name: {\"a\": \"b\n  c\"}\n",
            "name: [[[[[[[[a]]]]]]]]\n",
            "name: [a\n\n  , b]\n",
            "a:\n  - - b\n",
            "a:\n  - b: c\n   d: e\n",
            "a:\n  - b: c\n    b: e\n",
            "name: a\n  continued: b\n",
            "name: a\n  continued # c\n",
            "name: \"a\nb\"\n",
            "name: 'a\n  b' c\n",
            "name: \"a\\t\"\n",
            "name: \"a\\\"\n",
            "name: \"a\"b\"\n",
            "name: \"a\" b\n",
            "name: |+\n  a\n",
            "name: a\nname: b\n",
            "name: a\r\n",
            "- a\n",
            "name: a\n bad: b\n",
            "name:\n",
            "description: a:\n",
            "a: >\n  x\n    y\n",
            "a: 'b'c'\n",
            "? a\n: b\n",
            "a: [b, ]\n",
            "a: @b\n",
            "",
            "a: b\nc\n",
            "a:b\n",
            "a: -\n",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

        /// Texts built from the pieces frontmatter is made of, broken ones included.
        #[test]
        fn where_the_fast_path_answers_the_full_parser_agrees(
            lines in proptest::collection::vec(
                (0usize..5, "(name|description|a|b|c|- |-|#|\\? )?(: |:|:  )?([a-zA-Z0-9 ,.'\"\\\\#:>|<\\[\\]{}()*&!%@`~é技-]{0,12}|\\||>|>-|\\|-|\\[a, b\\]|'x'|\"y\"|\"[a\\\\\"n:]{0,8}\")"),
                0..8,
            )
        ) {
            let mut text = String::new();
            for (indent, line) in lines {
                text.push_str(&" ".repeat(indent));
                text.push_str(&line);
                text.push('\n');
            }
            if let Some(fast) = parse(&text) {
                let full = yaml::parse(&text);
                prop_assert_eq!(Ok(fast), full, "{:?}", text);
            }
        }

        /// Brackets, quotes, commas and line breaks in any order, which now and then are a value.
        #[test]
        fn where_the_fast_path_reads_an_inline_value_the_full_parser_agrees(
            before in proptest::sample::select(vec!["", "\n  ", "\n- ", "\n  - k: ", "\n  k: "]),
            open in proptest::sample::select(vec!["[", "{", "{\"k\": ", "{k: ", "["]),
            tokens in proptest::collection::vec(
                proptest::sample::select(vec![
                    "[", "]", "{", "}", "]", "}", ",", ", ", ",", ":", ": ", "\"a\"", "'b''c'", "\"k\":",
                    "\"l\": ", "m: ", "word", "two words", "x:y", "x:*", "1.5", "-", "- ", "\n", "\n    ",
                    "\n  ", " ", "#", " # c", "\"\\n\"", "\"\\u0041\"", "é", "\"技\"", "true", "*x", "&x", "!t", "?", "|",
                ]),
                0..12,
            ),
            close in proptest::sample::select(vec!["]", "}", "]}", "}}", "]\nb: c", "}\nb: c", ""]),
        ) {
            let text = format!("m: {before}{open}{}{close}\n", tokens.concat());
            if let Some(fast) = parse(&text) {
                let full = yaml::parse(&text);
                prop_assert_eq!(Ok(fast), full, "{:?}", text);
            }
        }

        /// Lists of maps, whose first key stands behind the dash.
        #[test]
        fn where_the_fast_path_reads_a_list_of_maps_the_full_parser_agrees(
            lines in proptest::collection::vec(
                (0usize..7, "(- |-  |- - |-)?(a|b|c|k-1|http)(: |:|:  |:/)([a-z]{0,3}|\\||>|\"y\"|\\[x\\]|\\{x: y\\})"),
                0..8,
            )
        ) {
            let mut text = "m:\n".to_owned();
            for (indent, line) in lines {
                text.push_str(&" ".repeat(indent));
                text.push_str(&line);
                text.push('\n');
            }
            if let Some(fast) = parse(&text) {
                let full = yaml::parse(&text);
                prop_assert_eq!(Ok(fast), full, "{:?}", text);
            }
        }
    }
}
