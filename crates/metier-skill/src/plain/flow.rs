//! Inline lists and maps, `[a, "b"]` and `{"bins": ["jq"]}`, on one line or over several.
//!
//! A third of real skills carry their metadata as JSON inside YAML; each of them cost the full
//! parser more than opening its file. Only what JSON and YAML read alike is taken, and plain words
//! that mean nothing special. Everything else is `None`: a comma with nothing after it, a missing
//! value, a comment, a key without quotes whose colon touches its value, a line that is not
//! indented below its field. Called by the reader of [`super`] alone.

use std::borrow::Cow;

use super::{MAX_DEPTH, MAX_NODES, unescaped};
use crate::yaml::{Node, NodeKind, Style};

/// A key longer than this is left to the full parser, which bounds keys in its own way.
const MAX_KEY: usize = 128;

/// A reader that stands on the opening bracket of an inline value.
pub(super) struct Flow<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Further lines must be indented more than this.
    pub(super) indent: usize,
    /// Values so far in the whole text.
    pub(super) nodes: usize,
}

impl<'a> Flow<'a> {
    /// The list or map that starts here; `depth` is its own level.
    pub(super) fn collection(&mut self, depth: usize) -> Option<Node<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let start = self.at;
        let kind = match self.byte()? {
            b'[' => NodeKind::List(self.list(depth)?),
            b'{' => NodeKind::Map(self.map(depth)?),
            _ => return None,
        };
        Some(Node { kind, span: start..self.at })
    }

    fn list(&mut self, depth: usize) -> Option<Vec<Node<'a>>> {
        let mut items = Vec::new();
        let mut more = self.opened(b']')?;
        while more {
            items.push(self.value(depth)?);
            more = self.another(b']')?;
        }
        Some(items)
    }

    fn map(&mut self, depth: usize) -> Option<Vec<(Node<'a>, Node<'a>)>> {
        let mut entries: Vec<(Node<'a>, Node<'a>)> = Vec::new();
        let mut more = self.opened(b'}')?;
        while more {
            let key = self.key()?;
            let text = key.key_text();
            if text == "<<" || entries.iter().any(|(known, _)| known.key_text() == text) {
                return None;
            }
            self.skip()?;
            let value = self.value(depth)?;
            entries.push((key, value));
            more = self.another(b'}')?;
        }
        Some(entries)
    }

    /// Steps over the opening bracket; gives whether something stands before the closing one.
    fn opened(&mut self, close: u8) -> Option<bool> {
        self.at += 1;
        self.skip()?;
        let empty = self.byte()? == close;
        self.at += usize::from(empty);
        Some(!empty)
    }

    /// Steps over the comma or the closing bracket after a value; gives whether another follows.
    fn another(&mut self, close: u8) -> Option<bool> {
        self.skip()?;
        let next = self.byte()?;
        self.at += 1;
        if next == close {
            return Some(false);
        }
        if next != b',' {
            return None;
        }
        self.skip()?;
        Some(true)
    }

    fn value(&mut self, depth: usize) -> Option<Node<'a>> {
        match self.byte()? {
            b'[' | b'{' => {
                self.count()?;
                self.collection(depth + 1)
            }
            b'"' | b'\'' => self.quoted(),
            _ => self.plain(),
        }
    }

    /// A key and its colon. Only a quoted key may have its value right after the colon.
    fn key(&mut self) -> Option<Node<'a>> {
        let quoted = matches!(self.byte()?, b'"' | b'\'');
        let key = if quoted {
            self.quoted()?
        } else {
            let len = super::key_len(&self.text[self.at..])?;
            self.scalar(Cow::Borrowed(&self.text[self.at..self.at + len]), Style::Plain, len)?
        };
        if key.span.len() > MAX_KEY || self.byte()? != b':' {
            return None;
        }
        self.at += 1;
        (quoted || matches!(self.byte()?, b' ' | b'\n')).then_some(key)
    }

    /// A quoted scalar that ends on its line.
    fn quoted(&mut self) -> Option<Node<'a>> {
        let quote = self.byte()?;
        let rest = &self.text[self.at + 1..];
        let (end, has_escape) = closing(rest.as_bytes(), quote)?;
        let inner = &rest[..end];
        let text = match quote {
            _ if !has_escape => Cow::Borrowed(inner),
            b'"' => unescaped(inner)?,
            _ => Cow::Owned(inner.replace("''", "'")),
        };
        self.scalar(text, Style::Quoted, end + 2)
    }

    /// A word or a few, without anything that could mean more than itself.
    fn plain(&mut self) -> Option<Node<'a>> {
        let rest = &self.text.as_bytes()[self.at..];
        if !rest.first()?.is_ascii_alphanumeric() {
            return None;
        }
        let end = (0..rest.len()).find(|at| !stays_word(rest, *at))?;
        if !matches!(rest[end], b',' | b']' | b'}' | b'\n') {
            return None;
        }
        let word = self.text[self.at..self.at + end].trim_end_matches(' ');
        self.scalar(Cow::Borrowed(word), Style::Plain, word.len())
    }

    fn scalar(&mut self, text: Cow<'a, str>, style: Style, len: usize) -> Option<Node<'a>> {
        self.count()?;
        let span = self.at..self.at + len;
        self.at = span.end;
        Some(Node { kind: NodeKind::Scalar { text, style }, span })
    }

    /// Blanks, and line breaks before a line that is indented enough.
    fn skip(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        let mut line = None;
        loop {
            match bytes.get(self.at)? {
                b' ' => self.at += 1,
                b'\n' => {
                    // A line of blanks alone says nothing about its indent.
                    if line.is_some() {
                        return None;
                    }
                    self.at += 1;
                    line = Some(self.at);
                }
                _ => break,
            }
        }
        line.is_none_or(|start| self.at - start > self.indent).then_some(())
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn count(&mut self) -> Option<()> {
        self.nodes += 1;
        (self.nodes <= MAX_NODES).then_some(())
    }
}

/// Where the quote that closes `rest` stands, on the same line, and whether something before it does
/// not mean itself.
fn closing(rest: &[u8], quote: u8) -> Option<(usize, bool)> {
    let (mut at, mut has_escape) = (0, false);
    loop {
        at += memchr::memchr3(quote, b'\n', b'\\', &rest[at..])?;
        match rest[at] {
            b'\n' => return None,
            b'\\' if quote == b'\'' => {
                at += 1;
                continue;
            }
            b'\\' => {}
            _ if quote == b'\'' && rest.get(at + 1) == Some(&b'\'') => {}
            _ => return Some((at, has_escape)),
        }
        (at, has_escape) = (at + 2, true);
        if at > rest.len() {
            return None;
        }
    }
}

/// Whether the byte at `at` means nothing but itself inside an inline list or map.
fn stays_word(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b' ' | b'_' | b'-' | b'.' | b'/' | b'(' | b')' | b'*' => true,
        // `Bash(git:*)` and `https://…` are words; `a: b` and `a:}` are not.
        b':' => bytes
            .get(at + 1)
            .is_some_and(|next| next.is_ascii_alphanumeric() || matches!(next, b'*' | b'/')),
        byte => byte.is_ascii_alphanumeric(),
    }
}
