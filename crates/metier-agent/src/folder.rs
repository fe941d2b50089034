//! The folder of a run: `run.json` (the summary), `setup.json` and `index.json` (what it was given),
//! `events.jsonl` (the record) and `observations/` (long texts and whole outputs).
//!
//! Everything is for the owner alone. The record is the truth; the summary is made from it and can be
//! made again.

use std::path::{Path, PathBuf};

use metier_fs::{
    AppendError, AppendFile, create_private_dir, read_bounded, write_atomic, write_private,
};
use metier_model::ModelInfo;
use metier_skill::{Digest, SkillId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::AgentError;
use crate::event::{Event, Spent, Status};
use crate::log::{self, LogFault, Record};
use crate::op::Text;
use crate::recorder::started;
use crate::run_id::RunId;
use crate::setup::{Setup, SkillCard};

/// The largest record that is read.
pub(crate) const MAX_LOG_BYTES: u64 = 256 << 20;
const MAX_FILE_BYTES: u64 = 64 << 20;
/// A text of more bytes gets a file of its own.
const INLINE_BYTES: usize = 8 * 1024;

/// The folder of one run.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    id: RunId,
}

/// The summary of a run, for lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run.
    pub run_id: RunId,
    /// How it ended; nothing while it works, or when it was killed.
    pub status: Option<Status>,
    /// Why, where it is not completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The request.
    pub request: String,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The answer for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Who decided.
    pub model: ModelInfo,
    /// The skills that were loaded.
    pub skills: Vec<SkillId>,
    /// When it began, in UTC.
    pub started: String,
    /// When it ended, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// Milliseconds that it took.
    pub elapsed_ms: u64,
    /// What it spent.
    pub spent: Spent,
    /// How many events its record has.
    pub events: u64,
    /// The hash of the last one.
    pub last_hash: Digest,
}

impl RunFolder {
    /// The folder of a run below the folder of all runs.
    pub fn new(runs: &Path, id: RunId) -> Self {
        Self { path: runs.join(id.as_str()), id }
    }

