//! Signatures of what is installed: found beside an archive and in the folder of a skill, checked, and held
//! against the signer that the lock pins.
//!
//! A signature that is wrong is refused, always. One whose key is not known is shown and counts as none:
//! an attacker who could change it could also have left it out.

use std::path::Path;

use metier_fs::{EntryKind, PiecewiseFile, ReadError, entry_kind, read_bounded};
use metier_sign::{
    FileHash, MAX_SIGNATURE_BYTES, OMS_FILE, OmsBundle, SidecarKind, SidecarSignature,
    SignatureError, Signer, SignerTrust, TrustedKeys,
};
use serde::Serialize;

use crate::error::PackError;
use crate::shipped_tree::ShippedTree;

/// The largest bundle that is kept in memory and checked.
pub(crate) const MAX_BUNDLE_BYTES: u64 = 8 << 20;

/// What is done about a signer that is not the pinned one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SignerChange {
    /// Nothing is installed.
    #[default]
    Refuse,
    /// The new one, or none, is accepted. Only a person may decide this.
    Accept,
}

/// Whose signatures count, and whether a signer may change.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SignerRules {
    /// The keys that the person trusts.
    pub keys: TrustedKeys,
    /// What is done about a signer that is not the pinned one.
    pub change: SignerChange,
}

impl SignerRules {
    /// With these keys; a changed signer is refused.
    pub fn new(keys: TrustedKeys) -> Self {
        Self { keys, change: SignerChange::Refuse }
    }
}

/// A signature that could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UncheckedSignature {
    /// Its file.
    pub file: String,
    /// The stable code of the reason.
    pub code: &'static str,
    /// The reason.
    pub reason: String,
}

/// A signature beside an archive, with the hash of the very bytes that were unpacked.
#[derive(Debug)]
pub(crate) struct Sidecar {
    shown: String,
    /// `None` for a kind that other programs check.
    signature: Option<(SidecarSignature, FileHash)>,
}

/// What the signatures of a skill, or of an archive, came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct CheckedSignatures {
    pub(crate) signers: Vec<Signer>,
    pub(crate) unchecked: Vec<UncheckedSignature>,
}

/// The signatures beside the archive at `path`, which is open as `file`; errors call it `shown`.
pub(crate) fn read_sidecars(
    file: &PiecewiseFile,
    path: &Path,
    shown: &str,
) -> Result<Vec<Sidecar>, PackError> {
    let mut found = Vec::new();
    for kind in SidecarKind::ALL {
        let mut name = path.as_os_str().to_owned();
        name.push(kind.suffix());
        let beside = Path::new(&name);
        let shown = format!("{shown}{}", kind.suffix());
        let refused = |error| PackError::Signature { file: shown.clone(), error };
        match entry_kind(beside) {
            None => continue,
            Some(EntryKind::Link) => {
                return Err(refused(SignatureError::Format(
                    "it is a link, which could lead anywhere",
                )));
            }
            Some(_) => {}
        }
        let bytes = read_bounded(beside, MAX_SIGNATURE_BYTES).map_err(|error| match error {
            ReadError::TooLarge(_) => {
                refused(SignatureError::Format("it is too large for a signature"))
            }
            ReadError::NotRegular => refused(SignatureError::Format("it is not a regular file")),
            ReadError::Io(error) => PackError::not_readable(beside, error),
            other => PackError::not_readable(beside, std::io::Error::other(other.to_string())),
        })?;
        if kind == SidecarKind::Ssh && is_open_pgp(&bytes) {
            found.push(Sidecar { shown, signature: None });
            continue;
        }
        let signature = SidecarSignature::parse(kind, &bytes).map_err(refused)?;
        let hash = FileHash::of_reader(signature.hash_kind(), file.reader())
            .map_err(|error| PackError::not_readable(path, error))?;
        found.push(Sidecar { shown, signature: Some((signature, hash)) });
    }
    Ok(found)
}

/// A `.sig` of GnuPG, in either of its forms. Its packets begin with a set bit, which no text does.
fn is_open_pgp(bytes: &[u8]) -> bool {
    bytes.starts_with(b"-----BEGIN PGP ") || bytes.first().is_some_and(|first| first & 0x80 != 0)
}

impl CheckedSignatures {
    /// Checks the signatures beside an archive.
    pub(crate) fn of_sidecars(
        sidecars: &[Sidecar],
        keys: &TrustedKeys,
        pinned: Option<&str>,
    ) -> Result<Self, PackError> {
        let mut checked = Self::default();
        for sidecar in sidecars {
            let Some((signature, hash)) = &sidecar.signature else {
                checked.unchecked.push(UncheckedSignature {
                    file: sidecar.shown.clone(),
                    code: "signature-openpgp",
                    reason: "it is a signature of OpenPGP, which gpg checks".to_owned(),
                });
                continue;
            };
            checked.note(&sidecar.shown, signature.check(hash, keys, pinned))?;
        }
        Ok(checked)
    }

    /// Checks the bundle in the folder of a skill, where there is one. `shown` is how errors call the folder.
    pub(crate) fn add_bundle(
        &mut self,
        tree: &ShippedTree,
        shown: &str,
        keys: &TrustedKeys,
    ) -> Result<(), PackError> {
        let Some(bundle) = tree.files.iter().find(|file| file.path == OMS_FILE) else {
            return Ok(());
        };
        let shown = crate::pack::joined(shown, OMS_FILE);
        let left_out = |path: &str| crate::left_out::left_out_file(path).is_some();
        let files = tree.files.iter().map(|file| (file.path.as_str(), file.digest));
        let checked = OmsBundle::parse(bundle.bundle.as_deref().unwrap_or_default())
            .and_then(|bundle| bundle.check(files, left_out, keys));
        self.note(&shown, checked)
    }

    fn note(
        &mut self,
        file: &str,
        checked: Result<Signer, SignatureError>,
    ) -> Result<(), PackError> {
        match checked {
            Ok(signer) => self.signers.push(signer),
            Err(error) if error.is_unknown_key() => self.unchecked.push(UncheckedSignature {
                file: file.to_owned(),
                code: error.code(),
                reason: error.to_string(),
            }),
            Err(error) => return Err(PackError::Signature { file: file.to_owned(), error }),
        }
        Ok(())
    }

    /// The signer that the lock gets for the skill `name`: the pinned one, where it signed.
    pub(crate) fn signer(
        &self,
        name: &str,
        pinned: Option<&str>,
        change: SignerChange,
    ) -> Result<Option<Signer>, PackError> {
        let by_pinned = self.signers.iter().find(|signer| Some(signer.id.as_str()) == pinned);
        if let Some(signer) = by_pinned {
            return Ok(Some(signer.clone()));
        }
        if let Some(pinned) = pinned
            && change == SignerChange::Refuse
        {
            return Err(PackError::SignerChanged {
                name: name.to_owned(),
                pinned: pinned.to_owned(),
                found: self.signers.iter().map(|signer| signer.id.clone()).collect(),
            });
        }
        let trusted = self.signers.iter().find(|signer| signer.trust == SignerTrust::Trusted);
        Ok(trusted.or(self.signers.first()).cloned())
    }
}
