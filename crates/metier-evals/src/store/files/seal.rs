//! Seals on results: which lines this user's own programs have put on record.
//!
//! A folder of results may come with a clone, and a result that is believed there is a trial that was never made. So
//! each line of a project's store has a code at its end, made with a key in the user's state, and lines without it
//! are left out. `metier eval merge` takes the results of other machines, and seals them anew.

use std::path::Path;

use data_encoding::HEXLOWER;
use metier::fs::UpdateError;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::error::{EvalError, Result};

/// The key's file in the user's state.
const KEY_FILE: &str = "evals.key";
const KEY_BYTES: usize = 32;
/// What stands between a result and its code.
const FIELD: &[u8] = b",\"seal\":\"";
const CODE_CHARS: usize = 64;

/// Seals results, and knows those that it sealed.
pub(crate) struct ResultSeal(hmac::Key);

impl ResultSeal {
    /// The seal of the user with this state, whose key is made where there is none.
    pub(crate) fn of_user(state: &Path) -> Result<Self> {
        let path = state.join(KEY_FILE);
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("{}: the key of results: {error}", path.display());
            EvalError::store(message, "check the folder, its disk and its permissions")
        };
        let mut key = metier::fs::read_bounded(&path, 1024).unwrap_or_default();
        if key.len() != KEY_BYTES {
            let edit = |old: Option<Vec<u8>>| match old {
                // Another process has just made it.
                Some(old) if old.len() == KEY_BYTES => Ok(old),
                _ => {
                    let mut new = vec![0; KEY_BYTES];
                    SystemRandom::new().fill(&mut new).map(|()| new)
                }
            };
            metier::fs::update_private(&path, 1024, edit).map_err(|error| {
                failed(&match error {
                    UpdateError::Busy(lock) => format!("{} is held", lock.display()),
                    UpdateError::Read(error) => error.to_string(),
                    UpdateError::Write(error) => error.to_string(),
                    _ => "the system gives no random bytes".to_owned(),
                })
            })?;
            key = metier::fs::read_bounded(&path, 1024).map_err(|error| failed(&error))?;
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &key)))
    }

    /// The line of a result, sealed. It is an object.
    pub(crate) fn seal(&self, mut line: Vec<u8>) -> Vec<u8> {
        let code = HEXLOWER.encode(hmac::sign(&self.0, &line).as_ref());
        if line.pop() == Some(b'}') {
            line.extend_from_slice(FIELD);
            line.extend_from_slice(code.as_bytes());
            line.extend_from_slice(b"\"}");
        }
        line
    }

    /// Whether the line was sealed by this user.
    pub(crate) fn is_own(&self, line: &[u8]) -> bool {
        let Some((result, code)) = parts(line) else { return false };
        let code = HEXLOWER.decode(code).unwrap_or_default();
        hmac::verify(&self.0, &[result, b"}"].concat(), &code).is_ok()
    }
}

impl std::fmt::Debug for ResultSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ResultSeal")
    }
}

/// The line of a result without its seal, of any user.
pub(crate) fn unsealed(line: &[u8]) -> Vec<u8> {
    match parts(line) {
        Some((result, _)) => [result, b"}"].concat(),
        None => line.to_vec(),
    }
}

/// A sealed line, up to its seal, and the code.
fn parts(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_suffix(b"\"}")?;
    let (rest, code) = rest.split_at_checked(rest.len().checked_sub(CODE_CHARS)?)?;
    let is_code = code.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    Some((rest.strip_suffix(FIELD)?, code)).filter(|_| is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_who_sealed_a_line_knows_it() {
        let (own, other) = (tempfile::tempdir().expect("dir"), tempfile::tempdir().expect("dir"));
        let seal = ResultSeal::of_user(own.path()).expect("a key");
        let line = br#"{"case":"a","fired":true}"#.to_vec();
        let sealed = seal.seal(line.clone());
        assert!(serde_json::from_slice::<serde_json::Value>(&sealed).is_ok());
        assert_eq!(unsealed(&sealed), line);
        assert_eq!(unsealed(&line), line);
        assert!(ResultSeal::of_user(own.path()).expect("the same key").is_own(&sealed));
        assert!(!ResultSeal::of_user(other.path()).expect("another").is_own(&sealed));
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(!seal.is_own(&changed), "{place}");
        }
        assert!(!seal.is_own(&line) && !seal.is_own(b"") && !seal.is_own(b"\"}"));
    }
}
