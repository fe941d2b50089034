//! Minisign's secret keys: read, opened with a password, and made.
//!
//! The password becomes a stream of bytes by scrypt, and the key is mixed with it. The costs stand in the
//! file; a file that asks for more memory than any honest one is refused before it gets it.

use blake2::Blake2b;
use blake2::digest::consts::U32;
use data_encoding::BASE64;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use sha2::Digest as _;
use zeroize::Zeroizing;

use crate::error::SignatureError;
use crate::minisign::{MinisignKey, UNTRUSTED};

const ED25519_KEY: &[u8; 2] = b"Ed";
const SCRYPT: &[u8; 2] = b"Sc";
const NO_KDF: &[u8; 2] = &[0, 0];
const BLAKE2: &[u8; 2] = b"B2";
/// Key id, key, checksum: what the password covers.
const COVERED: usize = 8 + 64 + 32;
const FILE_BYTES: usize = 2 + 2 + 2 + 32 + 8 + 8 + COVERED;
/// The costs of a new key: 128 MiB and about half a second.
const OPERATIONS: u64 = 1 << 22;
const MEMORY_BYTES: u64 = 1 << 27;
/// Minisign's own keys ask for 1 GiB.
const MAX_MEMORY_BYTES: u64 = 1 << 30;
const MAX_OPERATIONS: u64 = 1 << 27;

/// An open secret key.
pub(crate) struct MinisignSecret {
    pub(crate) key_id: [u8; 8],
    pair: Ed25519KeyPair,
}

impl MinisignSecret {
    /// Whether a text is the file of such a key.
    pub(crate) fn is_one(text: &str) -> bool {
        text.starts_with(UNTRUSTED.trim_end())
            && text.lines().nth(1).is_some_and(|line| {
                BASE64.decode(line.trim_end().as_bytes()).is_ok_and(|it| it.len() == FILE_BYTES)
            })
    }

    /// Opens the key in a file's text. `password` is called where one is needed.
    pub(crate) fn open(
        text: &str,
        password: &mut dyn FnMut() -> Option<Zeroizing<String>>,
    ) -> Result<Self, SignatureError> {
        let format = SignatureError::KeyFormat("it is not a secret key of minisign");
        let line = text.lines().nth(1).unwrap_or_default().trim_end();
        let bytes = Zeroizing::new(BASE64.decode(line.as_bytes()).map_err(|_| format.clone())?);
        if bytes.len() != FILE_BYTES || &bytes[..2] != ED25519_KEY || &bytes[4..6] != BLAKE2 {
            return Err(format);
        }
        let mut covered = Zeroizing::new(bytes[FILE_BYTES - COVERED..].to_vec());
        let encrypted = &bytes[2..4] == SCRYPT;
        if encrypted {
            let number = |at: usize| {
                let mut number = [0; 8];
                number.copy_from_slice(&bytes[at..at + 8]);
                u64::from_le_bytes(number)
            };
            let password = password().ok_or(SignatureError::PasswordNeeded)?;
            mix(&mut covered, &password, &bytes[6..38], number(38), number(46))?;
        } else if &bytes[2..4] != NO_KDF {
            return Err(format);
        }
        let (key_id, key) = (&covered[..8], &covered[8..72]);
        // Minisign itself writes no checksum into a key without a password; ring compares the two halves.
        let has_checksum = encrypted || covered[72..].iter().any(|byte| *byte != 0);
        if has_checksum && checksum(key_id, key)[..] != covered[72..] {
            return Err(if encrypted { SignatureError::WrongPassword } else { format });
        }
        let pair =
            Ed25519KeyPair::from_seed_and_public_key(&key[..32], &key[32..]).map_err(|_| format)?;
        let mut id = [0; 8];
        id.copy_from_slice(key_id);
        Ok(Self { key_id: id, pair })
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        signature.copy_from_slice(self.pair.sign(message).as_ref());
        signature
    }

    pub(crate) fn public(&self) -> MinisignKey {
        let mut key = [0; 32];
        key.copy_from_slice(self.pair.public_key().as_ref());
        MinisignKey { key_id: self.key_id, key }
    }
}

