//! The project is written in English: Chinese, Japanese and Korean text stands only in the
//! translated README, in tests and fixtures, and in tables that search needs.
//!
//! Such a table says `tidy:allow-cjk` in its file's first lines.

use super::finding::{Finding, header_allows, inline_tests_start, is_test_path};

const TRANSLATIONS: &[&str] = &["README.zh-CN.md"];

/// Reports the first line with CJK text where there should be none, and how many there are.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if TRANSLATIONS.contains(&path) || is_test_path(path) || header_allows(text, "tidy:allow-cjk") {
        return Vec::new();
    }
    // A link to a translation may show the language's own name.
    let links_translation = |line: &str| TRANSLATIONS.iter().any(|name| line.contains(name));
    let source_lines = inline_tests_start(text).unwrap_or(usize::MAX);
    let lines = text.lines().enumerate().take(source_lines);
    let lines: Vec<(usize, char)> = lines
        .filter(|(_, line)| !links_translation(line))
        .filter_map(|(at, line)| line.chars().find(|c| is_cjk(*c)).map(|c| (at + 1, c)))
        .collect();
    let Some((number, c)) = lines.first() else {
        return Vec::new();
    };
    let message = format!(
        "`{c}` (U+{:04X}), {} such lines: the project is written in English; a test or a table \
         that needs it says `tidy:allow-cjk` in its header",
        u32::from(*c),
        lines.len()
    );
    vec![Finding::new(path, *number, message)]
}

fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11FF}'       // Hangul letters
        | '\u{2E80}'..='\u{303F}'     // radicals, CJK punctuation
        | '\u{3040}'..='\u{9FFF}'     // kana to unified ideographs
        | '\u{A960}'..='\u{A97F}'
        | '\u{AC00}'..='\u{D7FF}'     // Hangul syllables
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FF01}'..='\u{FFEF}'     // full-width forms
        | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cjk_text_in_source_and_docs_is_reported() {
        let findings = check("docs/a.md", "# A\n\nskill is 技能\n\n技\n");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].to_string().starts_with("docs/a.md:3: `技` (U+6280), 2 such lines"));
        assert_eq!(check("crates/a/src/b.rs", "// full\u{FF0C}width\n").len(), 1);
    }

    #[test]
    fn translations_tests_and_marked_tables_may_have_it() {
        assert_eq!(check("README.zh-CN.md", "技能\n"), []);
        assert_eq!(check("crates/a/tests/it/search.rs", "\"技能\"\n"), []);
        assert_eq!(check("crates/a/src/b.rs", "//! tidy:allow-cjk: n-grams\n'技'\n"), []);
        assert_eq!(check("crates/a/src/b.rs", "//! A\n#[cfg(test)]\nmod tests {\n\"技\"\n}\n"), []);
        assert_eq!(check("README.md", "[中文](README.zh-CN.md)\n"), []);
    }

    #[test]
    fn other_scripts_and_emoji_pass() {
        assert_eq!(check("docs/a.md", "µ × → é Ж ع \u{1F600}\n"), []);
    }
}
