//! Plain English and the field's own words: names and phrases of a private language are reported.
//!
//! Names are looked for in Rust identifiers, part by part and in their own case (`NoHands` holds
//! `Hands`, `is_told` holds `told`); phrases are looked for in every line of Rust and Markdown.
//! Each place is an error.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::finding::{Finding, is_our_rust};

/// Parts of identifiers, case-sensitive, and what to write instead.
const NAMES: &[(&str, &str)] = &[
    ("Hands", "Executor"),
    ("Workshop", "LocalExecutor"),
    ("shop", "executor"),
    ("ground", "PolicyFacts"),
    ("Kept", "PolicyStore"),
    ("Shelf", "SkillContents"),
    ("Leave", "ScriptDecision, permission"),
    ("Judged", "Judgement"),
    ("Doing", "ActionContext"),
    ("Brief", "SetupBuilder"),
    ("Manner", "RequestStyle"),
    ("Gathered", "ReplyBuilder"),
    ("Said", "RawReply"),
    ("Things", "RequestEntities"),
    ("Unheard", "SilentObserver"),
    ("Nobody", "NoApprover"),
    ("apart", "run_on_thread"),
    ("tell", "describe, report, print"),
    ("LOOK", "POLL_INTERVAL"),
    ("MOST", "MAX_ENTRIES and the like"),
    ("PATIENCE", "CONNECT_TIMEOUT and the like"),
    ("LARGEST", "MAX_BYTES and the like"),
];

/// Whole words and phrases in any case, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("mending", "fixing"),
    ("is no provider", "unknown provider"),
    ("is no name", "not a valid name"),
    ("are no lines", "invalid line range"),
    ("go on with", "continue"),
    ("goes on with", "continues"),
    ("going on with", "continuing"),
    ("went on with", "continued"),
    ("speaks of", "mentions"),
    ("speak of", "mention"),
    ("told", "shown, given, reported"),
    ("takes leave of", "releases, reaps"),
    ("whoever", "name the person or program"),
    ("somebody", "name the person or program"),
    ("nobody", "no one, or name who"),
    ("counts instead", "is used instead"),
    ("what a skill brought", "a script from a skill"),
    ("a rule of yours", "an allow or ask rule"),
    ("you said no", "Not run."),
    ("somebody stopped it", "Cancelled."),
];

/// Where a word is right, by the start of the path, with the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("xtask/src/tidy/banned_words.rs", "", "the list itself"),
    ("crates/metier-sandbox/", "nobody", "the Unix account"),
    ("crates/metier-testkit/", "nobody", "the Unix account"),
    ("crates/metier-cli/tests/", "nobody", "the Unix account, and a skill that does not exist"),
    ("docs/sandbox.md", "nobody", "the Unix account"),
    ("crates/metier-registry/src/search/order", "", "words of requests"),
];

/// A banned word at a place.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    path: &'a str,
    line: usize,
    word: &'static str,
    instead: &'static str,
}

/// Reports the banned words in our Rust and Markdown files.
pub(crate) fn check(files: &[(String, String)]) -> Vec<Finding> {
    let places = files.iter().flat_map(|(path, text)| places(path, text));
    places.map(|place| finding(&place)).collect()
}

fn finding(place: &Place<'_>) -> Finding {
    let message = format!("`{}`: write {}", place.word, place.instead);
    Finding::new(place.path, place.line, message)
}

fn places<'a>(path: &'a str, text: &str) -> Vec<Place<'a>> {
    let is_rust = is_our_rust(path);
    let is_markdown = Path::new(path).extension().is_some_and(|suffix| suffix == "md");
    if path.contains("/fixtures/") || !(is_rust || is_markdown) {
        return Vec::new();
    }
    let mut places = phrases(path, text);
    if is_rust && let Ok(tokens) = text.parse::<TokenStream>() {
        names(path, tokens, &mut places);
    }
    places.retain(|place| !is_exception(path, place.word));
    places
}

fn is_exception(path: &str, word: &str) -> bool {
    EXCEPTIONS
        .iter()
        .any(|(start, only, _)| path.starts_with(start) && (only.is_empty() || *only == word))
}

fn phrases<'a>(path: &'a str, text: &str) -> Vec<Place<'a>> {
    let is_word = |c: char| c.is_alphanumeric();
    let mut places = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.to_ascii_lowercase();
        for (word, instead) in PHRASES {
            let whole = line.match_indices(word).filter(|(at, _)| {
                !line[..*at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word)
            });
            places.extend(whole.map(|_| Place { path, line: at + 1, word, instead }));
        }
    }
    places
}

fn names<'a>(path: &'a str, tokens: TokenStream, places: &mut Vec<Place<'a>>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => names(path, group.stream(), places),
            TokenTree::Ident(ident) => {
                let line = ident.span().start().line;
                for part in parts(&ident.to_string()) {
                    if let Some((word, instead)) = NAMES.iter().find(|(word, _)| *word == part) {
                        places.push(Place { path, line, word, instead });
                    }
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// The words of an identifier: `NoHands` is `No` and `Hands`, `is_told` is `is` and `told`.
fn parts(ident: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for word in ident.split('_') {
        let mut start = 0;
        let bytes = word.as_bytes();
        for at in 1..bytes.len() {
            if bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase() {
                parts.push(&word[start..at]);
                start = at;
            }
        }
        parts.push(&word[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        places(path, text).into_iter().map(|place| (place.word, place.line)).collect()
    }

    #[test]
    fn a_name_is_found_as_a_part_of_an_identifier_in_its_own_case() {
        let text = "struct NoHands;\nfn is_told() {}\nconst MOST_FILES: u8 = 1;\n";
        assert_eq!(found("crates/a/src/b.rs", text), [("told", 2), ("Hands", 1), ("MOST", 3)]);
    }

    #[test]
    fn the_same_letters_inside_a_word_or_in_prose_are_no_name() {
        let text = "// Kept for the caller, ground truth.\nlet background = \"shop\";\n";
        assert_eq!(found("crates/a/src/b.rs", text), []);
    }

    #[test]
    fn a_phrase_is_found_in_comments_strings_and_documents() {
        let text = "// Whoever reads this.\nlet a = \"`x` is no provider\";\n";
        assert_eq!(found("crates/a/src/b.rs", text), [("whoever", 1), ("is no provider", 2)]);
        assert_eq!(found("docs/a.md", "It mends nothing; recommended.\n"), [("mends", 1)]);
    }

    #[test]
    fn exceptions_and_foreign_files_pass() {
        assert_eq!(found("crates/metier-sandbox/tests/it/a.rs", "// as nobody\n"), []);
        assert_eq!(found("crates/a/tests/fixtures/SKILL.md", "nobody\n"), []);
        assert_eq!(found("docs/config.schema.json", "nobody\n"), []);
    }

    #[test]
    fn each_place_is_an_error_that_says_what_to_write() {
        let files = [("crates/a/src/b.rs".to_owned(), "// mend, mend; somebody\n".to_owned())];
        let found = check(&files);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].to_string(), "crates/a/src/b.rs:1: `mend`: write fix");
    }
}
