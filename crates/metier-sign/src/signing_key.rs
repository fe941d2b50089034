//! A secret key that signs: read from a file's text, or made anew.
//! Files and passwords are the caller's; what was opened is wiped from memory when it goes.

use zeroize::Zeroizing;

use crate::error::SignatureError;
use crate::file_hash::{FileHash, HashKind};
use crate::minisign::{MinisignSignature, UNTRUSTED};
use crate::minisign_secret::{MinisignSecret, generate};
use crate::public_key::PublicKey;
use crate::sidecar::{SidecarKind, SidecarSignature};
use crate::ssh_secret::SshSecret;
use crate::ssh_signature::SshSignature;
use crate::trusted_keys::TrustedKeys;

/// The largest file that is read as a key.
pub const MAX_KEY_BYTES: u64 = 256 << 10;

/// A secret key that can sign.
pub struct SigningKey(AnySecret);

enum AnySecret {
    Minisign(MinisignSecret),
    Ssh(SshSecret),
}

impl std::fmt::Debug for SigningKey {
    /// The public half only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SigningKey").field(&self.public().id()).finish()
    }
}

impl SigningKey {
    /// Opens the secret key in a file's text. `password` is called where the key is encrypted.
    ///
    /// # Errors
    ///
    /// [`SignatureError`]; its texts hold nothing of the key.
    pub fn open(
        text: &str,
        mut password: impl FnMut() -> Option<Zeroizing<String>>,
    ) -> Result<Self, SignatureError> {
        if MinisignSecret::is_one(text) {
            return Ok(Self(AnySecret::Minisign(MinisignSecret::open(text, &mut password)?)));
        }
        if SshSecret::is_one(text) {
            return Ok(Self(AnySecret::Ssh(SshSecret::open(text, &mut password)?)));
        }
        let is_old = text.contains("PRIVATE KEY-----");
        let what = if is_old {
            "it is an old PEM key; ssh-keygen -p -f FILE writes it in OpenSSH's own form"
        } else {
            "it is neither a secret key of minisign nor one of OpenSSH"
        };
        Err(SignatureError::KeyFormat(what))
    }

    /// What kind of signature it makes.
    pub const fn kind(&self) -> SidecarKind {
        match self.0 {
            AnySecret::Minisign(_) => SidecarKind::Minisign,
            AnySecret::Ssh(_) => SidecarKind::Ssh,
        }
    }

    /// Which hash of the file it signs.
    pub const fn hash_kind(&self) -> HashKind {
        match self.0 {
            AnySecret::Minisign(_) => HashKind::Blake2b,
            AnySecret::Ssh(_) => HashKind::Sha512,
        }
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        match &self.0 {
            AnySecret::Minisign(secret) => PublicKey::minisign(secret.public()),
            AnySecret::Ssh(secret) => PublicKey::ssh(secret.key.clone()),
        }
    }

    /// The text of a signature file. The comment is signed too; OpenSSH's have none.
    ///
    /// # Errors
    ///
    /// [`SignatureError`], also where the key contradicts itself: what was signed is checked.
    pub fn sign(&self, hash: &FileHash, comment: &str) -> Result<String, SignatureError> {
        let text = match &self.0 {
            AnySecret::Minisign(secret) => {
                MinisignSignature::write(secret.key_id, hash, comment, |it| secret.sign(it))?
            }
            AnySecret::Ssh(secret) => {
                SshSignature::write(&secret.key, hash, |message| secret.sign(message))?
            }
        };
        let mut own = TrustedKeys::default();
        own.add(self.public(), None)?;
        SidecarSignature::parse(self.kind(), text.as_bytes())?.check(hash, &own, None)?;
        Ok(text)
    }
}

/// A new key of minisign.
pub struct GeneratedKey {
    /// The text of the secret file.
    pub secret: Zeroizing<String>,
    /// The text of the public file.
    pub public_text: String,
    /// The public key.
    pub public: PublicKey,
}

/// Makes a new key of minisign; with a password its secret file is encrypted.
///
/// # Errors
///
/// [`SignatureError::NoRandomness`].
pub fn generate_key(password: Option<&str>) -> Result<GeneratedKey, SignatureError> {
    let (secret, public) = generate(password)?;
    let public_text =
        format!("{UNTRUSTED}minisign public key {}\n{}\n", public.short_id(), public.to_text());
    Ok(GeneratedKey { secret, public_text, public: PublicKey::minisign(public) })
}
