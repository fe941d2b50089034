//! Who signed something, as it is shown, written to a lock, and compared later.
//! Only checked signatures make one.

use serde::Serialize;

use crate::public_key::KeyKind;

/// How well the key that signed is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SignerTrust {
    /// A person trusts the key.
    Trusted,
    /// The key is the one that was there when the skill was accepted; no one said more about it.
    Pinned,
    /// The signature is right, and the key came with it.
    Unknown,
}

/// Who signed something, by a signature that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Signer {
    /// The whole key, or a digest of it: what a lock pins. Short ids can be made to order.
    pub id: String,
    /// The kind of the key.
    pub kind: KeyKind,
    /// What the person who trusts the key calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How well the key is known.
    pub trust: SignerTrust,
    /// What the signer wrote into the signature, signed too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}
