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

/// Which of `names` a person plainly asks for in the words of a request, in the order of the names:
/// `use the pdf skill`, `enter voice-mode`. Not for texts that others wrote.
pub fn asked_by_name<'n>(request: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let prose = Prose::read(request);
    names.into_iter().filter(|name| prose.asks_for(&key(name))).collect()
}

fn is_last_part(raw: &str, key: &str, wanted: &str) -> bool {
    !wanted.is_empty()
        && key.ends_with(wanted)
        && raw.rsplit([':', '/']).next().is_some_and(|part| self::key(part) == wanted)
}

/// A name with case, accents and separators folded away.
fn key(name: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] =
        &["html", "pdf", "voice-mode", "csv-summary", "profile-csv", "use", "skill", "翻译"];

    fn asked(request: &str) -> Vec<&'static str> {
        asked_by_name(request, NAMES.iter().copied())
    }

    #[test]
    fn ordinary_words_are_names_as_commands_and_in_quotes_only() {
        const ORDINARY: &[&str] = &["best", "right", "built-in", "合适", "html"];
        let asked = |request: &str| asked_by_name(request, ORDINARY.iter().copied());
        for request in [
            "use the right skill for this",
            "pick the best skill and run it",
            "use the best skill",
            "use a built-in skill",
            "用合适的技能处理 a.csv",
            "用合适技能处理",
            "don't guess, use the \"right\" approach",
        ] {
            assert_eq!(asked(request), [""; 0], "{request}");
        }
        for (request, name) in [
            ("run /best on it", "best"),
            ("use the \"best\" skill", "best"),
            ("use the `right` skill", "right"),
            ("use the “built-in” skill", "built-in"),
            ("用“合适”技能处理", "合适"),
            ("use the html skill", "html"),
        ] {
            assert_eq!(asked(request), [name], "{request}");
        }
    }

    #[test]
    fn a_person_asks_for_a_skill_by_its_name() {
        for (request, names) in [
            ("use the html skill to make a page", &["html"][..]),
            ("Please make a page with the html skill.", &["html"]),
            ("make a page (html skill)", &["html"]),
            ("the skill html should do this", &["html"]),
            ("enter voice-mode", &["voice-mode"]),
            ("run csv-summary on a.csv", &["csv-summary"]),
            ("use csv-summary on a.csv and profile-csv on b.csv", &["csv-summary", "profile-csv"]),
            ("please run /pdf on it", &["pdf"]),
            ("用 html 技能做一个页面", &["html"]),
            ("用html技能做一个页面", &["html"]),
            ("使用技能 pdf 合并文件", &["pdf"]),
            ("运行 csv-summary 统计 a.csv", &["csv-summary"]),
            ("用翻译技能处理这段话", &["翻译"]),
        ] {
            assert_eq!(asked(request), names, "{request}");
        }
    }

    #[test]
    fn words_refusals_files_and_sentences_about_skills_ask_for_none() {
        for request in [
            "use pdf for this",
            "make an html page",
            "do not use the html skill",
            "don't use csv-summary for this",
            "summarise sales without the pdf skill",
            "review the pdf skill",
            "what does the html skill do?",
            "write a new pdf skill",
            "is there a pdf skill?",
            "read skills/pdf/SKILL.md",
            "use voice-mode.md as input",
            "I have use for this skill",
            "不要用 html 技能",
            "检查 pdf 技能",
            "写一个 html 技能",
            "csv-summary",
        ] {
            assert_eq!(asked(request), Vec::<&str>::new(), "{request}");
        }
    }
}
