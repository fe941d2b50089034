//! What the environment says, read once: folders, configuration, roots.
//!
//! The only file that reads environment variables; commands and libraries get values.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use metier_config::{ConfigError, Layer, Scope, Settings};
use metier_fs::{ReadError, UserFolders, read_bounded};
use metier_registry::roots::{Places, Root, project_dirs, resolve};
use metier_registry::{Registry, Scan, ScanOptions, scan};
use metier_skill::Profile;

use crate::args::GlobalArgs;
use crate::error::{CommandError, Fault, Result};
use crate::render::safe;

/// The folder of the project's own configuration and skills.
pub(crate) const AGENT_FOLDER: &str = ".agent";
pub(crate) const CONFIG_FILE: &str = "config.json";
const MANAGED_CONFIG: &str = "METIER_MANAGED_CONFIG";
const ASK_THE_ADMINISTRATOR: &str =
    "ask the administrator of this machine; nothing is done without their rules";

/// Options of every command that finds skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FindArgs {
    /// Search DIR too, before all other roots (may be repeated).
    #[arg(long = "root", value_name = "DIR", help_heading = "Finding skills")]
    pub(crate) roots: Vec<PathBuf>,
    /// How strictly skills are judged.
    #[arg(long, value_name = "PROFILE", help_heading = "Finding skills")]
    pub(crate) profile: Option<FindProfile>,
    /// Neither read nor write the cache.
    #[arg(long, help_heading = "Finding skills")]
    pub(crate) no_cache: bool,
}

impl FindArgs {
    /// The same flags, as they would be typed.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for root in &self.roots {
            words
                .push(format!("--root {}", crate::commands::exec::quoted(&root.to_string_lossy())));
        }
        if let Some(profile) = self.profile {
            words.push(format!("--profile {}", Profile::from(profile)));
        }
        if self.no_cache {
            words.push("--no-cache".to_owned());
        }
        words
    }
}

/// The profiles that find skills; the specification's own only judges them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindProfile {
    /// What cannot be trusted to say what it is stays out.
    Strict,
    /// What can be loaded is loaded, and told.
    Lenient,
}

impl From<FindProfile> for Profile {
    fn from(profile: FindProfile) -> Self {
        match profile {
            FindProfile::Strict => Self::Strict,
            FindProfile::Lenient => Self::Lenient,
        }
    }
}

/// What a command works with.
pub(crate) struct Context {
    pub(crate) working_dir: PathBuf,
    /// Whether `-C` moved it.
    pub(crate) moved: bool,
    pub(crate) user: Option<UserFolders>,
    pub(crate) settings: Settings,
    /// The configuration files that were looked for, and whether they exist.
    pub(crate) config_files: Vec<ConfigFile>,
    /// `VISUAL`, or else `EDITOR`.
    pub(crate) editor: Option<OsString>,
    more_explicit: Vec<PathBuf>,
    more_user: Vec<PathBuf>,
}

/// A place where configuration may stand.
pub(crate) struct ConfigFile {
    pub(crate) scope: Scope,
    pub(crate) path: PathBuf,
    pub(crate) exists: bool,
}

impl Context {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub(crate) fn new(global: &GlobalArgs) -> Result<Self> {
        let current = std::env::current_dir().map_err(|error| {
            CommandError::failed(
                "no-directory",
                format!("the current directory cannot be read: {error}"),
            )
        })?;
        let working_dir = match &global.directory {
            Some(directory) => enter(&current.join(directory))?,
            None => current,
        };
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let metier_home = variable("METIER_HOME").map(|home| working_dir.join(home));
        // Without links, so that it can be told from the directories above the working directory.
        let home =
            UserFolders::home_of_process().map(|home| metier_fs::canonical(&home).unwrap_or(home));
        let user = home.map(|home| UserFolders::new(&home, metier_home.as_deref()));
        let mut context = Self {
            more_explicit: path_list(variable("METIER_SKILLS_DIR").as_deref()),
            more_user: path_list(variable("CLAUDE_SKILLS_DIR").as_deref()),
            settings: Settings::default(),
            config_files: Vec::new(),
            editor: variable("VISUAL").or_else(|| variable("EDITOR")),
            working_dir,
            moved: global.directory.is_some(),
            user,
        };
        context.load_settings()?;
        Ok(context)
    }

