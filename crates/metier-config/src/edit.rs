//! Changing one setting in a file that a person wrote: the text goes in, the new text comes out.
//!
//! Everything else stays byte for byte: comments, order, indentation, trailing commas, line ends.
//! A text that is not a valid configuration is refused, never rewritten. Callers read and write the
//! file themselves; `metier enable`, `disable`, `config set` and `config add` do.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use serde_json::Value as Json;

use crate::error::{ConfigError, ConfigErrorKind};
use crate::layer::{Scope, json_of, parse};
use crate::syntax::parse_tree;

/// One level of indentation where the text shows none of its own.
const INDENT: &str = "  ";

/// `text` with `skills.<id>.enabled` set, and nothing else changed; a file that is not there yet is
/// `{}`. Setting what is set already gives the same text.
///
/// ```
/// use metier_config::{Scope, set_skill_enabled};
///
/// let text = "{\n  // quiet, please\n  \"profile\": \"strict\",\n}\n";
/// let edited = set_skill_enabled(text, "config.json", Scope::User, "user:pdf", false).unwrap();
/// assert_eq!(
///     edited,
///     "{\n  // quiet, please\n  \"profile\": \"strict\",\n  \"skills\": {\n    \
///      \"user:pdf\": { \"enabled\": false },\n  },\n}\n"
/// );
/// ```
///
/// # Errors
///
/// The problems of a text that [`parse`] refuses, before the change or after it (a file at its
/// limit of size can become too large). The caller must then leave the file alone.
pub fn set_skill_enabled(
    text: &str,
    origin: &str,
    scope: Scope,
    id: &str,
    enabled: bool,
) -> Result<String, Vec<ConfigError>> {
    set_value(text, origin, scope, &["skills", id, "enabled"], &Json::Bool(enabled))
}

/// `text` with the setting at `path` set to `value`, and nothing else changed.
///
/// ```
/// use metier_config::{Scope, set_value};
///
/// let text = "{ /* mine */ \"budgets\": { \"turns\": 6 } }";
/// let edited = set_value(text, "c", Scope::User, &["budgets", "turns"], &9.into()).unwrap();
/// assert_eq!(edited, "{ /* mine */ \"budgets\": { \"turns\": 9 } }");
/// ```
///
/// # Errors
///
/// As for [`set_skill_enabled`].
pub fn set_value(
    text: &str,
    origin: &str,
    scope: Scope,
    path: &[&str],
    value: &Json,
) -> Result<String, Vec<ConfigError>> {
    let set = |body: &str, root: &Object<'_>| set_in(body, root, path, &value.to_string());
    let edited = rewrite(text, origin, scope, set)?;
    // The law of this file, held at run time too: what is written says what was asked for.
    if value_in(&edited, path).as_ref() == Some(value) {
        return Ok(edited);
    }
    Err(vec![unexpected(origin, path)])
}

/// `text` without the setting at `path`, and nothing else changed; comments stay.
///
/// # Errors
///
/// As for [`set_skill_enabled`].
pub fn remove_value(
    text: &str,
    origin: &str,
    scope: Scope,
    path: &[&str],
) -> Result<String, Vec<ConfigError>> {
    let remove = |body: &str, root: &Object<'_>| remove_in(body, root, path);
    let edited = rewrite(text, origin, scope, remove)?;
    if value_in(&edited, path).is_none() { Ok(edited) } else { Err(vec![unexpected(origin, path)]) }
}

