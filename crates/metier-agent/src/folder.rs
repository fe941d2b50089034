//! The folder of a run: `run.json` (the summary), `setup.json` and `index.json` (what it was given),
//! `events.jsonl` (the record) and `observations/` (long texts and whole outputs).
//!
//! Everything is for the owner alone, and is reached through the folder's descriptor without following
//! a link: a project may bring its `.agent` as a link to anywhere. The record is the truth; the summary
//! is made from it and can be made again.

use std::path::{Path, PathBuf};

use metier_fs::{
    AppendError, AppendFile, Durability, EntryKind, FolderAccess, HeldDir, HeldDirError, ReadError,
};
use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::anchor::{Anchors, KnownAnchor};
use crate::error::AgentError;
use crate::event::Event;
use crate::log::{self, LogFault, Record};
use crate::op::Text;
use crate::run_id::RunId;
use crate::setup::Setup;
use crate::skill_cards::SkillCards;
use crate::summary::Summary;

/// The largest record that is read.
pub(crate) const MAX_LOG_BYTES: u64 = 256 << 20;
const MAX_FILE_BYTES: u64 = 64 << 20;
/// A text of more bytes gets a file of its own.
pub(crate) const INLINE_BYTES: usize = 8 * 1024;

/// The name of that file in `observations`.
pub(crate) fn text_name(sha256: &Digest) -> String {
    format!("{}.txt", &sha256.to_string()[7..39])
}

/// The folder of one run.
#[derive(Debug, Clone)]
pub struct RunFolder {
    dir: HeldDir,
    /// Where whole outputs and deleted files are: a loop inside a run has none of its own.
    files: HeldDir,
    id: RunId,
    anchors: Option<Anchors>,
}

/// The files of a run.
const EVENTS: &str = "events.jsonl";
const SUMMARY: &str = "run.json";
const SETUP: &str = "setup.json";
const INDEX: &str = "index.json";

impl RunFolder {
    /// The folder of a run below the folder of all runs. Links that lead to that are followed.
    pub fn new(runs: &Path, id: RunId) -> Self {
        Self::below(&HeldDir::at(runs), id)
    }

    /// The same below a folder that is held.
    pub fn below(runs: &HeldDir, id: RunId) -> Self {
        let dir = runs.below(id.as_str(), FolderAccess::OwnerAlone);
        Self { files: dir.clone(), dir, id, anchors: None }
    }

    /// The same with a place where its record is remembered.
    #[must_use]
    pub fn with_anchors(mut self, anchors: Anchors) -> Self {
        self.anchors = Some(anchors);
        self
    }

    /// Where its record is remembered.
    pub(crate) const fn anchors(&self) -> Option<&Anchors> {
        self.anchors.as_ref()
    }

    /// What is remembered of its record.
    pub(crate) fn anchor(&self) -> KnownAnchor {
        self.anchors.as_ref().map_or(KnownAnchor::Missing, |anchors| anchors.read(&self.id))
    }

    /// The folder of all runs of a workspace.
    pub fn all_in(workspace: &Path) -> HeldDir {
        let agent = HeldDir::at(workspace).below(".agent", FolderAccess::ByUmask);
        agent.below("runs", FolderAccess::ByUmask)
    }

