//! Which skills need which: what a source has to bring along, circles, and who depends on what.
//!
//! Pure, over the skills of a source and the records. What is certain and what is a guess about a skill's
//! words is `metier-skill`'s; only what is certain can be missing, make a circle, or keep a skill installed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use metier_fs::entry_kind;

use crate::error::{PackError, RequiredSkill};
use crate::facts::SKILL_FILE;
use crate::plan::{InstallPlan, PlannedAction};
use crate::prepare::Prepared;
use crate::records::Records;
use crate::shipped_tree::ShippedTree;
use crate::skills_in::{FoundSkill, check_folder_name, usable_skills};
use crate::target::InstallTarget;

impl InstallTarget {
    /// Whether a skill of this name is in the folder, installed or not.
    pub(crate) fn has_skill(&self, records: &Records, name: &str) -> bool {
        let in_folder = || {
            check_folder_name(name).is_ok()
                && entry_kind(&self.root.join(name).join(SKILL_FILE)).is_some()
        };
        records.lock.skills.contains_key(name) || in_folder()
    }
}

/// Adds what the chosen skills need and their source has, and what that needs. Gives, for each that was
/// added, the skills that need it.
pub(crate) fn add_required(
    prepared: &mut Prepared,
    tree: &ShippedTree,
    is_there: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Vec<String>>, PackError> {
    let mut added: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut at_hand: Option<Vec<FoundSkill>> = None;
    let mut at = 0;
    while let Some(skill) = prepared.skills.get(at) {
        at += 1;
        let (by, requires) = (skill.summary.name.to_string(), skill.summary.requires.clone());
        for name in requires.certain.into_iter().chain(requires.perhaps) {
            if let Some(needed_by) = added.get_mut(&name) {
                needed_by.push(by.clone());
                continue;
            }
            let is_chosen = prepared.skills.iter().any(|it| it.summary.name.as_str() == name);
            if is_chosen || is_there(&name) {
                continue;
            }
            let at_hand = match &mut at_hand {
                Some(skills) => skills,
                none => none.insert(usable_skills(tree, &prepared.source.shown())?.0),
            };
            if let Some(found) = at_hand.iter().find(|it| it.summary.name.as_str() == name) {
                prepared.skills.push(found.clone());
                added.insert(name, vec![by.clone()]);
            }
        }
    }
    prepared.skills.sort_by(|a, b| a.summary.name.as_str().cmp(b.summary.name.as_str()));
    Ok(added)
}

/// An error where the skills that come, with those that are installed, need each other in a circle.
pub(crate) fn check_circles(coming: &[FoundSkill], records: &Records) -> Result<(), PackError> {
    match circles(coming.iter(), records).into_iter().next() {
        Some(circle) => Err(PackError::DependencyCycle(circle)),
        None => Ok(()),
    }
}

/// For each skill that comes and would need itself, through others that come or are installed: the way from it
/// back to it.
pub(crate) fn circles<'s>(
    coming: impl Iterator<Item = &'s FoundSkill> + Clone,
    records: &Records,
) -> Vec<Vec<String>> {
    let mut needs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, locked) in &records.lock.skills {
        needs.insert(name, locked.requires.iter().map(String::as_str).collect());
    }
    for skill in coming.clone() {
        let certain = skill.summary.requires.certain.iter().map(String::as_str);
        needs.insert(skill.summary.name.as_str(), certain.collect());
    }
    coming.filter_map(|skill| way_back(skill.summary.name.as_str(), &needs)).collect()
}

/// The shortest way from a name over what it needs back to it.
fn way_back(first: &str, needs: &BTreeMap<&str, Vec<&str>>) -> Option<Vec<String>> {
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut next = VecDeque::from([first]);
    while let Some(name) = next.pop_front() {
        for needed in needs.get(name).into_iter().flatten() {
            if *needed == first {
                let mut way = vec![first];
                let mut at = name;
                while at != first {
                    way.push(at);
                    at = from.get(at).copied()?;
                }
                way.push(first);
                return Some(way.into_iter().rev().map(str::to_owned).collect());
            }
            if !from.contains_key(needed) {
                from.insert(needed, name);
                next.push_back(needed);
            }
        }
    }
    None
}

/// Installed skills that need one of `names` and are not among them.
pub(crate) fn dependants(records: &Records, names: &[String]) -> Vec<RequiredSkill> {
    let of = |name: &String| {
        let needs = |(other, locked): &(&String, &crate::records::LockedSkill)| {
            locked.requires.contains(name) && !names.contains(other)
        };
        let by = records.lock.skills.iter().filter(needs).map(|(other, _)| other.clone());
        RequiredSkill { name: name.clone(), by: by.collect() }
    };
    names.iter().map(of).filter(|required| !required.by.is_empty()).collect()
}

impl InstallPlan {
    /// Leaves of what the skills of the plan need only what is neither in the plan nor in the folder.
    pub(crate) fn settle_missing(&mut self, records: &Records) {
        let stays = |action| action != PlannedAction::Remove;
        let (staying, going): (Vec<_>, Vec<_>) =
            self.view.skills.iter().partition(|skill| stays(skill.action));
        let names = |skills: Vec<&crate::plan::PlannedSkill>| -> BTreeSet<String> {
            skills.into_iter().map(|skill| skill.name.clone()).collect()
        };
        let (staying, going) = (names(staying), names(going));
        let target = self.target.clone();
        for skill in &mut self.view.skills {
            skill.missing.retain(|name| {
                !staying.contains(name)
                    && (going.contains(name) || !target.has_skill(records, name))
            });
        }
    }
}
