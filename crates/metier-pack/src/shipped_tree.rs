//! The files of a skill, or of several, with their digests: what was unpacked, copied or found.
//!
//! One digest stands for a whole tree. It covers names, bytes and execute bits, and nothing that a
//! checkout loses: no times, no owners, no empty directories. Its definition is in `docs/shipping.md`, so
//! that anyone can compute it.

use std::collections::BTreeSet;
use std::sync::Arc;

use metier_scan::InspectedFile;
use metier_skill::Digest;
use serde::Serialize;

use crate::facts::{SKILL_FILE, SkillFacts};
use crate::left_out::LeftOut;
use crate::pack::PackManifest;

/// The first line of what is digested: it names the definition.
const TREE_HEADER: &str = "metier-tree-1\n";

/// A file of a tree. Copies share what was read of it: one is in the tree of its source and in that of its skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ShippedFile {
    /// Its path, with `/` between names.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Whether it may be executed.
    pub executable: bool,
    /// The digest of its bytes.
    pub digest: Digest,
    /// What it says, for a `SKILL.md`.
    #[serde(skip)]
    pub(crate) facts: Option<Arc<SkillFacts>>,
    /// The list of digests, for the `manifest.json` of a pack, or why it cannot be read.
    #[serde(skip)]
    pub(crate) manifest: Option<Result<Arc<PackManifest>, &'static str>>,
    /// The bytes of a bundle of model signing.
    #[serde(skip)]
    pub(crate) bundle: Option<Arc<[u8]>>,
    /// What a scan found in it, where it was scanned.
    #[serde(skip)]
    pub(crate) inspected: Option<Arc<InspectedFile>>,
    /// Its text, where it was kept.
    #[serde(skip)]
    pub(crate) text: Option<Arc<str>>,
}

/// A tree of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ShippedTree {
    /// The files, sorted by path.
    pub(crate) files: Vec<ShippedFile>,
    /// Directories with nothing in them.
    pub(crate) empty_dirs: Vec<String>,
    /// What was there and is not part of it.
    pub(crate) left_out: Vec<LeftOut>,
}

impl ShippedTree {
    /// The tree below the directory `top`, with paths that start there; the whole tree for an empty `top`.
    pub(crate) fn below(&self, top: &str) -> Self {
        if top.is_empty() {
            return self.clone();
        }
        let inner = |path: &str| Some(path.strip_prefix(top)?.strip_prefix('/')?.to_owned());
        // They lie together: `0` comes right after `/`, and a source may hold a thousand skills.
        let (first, after) = (format!("{top}/"), format!("{top}0"));
        let start = self.files.partition_point(|file| file.path < first);
        let end = self.files.partition_point(|file| file.path < after);
        let files = self.files[start..end].iter();
        let files =
            files.filter_map(|file| Some(ShippedFile { path: inner(&file.path)?, ..file.clone() }));
        let left_out = self.left_out.iter();
        let left_out =
            left_out.filter_map(|it| Some(LeftOut { path: inner(&it.path)?, reason: it.reason }));
        Self {
            files: files.collect(),
            empty_dirs: self.empty_dirs.iter().filter_map(|dir| inner(dir)).collect(),
            left_out: left_out.collect(),
        }
    }

    /// The files of those skills whose directories are wanted.
    pub(crate) fn only(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let dir_of = |path: &str| {
            let mut dir = path;
            std::iter::from_fn(|| {
                dir = dir.rsplit_once('/')?.0;
                Some(dir.to_owned())
            })
            .collect::<Vec<_>>()
        };
        let is_skill = |dir: &str| {
            let file =
                if dir.is_empty() { SKILL_FILE.to_owned() } else { format!("{dir}/{SKILL_FILE}") };
            self.files.binary_search_by(|it| it.path.as_str().cmp(&file)).is_ok()
        };
        let is_in = |path: &str| {
            dir_of(path).iter().any(|dir| is_skill(dir) && is_wanted(dir))
                || (is_skill("") && is_wanted(""))
        };
        Self {
            files: self.files.iter().filter(|file| is_in(&file.path)).cloned().collect(),
            empty_dirs: self.empty_dirs.iter().filter(|dir| is_in(dir)).cloned().collect(),
            left_out: self.left_out.iter().filter(|it| is_in(&it.path)).cloned().collect(),
        }
    }

    /// The digest of the tree.
    pub(crate) fn digest(&self) -> Digest {
        tree_digest(
            self.files.iter().map(|file| (file.path.as_str(), file.executable, file.digest)),
        )
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// The digest of files in the order of their paths: a line for each, after a line that names the
/// definition.
pub(crate) fn tree_digest<'f>(files: impl Iterator<Item = (&'f str, bool, Digest)>) -> Digest {
    let mut lines = TREE_HEADER.as_bytes().to_owned();
    for (path, executable, digest) in files {
        lines.extend_from_slice(if executable { b"755 " } else { b"644 " });
        lines.extend_from_slice(&digest.to_text());
        lines.push(b' ');
        // Paths hold no line breaks: names with control characters are refused everywhere.
        lines.extend_from_slice(path.as_bytes());
        lines.push(b'\n');
    }
    Digest::of(&lines)
}

/// Every directory that these files and directories need, outermost first.
pub(crate) fn needed_dirs<'p>(
    files: impl Iterator<Item = &'p str>,
    dirs: impl Iterator<Item = &'p str>,
) -> BTreeSet<&'p str> {
    let mut needed = BTreeSet::new();
    let above_files = files.filter_map(|file| Some(file.rsplit_once('/')?.0));
    for dir in above_files.chain(dirs) {
        let mut at = Some(dir);
        while let Some(dir) = at {
            if !needed.insert(dir) {
                break;
            }
            at = dir.rsplit_once('/').map(|(above, _)| above);
        }
    }
    needed
}

/// Those of `dirs` that hold neither a file nor another directory.
pub(crate) fn empty_dirs<'p>(
    files: impl Iterator<Item = &'p str>,
    dirs: impl Iterator<Item = &'p str> + Clone,
) -> Vec<String> {
    let parents = |path: &'p str| path.rsplit_once('/').map(|(above, _)| above);
    let used: BTreeSet<&str> = files.chain(dirs.clone()).filter_map(parents).collect();
    dirs.filter(|dir| !used.contains(dir)).map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_documented_one() {
        let digest = Digest::of(b"x");
        let text = format!("metier-tree-1\n644 {digest} SKILL.md\n755 {digest} scripts/a b.sh\n");
        let files = [("SKILL.md", false, digest), ("scripts/a b.sh", true, digest)];
        assert_eq!(tree_digest(files.into_iter()), Digest::of(text.as_bytes()));
    }

    #[test]
    fn directories_are_made_from_the_outside_in_and_empty_ones_are_known() {
        let dirs = needed_dirs(["a/b/c/x", "y"].into_iter(), ["a/e", "z"].into_iter());
        assert_eq!(dirs.into_iter().collect::<Vec<_>>(), ["a", "a/b", "a/b/c", "a/e", "z"]);
        let dirs = ["a", "a/b", "a/e", "z"];
        assert_eq!(empty_dirs(["a/b/x"].into_iter(), dirs.into_iter()), ["a/e", "z"]);
    }
}
