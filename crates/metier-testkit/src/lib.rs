//! For our tests: temporary homes and trees, the real binary in a clean environment, scripted models, a
//! database, the corpus.
//!
//! Not published, and a dev-dependency only. Nothing here touches the real home directory or any
//! address but loopback; everything is made below a temporary directory that is removed.
#![expect(
    clippy::disallowed_methods,
    clippy::missing_panics_doc,
    clippy::expect_used,
    reason = "test support builds files and starts the binary; a failure here is a failed test"
)]

pub mod agent;
mod corpus;
mod example;
#[cfg(unix)]
mod git;
mod home;
mod not_tested;
#[cfg(unix)]
mod postgres;
#[cfg(unix)]
mod unprivileged;

pub use corpus::{CorpusText, corpus_dir, corpus_skills, corpus_texts, research_file};
pub use example::built_example;
#[cfg(unix)]
pub use git::{GitServer, TestRepository};
pub use home::{Output, TestHome, skill_text};
pub use not_tested::{not_tested, not_tested_without};
#[cfg(unix)]
pub use postgres::PostgresServer;
#[cfg(unix)]
pub use unprivileged::ran_unprivileged;
