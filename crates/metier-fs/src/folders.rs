//! The user's folders: where configuration, state and cache live.
//!
//! By default `~/.agent` and the XDG cache and state folders; `METIER_HOME` moves all of it. The
//! environment is read by the caller and handed in, so that a library user decides.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::file::canonical;

/// Where the user's things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFolders {
    /// The home directory, where other agents keep their folders too.
    pub home: PathBuf,
    /// Configuration and the user's own skills.
    pub agent: PathBuf,
    /// What can be made again.
    pub cache: PathBuf,
    /// What must be kept: approvals, backups, logs.
    pub state: PathBuf,
}

impl UserFolders {
    /// The folders for `home`, all moved below `metier_home` where that is given.
    pub fn new(home: &Path, metier_home: Option<&Path>) -> Self {
        if let Some(base) = metier_home {
            return Self {
                home: home.to_owned(),
                agent: base.to_owned(),
                cache: base.join("cache"),
                state: base.join("state"),
            };
        }
        let base = etcetera::base_strategy::choose_native_strategy().ok();
        // The strategy reads XDG variables; it counts only for the home it was made for.
        let base = base.filter(|base| is_same(base.home_dir(), home));
        let (cache, state) = match base {
            Some(base) => (base.cache_dir(), base.state_dir().unwrap_or_else(|| base.data_dir())),
            None => (home.join(".cache"), home.join(".local/state")),
        };
        Self {
            home: home.to_owned(),
            agent: home.join(".agent"),
            cache: cache.join("metier"),
            state: state.join("metier"),
        }
    }

    /// The home directory of the user who runs this process.
    pub fn home_of_process() -> Option<PathBuf> {
        etcetera::home_dir().ok()
    }
}

/// Whether two paths lead to one place: the caller may know the home directory without links.
fn is_same(a: &Path, b: &Path) -> bool {
    a == b || canonical(a).is_ok_and(|a| canonical(b).is_ok_and(|b| a == b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metier_home_moves_everything_but_the_other_agents_folders() {
        let folders = UserFolders::new(Path::new("/h"), Some(Path::new("/m")));
        assert_eq!(folders.home, Path::new("/h"));
        assert_eq!(folders.agent, Path::new("/m"));
        assert!(folders.cache.starts_with("/m") && folders.state.starts_with("/m"));
        let default = UserFolders::new(Path::new("/no/such/home"), None);
        assert_eq!(default.agent, Path::new("/no/such/home/.agent"));
    }
}
