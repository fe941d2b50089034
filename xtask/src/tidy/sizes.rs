//! A file holds one idea: its length is the sign that can be measured.
//!
//! An inline test module does not count; a file of tests may be longer, as it is read case by case.

use super::finding::{Finding, inline_tests_start, is_our_rust, is_test_path};

struct Limit {
    warn: usize,
    fail: usize,
}

const SOURCE: Limit = Limit { warn: 400, fail: 700 };
const TESTS: Limit = Limit { warn: 700, fail: 1000 };

/// Reports a file that is longer than one idea.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if !is_our_rust(path) {
        return Vec::new();
    }
    let (limit, lines) = if is_test_path(path) {
        (TESTS, text.lines().count())
    } else {
        (SOURCE, inline_tests_start(text).unwrap_or_else(|| text.lines().count()))
    };
    let Limit { warn, fail } = limit;
    if lines > fail {
        vec![Finding::error(path, fail, format!("{lines} lines, the limit is {fail}: split it"))]
    } else if lines > warn {
        let message = format!("{lines} lines, {warn} are about one idea (it fails above {fail})");
        vec![Finding::warning(path, warn, message)]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::Severity;

    fn severity(path: &str, lines: usize) -> Option<Severity> {
        check(path, &"let a = 1;\n".repeat(lines)).first().map(|finding| finding.severity)
    }

    #[test]
    fn source_warns_above_400_lines_and_fails_above_700() {
        let path = "crates/a/src/b.rs";
        assert_eq!(severity(path, 400), None);
        assert_eq!(severity(path, 401), Some(Severity::Warning));
        assert_eq!(severity(path, 700), Some(Severity::Warning));
        assert_eq!(severity(path, 701), Some(Severity::Error));
    }

    #[test]
    fn a_file_of_tests_warns_above_700_lines_and_fails_above_1000() {
        let path = "crates/a/tests/it/scan.rs";
        assert_eq!(severity(path, 700), None);
        assert_eq!(severity(path, 1000), Some(Severity::Warning));
        assert_eq!(severity(path, 1001), Some(Severity::Error));
    }

    #[test]
    fn an_inline_test_module_does_not_count() {
        let source = "let a = 1;\n".repeat(390);
        let tests = "    assert!(true);\n".repeat(900);
        let text = format!("{source}\n#[cfg(test)]\nmod tests {{\n{tests}}}\n");
        assert_eq!(check("crates/a/src/b.rs", &text), []);
    }
}
