//! Which of several skills of one name counts. Pure: values in, values out.
//!
//! What is on comes before what is off; then the higher root wins; inside a root the folder that has the
//! skill's name, then the later modification, then the path's order. The result does not depend on
//! the order of the input: property tests say so. What one real directory or a
//! byte-identical copy reaches twice is one entry with several paths. A plugin's skill that clashes
//! keeps a place of its own under `plugin:name`.
//!
//! Why this order. The root decides first because it says who put the skill there: a folder named on
//! the command line, then the project, then the user, then plugins, then what is compiled in. Inside a
//! root the name of the folder comes before the time: an author who adds `cute-cats/` with `name: pdf` must
//! not take over `pdf/`, which people see in their folder of skills. Between two that both match, or
//! both do not, the later one is taken for the newer version, and the path's order is only there so that
//! two runs agree. Anything else a skill says about itself (a version, a priority) must not count, or a
//! cloned repository could take the place of a user's skill in the user's own root; it can shadow one
//! from the project's root, which is why every conflict is reported
//! with its reason. Links are merged before names are compared: one folder reached twice is no rival of
//! itself. Copies are merged only where every byte is the same (`same_tree`), because a skill that
//! equals another in its frontmatter alone is how one would smuggle other scripts in under a known
//! name. The disk is asked last and rarely: in a real collection one skill in eight shares its name, so
//! only files with the same number are checked for links, only candidates with the same digest are
//! compared, with the best eight at most, and within a budget of bytes for the whole scan; when that is
//! spent, a copy is called a rival, which loses nothing.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use metier_fs::FileId;

use crate::index::{Duplicate, Entry, SwitchedSkill};
use crate::parallel;
use crate::report::{Conflict, ShadowReason, Shadowed};

/// A valid skill as a walk found it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) entry: Arc<Entry>,
    /// Which file its `SKILL.md` is; `None` for a compiled-in one. Only a hint: the number of a
    /// deleted file is given out again.
    pub(crate) file: Option<FileId>,
    /// Whether a link leads to it: a real path is shown rather than a link.
    pub(crate) via_link: bool,
    /// The plugin it belongs to.
    pub(crate) plugin: Option<Box<str>>,
}

/// The skills that count, the ones they shadow, and the account of it.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) shadowed: Vec<Arc<Entry>>,
    pub(crate) conflicts: Vec<Conflict>,
}

/// What only the disk knows.
pub(crate) trait Disk {
    /// Which real directory is at `path`.
    fn directory(&mut self, path: &Path) -> Option<FileId>;
    /// Whether two directories hold the same files with the same bytes.
    fn same_tree(&mut self, a: &Path, b: &Path) -> bool;
}

/// Decides between `candidates`.
pub(crate) fn decide(
    candidates: Vec<Candidate>,
    switches: &[SwitchedSkill],
    disk: &mut dyn Disk,
) -> Ranking {
    let candidates = merge_links(candidates, disk);
    let entries = Vec::with_capacity(candidates.len());
    let mut decided = Ranking { entries, ..Ranking::default() };
    let mut qualified = Vec::new();
    for_each_name(candidates, |group| {
        if group.len() > 1 {
            *group = merge_copies(std::mem::take(group), disk);
        }
        if group.len() > 1 {
            for candidate in group.extract_if(.., |candidate| candidate.plugin.is_some()) {
                qualified.push(qualify(candidate, switches));
            }
        }
        settle(group, &mut decided);
    });
    // A qualified name can clash again: one plugin from two marketplaces, or a skill that is
    // literally called so, which then has precedence as what it is.
    for_each_name(qualified, |group| {
        let taken =
            decided.entries.iter().position(|entry| entry.skill.name == group[0].entry.skill.name);
        *group = merge_copies(std::mem::take(group), disk);
        if let Some(at) = taken {
            let entry = decided.entries.swap_remove(at);
            group.insert(0, Candidate { entry, file: None, via_link: false, plugin: None });
        }
        settle(group, &mut decided);
    });
    decided.conflicts.sort_by(|a, b| a.name.cmp(&b.name));
    decided
}

/// The order of precedence inside a name, best first: what is off gives way to whatever is not.
fn rank(candidate: &Candidate) -> impl Ord + '_ {
    (candidate.entry.gives_way(), place(&candidate.entry))
}

