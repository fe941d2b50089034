//! Whose files a command changes: the flags `--user` and `--project`.
//! Which files these are is the runtime's to say.

use clap::Args;
use metier::config::Scope;

/// Whose files a command changes.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ScopeArgs {
    /// For you, in every project.
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// For everyone who works in this project.
    #[arg(long)]
    pub(crate) project: bool,
}

impl ScopeArgs {
    pub(crate) fn chosen(self) -> Option<Scope> {
        match (self.user, self.project) {
            (true, _) => Some(Scope::User),
            (_, true) => Some(Scope::Project),
            _ => None,
        }
    }

    /// The flags, for a command that a person can paste.
    pub(crate) fn words(self) -> Option<String> {
        match self.chosen()? {
            Scope::User => Some("--user".to_owned()),
            _ => Some("--project".to_owned()),
        }
    }
}
