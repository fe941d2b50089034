//! A path to a file of a skill, checked as text: rejected, never repaired.
//!
//! This is the first of two layers. It refuses whatever means something else on some system (a
//! drive, a stream, a device, a look-alike of `/`) or to some reader (hidden characters, blanks at
//! an end), so that a path means the same to the person who approves it, to the model that asks for
//! it and to the kernel that opens it. The second layer, in `metier-fs`, opens it beneath the
//! skill's directory without following links.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::hidden::{cannot_hide, find_hidden};

/// Bytes of a whole path.
const MAX_PATH_BYTES: usize = 4096;
/// Bytes of one name in it.
const MAX_NAME_BYTES: usize = 255;
/// Names in it.
const MAX_DEPTH: usize = 32;

/// A relative path below a skill's directory, with `/` between names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RelPath(Box<str>);

/// Why a text is not a valid path to a file of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathFault {
    /// Nothing, or nothing but dots and slashes.
    Empty,
    /// It starts at the file system's root, a drive, a share or a URL.
    Absolute,
    /// A part is `..`.
    Parent,
    /// A part is empty or `.`, or the path ends in `/`.
    Shape,
    /// A backslash, a colon, or a character that looks like a separator.
    Separator,
    /// A control, bidi or invisible character.
    Hidden,
    /// A part starts or ends with a blank, or ends with a dot.
    Blank,
    /// A part is a device's name, or the short form of another name, on some system.
    Reserved,
    /// A part starts with a dot: settings, secrets and version control stay closed.
    Dotfile,
    /// Version control's own files, or ours: read, never written.
    Guarded,
    /// Too long, or too many parts.
    TooLong,
}

impl PathFault {
    /// The stable code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "path-empty",
            Self::Absolute => "path-absolute",
            Self::Parent => "path-parent",
            Self::Shape => "path-shape",
            Self::Separator => "path-separator",
            Self::Hidden => "path-hidden",
            Self::Blank => "path-blank",
            Self::Reserved => "path-reserved",
            Self::Dotfile => "path-dotfile",
            Self::Guarded => "path-guarded",
            Self::TooLong => "path-too-long",
        }
    }
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the path is empty",
            Self::Absolute => "the path is absolute; a relative one is needed",
            Self::Parent => "the path contains `..`",
            Self::Shape => "the path has an empty or `.` part, or ends in `/`",
            Self::Separator => "the path contains a backslash, a colon or a look-alike of `/`",
            Self::Hidden => "the path contains a control or invisible character",
            Self::Blank => "a part of the path starts or ends with a space, or ends with a dot",
            Self::Reserved => "a part of the path is a reserved name on some systems",
            Self::Dotfile => "files whose names start with a dot are not read",
            Self::Guarded => "tools do not change the files of version control or of Metier itself",
            Self::TooLong => "the path is too long",
        })
    }
}

impl std::error::Error for PathFault {}

