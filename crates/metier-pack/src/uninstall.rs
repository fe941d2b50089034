//! Uninstalling, and bringing back what was uninstalled or replaced.
//! Both are plans like an installation, and are carried out in the same way.

use metier_registry::manage::Backup;

use crate::error::{Obstacle, ObstacleReason, PackError, RequiredSkill};
use crate::install::Overwrite;
use crate::journal::JournalMove;
use crate::limits::PackLimits;
use crate::plan::{InstallPlan, PlanView, PlannedAction, RecordChange};
use crate::records::{LockedSkill, Records, WantedSkill};
use crate::requires::dependants;
use crate::standing::standing;
use crate::target::InstallTarget;

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
                return Err(PackError::NotInstalled(name.clone()));
            };
            let standing = standing(self, name, Some(locked), &PackLimits::default());
            plan.remove(name, locked, &standing, overwrite);
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
        plan.checked()
    }

    /// A plan to bring an installed skill back from a backup, into the records too. `None` for a backup of
    /// a skill that was not installed, or not here.
    pub fn plan_restore(&self, backup: &Backup) -> Result<Option<InstallPlan>, PackError> {
        self.recover()?;
        let name = backup.skill.name.as_str();
        let is_here = self.root.join(name) == std::path::Path::new(&backup.path);
        let installed = backup.installed.clone().and_then(|it| serde_json::from_value(it).ok());
        let Some(locked) = installed.filter(|_| is_here) else { return Ok(None) };
        let locked: LockedSkill = locked;
        let records = Records::read(&self.records)?;
        let standing = standing(self, name, records.lock.skills.get(name), &PackLimits::default());
        let mut plan = InstallPlan::new(self, None);
        if standing.id.is_some() {
            let reason = standing.obstacle.unwrap_or(ObstacleReason::OtherSource);
            plan.obstacles.push(Obstacle { name: name.to_owned(), reason });
            return plan.checked().map(Some);
        }
        plan.moves.push(JournalMove {
            name: name.to_owned(),
            new: Some(self.backups.folder_of(backup)),
            old: None,
            old_record: None,
        });
        plan.forgotten_backup = Some(backup.id.clone());
        let planned = plan.known(name, &locked, &standing, PlannedAction::Restore);
        plan.view.skills.push(planned);
        let wanted = WantedSkill::from_source(&locked.source);
        plan.records.push(RecordChange { name: name.to_owned(), now: Some((wanted, locked)) });
        Ok(Some(plan))
    }
}
