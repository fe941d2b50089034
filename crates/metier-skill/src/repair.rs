//! Broken YAML that people write: `description: Use when: asked` and its relatives.
//!
//! Runs only when the whole frontmatter is not valid YAML. The text is cut into its top-level fields
//! and each is read alone. A one-line `name` or `description` that fails is re-quoted and reported
//! with the edit that fixes it. Nothing else is ever repaired: another field that fails is kept as
//! plain text, and one that limits what the skill may do keeps the skill out, because a guess
//! there could grant more than its author intended.

use std::borrow::Cow;
use std::ops::Range;

use crate::codes::Code;
use crate::plain;
use crate::unindented;
use crate::yaml::{self, Node, NodeKind, Style, YamlError};

/// What the repair did or found, with spans in the YAML text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) code: Code,
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    /// Replaces `span` when the fix is safe.
    pub(crate) replacement: Option<String>,
}

/// The fields that could be read, and a finding for each one that could not.
pub(crate) struct Recovered<'a> {
    pub(crate) entries: Vec<(Node<'a>, Node<'a>)>,
    pub(crate) findings: Vec<Finding>,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Fields that limit what a skill may do or who may start it.
pub(crate) const CONTROLS: &[&str] = &[
    "allowed-tools",
    "disable-model-invocation",
    "user-invocable",
    "run-mode",
    "context",
    "paths",
];

/// Reads `text` field by field after the full parser failed with `error`; gives the error back when
/// the text cannot be cut into fields.
pub(crate) fn recover(text: &str, error: YamlError) -> Result<Recovered<'_>, YamlError> {
    if !matches!(
        error.code,
        Code::YamlSyntax | Code::YamlAlias | Code::YamlTag | Code::FrontmatterNotMapping
    ) {
        return Err(error);
    }
    if text.lines().any(|line| line.starts_with("...") || line.starts_with('%')) {
        return Err(error);
    }
    let Some(fields) = cut(text) else { return Err(error) };
    let mut out = Recovered { entries: Vec::new(), findings: Vec::new() };
    for field in &fields {
        let block = &text[field.block.clone()];
        let key = unquoted(&text[field.key.clone()]);
        if out.entries.iter().any(|(known, _)| known.key_text() == key) {
            let message = format!("the key `{key}` appears twice");
            return Err(YamlError {
                code: Code::YamlDuplicateKey,
                span: field.key.clone(),
                message,
            });
        }
        let by = field.block.start;
        match read_alone(block) {
            Ok((parsed, value, findings)) if parsed.key_text() == key => {
                out.entries.push((shift(parsed, by), shift(value, by)));
                out.findings.extend(
                    findings
                        .into_iter()
                        .map(|finding| Finding { span: shifted(&finding.span, by), ..finding }),
                );
            }
            // A key that reads differently alone (an escape in it) must not be guessed.
            Ok(_) => return Err(error),
            Err(failure) => {
                let failure = YamlError { span: shifted(&failure.span, by), ..failure };
                fix_value(text, field, key, failure, &mut out)?;
            }
        }
    }
    Ok(out)
}

/// Reads valid YAML, and YAML whose only fault are quoted values that continue at column 1.
pub(crate) fn read_tree(text: &str) -> Result<(Node<'_>, Vec<Finding>), YamlError> {
    if let Some(node) = plain::parse(text) {
        return Ok((node, Vec::new()));
    }
    match yaml::parse(text) {
        Ok(node) => Ok((node, Vec::new())),
        Err(error) if error.code == Code::YamlQuoteUnindented => {
            let read = unindented::read(text, error)?;
            Ok((read.node, read.findings))
        }
        Err(error) => Err(error),
    }
}

/// A key without the quotes around it.
fn unquoted(key: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = key.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    key
}

/// A top-level field: its key, the rest of the key's line, and all its lines.
struct Field {
    key: Range<usize>,
    value: Range<usize>,
    block: Range<usize>,
}

impl Field {
    fn is_one_line(&self, text: &str) -> bool {
        let after = &text[self.value.end..self.block.end];
        after.lines().skip(1).all(|line| line.trim().is_empty() || line.starts_with('#'))
    }
}

/// Cuts the text at lines that start with a key. `None` when there is text before the first key.
fn cut(text: &str) -> Option<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        if let Some(key_len) = top_level_key(bare) {
            let key = trim_range(text, at..at + key_len);
            let value = trim_range(text, at + key_len + 1..at + bare.len());
            fields.push(Field { key, value, block: at..at + line.len() });
        } else if let Some(last) = fields.last_mut() {
            last.block.end = at + line.len();
        } else if !(bare.is_empty() || bare.starts_with('#')) {
            return None;
        }
        at += line.len();
    }
    (!fields.is_empty()).then_some(fields)
}

