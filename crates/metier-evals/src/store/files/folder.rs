//! The folder of one plan: `plan.json`, `results-NNNN.jsonl` and `attempts-NNNN.jsonl`.
//!
//! Each process that works on the plan appends to a pair of files of its own, which it holds locked for as
//! long as it lives; so a process that was killed is known by its lock, and no clock is asked. Folders are
//! reached without following a link: a project may bring its `.agent` as a link to anywhere.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use metier::fs::{Durability, FileLock, FolderAccess, HeldDir, PiecewiseFile, ReadError};
use metier::skill::Digest;

use crate::error::{EvalError, Result};
use crate::plan::{EvalPlan, EvalUnit, MAX_PLAN_BYTES};
use crate::trial::TrialResult;

/// The manifest's file.
const PLAN: &str = "plan.json";
/// Held while a process looks which units are free and takes some.
const LOCK: &str = "lock";
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest line that is read; a longer one is not believed.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// Which of the files of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanFile {
    /// What was begun.
    Attempts,
    /// What came of it.
    Results,
}

impl PlanFile {
    const fn stem(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::Results => "results",
        }
    }

    /// The name of the file of a process; number 0 is `results.jsonl`, as other programs write it.
    pub(crate) fn name(self, number: u32) -> String {
        match number {
            0 => format!("{}.jsonl", self.stem()),
            _ => format!("{}-{number:04}.jsonl", self.stem()),
        }
    }

    /// Which process a file belongs to.
    fn number(self, name: &str) -> Option<u32> {
        let rest = name.strip_prefix(self.stem())?.strip_suffix(".jsonl")?;
        if rest.is_empty() { Some(0) } else { rest.strip_prefix('-')?.parse().ok() }
    }
}

/// The folder of one plan.
#[derive(Debug, Clone)]
pub(crate) struct PlanFolder {
    pub(crate) dir: HeldDir,
}

impl PlanFolder {
    /// The folder of a plan among others.
    pub(crate) fn of(all: &HeldDir, id: &Digest) -> Self {
        Self { dir: all.below(&short_id(id), FolderAccess::OwnerAlone) }
    }

    /// The folder with this name among others.
    pub(crate) fn named(all: &HeldDir, name: &str) -> Self {
        Self { dir: all.below(name, FolderAccess::OwnerAlone) }
    }

