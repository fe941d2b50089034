//! Opening a runtime: [`Metier`] and its builder.
//!
//! Everything that decides what a run may see and do is resolved here, once, the same way for every
//! front end: the working directory, the user's folders, the settings and the roots. What is looked
//! up later (the skills, the policy for them) is derived from these values alone.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use metier_config::{AgentSettings, Settings};
use metier_fs::UserFolders;
use metier_registry::catalog::SharedIndex;
use metier_registry::roots::{Root, SkillPlaces, project_dirs, resolve};
use metier_registry::{Registry, Scan, ScanOptions, SkillSource, SkillSources, scan};
use metier_skill::{Limits, Profile};
use tempfile::TempDir;

use crate::config_files::{self, ConfigFile};
use crate::configured_roots::ConfiguredRoots;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::user_folders::{close_state, user_folders};

/// The runtime for one working directory. A clone is the same runtime.
#[derive(Clone)]
pub struct Metier {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) environment: Environment,
    pub(crate) working_dir: PathBuf,
    /// The user's folders, where they are used.
    pub(crate) user: Option<UserFolders>,
    /// The same, used or not: leaving them out does not open them to scripts.
    pub(crate) protected: Option<UserFolders>,
    pub(crate) settings: Settings,
    pub(crate) config_files: Vec<ConfigFile>,
    configured_roots: ConfiguredRoots,
    /// What was left out when it was opened, and why.
    warnings: Vec<String>,
    pub(crate) find: FindOptions,
    /// The agent that narrows what may be done.
    pub(crate) agent: Option<Arc<AgentSettings>>,
    sources: SkillSources,
    pub(crate) helper: Option<PathBuf>,
    /// Where work happens, where that is not the project.
    pub(crate) workspace: Option<PathBuf>,
    /// What the last scan found.
    pub(crate) snapshot: Mutex<Option<Arc<Scan>>>,
    /// What requests are ranked by, for the catalog and for the offline model.
    pub(crate) ranking: SharedIndex,
    /// Where state is kept while there are no user folders; removed with the runtime.
    scratch: Arc<OnceLock<std::io::Result<TempDir>>>,
}

impl Inner {
    /// The same, with nothing found yet.
    pub(crate) fn again(&self) -> Self {
        Self {
            environment: self.environment.clone(),
            working_dir: self.working_dir.clone(),
            user: self.user.clone(),
            protected: self.protected.clone(),
            settings: self.settings.clone(),
            config_files: self.config_files.clone(),
            configured_roots: self.configured_roots.clone(),
            warnings: self.warnings.clone(),
            find: self.find.clone(),
            agent: self.agent.clone(),
            sources: self.sources.clone(),
            helper: self.helper.clone(),
            workspace: self.workspace.clone(),
            snapshot: Mutex::default(),
            ranking: SharedIndex::default(),
            scratch: Arc::clone(&self.scratch),
        }
    }
}

/// How skills are looked for, besides the usual folders and the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindOptions {
    /// More folders, searched before all others; relative to the working directory.
    pub roots: Vec<PathBuf>,
    /// How strictly skills are judged, if not as the settings say.
    pub profile: Option<Profile>,
}

/// Opens a [`Metier`] that differs from the usual one.
#[derive(Debug, Clone)]
pub struct Builder {
    dir: PathBuf,
    environment: Environment,
    user_folders: UserFolderChoice,
    find: FindOptions,
    sources: SkillSources,
    helper: Option<PathBuf>,
}

#[derive(Debug, Clone)]
enum UserFolderChoice {
    /// Those of the environment's home directory.
    Home,
    /// None at all.
    None,
}

