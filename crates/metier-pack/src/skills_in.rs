//! The skills of a tree, judged: each has a usable `SKILL.md`, and a name that can be a folder's.
//!
//! Every way in begins here, so that what `pack` accepts, `install` accepts.

use std::collections::BTreeMap;

use metier_skill::{RelPath, Severity};

use crate::access::PickableSkill;
use crate::archive::fold;
use crate::error::PackError;
use crate::facts::{SKILL_FILE, SkillProblem, SkillSummary};
use crate::layout::{LayoutFault, skill_dirs};
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
    let dirs = skill_dirs(&tree.files).map_err(|fault| match fault {
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
