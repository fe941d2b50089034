//! The configuration files of a working directory: where they are, and what they come to.
//!
//! A file that cannot be read stops everything: it never means "no rules". An administrator's file
//! is read whatever a program or the environment says.

use std::path::{Path, PathBuf};

use metier_config::{Layer, Scope, Settings};
use metier_fs::{ReadError, UserFolders, read_bounded};
use metier_registry::roots::project_dirs;

use crate::environment::Environment;
use crate::error::{Error, Result};

/// The folder of a project's own configuration, skills and runs.
pub(crate) const AGENT_FOLDER: &str = ".agent";
pub(crate) const CONFIG_FILE: &str = "config.json";
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
}

/// The files that were looked for, and the settings that they come to.
pub(crate) fn load(
    working_dir: &Path,
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
    let project = match project_config(working_dir, protected) {
        Some(path) => load_layer(&path, Scope::Project, &mut files)?,
        None => None,
    };
    let settings = Settings::merge_managed(&managed, user_layer.as_ref(), project.as_ref());
    Ok((settings, files))
}

/// The nearest project configuration, or where it would stand. The user's own file is never a
/// project's, whatever way leads to it; in the home directory there is no project.
fn project_config(working_dir: &Path, user: Option<&UserFolders>) -> Option<PathBuf> {
    let home = user.map(|user| user.home.as_path());
    let below = |dir: &Path| dir.join(AGENT_FOLDER).join(CONFIG_FILE);
    let real = |path: &Path| metier_fs::canonical(path).ok();
    let users = user.and_then(|user| real(&user.agent.join(CONFIG_FILE)));
    let dirs = project_dirs(working_dir, home);
    let mut files = dirs.iter().map(|dir| below(dir));
    // One that cannot be read, because a link leads nowhere, is found too, and refused later.
    let is_there = |path: &PathBuf| match real(path) {
        Some(file) => Some(file) != users,
        None => metier_fs::entry_kind(path).is_some() || path.parent().is_some_and(leads_nowhere),
    };
    let found = files.find(is_there);
    found.or_else(|| dirs.first().map(|dir| below(dir)).filter(|path| !metier_fs::exists(path)))
}

fn load_layer(path: &Path, scope: Scope, files: &mut Vec<ConfigFile>) -> Result<Option<Layer>> {
    let bytes = read_bounded(path, metier_config::MAX_CONFIG_BYTES as u64 + 1);
    let missing =
        matches!(&bytes, Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound);
    // A link that leads nowhere is a configuration that cannot be read, at its end or on the way.
    let cut_off = || path.ancestors().skip(1).any(leads_nowhere);
    let missing = missing && metier_fs::entry_kind(path).is_none() && !cut_off();
    files.push(ConfigFile { scope, path: path.to_owned(), exists: !missing });
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
