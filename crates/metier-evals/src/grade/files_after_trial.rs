//! The files that a trial made or changed: in its workspace, and what its scripts left. What the case brought and
//! nothing touched is none of them.
//! Checks of files ask it; it follows no links.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier::fs::{TreeLimits, list_files, read_bounded};
use metier::skill::Digest;

use crate::case::FileCheck;
use crate::own_loop::RUNS;
use crate::score::matches_wildcard;
use crate::trial::{CheckKind, CheckOutcome, CheckResult};

/// The largest file that is searched for a text.
const MAX_BYTES: u64 = 64 << 20;

/// Files by the paths that a case names them by.
pub(crate) struct FilesAfterTrial(Vec<(String, PathBuf)>);

/// Whether a file of the workspace belongs to the record of the run.
fn is_of_run(name: &str) -> bool {
    name.strip_prefix(RUNS).is_some_and(|rest| rest.starts_with('/'))
}

impl FilesAfterTrial {
    /// `given` are the files of the case, with what they contained.
    pub(crate) fn of(
        workspace: &Path,
        outputs: &[PathBuf],
        given: &BTreeMap<String, Digest>,
    ) -> Self {
        let is_as_given = |name: &str, path: &Path| {
            given.get(name).is_some_and(|digest| {
                read_bounded(path, MAX_BYTES).is_ok_and(|bytes| Digest::of(&bytes) == *digest)
            })
        };
        let mut files: Vec<(String, PathBuf)> = Vec::new();
        for (folder, is_output) in
            std::iter::once((workspace, false)).chain(outputs.iter().map(|it| (&**it, true)))
        {
            let (found, _) = list_files(folder, TreeLimits::default()).unwrap_or_default();
            for file in found.into_iter().filter(|file| !file.link && !file.special) {
                let path = folder.join(&file.path);
                // Each script of a run has a folder of its own, and what it left is in its `outputs`. The rest is
                // the runtime's: what a tool printed, where that was long, is a file too.
                let name = if is_output {
                    file.path.split_once("/outputs/").map(|(_, rest)| rest)
                } else {
                    let is_left = !is_of_run(&file.path) && !is_as_given(&file.path, &path);
                    is_left.then_some(file.path.as_str())
                };
                files.extend(name.map(|name| (name.to_owned(), path.clone())));
            }
        }
        files.sort();
        Self(files)
    }

    pub(crate) fn check(&self, wanted: &FileCheck) -> CheckResult {
        let mut fitting = self.0.iter().filter(|(name, _)| {
            let last = name.rsplit('/').next().unwrap_or_default();
            matches_wildcard(&wanted.path, name)
                || !wanted.path.contains('/') && matches_wildcard(&wanted.path, last)
        });
        let holds = |path: &Path| match &wanted.contains {
            None => true,
            Some(part) => read_bounded(path, MAX_BYTES)
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(part.as_str())),
        };
        let wrong = match (fitting.clone().next(), fitting.any(|(_, path)| holds(path))) {
            (_, true) => None,
            (Some((name, _)), false) => Some(format!("{name} does not contain it")),
            (None, false) => Some("the trial did not make or change it".to_owned()),
        };
        let with = wanted.contains.as_ref().map_or_else(String::new, |it| format!(" with `{it}`"));
        CheckResult {
            kind: CheckKind::File,
            name: format!("the file {}{with}", wanted.path),
            outcome: if wrong.is_none() { CheckOutcome::Passed } else { CheckOutcome::Failed },
            detail: wrong.unwrap_or_default(),
            step: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_runtime_stores_of_a_trial_is_no_file_that_it_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let observations = folder.path().join(".agent/runs/1/observations");
        let write = |path: PathBuf| metier::fs::write_atomic(&path, b"total").expect("written");
        write(observations.join("0001.txt"));
        write(observations.join("run-1/outputs/sub/report.txt"));
        write(folder.path().join(".agent/skills/new/SKILL.md"));
        let outputs = [observations];
        let files = FilesAfterTrial::of(folder.path(), &outputs, &BTreeMap::new());
        let names: Vec<&str> = files.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [".agent/skills/new/SKILL.md", "sub/report.txt"]);
    }
}
