//! Trust in a project's skills, and remembered answers: granted, taken back, listed.
//!
//! What trust changes is `metier-policy`'s. The records are in the user's state, outside the
//! project: nothing inside a project can make one.

use std::path::{Path, PathBuf};

use metier_policy::{RememberedAnswer, TrustedFolder, TrustedFolders};
use metier_skill::{Digest, Source};
use metier_tools::policy_facts::{absolute, content_digest, path_below, real_path};
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
        let folder = self.trust_folder(dir)?;
        let key = absolute(&folder)?;
        let store = self.policy_store()?;
        let known = store.trusted()?;
        let before = known.get(&key).map(|known| known.skills.clone()).unwrap_or_default();
        let scan = self.refresh();
        let (mut skills, mut left_out) = (Vec::new(), Vec::new());
        let entries = scan.index.entries().iter().chain(scan.index.shadowed());
        for entry in entries.filter(|entry| entry.source == Source::Project) {
            let Some(path) = path_below(&folder, &entry.path) else {
                left_out.extend(leads_outside(&folder, &entry.path));
                continue;
            };
            match content_digest(entry) {
                Ok(digest) => {
                    let was = match before.get(&path) {
                        None => TrustBefore::Untrusted,
                        Some(known) if *known == digest => TrustBefore::Trusted,
                        Some(_) => TrustBefore::Changed,
                    };
                    skills.push(TrustedSkill { id: entry.id().to_string(), path, digest, was });
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
            granted_at: now(),
        };
        let digest = record.digest();
        store.change_trusted(|all| all.trust(record))?;
        Ok(Trusted { folder: folder.to_string_lossy().into_owned(), digest, skills, left_out })
    }

    /// Takes the trust in the project, or in the folder `dir`, back. Gives the folder, and whether it
    /// was trusted. The folder need not exist any more.
    pub fn untrust(&self, dir: Option<&Path>) -> Result<(PathBuf, bool)> {
        let folder = self.trust_folder(dir)?;
        let key = absolute(&folder)?;
        let taken = self.policy_store()?.change_trusted(|all| all.untrust(&key))?;
        Ok((folder, taken.is_some()))
    }

    /// The folders that the user trusts.
    pub fn trusted_folders(&self) -> Result<TrustedFolders> {
        Ok(self.policy_store()?.trusted()?)
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