/// The order among skills that are on.
fn place(entry: &Entry) -> (usize, bool, Reverse<i64>, &Path) {
    (entry.priority, !entry.has_own_folder(), Reverse(entry.modified), &entry.path)
}

/// One real directory reached by several paths is one candidate with several paths. Only files that
/// look the same can be in one directory, so the disk is asked about those alone.
fn merge_links(mut candidates: Vec<Candidate>, disk: &mut dyn Disk) -> Vec<Candidate> {
    // Nearly always every file is its own; sorted numbers tell so without hashing each stamp.
    let mut numbers: Vec<u64> = Vec::with_capacity(candidates.len());
    numbers.extend(candidates.iter().filter_map(|c| Some(c.file?.inode)));
    numbers.sort_unstable();
    let repeated: HashSet<u64> =
        numbers.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    drop(numbers);
    if repeated.is_empty() {
        return candidates;
    }
    // The highest root keeps the entry; inside it a real path rather than a link.
    candidates.sort_by(|a, b| {
        let key = |c: &Candidate| (c.entry.priority, c.via_link);
        key(a).cmp(&key(b)).then_with(|| a.entry.path.cmp(&b.entry.path))
    });
    let mut kept: Vec<Candidate> = Vec::with_capacity(candidates.len());
    let mut by_directory: HashMap<FileId, usize> = HashMap::new();
    let mut copies: HashMap<usize, Vec<Duplicate>> = HashMap::new();
    for candidate in candidates {
        let suspect = candidate.file.is_some_and(|file| repeated.contains(&file.inode));
        let directory = if suspect { disk.directory(&candidate.entry.path) } else { None };
        if let Some(at) = directory.and_then(|id| by_directory.get(&id).copied()) {
            copies.entry(at).or_default().extend(copies_of(&candidate.entry));
            continue;
        }
        if let Some(id) = directory {
            by_directory.insert(id, kept.len());
        }
        kept.push(candidate);
    }
    for (at, more) in copies {
        add_copies(&mut kept[at].entry, more);
    }
    kept
}

/// The places of an entry that becomes a copy of another.
fn copies_of(entry: &Entry) -> impl Iterator<Item = Duplicate> + '_ {
    let own = Duplicate { path: entry.path.clone(), source: entry.source };
    std::iter::once(own).chain(entry.copies.iter().cloned())
}

fn add_copies(entry: &mut Arc<Entry>, more: impl IntoIterator<Item = Duplicate>) {
    let entry = Arc::make_mut(entry);
    let mut copies = std::mem::take(&mut entry.copies).into_vec();
    copies.extend(more);
    copies.sort();
    copies.dedup();
    copies.retain(|copy| copy.path != entry.path);
    entry.copies = copies.into();
}

/// The candidate under its name in its plugin, by which it may be switched on or off.
fn qualify(mut candidate: Candidate, switches: &[SwitchedSkill]) -> Candidate {
    if let Some(plugin) = &candidate.plugin {
        let entry = Arc::make_mut(&mut candidate.entry);
        entry.skill.name = entry.skill.name.qualified(plugin);
        entry.switch(switches);
        entry.seal();
    }
    candidate
}

/// Calls `decide` with the candidates of each name, in the order of names, each group best first;
/// what it leaves in the group is dropped.
/// Positions are sorted, not candidates: at a hundred thousand skills moving them is what costs. Beside
/// each position stands the beginning of its name, which decides nearly always: following a
/// pointer to the whole for every comparison was most of the sorting.
fn for_each_name(candidates: Vec<Candidate>, mut decide: impl FnMut(&mut Vec<Candidate>)) {
    let name = |at: usize| candidates[at].entry.skill.name.as_str();
    let mut order: Vec<(u128, usize)> =
        (0..candidates.len()).map(|at| (beginning(name(at)), at)).collect();
    parallel::sort_by(&mut order, |(a_start, a), (b_start, b)| {
        a_start
            .cmp(b_start)
            .then_with(|| name(*a).cmp(name(*b)))
            .then_with(|| rank(&candidates[*a]).cmp(&rank(&candidates[*b])))
    });
    let mut slots: Vec<Option<Candidate>> = candidates.into_iter().map(Some).collect();
    let mut group: Vec<Candidate> = Vec::new();
    for (_, at) in order {
        let Some(candidate) = slots[at].take() else {
            continue;
        };
        if group.last().is_some_and(|last| last.entry.skill.name != candidate.entry.skill.name) {
            decide(&mut group);
            group.clear();
        }
        group.push(candidate);
    }
    if !group.is_empty() {
        decide(&mut group);
    }
}

