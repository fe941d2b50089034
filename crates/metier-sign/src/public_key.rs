//! A public key of any kind, and the texts that people have them in.
//! Which keys are trusted is `trusted_keys`', what they sign the formats'.

use data_encoding::BASE64;
use serde::Serialize;

use crate::allowed_signers::parse_lines;
use crate::certificate::Authority;
use crate::ec_key::EcKey;
use crate::error::SignatureError;
use crate::minisign::{MinisignKey, UNTRUSTED};
use crate::pem::parse_pem;
use crate::ssh_public::SshKey;

/// What kind of key it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum KeyKind {
    /// A key of minisign.
    Minisign,
    /// A key of OpenSSH.
    Ssh,
    /// An ECDSA key, for model signing.
    Ecdsa,
    /// An authority whose certificates sign, for model signing.
    Authority,
}

impl KeyKind {
    /// Its name in ids and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minisign => "minisign",
            Self::Ssh => "ssh",
            Self::Ecdsa => "ecdsa",
            Self::Authority => "authority",
        }
    }
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(pub(crate) AnyKey);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnyKey {
    Minisign(MinisignKey),
    Ssh(SshKey),
    Ec(EcKey),
    Authority(Authority),
}

/// A public key as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedKey {
    /// What the file calls it.
    pub name: Option<String>,
    /// The key.
    pub key: PublicKey,
}

impl PublicKey {
    pub(crate) const fn ssh(key: SshKey) -> Self {
        Self(AnyKey::Ssh(key))
    }

    pub(crate) const fn minisign(key: MinisignKey) -> Self {
        Self(AnyKey::Minisign(key))
    }

    /// Its kind.
    pub const fn kind(&self) -> KeyKind {
        match self.0 {
            AnyKey::Minisign(_) => KeyKind::Minisign,
            AnyKey::Ssh(_) => KeyKind::Ssh,
            AnyKey::Ec(_) => KeyKind::Ecdsa,
            AnyKey::Authority(_) => KeyKind::Authority,
        }
    }

    /// What tells it from every other key: the kind, and the key or a digest of it.
    pub fn id(&self) -> String {
        let key = match &self.0 {
            AnyKey::Minisign(key) => key.to_text(),
            AnyKey::Ssh(key) => key.fingerprint(),
            AnyKey::Ec(key) => key.fingerprint(),
            AnyKey::Authority(key) => key.fingerprint(),
        };
        format!("{}:{key}", self.kind().name())
    }

    /// The short id that minisign prints. Anyone can make a key with any short id.
    pub fn short_id(&self) -> Option<String> {
        match &self.0 {
            AnyKey::Minisign(key) => Some(key.short_id()),
            _ => None,
        }
    }

    /// The key as text, from which [`PublicKey::from_text`] makes it again.
    pub fn to_text(&self) -> String {
        match &self.0 {
            AnyKey::Minisign(key) => key.to_text(),
            AnyKey::Ssh(key) => key.to_text(),
            AnyKey::Ec(key) => BASE64.encode(key.der()),
            AnyKey::Authority(key) => BASE64.encode(key.der()),
        }
    }

    /// The key of a kind in a text of [`PublicKey::to_text`].
    ///
    /// # Errors
    ///
    /// [`SignatureError`] for any other text.
    pub fn from_text(kind: KeyKind, text: &str) -> Result<Self, SignatureError> {
        const FORMAT: SignatureError = SignatureError::KeyFormat("it is not in its own form");
        let der = || BASE64.decode(text.as_bytes()).map_err(|_| FORMAT);
        Ok(Self(match kind {
            KeyKind::Minisign => AnyKey::Minisign(MinisignKey::parse(text)?),
            KeyKind::Ssh => {
                let (kind, key) = text.split_once(' ').ok_or(FORMAT)?;
                AnyKey::Ssh(SshKey::from_words(kind, key)?)
            }
            KeyKind::Ecdsa => AnyKey::Ec(EcKey::from_der(&der()?)?),
            KeyKind::Authority => AnyKey::Authority(Authority::from_der(&der()?)?),
        }))
    }
}

/// The public keys in a file: minisign's, OpenSSH's (also `allowed_signers`), or PEM keys and certificates.
///
/// # Errors
///
/// [`SignatureError`], where one of them cannot be used, or there is none.
pub fn parse_public_keys(text: &str) -> Result<Vec<NamedKey>, SignatureError> {
    const SECRET: SignatureError =
        SignatureError::KeyFormat("this is a secret key; the public one is in another file");
    if text.contains("PRIVATE KEY-----") {
        return Err(SECRET);
    }
    if text.trim_start().starts_with("-----BEGIN ") {
        return parse_pem_keys(text);
    }
    if text.starts_with(UNTRUSTED.trim_end()) {
        let mut lines = text.lines().skip(1).map(str::trim_end).filter(|line| !line.is_empty());
        let line = lines.next().unwrap_or_default();
        if crate::minisign_secret::MinisignSecret::is_one(text) {
            return Err(SECRET);
        }
        if lines.next().is_some() {
            return Err(SignatureError::KeyFormat("there is something after the key"));
        }
        let key = PublicKey::minisign(MinisignKey::parse(line)?);
        return Ok(vec![NamedKey { name: None, key }]);
    }
    let word = text.trim();
    if word.starts_with("RW") && !word.contains(char::is_whitespace) {
        let key = PublicKey::minisign(MinisignKey::parse(word)?);
        return Ok(vec![NamedKey { name: None, key }]);
    }
    parse_lines(text)
}

fn parse_pem_keys(text: &str) -> Result<Vec<NamedKey>, SignatureError> {
    let blocks = parse_pem(text).ok_or(SignatureError::KeyFormat("the PEM text is malformed"))?;
    let keys = blocks.into_iter().map(|block| match block.label.as_str() {
        "PUBLIC KEY" => {
            let key = AnyKey::Ec(EcKey::from_der(&block.bytes)?);
            Ok(NamedKey { name: None, key: PublicKey(key) })
        }
        "CERTIFICATE" => {
            let authority = Authority::from_der(&block.bytes)?;
            let name = Some(authority.subject.clone()).filter(|name| !name.is_empty());
            Ok(NamedKey { name, key: PublicKey(AnyKey::Authority(authority)) })
        }
        _ => {
            Err(SignatureError::KeyFormat("the PEM text is neither a public key nor a certificate"))
        }
    });
    keys.collect()
}
