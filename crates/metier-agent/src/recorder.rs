//! Writing events down, in order, each before it is shown or acted on.
//!
//! A [`FolderRecorder`] keeps the record of a run on disk; a [`MemoryRecorder`] keeps it in memory, for
//! tests and for programs that want no files. `unrecorded` keeps nothing.

use std::time::{Instant, SystemTime};

use metier_fs::{AppendFile, utc_text};
use metier_skill::Digest;

use crate::anchor::{AnchorState, AnchoredRecord, Anchors, KnownAnchor};
use crate::audit::must_hold;
use crate::error::AgentError;
use crate::event::Event;
use crate::folder::RunFolder;
use crate::log::{self, LogFault, Record};
use crate::run_id::RunId;
use crate::setup::Setup;
use crate::summary::{Summary, SummaryBuilder};

/// Writes events down.
pub trait Recorder: Send {
    /// Writes one event, and gives its record.
    fn append(&mut self, event: &Event) -> Result<Record, AgentError>;
    /// Waits until everything is on the disk: before something is done that cannot be undone.
    fn sync(&mut self) -> Result<(), AgentError>;
    /// Writes the summary of what was written so far; of a run that has stopped, the last word.
    fn summarize(&mut self) -> Result<(), AgentError>;
    /// The summary of what was written so far.
    fn summary(&self) -> Option<&Summary>;
    /// The recorder of a loop inside this one, and what it has written already.
    fn inner(&mut self, op_id: u32, setup: &Setup) -> Result<InnerRun, AgentError>;
}

/// The record of a loop inside another.
pub struct InnerRun {
    /// Writes it.
    pub recorder: Box<dyn Recorder>,
    /// What it was given when it was begun.
    pub setup: Setup,
    /// What is written already, at least its first event.
    pub records: Vec<Record>,
}

/// The time, and how long a run has taken. Time between two processes does not count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    since: Instant,
    before_ms: u64,
}

impl RunClock {
    pub(crate) fn starting_at(before_ms: u64) -> Self {
        Self { since: Instant::now(), before_ms }
    }

    pub(crate) fn elapsed_ms(self) -> u64 {
        let passed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.before_ms.saturating_add(passed)
    }
}

/// The record of a run in its folder.
#[derive(Debug)]
pub struct FolderRecorder {
    folder: RunFolder,
    file: AppendFile,
    seq: u64,
    hash: Digest,
    first_hash: Option<Digest>,
    watch: RunClock,
    summary: SummaryBuilder,
    /// Where the record is remembered; nothing for one that was not begun here.
    anchors: Option<Anchors>,
}

impl FolderRecorder {
    /// Begins the record of a new run. Writes down what the run is given and its first event.
    pub(crate) fn create(folder: &RunFolder, setup: &Setup) -> Result<(Self, Event), AgentError> {
        let (file, [setup_sha256, index_sha256]) = folder.create(setup)?;
        let recorder = Self {
            hash: log::genesis(folder.id().as_str()),
            folder: folder.clone(),
            file,
            seq: 0,
            first_hash: None,
            watch: RunClock::starting_at(0),
            summary: SummaryBuilder::default(),
            anchors: folder.anchors().cloned(),
        };
        let event = started(folder.id(), setup, setup_sha256, index_sha256);
        Ok((recorder, event))
    }

    /// Continues the record of a run that was begun before. What another process wrote since it was
    /// checked has to agree with what is remembered of it, too.
    pub(crate) fn reopen(folder: &RunFolder) -> Result<(Self, Vec<Record>), AgentError> {
        let (file, records) = folder.reopen()?;
        let anchors = match folder.anchor() {
            KnownAnchor::Here(anchor) => {
                if let Some((code, message)) = anchor.refutes(&records) {
                    let fault = LogFault { line: records.len() as u64, code, message };
                    return Err(AgentError::Record(folder.events_file(), fault));
                }
                folder.anchors().cloned()
            }
            KnownAnchor::Missing | KnownAnchor::Unreadable(_) => None,
        };
        let last = records.last();
        let recorder = Self {
            hash: last.map_or_else(|| log::genesis(folder.id().as_str()), |last| last.hash),
            seq: last.map_or(0, |last| last.seq),
            first_hash: records.first().map(|first| first.hash),
            watch: RunClock::starting_at(last.map_or(0, |last| last.elapsed_ms)),
            summary: SummaryBuilder::after(&records),
            anchors,
            folder: folder.clone(),
            file,
        };
        // More follows from here on.
        recorder.remember(AnchorState::Open)?;
        Ok((recorder, records))
    }

    /// Where the record is remembered, and how far it is. What is remembered must be on the disk, or a
    /// power cut would make the record look shortened.
    fn remembered(&self) -> Option<(&Anchors, AnchoredRecord)> {
        let (anchors, first_hash) = (self.anchors.as_ref()?, self.first_hash?);
        Some((anchors, AnchoredRecord { first_hash, events: self.seq, last_hash: self.hash }))
    }

    fn remember(&self, state: AnchorState) -> Result<(), AgentError> {
        let remembered = self.remembered();
        remembered.map_or(Ok(()), |(anchors, known)| anchors.write(self.folder.id(), &known, state))
    }
}

/// The first event of a run.
pub(crate) fn started(
    id: &RunId,
    setup: &Setup,
    setup_sha256: Digest,
    index_sha256: Digest,
) -> Event {
    Event::RunStarted {
        run_id: id.clone(),
        format: log::FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        request: setup.request.clone(),
        model: setup.model.clone(),
        model_by_project: setup.model_by_project.clone(),
        agent: setup.agent.clone(),
        index_hash: setup.index_hash,
        setup_sha256,
        index_sha256,
    }
}

