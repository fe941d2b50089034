//! What a plan saw, looked at again before it is carried out: a person may take hours to say yes.
//!
//! What was edited meanwhile is not replaced, and what was put into staging meanwhile is not installed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier_fs::{EntryKind, TreeReader, is_real_dir};
use metier_registry::parallel;
use metier_skill::{Digest, Profile};

use crate::directory::read_directory;
use crate::error::PackError;
use crate::left_out::{LeftOut, LeftOutReason};
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::records::Records;
use crate::shipped_tree::ShippedTree;
use crate::standing::Standing;
use crate::target::Staging;

/// From how many skills on another core is worth its start.
const SKILLS_PER_CORE: usize = 4;

/// What is read of a file at a time.
const BUFFER_BYTES: usize = 64 << 10;

/// What stood in a skill's place.
#[derive(Debug)]
pub(crate) struct SeenSkill {
    pub(crate) name: String,
    /// `None` where it could not be read as a tree.
    tree: Option<SeenTree>,
    limits: PackLimits,
}

/// The digest of a tree, and what is beside it that is not made again by itself.
type SeenTree = (Digest, Vec<LeftOut>);

/// What the records said of the skills of a plan: they may be changed as well while it waits.
#[derive(Debug, Default)]
pub(crate) struct SeenRecords {
    records: Option<Records>,
    /// Whether the plan is about all that they say.
    is_about_all: bool,
}

impl SeenRecords {
    /// Of a plan about some of the skills.
    pub(crate) fn of_some(records: Records) -> Self {
        Self { records: Some(records), is_about_all: false }
    }

    /// Of a plan to install exactly these.
    pub(crate) fn of_all(records: Records) -> Self {
        Self { records: Some(records), is_about_all: true }
    }

    /// Whether `now` says the same of the skills of these names.
    pub(crate) fn holds<'n>(
        &self,
        now: &Records,
        mut names: impl Iterator<Item = &'n String>,
    ) -> bool {
        let Some(seen) = &self.records else { return true };
        if self.is_about_all {
            return *seen == *now;
        }
        names.all(|name| {
            seen.lock.skills.get(name) == now.lock.skills.get(name)
                && seen.wanted.skills.get(name) == now.wanted.skills.get(name)
        })
    }
}

/// A new tree in the staging directory.
#[derive(Debug)]
pub(crate) struct StagedSkill {
    pub(crate) name: String,
    /// Its directory in the staging directory.
    dir: PathBuf,
    files: BTreeMap<String, StagedFile>,
}

#[derive(Debug)]
struct StagedFile {
    digest: Digest,
    executable: bool,
}

impl SeenSkill {
    pub(crate) fn new(name: &str, standing: &Standing) -> Self {
        let tree = standing.tree.as_ref().map(seen_tree);
        Self { name: name.to_owned(), tree, limits: standing.limits }
    }

    fn is_as_seen(&self, root: &Path) -> bool {
        let (place, outgoing) = (root.join(&self.name), Outgoing::nowhere(Profile::Lenient));
        // What a link leads to is not what stands there.
        let now = is_real_dir(&place).then(|| read_directory(&place, &self.limits, outgoing).ok());
        now.flatten().as_ref().map(seen_tree) == self.tree
    }
}

fn seen_tree(tree: &ShippedTree) -> SeenTree {
    use LeftOutReason::{Cache, Debris};
    let counts = |left: &&LeftOut| !matches!(left.reason, Cache | Debris);
    (tree.digest(), tree.left_out.iter().filter(counts).cloned().collect())
}

impl StagedSkill {
    pub(crate) fn new(name: &str, dir: &Path, tree: &ShippedTree) -> Self {
        let files = tree.files.iter().map(|file| {
            let staged = StagedFile { digest: file.digest, executable: file.executable };
            (file.path.clone(), staged)
        });
        Self { name: name.to_owned(), dir: dir.to_owned(), files: files.collect() }
    }

    /// Whether there are the files that were written, and no other. Each is read again: it was written just before, and
    /// two changes within one step of a file system's clock look the same.
    fn is_as_written(&self, staging: &Path, buffer: &mut [u8]) -> bool {
        let dir = staging.join(&self.dir);
        let Ok(tree) = TreeReader::open(&dir) else { return false };
        let Ok(listing) = tree.list(usize::MAX, |_| true) else { return false };
        let mut found = 0;
        for node in listing.nodes {
            match node.kind {
                EntryKind::Directory => continue,
                EntryKind::File => found += 1,
                _ => return false,
            }
            let Some(file) = self.files.get(&node.path) else { return false };
            let Ok(opened) = tree.open_file(&node.path) else { return false };
            let is_same = (opened.executable == file.executable || cfg!(not(unix)))
                && opened.links == 1
                && Digest::of_reader_in(opened.file, buffer)
                    .is_ok_and(|(digest, _)| digest == file.digest);
            if !is_same {
                return false;
            }
        }
        found == self.files.len()
    }
}

/// Everything is as the plan saw it; or an error names what is not.
pub(crate) fn check_seen(
    root: &Path,
    seen: &[SeenSkill],
    staging: &Staging,
    staged: &[StagedSkill],
) -> Result<(), PackError> {
    let is_as_seen = |(): &mut (), skill: &SeenSkill| skill.is_as_seen(root);
    let same = parallel::map(seen.iter().collect(), SKILLS_PER_CORE, || (), is_as_seen);
    if let Some((skill, _)) = seen.iter().zip(same).find(|(_, is_same)| !is_same) {
        return Err(PackError::TargetChanged(root.join(&skill.name)));
    }
    let is_as_written =
        |buffer: &mut Vec<u8>, skill: &StagedSkill| skill.is_as_written(staging.path(), buffer);
    let buffer = || vec![0; BUFFER_BYTES];
    let same = parallel::map(staged.iter().collect(), SKILLS_PER_CORE, buffer, is_as_written);
    match staged.iter().zip(same).find(|(_, is_same)| !is_same) {
        Some((skill, _)) => Err(PackError::TargetChanged(staging.path().join(&skill.dir))),
        None => Ok(()),
    }
}
