//! Trust in a project's skills, and remembered answers: granted, taken back, listed.
//!
//! What trust changes is `metier-policy`'s. The records are in the user's state, outside the
//! project: nothing inside a project can make one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use metier_fs::SkillRoot;
use metier_policy::{RememberedAnswer, TrustedFolder, TrustedFolders};
use metier_registry::Entry;
use metier_skill::{Digest, RelPath, Source};
use metier_tools::policy_facts::{
    SkillContent, absolute, can_follow, content_digest, followed_folder, path_below, real_path,
    skill_content,
};
use metier_tools::trusted_texts::MAX_TEXT_BYTES;
use metier_tools::{PolicyStore, TrustMarks, TrustedTexts};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::guard::now;
use crate::open::Metier;

/// What trusting a folder came to.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Trusted {
    /// The folder.
    pub folder: String,
    /// One digest over all of its skills.
    pub digest: Digest,
    /// Its skills.
    pub skills: Vec<TrustedSkill>,
    /// Skills that are there and cannot be trusted, with the reason.
    pub left_out: Vec<Untrusted>,
    /// Whether changes of these skills are followed.
    pub followed: bool,
}

/// A skill that is trusted now.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TrustedSkill {
    /// Its id.
    pub id: String,
    /// Its path below the folder.
    pub path: String,
    /// The content that is trusted.
    pub digest: Digest,
    /// What it was before.
    pub was: TrustBefore,
    /// Its files.
    pub files: Vec<String>,
    /// The tools that it may use, where it says so.
    pub allowed_tools: Option<Vec<String>>,
    /// What is different from when it was trusted.
    pub changes: TrustChanges,
    /// The texts of changed files, before and after, where both are known.
    #[serde(skip)]
    pub texts: Vec<ChangedText>,
}

/// A file that changed since it was trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedText {
    /// Its path in the skill.
    pub path: String,
    /// What it contained when it was trusted.
    pub before: String,
    /// What it contains now.
    pub after: String,
}

/// How a skill differs from what was trusted, file by file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TrustChanges {
    /// Files that were not there.
    pub added: Vec<String>,
    /// Files with another content.
    pub changed: Vec<String>,
    /// Files that are gone.
    pub removed: Vec<String>,
}

/// What would be trusted. What is granted is what was looked at, even where the disk changes meanwhile.
#[derive(Debug)]
pub struct TrustPlan {
    trusted: Trusted,
    record: TrustedFolder,
    folder: PathBuf,
    store: PolicyStore,
    kept: TrustedTexts,
    texts: Vec<String>,
}

/// Bytes of texts that are kept of one folder.
const MAX_KEPT_BYTES: usize = 8 << 20;

impl TrustPlan {
    /// What would be trusted.
    pub const fn trusted(&self) -> &Trusted {
        &self.trusted
    }

    /// Trusts it.
    pub fn grant(self) -> Result<Trusted> {
        let record = self.record;
        self.store.change_trusted(|all| all.trust(record))?;
        for text in &self.texts {
            // Without it the change of a file is named later, not shown.
            let _ = self.kept.keep(text);
        }
        drop_texts(&self.store, &self.kept);
        Ok(self.trusted)
    }

    /// Trusts it, and lets these very skills be loaded after a change too; their scripts ask then. A skill
    /// that is added later is not covered, and neither is anything else that is put in the place of the
    /// folder. Only a person may decide this, so it is for a front end that has asked one.
    ///
    /// # Errors
    /// Where other accounts could make the changes, or a skill belongs to a project inside this one.
    pub fn grant_following(mut self) -> Result<Trusted> {
        let refused = |reason: String| {
            Error::failed("cannot-follow", format!("changes cannot be followed here: {reason}"))
                .with_help("trust the folder as it is now: metier trust")
        };
        for skill in &self.trusted.skills {
            can_follow(&self.folder, &self.folder.join(&skill.path)).map_err(refused)?;
        }
        let folder = followed_folder(&self.folder).map_err(|error| refused(error.to_string()))?;
        self.record.followed = Some(folder);
        self.record.followed_skills = self.record.skills.keys().cloned().collect();
        self.trusted.followed = true;
        self.grant()
    }
}

