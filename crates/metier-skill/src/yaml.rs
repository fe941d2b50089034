//! The node tree of a frontmatter, and the full YAML parser behind limits.
//!
//! The tree keeps what diagnostics and untyped fields need: every scalar's text, style and span.
//! The parser is an event stream; anchors, aliases, tags, merge keys, duplicate keys, second
//! documents, deep nesting and large counts end it at once, so that an attack costs no more than
//! the 64 KiB it is written in. Only this file names the YAML crate.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StructureStyle, options};

use crate::codes::Code;

/// Levels of nesting in a frontmatter, the top map included. Real ones have at most six.
pub(crate) const MAX_DEPTH: usize = 12;
/// Values in a frontmatter. Real ones have a few dozen.
pub(crate) const MAX_NODES: usize = 2048;

/// How large a document may be, and what it is called in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct YamlLimits {
    /// What the text is: `the frontmatter`.
    pub what: &'static str,
    /// Levels of nesting, the top included.
    pub depth: usize,
    /// Values in all.
    pub nodes: usize,
    /// Keys of one map, which are compared with each other.
    pub keys: usize,
    /// Whether `---` may stand before the document.
    pub marked_start: bool,
}

impl YamlLimits {
    /// What a frontmatter may be.
    pub const FRONTMATTER: Self = Self {
        what: "the frontmatter",
        depth: MAX_DEPTH,
        nodes: MAX_NODES,
        keys: MAX_NODES,
        marked_start: false,
    };
}

/// A value and the bytes of the YAML text it was written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node<'a> {
    /// What it is.
    pub kind: NodeKind<'a>,
    /// Where it is in the YAML text. For a block collection: from its first to its last item.
    pub span: Range<usize>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeKind<'a> {
    /// A text and how it was written.
    Scalar {
        /// The text after unescaping and folding.
        text: Cow<'a, str>,
        /// How it was written.
        style: Style,
    },
    /// A list.
    List(Vec<Node<'a>>),
    /// A map, in the author's order; keys are scalars and unique.
    Map(Vec<(Node<'a>, Node<'a>)>),
}

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single or double quotes.
    Quoted,
    /// As a literal or folded block.
    Block,
}

/// Why a YAML text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// The diagnostic code.
    pub code: Code,
    /// Where, in the YAML text.
    pub span: Range<usize>,
    /// A sentence.
    pub message: String,
}

impl<'a> Node<'a> {
    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The text of a key; keys are scalars by construction.
    pub fn key_text(&self) -> &str {
        self.text().unwrap_or_default()
    }

    /// Nothing, `~` or `null`, unquoted.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, NodeKind::Scalar { text, style: Style::Plain }
            if matches!(&**text, "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The entries of a map.
    pub fn entries(&self) -> Option<&[(Node<'a>, Node<'a>)]> {
        match &self.kind {
            NodeKind::Map(entries) => Some(entries),
            _ => None,
        }
    }
}

/// Parses `text`, which must hold one document: a map. An empty text is not a map.
pub fn parse(text: &str) -> Result<Node<'_>, YamlError> {
    let root = parse_document(text, YamlLimits::FRONTMATTER)?;
    match root {
        Some(node @ Node { kind: NodeKind::Map(_), .. }) => Ok(node),
        Some(other) => Err(not_a_map(other.span)),
        None => Err(not_a_map(0..text.len())),
    }
}

fn not_a_map(span: Range<usize>) -> YamlError {
    YamlError {
        code: Code::FrontmatterNotMapping,
        span,
        message: "the frontmatter is not a list of `key: value` fields".to_owned(),
    }
}

/// Parses `text`, which must hold at most one document: whatever it is, or nothing.
pub fn parse_document(text: &str, limits: YamlLimits) -> Result<Option<Node<'_>>, YamlError> {
    let options = options! {
        disallow_directives: true,
        emit_comments: false,
        emit_unresolved_aliases: true,
    };
    let mut builder = Builder::new(text, limits);
    for item in Parser::new_from_str_with_options(text, options) {
        let (event, span) = item.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(0).min(text.len());
            let code = match error.kind() {
                ErrorKind::RecursionLimitExceeded => Code::YamlTooDeep,
                ErrorKind::InvalidQuotedScalarIndent => Code::YamlQuoteUnindented,
                _ => Code::YamlSyntax,
            };
            YamlError { code, span: at..at, message: sentence(&error) }
        })?;
        let span = span.byte_range().unwrap_or(0..0);
        builder.take(event, span)?;
    }
    Ok(builder.root)
}

