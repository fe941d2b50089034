//! Uninstalling, and bringing back what was uninstalled or replaced.
//! Both are plans like an installation, and are carried out in the same way.

use metier_registry::manage::Backup;
use metier_skill::Profile;

use crate::changes::SkillChanges;
use crate::directory::read_directory;
use crate::error::{Obstacle, PackError, RequiredSkill};
use crate::install::Overwrite;
use crate::journal::JournalMove;
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::plan::{InstallPlan, PlanView, PlannedAction, PlannedSkill, RecordChange};
use crate::plan_skill::{OwnFiles, other_version};
use crate::records::{LockedSkill, Records, SourceKind, WantedSkill};
use crate::requires::dependants;
use crate::seen::{SeenRecords, SeenSkill};
use crate::shipped_tree::ShippedTree;
use crate::signatures::SignerChange;
use crate::standing::standing;
use crate::target::InstallTarget;
use crate::version_order::is_older;

impl InstallTarget {
    /// Whether the skill `name` was installed here.
    pub fn is_installed(&self, name: &str) -> Result<bool, PackError> {
        Ok(Records::read(&self.records)?.lock.skills.contains_key(name))
    }

    /// What uninstalling the skills of these names would come to. Nothing is written.
    pub fn preview_uninstall(
        &self,
        names: &[String],
        overwrite: Overwrite,
    ) -> Result<PlanView, PackError> {
        Ok(self.plan_uninstall(names, overwrite)?.view)
    }

    /// A plan to uninstall the skills of these names. Each goes to a backup.
    ///
    /// # Errors
    ///
    /// [`PackError::NotInstalled`] for what was not installed here, [`PackError::InTheWay`] for what was changed
    /// since, and [`PackError::Required`] for what other installed skills need.
    pub fn plan_uninstall(
        &self,
        names: &[String],
        overwrite: Overwrite,
    ) -> Result<InstallPlan, PackError> {
        self.recover()?;
        let records = Records::read(&self.records)?;
        let mut plan = InstallPlan::new(self, None);
        for name in names {
            let Some(locked) = records.lock.skills.get(name) else {
                return Err(records.not_installed(name));
            };
            let standing = standing(self, name, Some(locked), &PackLimits::default());
            plan.remove(name, locked, &standing, overwrite)?;
        }
        let required = dependants(&records, names);
        if !required.is_empty() && overwrite == Overwrite::Refuse {
            return Err(PackError::Required(required));
        }
        for RequiredSkill { name, by } in required {
            if let Some(skill) = plan.view.skills.iter_mut().find(|it| it.name == name) {
                skill.required_by = by;
            }
        }
        plan.seen_records = SeenRecords::of_some(records);
        plan.checked()
    }

    /// A plan to bring a skill back from a backup, with its records. What stands in its place goes to a backup
    /// itself. `None` for a backup that is not from here, or that concerns no record.
    ///
    /// # Errors
    ///
    /// [`PackError::InTheWay`] where what stands there was changed, or was not installed.
    pub fn plan_restore(
        &self,
        backup: &Backup,
        overwrite: Overwrite,
    ) -> Result<Option<InstallPlan>, PackError> {
        self.recover()?;
        let name = backup.skill.name.as_str();
        if self.root.join(name) != std::path::Path::new(&backup.path) {
            return Ok(None);
        }
        let installed = backup.installed.clone().and_then(|it| serde_json::from_value(it).ok());
        let mut installed: Option<LockedSkill> = installed;
        let records = Records::read(&self.records)?;
        let before = records.lock.skills.get(name);
        let standing = standing(self, name, before, &PackLimits::default());
        let is_in_the_way = standing.id.is_some() && overwrite == Overwrite::Replace;
        if installed.is_none() && before.is_none() && !is_in_the_way {
            return Ok(None);
        }
        if let Some(installed) = &mut installed {
            let pinned = before.and_then(|before| before.signer.as_deref());
            installed.signer = self.signer_after(name, pinned, installed.signer.take())?;
        }
        let mut plan = InstallPlan::new(self, None);
        plan.seen_records = SeenRecords::of_some(records.clone());
        if let Some(reason) = standing.obstacle
            && overwrite == Overwrite::Refuse
        {
            plan.obstacles.push(Obstacle::new(name, reason));
            return plan.checked().map(Some);
        }
        if standing.id.is_some() {
            plan.seen.push(SeenSkill::new(name, &standing));
        }
        let folder = self.backups.folder_of(backup);
        plan.moves.push(JournalMove {
            name: name.to_owned(),
            new: Some(folder.clone()),
            new_id: None,
            old: standing.id,
            old_record: before.and_then(|before| serde_json::to_value(before).ok()),
            backup: None,
        });
        plan.forgotten_backup = Some(backup.id.clone());
        let shown = match &installed {
            Some(locked) => locked.clone(),
            None => unrecorded(backup, &folder),
        };
        let links_of = |locked: Option<&LockedSkill>| {
            locked.map(|locked| locked.links.clone()).unwrap_or_default()
        };
        let (links_now, links_before) = (links_of(installed.as_ref()), links_of(before));
        let links = plan.links(name, &links_now, &links_before, overwrite)?;
        let planned = plan.known(name, &shown, &standing, PlannedAction::Restore);
        let was_version = other_version(before, planned.version.as_ref());
        // What a person kept beside the skill is in the backup with the version that stands there now.
        let own = OwnFiles::beside(&standing, before, None);
        let returning = tree_of(&folder);
        plan.view.skills.push(PlannedSkill {
            overrides: standing.obstacle,
            older: is_older(planned.version.as_ref(), was_version.as_ref()),
            was_version,
            backup_files: own.in_backup,
            changes: standing.tree.as_ref().map(|now| SkillChanges::between(now, &returning)),
            links,
            ..planned
        });
        let now = installed.map(|locked| (WantedSkill::from_source(&locked.source), locked));
        plan.records.push(RecordChange { name: name.to_owned(), now });
        plan.checked().map(Some)
    }
}

impl InstallTarget {
    /// Who is pinned for a skill after a version that `signer` signed takes the place of one with `pinned`. What no one
    /// signed keeps the pin: it must not make room for a version of someone else.
    fn signer_after(
        &self,
        name: &str,
        pinned: Option<&str>,
        signer: Option<String>,
    ) -> Result<Option<String>, PackError> {
        match (pinned, signer) {
            (Some(pinned), Some(signer))
                if pinned != signer && self.signers.change == SignerChange::Refuse =>
            {
                let (name, pinned) = (name.to_owned(), pinned.to_owned());
                Err(PackError::SignerChanged { name, pinned, found: vec![signer] })
            }
            (pinned, signer) => Ok(signer.or_else(|| pinned.map(ToOwned::to_owned))),
        }
    }
}

/// What a plan shows of a skill in a backup that no record was about.
fn unrecorded(backup: &Backup, folder: &std::path::Path) -> LockedSkill {
    LockedSkill::new(&backup.path, SourceKind::Directory, None, &tree_of(folder))
}

/// The tree in a backup; an empty one where it cannot be read.
fn tree_of(folder: &std::path::Path) -> ShippedTree {
    let outgoing = Outgoing::nowhere(Profile::Lenient);
    read_directory(folder, &PackLimits::default(), outgoing).unwrap_or_default()
}
