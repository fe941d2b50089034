//! Which files of a readable workspace are hidden from scripts: those that no rule can open.
//!
//! The policy's built-in refusals keep keys and passwords from every tool that names a file. A script
//! opens files without asking, so these files are hidden from it. `metier-policy` has the list of
//! names and `metier-sandbox` hides them; this module finds them, nearest to the top first.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use metier_fs::{EntryKind, entry_kind, read_dir_names};
use metier_policy::PolicyPlaces;

use crate::policy_facts::absolute;

/// Entries that are checked. Keys beyond them are not found, so the walk is breadth-first: they are
/// usually near the top.
const MAX_ENTRIES: usize = 20_000;

/// Folders of downloaded or generated files: large, and not where keys are kept.
const SKIPPED_DIRS: &[&str] = &[".git", "__pycache__", "node_modules"];

/// Marks a build directory. It is honoured only in a folder called `target`: otherwise a cloned
/// project could expose the user's keys by putting this file beside them.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// With more to hide than this, the workspace is not shown at all.
const MAX_HIDDEN: usize = 1000;

/// The workspace that a script may see, and the paths in it that are hidden.
pub(crate) fn visible_workspace(
    workspace: Option<PathBuf>,
    home: Option<&Path>,
) -> (Option<PathBuf>, Vec<PathBuf>) {
    let hidden = workspace.as_deref().map(|top| hidden_below(top, home)).unwrap_or_default();
    if hidden.len() > MAX_HIDDEN { (None, Vec::new()) } else { (workspace, hidden) }
}

/// The files and folders below `workspace` that hold keys or passwords.
fn hidden_below(workspace: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Ok(top) = absolute(workspace) else { return Vec::new() };
    let mut places = PolicyPlaces::new(top.clone());
    if let Some(Ok(home)) = home.map(absolute) {
        places = places.with_home(home);
    }
    let mut hidden = Vec::new();
    let mut seen = 0;
    let mut folders = VecDeque::from([PathBuf::from(top.as_str())]);
    while let Some(folder) = folders.pop_front() {
        let names = read_dir_names(&folder).unwrap_or_default();
        if folder.ends_with("target") && names.iter().any(|name| name == CACHE_TAG) {
            continue;
        }
        for name in names {
            seen += 1;
            if seen > MAX_ENTRIES {
                return hidden;
            }
            let path = folder.join(&name);
            if absolute(&path).is_ok_and(|path| places.holds_keys(&path)) {
                hidden.push(path);
            } else if !SKIPPED_DIRS.contains(&&*name)
                && entry_kind(&path) == Some(EntryKind::Directory)
            {
                folders.push_back(path);
            }
        }
    }
    hidden
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes files")]
    fn keys_are_found_at_any_depth_and_templates_and_links_are_not_followed() {
        let dir = tempfile::tempdir().expect("dir");
        let top = dir.path().canonicalize().expect("real");
        for folder in ["a/b/c", "node_modules/x", "venv"] {
            std::fs::create_dir_all(top.join(folder)).expect("makes");
        }
        let files =
            [".env", "a/b/c/.ENV.local", "a/.env.example", "a/code.rs", "node_modules/x/.env"];
        for file in files {
            std::fs::write(top.join(file), "x").expect("writes");
        }
        std::os::unix::fs::symlink("..", top.join("a/up")).expect("links");
        let hidden = vec![top.join(".env"), top.join("a/b/c/.ENV.local")];
        assert_eq!(visible_workspace(Some(top.clone()), None), (Some(top.clone()), hidden));
        assert_eq!(visible_workspace(None, None), (None, Vec::new()));
        for number in 0..=MAX_HIDDEN {
            std::fs::write(top.join(format!(".env.{number}")), "x").expect("writes");
        }
        assert_eq!(visible_workspace(Some(top), None), (None, Vec::new()), "too much to hide");
    }
}
