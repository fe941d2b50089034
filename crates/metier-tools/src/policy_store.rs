//! The user's decisions on disk: trusted folders and remembered answers, in the state folder.
//!
//! Two small files, each changed under a lock, so that two runs cannot lose each other's changes. A
//! file that cannot be read is an error, never an empty one. One that other accounts can write is not
//! believed: it counts as empty, and is not changed, since the change would be lost in it.
//! `metier-policy` defines what the records mean.

use std::fmt;
use std::path::{Path, PathBuf};

use metier_fs::{
    ForeignAccess, ReadError, UpdateError, read_bounded, update_private, writable_by_others,
};
use metier_policy::{AnswerMemory, TrustedFolders};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a file of records.
const MAX_BYTES: u64 = 64 << 20;
const TRUST: &str = "trust.json";
const ANSWERS: &str = "answers.json";

/// The trust records and remembered answers of one user.
#[derive(Debug, Clone)]
pub struct PolicyStore {
    folder: PathBuf,
}

/// Why records could not be read or changed. The file on disk is unchanged.
#[derive(Debug)]
#[non_exhaustive]
pub enum PolicyStoreError {
    /// The file exists and cannot be read.
    Unreadable(PathBuf, String),
    /// Another process holds its lock.
    Busy(PathBuf, PathBuf),
    /// It could not be written.
    Unwritten(PathBuf, String),
    /// Other accounts can write it, so it does not count.
    Foreign(PathBuf, ForeignAccess),
}

impl PolicyStoreError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(..) => "state-unreadable",
            Self::Busy(..) => "state-busy",
            Self::Unwritten(..) => "state-unwritable",
            Self::Foreign(..) => "state-foreign",
        }
    }

    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::Unreadable(..) => {
                "move the file away; you will be asked again about what it held".to_owned()
            }
            Self::Busy(_, lock) => format!("try again; the lock is {}", lock.display()),
            Self::Unwritten(..) => {
                "the file is unchanged; check its permissions and the free space".to_owned()
            }
            Self::Foreign(_, access) => {
                format!("if what it holds is yours: {}; otherwise remove it", access.remedy())
            }
        }
    }
}

impl fmt::Display for PolicyStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(file, reason) => {
                write!(f, "{} cannot be read: {reason}", file.display())
            }
            Self::Busy(file, _) => {
                write!(f, "another process has been changing {} for too long", file.display())
            }
            Self::Unwritten(file, reason) => {
                write!(f, "{} cannot be written: {reason}", file.display())
            }
            Self::Foreign(file, access) => {
                write!(f, "{} counts as empty: {}", file.display(), access.about(file))
            }
        }
    }
}

impl std::error::Error for PolicyStoreError {}

impl PolicyStore {
    /// The records in a state folder, which may not exist yet.
    pub fn in_state(state: &Path) -> Self {
        Self { folder: state.to_owned() }
    }

    /// The files of these records. Their modes are judged, and so never corrected in passing.
    pub const FILES: &[&str] = &[TRUST, ANSWERS];

    /// The records that do not count, because other accounts can write them.
    pub fn foreign(&self) -> Vec<PolicyStoreError> {
        let files = Self::FILES.iter().map(|name| self.folder.join(name));
        files.filter_map(|file| check_own(&file).err()).collect()
    }

    /// The folders that the user trusts.
    pub fn trusted(&self) -> Result<TrustedFolders, PolicyStoreError> {
        read(&self.trust_file())
    }

    /// Changes the folders that the user trusts.
    pub fn change_trusted<T>(
        &self,
        edit: impl FnOnce(&mut TrustedFolders) -> T,
    ) -> Result<T, PolicyStoreError> {
        change(&self.trust_file(), edit)
    }

    /// The answers that are remembered.
    pub fn answers(&self) -> Result<AnswerMemory, PolicyStoreError> {
        read(&self.answers_file())
    }

    /// Changes the answers that are remembered.
    pub fn change_answers<T>(
        &self,
        edit: impl FnOnce(&mut AnswerMemory) -> T,
    ) -> Result<T, PolicyStoreError> {
        change(&self.answers_file(), edit)
    }

    fn trust_file(&self) -> PathBuf {
        self.folder.join(TRUST)
    }

