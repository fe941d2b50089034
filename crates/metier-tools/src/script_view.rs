//! What a script sees of the user's files: which folders, and what in them is hidden.
//!
//! One rule for every folder beside the system's, be it the workspace, an interpreter or a
//! virtual environment. None shows the home directory, a place for keys or our own folders; keys and
//! the records of runs are hidden wherever they are. A script opens files without asking, so what cannot
//! be judged is hidden too: a folder that was not searched to its end is, and the rest stays visible.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use metier_cancel::CancelToken;
use metier_fs::{Unsearched, canonical, is_dir};
use metier_policy::{AbsolutePath, PolicyError, PolicyPlaces};
use metier_sandbox::{Located, is_system};

use crate::key_search::{FoundKeys, SearchLimits, holds_keys, search_keys};
use crate::policy_facts::absolute;
use crate::script_host::ScriptHost;

/// With more to hide than this, folders that hold several of them are hidden as a whole.
const MAX_HIDDEN: usize = 1000;

/// Warnings about single folders; more of them become one.
const MAX_WARNINGS: usize = 10;

/// What a script sees of the user's files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptView {
    /// The workspace, where it is shown.
    pub(crate) workspace: Option<PathBuf>,
    /// All that is shown.
    pub(crate) read_only: Vec<PathBuf>,
    /// What is hidden in it.
    pub(crate) hidden: Vec<PathBuf>,
    /// What nothing may show.
    pub(crate) closed: Vec<PathBuf>,
    /// What the user should know about what is not shown.
    pub(crate) warnings: Vec<String>,
}

impl ScriptView {
    /// What a run on `host` sees whose program is `located`.
    pub(crate) fn of(
        host: &ScriptHost,
        located: &Located,
        cancel: &CancelToken,
    ) -> Result<Self, PolicyError> {
        let limits = SearchLimits::default();
        let rule = RootRule::of(host)?;
        let mut view = Self { closed: rule.closed.clone(), ..Self::default() };
        // First, and with limits of their own: a huge workspace must not cost the interpreter its library.
        view.read_only = rule.interpreter(located);
        let mut found = search_keys(&outermost(&view.read_only), &rule.places, limits, cancel);
        let workspace = host.workspace.as_deref().and_then(|path| canonical(path).ok());
        view.workspace = workspace.filter(|path| is_dir(path) && rule.may_show(path));
        let outputs = host.outputs.as_deref().and_then(|path| canonical(path).ok());
        let outputs = outputs.filter(|path| is_dir(path) && view.workspace.is_some());
        let more: Vec<PathBuf> = view.workspace.iter().cloned().chain(outputs).collect();
        let in_more = search_keys(&more, &rule.places, limits, cancel);
        found.keys.extend(in_more.keys);
        found.targets.extend(in_more.targets);
        found.unsearched.extend(in_more.unsearched);
        view.read_only.extend(more);
        view.hide(found, MAX_HIDDEN);
        Ok(view)
    }

    fn hide(&mut self, found: FoundKeys, most: usize) {
        let is_inside = |path: &PathBuf| {
            self.read_only.iter().any(|root| path != root && path.starts_with(root))
        };
        let is_closed = |path: &PathBuf| self.closed.iter().any(|own| path.starts_with(own));
        let mut hidden = found.keys;
        // A link to a folder that holds a root leads to nothing that is not shown anyway.
        hidden.extend(found.targets.into_iter().filter(|path| is_inside(path) && !is_closed(path)));
        hidden.extend(found.unsearched.iter().map(|(dir, _)| dir.clone()));
        let hidden_before = hidden.len();
        let mut hidden = collapsed(hidden, &self.read_only, most);
        let own = self.closed.iter().filter(|own| is_inside(own) || is_system(own));
        hidden.extend(own.cloned());
        self.hidden = unnested(hidden, &self.read_only);
        self.warnings = warnings(&found.unsearched, self.workspace.as_deref());
        if hidden_before > most {
            let warning = "it does not see some folders: there are more than 1,000 files with keys";
            self.warnings.push(warning.to_owned());
        }
        self.read_only.retain(|root| !self.hidden.contains(root));
        let is_shown = |path: &PathBuf| !self.hidden.contains(path);
        self.workspace = self.workspace.take().filter(is_shown);
    }
}

