//! Links in the folders of other agents, each to a skill in the folder of skills of a target.
//!
//! The lock names the agents whose folders have one. A link leads to nothing else than the folder of its skill, so
//! an update or a restore of the skill needs no word about it. What another program put in its place stays.

use std::path::{Component, Path, PathBuf};

use metier_fs::{EntryKind, canonical, entry_kind, is_link, link_text};
use metier_skill::Source;
use serde::Serialize;

use crate::error::{Obstacle, ObstacleReason, PackError};
use crate::install::Overwrite;
use crate::journal::{JournalLink, folder_id};
use crate::plan::{InstallPlan, PlannedAction, PlannedSkill, RecordChange};
use crate::records::{LockedSkill, Records, WantedSkill};
use crate::seen::SeenRecords;
use crate::standing::standing;
use crate::target::InstallTarget;

/// What happens to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LinkAction {
    /// It is made.
    Add,
    /// It takes the place of something that goes to a backup.
    Replace,
    /// It is removed.
    Remove,
    /// It is there.
    Keep,
}

/// A link in the folder of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedLink {
    /// The agent.
    pub agent: String,
    /// Where the link is.
    pub path: String,
    /// What happens to it.
    pub action: LinkAction,
}

/// A link as it is, compared with the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifiedLink {
    /// The agent.
    pub agent: String,
    /// Where the link is, or would be.
    pub path: String,
    /// How it compares.
    pub state: LinkState,
}

/// How a link compares with the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LinkState {
    /// It leads to the skill.
    Unchanged,
    /// There is nothing.
    Missing,
    /// Something else is there.
    Changed,
}

/// The place of a link.
struct LinkPlace {
    path: PathBuf,
    /// What the link says.
    text: PathBuf,
    state: LinkState,
}

impl InstallTarget {
    /// The place of the link to the skill `name` for an agent; `None` where the agent is not known, or sees the
    /// whole folder.
    fn link_place(&self, agent: &str, name: &str) -> Option<LinkPlace> {
        let folder = real(self.link_folders.get(agent)?);
        let root = real(&self.root);
        if folder == root {
            return None;
        }
        let path = folder.join(name);
        let text = relative(&folder, &root.join(name));
        let leads_here = || canonical(&path).is_ok_and(|to| to == root.join(name));
        let state = match entry_kind(&path) {
            None => LinkState::Missing,
            Some(EntryKind::Link) if link_text(&path).as_deref() == Some(&text) || leads_here() => {
                LinkState::Unchanged
            }
            Some(_) => LinkState::Changed,
        };
        Some(LinkPlace { path, text, state })
    }

    /// The links to the skill `name` as they are.
    pub(crate) fn verified_links(&self, name: &str, locked: &LockedSkill) -> Vec<VerifiedLink> {
        let links = locked.links.iter().filter_map(|agent| {
            let LinkPlace { path, state, .. } = self.link_place(agent, name)?;
            let path = path.to_string_lossy().into_owned();
            Some(VerifiedLink { agent: agent.clone(), path, state })
        });
        links.collect()
    }

    /// Whether the folder of `agent` has a link to the installed skill `name`, by the lock.
    pub fn is_linked(&self, name: &str, agent: &str) -> Result<bool, PackError> {
        let lock = Records::read(&self.records)?.lock;
        Ok(lock.skills.get(name).is_some_and(|it| it.links.iter().any(|linked| linked == agent)))
    }

    /// Takes the links out of the lock in whose places the folder `folder` of an agent has copies of these skills now.
    ///
    /// # Errors
    ///
    /// [`PackError`] where the records cannot be read or written.
    pub fn forget_links_in(&self, folder: &Path, names: &[String]) -> Result<(), PackError> {
        let folder = real(folder);
        if folder == real(&self.root) {
            return Ok(());
        }
        let agents: Vec<_> =
            self.link_folders.iter().filter(|(_, it)| real(it) == folder).collect();
        if agents.is_empty() || names.is_empty() {
            return Ok(());
        }
        let lock = Records::read(&self.records)?.lock;
        for (agent, folder) in agents {
            let is_gone = |name: &&String| {
                let locked = lock.skills.get(*name);
                locked.is_some_and(|it| it.links.contains(agent)) && !is_link(&folder.join(name))
            };
            let gone: Vec<String> = names.iter().filter(is_gone).cloned().collect();
            if !gone.is_empty() {
                self.plan_unlink(&gone, agent)?.carry_out()?;
            }
        }
        Ok(())
    }