/// The length of the key that starts this line, its colon excluded. Quoted keys count too.
pub(crate) fn top_level_key(line: &str) -> Option<usize> {
    let colon = line.find(':')?;
    let key = line[..colon].trim_end();
    let after = line[colon + 1..].chars().next();
    let spaced = after.is_none_or(char::is_whitespace);
    let bare = key.trim_matches(['"', '\'']);
    let word = bare.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_')
        && bare.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (spaced && word && key.len() - bare.len() <= 2).then_some(colon)
}

fn trim_range(text: &str, range: Range<usize>) -> Range<usize> {
    let piece = &text[range.clone()];
    let start = range.start + piece.len() - piece.trim_start().len();
    start..start + piece.trim().len()
}

/// The key and the value of a field, and a finding for each line that lacks its indentation.
fn read_alone(block: &str) -> Result<(Node<'_>, Node<'_>, Vec<Finding>), YamlError> {
    let (node, findings) = read_tree(block)?;
    let whole = 0..block.len();
    match node.kind {
        NodeKind::Map(mut entries) if entries.len() == 1 => {
            let (key, value) = entries.remove(0);
            Ok((key, value, findings))
        }
        _ => Err(YamlError {
            code: Code::YamlSyntax,
            span: whole,
            message: "more than one key on this line".to_owned(),
        }),
    }
}

fn fix_value<'a>(
    text: &'a str,
    field: &Field,
    key: &'a str,
    failure: YamlError,
    out: &mut Recovered<'a>,
) -> Result<(), YamlError> {
    let key_node = scalar(Cow::Borrowed(key), field.key.clone());
    let value = &text[field.value.clone()];
    if matches!(key, "name" | "description") {
        if !field.is_one_line(text) || value.is_empty() || runs_on(text, field) {
            return Err(failure);
        }
        let (code, meant) = diagnose(value);
        let quoted = double_quoted(&meant);
        out.findings.push(Finding {
            code,
            span: field.value.clone(),
            message: format!("read as {}", crate::text::quoted(&format!("{key}: {quoted}"), 200)),
            replacement: Some(quoted),
        });
        let meant = Cow::Owned(meant.into_owned());
        out.entries.push((key_node, scalar(meant, field.value.clone())));
        return Ok(());
    }
    if CONTROLS.contains(&key) {
        let message = format!("`{key}` cannot be read: {}", failure.message);
        return Err(YamlError {
            code: Code::ControlUnreadable,
            span: field.value.clone(),
            message,
        });
    }
    // What fails and continues over further lines may hide a field that limits the skill; an alias, a
    // tag, a depth or a count is an attack wherever it appears.
    let harmless = field.is_one_line(text)
        && !runs_on(text, field)
        && matches!(failure.code, Code::YamlSyntax | Code::FrontmatterNotMapping)
        && !CONTROLS.iter().any(|control| value.contains(control));
    if !harmless {
        return Err(failure);
    }
    out.findings.push(Finding {
        code: Code::FieldUnreadable,
        span: field.value.clone(),
        message: format!("`{key}` is not valid YAML and was kept as text: {}", failure.message),
        replacement: None,
    });
    out.entries.push((key_node, scalar(Cow::Borrowed(value), field.value.clone())));
    Ok(())
}

/// Whether the value may continue below its line to a YAML parser: a quote that is closed further down,
/// or a bracket that is not closed on the line. Then lines below that look like fields may be text.
fn runs_on(text: &str, field: &Field) -> bool {
    let value = &text[field.value.clone()];
    let below = &text[field.value.end..];
    for quote in ['"', '\''] {
        if value.strip_prefix(quote).is_some_and(|rest| !rest.contains(quote)) {
            return below.contains(quote);
        }
    }
    let count = |wanted: [char; 2]| value.matches(wanted).count();
    value.starts_with(['[', '{']) && count(['[', '{']) > count([']', '}'])
}