impl Builder {
    /// Takes this environment instead of the process's own.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Reads and writes nothing of the user's: no configuration, skills, trust or remembered answers.
    /// State that scripts need lives in a temporary folder, as long as the runtime does.
    ///
    /// ```
    /// use metier::{Environment, Metier};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir)
    ///     .without_user_folders()
    ///     .environment(Environment::empty().with("PATH", "/usr/bin:/bin"))
    ///     .open()?;
    /// assert!(metier.user_folders().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_user_folders(mut self) -> Self {
        self.user_folders = UserFolderChoice::None;
        self
    }

    /// Searches this folder of skills too, before all others.
    #[must_use]
    pub fn root(mut self, folder: impl Into<PathBuf>) -> Self {
        self.find.roots.push(folder.into());
        self
    }

    /// Adds a source of skills of the caller's own, before all folders.
    #[must_use]
    pub fn source(mut self, source: impl SkillSource + 'static) -> Self {
        self.sources.0.push(Arc::new(source));
        self
    }

    /// Judges skills by this profile instead of the settings'.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.find.profile = Some(profile);
        self
    }

    /// Runs scripts through this program, which calls [`crate::init()`] first, instead of re-executing
    /// the current one.
    #[must_use]
    pub fn sandbox_helper(mut self, program: impl Into<PathBuf>) -> Self {
        self.helper = Some(program.into());
        self
    }

    /// Resolves folders, settings and roots.
    pub fn open(self) -> Result<Metier> {
        let working_dir = enter(&self.dir)?;
        let named = user_folders(self.environment.home(), &self.environment)?;
        let user = match self.user_folders {
            UserFolderChoice::Home => named.clone(),
            UserFolderChoice::None => None,
        };
        let protected = match named {
            Some(named) => Some(named),
            None => user_folders(UserFolders::home_of_process().as_deref(), &self.environment)?,
        };
        let home = protected.as_ref().map(|folders| folders.home.as_path());
        let dirs = project_dirs(&working_dir, home);
        let (settings, config_files) = config_files::load(
            &working_dir,
            &dirs,
            user.as_ref(),
            protected.as_ref(),
            &self.environment,
        )?;
        let mut warnings: Vec<String> =
            config_files.iter().filter_map(ConfigFile::skipped_warning).collect();
        warnings.extend(config_files::unread_files(&dirs, user.as_ref()));
        let usual = usual_places(&working_dir, user.as_ref(), home, &self.environment);
        let project_dir = config_files::project_dir(&config_files);
        let configured_roots = ConfiguredRoots::new(&settings, &usual, project_dir);
        warnings.extend(configured_roots.warnings.iter().cloned());
        if !settings.enable_skills {
            warnings.push(
                "skills are switched off as a whole: `enable_skills` is false (`metier config` says where)"
                    .to_owned(),
            );
        }
        if let Some(user) = &user {
            warnings.extend(close_state(&user.state)?);
        }
        let inner = Inner {
            environment: self.environment,
            working_dir,
            user,
            protected,
            settings,
            config_files,
            configured_roots,
            warnings,
            find: self.find,
            agent: None,
            sources: self.sources,
            helper: self.helper,
            workspace: None,
            snapshot: Mutex::default(),
            ranking: SharedIndex::default(),
            scratch: Arc::default(),
        };
        Ok(Metier { inner: Arc::new(inner) })
    }
}

/// Where skills are looked for when no one names a folder.
fn usual_places(
    working_dir: &Path,
    user: Option<&UserFolders>,
    home: Option<&Path>,
    environment: &Environment,
) -> SkillPlaces {
    SkillPlaces {
        user: user.cloned(),
        home: home.map(Path::to_owned),
        more_user: environment.paths("CLAUDE_SKILLS_DIR"),
        ..SkillPlaces::at(working_dir)
    }
}

pub(crate) fn enter(directory: &Path) -> Result<PathBuf> {
    let refuse =
        |reason: String| Error::usage(format!("cannot work in {}: {reason}", directory.display()));
    let real = metier_fs::canonical(directory).map_err(|error| refuse(error.to_string()))?;
    if metier_fs::is_dir(&real) {
        return Ok(real);
    }
    Err(refuse("it is not a directory".to_owned()))
}

