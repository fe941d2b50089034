//! Signatures of packs and skills, made and checked without a network.
//!
//! A signature says who signed which bytes. It says nothing about what they do: a signed skill can be as
//! harmful as any other. Three formats are read: minisign (`PACK.minisig`), OpenSSH (`PACK.sig`), and
//! bundles of OpenSSF model signing inside a skill (`skill.oms.sig`). The first two are also written.
//!
//! | module | owns |
//! |---|---|
//! | `error` | why a signature or a key cannot be used, with stable codes ([`SignatureError`]) |
//! | `file_hash` | the hashes that are signed in place of a file ([`FileHash`]) |
//! | `pem` | armoured text, read strictly |
//! | `minisign`, `minisign_secret` | minisign's public keys and signatures; its secret keys |
//! | `ssh_wire`, `ssh_public`, `ssh_signature`, `ssh_secret` | the same of OpenSSH |
//! | `allowed_signers` | lines of `allowed_signers` and of public key files |
//! | `ec_key`, `certificate` | keys and certificates of model signing |
//! | `oms` | bundles of model signing ([`OmsBundle`]) |
//! | `public_key`, `trusted_keys` | a key of any kind, and those that a person trusts ([`TrustedKeys`]) |
//! | `sidecar` | a signature beside a file ([`SidecarSignature`]) |
//! | `signer`, `signing_key` | who signed ([`Signer`]); a secret key that signs ([`SigningKey`]) |
//!
//! The formats are read here and not by the crates that bear their names: those take the signed file as one
//! slice of memory, accept text after the end, and bring a second generation of the hash functions that
//! we have. The arithmetic is ring's, which TLS needs anyway; hashes and password hashing are RustCrypto's.
//! Nothing here opens a file; randomness is the system's.

mod allowed_signers;
mod certificate;
mod ec_key;
mod error;
mod file_hash;
mod minisign;
mod minisign_secret;
mod oms;
mod pem;
mod public_key;
mod sidecar;
mod signer;
mod signing_key;
mod ssh_public;
mod ssh_secret;
mod ssh_signature;
mod ssh_wire;
mod trusted_keys;

pub use error::{ContentDifference, SignatureError};
pub use file_hash::{FileHash, HashKind};
pub use oms::{OMS_FILE, OmsBundle, OmsMethod};
pub use public_key::{KeyKind, NamedKey, PublicKey, parse_public_keys};
pub use sidecar::{MAX_SIGNATURE_BYTES, SidecarKind, SidecarSignature};
pub use signer::{Signer, SignerTrust};
pub use signing_key::{GeneratedKey, MAX_KEY_BYTES, SigningKey, generate_key};
pub use ssh_signature::NAMESPACE;
pub use trusted_keys::{TrustedKey, TrustedKeys};
