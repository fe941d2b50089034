//! Quoted values that continue at column 1, as the common YAML parsers of Python and C read them.
//!
//! The letter of YAML asks for at least one blank before each further line of a quoted value; the
//! parsers that most authors try their skills with do not, so real skills are written that way. The
//! missing blank is put in, line by line as the parser stumbles, and the tree is moved back to the
//! places of the text as it was written. Leading blanks of such a line never belong to the value, so
//! nothing that is read changes. Called only after the full parser failed.

use std::borrow::Cow;
use std::ops::Range;

use crate::codes::Code;
use crate::repair::{CONTROLS, Finding, top_level_key};
use crate::yaml::{self, Node, NodeKind, YamlError};

/// What was read, and one finding for each value that continues at column 1.
pub(crate) struct Unindented {
    pub(crate) node: Node<'static>,
    pub(crate) findings: Vec<Finding>,
}

/// Reads `text`, whose first fault is `error`; gives the first fault of another kind back.
///
/// A line that would be a field which limits the skill, were the quote closed above it, is not taken
/// for text: a reader who skims the file would see a limit that is not there.
pub(crate) fn read(text: &str, error: YamlError) -> Result<Unindented, YamlError> {
    let mut fault = error;
    let mut starts: Vec<usize> = Vec::new();
    let mut indented = text.to_owned();
    let node = loop {
        let at = original(fault.span.start, &starts);
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let control = top_level_key(line).is_some_and(|length| CONTROLS.contains(&&line[..length]));
        if fault.code != Code::YamlQuoteUnindented || control || starts.contains(&start) {
            let code = match fault.code {
                Code::YamlQuoteUnindented => Code::YamlSyntax,
                code => code,
            };
            return Err(YamlError { code, span: at..at, ..fault });
        }
        indented.insert(start + starts.len(), ' ');
        starts.push(start);
        match yaml::parse(&indented) {
            Ok(node) => break moved_back(node, &starts),
            Err(next) => fault = next,
        }
    };
    let findings = findings(text, &node, &starts);
    Ok(Unindented { node, findings })
}

/// A place of the indented text in the text as written. A line's blank stands at its start.
fn original(at: usize, starts: &[usize]) -> usize {
    let before = starts.iter().enumerate().take_while(|(count, start)| **start + count < at);
    at - before.count()
}

fn moved_back(node: Node<'_>, starts: &[usize]) -> Node<'static> {
    let kind = match node.kind {
        NodeKind::Scalar { text, style } => {
            NodeKind::Scalar { text: Cow::Owned(text.into_owned()), style }
        }
        NodeKind::List(items) => {
            NodeKind::List(items.into_iter().map(|item| moved_back(item, starts)).collect())
        }
        NodeKind::Map(entries) => NodeKind::Map(
            entries
                .into_iter()
                .map(|(key, value)| (moved_back(key, starts), moved_back(value, starts)))
                .collect(),
        ),
    };
    Node { kind, span: original(node.span.start, starts)..original(node.span.end, starts) }
}

/// One finding for each value, with the edit that indents its lines.
fn findings(text: &str, node: &Node<'_>, starts: &[usize]) -> Vec<Finding> {
    let mut values = Vec::new();
    quoted_over_lines(node, &mut values);
    let finding = |value: Range<usize>| {
        let inside: Vec<usize> =
            starts.iter().copied().filter(|start| value.contains(start)).collect();
        let (first, last) = (*inside.first()?, *inside.last()?);
        let mut replacement = String::from("  ");
        for pair in inside.windows(2) {
            replacement.push_str(&text[pair[0]..pair[1]]);
            replacement.push_str("  ");
        }
        Some(Finding {
            code: Code::YamlQuoteUnindented,
            span: first..last,
            message: "this line continues a quoted value without indentation".to_owned(),
            replacement: Some(replacement),
        })
    };
    values.into_iter().filter_map(finding).collect()
}

fn quoted_over_lines(node: &Node<'_>, out: &mut Vec<Range<usize>>) {
    match &node.kind {
        NodeKind::Scalar { .. } => out.push(node.span.clone()),
        NodeKind::List(items) => items.iter().for_each(|item| quoted_over_lines(item, out)),
        NodeKind::Map(entries) => entries.iter().for_each(|(key, value)| {
            quoted_over_lines(key, out);
            quoted_over_lines(value, out);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_text(text: &str) -> Result<Unindented, YamlError> {
        read(text, yaml::parse(text).expect_err("a fault"))
    }

    #[test]
    fn a_quoted_value_may_continue_at_column_1() {
        let text = "name: a\ndescription: \"One\ntwo\n\nthree: four\"\nlicense: 'x\ny'\n";
        let read = read_text(text).unwrap_or_else(|error| panic!("{error:?}"));
        let entries = read.node.entries().expect("a map");
        assert_eq!(entries[1].1.text(), Some("One two\nthree: four"));
        assert_eq!(&text[entries[1].1.span.clone()], "\"One\ntwo\n\nthree: four\"");
        assert_eq!(&text[entries[2].0.span.clone()], "license");
        assert_eq!(entries[2].1.text(), Some("x y"));
        assert_eq!(read.findings.len(), 2);
    }

    #[test]
    fn a_line_that_looks_like_a_limit_is_not_taken_for_text() {
        for text in [
            "name: a\ndescription: \"foo\nallowed-tools: Bash\nbar\"\n",
            "name: a\ndescription: 'foo\nx\ndisable-model-invocation: true\nbar'\n",
        ] {
            let code = read_text(text).err().map(|error| error.code);
            assert_eq!(code, Some(Code::YamlSyntax), "{text:?}");
        }
    }

    #[test]
    fn another_fault_is_given_back_at_its_own_place() {
        let text = "name: a\ndescription: \"foo\nbar\"\nlicense: [MIT\n";
        let error = read_text(text).err().expect("a fault");
        assert_eq!(error.code, Code::YamlSyntax);
        assert!(error.span.start <= text.len());
    }

    proptest! {
        /// The text is read as it would be with the lines indented, and the edit does just that.
        #[test]
        fn the_value_is_that_of_the_indented_text(
            lines in prop::collection::vec("[a-z:,#é技 -]{0,12}", 1..6),
            single in any::<bool>(),
        ) {
            let quote = if single { '\'' } else { '"' };
            let value = |indent: &str| lines.join(&format!("\n{indent}"));
            let text = format!("name: a\ndescription: {quote}x {}{quote}\nlicense: MIT\n", value(""));
            let Err(error) = yaml::parse(&text) else { return Ok(()) };
            let Ok(read) = read(&text, error) else { return Ok(()) };
            let indented = format!("name: a\ndescription: {quote}x {}{quote}\nlicense: MIT\n", value("  "));
            let expected = yaml::parse(&indented).expect("valid");
            let texts = |node: &Node<'_>| -> Vec<String> {
                let entries = node.entries().unwrap_or_default();
                entries.iter().map(|(_, value)| value.key_text().to_owned()).collect()
            };
            prop_assert_eq!(texts(&read.node), texts(&expected));
            let finding = &read.findings[0];
            let mut fixed = text.clone();
            fixed.replace_range(finding.span.clone(), finding.replacement.as_deref().unwrap_or(""));
            let fixed = yaml::parse(&fixed);
            prop_assert!(fixed.is_ok(), "{:?}", fixed);
            prop_assert_eq!(texts(&fixed.expect("valid")), texts(&expected));
        }
    }
}
