//! The skills of a tree, judged: each has a usable `SKILL.md`, and a name that can be a folder's.
//!
//! Every way in begins here, so that what `pack` accepts, `install` accepts.

use std::collections::{BTreeMap, BTreeSet};

use metier_skill::{RelPath, Severity};

use crate::access::PickableSkill;
use crate::archive::fold;
use crate::error::PackError;
use crate::facts::{SKILL_FILE, SkillProblem, SkillSummary};
use crate::layout::{LayoutFault, skill_dirs};
use crate::left_out::{LeftOut, LeftOutReason};
use crate::shipped_tree::ShippedTree;

/// A skill of a tree.
#[derive(Debug, Clone)]
pub(crate) struct FoundSkill {
    /// Its directory in the tree; empty for the top.
    pub(crate) dir: String,
    pub(crate) summary: SkillSummary,
    pub(crate) warnings: Vec<SkillProblem>,
    /// Its files, with paths that start at its directory.
    pub(crate) tree: ShippedTree,
}

/// The skills of a tree, by name. `source` is how errors call it; `chosen` keeps only these names.
pub(crate) fn skills_in(
    tree: &ShippedTree,
    source: &str,
    chosen: &[String],
) -> Result<Vec<FoundSkill>, PackError> {
    let left_out = skills_left_out(tree);
    let skills_left_out =
        |left_out| PackError::SkillsLeftOut { source: source.to_owned(), left_out };
    let dirs = skill_dirs(&tree.files).map_err(|fault| match fault {
        LayoutFault::NoSkill if !left_out.is_empty() => skills_left_out(left_out.clone()),
        LayoutFault::NoSkill => PackError::NoSkill(source.to_owned()),
        LayoutFault::TwoLayouts => PackError::TwoLayouts(source.to_owned()),
    })?;
    let mut found: BTreeMap<String, FoundSkill> = BTreeMap::new();
    let mut bad = Vec::new();
    for dir in dirs {
        match skill_at(tree, dir) {
            Ok(skill) => {
                let name = skill.summary.name.as_str();
                if chosen.is_empty() || chosen.iter().any(|it| it == name) {
                    check_folder_name(name)?;
                    if let Some(other) = found.insert(fold(name), skill) {
                        return Err(PackError::NameTwice(other.summary.name.to_string()));
                    }
                }
            }
            Err((dir, problem)) => bad.push((dir, problem)),
        }
    }
    let names = || found.values().map(|skill| skill.summary.name.to_string());
    for name in chosen {
        if !names().any(|it| it == *name) {
            // One that cannot be used is known by its folder only.
            let of_folder =
                |(dir, _): &&(String, SkillProblem)| dir.rsplit('/').next() == Some(name);
            if let Some((dir, problem)) = bad.iter().find(of_folder) {
                return Err(PackError::BadSkill { path: dir.clone(), problem: problem.clone() });
            }
            if let Some(left) = left_out.iter().find(|left| is_of_folder(left, name)) {
                return Err(skills_left_out(vec![left.clone()]));
            }
            let has = all_names(tree);
            return Err(PackError::NotInSource { name: name.clone(), has });
        }
    }
    if chosen.is_empty()
        && let Some((path, problem)) = bad.into_iter().next()
    {
        return Err(PackError::BadSkill { path, problem });
    }
    Ok(found.into_values().collect())
}

/// Skills of a tree that cannot be used.
#[derive(Debug, Default)]
pub(crate) struct UnusableSkills {
    /// Directories with a `SKILL.md` that cannot be used.
    pub(crate) bad: Vec<(String, SkillProblem)>,
    /// Those that a rule about sources denies, by name.
    pub(crate) denied: BTreeMap<String, PackError>,
    /// Names that two skills have.
    pub(crate) twice: BTreeSet<String>,
    /// Those whose `SKILL.md` is not taken.
    pub(crate) left_out: Vec<LeftOut>,
}

