//! A cap on the packages in the lock file, so that each new dependency is a decision.
//!
//! It counts every platform, development and optional dependencies included.

use super::finding::Finding;

const MAX_PACKAGES: usize = 550;

/// Reports a lock file with more packages than we want to answer for.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if path != "Cargo.lock" {
        return Vec::new();
    }
    let packages = text.lines().filter(|line| *line == "[[package]]").count();
    if packages <= MAX_PACKAGES {
        return Vec::new();
    }
    let message = format!("{packages} packages, the limit is {MAX_PACKAGES}: drop a dependency");
    vec![Finding::new(path, 1, message)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_itself_passes_and_one_more_fails() {
        let package = "[[package]]\nname = \"a\"\n\n";
        assert_eq!(check("Cargo.lock", &package.repeat(MAX_PACKAGES)), []);
        assert_eq!(check("Cargo.lock", &package.repeat(MAX_PACKAGES + 1)).len(), 1);
        assert_eq!(check("fuzz/Cargo.lock", &package.repeat(MAX_PACKAGES + 1)), []);
    }
}
