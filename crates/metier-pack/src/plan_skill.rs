//! The steps of a plan, a skill at a time: put in place, kept, or moved to a backup.
//! What stands in the way was found before; `install`, `update` and `uninstall` call these.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::changes::SkillChanges;
use crate::error::{Obstacle, PackError};
use crate::install::Overwrite;
use crate::journal::JournalMove;
use crate::left_out::LeftOutReason;
use crate::plan::{FilesToKeep, InstallPlan, PlannedAction, PlannedSkill, RecordChange, scripts};
use crate::prepare::Prepared;
use crate::records::{LockedSkill, WantedSkill};
use crate::review::review;
use crate::seen::{SeenSkill, StagedSkill};
use crate::shipped_tree::ShippedTree;
use crate::skills_in::FoundSkill;
use crate::standing::{Standing, is_whole};
use crate::version_order::is_older;

impl InstallPlan {
    /// Plans to put a skill in its place.
    pub(crate) fn put(
        &mut self,
        prepared: &Prepared,
        skill: &FoundSkill,
        standing: &Standing,
        before: Option<&LockedSkill>,
        overwrite: Overwrite,
    ) -> Result<(), PackError> {
        let name = skill.summary.name.to_string();
        let rules = &self.target.signers;
        let pinned = before.and_then(|before| before.signer.as_deref());
        let checked = prepared.check_signatures(skill, &rules.keys, pinned)?;
        let signer = checked.signer(&name, pinned, rules.change)?;
        let mut locked = prepared.locked(skill);
        locked.links = before.map(|before| before.links.clone()).unwrap_or_default();
        locked.links.extend(self.link_agents.iter().cloned());
        locked.links.sort();
        locked.links.dedup();
        locked.signer = signer.as_ref().map(|signer| signer.id.clone());
        let was = standing.tree.as_ref().map(|tree| tree.digest());
        let is_same = was == Some(locked.tree) && standing.tree.as_ref().is_some_and(is_whole);
        let is_locked =
            before.is_some_and(|it| it.source == locked.source && it.tree == locked.tree);
        // The same files may be taken over, even those that another program put there.
        let obstacle = standing.obstacle.filter(|_| !is_same);
        if let Some(reason) = obstacle
            && overwrite == Overwrite::Refuse
        {
            self.obstacles.push(Obstacle::new(&name, reason));
            return Ok(());
        }
        let links = self.links(&name, &locked.links, &[], overwrite)?;
        let action = match standing.id {
            _ if is_same && is_locked => PlannedAction::Keep,
            _ if is_same => PlannedAction::Adopt,
            None => PlannedAction::Add,
            Some(_) => PlannedAction::Replace,
        };
        let own = match action {
            PlannedAction::Replace => OwnFiles::beside(standing, before, Some(&skill.tree)),
            _ => OwnFiles::default(),
        };
        if matches!(action, PlannedAction::Replace | PlannedAction::Adopt) {
            self.seen.push(SeenSkill::new(&name, standing));
        }
        if matches!(action, PlannedAction::Add | PlannedAction::Replace) {
            self.put_from_staging(prepared, skill, standing, before, &own);
        }
        let reviewed = (action != PlannedAction::Keep)
            .then(|| review(&self.target, &name, &skill.tree, standing));
        let reviewed = reviewed.unwrap_or_default();
        let replaced = standing.tree.as_ref().filter(|_| action == PlannedAction::Replace);
        let was_version = other_version(before, skill.summary.version.as_ref());
        let files = skill.tree.files.iter();
        self.view.skills.push(PlannedSkill {
            path: self.target.root.join(&name).to_string_lossy().into_owned(),
            action,
            source: locked.source.clone(),
            kind: locked.kind,
            resolved: locked.resolved.clone(),
            older: is_older(skill.summary.version.as_ref(), was_version.as_ref()),
            was_version,
            version: skill.summary.version.clone(),
            description: Some(skill.summary.description.clone()),
            allowed_tools: skill.summary.allowed_tools.clone(),
            scripts: scripts(files.map(|file| (file.path.as_str(), file.executable))),
            files: skill.tree.files.len(),
            bytes: skill.tree.bytes(),
            tree: locked.tree,
            was,
            overrides: obstacle,
            hides: None,
            replaces_source: before.map(|it| it.source.clone()).filter(|it| *it != locked.source),
            kept_files: own.kept,
            not_copied: Vec::new(),
            backup_files: own.in_backup,
            warnings: skill.warnings.clone(),
            plugin: prepared.plugin_of(skill),
            signer,
            unchecked: checked.unchecked,
            findings: reviewed.findings,
            inspected_percent: reviewed.percent,
            unread_programs: reviewed.unread_programs,
            changes: replaced.map(|before| SkillChanges::between(before, &skill.tree)),
            links,
            required_by: Vec::new(),
            missing: skill.summary.requires.certain.iter().cloned().collect(),
            name: name.clone(),
        });
        if before != Some(&locked) {
            let wanted = WantedSkill::from_source(&locked.source);
            self.records.push(RecordChange { name, now: Some((wanted, locked)) });
        }
        Ok(())
    }

    /// Plans the move of a new tree from staging to its place.
    fn put_from_staging(
        &mut self,
        prepared: &Prepared,
        skill: &FoundSkill,
        standing: &Standing,
        before: Option<&LockedSkill>,
        own: &OwnFiles,
    ) {
        let (name, new) = (skill.summary.name.to_string(), PathBuf::from(prepared.staged(skill)));
        self.staged.push(StagedSkill::new(&name, &new, &skill.tree));
        if !own.kept.is_empty() {
            let (name, files) = (name.clone(), own.kept.clone());
            self.kept_files.push(FilesToKeep { name, new: new.clone(), files });
        }
        self.moves.push(JournalMove {
            name,
            new: Some(new),
            new_id: None,
            old: standing.id,
            old_record: before.and_then(|before| serde_json::to_value(before).ok()),
            backup: None,
        });
    }

