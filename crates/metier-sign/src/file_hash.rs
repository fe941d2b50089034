//! The hashes that are signed in place of a file, so that a file of any size is checked in little memory.
//! Files are the caller's: bytes come from a reader.

use std::io;

use blake2::Blake2b512;
use sha2::{Sha256, Sha512};

/// A hash function over a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashKind {
    /// BLAKE2b with 64 bytes, minisign's.
    Blake2b,
    /// SHA-256.
    Sha256,
    /// SHA-512, what OpenSSH takes by itself.
    Sha512,
}

impl HashKind {
    /// OpenSSH's name of it.
    pub(crate) const fn ssh_name(self) -> &'static str {
        match self {
            Self::Blake2b => "blake2b",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }
}

/// The hash of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHash {
    kind: HashKind,
    bytes: Vec<u8>,
}

impl FileHash {
    /// The hash of all that a reader gives.
    pub fn of_reader(kind: HashKind, reader: impl io::Read) -> io::Result<Self> {
        let bytes = match kind {
            HashKind::Blake2b => hashed::<Blake2b512>(reader)?,
            HashKind::Sha256 => hashed::<Sha256>(reader)?,
            HashKind::Sha512 => hashed::<Sha512>(reader)?,
        };
        Ok(Self { kind, bytes })
    }

    /// Which hash function it is of.
    pub const fn kind(&self) -> HashKind {
        self.kind
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn hashed<H: sha2::Digest>(mut reader: impl io::Read) -> io::Result<Vec<u8>> {
    let mut hasher = H::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize().to_vec()),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
