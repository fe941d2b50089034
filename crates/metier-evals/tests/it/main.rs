//! Evals, from outside: cases, plans, trials, scores and reports.
//! Commands are tested with the binary, in `metier-cli`.
#![expect(
    clippy::default_trait_access,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unreadable_literal,
    clippy::print_stdout,
    reason = "these tests start the oracle and say what they measured, and what they could not test"
)]

mod browser;
mod changed_skills;
mod compare_runs;
mod export_shapes;
mod fake;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod lossy_proxy;
mod merge;
mod plan;
#[cfg(unix)]
mod postgres;
mod read;
mod report;
mod report_forms;
mod report_json;
mod report_page;
mod report_support;
mod score;
mod statistics;
mod statistics_coverage;
mod statistics_oracle;
mod unit_request;
mod worker;
