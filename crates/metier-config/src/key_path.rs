//! How a place in a configuration is written: `security.follow_symlinks`, `permissions[2].effect`,
//! `skills."a.b".enabled`.

use metier_skill::text::{clip, escape_line};

/// One step from an object or a list to what it holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Segment<'t> {
    /// A key of an object.
    Key(&'t str),
    /// An element of a list, from 0.
    Index(usize),
}

/// Characters of one key that an error carries.
const MAX_KEY: usize = 60;
/// Characters of a path that an error carries.
const MAX_PATH: usize = 200;

/// The path as text. Keys that would be ambiguous are quoted; control and bidi characters are
/// escaped, since paths end on terminals.
pub(crate) fn render(path: &[Segment<'_>]) -> String {
    let mut text = String::new();
    for segment in path {
        push(&mut text, *segment);
    }
    text
}

/// The path for an error. Long keys are cut before any work is done on them: an attacker's key may
/// be half a megabyte long and hold thousands of problems.
pub(crate) fn render_short(path: &[Segment<'_>]) -> String {
    let mut text = String::new();
    for segment in path {
        match *segment {
            Segment::Key(key) => push(&mut text, Segment::Key(&clip(key, MAX_KEY))),
            Segment::Index(_) => push(&mut text, *segment),
        }
    }
    clip(&text, MAX_PATH).into_owned()
}

/// The keys of a path as a person types it, such as `render` writes it: `agents."a.b".budgets.turns`. A quote
/// that is not closed is a part of its key.
pub fn split_keys(path: &str) -> Vec<&str> {
    let (mut keys, mut rest) = (Vec::new(), path);
    loop {
        let quoted = rest.strip_prefix('"').and_then(|inner| inner.split_once('"'));
        let quoted = quoted.filter(|(_, behind)| behind.is_empty() || behind.starts_with('.'));
        let (key, behind) = match quoted {
            Some((key, behind)) => (key, behind.strip_prefix('.')),
            None => match rest.split_once('.') {
                Some((key, behind)) => (key, Some(behind)),
                None => (rest, None),
            },
        };
        keys.push(key);
        match behind {
            Some(behind) => rest = behind,
            None => return keys,
        }
    }
}

fn push(text: &mut String, segment: Segment<'_>) {
    match segment {
        Segment::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        Segment::Key(key) => {
            if !text.is_empty() {
                text.push('.');
            }
            if is_plain(key) {
                text.push_str(key);
            } else {
                text.extend(["\"", &escape_line(key), "\""]);
            }
        }
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | ':' | '@' | '/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_as_it_is_written() {
        for (path, expected) in [
            ("model", &["model"][..]),
            ("budgets.turns", &["budgets", "turns"]),
            ("agents.\"a.b\".budgets.turns", &["agents", "a.b", "budgets", "turns"]),
            ("skills.\"a.b\"", &["skills", "a.b"]),
            ("skills.\"a.b", &["skills", "\"a", "b"]),
            ("skills.\"a\"b", &["skills", "\"a\"b"]),
            ("", &[""]),
            ("a..b.", &["a", "", "b", ""]),
        ] {
            assert_eq!(split_keys(path), expected, "{path}");
        }
        for keys in [&["agents", "a.b", "model"][..], &["skills", "user:x"], &["skills", "a b"]] {
            let segments: Vec<Segment<'_>> = keys.iter().map(|key| Segment::Key(key)).collect();
            assert_eq!(split_keys(&render(&segments)), keys);
        }
    }
}