impl TrustedSkill {
    fn new(
        entry: &Entry,
        path: String,
        content: &SkillContent,
        before: Option<&TrustedFolder>,
        (kept, now): (&TrustedTexts, &BTreeMap<String, String>),
    ) -> Self {
        let was = match before.and_then(|before| before.skills.get(&path)) {
            None => TrustBefore::Untrusted,
            Some(known) if *known == content.digest => TrustBefore::Trusted,
            Some(_) => TrustBefore::Changed,
        };
        // An older record has no files to compare with.
        let known = before.and_then(|before| before.files.get(&path));
        let changes = known.map(|known| TrustChanges::between(known, &content.files));
        let changes = changes.unwrap_or_default();
        let changed = changes.changed.iter().filter_map(|file| {
            let before = kept.text(*known?.get(file)?)?;
            let after = now.get(file)?.clone();
            Some(ChangedText { path: file.clone(), before, after })
        });
        let texts = changed.collect();
        let tools = entry.skill.controls.allowed_tools.as_ref();
        Self {
            id: entry.id().to_string(),
            path,
            digest: content.digest,
            was,
            files: content.files.keys().cloned().collect(),
            allowed_tools: tools.map(|tools| tools.iter().map(ToString::to_string).collect()),
            changes,
            texts,
        }
    }
}

impl TrustChanges {
    fn between(before: &BTreeMap<String, Digest>, now: &BTreeMap<String, Digest>) -> Self {
        let names = |names: &mut dyn Iterator<Item = &String>| names.cloned().collect();
        let differs =
            |file: &&String| before.get(*file).is_some_and(|known| now.get(*file) != Some(known));
        Self {
            added: names(&mut now.keys().filter(|file| !before.contains_key(*file))),
            changed: names(&mut now.keys().filter(differs)),
            removed: names(&mut before.keys().filter(|file| !now.contains_key(*file))),
        }
    }
}

/// A skill that cannot be trusted.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Untrusted {
    /// Its path below the folder.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// What a skill was before its folder was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustBefore {
    /// It was never trusted.
    Untrusted,
    /// It was trusted with another content.
    Changed,
    /// It was trusted as it is.
    Trusted,
}

impl Metier {
    /// Trusts the skills of the project, or of the folder `dir` (relative to the working directory),
    /// as they are now. A skill that changes or is added later has to be trusted again.
    pub fn trust(&self, dir: Option<&Path>) -> Result<Trusted> {
        self.trust_plan(dir)?.grant()
    }

    /// What trusting the project, or the folder `dir`, would come to. Nothing is trusted yet.
    pub fn trust_plan(&self, dir: Option<&Path>) -> Result<TrustPlan> {
        let folder = self.trust_folder(dir)?;
        let key = absolute(&folder)?;
        let store = self.policy_store()?;
        let before = store.trusted()?.get(&key).cloned();
        let scan = self.refresh();
        let (mut skills, mut left_out) = (Vec::new(), Vec::new());
        let (mut files, mut texts) = (BTreeMap::new(), Vec::new());
        let kept = TrustedTexts::in_state(&self.require_user_folders()?.state);
        let entries = scan.index.entries().iter().chain(scan.index.shadowed());
        for entry in entries.filter(|entry| entry.source == Source::Project) {
            let Some(path) = path_below(&folder, &entry.path) else {
                left_out.extend(leads_outside(&folder, &entry.path));
                continue;
            };
            match skill_content(entry) {
                Ok(content) => {
                    let now = current_texts(entry, &content);
                    let before = before.as_ref();
                    let known = (&kept, &now);
                    skills.push(TrustedSkill::new(entry, path.clone(), &content, before, known));
                    files.insert(path, content.files);
                    texts.extend(now.into_values());
                }
                Err(error) => left_out.push(Untrusted { path, reason: error.to_string() }),
            }
        }
        if skills.is_empty() && left_out.is_empty() {
            let message = format!("there are no skills of a project below {}", folder.display());
            return Err(Error::failed("nothing-to-trust", message).with_help(
                "`metier list` shows where skills come from; only a project's need trust",
            ));
        }
        let record = TrustedFolder {
            folder: key,
            skills: skills.iter().map(|skill| (skill.path.clone(), skill.digest)).collect(),
            files,
            followed: None,
            followed_skills: BTreeSet::new(),
            granted_at: now(),
        };
        let digest = record.digest();
        let shown = folder.to_string_lossy().into_owned();
        let trusted = Trusted { folder: shown, digest, skills, left_out, followed: false };
        let mut bytes = 0;
        texts.retain(|text| {
            bytes += text.len();
            bytes <= MAX_KEPT_BYTES
        });
        Ok(TrustPlan { trusted, record, folder, store, kept, texts })
    }

