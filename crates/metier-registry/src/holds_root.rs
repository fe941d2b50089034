//! Links that would make one skill of a folder of skills.
//!
//! `skills/loop -> .` beside a `SKILL.md`, or a link to a folder above a root that has one: such a skill
//! would hold other skills, and read, copy and vouch for their files as its own. It is refused. A root
//! that was named and is a skill itself is what its user says it is, and stays; so does whatever lies
//! in a root without a link.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use metier_fs::{Dir, FileId, canonical, directory_id};
use metier_skill::Code;

use crate::precedence::Candidate;
use crate::report::Ignored;
use crate::roots::Root;

/// Takes the skills out of `candidates` that a link leads to and that hold a root. `first` is the
/// priority of the first root.
pub(crate) fn refuse_holders(
    candidates: &mut Vec<Candidate>,
    roots: &[Root],
    first: usize,
) -> Vec<Ignored> {
    let holders = holders(candidates, roots);
    if holders.is_empty() {
        return Vec::new();
    }
    // The number of a file costs nothing to compare; the disk is asked about those that match.
    let holds = |candidate: &mut Candidate| {
        let dirs = candidate.file.and_then(|file| holders.get(&file));
        let path = candidate.entry.path.as_path();
        let root = candidate.entry.priority.checked_sub(first).and_then(|at| roots.get(at));
        dirs.is_some_and(|dirs| {
            directory_id(path).is_ok_and(|id| dirs.contains(&id))
                && !root.is_some_and(|root| is_reached_without_links(&root.path, path))
        })
    };
    let refused = candidates.extract_if(.., holds);
    let line = |candidate: Candidate| Ignored {
        path: candidate.entry.path.clone(),
        code: Code::SkillHoldsRoot,
        message: "a link leads to a folder that holds a folder of skills".into(),
        line: None,
        column: None,
    };
    refused.map(line).collect()
}

/// The `SKILL.md` files in folders that hold a root, each with the folders that it stands in.
fn holders(candidates: &[Candidate], roots: &[Root]) -> HashMap<FileId, Vec<FileId>> {
    let skills: HashSet<&Path> = candidates.iter().map(|one| one.entry.path.as_path()).collect();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let mut holders: HashMap<FileId, Vec<FileId>> = HashMap::new();
    for root in roots.iter().filter(|root| !root.absent) {
        let Ok(real) = canonical(&root.path) else { continue };
        let own = usize::from(skills.contains(root.path.as_path()));
        for dir in real.ancestors().skip(own) {
            if !seen.insert(dir.to_owned()) {
                // What is above it was looked at, too.
                break;
            }
            let Ok(opened) = Dir::open(dir) else { continue };
            let Ok(id) = opened.id() else { continue };
            for name in ["SKILL.md", "skill.md"] {
                if let Ok(stamp) = opened.stamp_below(Path::new(name)) {
                    holders.entry(stamp.id).or_default().push(id);
                }
            }
        }
    }
    holders
}

/// Whether nothing between a root and the path is a link.
fn is_reached_without_links(root: &Path, path: &Path) -> bool {
    let (Ok(real_root), Ok(real), Ok(below)) =
        (canonical(root), canonical(path), path.strip_prefix(root))
    else {
        return false;
    };
    real_root.join(below) == real
}
