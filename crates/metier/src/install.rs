//! Installing, uninstalling and verifying skills, and packing them, for the folder of a scope.
//!
//! Shipping is `metier-pack`'s; which folder is meant, and that the index is fresh afterwards, is decided
//! here. Nothing is asked: a front end shows the plan to a person first.

use std::collections::BTreeMap;
use std::path::Path;

use metier_config::Scope;
use metier_fs::content_of;
use metier_pack::{
    ExportedLock, InstallPlan, InstallRequest, InstallTarget, LockUse, Overwrite, PackOptions,
    PackPlan, PlanView, PlannedAction, SignerRules, VerifiedSkill, plan_pack,
    remove_abandoned_fetches,
};
use metier_policy::TrustedFolder;
use metier_registry::Root;
use metier_registry::manage::Backup;
use metier_skill::{Digest, OWN_SKILLS_FOLDER, RelPath, Source};
use metier_tools::policy_facts::{SkillContent, absolute, path_below, real_path};

use crate::error::{Error, Result};
use crate::guard::now;
use crate::open::Metier;

impl Metier {
    /// Where skills of `scope` are installed; without one, in the project inside a repository and for the
    /// user elsewhere.
    pub fn install_target(&self, scope: Option<Scope>) -> Result<InstallTarget> {
        let root = self.skills_target(scope)?;
        let state = &self.require_user_folders()?.state;
        let of_user = self.require_user_folders()?.agent.join("skills");
        let (source, base) = if root == of_user {
            (Source::User, self.require_user_folders()?.home.clone())
        } else {
            // `.agent/skills` of a project, or of a part of it.
            (Source::Project, root.ancestors().nth(2).unwrap_or(&root).to_owned())
        };
        Ok(InstallTarget::new(&root, &base, source, state)?
            .with_access(self.source_access())
            .with_signers(SignerRules::new(self.trusted_keys()?)))
    }

    /// Finishes what a killed installation left in these folders, where there is anything of that kind. What
    /// cannot be finished is said by the next command that installs.
    pub(crate) fn finish_installs(&self, roots: &[Root]) {
        let Some(folders) = self.user_folders() else { return };
        let _ = remove_abandoned_fetches(&folders.state);
        let own = roots.iter().filter(|root| {
            matches!(root.source, Source::Project | Source::User)
                && root.path.ends_with(OWN_SKILLS_FOLDER)
                && InstallTarget::is_unfinished_at(&root.path)
        });
        for root in own {
            let base = root.path.ancestors().nth(2).unwrap_or(&root.path);
            if let Ok(target) = InstallTarget::new(&root.path, base, root.source, &folders.state) {
                let _ = target.recover();
            }
        }
    }

    /// A request for what is in `source`; relative paths start at the working directory.
    pub fn install_request(&self, source: impl Into<String>) -> InstallRequest {
        let mut request = InstallRequest::new(source, self.working_dir());
        request.profile = self.profile();
        request
    }

    /// What installing would come to; nothing is written.
    pub fn preview_install(
        &self,
        target: &InstallTarget,
        request: &InstallRequest,
    ) -> Result<PlanView> {
        Ok(target.preview_install(request)?)
    }

    /// A plan to install from a source. Carry it out with [`Metier::carry_out`].
    pub fn plan_install(
        &self,
        target: &InstallTarget,
        request: &InstallRequest,
    ) -> Result<InstallPlan> {
        Ok(target.plan_install(request)?)
    }

    /// What making the disk agree with `skills.json` and the lock would come to; nothing is written.
    pub fn preview_reconcile(
        &self,
        target: &InstallTarget,
        lock: LockUse,
        overwrite: Overwrite,
    ) -> Result<PlanView> {
        Ok(target.preview_reconcile(lock, overwrite, self.profile())?)
    }

    /// A plan to make the disk agree with `skills.json` and the lock.
    pub fn plan_reconcile(
        &self,
        target: &InstallTarget,
        lock: LockUse,
        overwrite: Overwrite,
    ) -> Result<InstallPlan> {
        Ok(target.plan_reconcile(lock, overwrite, self.profile())?)
    }

    /// A plan to uninstall the skills of these names. Each goes to a backup.
    pub fn plan_uninstall(
        &self,
        target: &InstallTarget,
        names: &[String],
        overwrite: Overwrite,
    ) -> Result<InstallPlan> {
        Ok(target.plan_uninstall(names, overwrite)?)
    }

    /// A plan to restore an installed skill with its records; `None` for a backup of another skill.
    pub fn plan_restore(&self, backup: &Backup) -> Result<Option<InstallPlan>> {
        let path = Path::new(&backup.path);
        let own = [Scope::Project, Scope::User].into_iter();
        // A project that cannot be written to has no such skill.
        let own = own.filter_map(|scope| self.install_target(Some(scope)).ok());
        for target in own.chain(self.agent_targets()) {
            if path.parent() == Some(target.root()) {
                return Ok(target.plan_restore(backup)?);
            }
        }
        Ok(None)
    }