    fn load_settings(&mut self) -> Result<()> {
        let mut managed = Vec::new();
        managed.extend(match machine_config() {
            Some(path) => self.load_layer(&path, Scope::Managed)?,
            None => None,
        });
        if let Some(path) = named_config() {
            let loaded =
                if path.is_absolute() { self.load_layer(&path, Scope::Managed)? } else { None };
            managed.push(loaded.ok_or_else(|| not_there(&path))?);
        }
        let user = match self.user.as_ref().map(|user| user.agent.join(CONFIG_FILE)) {
            Some(path) => self.load_layer(&path, Scope::User)?,
            None => None,
        };
        let project = match self.project_config() {
            Some(path) => self.load_layer(&path, Scope::Project)?,
            None => None,
        };
        self.settings = Settings::merge_managed(&managed, user.as_ref(), project.as_ref());
        Ok(())
    }

    /// The nearest project configuration, or where it would stand. The user's own file is never a
    /// project's, whatever way leads to it; in the home directory there is no project.
    fn project_config(&self) -> Option<PathBuf> {
        let home = self.user.as_ref().map(|user| user.home.as_path());
        let below = |dir: &Path| dir.join(AGENT_FOLDER).join(CONFIG_FILE);
        let real = |path: &Path| metier_fs::canonical(path).ok();
        let users = self.user.as_ref().and_then(|user| real(&user.agent.join(CONFIG_FILE)));
        let dirs = project_dirs(&self.working_dir, home);
        let mut files = dirs.iter().map(|dir| below(dir));
        // One that cannot be read, because a link leads nowhere, is found too, and refused later.
        let is_there = |path: &PathBuf| match real(path) {
            Some(file) => Some(file) != users,
            None => metier_fs::entry_kind(path).is_some() || is_cut_off_in(path),
        };
        let found = files.find(is_there);
        found.or_else(|| dirs.first().map(|dir| below(dir)).filter(|path| !metier_fs::exists(path)))
    }