/// The parser's own message, or ours where it has none.
fn sentence(error: &ScanError) -> String {
    let message = error.info();
    if message.trim().is_empty() { "this is not valid YAML".to_owned() } else { message }
}

/// How the fast path and the full parser compare on one file; for tests and fuzzing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreement {
    /// The fast path answered, and the full parser gives the same tree.
    Same,
    /// The fast path left the text to the full parser.
    FullOnly,
    /// There is no closed UTF-8 frontmatter to compare on.
    NoFrontmatter,
    /// They differ: a bug.
    Different {
        /// The fast path's tree.
        fast: String,
        /// The full parser's answer.
        full: String,
    },
}

/// Compares the fast path with the full parser on the frontmatter of `bytes`.
pub fn agreement(bytes: &[u8]) -> Agreement {
    use crate::fence::{Complete, Fence, find};
    let Fence::Closed(found) = find(bytes, Complete::Yes) else {
        return Agreement::NoFrontmatter;
    };
    let Ok(text) = std::str::from_utf8(&bytes[found.yaml]) else {
        return Agreement::NoFrontmatter;
    };
    let Some(fast) = crate::plain::parse(text) else {
        return Agreement::FullOnly;
    };
    let full = parse(text);
    if full.as_ref() == Ok(&fast) {
        Agreement::Same
    } else {
        Agreement::Different { fast: format!("{fast:?}"), full: format!("{full:?}") }
    }
}

/// An unfinished collection.
enum Open<'a> {
    List {
        items: Vec<Node<'a>>,
        start: usize,
        style: StructureStyle,
    },
    Map {
        entries: Vec<(Node<'a>, Node<'a>)>,
        key: Option<Node<'a>>,
        start: usize,
        style: StructureStyle,
    },
}

struct Builder<'a> {
    text: &'a str,
    open: Vec<Open<'a>>,
    root: Option<Node<'a>>,
    nodes: usize,
    documents: usize,
    limits: YamlLimits,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str, limits: YamlLimits) -> Self {
        Self { text, open: Vec::new(), root: None, nodes: 0, documents: 0, limits }
    }

    fn take(&mut self, event: Event<'a>, span: Range<usize>) -> Result<(), YamlError> {
        let fail = |code, message: &str| {
            Err(YamlError { code, span: span.clone(), message: message.to_owned() })
        };
        match event {
            Event::DocumentStart(explicit, _) => {
                self.documents += 1;
                if self.documents > 1 || (explicit && !self.limits.marked_start) {
                    return fail(Code::YamlDocuments, "a second YAML document starts here");
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return fail(Code::YamlAlias, "this is read as an alias");
            }
            Event::Scalar(text, style, anchor, tag) => {
                if anchor != 0 {
                    return fail(Code::YamlAlias, "this value defines an anchor");
                }
                if tag.is_some() {
                    return fail(Code::YamlTag, "this value has a tag");
                }
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
                    _ => Style::Block,
                };
                let span = self.tight(span);
                // The parser spells an absent value `~`; an absent value and a written `~` differ.
                let absent = span.is_empty() && style == Style::Plain;
                let text = if absent { Cow::Borrowed("") } else { text };
                self.add(Node { kind: NodeKind::Scalar { text, style }, span })?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.check_open(anchor, tag.is_some(), &span)?;
                self.open.push(Open::List { items: Vec::new(), start: span.start, style });
            }
            Event::MappingStart(style, anchor, tag) => {
                self.check_open(anchor, tag.is_some(), &span)?;
                self.open.push(Open::Map {
                    entries: Vec::new(),
                    key: None,
                    start: span.start,
                    style,
                });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let node = finish(open, span.end);
                    self.add(node)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn check_open(
        &self,
        anchor: usize,
        tagged: bool,
        span: &Range<usize>,
    ) -> Result<(), YamlError> {
        let (code, message) = if anchor != 0 {
            (Code::YamlAlias, "this value defines an anchor".to_owned())
        } else if tagged {
            (Code::YamlTag, "this value has a tag".to_owned())
        } else if self.open.len() >= self.limits.depth {
            let message = format!("values are nested more than {} levels deep", self.limits.depth);
            (Code::YamlTooDeep, message)
        } else {
            return Ok(());
        };
        Err(YamlError { code, span: span.clone(), message })
    }

    /// The span without the blanks and line breaks that the parser counts to a block scalar.
    fn tight(&self, span: Range<usize>) -> Range<usize> {
        let slice = self.text.get(span.clone()).unwrap_or_default();
        span.start..span.start + slice.trim_end_matches([' ', '\t', '\n', '\r']).len()
    }

    fn add(&mut self, node: Node<'a>) -> Result<(), YamlError> {
        self.nodes += 1;
        let YamlLimits { what, nodes, keys, .. } = self.limits;
        if self.nodes > nodes {
            return Err(YamlError {
                code: Code::YamlTooManyNodes,
                span: node.span,
                message: format!("{what} has more than {nodes} values"),
            });
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                Some(key) => entries.push((key, node)),
                None if entries.len() >= keys => {
                    return Err(YamlError {
                        code: Code::YamlTooManyNodes,
                        span: node.span,
                        message: format!("a map in {what} has more than {keys} keys"),
                    });
                }
                None => *key = Some(check_key(node, entries)?),
            },
        }
        Ok(())
    }
}

fn check_key<'a>(node: Node<'a>, entries: &[(Node<'a>, Node<'a>)]) -> Result<Node<'a>, YamlError> {
    let Some(text) = node.text() else {
        return Err(YamlError {
            code: Code::YamlSyntax,
            span: node.span,
            message: "a key must be text, not a list or a map".to_owned(),
        });
    };
    if text == "<<" {
        return Err(YamlError {
            code: Code::YamlAlias,
            span: node.span,
            message: "this is a merge key".to_owned(),
        });
    }
    if entries.iter().any(|(key, _)| key.key_text() == text) {
        let message = format!("the key `{text}` appears twice");
        return Err(YamlError { code: Code::YamlDuplicateKey, span: node.span, message });
    }
    Ok(node)
}

