//! What the user's state remembers of a record: its first hash, how many events it has, its last hash.
//!
//! A chain of hashes shows a change in its middle, not that its end was cut off, that it was written
//! anew, or that an older copy stands in its place: a program that can write to the run's folder can do that. The
//! anchor lies where no project and no script can write. It is written when a run begins, whenever its
//! record is on the disk, and when it stops. While a run is open the anchor may be behind; once it is
//! closed the record has to end where it says.
//!
//! An answer is different, because a resumed run acts on it: a program that adds one to the record of a
//! killed run would approve its own wishes. So the hash of an answer is remembered *before* the answer is
//! written, and one past the anchor that the anchor does not announce is forged. A process that is killed
//! between the two leaves an announcement without an answer, which is harmless; in the other order a kill
//! would make an honest record look forged.

use std::path::Path;

use metier_fs::{Durability, HeldDir, ReadError};
use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::error::AgentError;
use crate::event::Event;
use crate::log::Record;
use crate::run_id::RunId;

/// A line for each time that the record of an open run was on the disk.
const MAX_ANCHOR_BYTES: u64 = 8 << 20;

/// What is remembered of the record of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// The real path of the workspace that the run belongs to.
    pub workspace: String,
    /// The hash of the first event.
    pub first_hash: Digest,
    /// How many events there are.
    pub events: u64,
    /// The hash of the last of them.
    pub last_hash: Digest,
    /// The hash of the answer that was about to be written as the next event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_answer: Option<Digest>,
    /// Whether more may follow.
    pub state: AnchorState,
}

/// Whether a record may have more events than its anchor knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnchorState {
    /// The run works, or its process was killed.
    Open,
    /// The run has stopped there.
    Closed,
}

/// Where anchors are kept: a folder of the user's state, and the workspace whose runs are meant.
#[derive(Debug, Clone)]
pub struct Anchors {
    folder: HeldDir,
    workspace: String,
}

/// What is known of the anchor of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KnownAnchor {
    /// There is one.
    Here(Anchor),
    /// There is none for this workspace: the run was begun elsewhere, or is a copy.
    Missing,
    /// What stands there is no anchor.
    Unreadable(String),
}

impl Anchors {
    /// Anchors in `folder` for the runs of `workspace`, which is its real path.
    pub fn new(folder: &Path, workspace: &Path) -> Self {
        let workspace = workspace.to_string_lossy().into_owned();
        Self { folder: HeldDir::at(folder), workspace }
    }

    pub(crate) fn read(&self, id: &RunId) -> KnownAnchor {
        let bytes = match self.folder.read(id.as_str(), MAX_ANCHOR_BYTES) {
            Ok(bytes) => bytes,
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                return KnownAnchor::Missing;
            }
            Err(error) => return KnownAnchor::Unreadable(error.to_string()),
        };
        // A line that is not whole was not written to its end: the one before it counts.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let last = bytes[..whole].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        match serde_json::from_slice::<Anchor>(last) {
            Ok(anchor) if anchor.workspace == self.workspace => KnownAnchor::Here(anchor),
            Ok(_) => KnownAnchor::Missing,
            Err(error) => KnownAnchor::Unreadable(error.to_string()),
        }
    }

    /// Remembers a record, on the disk, in place of all that was remembered before.
    pub(crate) fn write(
        &self,
        id: &RunId,
        known: &AnchoredRecord,
        state: AnchorState,
    ) -> Result<(), AgentError> {
        self.replace(id, &self.line(known, state, None))
    }

    /// Remembers, on the disk, that an answer with this hash is about to follow the record.
    pub(crate) fn announce_answer(
        &self,
        id: &RunId,
        known: &AnchoredRecord,
        answer: Digest,
    ) -> Result<(), AgentError> {
        self.replace(id, &self.line(known, AnchorState::Open, Some(answer)))
    }

    fn replace(&self, id: &RunId, line: &[u8]) -> Result<(), AgentError> {
        let written = self.folder.write(id.as_str(), line, Durability::Synced);
        written.map_err(|error| self.unwritten(id, &error))
    }

    /// Remembers how far the record of an open run is. A line more is enough: one that is lost leaves
    /// the one before it, which is behind.
    pub(crate) fn advance(&self, id: &RunId, known: &AnchoredRecord) -> Result<(), AgentError> {
        let line = self.line(known, AnchorState::Open, None);
        match self.folder.append_line(id.as_str(), &line) {
            // It was removed meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.write(id, known, AnchorState::Open)
            }
            written => written.map_err(|error| self.unwritten(id, &error)),
        }
    }

    fn line(
        &self,
        known: &AnchoredRecord,
        state: AnchorState,
        next_answer: Option<Digest>,
    ) -> Vec<u8> {
        let AnchoredRecord { first_hash, events, last_hash } = *known;
        let workspace = self.workspace.clone();
        let anchor = Anchor { workspace, first_hash, events, last_hash, next_answer, state };
        let mut line = serde_json::to_vec(&anchor).unwrap_or_default();
        line.push(b'\n');
        line
    }

    fn unwritten(&self, id: &RunId, error: &std::io::Error) -> AgentError {
        AgentError::Unwritten(self.folder.path().join(id.as_str()), error.to_string())
    }
}

/// The part of a record that is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnchoredRecord {
    pub(crate) first_hash: Digest,
    pub(crate) events: u64,
    pub(crate) last_hash: Digest,
}

impl Anchor {
    /// Why a record is not the one that is remembered, as a stable code and in words.
    pub(crate) fn refutes(&self, records: &[Record]) -> Option<(&'static str, String)> {
        let count = records.len() as u64;
        let Some(first) = records.first() else {
            // The first anchor is written before the first event.
            let is_at_start = self.state == AnchorState::Open && self.events <= 1;
            let message = format!("the record is empty; it had {} events", self.events);
            return (!is_at_start).then_some(("truncated", message));
        };
        if first.hash != self.first_hash {
            let message = "this is not the record that was begun here".to_owned();
            return Some(("another-record", message));
        }
        let known = self.events.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        match known.and_then(|at| records.get(at)) {
            None => Some((
                "truncated",
                format!("the record has {count} events; it had at least {}", self.events),
            )),
            Some(record) if record.hash != self.last_hash => Some((
                "rewritten",
                format!("event {} is not the one that was written", self.events),
            )),
            Some(_) if self.state == AnchorState::Closed && count > self.events => Some((
                "appended",
                format!("the record has {count} events; the run stopped after {}", self.events),
            )),
            Some(_) => self.unannounced_answer(records),
        }
    }

    /// The first answer past the anchor that it does not announce.
    fn unannounced_answer(&self, records: &[Record]) -> Option<(&'static str, String)> {
        let is_announced =
            |it: &Record| it.seq == self.events + 1 && Some(it.hash) == self.next_answer;
        let forged = records.iter().find(|it| {
            let is_answer = matches!(it.event, Event::AskAnswered { .. });
            is_answer && it.seq > self.events && !is_announced(it)
        })?;
        let message = format!("event {} is an answer that was not given here", forged.seq);
        Some(("forged-answer", message))
    }
}
