//! What a run deleted, kept in the run's folder until it is restored or the folder goes.
//!
//! Each file lies there whole, beside a record of where it was. A reference names one of them and
//! nothing else: it is checked before it becomes a file's name. The folder is held open, and is no link.

use std::sync::atomic::{AtomicU64, Ordering};

use metier_fs::{Durability, HeldDir, WorkError, WorkRoot};
use metier_skill::{Digest, FailureCode, WorkPath};
use serde::{Deserialize, Serialize};

use crate::failure::{ToolFailure, shown};

/// Bytes of the record beside a deleted file.
const MAX_RECORD_BYTES: u64 = 16 * 1024;
/// Bytes of a deleted file of which a digest is made.
const MAX_DIGEST_BYTES: u64 = 1 << 30;

/// A folder of deleted files.
#[derive(Debug)]
pub struct Trash {
    folder: HeldDir,
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
    /// The digest of its bytes; nothing where they are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
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
    pub const fn new(folder: HeldDir) -> Self {
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
        let mut trashed = TrashedFile { reference, path: path.clone(), bytes: 0, sha256: None };
        self.write_record(root, &trashed)?;
        match root.move_out(path, &self.folder, &trashed.reference) {
            Ok(bytes) => trashed.bytes = bytes,
            Err(error) => {
                let _ = self.folder.remove_file(&record_name(&trashed.reference));
                return Err(message(&error));
            }
        }
        if trashed.bytes <= MAX_DIGEST_BYTES {
            let digest = self.folder.digest(&trashed.reference).ok();
            trashed.sha256 = digest.map(|(digest, _)| digest);
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
        let _ = self.folder.remove_file(&record_name(reference));
        Ok(trashed)
    }

    /// What can be restored, oldest first.
    pub fn list(&self) -> Result<Vec<TrashedFile>, ToolFailure> {
        let unreadable = |error: &dyn std::fmt::Display| {
            let message = format!("the deleted files cannot be listed: {error}");
            ToolFailure::new(FailureCode::IoError, message)
        };
        if !self.folder.is_there().map_err(|error| unreadable(&error))? {
            return Ok(Vec::new());
        }
        let names = self.folder.names().map_err(|error| unreadable(&error))?;
        let references = names.iter().filter_map(|name| name.strip_suffix(".json"));
        let found = references.filter_map(|reference| Some(self.find(reference).ok()?.trashed));
        Ok(found.collect())
    }

    fn find(&self, reference: &str) -> Result<Record, ToolFailure> {
        let missing = || {
            let message = format!("there is no deleted file {}", shown(reference));
            ToolFailure::new(FailureCode::NotFound, message)
        };
        if !is_reference(reference) {
            return Err(missing());
        }
        let bytes = self.folder.read(&record_name(reference), MAX_RECORD_BYTES);
        let record: Record =
            bytes.ok().and_then(|b| serde_json::from_slice(&b).ok()).ok_or_else(missing)?;
        let there = self.folder.kind(reference).is_some();
        if there && record.trashed.reference == reference { Ok(record) } else { Err(missing()) }
    }

    fn free_reference(&self) -> String {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let reference = format!("trash-{number:06}");
            let taken = |name: &str| self.folder.kind(name).is_some();
            if !taken(&record_name(&reference)) && !taken(&reference) {
                return reference;
            }
        }
    }

    fn write_record(&self, root: &WorkRoot, trashed: &TrashedFile) -> Result<(), ToolFailure> {
        let record = Record { trashed: trashed.clone(), workspace: real_root(root) };
        let text = serde_json::to_vec(&record).unwrap_or_default();
        let name = record_name(&trashed.reference);
        self.folder.write(&name, &text, Durability::Synced).map_err(|error| {
            let message = format!("the trash cannot be written: {error}");
            ToolFailure::new(FailureCode::IoError, message)
        })
    }
}

fn real_root(root: &WorkRoot) -> Option<String> {
    metier_fs::canonical(root.path()).ok().map(|path| path.to_string_lossy().into_owned())
}

/// The name of the record beside a deleted file.
fn record_name(reference: &str) -> String {
    format!("{reference}.json")
}

/// Whether a text has the form of a reference.
fn is_reference(text: &str) -> bool {
    let digits = text.strip_prefix("trash-").unwrap_or_default();
    digits.len() >= 6 && digits.len() <= 20 && digits.bytes().all(|byte| byte.is_ascii_digit())
}
