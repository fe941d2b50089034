//! Installing, uninstalling and verifying skills, and packing them, for the folder of a scope.
//!
//! Shipping is `metier-pack`'s; which folder is meant, and that the index is fresh afterwards, is decided
//! here. Nothing is asked: a front end shows the plan to a person first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use metier_config::Scope;
use metier_pack::{
    AcceptedBefore, DiffAgainst, ExportedLock, InstallPlan, InstallRequest, InstallTarget,
    InstalledSkill, LockUse, LockedSkill, Overwrite, PackOptions, PackPlan, PlanView,
    PlannedAction, SignerChange, SignerRules, SkillDiff, UpdateRequest, VerifiedSkill, VerifyScan,
    plan_pack, remove_abandoned_fetches,
};
use metier_policy::{AbsolutePath, TrustedFolder};
use metier_registry::Root;
use metier_registry::manage::Backup;
use metier_skill::{OWN_SKILLS_FOLDER, Source};
use metier_tools::policy_facts::{absolute, path_below, real_path};

use crate::accepted::{path_in, trusted_content};
use crate::agent_targets::link_folders;
use crate::error::{Error, Result};
use crate::guard::now;
use crate::install_requests::UNFINISHED;
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
            .with_link_folders(link_folders(&base, source))
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
        let mut view = self.reviewing(target)?.preview_install(request)?;
        view.note_hidden(self.hidden_by(target));
        Ok(self.with_present(view))
    }

    /// A plan to install from a source. Carry it out with [`Metier::carry_out`].
    pub fn plan_install(
        &self,
        target: &InstallTarget,
        request: &InstallRequest,
    ) -> Result<InstallPlan> {
        let mut plan = self.reviewing(target)?.plan_install(request)?;
        plan.note_hidden(self.hidden_by(target));
        Ok(self.plan_with_present(plan))
    }

    /// The skill of the user, of a plugin or of the program whose name a skill of `target` would take.
    fn hidden_by(&self, target: &InstallTarget) -> impl Fn(&str) -> Option<String> + use<> {
        let source = if target.is_users() { Source::User } else { Source::Project };
        let scan = self.skills();
        let rank = |source: Source| Source::ALL.iter().position(|it| *it == source);
        move |name| {
            let used = scan.index.find(name)?;
            (rank(used.id().source) > rank(source)).then(|| used.id().to_string())
        }
    }

    /// What making the disk agree with `skills.json` and the lock would come to; nothing is written.
    pub fn preview_reconcile(
        &self,
        target: &InstallTarget,
        lock: LockUse,
        overwrite: Overwrite,
    ) -> Result<PlanView> {
        let view = self.reviewing(target)?.preview_reconcile(lock, overwrite, self.profile())?;
        Ok(self.with_present(view))
    }

    /// A plan to make the disk agree with `skills.json` and the lock.
    pub fn plan_reconcile(
        &self,
        target: &InstallTarget,
        lock: LockUse,
        overwrite: Overwrite,
    ) -> Result<InstallPlan> {
        let plan = self.reviewing(target)?.plan_reconcile(lock, overwrite, self.profile())?;
        Ok(self.plan_with_present(plan))
    }

    /// A request about the installed skills of these names, or about all of them.
    pub fn update_request(&self, names: Vec<String>) -> UpdateRequest {
        let mut request = UpdateRequest::new(names);
        request.profile = self.profile();
        request
    }

    /// What updating would come to; nothing is written.
    pub fn preview_update(
        &self,
        target: &InstallTarget,
        request: &UpdateRequest,
    ) -> Result<PlanView> {
        Ok(self.with_present(self.reviewing(target)?.preview_update(request)?))
    }

    /// A plan to bring installed skills up to date with their sources. Carry it out with [`Metier::carry_out`].
    pub fn plan_update(
        &self,
        target: &InstallTarget,
        request: &UpdateRequest,
    ) -> Result<InstallPlan> {
        Ok(self.plan_with_present(self.reviewing(target)?.plan_update(request)?))
    }

    /// Installed skills against what their sources give now.
    pub fn outdated(
        &self,
        target: &InstallTarget,
        request: &UpdateRequest,
    ) -> Result<Vec<InstalledSkill>> {
        Ok(target.outdated(request)?)
    }

    /// The same for those whose source is named by a tag that should never change: of a repository, or the version of a
    /// registry. Other sources are not asked.
    pub fn outdated_tags(
        &self,
        target: &InstallTarget,
        request: &UpdateRequest,
    ) -> Result<Vec<InstalledSkill>> {
        Ok(target.outdated_tags(request)?)
    }

    /// How installed skills differ from what their sources give now, or from what was installed.
    pub fn diff_installed(
        &self,
        target: &InstallTarget,
        request: &UpdateRequest,
        against: DiffAgainst,
    ) -> Result<Vec<SkillDiff>> {
        Ok(target.diff(request, against)?)
    }

    /// A skill of another folder serves a skill that needs it as well.
    fn with_present(&self, mut view: PlanView) -> PlanView {
        if view.skills.iter().any(|skill| !skill.missing.is_empty()) {
            let scan = self.skills();
            view.note_present(|name| scan.index.find(name).is_some());
        }
        view
    }

    fn plan_with_present(&self, mut plan: InstallPlan) -> InstallPlan {
        if plan.view().skills.iter().any(|skill| !skill.missing.is_empty()) {
            let scan = self.skills();
            plan.note_present(|name| scan.index.find(name).is_some());
        }
        plan
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

    /// A plan to restore a skill with its records; what stands in its place goes to a backup. `None` for a backup of
    /// a skill that no record is about: [`Backups::restore`](metier_registry::manage::Backups::restore) brings it back.
    ///
    /// A version that someone else signed than the one that is pinned is refused, unless `signer` accepts the change.
    pub fn plan_restore(
        &self,
        backup: &Backup,
        overwrite: Overwrite,
        signer: SignerChange,
    ) -> Result<Option<InstallPlan>> {
        let path = Path::new(&backup.path);
        for (_, target) in self.targets() {
            if path.parent() == Some(target.root()) {
                let target = target.with_signer_change(signer);
                return Ok(target.plan_restore(backup, overwrite)?);
            }
        }
        // Another project's: its records are beside the folder.
        let Some(root) = path.parent().filter(|_| backup.installed.is_some()) else {
            return Ok(None);
        };
        let base = root.ancestors().nth(2).unwrap_or(root);
        let (source, state) = (backup.skill.source, &self.require_user_folders()?.state);
        let target = InstallTarget::new(root, base, source, state)?
            .with_link_folders(link_folders(base, source))
            .with_signer_change(signer);
        Ok(target.plan_restore(backup, overwrite)?)
    }

    /// A plan to remove the links to these skills from the folder of an agent. The skills stay where they are.
    pub fn plan_unlink(
        &self,
        target: &InstallTarget,
        names: &[String],
        agent: &str,
    ) -> Result<InstallPlan> {
        Ok(target.plan_unlink(names, agent)?)
    }

    /// Ends following the skills that a plan puts in place: what it brings is no edit of the user's. Gives those that
    /// were followed, by their folder and their path in it.
    fn unfollow(&self, view: &PlanView) -> Result<Vec<(AbsolutePath, String)>> {
        let store = self.policy_store()?;
        let trusted = store.trusted()?;
        if trusted.iter().all(|record| record.followed_skills.is_empty()) {
            return Ok(Vec::new());
        }
        let landing: Vec<PathBuf> =
            view.landing().map(|skill| real_path(Path::new(&skill.path))).collect();
        let is_it = |folder: &AbsolutePath, path: &str| {
            landing.contains(&real_path(&Path::new(folder.as_str()).join(path)))
        };
        let followed = trusted.iter().flat_map(|record| {
            let paths = record.followed_skills.iter().filter(|path| is_it(&record.folder, path));
            paths.map(|path| (record.folder.clone(), path.clone()))
        });
        let followed = followed.collect();
        store.change_trusted(|all| all.unfollow(is_it))?;
        Ok(followed)
    }

    /// Follows these again: nothing came.
    fn follow_again(&self, followed: Vec<(AbsolutePath, String)>) -> Result<()> {
        if followed.is_empty() {
            return Ok(());
        }
        self.policy_store()?.change_trusted(|all| {
            for (folder, path) in followed {
                if let Some(mut record) = all.get(&folder).cloned() {
                    record.followed_skills.insert(path);
                    all.trust(record);
                }
            }
        })?;
        Ok(())
    }

    /// Carries a plan out, all of it or nothing. The skills are found anew afterwards.
    pub fn carry_out(&self, plan: InstallPlan) -> Result<PlanView> {
        // Before anything is there: what comes is not trusted for a moment.
        let followed = self.unfollow(plan.view())?;
        let done = plan.carry_out();
        // A change that stopped in the middle is finished by the next command.
        if done.as_ref().is_err_and(|error| error.code() != UNFINISHED) {
            // What is not followed is only asked about.
            let _ = self.follow_again(followed);
        }
        let done = done?;
        if done.changes_skills() {
            self.forget_replaced_links(&done);
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
        let Some(root) = path_below(&folder, target.root()) else { return Ok(Vec::new()) };
        let mut trusted = Vec::new();
        let is_new = |action| {
            use PlannedAction::{Add, Adopt, Replace};
            matches!(action, Add | Adopt | Replace)
        };
        for skill in done.skills.iter().filter(|skill| is_new(skill.action)) {
            let is_as_planned = |it: &&LockedSkill| it.tree == skill.tree;
            let Some(locked) = locked.get(&skill.name).filter(is_as_planned) else { continue };
            if !metier_fs::is_real_dir(&target.root().join(&skill.name)) {
                continue;
            }
            let path = path_in(&root, &skill.name);
            trusted.push((skill.name.clone(), path, trusted_content(locked)));
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
                followed_skills: BTreeSet::new(),
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

    /// Compares the skills of these names, or everything in the folder, with the lock. What is not as installed is
    /// scanned.
    pub fn verify_installed(
        &self,
        target: &InstallTarget,
        names: &[String],
        scan: VerifyScan,
    ) -> Result<Vec<VerifiedSkill>> {
        let mut accepted = AcceptedBefore::default();
        accepted.suppressions = self.suppressions()?;
        Ok(target.clone().with_accepted(accepted).verify_scanning(names, scan)?)
    }

    /// The same for the folder of an agent: its own skills, and those of our folder that it has links to.
    pub fn verify_for_agent(
        &self,
        agent: &str,
        scope: Option<Scope>,
        names: &[String],
        scan: VerifyScan,
    ) -> Result<(InstallTarget, Vec<VerifiedSkill>)> {
        let target = self.agent_target(agent, scope)?;
        let own = self.install_target(scope)?;
        let mut linked: Vec<String> = Vec::new();
        for name in own.locked_skills()?.into_keys() {
            if (names.is_empty() || names.contains(&name)) && own.is_linked(&name, agent)? {
                linked.push(name);
            }
        }
        let others: Vec<String> =
            names.iter().filter(|name| !linked.contains(name)).cloned().collect();
        let mut found = if names.is_empty() || !others.is_empty() {
            self.verify_installed(&target, &others, scan)?
        } else {
            Vec::new()
        };
        found.retain(|skill| !linked.contains(&skill.name));
        if !linked.is_empty() {
            found.extend(self.verify_installed(&own, &linked, scan)?);
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((target, found))
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
