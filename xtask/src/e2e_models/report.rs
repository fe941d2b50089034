//! What was tried and what came of it, printed as it comes and again as a table at the end.
//!
//! One failure fails the whole.

use std::fmt::Write as _;
use std::time::Duration;

use crate::workspace::Outcome;

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Which server: `llama.cpp`, `LiteLLM`, ...
    pub(crate) server: &'static str,
    pub(crate) what: String,
    pub(crate) expected: String,
    pub(crate) got: String,
    pub(crate) took: Duration,
    pub(crate) passed: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Adds a row and tells it.
    pub(crate) fn add(&mut self, row: Row) {
        println!(
            "e2e-models: {} {}, {}: {} ({:.1} s)",
            word(row.passed),
            row.server,
            row.what,
            row.got,
            row.took.as_secs_f32()
        );
        self.rows.push(row);
    }

    /// Passed when there is something and all of it passed.
    pub(crate) fn outcome(&self) -> Outcome {
        let passed = !self.rows.is_empty() && self.rows.iter().all(|row| row.passed);
        if passed { Outcome::Passed } else { Outcome::Failed }
    }

    /// The closing table.
    pub(crate) fn to_table(&self) -> String {
        let widest = |of: fn(&Row) -> &str| {
            self.rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0)
        };
        let (server, what) = (widest(|row| row.server), widest(|row| &row.what));
        let expected = widest(|row| &row.expected);
        let mut table = String::new();
        for row in &self.rows {
            let seconds = row.took.as_secs_f32();
            // Writing to a string cannot fail.
            let _ = writeln!(
                table,
                "{} {:<server$}  {:<what$}  {:<expected$}  {seconds:6.1} s  {}",
                word(row.passed),
                row.server,
                row.what,
                row.expected,
                row.got
            );
        }
        let failed = self.rows.iter().filter(|row| !row.passed).count();
        let _ = writeln!(table, "{} checks, {failed} failed", self.rows.len());
        table
    }
}

const fn word(passed: bool) -> &'static str {
    if passed { "PASS" } else { "FAIL" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(passed: bool) -> Row {
        Row {
            server: "s",
            what: "w".to_owned(),
            expected: "e".to_owned(),
            got: "g".to_owned(),
            took: Duration::from_millis(1500),
            passed,
        }
    }

    #[test]
    fn one_failure_fails_the_whole_and_nothing_tried_is_a_failure_too() {
        let mut report = Report::default();
        assert_eq!(report.outcome(), Outcome::Failed);
        report.add(row(true));
        assert_eq!(report.outcome(), Outcome::Passed);
        report.add(row(false));
        assert_eq!(report.outcome(), Outcome::Failed);
        let expected = "PASS s  w  e     1.5 s  g\nFAIL s  w  e     1.5 s  g\n2 checks, 1 failed\n";
        assert_eq!(report.to_table(), expected);
    }
}
