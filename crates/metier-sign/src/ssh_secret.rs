//! OpenSSH's secret keys (`-----BEGIN OPENSSH PRIVATE KEY-----`), with a password or without one.
//!
//! Ed25519 and ECDSA over P-256 and P-384 sign. The cipher is the one that ssh-keygen takes by itself.

use aes::Aes256;
use aes::cipher::{KeyIvInit, StreamCipher};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
};
use zeroize::Zeroizing;

use crate::error::SignatureError;
use crate::pem::parse_pem;
use crate::ssh_public::{SshKey, SshKeyKind};
use crate::ssh_wire::{WireReader, padded, put, put_unsigned};

const LABEL: &str = "OPENSSH PRIVATE KEY";
const MAGIC: &[u8] = b"openssh-key-v1\0";
/// A person may ask for a slow password check, not for an endless one. ssh-keygen takes 24 by itself.
const MAX_ROUNDS: u32 = 4096;

/// An open secret key.
pub(crate) struct SshSecret {
    pub(crate) key: SshKey,
    pair: SshPair,
}

enum SshPair {
    Ed25519(Ed25519KeyPair),
    Ecdsa(EcdsaKeyPair),
}

const FORMAT: SignatureError = SignatureError::KeyFormat("it is not an OpenSSH secret key");

impl SshSecret {
    /// Whether a text is the file of such a key.
    pub(crate) fn is_one(text: &str) -> bool {
        text.trim_start().starts_with("-----BEGIN OPENSSH PRIVATE KEY-----")
    }

    /// Opens the key in a file's text. `password` is called where one is needed.
    pub(crate) fn open(
        text: &str,
        password: &mut dyn FnMut() -> Option<Zeroizing<String>>,
    ) -> Result<Self, SignatureError> {
        let blocks = parse_pem(text).ok_or(FORMAT)?;
        let [block] = &blocks[..] else { return Err(FORMAT) };
        let mut wire = WireReader::new(&block.bytes);
        if block.label != LABEL || wire.take(MAGIC.len()) != Some(MAGIC) {
            return Err(FORMAT);
        }
        let cipher = wire.text().ok_or(FORMAT)?;
        let kdf = wire.text().ok_or(FORMAT)?;
        let options = wire.bytes().ok_or(FORMAT)?;
        if wire.number() != Some(1) {
            return Err(FORMAT);
        }
        let key = SshKey::from_blob(wire.bytes().ok_or(FORMAT)?)?;
        let mut secret = Zeroizing::new(wire.bytes().ok_or(FORMAT)?.to_vec());
        // Ciphers that also authenticate have a tag here; they are named below.
        if !wire.is_empty() && matches!(cipher, "none" | "aes256-ctr") {
            return Err(FORMAT);
        }
        let encrypted = match (cipher, kdf) {
            ("none", "none") => false,
            ("aes256-ctr", "bcrypt") => {
                let password = password().ok_or(SignatureError::PasswordNeeded)?;
                decrypt(&mut secret, &password, options)?;
                true
            }
            (other, _) => {
                let other: String = other.chars().filter(char::is_ascii_graphic).take(40).collect();
                let what = format!(
                    "the cipher `{other}` of a secret key (ssh-keygen -p -Z aes256-ctr changes it)"
                );
                return Err(SignatureError::UnsupportedKey(what));
            }
        };
        let wrong = if encrypted { SignatureError::WrongPassword } else { FORMAT };
        let mut wire = WireReader::new(&secret);
        let (first, second) = (wire.number(), wire.number());
        if first.is_none() || first != second {
            return Err(wrong);
        }
        let pair = read_pair(&mut wire, &key)?;
        Ok(Self { key, pair })
    }

    /// OpenSSH's binary form of a signature.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignatureError> {
        let signature = match &self.pair {
            SshPair::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            SshPair::Ecdsa(pair) => {
                let random = SystemRandom::new();
                let signed =
                    pair.sign(&random, message).map_err(|_| SignatureError::NoRandomness)?;
                let (r, s) = signed.as_ref().split_at(signed.as_ref().len() / 2);
                let mut both = Vec::new();
                put_unsigned(&mut both, r);
                put_unsigned(&mut both, s);
                both
            }
        };
        let mut out = Vec::new();
        put(&mut out, self.key.kind().name().as_bytes());
        put(&mut out, &signature);
        Ok(out)
    }
}

fn decrypt(secret: &mut [u8], password: &str, options: &[u8]) -> Result<(), SignatureError> {
    let mut options = WireReader::new(options);
    let salt = options.bytes().ok_or(FORMAT)?;
    let rounds = options
        .number()
        .filter(|rounds| (1..=MAX_ROUNDS).contains(rounds))
        .ok_or(SignatureError::KeyFormat("its password takes too long to check"))?;
    if password.is_empty() || salt.is_empty() {
        return Err(SignatureError::WrongPassword);
    }
    let mut stream = Zeroizing::new([0; 48]);
    bcrypt_pbkdf::bcrypt_pbkdf(password.as_bytes(), salt, rounds, &mut stream[..])
        .map_err(|_| FORMAT)?;
    let (key, iv) = stream.split_at(32);
    let mut cipher = ctr::Ctr128BE::<Aes256>::new_from_slices(key, iv).map_err(|_| FORMAT)?;
    cipher.apply_keystream(secret);
    Ok(())
}

fn read_pair(wire: &mut WireReader<'_>, key: &SshKey) -> Result<SshPair, SignatureError> {
    let kind = wire.text().ok_or(FORMAT)?;
    if kind != key.kind().name() {
        return Err(FORMAT);
    }
    let pair = match key.kind() {
        SshKeyKind::Ed25519 => {
            let public = wire.bytes().ok_or(FORMAT)?;
            let secret = wire.bytes().filter(|it| it.len() == 64).ok_or(FORMAT)?;
            let pair = Ed25519KeyPair::from_seed_and_public_key(&secret[..32], public);
            SshPair::Ed25519(pair.map_err(|_| FORMAT)?)
        }
        SshKeyKind::Rsa => {
            return Err(SignatureError::UnsupportedKey("signing with an RSA key".to_owned()));
        }
        curve => {
            let (algorithm, length) = match curve {
                SshKeyKind::P256 => (&ECDSA_P256_SHA256_FIXED_SIGNING, 32),
                _ => (&ECDSA_P384_SHA384_FIXED_SIGNING, 48),
            };
            let _curve = wire.bytes().ok_or(FORMAT)?;
            let public = wire.bytes().ok_or(FORMAT)?;
            let secret = wire.unsigned().and_then(|it| padded(it, length)).ok_or(FORMAT)?;
            let secret = Zeroizing::new(secret);
            let random = SystemRandom::new();
            let pair =
                EcdsaKeyPair::from_private_key_and_public_key(algorithm, &secret, public, &random);
            SshPair::Ecdsa(pair.map_err(|_| FORMAT)?)
        }
    };
    let _comment = wire.bytes().ok_or(FORMAT)?;
    // The rest counts from one: 1, 2, 3, …
    let is_padding = wire.rest().iter().zip(1u8..).all(|(byte, expected)| *byte == expected);
    if is_padding && wire.rest().len() < 256 { Ok(pair) } else { Err(FORMAT) }
}
