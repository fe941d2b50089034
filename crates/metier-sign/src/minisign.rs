//! Minisign's public keys and signatures. Only signatures over the hash of a file (`ED`) are accepted.
//!
//! The two letters that tell the kinds apart are not signed. A signature of the old kind over a file of 64
//! bytes is at the same time one of the new kind over another file, so one of the two has to go.

use data_encoding::BASE64;
use ring::signature::{ED25519, UnparsedPublicKey};

use crate::error::SignatureError;
use crate::file_hash::{FileHash, HashKind};

/// Ed25519 over the hash of the file, and over the file itself.
const PREHASHED: &[u8; 2] = b"ED";
const LEGACY: &[u8; 2] = b"Ed";
pub(crate) const UNTRUSTED: &str = "untrusted comment: ";
pub(crate) const TRUSTED: &str = "trusted comment: ";
/// What minisign itself reads of a comment.
const MAX_COMMENT_BYTES: usize = 8192;

/// A public key: its short id, which anyone can choose, and the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MinisignKey {
    pub(crate) key_id: [u8; 8],
    pub(crate) key: [u8; 32],
}

impl MinisignKey {
    /// The key in its own form, `RW…`.
    pub(crate) fn parse(text: &str) -> Result<Self, SignatureError> {
        let bytes: [u8; 42] = decoded(text).ok_or(SignatureError::KeyFormat(
            "a minisign public key is 56 characters that begin with RW",
        ))?;
        let (kind, rest) = bytes.split_at(2);
        if kind != LEGACY {
            return Err(SignatureError::KeyFormat("it is not an Ed25519 key of minisign"));
        }
        let (mut key_id, mut key) = ([0; 8], [0; 32]);
        key_id.copy_from_slice(&rest[..8]);
        key.copy_from_slice(&rest[8..]);
        Ok(Self { key_id, key })
    }

    pub(crate) fn to_text(&self) -> String {
        BASE64.encode(&[&LEGACY[..], &self.key_id, &self.key].concat())
    }

    /// The short id, as minisign prints it.
    pub(crate) fn short_id(&self) -> String {
        short_id(self.key_id)
    }
}

/// A short id as minisign prints it: a number of 64 bits, the last byte first.
pub(crate) fn short_id(key_id: [u8; 8]) -> String {
    format!("{:016X}", u64::from_le_bytes(key_id))
}

/// A signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MinisignSignature {
    pub(crate) key_id: [u8; 8],
    signature: [u8; 64],
    pub(crate) comment: String,
    comment_signature: [u8; 64],
}

impl MinisignSignature {
    /// The signature in the text of a `.minisig` file: four lines and no more.
    pub(crate) fn parse(text: &str) -> Result<Self, SignatureError> {
        let format = SignatureError::Format;
        let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let mut line = || lines.next().ok_or(format("it ends too early"));
        let untrusted = line()?;
        if !untrusted.starts_with(UNTRUSTED.trim_end()) || untrusted.len() > MAX_COMMENT_BYTES {
            return Err(format("the first line is not an untrusted comment"));
        }
        let bytes: [u8; 74] =
            decoded(line()?).ok_or(format("the second line is not a signature"))?;
        let comment = line()?
            .strip_prefix(TRUSTED)
            .filter(|comment| comment.len() <= MAX_COMMENT_BYTES)
            .ok_or(format("the third line is not a trusted comment"))?
            .to_owned();
        let comment_signature =
            decoded(line()?).ok_or(format("the fourth line is not a signature"))?;
        let rest: Vec<&str> = lines.collect();
        if !matches!(&rest[..], [] | [""]) {
            return Err(format("there is something after the fourth line"));
        }
        let (mut key_id, mut signature) = ([0; 8], [0; 64]);
        key_id.copy_from_slice(&bytes[2..10]);
        signature.copy_from_slice(&bytes[10..]);
        match &bytes[..2] {
            kind if kind == PREHASHED => Ok(Self { key_id, signature, comment, comment_signature }),
            kind if kind == LEGACY => Err(SignatureError::Legacy),
            _ => Err(format("it is not an Ed25519 signature")),
        }
    }

    /// Checks the signature and its trusted comment with a key.
    pub(crate) fn verify(&self, hash: &FileHash, key: &MinisignKey) -> Result<(), SignatureError> {
        let public = UnparsedPublicKey::new(&ED25519, key.key);
        if hash.kind() != HashKind::Blake2b || key.key_id != self.key_id {
            return Err(SignatureError::Wrong);
        }
        public.verify(hash.bytes(), &self.signature).map_err(|_| SignatureError::Wrong)?;
        let signed = [&self.signature[..], self.comment.as_bytes()].concat();
        public.verify(&signed, &self.comment_signature).map_err(|_| SignatureError::Comment)
    }

    /// The text of a signature that `sign` makes; the comment is one line.
    pub(crate) fn write(
        key_id: [u8; 8],
        hash: &FileHash,
        comment: &str,
        sign: impl Fn(&[u8]) -> [u8; 64],
    ) -> Result<String, SignatureError> {
        if comment.chars().any(char::is_control) || comment.len() > MAX_COMMENT_BYTES {
            return Err(SignatureError::Format("the comment has to be one short line of text"));
        }
        let signature = sign(hash.bytes());
        let comment_signature = sign(&[&signature[..], comment.as_bytes()].concat());
        let line = BASE64.encode(&[&PREHASHED[..], &key_id, &signature].concat());
        let last = BASE64.encode(&comment_signature);
        Ok(format!("{UNTRUSTED}signature by metier\n{line}\n{TRUSTED}{comment}\n{last}\n"))
    }
}

fn decoded<const N: usize>(line: &str) -> Option<[u8; N]> {
    BASE64.decode(line.as_bytes()).ok()?.try_into().ok()
}
