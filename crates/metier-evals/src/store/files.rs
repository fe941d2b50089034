//! The store on one machine: append-only files in `.agent/evals/results/`, one folder a plan.
//!
//! Several processes may work on a plan at once, each with files of its own (`files/folder`, `journal`); what
//! they know of each other they read from there (`units`). A result of another plan whose fingerprint is
//! the same is taken over when a plan is opened: that is the cache.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metier::Metier;
use metier::fs::{Durability, FolderAccess, HeldDir, PiecewiseFile};
use metier::skill::Digest;

mod folder;
mod journal;
mod saved;
mod seal;
mod units;

use self::journal::Journal;
use self::units::{AttemptLine, ErrorRank, Free};
use crate::error::{EvalError, Result};
use crate::plan::EvalPlan;
use crate::shard::Shard;
use crate::store::{EvalStore, Lease, StoreProgress, Stored, check_fits, check_plan, lost};
use crate::trial::{TrialErrorKind, TrialResult};

pub(crate) use self::folder::{PlanFile, PlanFolder, unit_name};
pub(crate) use self::journal::ResultLog;
pub(crate) use self::seal::{ResultSeal, unsealed};
pub(crate) use self::units::{ResultAt, Units};
pub use saved::SavedPlan;

/// The store on one machine.
#[derive(Debug)]
pub struct FileStore {
    all: HeldDir,
    part: Shard,
    /// Whose results are believed; nothing: anybody's.
    seal: Option<Arc<ResultSeal>>,
    plans: Mutex<BTreeMap<Digest, OpenPlan>>,
}

/// A plan that was opened or read.
struct OpenPlan {
    folder: PlanFolder,
    units: Units,
    /// The ids of its cases, for the results of units that are lost.
    cases: Vec<String>,
    /// In which order it was made known; nothing where it was only read.
    opened: Option<usize>,
    journal: Option<Journal>,
    next_token: i64,
    seal: Option<Arc<ResultSeal>>,
}

impl std::fmt::Debug for OpenPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenPlan").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl FileStore {
    /// The store of a project: `.agent/evals/results`, of which only the results of this user count. What a clone
    /// brings there, or another user wrote, is left out and named.
    ///
    /// # Errors
    /// Where the user's state cannot be written.
    pub fn in_project(metier: &Metier) -> Result<Self> {
        let mut store = Self::in_workspace(&metier.workspace());
        if let Some(user) = metier.user_folders() {
            store.seal = Some(Arc::new(ResultSeal::of_user(&user.state)?));
        }
        Ok(store)
    }

    /// The same folder of a workspace, with everybody's results.
    pub fn in_workspace(workspace: &Path) -> Self {
        let agent = HeldDir::at(workspace).below(".agent", FolderAccess::ByUmask);
        let evals = agent.below("evals", FolderAccess::ByUmask);
        Self::of(evals.below("results", FolderAccess::ByUmask))
    }

    /// A store in any folder.
    pub fn at(folder: &Path) -> Self {
        Self::of(HeldDir::at(folder))
    }

    fn of(all: HeldDir) -> Self {
        Self { all, part: Shard::WHOLE, seal: None, plans: Mutex::default() }
    }

    /// The same, from which only the units of a part are taken.
    #[must_use]
    pub fn with_part(mut self, part: Shard) -> Self {
        self.part = part;
        self
    }

    /// The folder of a plan.
    pub fn folder(&self, plan: &Digest) -> PathBuf {
        self.plan_folder(plan).path().to_owned()
    }

    pub(crate) fn seal(&self) -> Option<Arc<ResultSeal>> {
        self.seal.clone()
    }

    pub(crate) fn plan_folder(&self, plan: &Digest) -> PlanFolder {
        PlanFolder::of(&self.all, plan)
    }

    /// Notes that a run of this plan begins, or that its results were put together: it is the last one now.
    pub(crate) fn note_run(&self, plan: &Digest) -> Result<()> {
        saved::note_run(&self.all, plan).map_err(|error| {
            let message = format!("{}: a run cannot be noted: {error}", self.all.path().display());
            EvalError::store(message, "check the folder, its disk and its permissions")
        })
    }

    /// Keeps results out of a project's repository, by accident at least: they hold what models and programs
    /// printed. What stands there already is left alone.
    pub(crate) fn keep_out_of_git(&self) {
        if self.seal.is_some() && self.all.kind(".gitignore").is_none() {
            let _ = self.all.write(".gitignore", b"*\n", Durability::Buffered);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Digest, OpenPlan>> {
        // What is on record is on disk; a panic leaves nothing half done here.
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A plan that is known already, or is read from its folder.
    fn known<'a>(
        &self,
        plans: &'a mut BTreeMap<Digest, OpenPlan>,
        plan: &Digest,
    ) -> Result<&'a mut OpenPlan> {
        match plans.entry(*plan) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let folder = PlanFolder::of(&self.all, plan);
                let plan = folder.read_plan_of(plan)?;
                Ok(new.insert(OpenPlan::read(folder, &plan, self.part, self.seal())?))
            }
        }
    }
}

