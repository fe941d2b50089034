//! The pair of files that a process appends to, held locked for as long as it lives.
//!
//! A line is written by one call before anything is said about it, so a process that is killed loses
//! nothing that was on record. The disk is waited for once a second: a power cut may lose the results of
//! the last second, whose units are then run again.

use std::time::{Duration, Instant};

use metier::fs::{AppendError, AppendFile};

use super::folder::{PlanFile, PlanFolder};
use super::units::AttemptLine;
use crate::error::{EvalError, Result};

/// How long a result may wait for the disk.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The files of this process.
#[derive(Debug)]
pub(super) struct Journal {
    /// Which of the processes this one is.
    pub(super) number: u32,
    attempts: AppendFile,
    results: AppendFile,
    synced: Instant,
    is_dirty: bool,
}

impl Journal {
    /// Takes over the files of a process that is gone, or makes new ones. The folder is locked. What a crash
    /// cut off is added to `notes`.
    pub(super) fn open(folder: &PlanFolder, notes: &mut Vec<String>) -> Result<Self> {
        let numbers = folder.numbers(PlanFile::Attempts)?;
        for number in numbers.iter().copied().filter(|number| *number > 0) {
            if !folder.dir.is_busy(&PlanFile::Attempts.name(number)) {
                return Self::take_over(folder, number, notes);
            }
        }
        let results = folder.numbers(PlanFile::Results)?;
        let number = numbers.last().max(results.last()).copied().unwrap_or(0) + 1;
        let make = |kind: PlanFile| {
            let made = folder.dir.create_append(&kind.name(number));
            made.map_err(|error| folder.error("a file cannot be made", &error))
        };
        let (attempts, results) = (make(PlanFile::Attempts)?, make(PlanFile::Results)?);
        Ok(Self { number, attempts, results, synced: Instant::now(), is_dirty: false })
    }

    fn take_over(folder: &PlanFolder, number: u32, notes: &mut Vec<String>) -> Result<Self> {
        let mut open = |kind: PlanFile| {
            let name = kind.name(number);
            let (file, torn) = match folder.dir.continue_append(&name) {
                // The process was killed between making the two.
                Err(AppendError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                    folder.dir.create_append(&name).map(|file| (file, 0))
                }
                other => other,
            }
            .map_err(|error| folder.error(&format!("{name} cannot be continued"), &error))?;
            if torn > 0 {
                let bytes = if torn == 1 { "byte" } else { "bytes" };
                notes.push(format!(
                    "{name}: the last line was cut off by a crash; its {torn} {bytes} are left out"
                ));
            }
            Ok::<AppendFile, EvalError>(file)
        };
        let (attempts, results) = (open(PlanFile::Attempts)?, open(PlanFile::Results)?);
        let mut journal =
            Self { number, attempts, results, synced: Instant::now(), is_dirty: false };
        journal.begin(folder, &[AttemptLine::Opened])?;
        Ok(journal)
    }

    /// Puts attempts on record, all of them or none.
    pub(super) fn begin(&mut self, folder: &PlanFolder, lines: &[AttemptLine]) -> Result<()> {
        let mut bytes = Vec::with_capacity(lines.len() * 64);
        for line in lines {
            serde_json::to_writer(&mut bytes, line)
                .map_err(|error| folder.error("an attempt", &error))?;
            bytes.push(b'\n');
        }
        let written = self.attempts.append(&bytes);
        written.map_err(|error| folder.error("an attempt cannot be written", &error))
    }

    /// Puts a result on record: its line, without the line end. Says where it stands.
    pub(super) fn keep(&mut self, folder: &PlanFolder, mut line: Vec<u8>) -> Result<u64> {
        let at = self.results.size();
        line.push(b'\n');
        let written = self.results.append(&line);
        written.map_err(|error| folder.error("a result cannot be written", &error))?;
        self.is_dirty = true;
        if self.synced.elapsed() >= SYNC_INTERVAL {
            self.sync().map_err(|error| folder.error("a result cannot be written", &error))?;
        }
        Ok(at)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.results.sync()?;
        (self.synced, self.is_dirty) = (Instant::now(), false);
        Ok(())
    }
}

/// The files of this process in a folder into which results are put together: nothing is leased there.
#[derive(Debug)]
pub(crate) struct ResultLog {
    folder: PlanFolder,
    journal: Journal,
}

impl ResultLog {
    /// Takes files of a folder.
    pub(crate) fn open(folder: &PlanFolder) -> Result<Self> {
        let _locked = folder.lock()?;
        let journal = Journal::open(folder, &mut Vec::new())?;
        Ok(Self { folder: folder.clone(), journal })
    }

    /// Puts a result on record: its line, without the line end.
    pub(crate) fn keep(&mut self, line: Vec<u8>) -> Result<()> {
        self.journal.keep(&self.folder, line).map(|_| ())
    }

    /// Waits for the disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.journal.sync().map_err(|error| self.folder.error("results cannot be written", &error))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.is_dirty {
            // There is nothing left to report it to; the lines are in the system's hands.
            let _ = self.sync();
        }
    }
}
