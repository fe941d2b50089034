//! `manifest.json`: the digests of everything in an archive, inside it.
//!
//! It proves nothing about who packed it: that is a signature's work. It lets a person compare, and it
//! tells a damaged or half-edited archive from a whole one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::error::PackError;
use crate::shipped_tree::ShippedTree;
use crate::skills_in::{FoundSkill, skills_in};

/// Its name, at the top of the archive.
pub(crate) const MANIFEST_FILE: &str = "manifest.json";
const FORMAT: &str = "metier-pack-1";
/// What every format of ours begins with.
const FAMILY: &str = "metier-pack-";

/// The list of digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PackManifest {
    format: String,
    skills: BTreeMap<String, ManifestSkill>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ManifestSkill {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    tree: Digest,
    files: BTreeMap<String, Digest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    executable: Vec<String>,
}

impl PackManifest {
    pub(crate) fn of(skills: &[FoundSkill]) -> Self {
        let entry = |skill: &FoundSkill| {
            let files = skill.tree.files.iter();
            let listed = ManifestSkill {
                version: skill.summary.version.clone(),
                tree: skill.tree.digest(),
                files: files.clone().map(|file| (file.path.clone(), file.digest)).collect(),
                executable: files
                    .filter(|file| file.executable)
                    .map(|file| file.path.clone())
                    .collect(),
            };
            (skill.summary.name.to_string(), listed)
        };
        Self { format: FORMAT.to_owned(), skills: skills.iter().map(entry).collect() }
    }

    /// The manifest in `bytes`, or why it cannot be one; `None` for another file of that name. One that was damaged must
    /// not count as none: that is how an archive that was changed would get rid of it.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Result<Self, &'static str>> {
        if let Ok(manifest) = serde_json::from_slice::<Self>(bytes)
            && manifest.format == FORMAT
        {
            return Some(Ok(manifest));
        }
        let Ok(json) = serde_json::from_slice::<serde_json::Value>(bytes) else {
            let is_ours = bytes.windows(FAMILY.len()).any(|it| it == FAMILY.as_bytes());
            return is_ours.then_some(Err("it is damaged, and cannot be read"));
        };
        match json["format"].as_str() {
            Some(FORMAT) => Some(Err("it is damaged: a part of it is missing")),
            Some(format) if format.starts_with(FAMILY) => {
                Some(Err("its format is not one that this version knows"))
            }
            _ => None,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// What differs between the manifest and the skills that were unpacked. Which of them are installed
    /// does not matter.
    pub(crate) fn difference(&self, skills: &[FoundSkill]) -> Option<String> {
        let found: BTreeMap<&str, &FoundSkill> =
            skills.iter().map(|skill| (skill.summary.name.as_str(), skill)).collect();
        for (name, skill) in &self.skills {
            let Some(other) = found.get(name.as_str()) else {
                return Some(format!("`{name}` is listed and not there"));
            };
            let files = || other.tree.files.iter().map(|file| (&file.path, &file.digest));
            if other.tree.digest() != skill.tree || !skill.files.iter().eq(files()) {
                let files: BTreeMap<_, _> = files().collect();
                let differs = |path: &&String| files.get(path).copied() != skill.files.get(*path);
                let mut paths = skill.files.keys().chain(files.keys().copied());
                let path = paths.find(differs).map_or("its execute bits", String::as_str);
                return Some(format!("`{name}`: {path}"));
            }
            let executable = other.tree.files.iter().filter(|file| file.executable);
            if !executable.map(|file| &file.path).eq(&skill.executable) {
                return Some(format!("`{name}`: its execute bits"));
            }
            if other.summary.version != skill.version {
                return Some(format!("`{name}`: its version"));
            }
        }
        let extra = found.keys().find(|name| !self.skills.contains_key(**name));
        extra.map(|name| format!("`{name}` is there and not listed"))
    }
}

/// An archive that lists its digests has to fit them.
pub(crate) fn check_manifest(shown: &str, tree: &ShippedTree) -> Result<(), PackError> {
    let listed = tree.files.iter().find(|file| file.path == MANIFEST_FILE);
    let Some(manifest) = listed.and_then(|file| file.manifest.as_ref()) else { return Ok(()) };
    let mismatch = |what| PackError::ManifestMismatch { path: PathBuf::from(shown), what };
    let manifest = manifest.as_ref().map_err(|why| mismatch((*why).to_owned()))?;
    let all = skills_in(tree, shown, &[])?;
    manifest.difference(&all).map_or(Ok(()), |what| Err(mismatch(what)))
}
