//! Trust in a project's skills, as data: the trusted folders, and what their skills contained.
//!
//! A project's skills come with a clone. Until its folder is trusted, loading one asks and its
//! scripts do not run; a skill that was changed or added since is not trusted either. The caller
//! stores the records in the user's state folder; nothing inside a project can create one.

use std::collections::{BTreeMap, BTreeSet};

use metier_skill::{Digest, Source};
use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::memory::UnixTime;
use crate::permission::Permission;
use crate::subject::AbsolutePath;

/// Whether a skill is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustStatus {
    /// It is the user's own, or its folder is trusted and it is unchanged.
    Trusted,
    /// It is a project's, and its folder is not trusted.
    Untrusted,
    /// It was added to a folder that is trusted.
    Added,
    /// It has changed since it was trusted, in a folder whose changes the user follows: it may be
    /// loaded, and its scripts ask, whatever allows those of trusted skills.
    Followed,
    /// It has changed since it was trusted.
    Changed,
}

impl TrustStatus {
    /// The default for a skill of this source, without a trust record.
    pub const fn by_source(source: Source) -> Self {
        match source {
            Source::Project => Self::Untrusted,
            Source::Explicit | Source::User | Source::Plugin | Source::Builtin => Self::Trusted,
        }
    }

    /// The effect on a request for such a skill; `None` where trust does not matter.
    pub(crate) const fn effect_on(self, permission: &Permission) -> Option<Effect> {
        match (self, permission) {
            (Self::Trusted, _) | (Self::Followed, Permission::LoadSkill) => None,
            (Self::Followed, Permission::RunScript | Permission::ScriptNetwork) => {
                Some(Effect::Ask)
            }
            (_, Permission::LoadSkill) => Some(Effect::Ask),
            (_, Permission::RunScript | Permission::ScriptNetwork) => Some(Effect::Deny),
            _ => None,
        }
    }

    /// Why, as the end of a sentence.
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Trusted => "the folder is trusted",
            Self::Untrusted => "it comes with the project, and the folder is not trusted",
            Self::Added => {
                "it is new in the folder, which was trusted without it; `metier trust` shows it, and trusts it"
            }
            Self::Followed => "it has changed, and only loading it follows changes",
            Self::Changed => "it has changed since the folder was trusted",
        }
    }

    /// The word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Added => "added",
            Self::Followed => "followed",
            Self::Changed => "changed",
        }
    }

    /// What to put beside the name of such a skill; nothing where it is trusted as it is.
    pub const fn mark(self) -> Option<&'static str> {
        match self {
            Self::Trusted => None,
            Self::Untrusted => Some("not trusted"),
            Self::Added => Some("new, not trusted"),
            Self::Followed => Some("changed, followed"),
            Self::Changed => Some("changed since trusted"),
        }
    }
}

/// A folder that the user trusts, with what its skills contained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFolder {
    /// The folder, with its links resolved.
    pub folder: AbsolutePath,
    /// Its skills, by their path below the folder, with the digest of each.
    pub skills: BTreeMap<String, Digest>,
    /// The files of each skill, by their path in it, with the digest of each: what a later change is
    /// compared with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, BTreeMap<String, Digest>>,
    /// Where the user follows changes of these skills: the folder that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<FollowedFolder>,
    /// The skills whose changes are followed, by their paths below the folder. What is installed or updated later is not
    /// one of them: it is not the user who changed it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub followed_skills: BTreeSet<String>,
    /// When it was trusted.
    pub granted_at: UnixTime,
}

/// Which directory is followed, whatever is put in its place later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowedFolder {
    /// The device that it is on.
    pub device: u64,
    /// Its number there. A directory that is removed leaves its number to the next one that is made.
    pub inode: u64,
    /// When it was made, in nanoseconds since the epoch: what a clone in its place does not share. A record
    /// without it is never equal to a directory, so it has to be followed again.
    #[serde(default)]
    pub born: i64,
}

impl TrustedFolder {
    /// One digest over all its skills, for people to compare.
    pub fn digest(&self) -> Digest {
        let parts = self
            .skills
            .iter()
            .flat_map(|(path, digest)| [path.as_bytes(), digest.as_bytes().as_slice()]);
        Digest::of_parts(std::iter::once(b"metier trust 1".as_slice()).chain(parts))
    }
}

/// All folders that the user trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrustedFolders(Vec<TrustedFolder>);

impl TrustedFolders {
    /// Trusts a folder as it is now, replacing an earlier record.
    pub fn trust(&mut self, folder: TrustedFolder) {
        self.0.retain(|known| known.folder != folder.folder);
        self.0.push(folder);
        self.0.sort_by(|a, b| a.folder.cmp(&b.folder));
    }

    /// Removes the record of a folder and returns it.
    pub fn untrust(&mut self, folder: &AbsolutePath) -> Option<TrustedFolder> {
        let at = self.0.iter().position(|known| known.folder == *folder)?;
        Some(self.0.remove(at))
    }

    /// Ends following the skills that `is_it` knows, by their folder and their path in it; whether there were any.
    pub fn unfollow(&mut self, is_it: impl Fn(&AbsolutePath, &str) -> bool) -> bool {
        let mut any = false;
        for known in &mut self.0 {
            let before = known.followed_skills.len();
            let folder = &known.folder;
            known.followed_skills.retain(|path| !is_it(folder, path));
            any |= known.followed_skills.len() != before;
        }
        any
    }

    /// The record of a folder. Trust is not inherited: a folder below a trusted one has its own.
    pub fn get(&self, folder: &AbsolutePath) -> Option<&TrustedFolder> {
        self.0.iter().find(|known| known.folder == *folder)
    }

    /// The status of the skill at `path` below `folder` with this content.
    pub fn standing(&self, folder: &AbsolutePath, path: &str, digest: Digest) -> TrustStatus {
        match self.get(folder).and_then(|known| known.skills.get(path)) {
            None => TrustStatus::Untrusted,
            Some(known) if *known == digest => TrustStatus::Trusted,
            Some(_) => TrustStatus::Changed,
        }
    }

    /// The records, sorted by folder.
    pub fn iter(&self) -> impl Iterator<Item = &TrustedFolder> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_holds_for_what_was_there() {
        let path = |text: &str| AbsolutePath::new(text).expect("a path");
        let (old, new) = (Digest::of(b"old"), Digest::of(b"new"));
        let mut trusted = TrustedFolders::default();
        let folder = |digest| TrustedFolder {
            folder: path("/p"),
            skills: BTreeMap::from([(".agent/skills/a".to_owned(), digest)]),
            files: BTreeMap::new(),
            followed: None,
            followed_skills: BTreeSet::new(),
            granted_at: UnixTime(1),
        };
        trusted.trust(folder(old));
        assert_eq!(trusted.standing(&path("/p"), ".agent/skills/a", old), TrustStatus::Trusted);
        assert_eq!(trusted.standing(&path("/p"), ".agent/skills/a", new), TrustStatus::Changed);
        assert_eq!(trusted.standing(&path("/p"), ".agent/skills/b", new), TrustStatus::Untrusted);
        assert_eq!(trusted.standing(&path("/p/q"), ".agent/skills/a", old), TrustStatus::Untrusted);
        trusted.trust(folder(new));
        assert_eq!(trusted.iter().count(), 1);
        assert_eq!(trusted.standing(&path("/p"), ".agent/skills/a", new), TrustStatus::Trusted);
        assert_ne!(folder(old).digest(), folder(new).digest());
        assert!(trusted.untrust(&path("/p")).is_some());
        assert!(trusted.untrust(&path("/p")).is_none());
    }
}
