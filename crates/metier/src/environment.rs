//! The environment as a value: variables and the home directory, read once and handed down.
//!
//! [`Environment::of_process`] is the only place in the libraries that looks at the process's own
//! environment. Everything else takes what is in here, so that a server or a test decides what its
//! runs see.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use metier_fs::UserFolders;

/// Environment variables and the home directory.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    home: Option<PathBuf>,
}

impl Environment {
    /// No variables and no home directory: no user folders, no `PATH`, no keys.
    pub fn empty() -> Self {
        Self::default()
    }

    /// What this process was started with.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        Self { variables: std::env::vars_os().collect(), home: UserFolders::home_of_process() }
    }

    /// Sets a variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sets the home directory.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The home directory.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// A variable; one that is empty counts as not set.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(OsStr::new(name)).map(OsString::as_os_str);
        value.filter(|value| !value.is_empty())
    }

    /// A variable as text; nothing where it is not text. An empty one is an empty text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.variables.get(OsStr::new(name))?.to_str().map(str::to_owned)
    }

    /// The paths in a variable such as `PATH`.
    pub(crate) fn paths(&self, name: &str) -> Vec<PathBuf> {
        let paths = self.variable(name).map(std::env::split_paths).into_iter().flatten();
        paths.filter(|path| !path.as_os_str().is_empty()).collect()
    }
}

impl std::fmt::Debug for Environment {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment")
            .field("home", &self.home)
            .field("variables", &self.variables.keys())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_not_set_and_values_stay_out_of_debug_output() {
        let environment = Environment::empty().with("EMPTY", "").with("TOKEN", "s3cret");
        assert_eq!(environment.variable("EMPTY"), None);
        assert_eq!(environment.text("TOKEN").as_deref(), Some("s3cret"));
        assert!(!format!("{environment:?}").contains("s3cret"));
    }
}