impl Metier {
    /// Opens the runtime for a working directory exactly as the program `metier` does there: with the
    /// process's environment, the user's folders and all settings.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        Self::builder(dir).open()
    }

    /// The same with something left out or replaced.
    pub fn builder(dir: impl AsRef<Path>) -> Builder {
        Builder {
            dir: dir.as_ref().to_owned(),
            environment: Environment::of_process(),
            user_folders: UserFolderChoice::Home,
            find: FindOptions::default(),
            sources: SkillSources::default(),
            helper: None,
        }
    }

    /// The same runtime, looking for skills in another way.
    #[must_use]
    pub fn finding(&self, find: FindOptions) -> Self {
        Self { inner: Arc::new(Inner { find, ..self.inner.again() }) }
    }

    /// The working directory, absolute and without links.
    pub fn working_dir(&self) -> &Path {
        &self.inner.working_dir
    }

    /// The user's folders; nothing where there are none.
    pub fn user_folders(&self) -> Option<&UserFolders> {
        self.inner.user.as_ref()
    }

    /// The settings that count here.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The configuration files that were looked for.
    pub fn config_files(&self) -> &[ConfigFile] {
        &self.inner.config_files
    }

    /// What was left out when it was opened, and why: files that other accounts can write, folders outside
    /// the project, configuration in a format that is not read. Foreign text in these sentences is not
    /// escaped.
    pub fn warnings(&self) -> &[String] {
        &self.inner.warnings
    }

    /// The environment that it was opened with.
    pub fn environment(&self) -> &Environment {
        &self.inner.environment
    }

    /// How skills are looked for.
    pub fn find_options(&self) -> &FindOptions {
        &self.inner.find
    }

    /// The folders that are searched, highest priority first.
    pub fn roots(&self) -> Vec<Root> {
        resolve(&self.places())
    }

    fn places(&self) -> SkillPlaces {
        let Inner { environment, working_dir, find, configured_roots, .. } = &*self.inner;
        let named = environment.paths("METIER_SKILLS_DIR");
        SkillPlaces {
            explicit: find.roots.iter().cloned().chain(named).collect(),
            configured_project: configured_roots.project.clone(),
            configured_user: configured_roots.user.clone(),
            ..usual_places(working_dir, self.user_folders(), self.home(), environment)
        }
    }

    /// Bounds on what is read of a skill's frontmatter and body.
    pub fn limits(&self) -> Limits {
        self.inner.settings.limits
    }

    /// How strictly skills are judged.
    pub fn profile(&self) -> Profile {
        self.inner.find.profile.unwrap_or(self.inner.settings.profile)
    }

    /// How a scan is done here.
    pub fn scan_options(&self) -> ScanOptions {
        ScanOptions {
            profile: self.profile(),
            sources: self.inner.sources.clone(),
            ..self.inner.settings.scan_options()
        }
    }

    /// The skills: found at the first call, then as they were found. Holders of a scan keep it.
    ///
    /// ```
    /// # use metier::Metier;
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let scan = metier.skills();
    /// for entry in scan.index.entries() {
    ///     println!("{} ({}): {}", entry.name(), entry.source, entry.skill.description);
    /// }
    /// // What did not make it is never silent.
    /// for ignored in &scan.report.ignored {
    ///     println!("{} [{}]: {}", ignored.path.display(), ignored.code, ignored.message);
    /// }
    /// # assert!(scan.index.find("csv-summary").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn skills(&self) -> Arc<Scan> {
        let mut snapshot = self.inner.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(snapshot.get_or_insert_with(|| Arc::new(self.look())))
    }

    /// What the last scan found, if there was one.
    pub(crate) fn snapshot(&self) -> Option<Arc<Scan>> {
        self.inner.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn look(&self) -> Scan {
        let roots = self.roots();
        self.finish_installs(&roots);
        scan(&roots, &self.scan_options())
    }

    /// Looks again, and gives what is there now.
    pub fn refresh(&self) -> Arc<Scan> {
        let found = Arc::new(self.look());
        *self.inner.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        found
    }

    /// Forgets what was found, so that the next question looks again.
    pub(crate) fn look_again(&self) {
        *self.inner.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A registry that can be refreshed and watched.
    pub fn registry(&self) -> Registry {
        let places = self.places();
        Registry::open(move || resolve(&places), self.scan_options())
    }

    /// Where state is kept: the user's folder, or a temporary one where there are no user folders.
    pub(crate) fn state_dir(&self) -> Result<PathBuf> {
        if let Some(user) = &self.inner.user {
            return Ok(user.state.clone());
        }
        let made =
            self.inner.scratch.get_or_init(|| tempfile::Builder::new().prefix("metier-").tempdir());
        made.as_ref().map(|dir| dir.path().to_owned()).map_err(|error| {
            Error::failed("no-state", format!("no folder for state can be made: {error}"))
                .with_help("set HOME, or make the temporary directory writable")
        })
    }
}

impl std::fmt::Debug for Metier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metier")
            .field("working_dir", &self.inner.working_dir)
            .field("user", &self.inner.user)
            .finish_non_exhaustive()
    }
}
