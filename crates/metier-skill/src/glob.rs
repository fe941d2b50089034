//! Whether a glob of `paths` can be read at all. Pure.
//!
//! Matching is `metier-registry`'s, with `globset`; that crate and the regular expressions below it
//! are too much for the one question asked here. A test there holds that both always agree.

use std::iter::Peekable;
use std::str::Chars;

/// What is wrong with a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GlobFault {
    /// A `[` without its `]`.
    UnclosedClass,
    /// A range such as `[z-a]`.
    ReversedRange,
    /// A `{` without its `}`.
    UnclosedBrace,
    /// A `}` without its `{`.
    UnopenedBrace,
    /// A backslash at the end.
    DanglingEscape,
}

impl std::fmt::Display for GlobFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::UnclosedClass => "a `[` is not closed",
            Self::ReversedRange => "a range in brackets is reversed",
            Self::UnclosedBrace => "a `{` is not closed",
            Self::UnopenedBrace => "a `}` has no matching `{`",
            Self::DanglingEscape => "it ends in a backslash",
        })
    }
}

/// What is wrong with `glob`; `None` where it can be read.
pub fn glob_fault(glob: &str) -> Option<GlobFault> {
    let mut chars = glob.chars().peekable();
    let mut depth = 0usize;
    while let Some(ch) = chars.next() {
        match ch {
            '[' => {
                if let Some(fault) = class_fault(&mut chars) {
                    return Some(fault);
                }
            }
            '{' => depth += 1,
            '}' if depth == 0 => return Some(GlobFault::UnopenedBrace),
            '}' => depth -= 1,
            // On Windows a backslash is a separator there, not an escape.
            '\\' if !cfg!(windows) && chars.next().is_none() => {
                return Some(GlobFault::DanglingEscape);
            }
            _ => {}
        }
    }
    (depth > 0).then_some(GlobFault::UnclosedBrace)
}

/// Reads a class after its `[`. In it nothing is escaped, and a `]` or `-` that comes first means
/// itself.
fn class_fault(chars: &mut Peekable<Chars<'_>>) -> Option<GlobFault> {
    chars.next_if(|ch| matches!(ch, '!' | '^'));
    let mut last: Option<char> = None;
    let mut in_range = false;
    loop {
        let Some(ch) = chars.next() else { return Some(GlobFault::UnclosedClass) };
        match (ch, last) {
            (']', Some(_)) => return None,
            ('-', Some(_)) if !in_range => in_range = true,
            (_, Some(start)) if in_range => {
                if ch < start {
                    return Some(GlobFault::ReversedRange);
                }
                in_range = false;
            }
            _ => last = Some(ch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_judged_with_what_is_wrong_with_it() {
        for glob in ["*.csv", "**/*.{ts,tsx}", "[]]", "[!]]", "[a-]", "[-a]", "a{b,{c,d}}", "***"] {
            assert_eq!(glob_fault(glob), None, "{glob}");
        }
        for (glob, fault) in [
            ("[abc", GlobFault::UnclosedClass),
            ("[]", GlobFault::UnclosedClass),
            ("[z-a]", GlobFault::ReversedRange),
            ("[b-c-a]", GlobFault::ReversedRange),
            ("a{b", GlobFault::UnclosedBrace),
            ("a}b", GlobFault::UnopenedBrace),
        ] {
            assert_eq!(glob_fault(glob), Some(fault), "{glob}");
        }
    }
}
