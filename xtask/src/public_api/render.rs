//! Tokens as one line of Rust, spaced as rustfmt would.
//!
//! It knows only what stands in signatures and types; it is no formatter for bodies.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// A piece of syntax as one line.
pub(super) fn tokens(syntax: &impl ToTokens) -> String {
    let mut words = Vec::new();
    flatten(syntax.to_token_stream(), &mut words);
    let mut line = String::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 && is_spaced(&words[at - 1], word) {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The tokens as words; punctuation of several characters and a lifetime are one word.
fn flatten(stream: TokenStream, words: &mut Vec<String>) {
    let mut joined = String::new();
    for token in stream {
        match token {
            TokenTree::Punct(punct) => {
                joined.push(punct.as_char());
                let continues = punct.spacing() == Spacing::Joint && is_operator_start(&joined);
                if !continues {
                    words.push(std::mem::take(&mut joined));
                }
            }
            TokenTree::Ident(ident) => {
                words.push(format!("{}{ident}", std::mem::take(&mut joined)));
            }
            TokenTree::Literal(literal) => words.push(literal.to_string()),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                words.push(open.to_owned());
                flatten(group.stream(), words);
                // A trailing comma is a matter of line breaks, which there are none of here.
                if words.last().is_some_and(|last| last == ",") && close == ")" {
                    words.pop();
                }
                words.push(close.to_owned());
            }
        }
    }
}

fn is_operator_start(text: &str) -> bool {
    matches!(text, ":" | "-" | "=" | "." | ".." | "'")
}

/// Whether a space stands between two neighbours.
fn is_spaced(left: &str, right: &str) -> bool {
    let tight_after = ["(", "[", "<", "&", "*", "::", "!", "#", ".", "?", ""];
    let tight_before = [")", "]", ">", ",", ";", ":", "::", "?", ".", ""];
    let keyword = ["mut", "dyn", "impl", "where", "as", "in", "const", "pub", "unsafe"];
    if tight_before.contains(&right) || tight_after.contains(&left) {
        return false;
    }
    let is_word =
        !left.starts_with('\'') && left.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    match right {
        "<" => !is_word && left != ">" || left == "+",
        "(" | "[" => !(is_word && !keyword.contains(&left) && left != "for" || left == ">"),
        "!" => !is_word,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        tokens(&text.parse::<TokenStream>().unwrap())
    }

    #[test]
    fn signatures_are_spaced_as_people_write_them() {
        for text in [
            "fn open(dir: &Path, limit: usize) -> Result<Self, Error>",
            "fn read<'a>(&'a self, with: &mut dyn FnMut(&str) -> bool) -> Option<&'a [u8]>",
            "impl Fn(u8) -> (u8, u8) + Send + 'static",
            "Box<dyn for<'a> Fn(&'a str) + Send>",
            "where T: Into<std::path::PathBuf>",
            "[&'static str; 4]",
            "fn(&A, (u8, u8)) -> Vec<Vec<u8>>",
            "<T as Tool>::Output",
        ] {
            let spread = text.parse::<TokenStream>().unwrap().to_string();
            assert_eq!(line(&spread), text);
        }
    }

    #[test]
    fn a_trailing_comma_goes() {
        assert_eq!(line("fn a(\n    x: u8,\n    y: u8,\n)"), "fn a(x: u8, y: u8)");
    }
}