impl RelPath {
    /// The path in `text`. A leading `./` is dropped; nothing else is changed.
    pub fn new(text: &str) -> Result<Self, PathFault> {
        check_path(text, Dotfiles::Closed, MAX_DEPTH).map(|text| Self(text.into()))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its names, outermost first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

/// Whether names may start with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dotfiles {
    /// No: in a skill they are settings, secrets and version control.
    Closed,
    /// Yes: in a workspace they are ordinary files.
    Open,
}

/// The relative path in `text`, without a leading `./`, of at most `deepest` names.
pub(crate) fn check_path(
    text: &str,
    dotfiles: Dotfiles,
    deepest: usize,
) -> Result<&str, PathFault> {
    if text.len() > MAX_PATH_BYTES {
        return Err(PathFault::TooLong);
    }
    // Each name on its own: a file system that ignores marks does not care what excused them, and
    // takes `.g<RLM>it/hooks/<Hebrew>` for `.git/hooks/<Hebrew>`.
    let hides = |name: &str| !cannot_hide(name.as_bytes()) && !find_hidden(name).is_empty();
    if text.chars().any(char::is_control) || text.split('/').any(hides) {
        return Err(PathFault::Hidden);
    }
    if is_absolute(text) {
        return Err(PathFault::Absolute);
    }
    let text = text.strip_prefix("./").unwrap_or(text);
    if text.is_empty() || text == "." {
        return Err(PathFault::Empty);
    }
    if text.contains(is_separator_like) {
        return Err(PathFault::Separator);
    }
    let mut names = 0;
    for name in text.split('/') {
        check_name(name, dotfiles)?;
        names += 1;
    }
    if names > deepest {
        return Err(PathFault::TooLong);
    }
    Ok(text)
}

fn is_absolute(text: &str) -> bool {
    let drive =
        text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && text[1..].starts_with(':');
    text.starts_with(['/', '\\']) || drive || text.contains("://")
}

/// Backslash and colon mean something on some system; the others look like a slash.
fn is_separator_like(ch: char) -> bool {
    matches!(
        ch,
        '\\' | ':'
            | '\u{2044}'
            | '\u{2215}'
            | '\u{29f8}'
            | '\u{29f5}'
            | '\u{29f9}'
            | '\u{ff0f}'
            | '\u{ff3c}'
            | '\u{fe68}'
            | '\u{ff1a}'
    )
}

fn check_name(name: &str, dotfiles: Dotfiles) -> Result<(), PathFault> {
    if name == ".." {
        return Err(PathFault::Parent);
    }
    if name.is_empty() || name == "." {
        return Err(PathFault::Shape);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(PathFault::TooLong);
    }
    // Full-width dots and the like become dots on systems that normalise names.
    if !name.is_ascii() {
        let normal: String = name.nfkc().collect();
        if normal.bytes().all(|b| b == b'.') {
            return Err(PathFault::Parent);
        }
        if normal.contains(['/', '\\', ':']) {
            return Err(PathFault::Separator);
        }
    }
    if dotfiles == Dotfiles::Closed && name.starts_with('.') {
        return Err(PathFault::Dotfile);
    }
    if name.starts_with(char::is_whitespace)
        || name.ends_with(char::is_whitespace)
        || name.ends_with('.')
    {
        return Err(PathFault::Blank);
    }
    if is_reserved(name) {
        return Err(PathFault::Reserved);
    }
    Ok(())
}

/// Device names of Windows, with or without a suffix, and its short names such as `SKILL~1.MD`.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_uppercase();
    let numbered = |prefix: &str| {
        let rest = stem.strip_prefix(prefix).unwrap_or_default();
        let mut digits = rest.chars();
        matches!((digits.next(), digits.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
    };
    let device = matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || numbered("COM")
        || numbered("LPT");
    let short = stem.len() <= 8
        && stem.split_once('~').is_some_and(|(start, number)| {
            !start.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
        });
    device || short
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_paths_pass_unchanged() {
        for path in [
            "references/a.md",
            "a",
            "scripts/-x.py",
            "~/x",
            "$HOME/x",
            "%2e%2e%2f",
            "a [1]*.md",
            "表格/数据.csv",
            "übung.md",
            "COMMON.md",
            "console.log",
            "nullable.rs",
            "a~b.md",
            "v1.2.3/x",
        ] {
            assert_eq!(RelPath::new(path).map(|p| p.to_string()), Ok(path.to_owned()));
        }
        assert_eq!(
            RelPath::new("./references/a.md").expect("normalised").as_str(),
            "references/a.md"
        );
    }

    proptest! {
        #[test]
        fn a_path_never_leaves_and_never_changes(text in "[\\PC/.\\\\:~\u{202e}\u{200b}\u{ff0e}\u{ff0f} ]{0,24}") {
            if let Ok(path) = RelPath::new(&text) {
                let dotted = format!("./{path}");
                prop_assert!(text == path.as_str() || text == dotted);
                prop_assert!(path.names().all(|name| !name.is_empty() && !name.starts_with('.')));
                prop_assert!(!path.as_str().starts_with('/') && !path.as_str().contains('\\'));
                prop_assert_eq!(RelPath::new(path.as_str()), Ok(path.clone()));
            }
        }
    }
}
