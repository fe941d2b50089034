//! Every Rust file opens with a `//!` header: what it owns, what it must not do, who calls it.
//!
//! Two lines are the least that can say it.

use super::finding::{Finding, is_our_rust};

const LEAST_LINES: usize = 2;

/// Reports a file that does not open with a header.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if !is_our_rust(path) {
        return Vec::new();
    }
    let lines = text.lines().take_while(|line| line.starts_with("//!")).count();
    if lines >= LEAST_LINES {
        return Vec::new();
    }
    let message = format!(
        "the file opens with {lines} lines of `//!`, the least is {LEAST_LINES}: say what it owns"
    );
    vec![Finding::new(path, lines + 1, message)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_of_two_lines_is_enough() {
        assert_eq!(check("crates/a/src/b.rs", "//! One.\n//! Two.\n\nfn a() {}\n"), []);
        assert_eq!(check("crates/a/build.rs", "//! One.\n//!\n//! Two.\n"), []);
    }

    #[test]
    fn a_file_without_a_header_or_with_one_line_is_reported() {
        let none = check("crates/a/tests/it/main.rs", "mod a;\n//! One.\n//! Two.\n");
        assert!(none[0].to_string().starts_with("crates/a/tests/it/main.rs:1: "));
        let one = check("fuzz/fuzz_targets/a.rs", "//! One.\nfn a() {}\n");
        assert!(one[0].to_string().starts_with("fuzz/fuzz_targets/a.rs:2: "));
    }

    #[test]
    fn other_files_need_no_header() {
        assert_eq!(check("docs/a.md", "# A\n"), []);
        assert_eq!(check("crates/a/tests/fixtures/skill/x.rs", "fn a() {}\n"), []);
    }
}
