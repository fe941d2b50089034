//! What the person has accepted before, for the review of what is about to be installed: findings, in a list of
//! their own, and the installed skills that they trust.
//!
//! Both are the user's: a list or a lock that comes with a project or a skill accepts nothing.

use std::collections::BTreeMap;

use metier_fs::{ReadError, content_of, is_real_dir, read_bounded, writable_by_others};
use metier_pack::{AcceptedBefore, InstallTarget, LockedSkill, PlanView};
use metier_scan::Suppressions;
use metier_skill::{Digest, RelPath};
use metier_tools::policy_facts::{SkillContent, absolute, path_below, real_path};

use crate::error::{Error, Result};
use crate::open::Metier;

/// The list of accepted findings, in the user's folder.
const LIST_FILE: &str = "suppressions.json";
const MAX_LIST_BYTES: u64 = 1 << 20;

impl Metier {
    /// The findings that the user accepts everywhere: `~/.agent/suppressions.json`, empty where there is none.
    ///
    /// # Errors
    /// Where it cannot be read, or other accounts can write it: what is not understood accepts nothing.
    pub fn suppressions(&self) -> Result<Suppressions> {
        let Some(folders) = self.user_folders() else { return Ok(Suppressions::default()) };
        let path = folders.agent.join(LIST_FILE);
        let refused = |reason: String| {
            let message = format!("{} is not used: {reason}", path.display());
            Error::failed("invalid-suppressions", message)
                .with_help("write {\"suppressions\": [{\"rule\", \"fingerprint\", \"reason\"}]}")
        };
        let bytes = match read_bounded(&path, MAX_LIST_BYTES) {
            Ok(bytes) => bytes,
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Suppressions::default());
            }
            Err(error) => return Err(refused(error.to_string())),
        };
        if let Some(access) = writable_by_others(&path) {
            return Err(refused(access.about(&path)).with_help(access.remedy()));
        }
        let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8".to_owned()))?;
        Suppressions::parse(&text).map_err(|error| refused(error.to_string()))
    }

    /// The same folder, with what the user accepted before.
    pub(crate) fn reviewing(&self, target: &InstallTarget) -> Result<InstallTarget> {
        let mut accepted = AcceptedBefore::default();
        accepted.suppressions = self.suppressions()?;
        accepted.skills = self.accepted_skills(target)?;
        Ok(target.clone().with_accepted(accepted))
    }

    /// The skills of a plan that was carried out which are not trusted as they are now, by their names.
    pub fn untrusted_installed(
        &self,
        target: &InstallTarget,
        done: &PlanView,
    ) -> Result<Vec<String>> {
        let accepted = self.accepted_skills(target)?;
        let untrusted =
            done.landing().filter(|skill| accepted.get(&skill.name) != Some(&skill.tree));
        Ok(untrusted.map(|skill| skill.name.clone()).collect())
    }

    /// The installed skills that count as accepted: the user's own, and of a project those that are trusted as they
    /// are locked.
    fn accepted_skills(&self, target: &InstallTarget) -> Result<BTreeMap<String, Digest>> {
        let locked = target.locked_skills()?;
        if target.is_users() || locked.is_empty() {
            return Ok(locked.into_iter().map(|(name, it)| (name, it.tree)).collect());
        }
        let folder = real_path(&self.project_top()?);
        let trusted = self.policy_store()?.trusted()?;
        let Some(record) = trusted.get(&absolute(&folder)?) else { return Ok(BTreeMap::new()) };
        let Some(root) = path_below(&folder, target.root()) else { return Ok(BTreeMap::new()) };
        let is_trusted = |(name, it): &(String, LockedSkill)| {
            let known = record.skills.get(&path_in(&root, name));
            let is_known = known == Some(&trusted_content(it).digest);
            is_known && is_real_dir(&target.root().join(name))
        };
        Ok(locked.into_iter().filter(is_trusted).map(|(name, it)| (name, it.tree)).collect())
    }
}

/// What trust in an installed skill is about: the files that a loader or a script can see.
pub(crate) fn trusted_content(locked: &LockedSkill) -> SkillContent {
    let visible = locked.files.iter().filter(|(file, _)| RelPath::new(file).is_ok());
    let files: BTreeMap<String, Digest> =
        visible.map(|(file, digest)| (file.clone(), *digest)).collect();
    let digest = content_of(files.iter().map(|(file, digest)| (file.as_str(), *digest)));
    SkillContent { digest, files }
}

/// Where the skill `name` is, in a folder of skills at `root`. Both are paths below a project.
pub(crate) fn path_in(root: &str, name: &str) -> String {
    if root.is_empty() { name.to_owned() } else { format!("{root}/{name}") }
}
