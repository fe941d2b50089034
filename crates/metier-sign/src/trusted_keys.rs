//! The keys that a person trusts, as a file in the user's settings has them.
//! Reading and writing that file is the caller's.

use serde::{Deserialize, Serialize};

use crate::error::SignatureError;
use crate::public_key::{AnyKey, KeyKind, PublicKey};

const VERSION: u32 = 1;

/// A key that a person trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrustedKey {
    /// What the person calls it.
    pub name: Option<String>,
    /// The key.
    pub key: PublicKey,
}

/// All of them, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedKeys {
    keys: Vec<TrustedKey>,
}

#[derive(Serialize, Deserialize)]
struct KeysFile {
    version: u32,
    keys: Vec<KeyRecord>,
}

#[derive(Serialize, Deserialize)]
struct KeyRecord {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    key: String,
}

impl TrustedKeys {
    /// The keys in the text of a file.
    ///
    /// # Errors
    ///
    /// Words for what is wrong with it. A list that is read in part would trust less than the person thinks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: KeysFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.version != VERSION {
            return Err(format!(
                "it has version {}, and this program knows version {VERSION}",
                file.version
            ));
        }
        let kinds = [KeyKind::Minisign, KeyKind::Ssh, KeyKind::Ecdsa, KeyKind::Authority];
        let mut all = Self::default();
        for record in file.keys {
            let kind = kinds.into_iter().find(|kind| kind.name() == record.kind);
            let kind = kind.ok_or_else(|| format!("`{}` is not a kind of key", record.kind))?;
            let key = PublicKey::from_text(kind, &record.key).map_err(|error| error.to_string())?;
            all.keys.push(TrustedKey { name: record.name, key });
        }
        Ok(all)
    }

    /// The text of a file.
    pub fn to_text(&self) -> String {
        let record = |trusted: &TrustedKey| KeyRecord {
            kind: trusted.key.kind().name().to_owned(),
            name: trusted.name.clone(),
            key: trusted.key.to_text(),
        };
        let file = KeysFile { version: VERSION, keys: self.keys.iter().map(record).collect() };
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Adds a key; gives whether it is new. A name replaces the one that it had.
    ///
    /// # Errors
    ///
    /// [`SignatureError::KeyIdTaken`] for a minisign key whose short id is another one's: a signature names
    /// its key by the short id alone.
    pub fn add(&mut self, key: PublicKey, name: Option<String>) -> Result<bool, SignatureError> {
        if let Some(known) = self.keys.iter_mut().find(|known| known.key == key) {
            if name.is_some() {
                known.name = name;
            }
            return Ok(false);
        }
        if let Some(short) = key.short_id()
            && self.keys.iter().any(|known| known.key.short_id().as_ref() == Some(&short))
        {
            return Err(SignatureError::KeyIdTaken(short));
        }
        self.keys.push(TrustedKey { name, key });
        Ok(true)
    }

    /// The keys that a text means: an id, the beginning of one, a short id, or a name.
    pub fn find(&self, text: &str) -> Vec<&TrustedKey> {
        let is_exact = |known: &&TrustedKey| {
            known.key.id() == text
                || known.key.short_id().is_some_and(|id| id.eq_ignore_ascii_case(text))
                || known.name.as_deref() == Some(text)
        };
        let exact: Vec<&TrustedKey> = self.keys.iter().filter(is_exact).collect();
        if !exact.is_empty() || text.len() < 4 {
            return exact;
        }
        let begins = |known: &&TrustedKey| {
            let id = known.key.id();
            let bare = id.split_once(':').map_or(id.as_str(), |(_, key)| key);
            id.starts_with(text) || bare.starts_with(text)
        };
        self.keys.iter().filter(begins).collect()
    }

    /// Takes a key out; gives whether it was there.
    pub fn remove(&mut self, key: &PublicKey) -> bool {
        let count = self.keys.len();
        self.keys.retain(|known| known.key != *key);
        self.keys.len() < count
    }

    /// All keys.
    pub fn iter(&self) -> impl Iterator<Item = &TrustedKey> {
        self.keys.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(crate) fn any(&self) -> impl Iterator<Item = (&AnyKey, &TrustedKey)> {
        self.keys.iter().map(|known| (&known.key.0, known))
    }
}
