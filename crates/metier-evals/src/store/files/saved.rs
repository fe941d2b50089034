//! The plans whose results are in a folder: for `compare`, `report`, and for results that can be reused.
//! It only reads.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use metier::Metier;
use metier::fs::{AppendError, HeldDir};
use metier::skill::Digest;
use serde::Deserialize;

use super::folder::{PlanFile, PlanFolder};
use super::{FileStore, OpenPlan};
use crate::error::Result;
use crate::plan::{EvalPlan, SubjectInfo};
use crate::shard::Shard;

/// A plan whose results are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPlan {
    /// Its id.
    pub id: Digest,
    /// Its folder.
    pub folder: PathBuf,
    /// What was tested.
    pub subject: SubjectInfo,
    /// When a result was last written; nothing where none was.
    pub modified: Option<SystemTime>,
}

/// What decides whether two plans can share results, without the cases.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct PlanHead {
    format: u32,
    harness: String,
    subject: SubjectInfo,
    #[serde(default)]
    judge: Option<String>,
    index_hash: Digest,
}

/// Whether results of the plan in a folder can be results of this one.
pub(super) fn shares_basis(folder: &PlanFolder, plan: &EvalPlan) -> bool {
    let Some(head) = head_of(folder) else { return false };
    head.format == plan.format
        && head.harness == plan.harness
        && head.subject == plan.subject
        && head.judge == plan.judge
        && head.index_hash == plan.index_hash
}

fn head_of(folder: &PlanFolder) -> Option<PlanHead> {
    serde_json::from_slice(&folder.plan_bytes().ok()?).ok()
}

impl FileStore {
    /// The plans that have a folder here, the one that was run last first. Those that were never run here, such as
    /// copies, come after the others, in the order in which they were written.
    pub fn saved_plans(&self) -> Result<Vec<SavedPlan>> {
        if !self.all.is_there().is_ok_and(|there| there) {
            return Ok(Vec::new());
        }
        let names = self.all.names().unwrap_or_default();
        let mut saved = Vec::new();
        for folder in names.iter().map(|name| PlanFolder::named(&self.all, name)) {
            let Some(bytes) = folder.has_plan().then(|| folder.plan_bytes().ok()).flatten() else {
                continue;
            };
            let Ok(head) = serde_json::from_slice::<PlanHead>(&bytes) else { continue };
            let written = folder.numbers(PlanFile::Results)?.into_iter().filter_map(|number| {
                let path = folder.path().join(PlanFile::Results.name(number));
                metier::fs::modified(&path).ok()
            });
            let modified = written.max();
            let (id, path) = (Digest::of(&bytes), folder.path().to_owned());
            saved.push(SavedPlan { id, folder: path, subject: head.subject, modified });
        }
        let order = run_order(&self.all);
        let place = |plan: &SavedPlan| order.get(&plan.id).copied();
        saved.sort_by_key(|plan| (Reverse((place(plan), plan.modified)), plan.id));
        Ok(saved)
    }

    /// The plan in any folder, or the only one in a folder below, with a store that has its results: what `merge`
    /// wrote, or a `results.jsonl` that another program put beside a `plan.json`. No unit is taken from it. Who names a
    /// folder believes what is in it; in the results of the project only those of this user count, by whichever name.
    ///
    /// # Errors
    /// Where there is no such plan, or the user's state cannot be written.
    pub fn of_plan_in(metier: &Metier, folder: &Path) -> Result<(Self, EvalPlan)> {
        let project = Self::in_project(metier)?;
        let real = |path: &Path| metier::fs::canonical(path).unwrap_or_else(|_| path.to_owned());
        let found = PlanFolder::find(folder)?;
        let own = real(project.all.path());
        let is_own = [folder, found.path()].iter().any(|it| real(it).starts_with(&own));
        let store = if is_own { project } else { Self::at(folder) };
        let plan = found.read_plan()?;
        let open = OpenPlan::read(found, &plan, Shard::WHOLE, store.seal())?;
        store.lock().insert(plan.id(), open);
        Ok((store, plan))
    }
}

/// The runs in the order in which they were made, one a line: the times of files are lost when a folder is copied,
/// and a run that finds everything done writes to none.
const RUNS: &str = "runs.jsonl";
/// The most of it that is read: more than half a million runs.
const MAX_RUNS_BYTES: u64 = 64 << 20;

#[derive(serde::Serialize, Deserialize)]
struct RunLine {
    plan: Digest,
}

/// Adds a run of a plan.
pub(super) fn note_run(all: &HeldDir, plan: &Digest) -> io::Result<()> {
    let mut line = serde_json::to_vec(&RunLine { plan: *plan }).map_err(io::Error::from)?;
    line.push(b'\n');
    if all.kind(RUNS).is_none() {
        match all.create_append(RUNS) {
            // Another process has just made it.
            Err(AppendError::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(AppendError::Io(error)) => return Err(error),
            Err(_) | Ok(_) => {}
        }
    }
    all.append_line(RUNS, &line)
}

/// The place of each plan's last run.
fn run_order(all: &HeldDir) -> HashMap<Digest, usize> {
    let bytes = all.read(RUNS, MAX_RUNS_BYTES).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let runs = lines
        .filter_map(|(at, line)| Some((serde_json::from_slice::<RunLine>(line).ok()?.plan, at)));
    runs.collect()
}
