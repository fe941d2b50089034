//! Where a command writes: the configuration file or the folder of skills of a scope.
//!
//! Reading looks in many places; writing goes to one that a person would expect: the repository's
//! top, not the directory that happens to be the current one.

use std::path::{Path, PathBuf};

use clap::Args;
use metier_config::Scope;
use metier_registry::manage::{Backups, ManageError};
use metier_registry::roots::{own_skills, project_dirs, repository_top};
use metier_skill::Source;

use crate::context::{AGENT_FOLDER, CONFIG_FILE, Context, FindArgs};
use crate::error::{CommandError, Result};
use crate::render::safe;

/// Whose files a command changes.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ScopeArgs {
    /// For you, in every project.
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// For everybody who works in this project.
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
}

impl Context {
    /// The configuration file of `scope`, which may not exist yet.
    pub(crate) fn config_target(&self, scope: Scope) -> Result<PathBuf> {
        let known = self.config_files.iter().find(|file| file.scope == scope && file.exists);
        if let Some(file) = known {
            return Ok(file.path.clone());
        }
        match scope {
            Scope::Project => Ok(self.project_top()?.join(AGENT_FOLDER).join(CONFIG_FILE)),
            // Nobody but an administrator writes an administrator's file.
            _ => Ok(self.user_folders()?.agent.join(CONFIG_FILE)),
        }
    }

    /// The folder for new skills of `scope`; without one, the project's inside a repository and the
    /// user's elsewhere.
    pub(crate) fn skills_target(&self, scope: Option<Scope>) -> Result<PathBuf> {
        let scope = scope.unwrap_or_else(|| match self.repository() {
            Some(_) => Scope::Project,
            None => Scope::User,
        });
        match scope {
            Scope::Managed | Scope::User => Ok(self.user_folders()?.agent.join("skills")),
            Scope::Project => {
                let top = self.project_top()?;
                let dirs = project_dirs(&self.working_dir, self.home());
                let inside = dirs.into_iter().filter(|dir| dir.starts_with(&top));
                let mut folders = inside.map(|dir| own_skills(&dir));
                // A part of the repository that has skills of its own gets the new one too.
                let used = folders.find(|folder| metier_fs::is_dir(folder));
                Ok(used.unwrap_or_else(|| own_skills(&top)))
            }
        }
    }

    /// The user's backups of deleted skills.
    pub(crate) fn backups(&self) -> Result<Backups> {
        Ok(Backups::in_state(&self.user_folders()?.state))
    }

    /// The user's folder of skills that holds the skill at `path`.
    pub(crate) fn users_root(&self, path: &Path, find: &FindArgs) -> PathBuf {
        let roots = self.roots(find).into_iter().filter(|root| root.source == Source::User);
        let holding = roots.map(|root| root.path).filter(|root| path.starts_with(root));
        // Of one folder inside another, the inner: where links may lead is narrower there.
        let nearest = holding.max_by_key(|root| root.components().count());
        nearest.unwrap_or_else(|| path.parent().unwrap_or(path).to_owned())
    }

    pub(crate) fn user_folders(&self) -> Result<&metier_fs::UserFolders> {
        self.user.as_ref().ok_or_else(|| {
            CommandError::failed("no-home", "there is no home directory to keep your things in")
                .help("set HOME")
        })
    }

    fn home(&self) -> Option<&Path> {
        self.user.as_ref().map(|user| user.home.as_path())
    }

    pub(crate) fn repository(&self) -> Option<PathBuf> {
        repository_top(&self.working_dir, self.home())
    }

    pub(crate) fn project_top(&self) -> Result<PathBuf> {
        if let Some(top) = self.repository() {
            return Ok(top);
        }
        if self.home() == Some(self.working_dir.as_path()) {
            return Err(CommandError::usage("the home directory is no project")
                .help("go to a project, or use --user"));
        }
        Ok(self.working_dir.clone())
    }
}

/// A refusal of the library, for people.
pub(crate) fn refused(error: &ManageError) -> CommandError {
    let message = safe(&error.to_string()).into_owned();
    let refused = match error {
        ManageError::BadName { .. } => {
            CommandError { code: error.code(), ..CommandError::usage(message) }
        }
        _ => CommandError::failed(error.code(), message),
    };
    refused.help(safe(&error.help()).into_owned())
}
