//! The one digest type of the workspace: SHA-256, printed as `sha256:` and 64 hex digits.
//!
//! The same spelling is used in lock files, approvals, manifests and JSON, so that anyone can
//! check it with `sha256sum`.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The text was not `sha256:` followed by 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidDigest;

impl fmt::Display for InvalidDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest is `sha256:` followed by 64 lower-case hex digits")
    }
}

impl std::error::Error for InvalidDigest {}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The two digits of each byte: a hundred thousand digests are printed by one `metier list --json`.
const PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [HEX[byte >> 4], HEX[byte & 15]];
        byte += 1;
    }
    pairs
};

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several pieces, each preceded by its length so that no two lists of pieces
    /// share a digest.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        // One update over a few hundred bytes is cheaper than a dozen over a few dozen.
        let mut bytes = Vec::with_capacity(512);
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        Self::of(&bytes)
    }

    /// The same as [`Digest::of_parts`], from pieces that come one after the other.
    pub fn parts() -> PartsDigest {
        PartsDigest(Sha256::new())
    }

    /// The digest of a list of digests, in their order.
    pub fn of_all<'a>(digests: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut hasher = Sha256::new();
        for digest in digests {
            hasher.update(digest.0);
        }
        Self(hasher.finalize().into())
    }

    /// The digest of all that a reader gives, and how many bytes that were.
    pub fn of_reader(reader: impl io::Read) -> io::Result<(Self, u64)> {
        Self::of_reader_in(reader, &mut vec![0; 64 << 10])
    }

    /// The same through a buffer, for a caller that has many readers.
    pub fn of_reader_in(mut reader: impl io::Read, buffer: &mut [u8]) -> io::Result<(Self, u64)> {
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        loop {
            match reader.read(buffer) {
                Ok(0) => return Ok((Self(hasher.finalize().into()), bytes)),
                Ok(read) => {
                    hasher.update(&buffer[..read]);
                    bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The 32 raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest from its 32 raw bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The printed form, as bytes.
    pub fn to_text(&self) -> [u8; 71] {
        let mut out = *b"sha256:0000000000000000000000000000000000000000000000000000000000000000";
        for (pair, byte) in out[7..].chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&PAIRS[usize::from(byte)]);
        }
        out
    }
}

/// The digest of several pieces on its way. A clone goes on from the same pieces, so that what begins alike is
/// read once.
#[derive(Clone)]
pub struct PartsDigest(Sha256);

impl PartsDigest {
    /// The same with one piece more.
    #[must_use]
    pub fn with(mut self, part: &[u8]) -> Self {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// The digest of all pieces.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Debug for PartsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartsDigest").finish_non_exhaustive()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_text()).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let hex = text.strip_prefix("sha256:").ok_or(InvalidDigest)?.as_bytes();
        if hex.len() != 64 {
            return Err(InvalidDigest);
        }
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(InvalidDigest),
        };
        let mut out = [0u8; 32];
        for (byte, pair) in out.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(out))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.to_text()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(DigestText)
    }
}

/// Takes the text where it lies: a lock has thousands of them.
struct DigestText;

impl Visitor<'_> for DigestText {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_round_trip() {
        let digest = Digest::of(b"abc");
        let text = digest.to_string();
        assert_eq!(text, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(text.to_uppercase().parse::<Digest>(), Err(InvalidDigest));
        assert_eq!(text[..70].parse::<Digest>(), Err(InvalidDigest));
    }

    #[test]
    fn part_boundaries_change_the_digest() {
        assert_ne!(
            Digest::of_parts([b"ab".as_slice(), b"c"]),
            Digest::of_parts([b"a".as_slice(), b"bc"])
        );
    }

    #[test]
    fn pieces_one_after_the_other_give_the_digest_of_all_of_them() {
        let long = [7; 1000];
        let begun = Digest::parts().with(b"ab").with(&long);
        for last in [b"".as_slice(), b"c", &long] {
            let all = Digest::of_parts([b"ab".as_slice(), &long, last]);
            assert_eq!(begun.clone().with(last).finish(), all);
        }
    }
}
