//! The files that a trial made or changed: in its workspace, and what its scripts left. What the case brought and
//! nothing touched is none of them.
//! Checks of files ask it; it follows no links. A list that was cut says nothing of what is not in it: such a file is
//! looked for by its path, and where that is not known it is not judged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier::fs::{EntryKind, HeldDir, TreeLimits, list_files, read_bounded, read_dir_names};
use metier::skill::{Digest, WorkPath};

use super::ungraded;
use crate::case::FileCheck;
use crate::own_loop::RUNS;
use crate::score::matches_wildcard;
use crate::trial::{CheckKind, CheckOutcome, CheckResult};

/// The largest file that is searched for a text.
const MAX_BYTES: u64 = 64 << 20;
/// A trial may make far more than a skill has.
const LIMITS: TreeLimits = TreeLimits { entries: 100_000, bytes: 0, depth: 64 };
/// What is never listed, and so found only by its whole path.
const UNLISTED: [&str; 3] = [".git", "node_modules", "__pycache__"];

/// Files by the paths that a case names them by.
pub(crate) struct FilesAfterTrial<'t> {
    workspace: &'t Path,
    /// Each script of a run has a folder of its own in one of these, and what it left is in its `outputs`. The rest is
    /// the runtime's: what a tool printed, where that was long, is a file too.
    outputs: &'t [PathBuf],
    given: &'t BTreeMap<String, Digest>,
    listed: Vec<(String, PathBuf)>,
    /// Why there may be more than these.
    incomplete: Option<String>,
}

/// Whether a file of the workspace belongs to the record of the run.
fn is_of_run(name: &str) -> bool {
    name.strip_prefix(RUNS).is_some_and(|rest| rest.starts_with('/'))
}

impl<'t> FilesAfterTrial<'t> {
    /// `given` are the files of the case, with what they contained.
    pub(crate) fn of(
        workspace: &'t Path,
        outputs: &'t [PathBuf],
        given: &'t BTreeMap<String, Digest>,
    ) -> Self {
        Self::within(LIMITS, workspace, outputs, given)
    }

    fn within(
        limits: TreeLimits,
        workspace: &'t Path,
        outputs: &'t [PathBuf],
        given: &'t BTreeMap<String, Digest>,
    ) -> Self {
        let (listed, incomplete) = (Vec::new(), None);
        let mut files = Self { workspace, outputs, given, listed, incomplete };
        for name in files.list(workspace, limits) {
            let path = workspace.join(&name);
            if files.is_made(&name, &path) {
                files.listed.push((name, path));
            }
        }
        for folder in outputs.iter().filter(|folder| metier::fs::exists(folder)) {
            for path in files.list(folder, limits) {
                if let Some((_, name)) = path.split_once("/outputs/") {
                    files.listed.push((name.to_owned(), folder.join(&path)));
                }
            }
        }
        files.listed.sort();
        files
    }

    /// The regular files in a folder; notes where these are not all.
    fn list(&mut self, folder: &Path, limits: TreeLimits) -> Vec<String> {
        let (found, is_cut) = list_files(folder, limits).unwrap_or_else(|error| {
            self.incomplete = Some(format!("the files cannot be listed: {error}"));
            (Vec::new(), false)
        });
        if is_cut {
            self.incomplete = Some("there are too many files to list".to_owned());
        }
        let regular = found.into_iter().filter(|file| !file.link && !file.special);
        regular.map(|file| file.path).collect()
    }

    /// Whether a file of the workspace is neither the runtime's nor as the case brought it.
    fn is_made(&self, name: &str, path: &Path) -> bool {
        let is_as_given = self.given.get(name).is_some_and(|digest| {
            read_bounded(path, MAX_BYTES).is_ok_and(|bytes| Digest::of(&bytes) == *digest)
        });
        !is_of_run(name) && !is_as_given
    }

    /// The files that a case means, by their names.
    fn meant_by(&self, wanted: &str) -> Vec<(String, PathBuf)> {
        let fits = |name: &str| {
            let last = name.rsplit('/').next().unwrap_or_default();
            matches_wildcard(wanted, name)
                || !wanted.contains('/') && matches_wildcard(wanted, last)
        };
        let mut meant: Vec<_> = self.listed.iter().filter(|it| fits(&it.0)).cloned().collect();
        if meant.is_empty() && WorkPath::new(wanted).is_ok() {
            meant.extend(self.at(wanted).into_iter().map(|path| (wanted.to_owned(), path)));
        }
        meant
    }

    /// The files at a path, whether they are listed or not.
    fn at(&self, path: &str) -> Vec<PathBuf> {
        let is_file =
            |folder: &Path, path: &str| HeldDir::at(folder).kind(path) == Some(EntryKind::File);
        let mut found = Vec::new();
        let here = self.workspace.join(path);
        if is_file(self.workspace, path) && self.is_made(path, &here) {
            found.push(here);
        }
        for folder in self.outputs {
            let below = read_dir_names(folder).unwrap_or_default().into_iter();
            let left = below.map(|name| format!("{name}/outputs/{path}"));
            found.extend(left.filter(|it| is_file(folder, it)).map(|it| folder.join(it)));
        }
        found
    }