impl OpenPlan {
    fn read(
        folder: PlanFolder,
        plan: &EvalPlan,
        part: Shard,
        seal: Option<Arc<ResultSeal>>,
    ) -> Result<Self> {
        let mut units = Units::of(plan, part, seal.clone());
        units.refresh(&folder, None)?;
        let cases = plan.cases.iter().map(|case| case.id.clone()).collect();
        Ok(Self { folder, units, cases, opened: None, journal: None, next_token: 1, seal })
    }

    /// Sees what other processes did, and takes back what those held that are gone. The folder is locked.
    fn catch_up(&mut self) -> Result<()> {
        let own = self.journal.as_ref().map(|journal| journal.number);
        self.units.refresh(&self.folder, own)?;
        for number in self.units.holders() {
            let is_alive =
                Some(number) == own || self.folder.dir.is_busy(&PlanFile::Attempts.name(number));
            if !is_alive {
                self.units.free_all_of(number);
            }
        }
        Ok(())
    }

    /// The files of this process. The folder is locked, and everything was read.
    fn journal(&mut self) -> Result<&mut Journal> {
        if self.journal.is_none() {
            let journal = Journal::open(&self.folder, &mut self.units.notes)?;
            // What the process before this one had begun.
            self.units.free_all_of(journal.number);
            self.journal = Some(journal);
        }
        let missing = || EvalError::store("there is no file to write to", "report this as a fault");
        self.journal.as_mut().ok_or_else(missing)
    }

    /// Puts a line on record as the result of a unit.
    fn keep(&mut self, place: usize, line: Vec<u8>, error: Option<ErrorRank>) -> Result<()> {
        let line = match &self.seal {
            Some(seal) => seal.seal(line),
            None => line,
        };
        let too_long = || EvalError::store("a result is too large to be kept", "bound its output");
        let bytes = u32::try_from(line.len()).map_err(|_| too_long())?;
        let folder = self.folder.clone();
        let journal = self.journal()?;
        let (file, offset) = (journal.number, journal.keep(&folder, line)?);
        let state = &mut self.units.states[place];
        state.result = Some(ResultAt { file, offset, bytes, error });
        (state.holder, state.retried) = (None, false);
        Ok(())
    }

    /// Keeps the result of a unit where it is the one that stays, and ends the attempt: other processes must see
    /// that it is over, also where no line of a result says so.
    fn end(&mut self, place: usize, result: &TrialResult, line: Vec<u8>) -> Result<Stored> {
        let error = ErrorRank::of(result, &line);
        let is_ours = self.journal.as_ref().map(|journal| journal.number);
        let is_ours = is_ours.is_some() && self.units.states[place].holder == is_ours;
        let state = &self.units.states[place];
        let is_newer = state.retried && error.is_some_and(|it| it.kind != TrialErrorKind::Lost);
        let stored = if state.wants(error) || is_newer {
            self.keep(place, line, error)?;
            Stored::New
        } else {
            Stored::AlreadyThere
        };
        if is_ours {
            let folder = self.folder.clone();
            self.journal()?.begin(&folder, &[AttemptLine::Ended { unit: place }])?;
        }
        let state = &mut self.units.states[place];
        (state.holder, state.retried) = (None, false);
        Ok(stored)
    }

