//! OpenSSH's public keys, and checking what one signed.
//!
//! Ed25519, ECDSA over P-256 and P-384, and RSA from 2048 bits on. Keys on hardware (`sk-…`), DSA and P-521
//! are named and refused: the arithmetic for them is not in ring.

use data_encoding::{BASE64, BASE64_NOPAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey,
};
use sha2::{Digest as _, Sha256};

use crate::error::SignatureError;
use crate::ssh_wire::{WireReader, padded};

/// A public key in OpenSSH's binary form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SshKey {
    blob: Vec<u8>,
    kind: SshKeyKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SshKeyKind {
    Ed25519,
    P256,
    P384,
    Rsa,
}

impl SshKeyKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ssh-ed25519",
            Self::P256 => "ecdsa-sha2-nistp256",
            Self::P384 => "ecdsa-sha2-nistp384",
            Self::Rsa => "ssh-rsa",
        }
    }

    /// The kind of that name, or the words for what is not supported.
    pub(crate) fn of_name(name: &str) -> Result<Self, String> {
        match name {
            "ssh-ed25519" => Ok(Self::Ed25519),
            "ecdsa-sha2-nistp256" => Ok(Self::P256),
            "ecdsa-sha2-nistp384" => Ok(Self::P384),
            "ssh-rsa" => Ok(Self::Rsa),
            "ssh-dss" => Err("a DSA key".to_owned()),
            "ecdsa-sha2-nistp521" => Err("an ECDSA key over P-521".to_owned()),
            name if name.starts_with("sk-") => {
                Err(format!("a key on a security key ({})", short(name)))
            }
            name if name.contains("-cert-") => {
                Err(format!("an OpenSSH certificate ({})", short(name)))
            }
            name => Err(format!("a key of the unknown kind `{}`", short(name))),
        }
    }
}

fn short(name: &str) -> String {
    name.chars().filter(|ch| !ch.is_control()).take(60).collect()
}

impl SshKey {
    /// The key in OpenSSH's binary form.
    pub(crate) fn from_blob(blob: &[u8]) -> Result<Self, SignatureError> {
        let format = SignatureError::KeyFormat("it is not an OpenSSH public key");
        let mut wire = WireReader::new(blob);
        let name = wire.text().ok_or_else(|| format.clone())?;
        let kind = SshKeyKind::of_name(name).map_err(SignatureError::UnsupportedKey)?;
        let is_whole = match kind {
            SshKeyKind::Ed25519 => wire.bytes().is_some_and(|key| key.len() == 32),
            SshKeyKind::P256 => is_point(&mut wire, "nistp256", 65),
            SshKeyKind::P384 => is_point(&mut wire, "nistp384", 97),
            SshKeyKind::Rsa => {
                let _exponent = wire.unsigned().ok_or_else(|| format.clone())?;
                let bytes = wire.unsigned().ok_or_else(|| format.clone())?.len();
                if !(256..=1024).contains(&bytes) {
                    let what = format!("an RSA key of {} bits", bytes * 8);
                    return Err(SignatureError::UnsupportedKey(what));
                }
                true
            }
        };
        if is_whole && wire.is_empty() {
            Ok(Self { blob: blob.to_vec(), kind })
        } else {
            Err(format)
        }
    }

    /// The key in two words of a file: its kind, and its binary form in base64.
    pub(crate) fn from_words(kind: &str, base64: &str) -> Result<Self, SignatureError> {
        let format = SignatureError::KeyFormat("it is not an OpenSSH public key");
        let blob = BASE64.decode(base64.as_bytes()).map_err(|_| format.clone())?;
        let key = Self::from_blob(&blob)?;
        if key.kind.name() == kind { Ok(key) } else { Err(format) }
    }

    pub(crate) const fn kind(&self) -> SshKeyKind {
        self.kind
    }

    pub(crate) fn blob(&self) -> &[u8] {
        &self.blob
    }

    /// Both words of a file.
    pub(crate) fn to_text(&self) -> String {
        format!("{} {}", self.kind.name(), BASE64.encode(&self.blob))
    }

    /// The fingerprint, as `ssh-keygen -l` prints it.
    pub(crate) fn fingerprint(&self) -> String {
        format!("SHA256:{}", BASE64_NOPAD.encode(&Sha256::digest(&self.blob)))
    }

    /// Checks OpenSSH's binary form of a signature of `message`.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), SignatureError> {
        let format = SignatureError::Format("its inner part is not a signature");
        let mut wire = WireReader::new(signature);
        let name = wire.text().ok_or_else(|| format.clone())?;
        let signature = wire.bytes().ok_or_else(|| format.clone())?;
        if !wire.is_empty() {
            return Err(format);
        }
        let mut key = WireReader::new(&self.blob);
        let _kind = key.bytes();
        let is_right = match (self.kind, name) {
            (SshKeyKind::Ed25519, "ssh-ed25519") => {
                let key = key.bytes().unwrap_or_default();
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok()
            }
            (SshKeyKind::P256, "ecdsa-sha2-nistp256") => {
                let fixed = fixed_pair(signature, 32).ok_or(format)?;
                let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point(&mut key));
                public.verify(message, &fixed).is_ok()
            }
            (SshKeyKind::P384, "ecdsa-sha2-nistp384") => {
                let fixed = fixed_pair(signature, 48).ok_or(format)?;
                let public = UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point(&mut key));
                public.verify(message, &fixed).is_ok()
            }
            (SshKeyKind::Rsa, "rsa-sha2-512" | "rsa-sha2-256") => {
                let e = key.unsigned().unwrap_or_default();
                let n = key.unsigned().unwrap_or_default();
                let algorithm = match name {
                    "rsa-sha2-512" => &RSA_PKCS1_2048_8192_SHA512,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                let signature = padded(signature, n.len()).ok_or(format)?;
                RsaPublicKeyComponents { n, e }.verify(algorithm, message, &signature).is_ok()
            }
            (_, other) => {
                return Err(SignatureError::KeyKind(format!("the algorithm `{}`", short(other))));
            }
        };
        if is_right { Ok(()) } else { Err(SignatureError::Wrong) }
    }
}

fn is_point(wire: &mut WireReader<'_>, curve: &str, length: usize) -> bool {
    wire.text() == Some(curve)
        && wire.bytes().is_some_and(|point| point.len() == length && point[0] == 4)
}

fn point<'b>(key: &mut WireReader<'b>) -> &'b [u8] {
    let _curve = key.bytes();
    key.bytes().unwrap_or_default()
}

/// Two numbers as one text of fixed length, which is how ring wants them.
fn fixed_pair(signature: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut wire = WireReader::new(signature);
    let (r, s) = (wire.unsigned()?, wire.unsigned()?);
    if !wire.is_empty() {
        return None;
    }
    Some([padded(r, length)?, padded(s, length)?].concat())
}
