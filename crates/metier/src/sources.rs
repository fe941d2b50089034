//! How installations reach their sources here: which may be used, and who fetches each kind, from this environment.
//!
//! Judging and fetching is `metier-pack`'s; what a fetcher gets of the machine is decided here.

use std::sync::Arc;

use metier_pack::{Fetchers, GIT_VARIABLES, GitFetch, SourceAccess, SourceKind};

use crate::error::Result;
use crate::open::Metier;
use crate::set_setting::SettingChange;

impl Metier {
    /// How sources are judged and reached.
    pub(crate) fn source_access(&self) -> SourceAccess {
        SourceAccess::new(self.settings().sources.clone(), Arc::new(self.fetchers()))
    }

    /// Who fetches which kind of source.
    fn fetchers(&self) -> Fetchers {
        let download = Arc::new(self.download());
        Fetchers::default()
            .with(SourceKind::Git, Arc::new(self.git_fetch()))
            .with(SourceKind::Https, download.clone())
            .with(SourceKind::WellKnown, download.clone())
            .with(SourceKind::Oci, download)
    }

    /// git as the user has it installed. What stands in the working directory, or in its repository, may have come with a
    /// clone.
    fn git_fetch(&self) -> GitFetch {
        let environment = self.environment();
        let untrusted = [Some(self.working_dir().to_owned()), self.repository()];
        let untrusted = untrusted.into_iter().flatten();
        let untrusted: Vec<_> = untrusted.filter_map(|it| metier_fs::canonical(&it).ok()).collect();
        let mut path = environment.paths("PATH");
        path.retain(|dir| {
            let real = metier_fs::canonical(dir).unwrap_or_else(|_| dir.clone());
            !untrusted.iter().any(|untrusted| real.starts_with(untrusted))
        });
        let mut fetch = GitFetch::new(path, environment.home().map(ToOwned::to_owned));
        for name in GIT_VARIABLES {
            if let Some(value) = environment.variable(name) {
                fetch = fetch.with_variable(*name, value);
            }
        }
        fetch
    }

    /// Adds a pattern to the user's `sources.allow`, so that it is not asked about again.
    pub fn allow_source(&self, pattern: &str) -> Result<SettingChange> {
        self.add_setting("sources.allow", pattern)
    }
}