/// A new key: the text of its secret file, and its public half. Without a password the file is as secret
/// as its permissions.
pub(crate) fn generate(
    password: Option<&str>,
) -> Result<(Zeroizing<String>, MinisignKey), SignatureError> {
    let random = SystemRandom::new();
    let fill = |bytes: &mut [u8]| random.fill(bytes).map_err(|_| SignatureError::NoRandomness);
    let (mut key_id, mut salt, mut seed) = ([0; 8], [0; 32], Zeroizing::new([0; 32]));
    fill(&mut key_id)?;
    fill(&mut salt)?;
    fill(&mut seed[..])?;
    let pair =
        Ed25519KeyPair::from_seed_unchecked(&seed[..]).map_err(|_| SignatureError::NoRandomness)?;
    let mut public = [0; 32];
    public.copy_from_slice(pair.public_key().as_ref());
    let key = Zeroizing::new([&seed[..], &public].concat());
    let mut covered = Zeroizing::new([&key_id[..], &key, &checksum(&key_id, &key)].concat());
    let (kdf, operations, memory) = match password {
        Some(password) => {
            mix(&mut covered, password, &salt, OPERATIONS, MEMORY_BYTES)?;
            (SCRYPT, OPERATIONS, MEMORY_BYTES)
        }
        None => (NO_KDF, 0, 0),
    };
    let salt = if password.is_some() { salt } else { [0; 32] };
    let file = Zeroizing::new(
        [
            &ED25519_KEY[..],
            kdf,
            BLAKE2,
            &salt,
            &operations.to_le_bytes(),
            &memory.to_le_bytes(),
            &covered,
        ]
        .concat(),
    );
    let how = if password.is_some() { "encrypted " } else { "" };
    let line = Zeroizing::new(BASE64.encode(&file));
    let text = Zeroizing::new(format!("{UNTRUSTED}minisign {how}secret key\n{}\n", *line));
    Ok((text, MinisignKey { key_id, key: public }))
}

fn checksum(key_id: &[u8], key: &[u8]) -> [u8; 32] {
    let mut hasher = Blake2b::<U32>::new();
    hasher.update(ED25519_KEY);
    hasher.update(key_id);
    hasher.update(key);
    hasher.finalize().into()
}

/// Mixes `covered` with the stream that the password gives; a second time takes it off.
fn mix(
    covered: &mut [u8],
    password: &str,
    salt: &[u8],
    operations: u64,
    memory: u64,
) -> Result<(), SignatureError> {
    if memory > MAX_MEMORY_BYTES || operations > MAX_OPERATIONS {
        return Err(SignatureError::KeyFormat("its password costs more than 1 GiB to check"));
    }
    let (log_n, p) = costs(operations, memory);
    let params = scrypt::Params::new(log_n, BLOCK, p)
        .map_err(|_| SignatureError::KeyFormat("the costs of its password are invalid"))?;
    let mut stream = Zeroizing::new([0; COVERED]);
    scrypt::scrypt(password.as_bytes(), salt, &params, &mut stream[..])
        .map_err(|_| SignatureError::KeyFormat("the costs of its password are invalid"))?;
    for (byte, mask) in covered.iter_mut().zip(stream.iter()) {
        *byte ^= mask;
    }
    Ok(())
}

const BLOCK: u32 = 8;

/// The parameters of scrypt for a number of operations and bytes, as libsodium chooses them.
fn costs(operations: u64, memory: u64) -> (u8, u32) {
    let operations = operations.max(32_768);
    let block = u64::from(BLOCK);
    let log = |max: u64| (1..63).find(|log: &u8| 1u64 << log > max / 2).unwrap_or(63);
    if operations < memory / 32 {
        return (log(operations / (block * 4)), 1);
    }
    let log_n = log(memory / (block * 128));
    let parallel = ((operations / 4) >> log_n).min(0x3fff_ffff) / block;
    (log_n, u32::try_from(parallel).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_those_of_libsodium() {
        assert_eq!(costs(33_554_432, 1_073_741_824), (20, 1), "what minisign writes");
        assert_eq!(costs(OPERATIONS, MEMORY_BYTES), (17, 1));
        assert_eq!(costs(524_288, 16_777_216), (14, 1), "libsodium's interactive ones");
    }

    #[test]
    fn a_file_that_asks_for_endless_memory_is_refused() {
        let refused = mix(&mut [0; COVERED], "x", &[0; 32], 1 << 40, 1 << 40);
        assert_eq!(refused.map_err(|error| error.code()), Err("key-format"));
    }
}
