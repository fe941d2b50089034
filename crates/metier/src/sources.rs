//! How installations reach their sources here: who fetches each kind, from this environment.
//!
//! Fetching is `metier-pack`'s; what a fetcher gets of the machine is decided here.

use std::sync::Arc;

use metier_pack::{Fetchers, SourceAccess};

use crate::open::Metier;

impl Metier {
    /// How sources that are not on this machine are reached.
    pub(crate) fn source_access(&self) -> SourceAccess {
        SourceAccess::new(Arc::new(self.fetchers()))
    }

    /// Who fetches which kind of source.
    #[expect(clippy::unused_self, reason = "fetchers take the environment from it")]
    fn fetchers(&self) -> Fetchers {
        Fetchers::default()
    }
}
