//! What a run deleted, kept in the run's folder until it is restored or the folder goes.
//!
//! Each file lies there whole, beside a record of where it was. A reference names one of them and
//! nothing else: it is checked before it becomes a file's name.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use metier_fs::{WorkError, WorkRoot};
use metier_skill::{FailureCode, WorkPath};
use serde::{Deserialize, Serialize};

use crate::failure::{ToolFailure, shown};

/// Bytes of the record beside a deleted file.
const MAX_RECORD_BYTES: u64 = 16 * 1024;

/// A folder of deleted files.
#[derive(Debug)]
pub struct Trash {
    folder: PathBuf,
    next: AtomicU64,
}

/// A deleted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrashedFile {
    /// What [`Trash::restore`] finds it by.
    pub reference: String,
    /// Where it was, below the workspace.
    pub path: WorkPath,
    /// Bytes.
    pub bytes: u64,
}

/// The record beside a deleted file.
#[derive(Serialize, Deserialize)]
struct Record {
    #[serde(flatten)]
    trashed: TrashedFile,
    /// The real path of the workspace that it was deleted from: it is not restored to another.
    #[serde(default)]
    workspace: Option<String>,
}

impl Trash {
    /// Keeps deleted files in `folder`, which is created with the first one.
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder, next: AtomicU64::new(1) }
    }

    /// Moves a file of `root` here.
    pub(crate) fn take(
        &self,
        root: &WorkRoot,
        path: &WorkPath,
    ) -> Result<TrashedFile, ToolFailure> {
        let message = |error: &WorkError| ToolFailure::work(path.as_str(), error);
        let reference = self.free_reference();
        // Written first: a file without a record could not be restored.
        let mut trashed = TrashedFile { reference, path: path.clone(), bytes: 0 };
        self.write_record(root, &trashed)?;
        match root.move_out(path, &self.folder, &trashed.reference) {
            Ok(bytes) => trashed.bytes = bytes,
            Err(error) => {
                let _ = metier_fs::remove_file(&self.record(&trashed.reference));
                return Err(message(&error));
            }
        }
        self.write_record(root, &trashed)?;
        Ok(trashed)
    }

    /// Moves a deleted file back to where it was, if nothing is there now.
    pub fn restore(&self, root: &WorkRoot, reference: &str) -> Result<TrashedFile, ToolFailure> {
        let Record { trashed, workspace } = self.find(reference)?;
        // Reached through a link, this may be what a run in another workspace deleted.
        if workspace.is_none_or(|known| Some(known) != real_root(root)) {
            let message = format!("{} was deleted from another workspace", shown(reference));
            return Err(ToolFailure::new(FailureCode::NotAllowed, message)
                .with_help("restore it in the workspace that it was deleted from"));
        }
        root.move_in(&trashed.path, &self.folder, &trashed.reference)
            .map_err(|error| ToolFailure::work(trashed.path.as_str(), &error))?;
        let _ = metier_fs::remove_file(&self.record(reference));
        Ok(trashed)
    }

    /// What can be restored, oldest first.
    pub fn list(&self) -> Vec<TrashedFile> {
        let names = metier_fs::read_dir_names(&self.folder).unwrap_or_default();
        let references = names.iter().filter_map(|name| name.strip_suffix(".json"));
        references.filter_map(|reference| Some(self.find(reference).ok()?.trashed)).collect()
    }

    fn find(&self, reference: &str) -> Result<Record, ToolFailure> {
        let missing = || {
            let message = format!("there is no deleted file {}", shown(reference));
            ToolFailure::new(FailureCode::NotFound, message)
        };
        if !is_reference(reference) {
            return Err(missing());
        }
        let bytes = metier_fs::read_bounded(&self.record(reference), MAX_RECORD_BYTES);
        let record: Record =
            bytes.ok().and_then(|b| serde_json::from_slice(&b).ok()).ok_or_else(missing)?;
        let there = metier_fs::entry_kind(&self.folder.join(reference)).is_some();
        if there && record.trashed.reference == reference { Ok(record) } else { Err(missing()) }
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

    fn write_record(&self, root: &WorkRoot, trashed: &TrashedFile) -> Result<(), ToolFailure> {
        let file = self.record(&trashed.reference);
        let record = Record { trashed: trashed.clone(), workspace: real_root(root) };
        let text = serde_json::to_vec(&record).unwrap_or_default();
        metier_fs::write_private(&file, &text).map_err(|error| {
            let message = format!("the trash cannot be written: {error}");
            ToolFailure::new(FailureCode::IoError, message)
        })
    }
}

fn real_root(root: &WorkRoot) -> Option<String> {
    metier_fs::canonical(root.path()).ok().map(|path| path.to_string_lossy().into_owned())
}

/// Whether a text has the form of a reference.
fn is_reference(text: &str) -> bool {
    let digits = text.strip_prefix("trash-").unwrap_or_default();
    digits.len() >= 6 && digits.len() <= 20 && digits.bytes().all(|byte| byte.is_ascii_digit())
}
