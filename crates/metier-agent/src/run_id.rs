//! The name of a run: a time and a few letters, so that names sort by age.
//! It is a part of paths, so it can hold nothing that leads out of its folder.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// The name of a run: letters, digits and dashes, at most 64.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// The text names no run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidRunId;

impl fmt::Display for InvalidRunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a run is named by letters, digits and dashes, such as 20260131-120000-k3f9")
    }
}

impl std::error::Error for InvalidRunId {}

impl RunId {
    /// A name that was written before.
    pub fn new(text: &str) -> Result<Self, InvalidRunId> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !starts || text.len() > 64 || !text.bytes().all(plain) {
            return Err(InvalidRunId);
        }
        Ok(Self(text.to_owned()))
    }

    /// A new name, from the time and a number that tells two runs of one moment apart. The first two
    /// letters are the milliseconds: of two runs of one second the later one must be the last.
    pub fn at(now: SystemTime, salt: u64) -> Self {
        // In the order of their bytes, so that names sort as their numbers do.
        const LETTERS: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";
        let time = metier_fs::utc_text(now);
        let digits: String = time.chars().filter(char::is_ascii_digit).take(14).collect();
        let (day, hour) = digits.split_at(8.min(digits.len()));
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let number = u64::from(since.subsec_millis()) << 20 | salt & 0xf_ffff;
        let letters: String = (0..6)
            .map(|at| LETTERS[usize::try_from((number >> (25 - 5 * at)) & 31).unwrap_or(0)] as char)
            .collect();
        Self(format!("{day}-{hour}-{letters}"))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        Self::new(text)
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;

    fn try_from(text: String) -> Result<Self, InvalidRunId> {
        Self::new(&text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_age_and_cannot_leave_their_folder() {
        let at = |secs| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(secs);
        let (old, new) = (RunId::at(at(1_000_000_000), 7), RunId::at(at(1_000_000_060), 3));
        assert!(old < new);
        assert_eq!(old.as_str(), "20010909-014640-222229");
        let later = |ms| RunId::at(at(7) + std::time::Duration::from_millis(ms), 99 - ms / 10);
        let names: Vec<RunId> = (0..1000).map(later).collect();
        assert!(names.is_sorted(), "also within a second: {names:?}");
        assert_eq!(RunId::new(old.as_str()), Ok(old));
        for bad in ["", "..", "a/b", "-x", ".hidden", "a b", &"x".repeat(65)] {
            assert_eq!(RunId::new(bad), Err(InvalidRunId), "{bad}");
        }
    }
}