    /// Why a file that was not found may be there all the same.
    fn doubt(&self, wanted: &str) -> Option<String> {
        let is_pattern = wanted.contains(['*', '?']);
        let unlisted = wanted.split('/').find(|name| UNLISTED.contains(name));
        let unlisted = unlisted.filter(|_| is_pattern);
        let unlisted = unlisted.map(|name| format!("{name} is not listed: name the file"));
        self.incomplete.clone().or(unlisted)
    }

    pub(crate) fn check(&self, wanted: &FileCheck) -> CheckResult {
        let with = wanted.contains.as_ref().map_or_else(String::new, |it| format!(" with `{it}`"));
        let name = format!("the file {}{with}", wanted.path);
        let meant = self.meant_by(&wanted.path);
        let mut doubt = self.doubt(&wanted.path);
        let holds = meant.iter().any(|(name, path)| {
            let Some(part) = &wanted.contains else { return true };
            match read_bounded(path, MAX_BYTES) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).contains(part.as_str()),
                Err(error) => {
                    doubt = Some(format!("{name} cannot be read: {error}"));
                    false
                }
            }
        });
        if let (false, Some(why)) = (holds, doubt) {
            return ungraded(CheckKind::File, &name, why);
        }
        let wrong = || match meant.first() {
            Some((name, _)) => format!("{name} does not contain it"),
            None => "the trial did not make or change it".to_owned(),
        };
        CheckResult {
            kind: CheckKind::File,
            name,
            outcome: if holds { CheckOutcome::Passed } else { CheckOutcome::Failed },
            detail: if holds { String::new() } else { wrong() },
            step: None,
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a large file is made without its content")]
mod tests {
    use super::*;

    fn write(path: &Path) {
        metier::fs::write_atomic(path, b"total").expect("written");
    }

    #[test]
    fn what_the_runtime_stores_of_a_trial_is_no_file_that_it_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let observations = folder.path().join(".agent/runs/1/observations");
        write(&observations.join("0001.txt"));
        write(&observations.join("run-1/outputs/sub/report.txt"));
        write(&folder.path().join(".agent/skills/new/SKILL.md"));
        let (outputs, given) = ([observations], BTreeMap::new());
        let files = FilesAfterTrial::of(folder.path(), &outputs, &given);
        let names: Vec<&str> = files.listed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [".agent/skills/new/SKILL.md", "sub/report.txt"]);
    }

    #[test]
    fn what_a_list_that_was_cut_or_failed_does_not_have_is_looked_for_and_else_not_judged() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("workspace");
        let outputs = [folder.path().join("observations")];
        for name in ["a.txt", "b.txt", "out/c.txt", "given.txt"] {
            write(&workspace.join(name));
        }
        write(&outputs[0].join("run-1/outputs/d/e.txt"));
        let given = BTreeMap::from([("given.txt".to_owned(), Digest::of(b"total"))]);
        let check = |files: &FilesAfterTrial<'_>, path: &str, contains: Option<&str>| {
            let contains = contains.map(str::to_owned);
            files.check(&FileCheck { path: path.to_owned(), contains }).outcome
        };
        let cut = TreeLimits { entries: 1, ..LIMITS };
        let files = FilesAfterTrial::within(cut, &workspace, &outputs, &given);
        for path in ["a.txt", "out/c.txt", "d/e.txt"] {
            assert_eq!(check(&files, path, Some("tot")), CheckOutcome::Passed, "{path}");
        }
        for path in ["given.txt", "c.txt", "*.md", "../workspace/a.txt"] {
            assert_eq!(check(&files, path, None), CheckOutcome::NotGraded, "{path}");
        }
        let gone = folder.path().join("gone");
        let files = FilesAfterTrial::of(&gone, &outputs, &given);
        assert_eq!(check(&files, "e.txt", None), CheckOutcome::Passed);
        assert_eq!(check(&files, "a.txt", None), CheckOutcome::NotGraded);
        let files = FilesAfterTrial::of(&workspace, &outputs, &given);
        for path in ["given.txt", "f.txt", "*.md"] {
            assert_eq!(check(&files, path, None), CheckOutcome::Failed, "{path}");
        }
    }

    #[test]
    fn what_is_never_listed_is_found_by_its_path_and_a_large_file_is_not_judged() {
        let folder = tempfile::tempdir().expect("a folder");
        write(&folder.path().join("node_modules/x/index.js"));
        let large = std::fs::File::create(folder.path().join("large")).expect("a file");
        large.set_len(MAX_BYTES + 1).expect("a size");
        let given = BTreeMap::new();
        let files = FilesAfterTrial::of(folder.path(), &[], &given);
        let outcome = |path: &str, contains: Option<&str>| {
            let contains = contains.map(str::to_owned);
            files.check(&FileCheck { path: path.to_owned(), contains }).outcome
        };
        assert_eq!(outcome("node_modules/x/index.js", Some("total")), CheckOutcome::Passed);
        assert_eq!(outcome("node_modules/*/index.js", None), CheckOutcome::NotGraded);
        assert_eq!(outcome("node_modules/y", None), CheckOutcome::Failed);
        assert_eq!(outcome("large", Some("x")), CheckOutcome::NotGraded);
        assert_eq!(outcome("large", None), CheckOutcome::Passed);
    }
}
