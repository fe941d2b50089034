//! OpenSSH's signatures of files (`ssh-keygen -Y sign`), for one purpose only.
//!
//! The purpose (the namespace) is signed: a signature that was made for a git commit or a login is not one
//! of a pack, even by the same key.

use crate::error::SignatureError;
use crate::file_hash::{FileHash, HashKind};
use crate::pem::{parse_pem, write_pem};
use crate::ssh_public::SshKey;
use crate::ssh_wire::{WireReader, put};

/// The purpose that signatures of packs are made for.
pub const NAMESPACE: &str = "metier-pack";
const MAGIC: &[u8] = b"SSHSIG";
const LABEL: &str = "SSH SIGNATURE";
const VERSION: u32 = 1;
/// How ssh-keygen breaks its lines.
const COLUMNS: usize = 70;

/// A signature with the key that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SshSignature {
    pub(crate) key: SshKey,
    pub(crate) hash: HashKind,
    reserved: Vec<u8>,
    signature: Vec<u8>,
}

impl SshSignature {
    /// The signature in the text of a `.sig` file.
    pub(crate) fn parse(text: &str) -> Result<Self, SignatureError> {
        let format = SignatureError::Format;
        let blocks = parse_pem(text).ok_or(format("it is not one armoured block"))?;
        let [block] = &blocks[..] else { return Err(format("it has several armoured blocks")) };
        if block.label != LABEL {
            return Err(format("it is not an OpenSSH signature"));
        }
        let mut wire = WireReader::new(&block.bytes);
        let short = || format("it ends too early");
        if wire.take(MAGIC.len()) != Some(MAGIC) || wire.number() != Some(VERSION) {
            return Err(format("it is not an OpenSSH signature of version 1"));
        }
        let key = wire.bytes().ok_or_else(short)?;
        let namespace = wire.text().ok_or_else(short)?;
        let reserved = wire.bytes().ok_or_else(short)?.to_vec();
        let hash = wire.text().ok_or_else(short)?;
        let signature = wire.bytes().ok_or_else(short)?.to_vec();
        if !wire.is_empty() {
            return Err(format("there is something after its end"));
        }
        if namespace != NAMESPACE {
            return Err(SignatureError::Namespace(printable(namespace)));
        }
        let hash = match hash {
            "sha512" => HashKind::Sha512,
            "sha256" => HashKind::Sha256,
            other => return Err(SignatureError::Hash(printable(other))),
        };
        let key = SshKey::from_blob(key).map_err(|error| match error {
            SignatureError::UnsupportedKey(what) => SignatureError::KeyKind(what),
            _ => format("the key in it is malformed"),
        })?;
        Ok(Self { key, hash, reserved, signature })
    }

    /// Checks the signature with the key that came with it.
    pub(crate) fn verify(&self, hash: &FileHash) -> Result<(), SignatureError> {
        if hash.kind() != self.hash {
            return Err(SignatureError::Wrong);
        }
        self.key.verify(&signed_bytes(hash, &self.reserved), &self.signature)
    }

    /// The text of a signature that `sign` makes: OpenSSH's binary form of one.
    pub(crate) fn write(
        key: &SshKey,
        hash: &FileHash,
        sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, SignatureError>,
    ) -> Result<String, SignatureError> {
        let signature = sign(&signed_bytes(hash, &[]))?;
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_be_bytes());
        for part in [key.blob(), NAMESPACE.as_bytes(), &[], hash.kind().ssh_name().as_bytes()] {
            put(&mut out, part);
        }
        put(&mut out, &signature);
        Ok(write_pem(LABEL, &out, COLUMNS))
    }
}

/// What is signed: the purpose, and the hash of the file.
fn signed_bytes(hash: &FileHash, reserved: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let parts = [NAMESPACE.as_bytes(), reserved, hash.kind().ssh_name().as_bytes(), hash.bytes()];
    for part in parts {
        put(&mut out, part);
    }
    out
}

fn printable(text: &str) -> String {
    text.chars().filter(|ch| !ch.is_control()).take(60).collect()
}