    /// Takes over results of other plans with the same fingerprints. The folder is locked.
    fn take_over(&mut self, all: &HeldDir, plan: &EvalPlan) -> Result<()> {
        for name in all.names().unwrap_or_default() {
            let other = PlanFolder::named(all, &name);
            if other.path() == self.folder.path() || !saved::shares_basis(&other, plan) {
                continue;
            }
            let numbers = other.numbers(PlanFile::Results)?;
            for file in
                numbers.into_iter().filter_map(|it| other.open(PlanFile::Results, it).ok()?)
            {
                let mut found = Vec::new();
                other.each_line(&file, 0, &mut |_, line| {
                    if self.seal.as_ref().is_some_and(|seal| !seal.is_own(line)) {
                        return;
                    }
                    let result = serde_json::from_slice::<TrialResult>(line).ok();
                    let result = result.filter(|it| it.error_kind().is_none());
                    let place = result.and_then(|it| self.units.place(&it.fingerprint));
                    if let Some(place) = place.filter(|it| !self.units.states[*it].is_done()) {
                        found.push((place, unsealed(line)));
                    }
                })?;
                for (place, line) in found {
                    if !self.units.states[place].is_done() {
                        self.keep(place, line, None)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, plan: &Digest, worker: &str, most: usize) -> Result<Vec<Lease>> {
        let (mut leases, mut lines) = (Vec::new(), Vec::new());
        while leases.len() < most {
            let place = match self.units.next_free() {
                None => break,
                Some(Free::Spent(place)) => {
                    self.give_up(place)?;
                    continue;
                }
                Some(Free::Open(place)) => place,
            };
            let number = self.journal()?.number;
            let token = self.next_token;
            self.next_token += 1;
            let state = &mut self.units.states[place];
            state.attempts += 1;
            (state.holder, state.token) = (Some(number), token);
            let (unit, attempt) = (self.units.units[place], state.attempts);
            leases.push(Lease { plan: *plan, unit, attempt, token });
            lines.push(AttemptLine::Begun { unit: place, attempt, worker: worker.to_owned() });
        }
        if lines.is_empty() {
            return Ok(leases);
        }
        let folder = self.folder.clone();
        let begun = self.journal()?.begin(&folder, &lines);
        if begun.is_err() {
            for lease in &leases {
                let place = usize::try_from(lease.unit.index).unwrap_or(usize::MAX);
                self.units.states[place].attempts -= 1;
                self.units.give_back(place);
            }
        }
        begun.map(|()| leases)
    }

    /// Records that the attempts of a unit are spent.
    fn give_up(&mut self, place: usize) -> Result<()> {
        let (unit, attempts) = (self.units.units[place], self.units.states[place].attempts);
        let result = lost(&self.cases[unit.case], &unit, attempts);
        // It is in no hands: until it has ended, it is in this process's.
        self.units.states[place].holder = Some(self.journal()?.number);
        let line = line_of(&result)?;
        self.end(place, &result, line).map(|_| ())
    }

    /// The place of a lease, if it is still the one that counts.
    fn held(&self, lease: &Lease) -> Option<usize> {
        let own = self.journal.as_ref().map(|journal| journal.number);
        let place = self.units.place(&lease.unit.fingerprint)?;
        let state = &self.units.states[place];
        (own.is_some() && state.holder == own && state.token == lease.token).then_some(place)
    }
}

/// The line of a result, without its end.
fn line_of(result: &TrialResult) -> Result<Vec<u8>> {
    let fault = |error| EvalError::store(format!("a result: {error}"), "report this as a fault");
    serde_json::to_vec(result).map_err(fault)
}

impl EvalStore for FileStore {
    fn open_plan(&self, plan: &EvalPlan) -> Result<()> {
        check_plan(plan)?;
        let id = plan.id();
        let folder = PlanFolder::of(&self.all, &id);
        folder.write_plan(plan)?;
        self.keep_out_of_git();
        let mut plans = self.lock();
        let order = plans.values().filter_map(|it| it.opened).max().map_or(0, |last| last + 1);
        let _locked = folder.lock()?;
        let mut open = match plans.remove(&id) {
            Some(known) => known,
            None => OpenPlan::read(folder, plan, self.part, self.seal())?,
        };
        open.opened = open.opened.or(Some(order));
        open.catch_up()?;
        open.take_over(&self.all, plan)?;
        plans.insert(id, open);
        self.note_run(&id)
    }

    fn plan(&self, id: &Digest) -> Result<EvalPlan> {
        PlanFolder::of(&self.all, id).read_plan_of(id)
    }

    fn open_plans(&self) -> Result<Vec<Digest>> {
        let plans = self.lock();
        let is_open = |it: &&OpenPlan| {
            let progress = it.units.progress();
            progress.done < progress.units
        };
        let open = plans.iter().filter_map(|(id, it)| Some((it.opened?, *id, it)));
        let mut open: Vec<(usize, Digest)> =
            open.filter(|(_, _, it)| is_open(it)).map(|(order, id, _)| (order, id)).collect();
        open.sort_unstable();
        Ok(open.into_iter().map(|(_, id)| id).collect())
    }

    fn lease(&self, plan: &Digest, worker: &str, most: usize) -> Result<Vec<Lease>> {
        let mut plans = self.lock();
        let open = self.known(&mut plans, plan)?;
        let _locked = open.folder.lock()?;
        open.catch_up()?;
        open.take(plan, worker, most)
    }

    fn heartbeat(&self, leases: &[Lease]) -> Result<Vec<Lease>> {
        let plans = self.lock();
        let is_lost = |it: &&Lease| plans.get(&it.plan).is_none_or(|open| open.held(it).is_none());
        Ok(leases.iter().filter(is_lost).cloned().collect())
    }

    fn complete(&self, lease: &Lease, result: &TrialResult) -> Result<Stored> {
        check_fits(lease, result)?;
        // Before the others have to wait.
        let line = line_of(result)?;
        let mut plans = self.lock();
        let open = self.known(&mut plans, &lease.plan)?;
        let unknown =
            || EvalError::store("the result belongs to no unit", "report this as a fault");
        let place = open.units.place(&result.fingerprint).ok_or_else(unknown)?;
        open.end(place, result, line)
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        let mut plans = self.lock();
        let open = self.known(&mut plans, &lease.plan)?;
        let Some(place) = open.held(lease) else { return Ok(()) };
        let folder = open.folder.clone();
        open.journal()?.begin(&folder, &[AttemptLine::Released { unit: place }])?;
        open.units.states[place].attempts -= 1;
        open.units.give_back(place);
        Ok(())
    }

    fn results(
        &self,
        plan: &EvalPlan,
        each: &mut dyn FnMut(TrialResult) -> Result<()>,
    ) -> Result<()> {
        let (folder, places) = {
            let mut plans = self.lock();
            let open = self.known(&mut plans, &plan.id())?;
            let own = open.journal.as_ref().map(|journal| journal.number);
            open.units.refresh(&open.folder, own)?;
            (open.folder.clone(), open.units.results().map(|(_, at)| at).collect::<Vec<_>>())
        };
        let mut files: BTreeMap<u32, PiecewiseFile> = BTreeMap::new();
        for at in places {
            let file = match files.entry(at.file) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let opened = folder.open(PlanFile::Results, at.file)?;
                    let gone = || folder.error("a result cannot be read", &"its file is gone");
                    new.insert(opened.ok_or_else(gone)?)
                }
            };
            each(folder.result_at(file, at.offset, at.bytes)?)?;
        }
        Ok(())
    }

    fn retry_errors(&self, plan: &Digest) -> Result<u64> {
        let mut plans = self.lock();
        Ok(self.known(&mut plans, plan)?.units.retry_errors())
    }

    fn progress(&self, plan: &Digest) -> Result<StoreProgress> {
        let mut plans = self.lock();
        let open = self.known(&mut plans, plan)?;
        let _locked = open.folder.lock()?;
        open.catch_up()?;
        Ok(open.units.progress())
    }

    /// The system gives back what a process held the moment that it ends.
    fn lease_time(&self) -> Option<Duration> {
        None
    }

    fn notes(&self) -> Vec<String> {
        self.lock().values().flat_map(|open| open.units.notes.iter().cloned()).collect()
    }
}
