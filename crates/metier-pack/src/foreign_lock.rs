//! Records of other installers: `skills-lock.json` written here, and it and others read in `read`.
//!
//! What is written restores with `npx skills experimental_install`. Its hash of a folder has no separators and
//! depends on a language's order of letters, so it is written for that program and never relied on here.

mod read;

use std::cmp::Ordering;
use std::path::Path;

use metier_fs::TreeReader;
use metier_skill::Digest;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::directory::list_directory;
use crate::error::PackError;
use crate::limits::PackLimits;
use crate::records::{LockedSkill, Records, SourceKind};
use crate::source::{InstallSource, parse_source};
use crate::target::InstallTarget;
pub use read::{ForeignLock, ForeignSkill, read_foreign_lock};

/// The version of `skills-lock.json` that is written; readers of it take a lower one for an empty file.
const PROJECT_VERSION: u64 = 1;

/// A `skills-lock.json` to write.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ExportedLock {
    /// The text of the file.
    #[serde(skip)]
    pub text: String,
    /// The skills in it.
    pub skills: Vec<String>,
    /// Those that are not, each with the reason.
    pub left_out: Vec<NotExchanged>,
}

/// A skill that is not exchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NotExchanged {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl InstallTarget {
    /// The lock as `skills-lock.json`. What an existing file `before` says of other skills stays.
    ///
    /// # Errors
    ///
    /// [`PackError`] where the lock or the existing file cannot be read.
    pub fn export_skills_lock(&self, before: Option<&str>) -> Result<ExportedLock, PackError> {
        let mut file = match before {
            Some(text) => read_object(text)?,
            None => Map::new(),
        };
        file.insert("version".to_owned(), json!(PROJECT_VERSION));
        let others = file.remove("skills").and_then(|it| it.as_object().cloned());
        let mut all: std::collections::BTreeMap<String, Value> =
            others.unwrap_or_default().into_iter().collect();
        let mut exported =
            ExportedLock { text: String::new(), skills: Vec::new(), left_out: Vec::new() };
        for (name, locked) in &Records::read(&self.records)?.lock.skills {
            match self.exported(name, locked) {
                Ok(entry) => {
                    all.insert(name.clone(), entry);
                    exported.skills.push(name.clone());
                }
                Err(reason) => exported.left_out.push(NotExchanged { name: name.clone(), reason }),
            }
        }
        file.insert("skills".to_owned(), Value::Object(all.into_iter().collect()));
        exported.text = serde_json::to_string_pretty(&Value::Object(file)).unwrap_or_default();
        exported.text.push('\n');
        Ok(exported)
    }

    fn exported(&self, name: &str, locked: &LockedSkill) -> Result<Value, String> {
        let hash = folder_hash(&self.root.join(name)).map_err(|error| error.to_string())?;
        let mut entry = Map::new();
        let mut put = |key: &str, value: &str| entry.insert(key.to_owned(), json!(value));
        match locked.kind {
            SourceKind::Directory => {
                put("source", &locked.source);
                put("sourceType", "local");
            }
            SourceKind::Git => {
                let source = parse_source(&locked.source, &self.base, &self.base);
                let Ok(InstallSource::Git(git)) = source else {
                    return Err("its git source cannot be read".to_owned());
                };
                let address = git.address();
                let short = address.strip_prefix("https://github.com/");
                if let Some(short) = short {
                    put("source", short.strip_suffix(".git").unwrap_or(short));
                    put("sourceType", "github");
                } else {
                    put("source", &address);
                    put("sourceUrl", &address);
                    put("sourceType", "git");
                }
                if let Some(commit) = &locked.resolved {
                    put("ref", commit);
                }
                let dir = locked.path.as_deref().unwrap_or_default();
                put("skillPath", &crate::pack::joined(dir, "SKILL.md"));
            }
            SourceKind::Archive => {
                return Err("skills-lock.json has no archives on this machine".to_owned());
            }
            kind => return Err(format!("skills-lock.json has no {}", kind.noun())),
        }
        entry.insert("computedHash".to_owned(), json!(hash));
        Ok(Value::Object(entry))
    }
}

fn bad(reason: impl Into<String>) -> PackError {
    PackError::BadRecord { path: "the record".into(), reason: reason.into() }
}

fn read_object(text: &str) -> Result<Map<String, Value>, PackError> {
    let value: Value = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(bad("it is not a JSON object")),
    }
}

/// The hash that `skills` has for a folder: names and bytes, in the order of names that JavaScript has.
fn folder_hash(folder: &Path) -> Result<String, PackError> {
    let mut names = list_directory(&[], folder, &PackLimits::default())?;
    names.files.sort_by(|a, b| locale_order(a, b));
    let tree = TreeReader::open(folder).map_err(|error| PackError::not_readable(folder, error))?;
    let mut hasher = Sha256::new();
    let mut buffer = Vec::new();
    for path in &names.files {
        hasher.update(path.as_bytes());
        let unreadable = |error| PackError::not_readable(folder.join(path), error);
        let mut file = tree
            .open_file(path)
            .map_err(|error| unreadable(std::io::Error::other(error.to_string())))?;
        buffer.clear();
        std::io::Read::read_to_end(&mut file.file, &mut buffer).map_err(unreadable)?;
        hasher.update(&buffer);
    }
    let digest = Digest::from_bytes(hasher.finalize().into()).to_string();
    Ok(digest.trim_start_matches("sha256:").to_owned())
}

/// `localeCompare` of ASCII in the root locale: signs, digits, letters; case counts only where all else is
/// the same. Other letters come after, in the order of their numbers.
fn locale_order(a: &str, b: &str) -> Ordering {
    const SIGNS: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    let weight = |ch: char| {
        let ch = ch.to_ascii_lowercase();
        match SIGNS.find(ch) {
            Some(at) => u32::try_from(at).unwrap_or(0),
            None => 1000 + u32::from(ch),
        }
    };
    let letters = a.chars().map(weight).cmp(b.chars().map(weight));
    // The small letter first.
    let case = |text: &str| text.chars().map(|ch| ch.is_ascii_uppercase()).collect::<Vec<_>>();
    letters.then_with(|| case(a).cmp(&case(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_javascript() {
        let mut names =
            ["SKILL.md", "scripts/x", "a.md", "A.md", "_x", "-y", "10", "b/c", "b-c", "B"];
        names.sort_by(|a, b| locale_order(a, b));
        let expected =
            ["_x", "-y", "10", "a.md", "A.md", "B", "b-c", "b/c", "scripts/x", "SKILL.md"];
        assert_eq!(names, expected);
    }
}
