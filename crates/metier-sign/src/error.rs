//! Why a signature or a key cannot be used. Each error has a stable code and says what to do.
//! No text of an error holds anything of a secret key or of a password.

use std::fmt;

use serde::Serialize;

/// How a skill differs from what was signed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "what", content = "path", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ContentDifference {
    /// The file holds something else.
    Changed(String),
    /// The file is signed and not there.
    Missing(String),
    /// The file is there and not signed.
    Unsigned(String),
}

impl fmt::Display for ContentDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(path) => write!(f, "{path} was changed"),
            Self::Missing(path) => write!(f, "{path} is missing"),
            Self::Unsigned(path) => write!(f, "{path} is not signed"),
        }
    }
}

/// Why a signature or a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// A signature file is not in its format.
    Format(&'static str),
    /// A minisign signature over the file itself, not over its hash.
    Legacy,
    /// The signature is not one of this file.
    Wrong,
    /// The signature is one of this file, and its trusted comment is not the signed one.
    Comment,
    /// An SSH signature that was made for another purpose.
    Namespace(String),
    /// The file was hashed in a way that is not supported.
    Hash(String),
    /// The signature was made by a kind of key that is not supported.
    KeyKind(String),
    /// The key that signed is not known, so the signature cannot be checked.
    UnknownKey(String),
    /// A key file is not in its format.
    KeyFormat(&'static str),
    /// A kind of key, or of key file, that is not supported.
    UnsupportedKey(String),
    /// A secret key is encrypted, and there is no password.
    PasswordNeeded,
    /// The password does not open the secret key.
    WrongPassword,
    /// Another key of the same short id is trusted.
    KeyIdTaken(String),
    /// A bundle of model signing is not in its format.
    OmsFormat(String),
    /// A bundle's signature is not one of what it says.
    OmsSignature,
    /// The key that signed a bundle is not known.
    OmsUnknownKey(String),
    /// The certificates of a bundle do not lead to an authority that is trusted.
    OmsCertificate(String),
    /// The skill is not what was signed.
    OmsContent(Vec<ContentDifference>),
    /// The system gave no random bytes.
    NoRandomness,
}

impl SignatureError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Format(_) => "signature-format",
            Self::Legacy => "signature-legacy",
            Self::Wrong => "signature-wrong",
            Self::Comment => "signature-comment",
            Self::Namespace(_) => "signature-namespace",
            Self::Hash(_) => "signature-hash",
            Self::KeyKind(_) => "signature-key-kind",
            Self::UnknownKey(_) => "signature-key-unknown",
            Self::KeyFormat(_) => "key-format",
            Self::UnsupportedKey(_) => "key-unsupported",
            Self::PasswordNeeded => "key-password",
            Self::WrongPassword => "key-password-wrong",
            Self::KeyIdTaken(_) => "key-id-taken",
            Self::OmsFormat(_) => "oms-format",
            Self::OmsSignature => "oms-signature",
            Self::OmsUnknownKey(_) => "oms-key-unknown",
            Self::OmsCertificate(_) => "oms-certificate",
            Self::OmsContent(_) => "oms-content",
            Self::NoRandomness => "no-randomness",
        }
    }

    /// Whether the signature may be right, and only the key to check it with is not known.
    pub const fn is_unknown_key(&self) -> bool {
        matches!(self, Self::UnknownKey(_) | Self::OmsUnknownKey(_) | Self::OmsCertificate(_))
    }

    /// What to do.
    pub fn help(&self) -> String {
        match self {
            Self::Format(_) | Self::Wrong | Self::Comment => {
                "do not use it; get the file and its signature again from the publisher".to_owned()
            }
            Self::Legacy => {
                "sign it again with `metier sign`, or with minisign 0.10 or newer".to_owned()
            }
            Self::Namespace(_) => {
                format!("sign it with: ssh-keygen -Y sign -n {} -f KEY FILE", crate::NAMESPACE)
            }
            Self::Hash(_) => "sign it with sha512, as ssh-keygen does by itself".to_owned(),
            Self::KeyKind(_) | Self::UnsupportedKey(_) => {
                "use an ed25519 key: ssh-keygen -t ed25519, or metier keys generate".to_owned()
            }
            Self::UnknownKey(_) | Self::OmsUnknownKey(_) | Self::OmsCertificate(_) => {
                "if you have the publisher's public key: metier keys trust FILE".to_owned()
            }
            Self::KeyFormat(_) => {
                "a key is a minisign .pub or .key file, an OpenSSH key, a line of allowed_signers, \
                 a PEM public key or a PEM certificate"
                    .to_owned()
            }
            Self::PasswordNeeded => {
                "run it on a terminal, use --password-stdin, or set METIER_KEY_PASSWORD".to_owned()
            }
            Self::WrongPassword => "try again with the password of this key".to_owned(),
            Self::KeyIdTaken(_) => "compare the two keys; forget the other one first".to_owned(),
            Self::OmsFormat(_) | Self::OmsSignature | Self::OmsContent(_) => {
                "do not use it; get the skill again from the publisher".to_owned()
            }
            Self::NoRandomness => "try again".to_owned(),
        }
    }
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(what) => write!(f, "the signature is malformed: {what}"),
            Self::Legacy => f.write_str(
                "the signature is of minisign's old kind, which signs the file itself: it can be mistaken \
                 for one of another file",
            ),
            Self::Wrong => f.write_str("the signature is wrong: it is not one of this file by this key"),
            Self::Comment => f.write_str("the trusted comment of the signature was changed"),
            Self::Namespace(found) => {
                write!(f, "the signature was made for `{found}`, not for `{}`", crate::NAMESPACE)
            }
            Self::Hash(found) => write!(f, "the signature uses the hash `{found}`, which is not supported"),
            Self::KeyKind(found) => {
                write!(f, "the signature was made with {found}, which is not supported")
            }
            Self::UnknownKey(key) => {
                write!(f, "it is signed with the key {key}, which you do not trust, so it cannot be checked")
            }
            Self::KeyFormat(what) => write!(f, "not a usable key: {what}"),
            Self::UnsupportedKey(what) => write!(f, "{what} is not supported"),
            Self::PasswordNeeded => f.write_str("the secret key is encrypted and needs its password"),
            Self::WrongPassword => f.write_str("the password does not open the secret key"),
            Self::KeyIdTaken(id) => write!(f, "you trust another key with the same short id {id}"),
            Self::OmsFormat(what) => write!(f, "the model-signing bundle cannot be used: {what}"),
            Self::OmsSignature => f.write_str("the signature in the model-signing bundle is wrong"),
            Self::OmsUnknownKey(key) => {
                write!(f, "the model-signing bundle is signed with {key}, which you do not trust")
            }
            Self::OmsCertificate(what) => {
                write!(f, "the certificates of the model-signing bundle are not trusted: {what}")
            }
            Self::OmsContent(differences) => {
                let shown: Vec<String> =
                    differences.iter().take(3).map(ToString::to_string).collect();
                let more = differences.len().saturating_sub(3);
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                write!(f, "the skill is not what was signed: {}{more}", shown.join(", "))
            }
            Self::NoRandomness => f.write_str("the system gave no random bytes"),
        }
    }
}

impl std::error::Error for SignatureError {}
