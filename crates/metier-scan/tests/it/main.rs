//! The scanner from outside: whole skills in, reports out.
//! The command is tested in `metier-cli`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "tests read the corpus, print its shares, and fail by panicking"
)]

mod cases;
mod corpus;
mod laws;
mod suppressions;

use metier_scan::{FindingReport, FindingSeverity, Scanner};

/// The report of a skill with these files.
fn scan(files: &[(&str, &str)]) -> FindingReport {
    let mut scanner = Scanner::new();
    for (path, text) in files {
        scanner.file(path, text.as_bytes());
    }
    scanner.finish()
}

/// Rule and weight of each finding.
fn weights(report: &FindingReport) -> Vec<(&'static str, FindingSeverity)> {
    report.findings.iter().map(|finding| (finding.rule, finding.severity)).collect()
}
