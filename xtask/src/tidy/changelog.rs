//! Every entry of `CHANGELOG.md` says first what kind of change it is.
//!
//! An entry is a list item at the margin below a `## ` heading; its further lines are indented.

use super::finding::Finding;

const KINDS: &[&str] =
    &["added", "changed", "fixed", "breaking", "removed", "deprecated", "security"];

/// Reports each entry without its kind, and a changelog without a heading.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if path != "CHANGELOG.md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut headings = 0_usize;
    for (at, line) in text.lines().enumerate() {
        headings += usize::from(line.starts_with("## "));
        if headings > 0 && is_item(line) && !has_kind(line) {
            let message = format!("an entry starts with `- **kind**`; kind: {}", KINDS.join(", "));
            findings.push(Finding::new(path, at + 1, message));
        }
    }
    if headings == 0 {
        findings.push(Finding::new(path, 1, "no `## ` heading, so no release has entries"));
    }
    findings
}

fn is_item(line: &str) -> bool {
    ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

fn has_kind(line: &str) -> bool {
    let rest = line.strip_prefix("- **").unwrap_or_default();
    rest.split_once("**").is_some_and(|(kind, _)| KINDS.contains(&kind.trim_end_matches(':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_a_kind_pass() {
        let text = "# Changelog\n\n- free text\n\n## Unreleased\n\n- **added** `list`\n  more\n\
                    - **breaking:** `x`\n";
        assert_eq!(check("CHANGELOG.md", text), []);
    }

    #[test]
    fn entries_without_a_kind_are_reported() {
        let text = "## Unreleased\n- Added list\n* **added** x\n- **new** y\n";
        let findings = check("CHANGELOG.md", text);
        assert_eq!(findings.len(), 3);
        assert!(findings[0].to_string().starts_with("CHANGELOG.md:2: "));
    }

    #[test]
    fn a_changelog_without_headings_is_reported() {
        assert_eq!(check("CHANGELOG.md", "# Changelog\n").len(), 1);
        assert_eq!(check("docs/CHANGELOG.md", "- x\n"), []);
    }
}