fn finish(open: Open<'_>, end: usize) -> Node<'_> {
    let range = |start: usize, style, first: Option<&Node<'_>>, last: Option<&Node<'_>>| match style
    {
        StructureStyle::Flow => start..end,
        StructureStyle::Block => {
            let first = first.map_or(start, |node| node.span.start);
            first..last.map_or(first, |node| node.span.end)
        }
    };
    match open {
        Open::List { items, start, style } => {
            let span = range(start, style, items.first(), items.last());
            Node { kind: NodeKind::List(items), span }
        }
        Open::Map { entries, start, style, .. } => {
            let first = entries.first().map(|(key, _)| key);
            let span = range(start, style, first, entries.last().map(|(_, value)| value));
            Node { kind: NodeKind::Map(entries), span }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Code {
        parse(text).expect_err(text).code
    }

    #[test]
    fn attacks_end_in_a_code() {
        assert_eq!(code("a: &x 1\nb: *x\n"), Code::YamlAlias);
        assert_eq!(code("a: *x\n"), Code::YamlAlias);
        assert_eq!(code("<<: {a: 1}\n"), Code::YamlAlias);
        assert_eq!(code("a: !!python/object:os.system x\n"), Code::YamlTag);
        assert_eq!(code("a: 1\na: 2\n"), Code::YamlDuplicateKey);
        assert_eq!(code("m:\n  a: 1\n  a: 2\n"), Code::YamlDuplicateKey);
        assert_eq!(code("a: 1\n...\nb: 2\n"), Code::YamlDocuments);
        assert_eq!(code("%YAML 1.2\n"), Code::YamlSyntax);
        assert_eq!(code(&format!("a: {}\n", "[".repeat(30_000))), Code::YamlTooDeep);
        assert_eq!(code(&format!("a: {}\n", "{b: ".repeat(9_000))), Code::YamlTooDeep);
        assert_eq!(code(&"- ".repeat(30_000)), Code::YamlTooDeep);
        assert_eq!(code(&format!("a: [{}]\n", "x,".repeat(30_000))), Code::YamlTooManyNodes);
        assert_eq!(code("- a\n"), Code::FrontmatterNotMapping);
        assert_eq!(code("just text\n"), Code::FrontmatterNotMapping);
        assert_eq!(code(""), Code::FrontmatterNotMapping);
        assert_eq!(code("[a]: 1\n"), Code::YamlSyntax);
    }

    #[test]
    fn spans_cover_the_written_value() {
        let text = "a: plain  # c\nb: 'q'\nc: |\n  x\n  y\n\nd: [1, 2]\ne:\n  - z\n";
        let node = parse(text).expect("valid");
        let spans: Vec<&str> =
            node.entries().expect("map").iter().map(|(_, v)| &text[v.span.clone()]).collect();
        assert_eq!(spans, ["plain", "'q'", "x\n  y", "[1, 2]", "z"]);
    }
}
