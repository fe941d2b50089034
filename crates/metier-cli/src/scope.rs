//! Whose files a command changes: the flags `--user` and `--project`.
//! Which files these are is the runtime's to say.

use clap::Args;
use metier::config::Scope;

use crate::error::{CommandError, Result};
use crate::render::safe;

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
    /// The flags that choose `scope`.
    pub(crate) fn of(scope: Scope) -> Self {
        Self { user: scope == Scope::User, project: scope == Scope::Project }
    }

    /// The names without the source that they begin with, as in `project:NAME`, and the scope that it means.
    pub(crate) fn of_names(self, names: &[String]) -> Result<(Self, Vec<String>)> {
        let mut chosen = self;
        let mut bare = Vec::with_capacity(names.len());
        for name in names {
            let of = [("project:", Scope::Project), ("user:", Scope::User)];
            let of = of
                .into_iter()
                .find_map(|(source, scope)| Some((name.strip_prefix(source)?, scope)));
            let Some((rest, scope)) = of else {
                bare.push(name.clone());
                continue;
            };
            if chosen.chosen().is_some_and(|it| it != scope) {
                let message =
                    format!("`{}` is of another source than was named before", safe(name));
                return Err(
                    CommandError::usage(message).help("name skills of one source at a time")
                );
            }
            chosen = Self::of(scope);
            bare.push(rest.to_owned());
        }
        Ok((chosen, bare))
    }

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