/// `text` with `value` at the end of the list at `path`, and nothing else changed. What the list has
/// already is not added again; a list that is not there yet begins with it.
///
/// ```
/// use metier_config::{Scope, add_value};
///
/// let text = "{ \"sources\": { \"allow\": [\"a.test\" /* mine */] } }";
/// let edited = add_value(text, "c", Scope::User, &["sources", "allow"], &"b.test".into()).unwrap();
/// assert_eq!(edited, "{ \"sources\": { \"allow\": [\"a.test\", /* mine */ \"b.test\"] } }");
/// ```
///
/// # Errors
///
/// As for [`set_skill_enabled`]; also where the setting is not a list.
pub fn add_value(
    text: &str,
    origin: &str,
    scope: Scope,
    path: &[&str],
    value: &Json,
) -> Result<String, Vec<ConfigError>> {
    let mut wanted = match value_in(text, path) {
        Some(Json::Array(values)) => values,
        _ => Vec::new(),
    };
    if wanted.contains(value) {
        return rewrite(text, origin, scope, |body, _| body.to_owned());
    }
    let add = |body: &str, root: &Object<'_>| {
        add_in(body, root, path, &value.to_string())
            .unwrap_or_else(|| set_in(body, root, path, &format!("[{value}]")))
    };
    let edited = rewrite(text, origin, scope, add)?;
    wanted.push(value.clone());
    if value_in(&edited, path) == Some(Json::Array(wanted)) {
        return Ok(edited);
    }
    Err(vec![unexpected(origin, path)])
}

