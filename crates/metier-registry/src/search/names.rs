//! Names as a whole: which documents a request calls by their exact name.
//!
//! A name counts as written, then with case, accents and separators folded, then by the last
//! part of a qualified name (`plugin:skill`). Kept beside the index because single words cannot
//! tell `pdf` from `pdf-tools`.

use super::fold::{is_ignored, narrow, push_folded};
use super::naming::{Naming, Prose};

/// A longer request is not a name.
const MAX_NAME: usize = 512;

/// How exactly a name was given; the later the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameMatch {
    /// Among other words, as `/name` or in prose (`use the name skill`).
    AsCommand,
    /// The request is the last part of a qualified name.
    ByLastPart,
    /// The request is the name, but for case or separators.
    ByFoldedName,
    /// The request is the name.
    ByName,
}

/// The names of all documents.
#[derive(Debug, Default)]
pub(super) struct Names {
    raw: Vec<Box<str>>,
    keys: Vec<Box<str>>,
}

impl Names {
    pub(super) fn push(&mut self, name: &str) {
        self.raw.push(name.trim().into());
        self.keys.push(key(name).into());
    }

    /// How the prose of a request mentions a document.
    pub(super) fn naming(&self, document: u32, prose: &Prose) -> Option<Naming> {
        prose.naming(self.keys.get(document as usize)?)
    }

    /// The documents that the request names, with how, in document order.
    pub(super) fn called(&self, request: &str, commands: &[String]) -> Vec<(u32, NameMatch)> {
        let exact = request.trim();
        let exact = if exact.len() <= MAX_NAME { exact } else { "" };
        let whole = exact.trim_matches(['"', '`', '\'']);
        let whole = whole.strip_prefix(['/', '$', '@']).unwrap_or(whole);
        let whole_key = key(whole);
        let commands: Vec<String> = commands.iter().take(8).map(|name| key(name)).collect();
        if exact.is_empty() && commands.is_empty() {
            return Vec::new();
        }
        let names = (0u32..).zip(self.raw.iter().zip(&self.keys));
        names
            .filter_map(|(at, (raw, key))| {
                let called = if !exact.is_empty() && (**raw == *exact || **raw == *whole) {
                    Some(NameMatch::ByName)
                } else if whole_key.is_empty() {
                    None
                } else if **key == *whole_key {
                    Some(NameMatch::ByFoldedName)
                } else {
                    is_last_part(raw, key, &whole_key).then_some(NameMatch::ByLastPart)
                };
                let called = called.or_else(|| {
                    let is_command =
                        |name: &String| **key == **name || is_last_part(raw, key, name);
                    commands.iter().any(is_command).then_some(NameMatch::AsCommand)
                })?;
                Some((at, called))
            })
            .collect()
    }
}

fn is_last_part(raw: &str, key: &str, wanted: &str) -> bool {
    !wanted.is_empty()
        && key.ends_with(wanted)
        && raw.rsplit([':', '/']).next().is_some_and(|part| self::key(part) == wanted)
}

/// A name with case, accents and separators folded away.
pub(super) fn key(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.chars().map(narrow).filter(|&c| !is_ignored(c)) {
        if c.is_ascii_alphanumeric() {
            folded.push(c.to_ascii_lowercase());
        } else if c.is_alphanumeric() {
            push_folded(c, &mut folded);
        } else if matches!(c, '+' | '#') {
            folded.push(c);
        } else if !folded.is_empty() && !folded.ends_with(' ') {
            folded.push(' ');
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}
