//! Signing an archive, and verifying one that lies somewhere: its structure, its manifest, its signatures.
//! Nothing is installed.

use std::path::{Path, PathBuf};

use metier_fs::{EntryKind, PiecewiseFile, entry_kind, is_dir, replace_shared};
use metier_sign::{FileHash, Signer, SigningKey, TrustedKeys};
use metier_skill::{Digest, Profile};
use serde::Serialize;

use crate::directory::read_directory;
use crate::error::PackError;
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::pack::MANIFEST_FILE;
use crate::pack::check_manifest;
use crate::prepare::read_archive;
use crate::signatures::{CheckedSignatures, UncheckedSignature};
use crate::skills_in::{FoundSkill, skills_in};

/// What signing an archive came to.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SignedPack {
    /// The archive.
    pub path: String,
    /// Its digest.
    pub digest: Digest,
    /// The signature's file.
    pub signature: String,
    /// The id of the key.
    pub signer: String,
    /// What the signature says, signed too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// An archive, or a directory of skills, that was verified.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct VerifiedPack {
    /// Where it is.
    pub path: String,
    /// The digest of an archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Whether it has a list of digests, which fits.
    pub manifest: bool,
    /// Who signed it.
    pub signers: Vec<Signer>,
    /// Signatures that could not be checked.
    pub unchecked: Vec<UncheckedSignature>,
    /// Its skills.
    pub skills: Vec<VerifiedPackSkill>,
}

/// A skill of it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct VerifiedPackSkill {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of its tree.
    pub tree: Digest,
    /// How many files it has.
    pub files: usize,
    /// Who signed this skill, in its own folder.
    pub signers: Vec<Signer>,
    /// A signature in its folder that could not be checked.
    pub unchecked: Vec<UncheckedSignature>,
}

impl VerifiedPack {
    /// Whether everything in it is signed by a key that counts.
    pub fn is_signed(&self) -> bool {
        let trusted = |signers: &[Signer]| {
            signers.iter().any(|signer| signer.trust == metier_sign::SignerTrust::Trusted)
        };
        trusted(&self.signers)
            || (!self.skills.is_empty() && self.skills.iter().all(|skill| trusted(&skill.signers)))
    }
}

/// Verifies the archive, or the directory of skills, at `path`. Only the keys in `keys` count.
///
/// # Errors
///
/// [`PackError`] for an archive that would not be installed, and for a signature that is wrong.
pub fn verify_pack(
    path: &Path,
    keys: &TrustedKeys,
    profile: Profile,
) -> Result<VerifiedPack, PackError> {
    let limits = PackLimits::default();
    let shown = path.to_string_lossy().into_owned();
    if entry_kind(path).is_none() {
        return Err(PackError::NoSource { source: shown, near: None });
    }
    let outgoing = Outgoing::nowhere(profile);
    let (tree, digest, checked) = if is_dir(path) {
        (read_directory(path, &limits, outgoing)?, None, CheckedSignatures::default())
    } else {
        let read = read_archive(path, &shown, &limits, outgoing)?;
        check_manifest(&shown, &read.tree)?;
        let checked = CheckedSignatures::of_sidecars(&read.sidecars, keys, None)?;
        (read.tree, Some(read.digest), checked)
    };
    let manifest = tree.files.iter().any(|it| it.path == MANIFEST_FILE && it.manifest.is_some());
    let mut skills = Vec::new();
    for skill in skills_in(&tree, &shown, &[])? {
        let mut own = CheckedSignatures::default();
        own.add_bundle(&skill.tree, &skill.dir, keys)?;
        skills.push(VerifiedPackSkill {
            name: skill.summary.name.to_string(),
            version: skill.summary.version.clone(),
            tree: skill.tree.digest(),
            files: skill.tree.files.len(),
            signers: own.signers,
            unchecked: own.unchecked,
        });
    }
    let CheckedSignatures { signers, unchecked } = checked;
    Ok(VerifiedPack { path: shown, digest, manifest, signers, unchecked, skills })
}

/// Signs the archive at `path`, in a file beside it. An archive that would not be installed is not signed.
///
/// # Errors
///
/// [`PackError`]; [`PackError::SignatureExists`] where there is a signature, unless it is to be replaced.
pub fn sign_pack(
    path: &Path,
    key: &SigningKey,
    comment: Option<&str>,
    replace: crate::install::Overwrite,
) -> Result<SignedPack, PackError> {
    let shown = path.to_string_lossy().into_owned();
    if entry_kind(path).is_none() {
        return Err(PackError::NoSource { source: shown, near: None });
    }
    let outgoing = Outgoing::nowhere(Profile::Lenient);
    let file = PiecewiseFile::open(path)
        .map_err(|error| PackError::not_readable(path, std::io::Error::other(error.to_string())))?;
    let hash = FileHash::of_reader(key.hash_kind(), file.reader())
        .map_err(|error| PackError::not_readable(path, error))?;
    let read = crate::prepare::read_open_archive(&file, path, &PackLimits::default(), outgoing)?;
    check_manifest(&shown, &read.0)?;
    let skills = skills_in(&read.0, &shown, &[])?;
    let mut name = path.as_os_str().to_owned();
    name.push(key.kind().suffix());
    let target = PathBuf::from(name);
    match entry_kind(&target) {
        None => {}
        Some(EntryKind::File) if replace == crate::install::Overwrite::Replace => {}
        Some(_) => return Err(PackError::SignatureExists(target)),
    }
    let has_comment = key.kind() == metier_sign::SidecarKind::Minisign;
    let comment = comment.map_or_else(|| usual_comment(&skills, read.1), ToOwned::to_owned);
    let refused =
        |error| PackError::Signature { file: target.to_string_lossy().into_owned(), error };
    let text = key.sign(&hash, &comment).map_err(refused)?;
    replace_shared(&target, text.as_bytes())
        .map_err(|error| PackError::not_written(&target, error))?;
    Ok(SignedPack {
        path: shown,
        digest: read.1,
        signature: target.to_string_lossy().into_owned(),
        signer: key.public().id(),
        comment: has_comment.then_some(comment),
    })
}

/// What a signature says of a pack, unless the person says something else: no time, so that two signatures
/// of one pack by one key are equal.
fn usual_comment(skills: &[FoundSkill], digest: Digest) -> String {
    match skills {
        [skill] => {
            let version = skill.summary.version.as_deref().unwrap_or_default();
            let version: String = version.chars().filter(|ch| !ch.is_control()).take(60).collect();
            let words = [skill.summary.name.as_str(), &version, &digest.to_string()].join(" ");
            words.replace("  ", " ")
        }
        several => format!("{} skills {digest}", several.len()),
    }
}
