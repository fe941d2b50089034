//! Where something is written: the configuration file or the folder of skills of a scope, the
//! workspace, the folder of runs.
//!
//! Reading looks in many places; writing goes to one that a person would expect: the repository's
//! top, not the directory that happens to be the current one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use metier_agent::RunFolder;
use metier_config::Scope;
use metier_fs::{HeldDir, UserFolders};
use metier_registry::manage::{Backup, Backups};
use metier_registry::roots::{own_skills, project_dirs, repository_top};
use metier_skill::Source;
use metier_tools::policy_facts::real_path;

use crate::config_files::{AGENT_FOLDER, CONFIG_FILE, ConfigFile};
use crate::error::{Error, Result};
use crate::open::{Metier, enter};

impl Metier {
    /// Where work happens: the repository, or without one the working directory.
    pub fn workspace(&self) -> PathBuf {
        match &self.inner.workspace {
            Some(other) => other.clone(),
            None => self.repository().unwrap_or_else(|| self.working_dir().to_owned()),
        }
    }

    /// The same runtime, with its work in another folder: skills, settings and policy stay the project's,
    /// and what is read, written and run is in `dir`. For a copy that may be thrown away.
    ///
    /// ```
    /// # use metier::Metier;
    /// # let (dir, copy) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let elsewhere = metier.working_in(&copy)?;
    /// assert_ne!(elsewhere.workspace(), metier.workspace());
    /// assert_eq!(elsewhere.working_dir(), metier.working_dir());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn working_in(&self, dir: impl AsRef<Path>) -> Result<Self> {
        let dir = enter(dir.as_ref())?;
        let mut inner = self.inner.again();
        inner.workspace = Some(dir);
        inner.snapshot = Mutex::new(self.snapshot());
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What relative paths of a run's files begin at.
    pub(crate) fn base_dir(&self) -> &Path {
        self.inner.workspace.as_deref().unwrap_or_else(|| self.working_dir())
    }

    /// The top of the repository that the working directory is in.
    pub fn repository(&self) -> Option<PathBuf> {
        repository_top(self.working_dir(), self.home())
    }

    /// The folder that counts as the project: the repository, or the working directory.
    pub fn project_top(&self) -> Result<PathBuf> {
        if let Some(top) = self.repository() {
            return Ok(top);
        }
        if self.home() == Some(self.working_dir()) {
            return Err(Error::usage("the home directory is not a project")
                .with_help("go to a project, or use --user"));
        }
        Ok(self.working_dir().to_owned())
    }

    /// The project's `.agent`, to write to. A clone may bring it as a link to anywhere.
    fn project_agent_folder(&self) -> Result<PathBuf> {
        let top = self.project_top()?;
        let folder = top.join(AGENT_FOLDER);
        let leads_out = || !real_path(&folder).starts_with(real_path(&top));
        if metier_fs::is_link(&folder) && leads_out() {
            let message = format!("{} is a link that leads out of the project", folder.display());
            return Err(Error::failed("behind-a-link", message)
                .with_help("replace it by a folder, or use --user"));
        }
        Ok(folder)
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.inner.protected.as_ref().map(|folders| folders.home.as_path())
    }

    /// The user's folders, or an error that says what is missing.
    pub fn require_user_folders(&self) -> Result<&UserFolders> {
        self.user_folders().ok_or_else(|| {
            Error::failed(
                "no-home",
                "there is no home directory to keep your settings and state in",
            )
            .with_help("set HOME")
        })
    }

    /// The configuration file of `scope`, which may not exist yet. For an administrator's it is the
    /// user's: only an administrator writes the other one.
    pub fn config_target(&self, scope: Scope) -> Result<PathBuf> {
        let mut known = self.config_files().iter();
        let counts = |file: &&ConfigFile| file.scope == scope && file.exists && file.is_used();
        if let Some(file) = known.find(counts) {
            return Ok(file.path.clone());
        }
        match scope {
            Scope::Project => Ok(self.project_agent_folder()?.join(CONFIG_FILE)),
            _ => Ok(self.require_user_folders()?.agent.join(CONFIG_FILE)),
        }
    }

    /// The folder for new skills of `scope`; without one, the project's inside a repository and the
    /// user's elsewhere.
    pub fn skills_target(&self, scope: Option<Scope>) -> Result<PathBuf> {
        let scope = scope.unwrap_or_else(|| match self.repository() {
            Some(_) => Scope::Project,
            None => Scope::User,
        });
        match scope {
            Scope::Managed | Scope::User => Ok(self.require_user_folders()?.agent.join("skills")),
            Scope::Project => {
                let top = self.project_top()?;
                self.project_agent_folder()?;
                let dirs = project_dirs(self.working_dir(), self.home());
                let inside = dirs.into_iter().filter(|dir| dir.starts_with(&top));
                let mut folders = inside.map(|dir| own_skills(&dir));
                // A part of the repository that has skills of its own gets the new one too.
                let used = folders.find(|folder| metier_fs::is_dir(folder));
                Ok(used.unwrap_or_else(|| own_skills(&top)))
            }
        }
    }

    /// The user's backups of deleted skills.
    pub fn backups(&self) -> Result<Backups> {
        Ok(Backups::in_state(&self.require_user_folders()?.state))
    }

    /// Whether a backup is of a skill that stood here: in this project, or in a folder that counts everywhere.
    pub fn is_backup_of_here(&self, backup: &Backup) -> bool {
        let path = Path::new(&backup.path);
        let is_below = |dir: &Path| path.starts_with(dir) || path.starts_with(real_path(dir));
        backup.skill.source != Source::Project
            || is_below(&self.workspace())
            || self.roots().iter().any(|root| is_below(&root.path))
    }

    /// The user's folder of skills that holds the skill at `path`.
    pub fn user_root_of(&self, path: &Path) -> PathBuf {
        let roots = self.roots().into_iter().filter(|root| root.source == Source::User);
        let holding = roots.map(|root| root.path).filter(|root| path.starts_with(root));
        // Of one folder inside another, the inner: where links may lead is narrower there.
        let nearest = holding.max_by_key(|root| root.components().count());
        nearest.unwrap_or_else(|| path.parent().unwrap_or(path).to_owned())
    }

    /// The folder of the runs of this workspace. It is reached without following a link in the
    /// workspace.
    pub(crate) fn runs_folder(&self) -> HeldDir {
        RunFolder::all_in(&self.workspace())
    }
}
