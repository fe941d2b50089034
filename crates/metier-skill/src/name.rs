//! A skill's name: what is usable at all ([`SkillName`]), and what breaks the public rules
//! ([`name_faults`]), which is a warning and no reason to lose a skill.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::limits::{NAME_CHARS, Profile};

/// The longest name that is usable at all.
const MAX_NAME_CHARS: usize = 256;

/// A usable skill name: not empty, at most 256 characters, no control characters, no blanks around
/// it. `org/name` and `plugin:name` are names too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SkillName(Box<str>);

/// The text cannot be a skill's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidSkillName {
    /// Nothing is left after trimming.
    Empty,
    /// More than 256 characters.
    TooLong,
    /// It contains a control character.
    Control,
}

impl fmt::Display for InvalidSkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "a skill's name cannot be empty",
            Self::TooLong => "a skill's name may have at most 256 characters",
            Self::Control => "a skill's name cannot contain control characters",
        })
    }
}

impl std::error::Error for InvalidSkillName {}

impl SkillName {
    /// The name in `text`, trimmed; the only way to make one.
    pub fn new(text: &str) -> Result<Self, InvalidSkillName> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidSkillName::Empty);
        }
        if text.len() > MAX_NAME_CHARS && text.chars().count() > MAX_NAME_CHARS {
            return Err(InvalidSkillName::TooLong);
        }
        let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if !is_plain && text.chars().any(char::is_control) {
            return Err(InvalidSkillName::Control);
        }
        Ok(Self(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the last `/` of an `org/name` name.
    pub fn namespace(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(namespace, _)| namespace)
    }

    /// This name, qualified by `qualifier` as `qualifier:name`.
    #[must_use]
    pub fn qualified(&self, qualifier: &str) -> Self {
        Self(format!("{qualifier}:{}", self.0).into())
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for SkillName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for SkillName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// A way in which a name breaks the rules of the public specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameFault {
    /// More than 64 characters.
    TooLong,
    /// Upper case, or a character that is not a letter, digit or hyphen.
    Charset,
    /// A hyphen at an end, or two in a row.
    Hyphens,
    /// Letters outside a-z (a matter of portability, not of the rules).
    NotAscii,
    /// Not the name of its directory.
    Directory,
}

/// The faults of `name`, compared with the name of its directory where there is one.
///
/// The specification's charset contradicts itself ("unicode lowercase alphanumeric" and "a-z").
/// The spec profile follows the reference validator, which accepts what Python calls alphanumeric
/// and so rejects the combining marks that Hindi and Thai words need; the other profiles accept
/// marks after a letter.
pub fn name_faults(name: &str, directory: Option<&str>, profile: Profile) -> Vec<NameFault> {
    let mut faults = Vec::new();
    // Nearly every name: nothing to normalise, nothing to look up.
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let normal: std::borrow::Cow<'_, str> =
        if plain { name.into() } else { name.nfkc().collect::<String>().into() };
    // An `org/name` is judged by its last part; the specification knows no namespaces.
    let judged = match profile {
        Profile::Spec => &*normal,
        _ if plain => &*normal,
        _ => normal.rsplit('/').next().unwrap_or(&normal),
    };
    if judged.len() > NAME_CHARS && judged.chars().count() > NAME_CHARS {
        faults.push(NameFault::TooLong);
    }
    if !plain && !charset_holds(judged, profile) {
        faults.push(NameFault::Charset);
    }
    // As if a hyphen stood before the name: one at its start is as odd as a second one.
    let mut before = b'-';
    let has_odd_hyphen = judged.bytes().any(|byte| {
        let is_odd = byte == b'-' && before == b'-';
        before = byte;
        is_odd
    });
    if has_odd_hyphen || judged.ends_with('-') {
        faults.push(NameFault::Hyphens);
    }
    if !plain && !judged.is_ascii() {
        faults.push(NameFault::NotAscii);
    }
    if let Some(directory) = directory {
        let same =
            directory == judged || (!directory.is_ascii() && directory.nfkc().eq(judged.chars()));
        if !same {
            faults.push(NameFault::Directory);
        }
    }
    faults
}

fn charset_holds(name: &str, profile: Profile) -> bool {
    let mut after_letter = false;
    for ch in name.chars() {
        let group = ch.general_category_group();
        let alphanumeric =
            matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number);
        let mark = group == GeneralCategoryGroup::Mark && after_letter && profile != Profile::Spec;
        if !(alphanumeric || mark || ch == '-') {
            return false;
        }
        after_letter = alphanumeric || mark;
    }
    !name.chars().any(|ch| !ch.to_lowercase().eq([ch]))
}

