//! From text to a tree: JSON with `//` and `/* */` comments and trailing commas, nothing looser.
//!
//! A cheap scan comes before the parser. It bounds the size and the nesting (the parser and the
//! checker recurse), and it finds an unclosed string on the line where it starts: the parser would
//! read on to the next quote and complain about something innocent further down.

use jsonc_parser::ast::Value as Node;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};

use crate::error::ConfigErrorKind;

/// The longest configuration file that is read, in bytes.
pub const MAX_CONFIG_BYTES: usize = 1024 * 1024;
/// How deep objects and lists may be nested.
pub const MAX_NESTING: usize = 64;

/// A problem at a byte offset, before it has a line and a file.
#[derive(Debug)]
pub(crate) struct SyntaxProblem {
    pub(crate) offset: usize,
    pub(crate) kind: ConfigErrorKind,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl SyntaxProblem {
    fn new(offset: usize, message: &str, help: &str) -> Self {
        let (message, help) = (message.to_owned(), help.to_owned());
        Self { offset, kind: ConfigErrorKind::Syntax, message, help }
    }

    fn too_large(offset: usize, message: String, help: &str) -> Self {
        Self { offset, kind: ConfigErrorKind::TooLarge, message, help: help.to_owned() }
    }
}

/// The tree of a text, or the first thing that keeps it from being one.
pub(crate) fn parse_tree(text: &str) -> Result<Node<'_>, SyntaxProblem> {
    if text.len() > MAX_CONFIG_BYTES {
        let message = format!(
            "the configuration is {} bytes long; the limit is {MAX_CONFIG_BYTES}",
            text.len()
        );
        let help = "remove what does not belong in a configuration";
        return Err(SyntaxProblem::too_large(0, message, help));
    }
    scan(text.as_bytes())?;
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
    match parse_to_ast(text, &CollectOptions::default(), &options) {
        Ok(result) => result.value.ok_or_else(|| {
            // Not the same as `{}`: a file cut to nothing must not switch the user's rules off.
            let help = "write `{}` for a configuration that sets nothing, or delete the file";
            SyntaxProblem::new(0, "the configuration is empty", help)
        }),
        Err(error) => Err(described(&error)),
    }
}

/// Checks nesting, strings and block comments without recursion.
fn scan(bytes: &[u8]) -> Result<(), SyntaxProblem> {
    let mut depth = 0_usize;
    let mut i = 0;
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'"' => i = string_end(bytes, i)?,
            b'\'' => {
                let message = "a string is in single quotes";
                return Err(SyntaxProblem::new(i, message, "use double quotes"));
            }
            b'/' if bytes.get(i + 1) == Some(&b'/') => {
                let rest = bytes[i..].iter().position(|b| matches!(b, b'\n' | b'\r'));
                i += rest.unwrap_or(bytes.len() - i);
                continue;
            }
            b'/' if bytes.get(i + 1) == Some(&b'*') => {
                let Some(length) = bytes[i + 2..].windows(2).position(|pair| pair == b"*/") else {
                    let message = "this comment is never closed";
                    return Err(SyntaxProblem::new(i, message, "close it with `*/`"));
                };
                i += length + 3;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_NESTING {
                    let message = format!("nested more than {MAX_NESTING} levels deep");
                    let help = "check for unclosed brackets; no setting needs that many levels";
                    return Err(SyntaxProblem::too_large(i, message, help));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        i += 1;
    }
    Ok(())
}

/// The position of the closing quote of the string that opens at `start`.
fn string_end(bytes: &[u8], start: usize) -> Result<usize, SyntaxProblem> {
    let unclosed = || {
        let message = "this string is not closed on its line";
        SyntaxProblem::new(start, message, "close it with `\"`; write a line break in it as `\\n`")
    };
    let mut i = start + 1;
    loop {
        match bytes.get(i) {
            None | Some(b'\n' | b'\r') => return Err(unclosed()),
            Some(b'"') => return Ok(i),
            Some(b'\\') if !matches!(bytes.get(i + 1), Some(b'\n' | b'\r')) => i += 2,
            Some(&byte) if byte < b' ' && byte != b'\t' => {
                let message = "a string contains a control character";
                let help = format!("write it as `\\u{byte:04x}`, or remove it");
                return Err(SyntaxProblem::new(i, message, &help));
            }
            Some(_) => i += 1,
        }
    }
}

/// The parser's error in words about the user's file.
fn described(error: &ParseError) -> SyntaxProblem {
    let (message, help) = match error.kind() {
        ParseErrorKind::ExpectedComma => ("missing comma", "add `,`"),
        ParseErrorKind::ExpectedColonAfterObjectKey => {
            ("missing `:` after a key", "write `\"key\": value`")
        }
        ParseErrorKind::ExpectedObjectValue => {
            ("missing value after a key", "write a value after the `:`, or remove the key")
        }
        ParseErrorKind::ExpectedStringObjectProperty => {
            ("a key is not quoted", "put it in double quotes")
        }
        ParseErrorKind::MultipleRootJsonValues => (
            "unexpected text after the end of the configuration",
            "remove it; check for a bracket that closes too early",
        ),
        ParseErrorKind::UnterminatedObject => ("this `{` is never closed", "add the missing `}`"),
        ParseErrorKind::UnterminatedArray => ("this `[` is never closed", "add the missing `]`"),
        ParseErrorKind::UnexpectedCloseBrace => {
            ("expected a value, found `}`", "remove it, or write the value")
        }
        ParseErrorKind::UnexpectedCloseBracket => {
            ("expected a value, found `]`", "remove it, or write the value")
        }
        ParseErrorKind::UnexpectedComma => {
            ("expected a value, found `,`", "remove it, or write the value")
        }
        ParseErrorKind::UnexpectedWord => {
            ("unquoted word", "put it in double quotes; only `true`, `false` and `null` go without")
        }
        ParseErrorKind::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
            ("this string is not closed", "close it with `\"`")
        }
        ParseErrorKind::String(_) => (
            "invalid escape in a string",
            "write a backslash as `\\\\`; the escapes are \\n \\t \\r \\b \\f \\/ \\\" \\\\ and \\u0000",
        ),
        ParseErrorKind::ExpectedDigit
        | ParseErrorKind::ExpectedDigitFollowingNegativeSign
        | ParseErrorKind::ExpectedPlusMinusOrDigitInNumberLiteral
        | ParseErrorKind::HexadecimalNumbersNotAllowed
        | ParseErrorKind::UnaryPlusNumbersNotAllowed
        | ParseErrorKind::BareDecimalPointNumbersNotAllowed
        | ParseErrorKind::NonFiniteNumbersNotAllowed => {
            ("invalid number", "write it in decimal, such as 12 or 0.5")
        }
        _ => (
            "this is not valid JSON",
            "check the quotes, commas and brackets around it; comments start with `//`",
        ),
    };
    SyntaxProblem::new(error.range().start, message, help)
}
