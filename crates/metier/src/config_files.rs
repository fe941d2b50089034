//! The configuration files of a working directory: where they are, and what they come to.
//!
//! A file that cannot be read stops everything: it never means "no rules". An administrator's file
//! is read whatever a program or the environment says.

use std::path::{Path, PathBuf};

use metier_config::{Layer, Scope, Settings};
use metier_fs::{
    ForeignAccess, ReadError, UserFolders, read_bounded, writable_by_others,
    writable_by_others_below,
};
use metier_registry::roots::repository_top;

use crate::environment::Environment;
use crate::error::{Error, Result};

/// The folder of a project's own configuration, skills and runs.
pub(crate) const AGENT_FOLDER: &str = ".agent";
pub(crate) const CONFIG_FILE: &str = "config.json";
/// Names under which people expect configuration to be read.
const UNREAD_FILES: [&str; 5] =
    ["config.toml", "config.yaml", "config.yml", "config.jsonc", "config.json5"];
const MANAGED_CONFIG: &str = "METIER_MANAGED_CONFIG";
const ASK_THE_ADMINISTRATOR: &str =
    "ask the administrator of this machine; nothing runs without their rules";

/// A place where configuration may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigFile {
    /// Whose file it is.
    pub scope: Scope,
    /// Where it is.
    pub path: PathBuf,
    /// Whether it exists.
    pub exists: bool,
    /// Why it is not used, where it is above the working directory and other accounts can write it.
    pub skipped: Option<ForeignAccess>,
}

impl ConfigFile {
    /// Whether its settings count, if it exists.
    pub fn is_used(&self) -> bool {
        self.skipped.is_none()
    }

    /// What the user is to know about a file that is not used.
    pub(crate) fn skipped_warning(&self) -> Option<String> {
        let access = self.skipped.as_ref()?;
        let path = self.path.display();
        Some(format!("{path} is not used: {access}; to use it: {}", access.remedy()))
    }
}

/// The files that were looked for, and the settings that they come to. The `dirs` are the project's,
/// from the working directory upwards.
pub(crate) fn load(
    working_dir: &Path,
    dirs: &[PathBuf],
    user: Option<&UserFolders>,
    protected: Option<&UserFolders>,
    environment: &Environment,
) -> Result<(Settings, Vec<ConfigFile>)> {
    let mut files = Vec::new();
    let mut managed = Vec::new();
    managed.extend(match machine_config(environment) {
        Some(path) => load_layer(&path, Scope::Managed, &mut files)?,
        None => None,
    });
    // It adds to that of the machine, so that rules cannot be dropped by setting it. A file that is
    // named has to be there, and must not depend on where the program runs.
    if let Some(path) = environment.variable(MANAGED_CONFIG).map(PathBuf::from) {
        let loaded =
            if path.is_absolute() { load_layer(&path, Scope::Managed, &mut files)? } else { None };
        managed.push(loaded.ok_or_else(|| not_there(&path))?);
    }
    let user_layer = match user.map(|user| user.agent.join(CONFIG_FILE)) {
        Some(path) => load_layer(&path, Scope::User, &mut files)?,
        None => None,
    };
    let project = match project_config(working_dir, dirs, protected, &mut files) {
        Some(path) => {
            check_inside(&path, protected)?;
            load_layer(&path, Scope::Project, &mut files)?
        }
        None => None,
    };
    let settings = Settings::merge_managed(&managed, user_layer.as_ref(), project.as_ref());
    Ok((settings, files))
}

/// The nearest project configuration, or where it would stand. The user's own file is never a
/// project's, whatever way leads to it; in the home directory there is no project. Above the working
/// directory, where no one chose it, a file that other accounts can write is skipped.
fn project_config(
    working_dir: &Path,
    dirs: &[PathBuf],
    user: Option<&UserFolders>,
    files: &mut Vec<ConfigFile>,
) -> Option<PathBuf> {
    let below = |dir: &Path| dir.join(AGENT_FOLDER).join(CONFIG_FILE);
    let real = |path: &Path| metier_fs::canonical(path).ok();
    let users = user.and_then(|user| real(&user.agent.join(CONFIG_FILE)));
    // One that cannot be read, because a link leads nowhere, is found too, and refused later.
    let is_there = |path: &PathBuf| match real(path) {
        Some(file) => Some(file) != users,
        None => metier_fs::entry_kind(path).is_some() || path.parent().is_some_and(leads_nowhere),
    };
    for dir in dirs {
        let path = below(dir);
        if !is_there(&path) {
            continue;
        }
        let foreign = writable_by_others_below(dir, &path).filter(|_| dir != working_dir);
        if foreign.is_none() {
            return Some(path);
        }
        files.push(ConfigFile { scope: Scope::Project, path, exists: true, skipped: foreign });
    }
    dirs.first().map(|dir| below(dir)).filter(|path| !metier_fs::exists(path))
}

