//! What a run deleted, kept in the run's folder until it is restored or the folder goes.
//!
//! Each file lies there whole, beside a record of where it was. A reference names one of them and
//! nothing else: it is checked before it becomes a file's name.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use metier_fs::{WorkError, WorkRoot};
use metier_skill::WorkPath;
use serde::{Deserialize, Serialize};

use crate::failure::{FailureCode, ToolFailure, shown};

/// Bytes of a record.
const RECORD_BYTES: u64 = 16 * 1024;

/// A folder of deleted files.
#[derive(Debug)]
pub struct Trash {
    folder: PathBuf,
    next: AtomicU64,
}

/// A deleted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trashed {
    /// What [`Trash::restore`] finds it by.
    pub reference: String,
    /// Where it was, below the workspace.
    pub path: WorkPath,
    /// Bytes.
    pub bytes: u64,
}

impl Trash {
    /// Keeps deleted files in `folder`, which is made when the first one comes.
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder, next: AtomicU64::new(1) }
    }

    /// Moves a file of `root` here.
    pub(crate) fn take(&self, root: &WorkRoot, path: &WorkPath) -> Result<Trashed, ToolFailure> {
        let told = |error: &WorkError| ToolFailure::work(path.as_str(), error);
        let reference = self.free_reference();
        // Written first: a file without a record could not be brought back.
        let mut trashed = Trashed { reference, path: path.clone(), bytes: 0 };
        self.write_record(&trashed)?;
        match root.move_out(path, &self.folder, &trashed.reference) {
            Ok(bytes) => trashed.bytes = bytes,
            Err(error) => {
                let _ = metier_fs::remove_file(&self.record(&trashed.reference));
                return Err(told(&error));
            }
        }
        self.write_record(&trashed)?;
        Ok(trashed)
    }

    /// Brings a deleted file back to where it was, if nothing stands there.
    pub fn restore(&self, root: &WorkRoot, reference: &str) -> Result<Trashed, ToolFailure> {
        let trashed = self.find(reference)?;
        root.move_in(&trashed.path, &self.folder, &trashed.reference)
            .map_err(|error| ToolFailure::work(trashed.path.as_str(), &error))?;
        let _ = metier_fs::remove_file(&self.record(reference));
        Ok(trashed)
    }

    /// What can be restored, oldest first.
    pub fn list(&self) -> Vec<Trashed> {
        let names = metier_fs::read_dir_names(&self.folder).unwrap_or_default();
        let references = names.iter().filter_map(|name| name.strip_suffix(".json"));
        references.filter_map(|reference| self.find(reference).ok()).collect()
    }

    fn find(&self, reference: &str) -> Result<Trashed, ToolFailure> {
        let missing = || {
            let told = format!("there is no deleted file `{}`", shown(reference));
            ToolFailure::new(FailureCode::NotFound, told)
        };
        if !is_reference(reference) {
            return Err(missing());
        }
        let bytes = metier_fs::read_bounded(&self.record(reference), RECORD_BYTES);
        let trashed: Trashed =
            bytes.ok().and_then(|b| serde_json::from_slice(&b).ok()).ok_or_else(missing)?;
        let there = metier_fs::entry_kind(&self.folder.join(reference)).is_some();
        if there && trashed.reference == reference { Ok(trashed) } else { Err(missing()) }
    }

    fn free_reference(&self) -> String {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let reference = format!("trash-{number:06}");
            let taken = |path: &Path| metier_fs::entry_kind(path).is_some();
            if !taken(&self.record(&reference)) && !taken(&self.folder.join(&reference)) {
                return reference;
            }
        }
    }

    fn record(&self, reference: &str) -> PathBuf {
        self.folder.join(format!("{reference}.json"))
    }

    fn write_record(&self, trashed: &Trashed) -> Result<(), ToolFailure> {
        let text = serde_json::to_vec(trashed).unwrap_or_default();
        metier_fs::write_atomic(&self.record(&trashed.reference), &text).map_err(|error| {
            let told = format!("the trash cannot be written: {error}");
            ToolFailure::new(FailureCode::IoError, told)
        })
    }
}

/// Whether a text has the form of a reference.
fn is_reference(text: &str) -> bool {
    let digits = text.strip_prefix("trash-").unwrap_or_default();
    digits.len() >= 6 && digits.len() <= 20 && digits.bytes().all(|byte| byte.is_ascii_digit())
}
