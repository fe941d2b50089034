//! Nothing half done is committed to the crates: no placeholder macros, no marks, no skipped tests.
//!
//! The words are put together from halves so that a search for them does not find this file.

use super::finding::{Finding, is_our_rust};

struct Leftover {
    text: &'static str,
    advice: &'static str,
}

const LEFTOVERS: &[Leftover] = &[
    Leftover { text: concat!("todo", "!"), advice: "write it, or return a coded error" },
    Leftover { text: concat!("unimplemented", "!"), advice: "write it, or return a coded error" },
    Leftover { text: concat!("FIX", "ME"), advice: "fix it, or open an issue" },
    Leftover { text: concat!("XX", "X"), advice: "fix it, or open an issue" },
    Leftover { text: concat!("#[ign", "ore"), advice: "a test that does not run proves nothing" },
];

/// Reports every leftover word in the crates.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if !is_our_rust(path) || !path.starts_with("crates/") {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    lines.flat_map(|(at, line)| check_line(path, at + 1, line)).collect()
}

fn check_line(path: &str, number: usize, line: &str) -> Vec<Finding> {
    let here = LEFTOVERS.iter().filter(|leftover| contains_word(line, leftover.text));
    here.map(|Leftover { text, advice }| {
        Finding::new(path, number, format!("`{text}` is left over: {advice}"))
    })
    .collect()
}

/// Whether `word` stands in `line` and is not a part of a longer word.
fn contains_word(line: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let joined_before = word.starts_with(is_word) && before.is_some_and(is_word);
        let joined_after = word.ends_with(|c: char| c.is_uppercase()) && after.is_some_and(is_word);
        !joined_before && !joined_after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(text: &str) -> Vec<String> {
        let findings = check("crates/a/src/b.rs", text);
        findings.iter().map(|it| it.to_string().split(": ").next().unwrap().to_owned()).collect()
    }

    #[test]
    fn each_leftover_is_reported_with_its_line() {
        for leftover in LEFTOVERS {
            let text = format!("//! A.\n\n  {}(later)\n", leftover.text);
            assert_eq!(lines_found(&text), ["crates/a/src/b.rs:3"], "{}", leftover.text);
        }
    }

    #[test]
    fn a_part_of_a_longer_word_is_no_leftover() {
        assert_eq!(lines_found("let mkdtemp = \"abcXXXXXX\";\nmy_todo!();\n"), [""; 0]);
    }

    #[test]
    fn other_files_may_speak_about_them() {
        let text = LEFTOVERS[0].text;
        assert_eq!(check("docs/a.md", text), []);
        assert_eq!(check("xtask/src/a.rs", text), []);
    }
}
