//! The files that a trial made or changed: in its workspace, and what its scripts left. What the case brought and
//! nothing touched is none of them.
//! Checks of files ask it; it follows no links.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier::fs::{TreeLimits, list_files, read_bounded};
use metier::skill::Digest;

use crate::case::FileCheck;
use crate::score::matches_wildcard;
use crate::trial::{CheckKind, CheckOutcome, CheckResult};

/// The largest file that is searched for a text.
const MAX_BYTES: u64 = 64 << 20;

/// Files by the paths that a case names them by.
pub(crate) struct FilesAfterTrial(Vec<(String, PathBuf)>);

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
                if !is_output && is_as_given(&file.path, &path) {
                    continue;
                }
                // Below the outputs of a run each script has a folder of its own.
                let name = if is_output {
                    file.path.split_once("/outputs/").map_or(file.path.as_str(), |(_, rest)| rest)
                } else {
                    &file.path
                };
                files.push((name.to_owned(), path));
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