    /// Notes a skill that is as it should be.
    pub(crate) fn keep(
        &mut self,
        name: &str,
        locked: &LockedSkill,
        standing: &Standing,
        overwrite: Overwrite,
    ) -> Result<(), PackError> {
        let links = self.links(name, &locked.links, &[], overwrite)?;
        let planned = self.known(name, locked, standing, PlannedAction::Keep);
        self.view.skills.push(PlannedSkill { links, ..planned });
        Ok(())
    }

    /// Plans to move a skill to a backup.
    pub(crate) fn remove(
        &mut self,
        name: &str,
        locked: &LockedSkill,
        standing: &Standing,
        overwrite: Overwrite,
    ) -> Result<(), PackError> {
        if let Some(reason) = standing.obstacle
            && overwrite == Overwrite::Refuse
        {
            self.obstacles.push(Obstacle::new(name, reason));
            return Ok(());
        }
        let links = self.links(name, &[], &locked.links, overwrite)?;
        if standing.id.is_some() {
            self.seen.push(SeenSkill::new(name, standing));
            self.moves.push(JournalMove {
                name: name.to_owned(),
                new: None,
                new_id: None,
                old: standing.id,
                old_record: serde_json::to_value(locked).ok(),
                backup: None,
            });
        }
        let planned = self.known(name, locked, standing, PlannedAction::Remove);
        let own = OwnFiles::beside(standing, Some(locked), None);
        self.view.skills.push(PlannedSkill {
            overrides: standing.obstacle,
            backup_files: own.in_backup,
            links,
            ..planned
        });
        self.records.push(RecordChange { name: name.to_owned(), now: None });
        Ok(())
    }

    /// A skill of which only the lock and the disk are known.
    pub(crate) fn known(
        &self,
        name: &str,
        locked: &LockedSkill,
        standing: &Standing,
        action: PlannedAction,
    ) -> PlannedSkill {
        let runs = |path: &String| locked.executable.contains(path);
        PlannedSkill {
            name: name.to_owned(),
            action,
            path: self.target.root.join(name).to_string_lossy().into_owned(),
            source: locked.source.clone(),
            kind: locked.kind,
            resolved: locked.resolved.clone(),
            version: locked.version.clone(),
            was_version: None,
            older: false,
            description: None,
            allowed_tools: None,
            scripts: scripts(locked.files.keys().map(|path| (path.as_str(), runs(path)))),
            files: locked.files.len(),
            bytes: standing.tree.as_ref().map_or(0, |tree| tree.bytes()),
            tree: locked.tree,
            was: standing.tree.as_ref().map(|tree| tree.digest()),
            overrides: None,
            hides: None,
            replaces_source: None,
            kept_files: Vec::new(),
            not_copied: Vec::new(),
            backup_files: Vec::new(),
            warnings: Vec::new(),
            plugin: None,
            signer: None,
            unchecked: Vec::new(),
            findings: Vec::new(),
            inspected_percent: None,
            unread_programs: Vec::new(),
            changes: None,
            links: Vec::new(),
            required_by: Vec::new(),
            missing: Vec::new(),
        }
    }
}

/// The version that is installed, where `version` is another one.
pub(crate) fn other_version(
    before: Option<&LockedSkill>,
    version: Option<&String>,
) -> Option<String> {
    before.and_then(|before| before.version.clone()).filter(|was| version != Some(was))
}

/// Files in the folder of an installed skill that no installation put there.
#[derive(Debug, Default)]
pub(crate) struct OwnFiles {
    /// Those that come along into the new version.
    kept: Vec<String>,
    /// Those that are only in the backup afterwards.
    pub(crate) in_backup: Vec<String>,
}

impl OwnFiles {
    /// Those beside the skill that `before` locked, when `new` takes its place, or nothing does. What a person
    /// keeps there and no archive may bring (`.env`, version control) comes along; packages and caches are for
    /// the old version, and made again.
    pub(crate) fn beside(
        standing: &Standing,
        before: Option<&LockedSkill>,
        new: Option<&ShippedTree>,
    ) -> Self {
        let Some(tree) = &standing.tree else { return Self::default() };
        let new_files: BTreeSet<&str> =
            new.iter().flat_map(|it| &it.files).map(|file| file.path.as_str()).collect();
        let mut own = Self::default();
        for left in &tree.left_out {
            use LeftOutReason::{Cache, Debris, HardLink, Link, Pointer, Secret, Special};
            match left.reason {
                Secret | LeftOutReason::VersionControl if new.is_some() => {
                    // A file of the new version may stand where a directory above it was.
                    let mut above = left.path.match_indices('/').map(|(end, _)| &left.path[..end]);
                    let is_free = !above.any(|dir| new_files.contains(dir));
                    let list = if is_free { &mut own.kept } else { &mut own.in_backup };
                    list.push(left.path.clone());
                }
                Secret | LeftOutReason::VersionControl | Cache | Link | HardLink | Special => {
                    own.in_backup.push(left.path.clone());
                }
                Debris | Pointer | LeftOutReason::EarlierPack => {}
            }
        }
        let is_own = |path: &str| {
            before.is_some_and(|it| !it.files.contains_key(path)) && !new_files.contains(path)
        };
        let more = tree.files.iter().map(|file| &file.path).filter(|path| is_own(path));
        own.in_backup.extend(more.cloned());
        own.in_backup.sort();
        own
    }
}
