//! How installations reach their sources here: who fetches each kind, from this environment.
//!
//! Fetching is `metier-pack`'s; what a fetcher gets of the machine is decided here.

use std::sync::Arc;

use metier_pack::{Fetchers, SourceAccess, SourceKind};

use crate::open::Metier;

impl Metier {
    /// How sources that are not on this machine are reached.
    pub(crate) fn source_access(&self) -> SourceAccess {
        SourceAccess::new(Arc::new(self.fetchers()))
    }

    /// Who fetches which kind of source.
    fn fetchers(&self) -> Fetchers {
        let download = Arc::new(self.download(Arc::new(|_| Ok(()))));
        Fetchers::default()
            .with(SourceKind::Https, download.clone())
            .with(SourceKind::WellKnown, download.clone())
            .with(SourceKind::Oci, download)
    }
}
