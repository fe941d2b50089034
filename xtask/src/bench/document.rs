//! `docs/performance.md`: everything outside the markers is written by people and kept.
//!
//! Pure: old text and table in, new text out.

use anyhow::{Result, bail};

/// A part of the document that a bench writes: the name in its markers, and its title.
pub(crate) struct Section {
    name: &'static str,
    title: &'static str,
}

pub(crate) const DISCOVERY: Section = Section { name: "discovery", title: "Discovery" };
pub(crate) const DOCTOR: Section = Section { name: "doctor", title: "Doctor" };
pub(crate) const EVALS: Section = Section { name: "evals", title: "Evals" };
pub(crate) const LEASES: Section = Section { name: "leases", title: "Measured" };
pub(crate) const RUNNING: Section = Section { name: "running", title: "Running" };
pub(crate) const SHIPPING: Section = Section { name: "shipping", title: "Shipping" };
pub(crate) const LOADING: Section = Section { name: "loading", title: "Loading" };

const INTRODUCTION: &str = "\
# Performance

Numbers on this page come from `cargo xtask bench discovery|loading|running --write`;
nothing between the markers is written by hand, and a missed target stays in the table.

How it is measured: on a large public collection of real skills (where it is there), on ten copies of
it under other names, and on trees that the bench makes (60 % plain `key: value` frontmatter, 15 %
double-quoted, 10 % with a block description, 15 % with metadata and `allowed-tools`; about 430 bytes
of frontmatter and 5 KB of body; a script and a reference beside). Whole processes run in turns (floor,
`metier list --json`), after one run that is not counted, with a warm page cache, output to
`/dev/null`, an empty home and an empty working directory. Times are wall clock. The floor
is one thread that opens each `SKILL.md` and reads its first 4 KiB, and does nothing else; ratios
are to the floor of the same run, so they carry over to other machines better than milliseconds do.

To run it again (about 3 GB in the temporary directory while the largest tree exists):

```sh
cargo xtask bench discovery                                 # print
cargo xtask bench discovery --write                         # and put it here
cargo xtask bench discovery --sizes 1000,10000 --repeats 5  # a quick look
```
";

impl Section {
    fn marker(&self, which: &str) -> String {
        format!("<!-- bench:{}:{which} -->", self.name)
    }

    /// The document with `table` between the markers of this section.
    pub(crate) fn with_table(&self, old: Option<&str>, table: &str) -> Result<String> {
        let (start, end) = (self.marker("start"), self.marker("end"));
        let block = format!("{start}\n{}\n{end}", table.trim_end());
        let title = self.title;
        let Some(old) = old else {
            return Ok(format!("{INTRODUCTION}\n## {title}\n\n{block}\n"));
        };
        match (old.find(&start), old.find(&end)) {
            (Some(from), Some(to)) if from < to => {
                Ok(format!("{}{block}{}", &old[..from], &old[to + end.len()..]))
            }
            (None, None) => Ok(format!("{}\n\n## {title}\n\n{block}\n", old.trim_end())),
            _ => {
                bail!("the document has one of `{start}` and `{end}`, or in the wrong order")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "<!-- bench:discovery:start -->";
    const END: &str = "<!-- bench:discovery:end -->";

    fn with_discovery(old: Option<&str>, table: &str) -> Result<String> {
        DISCOVERY.with_table(old, table)
    }

    #[test]
    fn sections_do_not_touch_each_other() {
        let first = with_discovery(None, "| a |").unwrap();
        let both = LOADING.with_table(Some(&first), "| b |").unwrap();
        assert!(both.starts_with(first.trim_end()) && both.contains("## Loading"));
        let again = with_discovery(Some(&both), "| c |").unwrap();
        assert_eq!(again, both.replace("| a |", "| c |"));
    }

    #[test]
    fn a_new_document_has_an_introduction_and_the_table() {
        let text = with_discovery(None, "| a |\n").unwrap();
        assert!(text.starts_with("# Performance\n"));
        assert!(text.ends_with(&format!("{START}\n| a |\n{END}\n")));
    }

    #[test]
    fn only_the_text_between_the_markers_changes() {
        let first = with_discovery(Some("# P\n\nMine.\n"), "| a |").unwrap();
        let second = with_discovery(Some(&format!("{first}\nAfter.\n")), "| b |").unwrap();
        assert_eq!(second, format!("{}\nAfter.\n", first.replace("| a |", "| b |")));
    }

    #[test]
    fn half_a_pair_of_markers_is_an_error() {
        assert!(with_discovery(Some(START), "| a |").is_err());
        assert!(with_discovery(Some(&format!("{END}{START}")), "| a |").is_err());
    }
}