/// What is wrong with a one-line value, and the text its author meant.
fn diagnose(value: &str) -> (Code, Cow<'_, str>) {
    if let Some(inner) = typographic(value) {
        return (Code::YamlSmartQuotes, Cow::Borrowed(inner));
    }
    for quote in ['"', '\''] {
        let Some(rest) = value.strip_prefix(quote) else {
            continue;
        };
        let inner = rest.strip_suffix(quote);
        return match inner {
            // An escaped closing quote closes nothing.
            Some(inner) if quote == '"' && !ends_escaped(inner) => {
                if has_bare_quote(inner) {
                    // `"Foo" and "Bar"`: the quotes are the author's words.
                    (Code::YamlTextAfterQuote, Cow::Borrowed(value))
                } else if inner.contains('\\') {
                    (
                        Code::YamlBadEscape,
                        Cow::Owned(inner.replace("\\\"", "\"").replace("\\\\", "\\")),
                    )
                } else {
                    (Code::YamlTextAfterQuote, Cow::Borrowed(inner))
                }
            }
            Some(inner) if quote == '\'' => {
                (Code::YamlTextAfterQuote, Cow::Owned(inner.replace("''", "'")))
            }
            _ if quote == '"' && rest.contains('"') && !has_bare_quote(rest) => {
                (Code::YamlUnclosedQuote, Cow::Owned(rest.replace("\\\"", "\"")))
            }
            _ if rest.contains(quote) => (Code::YamlTextAfterQuote, Cow::Borrowed(value)),
            _ => (Code::YamlUnclosedQuote, Cow::Borrowed(rest)),
        };
    }
    if value.starts_with(['|', '>']) {
        let text = value[1..].trim_start_matches(['-', '+']).trim_start();
        return (Code::YamlTextAfterBlock, Cow::Borrowed(text));
    }
    let starts_special =
        value.starts_with(['@', '`', '%', '*', '&', '!', '[', '{', ']', '}', ',', '-', '?', '#']);
    let code = if starts_special {
        Code::YamlSpecialStart
    } else if value.contains(": ") || value.contains(":\t") || value.ends_with(':') {
        Code::YamlUnquotedColon
    } else if value.contains(BYTE_ORDER_MARK) {
        return (Code::YamlByteOrderMark, Cow::Owned(value.replace(BYTE_ORDER_MARK, "")));
    } else {
        // The only other one-line fault is a tab before or inside the value.
        Code::YamlTab
    };
    (code, Cow::Borrowed(value))
}

/// The text between typographic quotes that enclose the whole value.
pub(crate) fn typographic(value: &str) -> Option<&str> {
    const OPEN: [char; 4] = ['“', '”', '„', '‘'];
    const CLOSE: [char; 3] = ['”', '“', '’'];
    let inner = value.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    (!inner.contains(OPEN) && !inner.contains(['”', '“'])).then_some(inner)
}

/// A double quote with no backslash before it.
fn has_bare_quote(text: &str) -> bool {
    text.match_indices('"').any(|(at, _)| !ends_escaped(&text[..at]))
}

fn ends_escaped(text: &str) -> bool {
    text.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1
}

/// `text` as a double-quoted YAML scalar on one line, whatever it holds.
pub fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    out.push('"');
    for ch in text.chars() {
        match ch {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // What a line of YAML cannot hold as it is, or a person could not see in it.
            _ if ch.is_control() || matches!(ch, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(ch)));
            }
            _ => out.push(ch),
        }
    }
    out.push('"');
    out
}

