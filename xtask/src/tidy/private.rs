//! Nothing about a contributor's machine: no absolute home paths, no paths of a workplace.
//! A path under `/home/user` is fine as an example.
//!
//! `tidy:allow-paths` in a file's first lines allows them there (this file needs it itself).

use super::finding::{Finding, header_allows, is_test_path};

/// Directories of one machine; each with a slash behind, so that a container's `/root` may be named.
const MACHINE_DIRS: &[&str] = &["/work/", "/root/"];

/// Where people's homes are.
const HOMES: &[&str] = &["/home/", "/Users/"];

/// Notes that are kept outside the repository, so that a reader could not follow the reference.
/// A test may look for material beside the repository and do without.
const OUTSIDE_NOTES: &[&str] =
    &["../shared/", "shared/research", "shared/corpus", "DESIGN.md", "STYLE.md", "DESIGN §"];

/// Home directory names used in examples.
const EXAMPLE_HOMES: &[&str] = &["user", "me", "you", "name", "someone", "alice", "bob", "example"];

/// Reports each line that names a private place.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if header_allows(text, "tidy:allow-paths") {
        return Vec::new();
    }
    let in_test = is_test_path(path) || path.starts_with("crates/metier-testkit/");
    let mut findings = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(place) = private_place(line) {
            let message = format!("`{place}` is a path of one machine; use a relative one");
            findings.push(Finding::new(path, at + 1, message));
        }
        if let Some(note) = OUTSIDE_NOTES.iter().find(|note| !in_test && line.contains(**note)) {
            let message = format!("`{note}` is outside the repository; a reader cannot follow it");
            findings.push(Finding::new(path, at + 1, message));
        }
    }
    findings
}

fn private_place(line: &str) -> Option<String> {
    let machine_dir = MACHINE_DIRS.iter().find(|dir| !absolute(line, dir).is_empty());
    let private_home = || HOMES.iter().find_map(|homes| private_home(line, homes));
    machine_dir.map(|dir| (*dir).to_owned()).or_else(private_home)
}

fn private_home(line: &str, homes: &str) -> Option<String> {
    let names = absolute(line, homes).into_iter().map(|at| leading_name(&line[at..]));
    let mut private = names.filter(|name| !name.is_empty() && !EXAMPLE_HOMES.contains(name));
    private.next().map(|name| format!("{homes}{name}"))
}

/// Where the text after `dir` begins, for each place at which `dir` starts a path.
fn absolute(line: &str, dir: &str) -> Vec<usize> {
    let inside_path = |c: char| c.is_alphanumeric() || "_-./~*$})]>".contains(c);
    line.match_indices(dir)
        .filter(|(at, _)| !line[..*at].ends_with(inside_path))
        .map(|(at, _)| at + dir.len())
        .collect()
}

fn leading_name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> usize {
        check("crates/a/src/b.rs", &format!("//! A.\n{line}\n")).len()
    }

    #[test]
    fn home_and_work_paths_are_reported() {
        assert_eq!(found("let a = \"/work/main\";"), 1);
        assert_eq!(found("see /root/.cargo"), 1);
        assert_eq!(found("(/home/jane/x)"), 1);
        assert_eq!(found("/Users/jane"), 1);
        assert_eq!(found("as ../shared/research says"), 1);
    }

    #[test]
    fn examples_variables_and_parts_of_other_paths_pass() {
        assert_eq!(found("let a = \"/home/user/.agent\";"), 0);
        assert_eq!(found("let a = format!(\"/home/{name}\");"), 0);
        assert_eq!(found("https://example.com/work/a and tree/root/a and $DIR/work/a"), 0);
    }

    #[test]
    fn a_test_may_look_beside_the_repository_but_not_at_a_home() {
        assert_eq!(check("crates/a/tests/it/b.rs", "\"../../../shared/corpus\"\n"), []);
        assert_eq!(check("crates/a/tests/it/b.rs", "\"/root/x\"\n").len(), 1);
    }

    #[test]
    fn a_marker_in_the_header_allows_them() {
        assert_eq!(check("crates/a/src/b.rs", "//! tidy:allow-paths\n\"/root/x\"\n"), []);
    }
}
