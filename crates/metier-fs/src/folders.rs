//! The user's folders: where configuration and state live.
//!
//! By default `~/.agent` and the platform's state folder; `METIER_HOME` moves all of it.
//! The environment comes in as a function, so that nothing here reads the process's own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where the user's things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFolders {
    /// The home directory, where other agents keep their folders too.
    pub home: PathBuf,
    /// Configuration and the user's own skills.
    pub agent: PathBuf,
    /// What must be kept: approvals, backups, logs.
    pub state: PathBuf,
}

impl UserFolders {
    /// The folders for `home`, all moved below `metier_home` where that is given.
    pub fn new(home: &Path, metier_home: Option<&Path>) -> Self {
        Self::with_variables(home, metier_home, &|_| None)
    }

    /// The same, where environment variables may move the state.
    pub fn with_variables(
        home: &Path,
        metier_home: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Self {
        if let Some(base) = metier_home {
            return Self {
                home: home.to_owned(),
                agent: base.to_owned(),
                state: base.join("state"),
            };
        }
        // A relative path is invalid by the XDG specification, and ignored.
        let folder = |name: &str, default: &str| {
            let named = variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
            named.unwrap_or_else(|| home.join(default)).join("metier")
        };
        let state = if cfg!(windows) {
            folder("APPDATA", "AppData/Roaming")
        } else if cfg!(target_os = "macos") {
            home.join("Library/Application Support/metier")
        } else {
            folder("XDG_STATE_HOME", ".local/state")
        };
        Self { home: home.to_owned(), agent: home.join(".agent"), state }
    }

    /// The home directory of the user who runs this process.
    pub fn home_of_process() -> Option<PathBuf> {
        std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metier_home_moves_everything_but_the_other_agents_folders() {
        let folders = UserFolders::new(Path::new("/h"), Some(Path::new("/m")));
        assert_eq!(folders.home, Path::new("/h"));
        assert_eq!(folders.agent, Path::new("/m"));
        assert!(folders.state.starts_with("/m"));
        let default = UserFolders::new(Path::new("/no/such/home"), None);
        assert_eq!(default.agent, Path::new("/no/such/home/.agent"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn xdg_variables_count_where_they_are_absolute() {
        let variable = |name: &str| match name {
            "XDG_STATE_HOME" => Some("/var/state/me".into()),
            _ => None,
        };
        let folders = UserFolders::with_variables(Path::new("/h"), None, &variable);
        assert_eq!(folders.state, Path::new("/var/state/me/metier"));
        let relative = |_: &str| Some("relative".into());
        let folders = UserFolders::with_variables(Path::new("/h"), None, &relative);
        assert_eq!(folders.state, Path::new("/h/.local/state/metier"));
    }
}