/// Changes a text that is a valid configuration into another one.
fn rewrite(
    text: &str,
    origin: &str,
    scope: Scope,
    change: impl FnOnce(&str, &Object<'_>) -> String,
) -> Result<String, Vec<ConfigError>> {
    parse(text, origin, scope)?;
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let body = &text[mark..];
    let edited = match parse_tree(body) {
        Ok(Node::Object(root)) => change(body, &root),
        // `parse` has read the same text and found an object.
        _ => return Err(vec![unexpected(origin, &[])]),
    };
    let edited = format!("{}{edited}", &text[..mark]);
    parse(&edited, origin, scope)?;
    Ok(edited)
}

/// The value that a text has at `path`.
fn value_in(text: &str, path: &[&str]) -> Option<Json> {
    let tree = parse_tree(text.strip_prefix('\u{feff}').unwrap_or(text)).ok()?;
    let mut value = &json_of(&tree);
    for key in path {
        value = value.get(key)?;
    }
    Some(value.clone())
}

fn unexpected(origin: &str, path: &[&str]) -> ConfigError {
    ConfigError {
        file: origin.to_owned(),
        line: 1,
        column: 1,
        key_path: path.join("."),
        kind: ConfigErrorKind::BadValue,
        message: "the setting cannot be written to this file".to_owned(),
        help: "this is a bug in Metier; please report it and attach the file".to_owned(),
    }
}

fn set_in(text: &str, object: &Object<'_>, path: &[&str], value: &str) -> String {
    let [key, rest @ ..] = path else { return text.to_owned() };
    match property(object, key).map(|prop| &prop.value) {
        Some(Node::Object(inner)) if !rest.is_empty() => set_in(text, inner, rest, value),
        Some(old) => format!("{}{value}{}", &text[..old.start()], &text[old.end()..]),
        // A new section has lines of its own; what is added to one has a line.
        None if !rest.is_empty() && is_root(text, object) => {
            add(text, object, |layout| layout.nested(key, &on_one_line(rest, value)))
        }
        None => add(text, object, |_| on_one_line(path, value)),
    }
}

/// With `value` after the last one of the list at `path`, or behind the bracket of an empty one, whose comments
/// stay; nothing where no list is there.
fn add_in(text: &str, object: &Object<'_>, path: &[&str], value: &str) -> Option<String> {
    let (key, rest) = path.split_first()?;
    match &property(object, key)?.value {
        Node::Object(inner) => add_in(text, inner, rest, value),
        Node::Array(list) if rest.is_empty() => {
            let Some(last) = list.elements.last() else {
                let (head, rest) = text.split_at(list.start() + 1);
                return Some(format!("{head}{value}{rest}"));
            };
            let gap = Gap::read(text, last.end()..list.end() - 1);
            let (missing, trailing) = if gap.has_comma { ("", ",") } else { (",", "") };
            let before = match own_indent(text, last.start()) {
                Some(indent) => format!("{}{indent}", line_end_of(text)),
                None if gap.ends_in_line_comment => line_end_of(text).to_owned(),
                None => " ".to_owned(),
            };
            let (head, rest) = text.split_at(gap.last_end);
            let (head, kept) = head.split_at(last.end());
            Some(format!("{head}{missing}{kept}{before}{value}{trailing}{rest}"))
        }
        _ => None,
    }
}

fn is_root(text: &str, object: &Object<'_>) -> bool {
    !text[..object.start()].contains('{')
}

/// `"a": { "b": value }`
fn on_one_line(path: &[&str], value: &str) -> String {
    match path {
        [key, rest @ ..] if !rest.is_empty() => {
            format!("{}: {{ {} }}", quoted(key), on_one_line(rest, value))
        }
        path => format!("{}: {value}", quoted(path.first().unwrap_or(&""))),
    }
}

fn remove_in(text: &str, object: &Object<'_>, path: &[&str]) -> String {
    let [key, rest @ ..] = path else { return text.to_owned() };
    let Some(prop) = property(object, key) else { return text.to_owned() };
    match &prop.value {
        Node::Object(inner) if !rest.is_empty() => remove_in(text, inner, rest),
        _ => remove(text, object, prop),
    }
}

/// Takes a property out, with the comma after it. The comma before a last one stays, as a trailing
/// one.
fn remove(text: &str, object: &Object<'_>, prop: &ObjectProp<'_>) -> String {
    let next = object.properties.iter().map(ObjectProp::start).find(|start| *start > prop.start());
    let gap = Gap::read(text, prop.end()..next.unwrap_or(object.end() - 1));
    let Range { mut start, mut end } = prop.start()..prop.end();
    let mut kept = String::new();
    if let Some(comma) = gap.comma_at {
        kept.push_str(&text[end..comma]);
        end = comma + 1;
    }
    // A line that held nothing else goes with it.
    let after = text[end..].trim_start_matches([' ', '\t']);
    let line_end = ["\r\n", "\n", "\r"].into_iter().find(|line_end| after.starts_with(line_end));
    if let (Some(indent), Some(line_end), true) =
        (own_indent(text, start), line_end, kept.trim().is_empty())
    {
        start -= indent.len();
        end = text.len() - after.len() + line_end.len();
        kept.clear();
    }
    format!("{}{kept}{}", &text[..start], &text[end..])
}

fn property<'o, 'a>(object: &'o Object<'a>, key: &str) -> Option<&'o ObjectProp<'a>> {
    object.properties.iter().find(|prop| prop.name.as_str() == key)
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}

/// How the properties of an object are laid out, so that a new one looks like the others.
struct Layout {
    /// `None` when properties share a line.
    own_line: Option<OwnLine>,
    trailing_comma: bool,
}

struct OwnLine {
    line_end: &'static str,
    indent: String,
    /// What one more level adds.
    step: String,
}

impl Layout {
    /// A property `key` whose value is an object that holds `line`.
    fn nested(&self, key: &str, line: &str) -> String {
        match &self.own_line {
            None => format!("{}: {{ {line} }}", quoted(key)),
            Some(OwnLine { line_end, indent, step }) => {
                let comma = if self.trailing_comma { "," } else { "" };
                let key = quoted(key);
                format!("{key}: {{{line_end}{indent}{step}{line}{comma}{line_end}{indent}}}")
            }
        }
    }

    /// The white space before a new property.
    fn before(&self) -> String {
        match &self.own_line {
            None => " ".to_owned(),
            Some(own) => format!("{}{}", own.line_end, own.indent),
        }
    }
}

/// Adds a property at the end of `object`, after the last comment in it: a comment after a value
/// on the same line stays there.
fn add(text: &str, object: &Object<'_>, property: impl FnOnce(&Layout) -> String) -> String {
    let Some(last) = object.properties.last() else {
        return fill(text, object, property);
    };
    let value_end = last.end();
    let gap = Gap::read(text, value_end..object.end() - 1);
    let first = object.properties.first().unwrap_or(last);
    let shown = own_indent(text, first.start());
    let layout = Layout {
        own_line: (shown.is_some() || gap.ends_in_line_comment)
            .then(|| own_line(text, object, shown)),
        trailing_comma: gap.has_comma,
    };
    let (missing, trailing) = if gap.has_comma { ("", ",") } else { (",", "") };
    let property = property(&layout);
    let before = layout.before();
    let (kept, rest) = (&text[value_end..gap.last_end], &text[gap.last_end..]);
    format!("{}{missing}{kept}{before}{property}{trailing}{rest}", &text[..value_end])
}

/// Puts a first property into an object that holds nothing, or only comments.
fn fill(text: &str, object: &Object<'_>, property: impl FnOnce(&Layout) -> String) -> String {
    let close = object.end() - 1;
    let gap = Gap::read(text, object.start() + 1..close);
    // In a file of several lines, and in a file of nothing, a setting has a line of its own.
    let lines = is_root(text, object) || text[..close].contains(['\n', '\r']);
    let layout =
        Layout { own_line: lines.then(|| own_line(text, object, None)), trailing_comma: false };
    let property = property(&layout);
    let before = layout.before();
    if text[gap.last_end..close].contains(['\n', '\r']) {
        let (head, rest) = text.split_at(gap.last_end);
        return format!("{head}{before}{property}{rest}");
    }
    let after = match &layout.own_line {
        Some(own) => format!("{}{}", own.line_end, indent_of(text, object.start())),
        None => " ".to_owned(),
    };
    format!("{}{before}{property}{after}{}", &text[..close], &text[close..])
}

/// The text between the last value of an object (or its opening bracket) and its end.
struct Gap {
    has_comma: bool,
    /// Where the first comma is.
    comma_at: Option<usize>,
    /// Where the last comma or comment ends, or else the start.
    last_end: usize,
    /// After a line comment nothing can follow in the same line.
    ends_in_line_comment: bool,
}

impl Gap {
    fn read(text: &str, range: Range<usize>) -> Self {
        let mut gap = Self {
            has_comma: false,
            comma_at: None,
            last_end: range.start,
            ends_in_line_comment: false,
        };
        let mut at = range.start;
        while at < range.end {
            let rest = &text.as_bytes()[at..range.end];
            let length = if rest.starts_with(b"//") {
                rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len())
            } else if rest.starts_with(b"/*") {
                let inner = rest[2..].windows(2).position(|pair| pair == b"*/");
                inner.map_or(rest.len(), |inner| inner + 4)
            } else if rest[0] == b',' {
                1
            } else {
                at += 1;
                continue;
            };
            if rest[0] == b',' {
                gap.has_comma = true;
                gap.comma_at.get_or_insert(at);
            }
            gap.ends_in_line_comment = rest.starts_with(b"//");
            at += length;
            gap.last_end = at;
        }
        gap
    }
}

/// The lines of an object's properties: as the first one shows, or one step further in than the
/// line on which the object opens.
fn own_line(text: &str, object: &Object<'_>, shown: Option<&str>) -> OwnLine {
    let outer = indent_of(text, object.start());
    let own = shown.and_then(|indent| indent.strip_prefix(outer)).filter(|step| !step.is_empty());
    let step = own.or_else(|| first_indent(text)).unwrap_or(INDENT);
    let indent = shown.map_or_else(|| format!("{outer}{step}"), str::to_owned);
    OwnLine { line_end: line_end_of(text), indent, step: step.to_owned() }
}

/// The first indentation in the file: it shows how its author indents.
fn first_indent(text: &str) -> Option<&str> {
    let mut indents = text.split(['\n', '\r']).map(|line| indent_of(line, line.len()));
    indents.find(|indent| !indent.is_empty())
}

/// The blanks before `at`, when its line holds nothing else before it.
fn own_indent(text: &str, at: usize) -> Option<&str> {
    let line = line_start(text, at);
    let before = &text[line..at];
    (line > 0 && before.trim_start_matches([' ', '\t']).is_empty()).then_some(before)
}

fn line_end_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The blanks at the start of the line that holds `at`.
fn indent_of(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1)
}
