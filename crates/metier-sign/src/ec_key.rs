//! Public keys over P-256 and P-384 in their standard form (`-----BEGIN PUBLIC KEY-----`), as model signing
//! uses them.

use data_encoding::HEXLOWER;
use ring::signature::{ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, UnparsedPublicKey};
use sha2::{Digest as _, Sha256};

use crate::error::SignatureError;
use crate::pem::write_pem;

/// What stands before the point of a key, which is always the same for a curve.
#[rustfmt::skip]
const P256_HEAD: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
    0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
#[rustfmt::skip]
const P384_HEAD: &[u8] = &[
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
    0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00,
];

/// A public key over P-256 or P-384.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EcKey {
    der: Vec<u8>,
}

impl EcKey {
    pub(crate) fn from_der(der: &[u8]) -> Result<Self, SignatureError> {
        let is = |head: &[u8], length: usize| {
            let point = der.strip_prefix(head);
            point.is_some_and(|point| point.len() == length && point[0] == 4)
        };
        if is(P256_HEAD, 65) || is(P384_HEAD, 97) {
            return Ok(Self { der: der.to_vec() });
        }
        Err(SignatureError::UnsupportedKey(
            "a PEM public key that is not an ECDSA key over P-256 or P-384".to_owned(),
        ))
    }

    pub(crate) fn der(&self) -> &[u8] {
        &self.der
    }

    /// SHA-256 over the standard form.
    pub(crate) fn fingerprint(&self) -> String {
        format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&self.der)))
    }

    /// What a bundle calls the key: SHA-256 over the text of its file.
    pub(crate) fn hint(&self) -> String {
        let text = write_pem("PUBLIC KEY", &self.der, 64);
        HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), SignatureError> {
        let (algorithm, head) = if self.der.starts_with(P256_HEAD) {
            (&ECDSA_P256_SHA256_ASN1, P256_HEAD)
        } else {
            (&ECDSA_P384_SHA384_ASN1, P384_HEAD)
        };
        let point = self.der.strip_prefix(head).unwrap_or_default();
        let key = UnparsedPublicKey::new(algorithm, point);
        key.verify(message, signature).map_err(|_| SignatureError::OmsSignature)
    }
}