impl Recorder for FolderRecorder {
    fn append(&mut self, event: &Event) -> Result<Record, AgentError> {
        let stored = self.folder.store_texts(event)?;
        let (time, elapsed_ms) = (utc_text(SystemTime::now()), self.watch.elapsed_ms());
        let seq = self.seq + 1;
        let (line, hash) =
            log::line(&self.hash, seq, &time, elapsed_ms, stored.as_ref().unwrap_or(event))
                .map_err(|error| self.folder.unwritten(&error))?;
        if let (None, Some(anchors)) = (self.first_hash, &self.anchors) {
            // Before it is written: from its first event on, no other record can take its place.
            let known = AnchoredRecord { first_hash: hash, events: seq, last_hash: hash };
            anchors.write(self.folder.id(), &known, AnchorState::Open)?;
        }
        if let (Event::AskAnswered { .. }, Some((anchors, known))) = (event, self.remembered()) {
            self.file.sync().map_err(|error| self.folder.unwritten(&error))?;
            anchors.announce_answer(self.folder.id(), &known, hash)?;
        }
        self.file.append(&line).map_err(|error| self.folder.unwritten(&error))?;
        (self.seq, self.hash) = (seq, hash);
        self.first_hash.get_or_insert(hash);
        let record = Record { seq, time, elapsed_ms, event: event.clone(), hash };
        self.summary.add(&record);
        Ok(record)
    }

    fn sync(&mut self) -> Result<(), AgentError> {
        self.file.sync().map_err(|error| self.folder.unwritten(&error))?;
        let remembered = self.remembered();
        remembered.map_or(Ok(()), |(anchors, known)| anchors.advance(self.folder.id(), &known))
    }

    fn summarize(&mut self) -> Result<(), AgentError> {
        let Some(summary) = self.summary.summary() else { return Ok(()) };
        let has_stopped = summary.status.is_some();
        if has_stopped {
            self.file.sync().map_err(|error| self.folder.unwritten(&error))?;
        }
        self.folder.write_summary(summary)?;
        if has_stopped {
            self.remember(AnchorState::Closed)?;
        }
        Ok(())
    }

    fn summary(&self) -> Option<&Summary> {
        self.summary.summary()
    }

    fn inner(&mut self, op_id: u32, setup: &Setup) -> Result<InnerRun, AgentError> {
        let folder = self.folder.inner_run(self.folder.inner_id(op_id)?);
        let begun = if folder.has_record() {
            must_hold(&folder)?;
            Some(Self::reopen(&folder)?)
        } else {
            None
        };
        let (mut recorder, event) = match begun {
            Some((recorder, records)) if !records.is_empty() => {
                let setup = folder.setup()?;
                return Ok(InnerRun { recorder: Box::new(recorder), setup, records });
            }
            // Its process ended before the first event.
            Some((recorder, _)) => {
                let [setup_sha256, index_sha256] = folder.write_given(setup)?;
                (recorder, started(folder.id(), setup, setup_sha256, index_sha256))
            }
            None => Self::create(&folder, setup)?,
        };
        let first = recorder.append(&event)?;
        Ok(InnerRun { recorder: Box::new(recorder), setup: setup.clone(), records: vec![first] })
    }
}

/// A record in memory.
#[derive(Debug)]
pub struct MemoryRecorder {
    /// What was written.
    pub records: Vec<Record>,
    id: RunId,
    watch: RunClock,
    summary: SummaryBuilder,
}

impl MemoryRecorder {
    /// An empty record.
    pub fn new(id: RunId) -> Self {
        let (watch, summary) = (RunClock::starting_at(0), SummaryBuilder::default());
        Self { records: Vec::new(), id, watch, summary }
    }

    /// The first event of a run that is recorded in memory.
    pub fn first_event(&self, setup: &Setup) -> Event {
        let digest = |bytes: Result<Vec<u8>, _>| Digest::of(&bytes.unwrap_or_default());
        let index = digest(serde_json::to_vec(&setup.skills));
        started(&self.id, setup, digest(serde_json::to_vec(setup)), index)
    }
}

impl Recorder for MemoryRecorder {
    fn append(&mut self, event: &Event) -> Result<Record, AgentError> {
        let before =
            self.records.last().map_or_else(|| log::genesis(self.id.as_str()), |last| last.hash);
        let seq = self.records.len() as u64 + 1;
        let record = Record {
            seq,
            time: utc_text(SystemTime::now()),
            elapsed_ms: self.watch.elapsed_ms(),
            event: event.clone(),
            hash: before,
        };
        self.summary.add(&record);
        self.records.push(record.clone());
        Ok(record)
    }

    fn sync(&mut self) -> Result<(), AgentError> {
        Ok(())
    }

    fn summarize(&mut self) -> Result<(), AgentError> {
        Ok(())
    }

    fn summary(&self) -> Option<&Summary> {
        self.summary.summary()
    }

    fn inner(&mut self, op_id: u32, setup: &Setup) -> Result<InnerRun, AgentError> {
        let name = format!("{}-sub{op_id}", self.id);
        let id = RunId::new(&name).unwrap_or_else(|_| self.id.clone());
        let mut recorder = Self::new(id);
        let first = recorder.append(&recorder.first_event(setup))?;
        Ok(InnerRun { recorder: Box::new(recorder), setup: setup.clone(), records: vec![first] })
    }
}