/// The name without faults that is nearest to `text`, if any of it can stay: `PDF Tools` gives
/// `pdf-tools`.
pub fn suggested_name(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = 0;
    let mut gap = false;
    let mut after_small = false;
    for ch in text.nfkc() {
        let capital = ch.is_uppercase();
        for small in ch.to_lowercase() {
            let fits = charset_holds(small.encode_utf8(&mut [0; 4]), Profile::Spec) && small != '-';
            if !fits {
                gap = true;
                continue;
            }
            let hyphen = (gap || (capital && after_small)) && !out.is_empty();
            if chars + usize::from(hyphen) + 1 > NAME_CHARS {
                return Some(out);
            }
            if hyphen {
                out.push('-');
            }
            out.push(small);
            chars += usize::from(hyphen) + 1;
            gap = false;
        }
        after_small = !gap && !capital;
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(name: &str, profile: Profile) -> Vec<NameFault> {
        name_faults(name, None, profile)
    }

    #[test]
    fn portable_names_have_no_faults() {
        assert_eq!(name_faults("pdf-tools2", Some("pdf-tools2"), Profile::Strict), []);
    }

    #[test]
    fn scripts_with_marks_are_words_except_to_the_reference_validator() {
        for name in ["कौशल", "ทักษะ"] {
            assert_eq!(faults(name, Profile::Strict), [NameFault::NotAscii]);
            assert_eq!(faults(name, Profile::Spec), [NameFault::Charset, NameFault::NotAscii]);
        }
        assert_eq!(faults("技能", Profile::Spec), [NameFault::NotAscii]);
    }

    #[test]
    fn every_fault_is_reported_not_only_the_first() {
        let long = format!("-A_{}", "x".repeat(70));
        assert_eq!(
            name_faults(&long, Some("other"), Profile::Strict),
            [NameFault::TooLong, NameFault::Charset, NameFault::Hyphens, NameFault::Directory]
        );
    }

    #[test]
    fn composed_and_decomposed_letters_are_one_name() {
        assert_eq!(
            name_faults("cafe\u{301}", Some("caf\u{e9}"), Profile::Spec),
            [NameFault::NotAscii]
        );
    }

    #[test]
    fn a_namespace_is_read_but_the_specification_knows_none() {
        let name = SkillName::new("acme/pdf").expect("usable");
        assert_eq!(name.namespace(), Some("acme"));
        assert_eq!(name_faults("acme/pdf", Some("pdf"), Profile::Strict), []);
        assert_eq!(faults("acme/pdf", Profile::Spec), [NameFault::Charset]);
    }

    #[test]
    fn unusable_names_are_refused() {
        assert_eq!(SkillName::new("  "), Err(InvalidSkillName::Empty));
        assert_eq!(SkillName::new("a\u{1b}[2J"), Err(InvalidSkillName::Control));
        assert_eq!(SkillName::new(&"é".repeat(257)), Err(InvalidSkillName::TooLong));
        assert!(SkillName::new(&"é".repeat(256)).is_ok());
    }

    #[test]
    fn a_suggestion_keeps_what_it_can_and_has_no_faults() {
        let long = "Very ".repeat(40);
        for (text, expected) in [
            ("PDF Tools", Some("pdf-tools")),
            ("PdfTools", Some("pdf-tools")),
            ("--a__b--", Some("a-b")),
            ("../../etc/passwd", Some("etc-passwd")),
            ("a.b@c", Some("a-b-c")),
            ("\u{ff21}BC", Some("abc")),
            ("\u{130}x", Some("i-x")),
            ("技能 一", Some("技能-一")),
            ("!?", None),
            ("", None),
        ] {
            assert_eq!(suggested_name(text).as_deref(), expected, "{text}");
        }
        let cut = suggested_name(&long).expect("some");
        assert_eq!(cut, format!("{}very", "very-".repeat(12)));
        for name in [cut, suggested_name("ẞ--É/x").expect("some")] {
            assert!(
                faults(&name, Profile::Spec).iter().all(|fault| *fault == NameFault::NotAscii),
                "{name}"
            );
        }
    }
}
