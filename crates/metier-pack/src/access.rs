//! How an installation reaches its sources: who fetches, and who hears how far it is.
//!
//! Without one of these, only what is on this machine can be installed.

use std::sync::Arc;

use crate::fetch::{Fetch, FetchProgress, Fetchers, SilentProgress};

/// How sources are reached.
#[derive(Debug, Clone)]
pub struct SourceAccess {
    pub(crate) fetch: Arc<dyn Fetch>,
    pub(crate) progress: Arc<dyn FetchProgress>,
}

/// Where a source was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceOrigin {
    /// By the person who installs.
    Named,
    /// In `skills.json`, which may have come with a clone.
    Recorded,
}

impl Default for SourceAccess {
    /// Only what is on this machine.
    fn default() -> Self {
        Self { fetch: Arc::new(Fetchers::default()), progress: Arc::new(SilentProgress) }
    }
}

impl SourceAccess {
    /// Sources are fetched by `fetch`.
    pub fn new(fetch: Arc<dyn Fetch>) -> Self {
        Self { fetch, ..Self::default() }
    }

    /// `progress` hears how far a fetch is.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn FetchProgress>) -> Self {
        self.progress = progress;
        self
    }
}