    /// A plan to remove the links to these skills from the folder of an agent. The skills stay.
    ///
    /// # Errors
    ///
    /// [`PackError::NotInstalled`] for what has no such link.
    pub fn plan_unlink(&self, names: &[String], agent: &str) -> Result<InstallPlan, PackError> {
        self.recover()?;
        let records = Records::read(&self.records)?;
        let mut plan = InstallPlan::new(self, None);
        plan.seen_records = SeenRecords::of_some(records.clone());
        for name in names {
            let locked = records.lock.skills.get(name);
            let linked = locked.filter(|it| it.links.iter().any(|linked| linked == agent));
            let Some(locked) = linked else { return Err(records.not_installed(name)) };
            let mut now = locked.clone();
            now.links.retain(|linked| linked != agent);
            let standing =
                standing(self, name, Some(locked), &crate::limits::PackLimits::default());
            let links = plan.links(name, &now.links, &locked.links, Overwrite::Refuse)?;
            let known = plan.known(name, &now, &standing, PlannedAction::Keep);
            plan.view.skills.push(PlannedSkill { links, ..known });
            let wanted = WantedSkill::from_source(&now.source);
            plan.records.push(RecordChange { name: name.clone(), now: Some((wanted, now)) });
        }
        plan.checked()
    }
}

impl InstallPlan {
    /// Plans the links of a skill: those for the agents `now` are there afterwards, and of those `before` the others
    /// are gone.
    pub(crate) fn links(
        &mut self,
        name: &str,
        now: &[String],
        before: &[String],
        overwrite: Overwrite,
    ) -> Result<Vec<PlannedLink>, PackError> {
        let gone = before.iter().filter(|agent| !now.contains(agent));
        let mut planned = Vec::new();
        for (agent, is_wanted) in now.iter().map(|it| (it, true)).chain(gone.map(|it| (it, false)))
        {
            let Some(place) = self.target.link_place(agent, name) else { continue };
            let action = match (is_wanted, place.state) {
                (true, LinkState::Missing) => LinkAction::Add,
                (true, LinkState::Unchanged) => LinkAction::Keep,
                (false, LinkState::Unchanged) => LinkAction::Remove,
                (false, _) => continue,
                (true, LinkState::Changed) => {
                    if let Some(reason) = keeps_place(&place.path, name, overwrite) {
                        self.obstacles.push(Obstacle::at(name, reason, &place.path));
                        continue;
                    }
                    LinkAction::Replace
                }
            };
            let path = place.path.to_string_lossy().into_owned();
            planned.push(PlannedLink { agent: agent.clone(), path, action });
            if action == LinkAction::Keep {
                continue;
            }
            if is_wanted {
                self.check_inside(&place.path)?;
            }
            let old = folder_id(&place.path);
            let text = is_wanted.then_some(place.text);
            self.link_moves.push(JournalLink {
                name: name.to_owned(),
                path: place.path,
                text,
                old,
                old_text: None,
            });
        }
        Ok(planned)
    }

    /// Links are made on Unix only. A clone may bring the folder of an agent as a link to anywhere.
    fn check_inside(&self, link: &Path) -> Result<(), PackError> {
        if cfg!(not(unix)) {
            let path = link.parent().unwrap_or(link).to_owned();
            return Err(PackError::BadTarget { path, reason: "gets no links on this system" });
        }
        if self.target.source != Source::Project || link.starts_with(real(&self.target.base)) {
            return Ok(());
        }
        let path = link.parent().unwrap_or(link).to_owned();
        Err(PackError::BadTarget { path, reason: "is not in the project" })
    }
}

/// Why what stands where a link should be stays there.
fn keeps_place(path: &Path, name: &str, overwrite: Overwrite) -> Option<ObstacleReason> {
    let beside = path.parent().and_then(Path::parent).map(Records::read);
    let is_installed = match beside {
        Some(Ok(records)) => records.lock.skills.contains_key(name),
        Some(Err(_)) => true,
        None => false,
    };
    match overwrite {
        // Another lock would be wrong about it.
        _ if is_installed => Some(ObstacleReason::InstalledCopy),
        Overwrite::Refuse => Some(ObstacleReason::Unmanaged),
        Overwrite::Replace => None,
    }
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (canonical(above), path.strip_prefix(above)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

/// The path from the directory `from` to `to`; both have no links in them.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_the_way_from_its_folder() {
        for (from, to, expected) in [
            ("/p/.claude/skills", "/p/.agent/skills/pdf", "../../.agent/skills/pdf"),
            ("/p/a", "/p/a/b", "b"),
            ("/x", "/p/a", "../p/a"),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), PathBuf::from(expected));
        }
    }
}