/// The first sixteen bytes of a text as a number that sorts as the bytes do; what is missing is zero.
fn beginning(text: &str) -> u128 {
    let mut bytes = [0; 16];
    let length = text.len().min(bytes.len());
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    u128::from_be_bytes(bytes)
}

/// Byte-identical copies in other roots join the best of them. A candidate is compared with the best
/// few only: a thousand rivals of one name are a conflict, not a thousand comparisons each.
fn merge_copies(group: Vec<Candidate>, disk: &mut dyn Disk) -> Vec<Candidate> {
    const MAX_COMPARED: usize = 8;
    let mut kept: Vec<Candidate> = Vec::with_capacity(group.len());
    for candidate in group {
        let entry = &candidate.entry;
        let twin = kept.iter().take(MAX_COMPARED).position(|known| {
            let other = &known.entry;
            other.priority != entry.priority
                && other.digest == entry.digest
                && known.file.is_some()
                && candidate.file.is_some()
                && disk.same_tree(&other.path, &entry.path)
        });
        match twin {
            Some(at) => add_copies(&mut kept[at].entry, copies_of(entry)),
            None => kept.push(candidate),
        }
    }
    kept
}

/// The first counts, the others are shadowed.
fn settle(group: &mut Vec<Candidate>, decided: &mut Ranking) {
    let mut group = group.drain(..).map(|candidate| candidate.entry);
    let Some(winner) = group.next() else { return };
    let losers: Vec<Arc<Entry>> = group.collect();
    if !losers.is_empty() {
        let reason = |loser: &Entry| {
            if place(loser) < place(&winner) {
                ShadowReason::SwitchedOff
            } else if loser.priority != winner.priority {
                ShadowReason::HigherRoot
            } else if loser.has_own_folder() != winner.has_own_folder() {
                ShadowReason::FolderName
            } else if loser.modified != winner.modified {
                ShadowReason::ModifiedLater
            } else {
                ShadowReason::PathOrder
            }
        };
        decided.conflicts.push(Conflict {
            name: winner.skill.name.as_str().into(),
            winner: winner.path.clone(),
            source: winner.source,
            reason: reason(&losers[0]),
            shadowed: losers
                .iter()
                .map(|loser| Shadowed {
                    source: loser.source,
                    path: loser.path.clone(),
                    version: loser.skill.details().version.clone(),
                    reason: reason(loser),
                })
                .collect(),
        });
        decided.shadowed.extend(losers);
    }
    decided.entries.push(winner);
}

#[cfg(test)]
mod tests {
    use super::*;
    use metier_skill::{ParseOptions, Source, parse};
    use proptest::prelude::*;

    /// Name, root, time, file, tree, and whether a link leads to it.
    type Facts = (u8, usize, i64, u64, u8, bool);

    fn candidate((at, facts): (usize, Facts)) -> Candidate {
        let (name, root, modified, file, tree, via_link) = facts;
        let source = Source::ALL[root];
        let text = format!("---\nname: s{name}\ndescription: d{tree}\n---\n");
        let parsed = parse(text.as_bytes(), &ParseOptions::default());
        let mut entry = Entry {
            skill: parsed.skill.expect("valid"),
            source,
            path: format!("/{root}/{at}-{tree}-{file}").into(),
            copies: Box::default(),
            enabled: true,
            off_by_project: false,
            digest: parsed.digest,
            diagnostics: Box::default(),
            modified,
            mark: None,
            priority: root,
            memory: None,
            leaf: parsed.digest,
        };
        entry.seal();
        Candidate {
            entry: Arc::new(entry),
            file: Some(FileId { device: 1, inode: file }),
            via_link,
            plugin: (source == Source::Plugin).then(|| "plug".into()),
        }
    }

    /// Paths end in `-TREE-FILE`: equal trees are copies, equal files one directory.
    struct FakeDisk;

