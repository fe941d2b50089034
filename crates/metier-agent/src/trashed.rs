//! The files that a run deleted, as its record knows them, and restoring one with a word in the record.
//!
//! What lies in the trash is not believed by itself: anything that can write there could put a file into
//! the place of another. A file is restored only as the record says it was deleted. `file.restoring` is
//! written before it is moved, so that a crash in between does not make the record look damaged.

use std::collections::BTreeMap;

use metier_skill::Digest;
use metier_tools::{DeleteFile, Trash, TrashedFile};

use crate::audit::chain_must_hold;
use crate::error::AgentError;
use crate::event::Event;
use crate::folder::RunFolder;
use crate::log::Record;
use crate::op::Op;
use crate::recorder::{FolderRecorder, Recorder};

/// What the records of a run say about its trash.
#[derive(Debug, Default)]
pub(crate) struct TrashLedger {
    entries: BTreeMap<String, LedgerEntry>,
    /// Files whose deletion began and has no end: the process was killed, or the call was cancelled.
    unfinished: Vec<String>,
}

#[derive(Debug, Default)]
struct LedgerEntry {
    deleted: Vec<DeletedFile>,
    restored: usize,
}

#[derive(Debug)]
struct DeletedFile {
    path: String,
    bytes: u64,
    sha256: Option<Digest>,
    seq: u64,
}

/// Something in the trash that is not as the record says.
pub(crate) struct TrashFault {
    pub(crate) reference: String,
    /// The event that deleted it.
    pub(crate) seq: Option<u64>,
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
}

impl TrashLedger {
    /// Takes a record: that of the run, or of a loop inside it.
    pub(crate) fn add(&mut self, records: &[Record]) {
        let mut begun: BTreeMap<u32, String> = BTreeMap::new();
        for record in records {
            match &record.event {
                Event::ActionStarted { op_id, op: Op::Tool { tool, args, .. } }
                    if tool == DeleteFile::NAME =>
                {
                    let path = args.get("path").and_then(|path| path.as_str()).unwrap_or_default();
                    begun.insert(*op_id, path.to_owned());
                }
                Event::ActionFinished { op_id, outcome } if begun.remove(op_id).is_some() => {
                    let data = &outcome.data;
                    let (Some(reference), Some(path)) =
                        (data["restore"].as_str(), data["path"].as_str())
                    else {
                        continue;
                    };
                    let sha256 = data["sha256"].as_str().and_then(|text| text.parse().ok());
                    let bytes = data["bytes"].as_u64().unwrap_or_default();
                    let (path, seq) = (path.to_owned(), record.seq);
                    let entry = self.entries.entry(reference.to_owned()).or_default();
                    entry.deleted.push(DeletedFile { path, bytes, sha256, seq });
                }
                Event::FileRestoring { reference, .. } => {
                    self.entries.entry(reference.clone()).or_default().restored += 1;
                }
                _ => {}
            }
        }
        self.unfinished.extend(begun.into_values());
    }

    /// What is wrong with the trash.
    pub(crate) fn faults(&self, folder: &RunFolder) -> Vec<TrashFault> {
        let found = Trash::new(folder.trash()).list().unwrap_or_default();
        let mut faults = Vec::new();
        for (reference, entry) in &self.entries {
            let there = found.iter().find(|file| file.reference == *reference);
            let must_be_there = entry.deleted.len() > entry.restored;
            let last = entry.deleted.last().map(|deleted| deleted.seq);
            let (code, message) = match there {
                None if must_be_there => ("file-missing", "it is gone, and was not restored"),
                Some(file) if !self.knows(folder, file) => {
                    ("file-changed", "it is not what the run deleted")
                }
                _ => continue,
            };
            faults.push(TrashFault { reference: reference.clone(), seq: last, code, message });
        }
        for file in found.iter().filter(|file| !self.entries.contains_key(&file.reference)) {
            if !self.knows(folder, file) {
                let (code, message) = ("file-unknown", "the record knows of no such file");
                let reference = file.reference.clone();
                faults.push(TrashFault { reference, seq: None, code, message });
            }
        }
        faults
    }

    /// Whether a file in the trash is one that the run deleted, byte for byte. Of a deletion without an
    /// end only the path is known.
    fn knows(&self, folder: &RunFolder, file: &TrashedFile) -> bool {
        let Some(entry) = self.entries.get(&file.reference) else {
            return self.unfinished.iter().any(|path| same_path(path, file));
        };
        let found = folder.trash().digest(&file.reference).ok();
        let found = found.as_ref();
        entry.deleted.iter().any(|deleted| {
            deleted.path == file.path.as_str()
                && found.is_some_and(|(_, bytes)| *bytes == deleted.bytes)
                && deleted.sha256.is_none_or(|sha256| found.is_some_and(|(it, _)| *it == sha256))
        })
    }
}

/// Whether a path as a model wrote it is that of a file in the trash.
fn same_path(written: &str, file: &TrashedFile) -> bool {
    metier_skill::WorkPath::new(written).is_ok_and(|path| path == file.path)
}

impl RunFolder {
    /// What the records of the run and of the loops inside it say about its trash.
    pub(crate) fn trash_ledger(&self, records: &[Record]) -> TrashLedger {
        let mut ledger = TrashLedger::default();
        ledger.add(records);
        for inner in self.inner_runs().unwrap_or_default() {
            if let Ok((records, _)) = inner.chain() {
                ledger.add(&records);
            }
        }
        ledger
    }

    /// Restores a deleted file as `restore` does, and writes that down before and after. The record has
    /// to hold, and the file has to be the one that the run deleted.
    pub fn restoring<T, E: From<AgentError>>(
        &self,
        file: &TrashedFile,
        restore: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        chain_must_hold(self)?;
        let (mut recorder, records) = FolderRecorder::reopen(self)?;
        let restored = if self.trash_ledger(&records).knows(self, file) {
            let (reference, path) = (file.reference.clone(), file.path.to_string());
            let event = Event::FileRestoring { reference: reference.clone(), path: path.clone() };
            let written = recorder.append(&event).and_then(|_| recorder.sync());
            written.map_err(E::from).and_then(|()| {
                let restored = restore()?;
                recorder.append(&Event::FileRestored { reference, path })?;
                Ok(restored)
            })
        } else {
            let path = self.path().join("trash").join(&file.reference);
            Err(AgentError::Text(path).into())
        };
        recorder.summarize()?;
        restored
    }
}