    fn load_layer(&mut self, path: &Path, scope: Scope) -> Result<Option<Layer>> {
        let bytes = read_bounded(path, metier_config::MAX_CONFIG_BYTES as u64 + 1);
        let missing = matches!(&bytes, Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound);
        // A link that leads nowhere is a configuration that cannot be read, at its end or on the way.
        let missing = missing && metier_fs::entry_kind(path).is_none() && !is_cut_off(path);
        self.config_files.push(ConfigFile { scope, path: path.to_owned(), exists: !missing });
        if missing {
            return Ok(None);
        }
        let shown = safe(&path.to_string_lossy()).into_owned();
        let refuse = |reason: String| {
            CommandError::failed(
                "config-unreadable",
                format!("the configuration {shown} cannot be read: {reason}"),
            )
            .help(match scope {
                Scope::Managed => ASK_THE_ADMINISTRATOR,
                _ => "mend the file or move it away; without it the defaults hold",
            })
        };
        let bytes = bytes.map_err(|error| refuse(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
        metier_config::parse(&text, &shown, scope).map(Some).map_err(config_error)
    }

    /// The roots of a command, highest priority first.
    pub(crate) fn roots(&self, find: &FindArgs) -> Vec<Root> {
        resolve(&self.places(find))
    }

    fn places(&self, find: &FindArgs) -> Places {
        let configured = |scope: Scope| {
            let roots = self.settings.skill_roots.iter().filter(move |root| root.scope == scope);
            roots.map(move |root| self.configured_path(scope, &root.path)).collect()
        };
        Places {
            working_dir: self.working_dir.clone(),
            user: self.user.clone(),
            explicit: find.roots.iter().chain(&self.more_explicit).cloned().collect(),
            configured_project: configured(Scope::Project),
            configured_user: configured(Scope::User),
            more_user: self.more_user.clone(),
        }
    }

    /// A path from a configuration file: `~/` is the home directory, a relative path starts at the
    /// project's directory or at the home directory.
    fn configured_path(&self, scope: Scope, path: &str) -> PathBuf {
        let home = self.user.as_ref().map(|user| user.home.clone());
        if let (Some(rest), Some(home)) = (path.strip_prefix("~/"), &home) {
            return home.join(rest);
        }
        let base = match scope {
            Scope::Project => self.config_dir(Scope::Project),
            Scope::Managed | Scope::User => home,
        };
        base.unwrap_or_else(|| self.working_dir.clone()).join(path)
    }

    /// The directory whose `.agent` folder holds the configuration of `scope`.
    fn config_dir(&self, scope: Scope) -> Option<PathBuf> {
        let file = self.config_files.iter().find(|file| file.scope == scope)?;
        file.path.parent()?.parent().map(Path::to_owned)
    }

    pub(crate) fn profile(&self, find: &FindArgs) -> Profile {
        find.profile.map_or(self.settings.profile, Profile::from)
    }

    pub(crate) fn scan_options(&self, find: &FindArgs) -> ScanOptions {
        let cache = self.user.as_ref().map(|user| user.cache.clone());
        ScanOptions {
            profile: self.profile(find),
            cache_folder: cache.filter(|_| !find.no_cache),
            ..self.settings.scan_options()
        }
    }

    /// Finds the skills of a command.
    pub(crate) fn scan(&self, find: &FindArgs) -> Scan {
        scan(&self.roots(find), &self.scan_options(find))
    }

    /// A registry that can be refreshed and watched.
    pub(crate) fn registry(&self, find: &FindArgs) -> Registry {
        let places = self.places(find);
        Registry::open(move || resolve(&places), self.scan_options(find))
    }
}

/// Where an administrator's configuration stands on a machine: a place that only an administrator
/// should be able to write.
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
fn machine_config() -> Option<PathBuf> {
    let folder = if cfg!(windows) {
        PathBuf::from(std::env::var_os("ProgramData")?).join("metier")
    } else if cfg!(target_os = "macos") {
        PathBuf::from("/Library/Application Support/metier")
    } else {
        PathBuf::from("/etc/metier")
    };
    Some(folder.join(CONFIG_FILE))
}

/// One more file of an administrator's, which the environment names. It adds to that of the machine,
/// so that nobody gets rid of rules by setting it. Who names one means it: it has to be there, and
/// must not depend on where the program runs.
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
fn named_config() -> Option<PathBuf> {
    std::env::var_os(MANAGED_CONFIG).filter(|file| !file.is_empty()).map(PathBuf::from)
}

fn not_there(path: &Path) -> CommandError {
    let shown = safe(&path.to_string_lossy()).into_owned();
    let reason = if path.is_absolute() { "is not there" } else { "is no absolute path" };
    CommandError::failed(
        "config-unreadable",
        format!("the configuration {shown}, which {MANAGED_CONFIG} names, {reason}"),
    )
    .help(ASK_THE_ADMINISTRATOR)
}

/// The value of an environment variable that a script was promised.
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub(crate) fn promised_variable(name: &str) -> Option<String> {
    std::env::var_os(name)?.into_string().ok()
}

/// Where the user's programs are.
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub(crate) fn program_dirs() -> Vec<PathBuf> {
    path_list(std::env::var_os("PATH").as_deref())
}

/// This program, which is also the helper of the sandbox.
pub(crate) fn own_binary() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| {
        CommandError::failed("no-helper", format!("this program cannot find itself: {error}"))
    })
}

/// Whether a link on the way to `path` leads nowhere.
fn is_cut_off(path: &Path) -> bool {
    path.ancestors().skip(1).any(leads_nowhere)
}

/// The same for the folder that holds it alone.
fn is_cut_off_in(path: &Path) -> bool {
    path.parent().is_some_and(leads_nowhere)
}

fn leads_nowhere(path: &Path) -> bool {
    metier_fs::entry_kind(path) == Some(metier_fs::EntryKind::Link)
        && metier_fs::canonical(path).is_err()
}

fn enter(directory: &Path) -> Result<PathBuf> {
    let shown = safe(&directory.to_string_lossy()).into_owned();
    let real = metier_fs::canonical(directory)
        .map_err(|error| CommandError::usage(format!("cannot work in {shown}: {error}")))?;
    if metier_fs::is_dir(&real) {
        return Ok(real);
    }
    Err(CommandError::usage(format!("cannot work in {shown}: it is not a directory")))
}

fn path_list(value: Option<&OsStr>) -> Vec<PathBuf> {
    let paths = value.map(std::env::split_paths).into_iter().flatten();
    paths.filter(|path| !path.as_os_str().is_empty()).collect()
}

pub(crate) fn config_error(errors: Vec<ConfigError>) -> CommandError {
    let fault = |error: ConfigError| Fault {
        code: error.code(),
        file: error.file,
        line: error.line,
        column: error.column,
        message: error.message,
        help: Some(error.help).filter(|help| !help.is_empty()),
    };
    CommandError::faulty(errors.into_iter().map(fault).collect()).unwrap_or_else(|| {
        CommandError::failed("config-syntax", "the configuration cannot be read")
    })
}