    impl Disk for FakeDisk {
        fn directory(&mut self, path: &Path) -> Option<FileId> {
            let number = path.to_string_lossy().rsplit('-').next()?.parse().ok()?;
            Some(FileId { device: 2, inode: number })
        }

        fn same_tree(&mut self, a: &Path, b: &Path) -> bool {
            let tree = |path: &Path| path.to_string_lossy().rsplit('-').nth(1).map(str::to_owned);
            tree(a) == tree(b)
        }
    }

    fn index(candidates: Vec<Candidate>) -> (Vec<Arc<Entry>>, Vec<Arc<Entry>>, Vec<Conflict>) {
        let decided = decide(candidates, &[], &mut FakeDisk);
        let index = crate::index::Index::new(decided.entries, decided.shadowed);
        (index.entries().to_vec(), index.shadowed().to_vec(), decided.conflicts)
    }

    #[test]
    fn the_higher_root_wins_then_the_later_time_then_the_path() {
        let (entries, shadowed, conflicts) = index(
            [
                (0, (1, 1, 5, 1, 1, false)),
                (1, (1, 2, 9, 2, 2, false)),
                (2, (1, 1, 7, 3, 3, false)),
                (3, (1, 1, 7, 4, 4, false)),
            ]
            .map(candidate)
            .to_vec(),
        );
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].path, Path::new("/1/2-3-3"));
        assert_eq!(shadowed.len(), 3);
        let reasons: Vec<_> = conflicts[0].shadowed.iter().map(|s| s.reason).collect();
        assert_eq!(
            reasons,
            [ShadowReason::PathOrder, ShadowReason::ModifiedLater, ShadowReason::HigherRoot]
        );
    }

    #[test]
    fn a_plugins_skill_that_clashes_is_qualified_and_not_lost() {
        let (entries, shadowed, conflicts) = index(
            [(0, (1, 2, 5, 1, 1, false)), (1, (1, 3, 5, 2, 2, false))].map(candidate).to_vec(),
        );
        let names: Vec<_> = entries.iter().map(|e| e.skill.name.as_str()).collect();
        assert_eq!(names, ["plug:s1", "s1"]);
        assert!(shadowed.is_empty() && conflicts.is_empty());
    }

    #[test]
    fn links_and_identical_copies_are_one_entry_with_several_paths() {
        let (entries, shadowed, _) = index(
            [(0, (1, 1, 5, 1, 1, true)), (1, (1, 1, 5, 1, 1, false)), (2, (1, 2, 3, 7, 1, false))]
                .map(candidate)
                .to_vec(),
        );
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].path, Path::new("/1/1-1-1"), "a real path rather than a link");
        assert_eq!(entries[0].copies.len(), 2);
        assert!(shadowed.is_empty());
    }

    proptest! {
        #[test]
        fn the_decision_is_total_and_does_not_depend_on_the_order(
            facts in proptest::collection::vec((0u8..4, 0usize..5, 0i64..3, 0u64..8, 0u8..3, any::<bool>()), 0..14),
            seed in any::<u64>(),
        ) {
            // A file has one content, so candidates that share a file share name, tree and time.
            let mut first: HashMap<u64, Facts> = HashMap::new();
            let facts: Vec<Facts> = facts.into_iter().map(|f| {
                let known = *first.entry(f.3).or_insert(f);
                (known.0, f.1, known.2, f.3, known.4, f.5)
            }).collect();
            let all: Vec<Candidate> = facts.into_iter().enumerate().map(candidate).collect();
            let mut shuffled = all.clone();
            let mut state = seed | 1;
            for at in (1..shuffled.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                shuffled.swap(at, (state >> 33) as usize % (at + 1));
            }
            let total = all.len();
            let (entries, shadowed, conflicts) = index(all);
            prop_assert_eq!(index(shuffled), (entries.clone(), shadowed.clone(), conflicts));
            // Nothing is lost: every path is an entry, a copy, or shadowed.
            let paths = |list: &[Arc<Entry>]| list.iter().map(|e| 1 + e.copies.len()).sum::<usize>();
            prop_assert_eq!(paths(&entries) + paths(&shadowed), total);
            let mut names: Vec<_> = entries.iter().map(|e| e.skill.name.clone()).collect();
            names.dedup();
            prop_assert_eq!(names.len(), entries.len());
        }
    }
}
