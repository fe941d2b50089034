//! Names of dangerous functions that are put together from pieces: `'chil' + 'd_process'`,
//! `['child', 'process'].join('_')`. Honest code splits sentences, never these names.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Names that are only split to hide them.
const NAMES: &[&str] = &[
    "child_process",
    "execsync",
    "spawnsync",
    "eval",
    "__import__",
    "subprocess",
    "os.system",
    "readfilesync",
    "powershell",
    "invoke-expression",
    "/dev/tcp",
];

static SUM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"["'][\w./ -]{1,24}["'](?:\s*\+\s*["'][\w./ -]{1,24}["'])+"#).ok()
});
static JOIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"\[((?:\s*["'][\w./: -]{1,24}["']\s*,?){2,})\]\s*\.join\(\s*["'](.{0,2})["']\s*\)"#,
    )
    .ok()
});
static PIECE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"["']([^"']*)["']"#).ok());

/// Where such a name begins, and what the pieces spell.
pub(crate) fn split_words(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    if let Some(sums) = SUM.as_ref() {
        found.extend(sums.find_iter(text).map(|hit| (hit.start(), joined(hit.as_str(), ""))));
    }
    if let Some(joins) = JOIN.as_ref() {
        let word = |hit: Captures<'_>| {
            let between = hit.get(2).map_or("", |it| it.as_str());
            Some((hit.get(0)?.start(), joined(hit.get(1)?.as_str(), between)))
        };
        found.extend(joins.captures_iter(text).filter_map(word));
    }
    found.retain(|(_, word)| {
        let lower = word.to_ascii_lowercase();
        NAMES.iter().any(|name| lower.contains(name))
    });
    found.sort();
    found
}

fn joined(pieces: &str, between: &str) -> String {
    let piece = |hit: Captures<'_>| hit.get(1).map(|it| it.as_str().to_owned());
    let words: Vec<String> = PIECE
        .as_ref()
        .map(|it| it.captures_iter(pieces).filter_map(piece).collect())
        .unwrap_or_default();
    words.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_names_are_found_and_split_sentences_are_not() {
        let words =
            |text: &str| split_words(text).into_iter().map(|(_, word)| word).collect::<Vec<_>>();
        assert_eq!(words("const m = 'chil' + 'd_pr' + 'ocess';"), ["child_process"]);
        assert_eq!(words("load(['child', 'process'].join('_'))"), ["child_process"]);
        assert_eq!(words("g['ev' + \"al\"](x)"), ["eval"]);
        assert_eq!(words("'https://' + 'example.com' + '/a'"), Vec::<String>::new());
        assert_eq!(words("['a', 'b'].join(', ')"), Vec::<String>::new());
        assert_eq!(words("require('child_process')"), Vec::<String>::new());
    }
}