/// One line for each folder that is hidden because it was not searched, up to a number of them.
fn warnings(unsearched: &[(PathBuf, Unsearched)], workspace: Option<&Path>) -> Vec<String> {
    let shown = |path: &Path| {
        let below = workspace.and_then(|top| path.strip_prefix(top).ok());
        let below = below.filter(|below| !below.as_os_str().is_empty());
        below.unwrap_or(path).display().to_string()
    };
    let line = |(dir, why): &(PathBuf, Unsearched)| {
        format!("the script does not see {}: {why}", shown(dir))
    };
    let mut lines: Vec<String> = unsearched.iter().take(MAX_WARNINGS).map(line).collect();
    if unsearched.len() > MAX_WARNINGS {
        let more = unsearched.len() - MAX_WARNINGS;
        lines.push(format!("nor {more} more folders that were not searched for keys"));
    }
    lines
}

/// Which folders may be shown at all.
struct RootRule {
    places: PolicyPlaces,
    /// The home directory and our own folders.
    closed: Vec<PathBuf>,
    own: Vec<PathBuf>,
}

impl RootRule {
    fn of(host: &ScriptHost) -> Result<Self, PolicyError> {
        // What is protected does not depend on the workspace.
        let mut places = PolicyPlaces::new(AbsolutePath::new("/")?);
        let home = host.search.home.as_deref().and_then(|home| canonical(home).ok());
        if let Some(home) = &home {
            places = places.with_home(absolute(home)?);
        }
        let own: Vec<PathBuf> = host.own.iter().filter_map(|path| canonical(path).ok()).collect();
        let home = home.filter(|home| !is_of_system_account(home));
        Ok(Self { places, closed: home.into_iter().chain(own.clone()).collect(), own })
    }

    /// Whether showing a folder or file shows no home directory and no place for keys.
    fn may_show(&self, path: &Path) -> bool {
        let Ok(name) = absolute(path) else { return false };
        path.parent().is_some()
            && !self.places.is_about_keys(&name)
            && !holds_keys(path, &self.places)
            && !self.closed.iter().any(|closed| closed == path)
    }

    /// What of an interpreter's installation may be shown: nothing that has to do with our own folders
    /// either. Where its folders may not be shown, the program itself may.
    fn interpreter(&self, located: &Located) -> Vec<PathBuf> {
        let is_foreign = |path: &Path| {
            let touches = |own: &PathBuf| own.starts_with(path) || path.starts_with(own);
            !self.own.iter().any(touches)
        };
        // A root is judged by where it is, so it must be there and not behind a link.
        let is_real = |path: &Path| canonical(path).is_ok_and(|real| real == path);
        let may = |path: &&PathBuf| is_real(path) && self.may_show(path) && is_foreign(path);
        let mut roots: Vec<PathBuf> = located.roots.iter().filter(may).cloned().collect();
        let program = canonical(&located.program).unwrap_or_else(|_| located.program.clone());
        let is_shown = roots.iter().any(|root| program.starts_with(root)) || is_system(&program);
        if !is_shown && may(&&program) {
            roots.push(program);
        }
        roots
    }
}

/// Whether a home directory is one of the system's own folders, as those of `bin` and `games` are.
fn is_of_system_account(home: &Path) -> bool {
    is_system(home) && home.components().count() <= 3
}

/// The folders among `roots` that are below no other.
fn outermost(roots: &[PathBuf]) -> Vec<PathBuf> {
    let is_inner = |path: &PathBuf| roots.iter().any(|root| root != path && path.starts_with(root));
    roots.iter().filter(|path| is_dir(path) && !is_inner(path)).cloned().collect()
}

/// At most `most` paths that hide what `hidden` did: where there are more, the folders that hold most of
/// them are hidden as a whole, and a root itself only when nothing else is left.
fn collapsed(mut hidden: Vec<PathBuf>, roots: &[PathBuf], most: usize) -> Vec<PathBuf> {
    hidden = unnested(hidden, roots);
    while hidden.len() > most {
        let mut families: HashMap<&Path, usize> = HashMap::new();
        let is_root = |path: &Path| roots.iter().any(|root| root == path);
        for path in hidden.iter().filter(|path| !is_root(path)) {
            *families.entry(path.parent().unwrap_or(path)).or_default() += 1;
        }
        let (mut tops, mut families): (Vec<_>, Vec<_>) =
            families.into_iter().partition(|(dir, _)| is_root(dir));
        tops.sort_unstable_by_key(|(dir, count)| (usize::MAX - count, *dir));
        families.sort_unstable_by_key(|(dir, count)| (usize::MAX - count, *dir));
        let excess = hidden.len() - most;
        let several = families.iter().take_while(|(_, count)| *count > 1);
        let mut chosen = enough(several, excess);
        if chosen.is_empty() {
            // Each alone in its folder: one step up, where they meet.
            chosen = families.iter().map(|(dir, _)| *dir).collect();
        }
        if chosen.is_empty() {
            chosen = enough(tops.iter(), excess);
        }
        if chosen.is_empty() {
            break;
        }
        let up = |path: &PathBuf| match path.parent().filter(|dir| chosen.contains(dir)) {
            Some(dir) if !is_root(path) => dir.to_owned(),
            _ => path.clone(),
        };
        hidden = unnested(hidden.iter().map(up).collect(), roots);
    }
    hidden
}