    /// The folder at `path`, or the only one of a plan in it.
    pub(crate) fn find(path: &Path) -> Result<Self> {
        let dir = HeldDir::at(path);
        let here = Self { dir: dir.clone() };
        if here.has_plan() {
            return Ok(here);
        }
        let names = dir.names().map_err(|error| here.error("cannot be listed", &error))?;
        let below = names.iter().map(|name| Self::named(&dir, name));
        let mut plans: Vec<Self> = below.filter(Self::has_plan).collect();
        match (plans.pop(), plans.len()) {
            (Some(only), 0) => Ok(only),
            (None, _) => {
                let message = format!("{} holds no plan", path.display());
                Err(EvalError::usage(message, "name a folder with a `plan.json` and results"))
            }
            (Some(_), more) => {
                let message = format!("{} holds {} plans", path.display(), more + 1);
                Err(EvalError::usage(message, "name the folder of one of them"))
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn has_plan(&self) -> bool {
        self.dir.kind(PLAN).is_some()
    }

    /// The bytes of the manifest.
    pub(super) fn plan_bytes(&self) -> Result<Vec<u8>> {
        let read = self.dir.read(PLAN, MAX_PLAN_BYTES);
        let mut bytes = read.map_err(|error| self.error("the plan cannot be read", &error))?;
        // A line end after it, as many programs write one, is no part of it.
        bytes.truncate(bytes.trim_ascii_end().len());
        Ok(bytes)
    }

    /// The plan, which must be the one that its folder was made for.
    pub(crate) fn read_plan(&self) -> Result<EvalPlan> {
        let bytes = self.plan_bytes()?;
        let plan: EvalPlan = serde_json::from_slice(&bytes)
            .map_err(|error| self.error("the plan cannot be read", &error))?;
        // The manifest is what its id is the digest of.
        if plan.id() != Digest::of(&bytes) {
            let message =
                format!("{}: the plan was changed after it was written", self.path().display());
            return Err(EvalError::store(message, "remove the folder and run the evals again"));
        }
        if let Some(fault) = plan.fault() {
            let message = format!("{}: the plan {fault}", self.path().display());
            return Err(EvalError::plan(message, "make a new plan with this program"));
        }
        Ok(plan)
    }

    /// The plan with this id.
    pub(crate) fn read_plan_of(&self, id: &Digest) -> Result<EvalPlan> {
        let plan = self.read_plan()?;
        if plan.id() == *id { Ok(plan) } else { Err(self.of_another_plan()) }
    }

    fn of_another_plan(&self) -> EvalError {
        let message = format!("{} holds another plan than its name says", self.path().display());
        EvalError::store(message, "remove the folder and run the evals again")
    }

    /// Writes the plan, where it is not there yet.
    pub(crate) fn write_plan(&self, plan: &EvalPlan) -> Result<()> {
        self.dir.make().map_err(|error| self.error("the folder cannot be made", &error))?;
        if self.has_plan() {
            return self.read_plan_of(&plan.id()).map(|_| ());
        }
        let bytes = serde_json::to_vec(plan).map_err(|error| self.error("the plan", &error))?;
        let written = self.dir.write(PLAN, &bytes, Durability::Synced);
        written.map_err(|error| self.error("the plan cannot be written", &error))
    }

    /// The processes that have files of this kind, in order.
    pub(crate) fn numbers(&self, kind: PlanFile) -> Result<Vec<u32>> {
        let names = self.dir.names().map_err(|error| self.error("cannot be listed", &error))?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| kind.number(name)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    /// Waits for the folder's lock.
    pub(super) fn lock(&self) -> Result<FileLock> {
        self.dir.lock(LOCK, LOCK_TIMEOUT).map_err(|error| {
            let what = match error {
                metier::fs::LockError::Io(error) => error.to_string(),
                _ => "another process holds it".to_owned(),
            };
            self.error("its lock cannot be taken", &what)
        })
    }

    /// A file of a process; nothing where there is none.
    pub(crate) fn open(&self, kind: PlanFile, number: u32) -> Result<Option<PiecewiseFile>> {
        let name = kind.name(number);
        match self.dir.open_piecewise(&name) {
            Ok(file) => Ok(Some(file)),
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.error(&format!("{name} cannot be read"), &error)),
        }
    }

    /// Gives each whole line of `file` from `from` on to `each`, with its place; returns where they end.
    pub(crate) fn each_line(
        &self,
        file: &PiecewiseFile,
        from: u64,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<u64> {
        let mut reader = BufReader::with_capacity(256 << 10, file.reader_from(from));
        let (mut at, mut line) = (from, Vec::new());
        loop {
            line.clear();
            let read = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            let read = read.map_err(|error| self.error("a file cannot be read", &error))? as u64;
            // What has no line end was cut off, or is being written.
            let Some(whole) = line.strip_suffix(b"\n") else {
                return Ok(at);
            };
            each(at, whole);
            at += read;
        }
    }

    /// The result that stands at a place.
    pub(crate) fn result_at(
        &self,
        file: &PiecewiseFile,
        at: u64,
        bytes: u32,
    ) -> Result<TrialResult> {
        let line = self.line_at(file, at, bytes)?;
        serde_json::from_slice(&line).map_err(|error| self.error("a result cannot be read", &error))
    }

    /// The line that stands at a place, without its end.
    pub(crate) fn line_at(&self, file: &PiecewiseFile, at: u64, bytes: u32) -> Result<Vec<u8>> {
        let mut line = vec![0; bytes as usize];
        file.read_at(at, &mut line)
            .map_err(|error| self.error("a result cannot be read", &error))?;
        Ok(line)
    }

    pub(crate) fn error(&self, what: &str, error: &dyn std::fmt::Display) -> EvalError {
        let message = format!("{}: {what}: {error}", self.path().display());
        EvalError::store(message, "check the folder, its disk and its permissions")
    }
}

/// The name of a plan's folder: the beginning of its id.
pub(crate) fn short_id(id: &Digest) -> String {
    id.to_string()[7..23].to_owned()
}

/// A unit, for people.
pub(crate) fn unit_name(plan: &EvalPlan, unit: &EvalUnit) -> String {
    let case = plan.cases.get(unit.case).map_or("?", |case| case.id.as_str());
    format!("case `{case}`, arm {}, trial {}", unit.arm.as_str(), unit.trial + 1)
}
