//! A path below a workspace, checked as text: rejected, never repaired.
//!
//! The rules are those of [`RelPath`](crate::RelPath), except that names may start with a dot and the
//! path may be the workspace itself. What may be read is not all that may be changed: see
//! [`WorkPath::check_change`]. The second layer, in `metier-fs`, opens it beneath the workspace.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::rel_path::{Dotfiles, PathFault, check_path};

/// Names in a path. Deeper than in a skill: packages of packages are common in a workspace.
const MAX_DEPTH: usize = 64;

/// Folders in which nothing is changed through a tool. A line in `.git/config` or a hook is run by
/// the next `git status`; `.agent` holds configuration, locks and the records of runs.
const PROTECTED_DIRS: &[&str] = &[".git", ".agent"];

/// Folders in `.agent` that are a project's own work. Whether they may be changed is for policy.
const WORK_IN_AGENT: &[&str] = &["skills", "evals"];

/// A relative path below a workspace, with `/` between names; `.` is the workspace itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct WorkPath(Box<str>);

impl WorkPath {
    /// The workspace itself.
    pub fn root() -> Self {
        Self(".".into())
    }

    /// The path in `text`. A leading `./` is dropped; nothing else is changed.
    pub fn new(text: &str) -> Result<Self, PathFault> {
        if matches!(text, "." | "./") {
            return Ok(Self::root());
        }
        check_path(text, Dotfiles::Open, MAX_DEPTH).map(|text| Self(text.into()))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the workspace itself.
    pub fn is_root(&self) -> bool {
        &*self.0 == "."
    }

    /// Its names, outermost first; none for the workspace itself.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| *name != ".")
    }

    /// The path of `name` in this directory.
    pub fn join(&self, name: &str) -> Result<Self, PathFault> {
        if name.contains('/') || name == "." {
            return Err(PathFault::Shape);
        }
        if self.is_root() { Self::new(name) } else { Self::new(&format!("{}/{name}", self.0)) }
    }

    /// Whether a tool may change what is there at all, as far as the text tells. Case does not
    /// count: on some systems `.GIT` is `.git`.
    pub fn check_change(&self) -> Result<(), PathFault> {
        if self.is_root() {
            return Err(PathFault::Empty);
        }
        let mut names = self.names().map(str::to_lowercase).peekable();
        while let Some(name) = names.next() {
            if !PROTECTED_DIRS.contains(&name.as_str()) {
                continue;
            }
            let work = name == ".agent"
                && names.peek().is_some_and(|next| WORK_IN_AGENT.contains(&next.as_str()));
            if !work {
                return Err(PathFault::Guarded);
            }
        }
        Ok(())
    }
}

impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<'de> Deserialize<'de> for WorkPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_paths_and_dotfiles_pass_unchanged() {
        for path in [".", "a", ".github/workflows/ci.yml", ".env", "src/main.rs", ".git/HEAD"] {
            assert_eq!(WorkPath::new(path).map(|p| p.to_string()), Ok(path.to_owned()));
        }
        assert!(WorkPath::new("./").expect("the workspace").is_root());
        assert_eq!(WorkPath::root().join("a").expect("a path").as_str(), "a");
        assert_eq!(WorkPath::root().names().count(), 0);
    }

    #[test]
    fn what_means_something_else_somewhere_is_refused() {
        for (bad, fault) in [
            ("", PathFault::Empty),
            ("..", PathFault::Parent),
            ("a/../b", PathFault::Parent),
            ("a/\u{ff0e}\u{ff0e}/b", PathFault::Parent),
            ("/etc/passwd", PathFault::Absolute),
            ("C:\\x", PathFault::Absolute),
            ("\\\\server\\share", PathFault::Absolute),
            ("a\\b", PathFault::Separator),
            ("ab:c", PathFault::Separator),
            ("a\0b", PathFault::Hidden),
            ("a\nb", PathFault::Hidden),
            // Some file systems ignore these characters, so that both are `.git`.
            ("\u{feff}.git/config", PathFault::Hidden),
            (".g\u{200f}it/hooks/\u{5d0}", PathFault::Hidden),
            ("x/NUL", PathFault::Reserved),
            ("GIT~1/config", PathFault::Reserved),
            ("a//b", PathFault::Shape),
            ("a/", PathFault::Shape),
            ("a/./b", PathFault::Shape),
            (".git /x", PathFault::Blank),
            (".git./x", PathFault::Blank),
        ] {
            assert_eq!(WorkPath::new(bad), Err(fault), "{bad:?}");
        }
        assert_eq!(WorkPath::new(&"a/".repeat(70)), Err(PathFault::Shape));
        assert_eq!(WorkPath::new(&["a"; 65].join("/")), Err(PathFault::TooLong));
    }

    #[test]
    fn version_control_and_our_own_files_are_not_changed() {
        let change = |path: &str| WorkPath::new(path).expect("a path").check_change();
        for guarded in [
            ".git",
            ".GIT/config",
            "sub/.git/hooks/pre-commit",
            ".agent/config.json",
            ".Agent/runs/1/events.jsonl",
            ".agent",
            ".agent/skills/x/.git/config",
        ] {
            assert_eq!(change(guarded), Err(PathFault::Guarded), "{guarded}");
        }
        for open in ["a", ".github/x", ".gitignore", ".agent/skills/x/SKILL.md", ".agents/x"] {
            assert_eq!(change(open), Ok(()), "{open}");
        }
        assert_eq!(change("."), Err(PathFault::Empty));
    }

    proptest! {
        #[test]
        fn a_path_never_leaves_and_never_changes(
            text in "[\\PC/.\\\\:~\u{202e}\u{200b}\u{ff0e}\u{ff0f} ]{0,24}",
        ) {
            if let Ok(path) = WorkPath::new(&text) {
                let dotted = format!("./{path}");
                prop_assert!(text == path.as_str() || text == dotted || path.is_root());
                prop_assert!(path.names().all(|name| !name.is_empty() && name != ".."));
                prop_assert!(!path.as_str().starts_with('/') && !path.as_str().contains('\\'));
                prop_assert_eq!(WorkPath::new(path.as_str()), Ok(path.clone()));
            }
        }

        #[test]
        fn whatever_a_skill_may_name_a_workspace_may_too(text in "[a-z./: ]{0,16}") {
            if let Ok(path) = crate::RelPath::new(&text) {
                prop_assert_eq!(WorkPath::new(&text).map(|p| p.to_string()), Ok(path.to_string()));
            }
        }
    }
}
