//! A finding of `tidy`, and what the checks ask about paths.
//!
//! Paths are relative to the workspace's root with `/` between components, as git prints them.

use std::fmt;
use std::path::Path;

/// One finding, which fails the command: `path:line: message`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Whether this is Rust source that the house rules hold for (not a test's fixture).
pub(crate) fn is_our_rust(path: &str) -> bool {
    let ours = ["crates/", "xtask/", "fuzz/fuzz_targets/", "fuzz/src/"];
    Path::new(path).extension().is_some_and(|suffix| suffix == "rs")
        && ours.iter().any(|dir| path.starts_with(dir))
        && !path.contains("/fixtures/")
}

/// Whether the file belongs to tests: under a `tests` or `fixtures` directory, or a module of them.
pub(crate) fn is_test_path(path: &str) -> bool {
    let mut components = path.split('/').rev();
    let file = components.next().unwrap_or_default();
    file == "tests.rs"
        || file.ends_with("_tests.rs")
        || components.any(|dir| matches!(dir, "tests" | "fixtures" | "seeds"))
}

/// The line, counted from 0, at which an inline `#[cfg(test)] mod … {` begins.
///
/// Whatever follows is taken as its content: clippy's `items_after_test_module` sees to that.
pub(crate) fn inline_tests_start(text: &str) -> Option<usize> {
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().enumerate().find_map(|(at, line)| {
        let rest = lines.get(at + 1..)?;
        let item = rest.iter().find(|line| !line.starts_with("#[") && !line.starts_with("//"))?;
        let opens = item.starts_with("mod ") && item.ends_with('{');
        (line.trim_end() == "#[cfg(test)]" && opens).then_some(at)
    })
}

/// Whether one of the first lines carries the marker, such as `tidy:allow-cjk`.
pub(crate) fn header_allows(text: &str, marker: &str) -> bool {
    text.lines().take(15).any(|line| line.contains(marker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_prints_path_line_and_message() {
        assert_eq!(Finding::new("a/b.rs", 3, "no").to_string(), "a/b.rs:3: no");
    }

    #[test]
    fn tests_and_fixtures_are_distinguished_from_source() {
        assert!(is_test_path("crates/a/tests/it/main.rs"));
        assert!(is_test_path("crates/a/src/parse/tests.rs"));
        assert!(!is_test_path("crates/a/src/parse.rs"));
        assert!(is_our_rust("crates/a/build.rs"));
        assert!(!is_our_rust("crates/a/tests/fixtures/x.rs"));
    }

    #[test]
    fn inline_tests_start_at_their_attribute() {
        let text = "fn a() {}\n\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n}\n";
        assert_eq!(inline_tests_start(text), Some(2));
        assert_eq!(inline_tests_start("#[cfg(test)]\nmod tests;\nfn a() {}\n"), None);
        assert_eq!(inline_tests_start("#[cfg(test)]\nfn a() {}\nmod b {\n}\n"), None);
    }
}