    /// Carries a plan out, all of it or nothing. The skills are found anew afterwards.
    pub fn carry_out(&self, plan: InstallPlan) -> Result<PlanView> {
        let done = plan.carry_out()?;
        if done.changes_skills() {
            self.look_again();
        }
        Ok(done)
    }

    /// Trusts the skills of a project that a plan has just installed, with the digests that were shown and no
    /// others: one that is changed afterwards is not trusted. Gives their names. Only a person may decide this, so
    /// it is for a front end that has asked one. The user's own skills need no trust.
    pub fn trust_installed(&self, target: &InstallTarget, done: &PlanView) -> Result<Vec<String>> {
        if target.is_users() {
            return Ok(Vec::new());
        }
        let folder = real_path(&self.project_top()?);
        let key = absolute(&folder)?;
        let locked = target.locked_skills()?;
        let mut trusted = Vec::new();
        let is_new = |action| matches!(action, PlannedAction::Add | PlannedAction::Replace);
        for skill in done.skills.iter().filter(|skill| is_new(skill.action)) {
            let Some(path) = path_below(&folder, Path::new(&skill.path)) else { continue };
            let Some(locked) = locked.get(&skill.name).filter(|it| it.tree == skill.tree) else {
                continue;
            };
            // What trust is about: the files that a loader or a script can see.
            let visible = locked.files.iter().filter(|(file, _)| RelPath::new(file).is_ok());
            let files: BTreeMap<String, Digest> =
                visible.map(|(file, digest)| (file.clone(), *digest)).collect();
            let digest = content_of(files.iter().map(|(file, digest)| (file.as_str(), *digest)));
            trusted.push((skill.name.clone(), path, SkillContent { digest, files }));
        }
        if trusted.is_empty() {
            return Ok(Vec::new());
        }
        let names = trusted.iter().map(|(name, ..)| name.clone()).collect();
        self.policy_store()?.change_trusted(|all| {
            let before = all.get(&key).cloned();
            let mut record = before.unwrap_or_else(|| TrustedFolder {
                folder: key.clone(),
                skills: BTreeMap::new(),
                files: BTreeMap::new(),
                followed: None,
                granted_at: now(),
            });
            for (_, path, content) in trusted {
                record.skills.insert(path.clone(), content.digest);
                record.files.insert(path, content.files);
            }
            all.trust(record);
        })?;
        Ok(names)
    }

    /// Compares the skills of these names, or everything in the folder, with the lock.
    pub fn verify_installed(
        &self,
        target: &InstallTarget,
        names: &[String],
    ) -> Result<Vec<VerifiedSkill>> {
        Ok(target.verify(names)?)
    }

    /// Writes the lock as `skills-lock.json` to `path`; what a file there says of other skills stays.
    pub fn export_skills_lock(&self, target: &InstallTarget, path: &Path) -> Result<ExportedLock> {
        const MAX_LOCK_BYTES: u64 = 16 << 20;
        let before = match metier_fs::read_bounded(path, MAX_LOCK_BYTES) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(metier_fs::ReadError::Io(error))
                if error.kind() == std::io::ErrorKind::NotFound =>
            {
                None
            }
            Err(error) => {
                let message = format!("{} cannot be read: {error}", path.display());
                return Err(Error::failed("not-readable", message));
            }
        };
        let exported = target.export_skills_lock(before.as_deref())?;
        metier_fs::replace_shared(path, exported.text.as_bytes()).map_err(|error| {
            Error::failed("not-written", format!("{} cannot be written: {error}", path.display()))
        })?;
        Ok(exported)
    }

    /// What packing the skills at `source` would come to; [`PackPlan::write`] packs them.
    ///
    /// ```
    /// # use metier::Metier;
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("greet"))?;
    /// # std::fs::write(dir.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Say hello.\n---\n")?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// let plan = metier.plan_pack("greet".as_ref(), metier.pack_options())?;
    /// assert_eq!(plan.file_name(), "greet.zip");
    /// let packed = plan.write(&dir.path().join("greet.zip"))?;
    /// println!("{}  {}", packed.digest, packed.path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan_pack(&self, source: &Path, options: PackOptions) -> Result<PackPlan> {
        Ok(plan_pack(&self.working_dir().join(source), options)?)
    }

    /// The usual way to pack, judged as skills are judged here.
    pub fn pack_options(&self) -> PackOptions {
        let mut options = PackOptions::default();
        options.profile = self.profile();
        options
    }
}