    /// The run.
    pub const fn id(&self) -> &RunId {
        &self.id
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where long texts and whole outputs are.
    pub fn observations(&self) -> PathBuf {
        self.path.join("observations")
    }

    /// The run's record.
    pub fn events_file(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// Makes the folder and writes down what the run is given.
    pub(crate) fn create(&self, setup: &Setup) -> Result<(AppendFile, [Digest; 2]), AgentError> {
        if metier_fs::exists(&self.path) {
            return Err(AgentError::Exists(self.path.clone()));
        }
        // Before the run's own folder, which is the owner's alone: the folders above it are the
        // project's, and keep the permissions that the user's mask gives them.
        self.keep_out_of_git();
        create_private_dir(&self.path).map_err(|error| self.unwritten(&error))?;
        let texts = [to_json(setup)?, to_json(&setup.skills)?];
        for (name, bytes) in ["setup.json", "index.json"].iter().zip(&texts) {
            self.write(name, bytes)?;
        }
        let log =
            AppendFile::create(&self.events_file()).map_err(|error| self.not_opened(&error))?;
        Ok((log, texts.map(|bytes| Digest::of(&bytes))))
    }

    /// Runs are private to the user: a repository does not take them up by accident.
    fn keep_out_of_git(&self) {
        let Some(runs) = self.path.parent() else { return };
        let file = runs.join(".gitignore");
        if !metier_fs::exists(&file) {
            let _ = write_atomic(&file, b"*\n");
        }
    }

    /// What the run was given.
    pub fn setup(&self) -> Result<Setup, AgentError> {
        let mut setup: Setup = self.read_json("setup.json")?;
        setup.skills = self.read_json::<Vec<SkillCard>>("index.json")?;
        Ok(setup)
    }

    /// The first event of the run, from what it was given.
    pub(crate) fn first_event(&self, setup: &Setup) -> Result<Event, AgentError> {
        let digest = |name: &str| {
            self.digest_of(name)
                .ok_or_else(|| self.unreadable(name, &"its digest cannot be computed"))
        };
        Ok(started(&self.id, setup, digest("setup.json")?, digest("index.json")?))
    }

    /// Its summary.
    pub fn summary(&self) -> Result<Summary, AgentError> {
        self.read_json("run.json")
    }

    pub(crate) fn write_summary(&self, summary: &Summary) -> Result<(), AgentError> {
        self.write("run.json", &to_json(summary)?)
    }

    /// Its events, with long texts in place, and the first fault of its record.
    pub fn events(&self) -> Result<(Vec<Record>, Option<LogFault>), AgentError> {
        let (mut records, fault) = self.chain()?;
        for record in &mut records {
            self.fetch_texts(&mut record.event)?;
        }
        Ok((records, fault))
    }

    /// Its events as they are written, long texts by reference, and the first fault of its record.
    pub(crate) fn chain(&self) -> Result<(Vec<Record>, Option<LogFault>), AgentError> {
        let bytes = read_bounded(&self.events_file(), MAX_LOG_BYTES)
            .map_err(|error| self.unreadable("events.jsonl", &error))?;
        Ok(log::read(self.id.as_str(), &bytes))
    }

    /// Opens the record to continue it.
    pub(crate) fn reopen(&self) -> Result<(AppendFile, Vec<Record>), AgentError> {
        let (log, bytes, _) = AppendFile::open(&self.events_file(), MAX_LOG_BYTES)
            .map_err(|error| self.not_opened(&error))?;
        let (mut records, fault) = log::read(self.id.as_str(), &bytes);
        if let Some(fault) = fault {
            return Err(AgentError::Record(self.events_file(), fault));
        }
        for record in &mut records {
            self.fetch_texts(&mut record.event)?;
        }
        Ok((log, records))
    }

    /// The event as it is written: long texts in files of their own, which are written first.
    pub(crate) fn store_texts(&self, event: &Event) -> Result<Option<Event>, AgentError> {
        let long = |text: &Text| text.as_str().len() > INLINE_BYTES;
        let mut stored = event.clone();
        let mut changed = false;
        for text in stored.texts() {
            if !long(text) {
                continue;
            }
            let bytes = text.as_str().as_bytes();
            let sha256 = Digest::of(bytes);
            let name = format!("{}.txt", &sha256.to_string()[7..39]);
            let file = format!("observations/{name}");
            if !metier_fs::exists(&self.path.join(&file)) {
                self.write(&file, bytes)?;
            }
            *text = Text::Stored { file, sha256, bytes: bytes.len() as u64 };
            changed = true;
        }
        Ok(changed.then_some(stored))
    }

    /// Puts long texts back in place. A file that is not what its digest says is an error.
    pub(crate) fn fetch_texts(&self, event: &mut Event) -> Result<(), AgentError> {
        for text in event.texts() {
            let Text::Stored { file, sha256, .. } = text else { continue };
            // The name is ours; a record that was tampered with must not name other files.
            let name = file.strip_prefix("observations/").unwrap_or_default();
            let plain = name.strip_suffix(".txt").unwrap_or_default();
            if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(AgentError::Text(self.path.join("observations")));
            }
            let path = self.path.join(&*file);
            let bytes = read_bounded(&path, MAX_FILE_BYTES)
                .map_err(|error| self.unreadable(file, &error))?;
            let whole =
                String::from_utf8(bytes).ok().filter(|t| Digest::of(t.as_bytes()) == *sha256);
            *text = Text::Inline(whole.ok_or(AgentError::Text(path))?.into());
        }
        Ok(())
    }

    /// The digest of one of the run's files.
    pub(crate) fn digest_of(&self, name: &str) -> Option<Digest> {
        read_bounded(&self.path.join(name), MAX_FILE_BYTES).ok().map(|bytes| Digest::of(&bytes))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), AgentError> {
        write_private(&self.path.join(name), bytes).map_err(|error| self.unwritten(&error))
    }

    fn read_json<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Result<T, AgentError> {
        let bytes = read_bounded(&self.path.join(name), MAX_FILE_BYTES)
            .map_err(|error| self.unreadable(name, &error))?;
        serde_json::from_slice(&bytes).map_err(|error| self.unreadable(name, &error))
    }

    fn unreadable(&self, name: &str, error: &dyn std::fmt::Display) -> AgentError {
        AgentError::Unreadable(self.path.join(name), error.to_string())
    }

    pub(crate) fn unwritten(&self, error: &dyn std::fmt::Display) -> AgentError {
        AgentError::Unwritten(self.path.clone(), error.to_string())
    }

    fn not_opened(&self, error: &AppendError) -> AgentError {
        match error {
            AppendError::Busy => AgentError::Busy(self.path.clone()),
            other => AgentError::Unreadable(self.events_file(), other.to_string()),
        }
    }
}

/// The runs below a folder, newest first. What cannot be read is left out.
pub fn runs_in(runs: &Path) -> Vec<RunFolder> {
    let mut ids: Vec<RunId> = metier_fs::read_dir_names(runs)
        .unwrap_or_default()
        .iter()
        .filter_map(|name| RunId::new(name).ok())
        .collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids.into_iter()
        .map(|id| RunFolder::new(runs, id))
        .filter(|run| metier_fs::exists(&run.events_file()))
        .collect()
}

fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, AgentError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| AgentError::Unwritten(PathBuf::new(), error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}