/// As many folders, with what each holds, as it takes to have `excess` paths less.
fn enough<'p>(
    families: impl Iterator<Item = &'p (&'p Path, usize)>,
    mut excess: usize,
) -> HashSet<&'p Path> {
    let mut chosen = HashSet::new();
    for (dir, count) in families {
        if excess == 0 {
            break;
        }
        chosen.insert(*dir);
        excess = excess.saturating_sub(count - 1);
    }
    chosen
}

/// The paths, sorted, without those that another one hides already. A root in between is shown, so what
/// is hidden in that counts for itself.
fn unnested(mut paths: Vec<PathBuf>, roots: &[PathBuf]) -> Vec<PathBuf> {
    paths.sort_unstable();
    let mut kept: Vec<PathBuf> = Vec::with_capacity(paths.len());
    let mut above: Option<usize> = None;
    for path in paths {
        let is_covered = above.map(|at| &kept[at]).is_some_and(|outer| {
            let is_between =
                |root: &PathBuf| path.starts_with(root) && root != outer && root.starts_with(outer);
            path.starts_with(outer) && !roots.iter().any(is_between)
        });
        if is_covered {
            continue;
        }
        // What lies in a root within a hidden folder leaves that folder the one to compare with.
        if above.is_none_or(|at| !path.starts_with(&kept[at])) {
            above = Some(kept.len());
        }
        if kept.last() != Some(&path) {
            kept.push(path);
        }
    }
    kept
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn paths(texts: &[&str]) -> Vec<PathBuf> {
        texts.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_is_hidden_already_is_not_hidden_again_unless_a_root_lies_in_between() {
        let hidden = paths(&["/w/a/b", "/w/a", "/w/a", "/w/ab", "/w/a/r/.env", "/w/a/r/x/.env"]);
        assert_eq!(unnested(hidden.clone(), &[]), paths(&["/w/a", "/w/ab"]));
        let roots = paths(&["/w", "/w/a/r"]);
        let expected = paths(&["/w/a", "/w/a/r/.env", "/w/a/r/x/.env", "/w/ab"]);
        assert_eq!(unnested(hidden.clone(), &roots), expected);
        let all = [hidden, paths(&["/w"])].concat();
        assert_eq!(unnested(all, &paths(&["/w"])), paths(&["/w"]), "a hidden root shows nothing");
    }

    #[test]
    fn too_much_to_hide_becomes_the_folders_that_hold_most_of_it() {
        let roots = paths(&["/w"]);
        let many = |folder: &str, count: usize| -> Vec<PathBuf> {
            (0..count).map(|at| format!("{folder}/.env.{at}").into()).collect()
        };
        let hidden = [many("/w/a/few", 3), many("/w/many", 20), many("/w/more", 10)].concat();
        let shown = collapsed(hidden.clone(), &roots, 33);
        assert_eq!(shown.len(), 33, "within the limit nothing changes");
        let shown = collapsed(hidden.clone(), &roots, 20);
        let expected = [many("/w/a/few", 3), paths(&["/w/many"]), many("/w/more", 10)].concat();
        assert_eq!(shown, expected);
        let shown = collapsed(hidden, &roots, 4);
        assert_eq!(shown, paths(&["/w/a/few", "/w/many", "/w/more"]));
    }

    #[test]
    fn keys_that_are_alone_in_their_folders_are_hidden_where_these_meet() {
        let roots = paths(&["/w", "/other"]);
        let alone = |top: &str| -> Vec<PathBuf> {
            (0..50).map(|at| format!("{top}/deep/{at}/x/.env").into()).collect()
        };
        let hidden = [alone("/w/a"), alone("/w/b"), paths(&["/other/.env"])].concat();
        assert_eq!(collapsed(hidden, &roots, 3), paths(&["/other/.env", "/w/a/deep", "/w/b/deep"]));
        // Only where everything lies at the top does the top go.
        let top: Vec<PathBuf> = (0..9).map(|at| format!("/w/.env.{at}").into()).collect();
        let hidden = [top, paths(&["/other/.env"])].concat();
        assert_eq!(collapsed(hidden, &roots, 3), paths(&["/other/.env", "/w"]));
    }
}