    /// Takes the trust in the project, or in the folder `dir`, back. Gives the folder, and whether it
    /// was trusted. The folder need not exist any more.
    pub fn untrust(&self, dir: Option<&Path>) -> Result<(PathBuf, bool)> {
        let folder = self.trust_folder(dir)?;
        let key = absolute(&folder)?;
        let store = self.policy_store()?;
        let taken = store.change_trusted(|all| all.untrust(&key))?;
        drop_texts(&store, &TrustedTexts::in_state(&self.require_user_folders()?.state));
        Ok((folder, taken.is_some()))
    }

    /// The digest of everything in a skill that a script or a loader can see.
    pub fn content_digest(&self, entry: &Entry) -> Result<Digest> {
        content_digest(entry).map_err(|error| {
            Error::failed(error.code().as_str(), error.to_string()).with_help(error.help())
        })
    }

    /// The folders that the user trusts.
    pub fn trusted_folders(&self) -> Result<TrustedFolders> {
        Ok(self.policy_store()?.trusted()?)
    }

    /// Marks of trust for a list of skills. Without a home directory nothing of a project is trusted.
    pub fn trust_marks(&self) -> TrustMarks {
        let trusted = self.trusted_folders().unwrap_or_default();
        match self.require_user_folders() {
            Ok(user) => TrustMarks::in_state(trusted, &user.state, now()),
            Err(_) => TrustMarks::new(trusted),
        }
    }

    /// The answers that are remembered, oldest first, each with whether it still counts.
    pub fn remembered_answers(&self) -> Result<Vec<(RememberedAnswer, bool)>> {
        let (now, longest) = (now(), self.settings().execution.always);
        let answers = self.policy_store()?.answers()?;
        let shown = answers.iter().map(|answer| {
            let answer = RememberedAnswer { expires_at: answer.end(longest), ..answer.clone() };
            let counts = answer.holds_at(now);
            (answer, counts)
        });
        Ok(shown.collect())
    }

    /// Forgets a remembered answer, so that it is asked again.
    pub fn forget_answer(&self, id: &str) -> Result<RememberedAnswer> {
        let found = self.policy_store()?.change_answers(|answers| answers.forget(id))?;
        found.ok_or_else(|| {
            Error::failed("answer-not-found", format!("no answer `{id}` is remembered"))
                .with_help("`metier permissions` lists the answers with their ids")
        })
    }

    fn trust_folder(&self, dir: Option<&Path>) -> Result<PathBuf> {
        match dir {
            Some(dir) => Ok(real_path(&self.working_dir().join(dir))),
            None => Ok(real_path(&self.project_top()?)),
        }
    }
}

/// The small texts among the files of a skill, as they were hashed.
fn current_texts(entry: &Entry, content: &SkillContent) -> BTreeMap<String, String> {
    let Ok(root) = SkillRoot::open(&entry.path) else { return BTreeMap::new() };
    let text = |(file, digest): (&String, &Digest)| {
        let bytes = root.read(&RelPath::new(file).ok()?, MAX_TEXT_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
        (Digest::of(text.as_bytes()) == *digest).then(|| (file.clone(), text))
    };
    content.files.iter().filter_map(text).collect()
}

/// Drops the texts that no record names any more.
fn drop_texts(store: &PolicyStore, kept: &TrustedTexts) {
    if let Ok(all) = store.trusted() {
        let files = all.iter().flat_map(|folder| folder.files.values());
        kept.keep_only(files.flat_map(|files| files.values().copied()));
    }
}

/// A skill that a link in the folder leads to and that is not in the folder: what is trusted is what is
/// there.
fn leads_outside(folder: &Path, skill: &Path) -> Option<Untrusted> {
    let (parent, name) = (skill.parent()?, skill.file_name()?.to_str()?);
    let below = path_below(folder, parent)?;
    let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
    Some(Untrusted {
        path,
        reason: "a link leads to it, and it is outside of the folder".to_owned(),
    })
}
