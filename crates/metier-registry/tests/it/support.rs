//! Roots and scans for these tests.
//!
//! Short words for roots and for what a scan reported.

use std::path::Path;

use metier_registry::{Root, Scan, ScanOptions, scan};
use metier_skill::Source;

pub(crate) fn root(path: &Path) -> Root {
    Root {
        source: Source::Explicit,
        path: path.to_owned(),
        plugin: None,
        required: true,
        absent: false,
        foreign: None,
    }
}

pub(crate) fn options() -> ScanOptions {
    ScanOptions { builtin: false, ..ScanOptions::default() }
}

pub(crate) fn scan_one(path: &Path) -> Scan {
    scan(&[root(path)], &options())
}

pub(crate) fn names(scan: &Scan) -> Vec<&str> {
    scan.index.entries().iter().map(|entry| entry.name().as_str()).collect()
}

/// The codes of everything that did not make it, sorted.
pub(crate) fn codes(scan: &Scan) -> Vec<&'static str> {
    let report = &scan.report;
    let mut codes: Vec<_> =
        report.ignored.iter().chain(&report.notes).map(|line| line.code.as_str()).collect();
    codes.sort_unstable();
    codes
}
