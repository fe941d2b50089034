//! A signature in a file of its own, beside the file that it is about.
//! Finding that file is the caller's; here its bytes become a signature, and a signature a signer.

use serde::Serialize;

use crate::error::SignatureError;
use crate::file_hash::{FileHash, HashKind};
use crate::minisign::{MinisignKey, MinisignSignature, short_id};
use crate::public_key::{AnyKey, KeyKind, PublicKey};
use crate::signer::{Signer, SignerTrust};
use crate::ssh_signature::SshSignature;
use crate::trusted_keys::TrustedKeys;

/// The largest file that is read as a signature; real ones have less than 4 KiB.
pub const MAX_SIGNATURE_BYTES: u64 = 64 << 10;

/// The two kinds of signatures beside a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SidecarKind {
    /// Minisign's, in `FILE.minisig`.
    Minisign,
    /// OpenSSH's, in `FILE.sig`.
    Ssh,
}

impl SidecarKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Minisign, Self::Ssh];

    /// What is appended to the name of the file.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Minisign => ".minisig",
            Self::Ssh => ".sig",
        }
    }
}

/// A signature that was read and not yet checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SidecarSignature(AnySignature);

#[derive(Debug, Clone, PartialEq, Eq)]
enum AnySignature {
    Minisign(MinisignSignature),
    Ssh(SshSignature),
}

impl SidecarSignature {
    /// The signature in the bytes of a file.
    ///
    /// # Errors
    ///
    /// [`SignatureError`] for anything that is not exactly one signature of a supported kind.
    pub fn parse(kind: SidecarKind, bytes: &[u8]) -> Result<Self, SignatureError> {
        if bytes.len() as u64 > MAX_SIGNATURE_BYTES {
            return Err(SignatureError::Format("it is too large for a signature"));
        }
        let text =
            std::str::from_utf8(bytes).map_err(|_| SignatureError::Format("it is not text"))?;
        Ok(Self(match kind {
            SidecarKind::Minisign => AnySignature::Minisign(MinisignSignature::parse(text)?),
            SidecarKind::Ssh => AnySignature::Ssh(SshSignature::parse(text)?),
        }))
    }

    /// Which hash of the file it is about.
    pub const fn hash_kind(&self) -> HashKind {
        match &self.0 {
            AnySignature::Minisign(_) => HashKind::Blake2b,
            AnySignature::Ssh(signature) => signature.hash,
        }
    }

    /// Checks the signature, and says who made it. Keys are those that a person trusts, and the one that
    /// was `pinned` when the file's skill was accepted; an OpenSSH signature also brings its own.
    ///
    /// # Errors
    ///
    /// [`SignatureError::UnknownKey`] where there is no key to check it with, and others where it is wrong.
    pub fn check(
        &self,
        hash: &FileHash,
        keys: &TrustedKeys,
        pinned: Option<&str>,
    ) -> Result<Signer, SignatureError> {
        match &self.0 {
            AnySignature::Minisign(signature) => check_minisign(signature, hash, keys, pinned),
            AnySignature::Ssh(signature) => {
                signature.verify(hash)?;
                Ok(ssh_signer(signature, keys, pinned))
            }
        }
    }
}

fn check_minisign(
    signature: &MinisignSignature,
    hash: &FileHash,
    keys: &TrustedKeys,
    pinned: Option<&str>,
) -> Result<Signer, SignatureError> {
    let is_it = |key: &MinisignKey| key.key_id == signature.key_id;
    let trusted = keys.any().find_map(|(key, known)| match key {
        AnyKey::Minisign(key) if is_it(key) => Some((key, known)),
        _ => None,
    });
    let pinned = pinned
        .and_then(|pinned| pinned.strip_prefix("minisign:"))
        .and_then(|text| MinisignKey::parse(text).ok())
        .filter(is_it);
    let (key, name, trust) = match (trusted, pinned) {
        (Some((key, known)), _) => (key.clone(), known.name.clone(), SignerTrust::Trusted),
        (None, Some(key)) => (key, None, SignerTrust::Pinned),
        (None, None) => return Err(SignatureError::UnknownKey(short_id(signature.key_id))),
    };
    signature.verify(hash, &key)?;
    let id = PublicKey::minisign(key).id();
    let comment = Some(signature.comment.clone()).filter(|comment| !comment.is_empty());
    Ok(Signer { id, kind: KeyKind::Minisign, name, trust, comment })
}

fn ssh_signer(signature: &SshSignature, keys: &TrustedKeys, pinned: Option<&str>) -> Signer {
    let is_it = |key: &AnyKey| matches!(key, AnyKey::Ssh(key) if *key == signature.key);
    let id = PublicKey::ssh(signature.key.clone()).id();
    let (name, trust) = match keys.any().find(|(key, _)| is_it(key)) {
        Some((_, known)) => (known.name.clone(), SignerTrust::Trusted),
        None if pinned == Some(&id) => (None, SignerTrust::Pinned),
        None => (None, SignerTrust::Unknown),
    };
    Signer { id, kind: KeyKind::Ssh, name, trust, comment: None }
}