/// A project's settings are a file of the project: one that a link takes from elsewhere is refused, so
/// that a clone cannot make a file of the user's its own settings, or have it quoted in an error.
fn check_inside(path: &Path, user: Option<&UserFolders>) -> Result<()> {
    let Some(dir) = path.parent().and_then(Path::parent) else { return Ok(()) };
    // What cannot be resolved is not there, or is refused when it is read.
    let Ok(real) = metier_fs::canonical(path) else { return Ok(()) };
    let top = repository_top(dir, user.map(|user| user.home.as_path()));
    let Ok(top) = metier_fs::canonical(top.as_deref().unwrap_or(dir)) else { return Ok(()) };
    if real.starts_with(&top) {
        return Ok(());
    }
    let message = format!(
        "the configuration {} cannot be read: a link leads out of the project, to {}",
        path.display(),
        real.display()
    );
    Err(Error::failed("config-unreadable", message)
        .with_help("replace the link by a file of the project, or remove it"))
}

/// The directory whose `.agent` folder holds the project's configuration.
pub(crate) fn project_dir(files: &[ConfigFile]) -> Option<&Path> {
    let file = files.iter().find(|file| file.scope == Scope::Project && file.is_used())?;
    file.path.parent()?.parent()
}

/// Files that look like configuration and are not read: sentences for the user, who would otherwise
/// believe in rules that do not exist.
pub(crate) fn unread_files(dirs: &[PathBuf], user: Option<&UserFolders>) -> Vec<String> {
    let folders = dirs.iter().map(|dir| dir.join(AGENT_FOLDER));
    let folders = folders.chain(user.map(|user| user.agent.clone()));
    let present = folders.filter(|folder| metier_fs::is_dir(folder));
    let files = present.flat_map(|folder| UNREAD_FILES.map(|name| folder.join(name)));
    let found = files.filter(|file| metier_fs::entry_kind(file).is_some());
    let sentence = |file: PathBuf| {
        format!("{} is not read: settings belong in {CONFIG_FILE} beside it", file.display())
    };
    found.map(sentence).collect()
}

fn load_layer(path: &Path, scope: Scope, files: &mut Vec<ConfigFile>) -> Result<Option<Layer>> {
    let bytes = read_bounded(path, metier_config::MAX_CONFIG_BYTES as u64 + 1);
    let missing =
        matches!(&bytes, Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound);
    // A link that leads nowhere is a configuration that cannot be read, at its end or on the way.
    let cut_off = || path.ancestors().skip(1).any(leads_nowhere);
    let missing = missing && metier_fs::entry_kind(path).is_none() && !cut_off();
    files.push(ConfigFile { scope, path: path.to_owned(), exists: !missing, skipped: None });
    if missing {
        return Ok(None);
    }
    let refuse = |reason: String| {
        let message = format!("the configuration {} cannot be read: {reason}", path.display());
        Error::failed("config-unreadable", message).with_help(match scope {
            Scope::Managed => ASK_THE_ADMINISTRATOR,
            _ => "fix the file or move it away; without it the defaults apply",
        })
    };
    // A project's file is its authors'. The others decide what may be done, and are their owner's alone.
    if scope != Scope::Project
        && let Some(access) = writable_by_others(path)
    {
        let reason = access.about(path);
        let message = format!("the configuration {} is not safe: {reason}", path.display());
        return Err(Error::failed("config-foreign", message).with_help(match scope {
            Scope::Managed => ASK_THE_ADMINISTRATOR.to_owned(),
            _ => format!("if what it says is yours: {}", access.remedy()),
        }));
    }
    let bytes = bytes.map_err(|error| refuse(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
    metier_config::parse(&text, &path.to_string_lossy(), scope).map(Some).map_err(Error::config)
}

/// Where an administrator's configuration stands on a machine: a place that only an administrator
/// should be able to write.
fn machine_config(environment: &Environment) -> Option<PathBuf> {
    let folder = if cfg!(windows) {
        PathBuf::from(environment.variable("ProgramData")?).join("metier")
    } else if cfg!(target_os = "macos") {
        PathBuf::from("/Library/Application Support/metier")
    } else {
        PathBuf::from("/etc/metier")
    };
    Some(folder.join(CONFIG_FILE))
}

fn not_there(path: &Path) -> Error {
    let reason = if path.is_absolute() { "does not exist" } else { "is not an absolute path" };
    let message = format!("the configuration {} ({MANAGED_CONFIG}) {reason}", path.display());
    Error::failed("config-unreadable", message).with_help(ASK_THE_ADMINISTRATOR)
}

fn leads_nowhere(path: &Path) -> bool {
    metier_fs::entry_kind(path) == Some(metier_fs::EntryKind::Link)
        && metier_fs::canonical(path).is_err()
}
