//! No drawers: a file called `utils.rs` says nothing about what is in it, and so takes everything.
//!
//! The name of an idea is always there to be found; these are the names of not looking for it.

use super::finding::{Finding, is_our_rust};

const DRAWERS: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc"];

/// Reports a file or module directory whose name says nothing.
pub(crate) fn check(path: &str, _text: &str) -> Vec<Finding> {
    if !is_our_rust(path) {
        return Vec::new();
    }
    let stem = path.trim_end_matches(".rs");
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    let name = stem.rsplit('/').next().unwrap_or(stem);
    if DRAWERS.contains(&name) {
        vec![Finding::new(path, 1, format!("`{name}` is a drawer: name the file by its idea"))]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawers_are_reported_wherever_they_are() {
        for path in
            ["crates/a/src/util.rs", "crates/a/tests/it/common/mod.rs", "xtask/src/helpers.rs"]
        {
            assert_eq!(check(path, "").len(), 1, "{path}");
        }
    }

    #[test]
    fn names_of_ideas_pass() {
        for path in ["crates/a/src/fence.rs", "crates/a/src/common_prefix.rs", "docs/util.md"] {
            assert_eq!(check(path, ""), [], "{path}");
        }
    }
}