    fn answers_file(&self) -> PathBuf {
        self.folder.join(ANSWERS)
    }
}

/// An error where other accounts can write the file.
fn check_own(file: &Path) -> Result<(), PolicyStoreError> {
    match writable_by_others(file) {
        Some(access) => Err(PolicyStoreError::Foreign(file.to_owned(), access)),
        None => Ok(()),
    }
}

fn read<R: DeserializeOwned + Default>(file: &Path) -> Result<R, PolicyStoreError> {
    if check_own(file).is_err() {
        return Ok(R::default());
    }
    match read_bounded(file, MAX_BYTES) {
        Ok(bytes) => parse(file, &bytes),
        Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(R::default())
        }
        Err(error) => Err(PolicyStoreError::Unreadable(file.to_owned(), error.to_string())),
    }
}

fn parse<R: DeserializeOwned>(file: &Path, bytes: &[u8]) -> Result<R, PolicyStoreError> {
    serde_json::from_slice(bytes)
        .map_err(|error| PolicyStoreError::Unreadable(file.to_owned(), error.to_string()))
}

fn change<R: DeserializeOwned + Serialize + Default, T>(
    file: &Path,
    edit: impl FnOnce(&mut R) -> T,
) -> Result<T, PolicyStoreError> {
    check_own(file)?;
    let mut given = None;
    let updated = update_private(file, MAX_BYTES, |before| {
        let mut records: R = before.map_or_else(|| Ok(R::default()), |text| parse(file, &text))?;
        given = Some(edit(&mut records));
        let mut text = serde_json::to_vec_pretty(&records)
            .map_err(|error| PolicyStoreError::Unwritten(file.to_owned(), error.to_string()))?;
        text.push(b'\n');
        Ok(text)
    });
    match updated {
        Ok(_) => given.ok_or_else(|| {
            PolicyStoreError::Unwritten(file.to_owned(), "nothing was written".to_owned())
        }),
        Err(UpdateError::Refused(error)) => Err(error),
        Err(UpdateError::Read(error)) => {
            Err(PolicyStoreError::Unreadable(file.to_owned(), error.to_string()))
        }
        Err(UpdateError::Busy(lock)) => Err(PolicyStoreError::Busy(file.to_owned(), lock)),
        Err(UpdateError::Write(error)) => {
            Err(PolicyStoreError::Unwritten(file.to_owned(), error.to_string()))
        }
        Err(_) => Err(PolicyStoreError::Unwritten(file.to_owned(), "it was refused".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use metier_policy::{AbsolutePath, TrustedFolder, UnixTime};

    use super::*;

    fn folder(path: &str) -> TrustedFolder {
        TrustedFolder {
            folder: AbsolutePath::new(path).expect("a path"),
            skills: BTreeMap::new(),
            files: BTreeMap::new(),
            followed: None,
            followed_skills: BTreeSet::new(),
            granted_at: UnixTime(1),
        }
    }

    #[test]
    fn records_are_read_back_and_concurrent_writers_lose_nothing() {
        let state = tempfile::tempdir().expect("a directory");
        let store = PolicyStore::in_state(&state.path().join("not/there/yet"));
        assert_eq!(store.trusted().expect("reads").iter().count(), 0);
        let writers: Vec<_> = (0..8)
            .map(|number| {
                let store = store.clone();
                let add =
                    move |all: &mut TrustedFolders| all.trust(folder(&format!("/p/{number}")));
                std::thread::spawn(move || store.change_trusted(add))
            })
            .collect();
        for writer in writers {
            writer.join().expect("ends").expect("writes");
        }
        assert_eq!(store.trusted().expect("reads").iter().count(), 8);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes files")]
    fn an_unreadable_file_is_an_error_and_never_an_empty_one() {
        let state = tempfile::tempdir().expect("a directory");
        std::fs::write(state.path().join("answers.json"), "[{").expect("writes");
        let store = PolicyStore::in_state(state.path());
        assert_eq!(store.answers().expect_err("broken").code(), "state-unreadable");
        let changed = store.change_answers(|_| ());
        assert_eq!(changed.expect_err("broken").code(), "state-unreadable");
        let text = std::fs::read(state.path().join("answers.json")).expect("reads");
        assert_eq!(text, b"[{", "the file is unchanged");
    }
}