fn scalar(text: Cow<'_, str>, span: Range<usize>) -> Node<'_> {
    Node { kind: NodeKind::Scalar { text, style: Style::Quoted }, span }
}

fn shifted(span: &Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}

fn shift(node: Node<'_>, by: usize) -> Node<'_> {
    let kind = match node.kind {
        NodeKind::List(items) => {
            NodeKind::List(items.into_iter().map(|item| shift(item, by)).collect())
        }
        NodeKind::Map(entries) => {
            NodeKind::Map(entries.into_iter().map(|(k, v)| (shift(k, by), shift(v, by))).collect())
        }
        scalar @ NodeKind::Scalar { .. } => scalar,
    };
    Node { kind, span: shifted(&node.span, by) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixed(value: &str) -> (Code, String) {
        let text = format!("name: a\ndescription: {value}\n");
        let error = read_tree(&text).expect_err("broken");
        let recovered = recover(&text, error).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let (_, node) =
            recovered.entries.iter().find(|(k, _)| k.key_text() == "description").expect("kept");
        assert_eq!(recovered.findings.len(), 1, "{:?}", recovered.findings);
        (recovered.findings[0].code, node.text().expect("text").to_owned())
    }

    #[test]
    fn the_faults_that_everybody_writes() {
        for (value, code, meant) in [
            ("Use when: asked", Code::YamlUnquotedColon, "Use when: asked"),
            ("Use when:", Code::YamlUnquotedColon, "Use when:"),
            ("*bold* text", Code::YamlSpecialStart, "*bold* text"),
            ("@mention", Code::YamlSpecialStart, "@mention"),
            ("[Critical] text", Code::YamlSpecialStart, "[Critical] text"),
            ("`code` first", Code::YamlSpecialStart, "`code` first"),
            ("| inline text", Code::YamlTextAfterBlock, "inline text"),
            ("> inline text", Code::YamlTextAfterBlock, "inline text"),
            ("\"quoted\" then text", Code::YamlTextAfterQuote, "\"quoted\" then text"),
            ("\"open", Code::YamlUnclosedQuote, "open"),
            ("'it's fine'", Code::YamlTextAfterQuote, "it's fine"),
            ("\"Foo\" and \"Bar\"", Code::YamlTextAfterQuote, "\"Foo\" and \"Bar\""),
            ("\"x \\\" y: z", Code::YamlUnclosedQuote, "x \" y: z"),
            ("\"C:\\dir\"", Code::YamlBadEscape, "C:\\dir"),
            ("“Use when: asked”", Code::YamlSmartQuotes, "Use when: asked"),
            ("\u{feff}Two words", Code::YamlByteOrderMark, "Two words"),
        ] {
            assert_eq!(fixed(value), (code, meant.to_owned()), "{value}");
        }
    }

    #[test]
    fn no_broken_text_loses_or_plants_a_control() {
        for text in [
            "name: a\ndescription: fine\n\"allowed-tools\": [Read\n",
            "name: a\ndescription: fine\n'allowed-tools': {Read\n",
            "name: a\ndescription: fine\n\"disable-model-invocation\": \"true\n",
            "name: a\ndescription: Use when: x\nallowed-tools: Read\n\"allowed-tools\": Bash\n",
            "name: a\ndescription: Use when: x\nlicense: MIT\n? disable-model-invocation\n: true\n",
            "name: a\ndescription: Use when: x\nlicense: MIT\n\"disable\\x2dmodel-invocation\": true\n",
            "name: a\ndescription: b\nlicense: MIT\n disable-model-invocation: true\n",
            "name: a\ndescription: b\nlicense: MIT\n{disable-model-invocation: true}\n",
            "name: a: b\ndescription: \"foo\nallowed-tools: Bash\nbar: \"\n",
            "name: a: b\ndescription: 'foo\nallowed-tools: Bash\nbar: '\n",
            "name: a: b\ndescription: c\nmetadata: {\nallowed-tools: Bash\n}\n",
            "name: a\ndescription: Use when: x\nlicense: MIT\n...\nallowed-tools: Bash\n",
            "name: a\ndescription: Use when: x\nlicense: [allowed-tools] Read\n",
        ] {
            let error = read_tree(text).expect_err("broken");
            assert!(recover(text, error).is_err(), "{text:?} was repaired");
        }
    }

    #[test]
    fn a_field_that_grants_is_never_repaired() {
        let text = "name: a\ndescription: b\nallowed-tools: [Read\n";
        let refused = recover(text, read_tree(text).expect_err("broken")).err();
        assert_eq!(refused.map(|error| error.code), Some(Code::ControlUnreadable));
    }

    #[test]
    fn another_broken_field_is_kept_as_text() {
        let text = "name: a\nargument-hint: [date] [time]\ndescription: b\n";
        let recovered =
            recover(text, read_tree(text).expect_err("broken")).unwrap_or_else(|_| panic!());
        assert_eq!(recovered.findings[0].code, Code::FieldUnreadable);
        assert_eq!(recovered.entries[1].1.text(), Some("[date] [time]"));
    }

    #[test]
    fn the_original_error_stands_when_there_is_nothing_to_save() {
        let error = YamlError { code: Code::YamlSyntax, span: 0..0, message: "original".into() };
        assert_eq!(recover("- a\n- : b\n", error.clone()).err(), Some(error));
    }

    proptest! {
        /// The replacement is valid YAML and says what the repair says.
        #[test]
        fn a_fixed_value_reads_as_what_was_reported(value in "[a-z:#\"'\\\\\\[\\]{}*&!|>%@`,?é技“” -]{1,30}") {
            let text = format!("name: x\ndescription: {value}\n");
            let Err(error) = read_tree(&text) else { return Ok(()) };
            let Ok(recovered) = recover(&text, error) else { return Ok(()) };
            for finding in recovered.findings {
                let Some(new) = finding.replacement else { continue };
                let fixed = format!("{}{new}{}", &text[..finding.span.start], &text[finding.span.end..]);
                let again = yaml::parse(&fixed);
                prop_assert!(again.is_ok(), "{:?} -> {:?}: {:?}", text, fixed, again);
                let again = again.ok();
                let read = again.as_ref().and_then(|node| node.entries()).map(|entries| entries[1].1.key_text());
                prop_assert_eq!(read, Some(recovered.entries[1].1.key_text()));
            }
        }
    }
}
