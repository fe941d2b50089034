//! The table of modules in a crate's `lib.rs` names every one of them.
//!
//! A newcomer reads it first, and a module that is not in it stays unknown.

use super::finding::Finding;

/// How a table of modules begins.
const TABLES: &[&str] = &["//! | module | owns |", "//! | file | owns |"];

/// Reports the modules of a `lib.rs` that its table does not name.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let is_map = path.starts_with("crates/") && path.ends_with("/src/lib.rs");
    if !is_map || !text.lines().any(|line| TABLES.contains(&line)) {
        return Vec::new();
    }
    let header: Vec<&str> = text.lines().filter(|line| line.starts_with("//!")).collect();
    let header = header.join("\n");
    let mut findings = Vec::new();
    let mut above = "";
    for (at, line) in text.lines().enumerate() {
        if let Some(module) = module(line)
            && !above.contains("cfg(test)")
            && !is_named(&header, module)
        {
            let message =
                format!("`{module}` is not in the table of modules above: say what it owns");
            findings.push(Finding::new(path, at + 1, message));
        }
        above = line;
    }
    findings
}

/// The module that a line declares, whose text is in a file of its own.
fn module(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
    line.strip_prefix("mod ")?.strip_suffix(';')
}

/// Whether a module stands in backticks, as a word or as a link: `` `parse` ``, `` [`mod@parse`] ``.
fn is_named(header: &str, module: &str) -> bool {
    ["", "mod@", "fn@"].iter().any(|kind| {
        ["`", "()`", "(mod@"].iter().any(|end| header.contains(&format!("`{kind}{module}{end}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! A crate.\n//!\n//! | module | owns |\n//! |---|---|\n//! | `a`, [`mod@b`] | both |\n\nmod a;\npub mod b;\n";

    #[test]
    fn a_module_that_is_not_in_the_table_is_reported() {
        assert_eq!(check("crates/x/src/lib.rs", TEXT), []);
        let more = format!("{TEXT}mod ab;\n#[cfg(test)]\nmod tests;\n");
        let found = check("crates/x/src/lib.rs", &more);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].to_string().starts_with("crates/x/src/lib.rs:9: `ab`"), "{found:?}");
    }

    #[test]
    fn other_files_and_other_tables_are_left_alone() {
        let more = format!("{TEXT}mod c;\n");
        assert_eq!(check("crates/x/src/walk.rs", &more), []);
        assert_eq!(check("crates/x/src/lib.rs", "//! A crate.\nmod c;\n"), []);
    }
}
