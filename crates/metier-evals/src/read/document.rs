//! A case file as a tree with places, from YAML or JSON, within limits.
//!
//! Files come with clones, so their size, nesting and number of values are bounded before anything is made of
//! them. JSON may have comments and trailing commas, as our configuration may.

use std::borrow::Cow;
use std::ops::Range;

use jsonc_parser::ast::Value as Json;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use metier::skill::yaml::{Node, NodeKind, Style, YamlLimits, parse_document};

use super::ReadFault;

/// The largest case file.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// Levels of nesting: a JSON Schema in a case needs some.
const MAX_DEPTH: usize = 48;

const LIMITS: YamlLimits = YamlLimits {
    what: "the file",
    depth: MAX_DEPTH,
    nodes: 2_000_000,
    keys: 1_000,
    marked_start: true,
};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Yaml,
    Json,
}

/// The tree of a text.
pub(crate) fn tree(text: &str, syntax: Syntax) -> Result<Node<'_>, ReadFault> {
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes; the limit is {MAX_BYTES}", text.len());
        return Err(ReadFault::new(0..0, message).with_help("split it into several"));
    }
    let root = match syntax {
        Syntax::Yaml => parse_document(text, LIMITS).map_err(|error| {
            let help = "see docs/evals.md for what a case file looks like";
            ReadFault::new(error.span, error.message).with_help(help)
        })?,
        Syntax::Json => json(text)?,
    };
    root.filter(|node| !node.is_null()).ok_or_else(|| {
        ReadFault::new(0..0, "the file is empty").with_help("`metier eval init` writes a first one")
    })
}

fn json(text: &str) -> Result<Option<Node<'_>>, ReadFault> {
    check_depth(text)?;
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| {
        let range = error.range();
        ReadFault::new(range.start..range.end, format!("this is not valid JSON: {}", error.kind()))
    })?;
    parsed.value.map(|value| node(value)).transpose()
}

/// The parser recurses, so nesting is counted before it.
fn check_depth(text: &str) -> Result<(), ReadFault> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    let message = format!("values are nested more than {MAX_DEPTH} levels deep");
                    return Err(ReadFault::new(at..at, message));
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            // A string that is never closed ends with its line, as the parser says too.
            b'\n' => in_string = false,
            _ => {}
        }
    }
    Ok(())
}

fn node(value: Json<'_>) -> Result<Node<'_>, ReadFault> {
    let plain = |text: &'static str| NodeKind::Scalar { text: text.into(), style: Style::Plain };
    Ok(match value {
        Json::StringLit(it) => Node {
            kind: NodeKind::Scalar { text: it.value, style: Style::Quoted },
            span: span(&it.range),
        },
        Json::NumberLit(it) => {
            let text = Cow::Borrowed(it.value);
            Node { kind: NodeKind::Scalar { text, style: Style::Plain }, span: span(&it.range) }
        }
        Json::BooleanLit(it) => {
            Node { kind: plain(if it.value { "true" } else { "false" }), span: span(&it.range) }
        }
        Json::NullKeyword(it) => Node { kind: plain("null"), span: span(&it.range) },
        Json::Array(it) => {
            let span = span(&it.range);
            let items = it.elements.into_iter().map(node).collect::<Result<_, _>>()?;
            Node { kind: NodeKind::List(items), span }
        }
        Json::Object(it) => {
            let span = span(&it.range);
            if it.properties.len() > LIMITS.keys {
                let message = format!("a map in the file has more than {} keys", LIMITS.keys);
                return Err(ReadFault::new(span, message));
            }
            let mut entries: Vec<(Node<'_>, Node<'_>)> = Vec::new();
            for property in it.properties {
                let start = property.range.start;
                let name = property.name.into_string();
                if entries.iter().any(|(key, _)| key.key_text() == name) {
                    let message = format!("the key `{name}` appears twice");
                    return Err(ReadFault::new(start..start, message));
                }
                let kind = NodeKind::Scalar { text: name.into(), style: Style::Quoted };
                entries.push((Node { kind, span: start..start }, node(property.value)?));
            }
            Node { kind: NodeKind::Map(entries), span }
        }
    })
}

fn span(range: &jsonc_parser::common::Range) -> Range<usize> {
    range.start..range.end
}

/// A value that YAML or JSON knows by how it is written without quotes.
pub(crate) enum Known {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text,
}

/// What an unquoted text is, by YAML's core schema.
pub(crate) fn known(text: &str) -> Known {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Known::Null,
        "true" | "True" | "TRUE" => return Known::Bool(true),
        "false" | "False" | "FALSE" => return Known::Bool(false),
        _ => {}
    }
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    if !is_number {
        return Known::Text;
    }
    if let Ok(int) = text.parse::<i64>() {
        return Known::Int(int);
    }
    if let Ok(int) = text.parse::<u64>() {
        return Known::Uint(int);
    }
    let is_float = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    match text.parse::<f64>() {
        Ok(float) if is_float && float.is_finite() => Known::Float(float),
        _ => Known::Text,
    }
}
