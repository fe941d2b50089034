//! What a script does not see of a workspace that it may read: the files that no rule opens.
//!
//! The policy's floor refuses keys and passwords to every tool that names a file. A script names
//! none, so they are taken out of its sight. The table is `metier-policy`'s, the taking
//! `metier-sandbox`'s; here they are looked for, nearest to the top first.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use metier_fs::{EntryKind, entry_kind, read_dir_names};
use metier_policy::Places;

use crate::ground::absolute;

/// Entries that are looked at; what lies beyond them is not found.
const MOST: usize = 20_000;

/// Folders of foreign or made files, which are large and hold nobody's keys.
const PASSED: &[&str] = &[".git", "__pycache__", "node_modules"];

/// What a compiler puts into its `target`. A folder of another name must not pass by it: whoever
/// brings a project could put one beside the user's keys.
const MADE: &str = "CACHEDIR.TAG";

/// More hidden things than this are no workspace that can be shown in part.
const MOST_HIDDEN: usize = 1000;

/// The workspace that a script may see, and what below it is hidden.
pub(crate) fn sight(
    workspace: Option<PathBuf>,
    home: Option<&Path>,
) -> (Option<PathBuf>, Vec<PathBuf>) {
    let hidden = workspace.as_deref().map(|top| hidden_below(top, home)).unwrap_or_default();
    if hidden.len() > MOST_HIDDEN { (None, Vec::new()) } else { (workspace, hidden) }
}

/// The files and folders below `workspace` that nobody reads.
fn hidden_below(workspace: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Ok(top) = absolute(workspace) else { return Vec::new() };
    let mut places = Places::new(top.clone());
    if let Some(Ok(home)) = home.map(absolute) {
        places = places.with_home(home);
    }
    let mut hidden = Vec::new();
    let mut looked = 0;
    let mut folders = VecDeque::from([PathBuf::from(top.as_str())]);
    while let Some(folder) = folders.pop_front() {
        let names = read_dir_names(&folder).unwrap_or_default();
        if folder.ends_with("target") && names.iter().any(|name| name == MADE) {
            continue;
        }
        for name in names {
            looked += 1;
            if looked > MOST {
                return hidden;
            }
            let path = folder.join(&name);
            if absolute(&path).is_ok_and(|path| places.holds_keys(&path)) {
                hidden.push(path);
            } else if !PASSED.contains(&&*name) && entry_kind(&path) == Some(EntryKind::Directory) {
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
        assert_eq!(sight(Some(top.clone()), None), (Some(top.clone()), hidden));
        assert_eq!(sight(None, None), (None, Vec::new()));
        for number in 0..=MOST_HIDDEN {
            std::fs::write(top.join(format!(".env.{number}")), "x").expect("writes");
        }
        assert_eq!(sight(Some(top), None), (None, Vec::new()), "too much to hide");
    }
}
