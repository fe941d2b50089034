//! A recorder that keeps nothing: observers hear every event, and no one can read it later.
//!
//! For runs of which there are many and whose records no one would read, such as the trials of an eval.
//! It makes no digests: those of a record vouch for files, and there are none.

use std::time::SystemTime;

use metier_fs::utc_text;
use metier_skill::Digest;

use crate::error::AgentError;
use crate::event::Event;
use crate::log::Record;
use crate::recorder::{InnerRun, Recorder, RunClock, started};
use crate::run_id::RunId;
use crate::setup::Setup;
use crate::summary::Summary;

/// Keeps nothing.
#[derive(Debug)]
pub struct Unrecorded {
    id: RunId,
    seq: u64,
    none: Digest,
    watch: RunClock,
}

impl Unrecorded {
    /// For the run with this id.
    pub fn new(id: RunId) -> Self {
        Self { id, seq: 0, none: Digest::of(&[]), watch: RunClock::starting_at(0) }
    }

    /// The first event of the run.
    pub fn first_event(&self, setup: &Setup) -> Event {
        started(&self.id, setup, self.none, self.none)
    }
}

impl Recorder for Unrecorded {
    fn append(&mut self, event: &Event) -> Result<Record, AgentError> {
        self.seq += 1;
        Ok(Record {
            seq: self.seq,
            time: utc_text(SystemTime::now()),
            elapsed_ms: self.watch.elapsed_ms(),
            event: event.clone(),
            hash: self.none,
        })
    }

    fn sync(&mut self) -> Result<(), AgentError> {
        Ok(())
    }

    fn summarize(&mut self) -> Result<(), AgentError> {
        Ok(())
    }

    fn summary(&self) -> Option<&Summary> {
        None
    }

    fn inner(&mut self, op_id: u32, setup: &Setup) -> Result<InnerRun, AgentError> {
        let id = RunId::new(&format!("{}-sub{op_id}", self.id)).unwrap_or_else(|_| self.id.clone());
        let mut recorder = Self::new(id);
        let first = recorder.append(&recorder.first_event(setup))?;
        Ok(InnerRun { recorder: Box::new(recorder), setup: setup.clone(), records: vec![first] })
    }
}