/// Each `SKILL.md` that would make a skill and is not taken, because it is a link, say. A person who
/// looks for the skill has to hear of it.
pub(crate) fn skills_left_out(tree: &ShippedTree) -> Vec<LeftOut> {
    use LeftOutReason::{HardLink, Link, Pointer, Special};
    let dirs = skill_dirs(&tree.files).unwrap_or_default();
    let is_inside = |path: &str| {
        dirs.iter().any(|dir| {
            dir.is_empty() || path.strip_prefix(dir.as_str()).is_some_and(|it| it.starts_with('/'))
        })
    };
    let is_skill = |left: &&LeftOut| {
        left.path.rsplit('/').next() == Some(SKILL_FILE)
            && matches!(left.reason, Link | HardLink | Special | Pointer)
            && !is_inside(&left.path)
    };
    tree.left_out.iter().filter(is_skill).cloned().collect()
}

/// Whether this `SKILL.md` is in a folder of this name.
pub(crate) fn is_of_folder(left: &LeftOut, name: &str) -> bool {
    left.path.rsplit('/').nth(1) == Some(name)
}

/// The skills of a tree that can be used, by name, and what is wrong with the others. None at all is fine.
pub(crate) fn usable_skills(
    tree: &ShippedTree,
    source: &str,
) -> Result<(Vec<FoundSkill>, UnusableSkills), PackError> {
    let dirs = match skill_dirs(&tree.files) {
        Ok(dirs) => dirs,
        Err(LayoutFault::NoSkill) => Vec::new(),
        Err(LayoutFault::TwoLayouts) => return Err(PackError::TwoLayouts(source.to_owned())),
    };
    let mut found: BTreeMap<String, FoundSkill> = BTreeMap::new();
    let mut unusable =
        UnusableSkills { left_out: skills_left_out(tree), ..UnusableSkills::default() };
    for dir in dirs {
        match skill_at(tree, dir) {
            Ok(skill) if check_folder_name(skill.summary.name.as_str()).is_ok() => {
                if let Some(other) = found.insert(fold(skill.summary.name.as_str()), skill) {
                    unusable.twice.insert(other.summary.name.to_string());
                }
            }
            Ok(_) => {}
            Err(bad) => unusable.bad.push(bad),
        }
    }
    found.retain(|_, skill| !unusable.twice.contains(skill.summary.name.as_str()));
    Ok((found.into_values().collect(), unusable))
}

fn all_names(tree: &ShippedTree) -> Vec<String> {
    pickable_skills(tree).into_iter().map(|skill| skill.name).collect()
}

/// The skills of a tree that can be used, sorted by name. One that cannot does not hide the others.
pub(crate) fn pickable_skills(tree: &ShippedTree) -> Vec<PickableSkill> {
    let dirs = skill_dirs(&tree.files).unwrap_or_default();
    let found = dirs.into_iter().filter_map(|dir| skill_at(tree, dir).ok());
    let mut skills: Vec<PickableSkill> = found
        .map(|skill| PickableSkill {
            name: skill.summary.name.to_string(),
            description: skill.summary.description,
        })
        .collect();
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

fn skill_at(tree: &ShippedTree, dir: String) -> Result<FoundSkill, (String, SkillProblem)> {
    let path = if dir.is_empty() { SKILL_FILE.to_owned() } else { format!("{dir}/{SKILL_FILE}") };
    let at = tree.files.binary_search_by(|file| file.path.as_str().cmp(&path));
    let facts = at.ok().and_then(|at| tree.files[at].facts.as_deref());
    let (summary, problems) =
        facts.map_or((None, &[][..]), |facts| (facts.skill.clone(), &facts.problems));
    let is_error = |problem: &&SkillProblem| problem.severity == Severity::Error;
    let Some(summary) = summary else {
        let first = problems.iter().find(is_error).cloned();
        return Err((dir, first.unwrap_or_else(SkillProblem::unreadable)));
    };
    let warnings = problems.iter().filter(|problem| !is_error(problem)).cloned().collect();
    Ok(FoundSkill { tree: tree.below(&dir), warnings, summary, dir })
}

/// A name that can be a folder's on every system. The public rules are a warning elsewhere; here the name
/// becomes a path.
pub(crate) fn check_folder_name(name: &str) -> Result<(), PackError> {
    let is_folder =
        !name.contains('/') && RelPath::new(name).is_ok_and(|path| path.as_str() == name);
    let is_portable = !name.contains(['<', '>', '"', '|', '?', '*']);
    if is_folder && is_portable { Ok(()) } else { Err(PackError::BadName(name.to_owned())) }
}