    /// The run.
    pub const fn id(&self) -> &RunId {
        &self.id
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where long texts and whole outputs are.
    pub fn observations(&self) -> HeldDir {
        self.dir.below("observations", FolderAccess::OwnerAlone)
    }

    /// Where the files are that the run deleted.
    pub fn trash(&self) -> HeldDir {
        self.files.below("trash", FolderAccess::OwnerAlone)
    }

    /// The name of the loop inside it that this operation began.
    pub(crate) fn inner_id(&self, op_id: u32) -> Result<RunId, AgentError> {
        let name = format!("{}-sub{op_id}", self.id);
        RunId::new(&name).map_err(|error| self.unwritten(&error))
    }

    /// The folder of a loop inside it.
    pub(crate) fn inner_run(&self, id: RunId) -> Self {
        let inner = self.dir.below("inner", FolderAccess::OwnerAlone);
        let (files, anchors) = (self.files.clone(), self.anchors.clone());
        Self { files, anchors, ..Self::below(&inner, id) }
    }

    /// The loops inside it, in the order in which they began.
    pub fn inner_runs(&self) -> Result<Vec<Self>, AgentError> {
        let inner = runs_in(&self.dir.below("inner", FolderAccess::OwnerAlone))?;
        let mut inner: Vec<Self> =
            inner.into_iter().map(|run| self.inner_run(run.id().clone())).collect();
        let begun = |run: &Self| {
            let number = run.id().as_str().rsplit_once("-sub").map(|(_, number)| number);
            number.and_then(|number| number.parse::<u32>().ok())
        };
        inner.sort_by_key(begun);
        Ok(inner)
    }

    /// The run's record.
    pub fn events_file(&self) -> PathBuf {
        self.path().join(EVENTS)
    }

    /// Whether it has a record.
    pub(crate) fn has_record(&self) -> bool {
        self.dir.kind(EVENTS).is_some()
    }

    /// Whether a process writes to its record.
    pub fn is_running(&self) -> bool {
        self.dir.is_busy(EVENTS)
    }

    /// Makes the folder and writes down what the run is given. A folder without a record is from a
    /// process that ended before its first event.
    pub(crate) fn create(&self, setup: &Setup) -> Result<(AppendFile, [Digest; 2]), AgentError> {
        self.dir.make().map_err(|error| self.not_reached(&error))?;
        if self.has_record() {
            return Err(AgentError::Exists(self.path().to_owned()));
        }
        let given = self.write_given(setup)?;
        let log = self.dir.create_append(EVENTS).map_err(|error| self.not_opened(&error))?;
        Ok((log, given))
    }

    /// Writes down what the run is given; the digests of setup and index.
    pub(crate) fn write_given(&self, setup: &Setup) -> Result<[Digest; 2], AgentError> {
        let texts = [to_json(setup)?, to_json(&setup.skills)?];
        for (name, bytes) in [SETUP, INDEX].iter().zip(&texts) {
            self.write(name, bytes)?;
        }
        Ok(texts.map(|bytes| Digest::of(&bytes)))
    }

    /// What the run was given.
    pub fn setup(&self) -> Result<Setup, AgentError> {
        let mut setup: Setup = self.read_json(SETUP)?;
        setup.skills = self.read_json::<SkillCards>(INDEX)?;
        Ok(setup)
    }

    /// Its summary.
    pub fn summary(&self) -> Result<Summary, AgentError> {
        self.read_json(SUMMARY)
    }

    /// Its summary as it was written; nothing where there is none.
    pub(crate) fn summary_bytes(&self) -> Result<Option<Vec<u8>>, ReadError> {
        match self.dir.read(SUMMARY, MAX_FILE_BYTES) {
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    pub(crate) fn write_summary(&self, summary: &Summary) -> Result<(), AgentError> {
        self.write(SUMMARY, &to_json(summary)?)
    }

    /// Its events, with long texts in place, and the first fault of its record.
    pub fn events(&self) -> Result<(Vec<Record>, Option<LogFault>), AgentError> {
        let (mut records, fault) = self.chain()?;
        for record in &mut records {
            self.fetch_texts(&mut record.event)?;
        }
        Ok((records, fault))
    }

    /// The same of a record that may be damaged: texts that cannot be read are empty.
    pub fn readable_events(&self) -> Result<(Vec<Record>, Option<LogFault>), AgentError> {
        let (mut records, fault) = self.chain()?;
        for record in &mut records {
            let _ = self.fetch_texts(&mut record.event);
        }
        Ok((records, fault))
    }

    /// Its events as they are written, long texts by reference, and the first fault of its record.
    pub(crate) fn chain(&self) -> Result<(Vec<Record>, Option<LogFault>), AgentError> {
        self.check_reached()?;
        let bytes = self.dir.read(EVENTS, MAX_LOG_BYTES);
        let bytes = bytes.map_err(|error| self.unreadable(EVENTS, &error))?;
        Ok(log::read(self.id.as_str(), &bytes))
    }

    /// Opens the record to continue it.
    pub(crate) fn reopen(&self) -> Result<(AppendFile, Vec<Record>), AgentError> {
        self.check_reached()?;
        let (log, bytes, _) =
            self.dir.open_append(EVENTS, MAX_LOG_BYTES).map_err(|error| self.not_opened(&error))?;
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
            let name = text_name(&sha256);
            let file = format!("observations/{name}");
            let texts = self.observations();
            if texts.kind(&name) != Some(EntryKind::File) {
                let written = texts.write(&name, bytes, Durability::Synced);
                written.map_err(|error| self.unwritten(&error))?;
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
                return Err(AgentError::Text(self.path().join("observations")));
            }
            let path = self.path().join(&*file);
            let bytes = self.dir.read(file, MAX_FILE_BYTES);
            let bytes = bytes.map_err(|error| self.unreadable(file, &error))?;
            let whole =
                String::from_utf8(bytes).ok().filter(|t| Digest::of(t.as_bytes()) == *sha256);
            *text = Text::Inline(whole.ok_or(AgentError::Text(path))?.into());
        }
        Ok(())
    }

    /// The digest of one of the run's files.
    pub(crate) fn digest_of(&self, name: &str) -> Option<Digest> {
        self.dir.digest(name).ok().map(|(digest, _)| digest)
    }

    /// Whether it is that of a loop inside a run.
    pub(crate) fn is_inner(&self) -> bool {
        self.files.path() != self.dir.path()
    }

    /// Where whole outputs and deleted files are.
    pub(crate) const fn files(&self) -> &HeldDir {
        &self.files
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), AgentError> {
        let written = self.dir.write(name, bytes, Durability::Synced);
        written.map_err(|error| self.unwritten(&error))
    }

    fn read_json<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Result<T, AgentError> {
        self.check_reached()?;
        let bytes = self.dir.read(name, MAX_FILE_BYTES);
        let bytes = bytes.map_err(|error| self.unreadable(name, &error))?;
        serde_json::from_slice(&bytes).map_err(|error| self.unreadable(name, &error))
    }

    fn unreadable(&self, name: &str, error: &dyn std::fmt::Display) -> AgentError {
        AgentError::Unreadable(self.path().join(name), error.to_string())
    }

    pub(crate) fn unwritten(&self, error: &dyn std::fmt::Display) -> AgentError {
        AgentError::Unwritten(self.path().to_owned(), error.to_string())
    }

    fn not_opened(&self, error: &AppendError) -> AgentError {
        match error {
            AppendError::Busy => AgentError::Busy(self.path().to_owned()),
            other => AgentError::Unreadable(self.events_file(), other.to_string()),
        }
    }

    /// A link in the place of one of its folders is reported as such, before what it leads to is looked at.
    fn check_reached(&self) -> Result<(), AgentError> {
        self.dir.is_there().map(|_| ()).map_err(|error| self.not_reached(&error))
    }

    fn not_reached(&self, error: &HeldDirError) -> AgentError {
        match error {
            HeldDirError::Link(path) => AgentError::Link(path.clone()),
            HeldDirError::NotADirectory(path) => AgentError::NotAFolder(path.clone()),
            other => self.unwritten(other),
        }
    }
}

/// Keeps the runs of a project out of its repository, by accident at least: they are private to the
/// user. What stands there already is left alone.
pub fn keep_out_of_git(runs: &HeldDir) {
    const IGNORED: &str = ".gitignore";
    if runs.is_there().is_ok() && runs.kind(IGNORED).is_none() {
        let _ = runs.write(IGNORED, b"*\n", Durability::Synced);
    }
}

/// The runs below a folder, newest first. A link in the place of the folder is an error.
pub fn runs_in(runs: &HeldDir) -> Result<Vec<RunFolder>, AgentError> {
    let is_there = runs.is_there().map_err(|error| match error {
        HeldDirError::Link(path) => AgentError::Link(path),
        HeldDirError::NotADirectory(path) => AgentError::NotAFolder(path),
        other => AgentError::Unreadable(runs.path().to_owned(), other.to_string()),
    })?;
    if !is_there {
        return Ok(Vec::new());
    }
    let names = runs.names();
    let names =
        names.map_err(|error| AgentError::Unreadable(runs.path().to_owned(), error.to_string()))?;
    let mut ids: Vec<RunId> = names.iter().filter_map(|name| RunId::new(name).ok()).collect();
    // One that is a link is among them: asking for it says why it cannot be read.
    ids.retain(|id| {
        runs.kind(id.as_str()) == Some(EntryKind::Link)
            || runs.kind(&format!("{id}/{EVENTS}")).is_some()
    });
    ids.sort_unstable_by(|a, b| b.cmp(a));
    Ok(ids.into_iter().map(|id| RunFolder::below(runs, id)).collect())
}

fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, AgentError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| AgentError::Unwritten(PathBuf::new(), error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}
