//! What is known of the units of a plan: results and where they stand, attempts, and whose hands a unit is in.
//!
//! A fold over the lines of all processes' files; it reads them as they grow, and never writes. The results
//! themselves stay on disk: a few bytes a unit are all that is held.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use metier::skill::Digest;
use serde::{Deserialize, Serialize};

use super::folder::{PlanFile, PlanFolder};
use super::seal::{ResultSeal, unsealed};
use crate::error::Result;
use crate::plan::{EvalPlan, EvalUnit};
use crate::shard::Shard;
use crate::store::{MAX_ATTEMPTS, StoreProgress};
use crate::trial::{TrialErrorKind, TrialResult};

/// One line of `attempts-NNNN.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum AttemptLine {
    /// A process has taken the files over; what the one before it had begun is in no hands now.
    Opened,
    /// A unit is being worked on.
    Begun { unit: usize, attempt: u32, worker: String },
    /// It was given back; the attempt does not count.
    Released { unit: usize },
    /// It came to its end. Its result is on record, or another one that stays.
    Ended { unit: usize },
}

/// Which of two errors of a unit stays, wherever and in whatever order they are met: the smaller one. An error
/// that says what happened comes before one that says that nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ErrorRank {
    pub(crate) kind: TrialErrorKind,
    /// The beginning of the digest of its line.
    line: u64,
}

impl ErrorRank {
    /// The rank of a result's line; nothing where it is no error.
    pub(crate) fn of(result: &TrialResult, line: &[u8]) -> Option<Self> {
        let kind = result.error_kind()?;
        let mut first = [0; 8];
        first.copy_from_slice(&Digest::of(line).as_bytes()[..8]);
        Some(Self { kind, line: u64::from_be_bytes(first) })
    }
}

/// Where a result stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultAt {
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) error: Option<ErrorRank>,
}

impl ResultAt {
    /// Whether it gives way to another result of its unit, for which this is the rank.
    pub(crate) fn gives_way_to(&self, error: Option<ErrorRank>) -> bool {
        self.error.is_some_and(|own| error.is_none_or(|other| other < own))
    }
}

/// What is known of one unit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnitState {
    pub(super) result: Option<ResultAt>,
    pub(super) attempts: u32,
    /// Which process has it.
    pub(super) holder: Option<u32>,
    /// Which lease of this process it is.
    pub(super) token: i64,
    /// An error that may be replaced.
    pub(super) retried: bool,
}

impl UnitState {
    pub(super) const fn is_done(&self) -> bool {
        self.result.is_some() && !self.retried
    }

    const fn is_free(&self) -> bool {
        !self.is_done() && self.holder.is_none()
    }

    /// Whether a result belongs in its place: none is there, or one that gives way to it.
    pub(super) fn wants(&self, error: Option<ErrorRank>) -> bool {
        self.result.is_none_or(|there| there.gives_way_to(error))
    }
}

impl UnitState {
    /// Whether an error is what came of trying again after the one that is there. Within a file, the later one is;
    /// between files no clock is asked. That nothing is known says less than either.
    pub(super) fn is_newer_error(
        &self,
        error: Option<ErrorRank>,
        (file, offset): (u32, u64),
    ) -> bool {
        let Some(there) = self.result else { return false };
        there.error.is_some()
            && error.is_some_and(|error| error.kind != TrialErrorKind::Lost)
            && there.file == file
            && offset > there.offset
    }
}

/// A unit that can be taken.
pub(super) enum Free {
    /// To be worked on.
    Open(usize),
    /// Its attempts are spent.
    Spent(usize),
}

/// What is known of the units of a plan.
pub(crate) struct Units {
    pub(crate) units: Vec<EvalUnit>,
    /// Whether each belongs to the part that is worked on here.
    in_part: Vec<bool>,
    pub(super) states: Vec<UnitState>,
    by_fingerprint: HashMap<Digest, usize>,
    /// No unit before it is free.
    free_from: usize,
    /// The processes that may have units in their hands.
    holders: BTreeSet<u32>,
    /// How far each file was read.
    read_to: BTreeMap<(bool, u32), u64>,
    /// What was found and not believed.
    pub(crate) notes: Vec<String>,
    /// Whose results are believed; nothing: anybody's.
    seal: Option<Arc<ResultSeal>>,
}

impl Units {
    pub(crate) fn of(plan: &EvalPlan, part: Shard, seal: Option<Arc<ResultSeal>>) -> Self {
        let units: Vec<EvalUnit> = plan.units().collect();
        let of_case: Vec<bool> = plan.cases.iter().map(|case| part.holds(&case.id)).collect();
        Self {
            in_part: units.iter().map(|unit| of_case[unit.case]).collect(),
            states: vec![UnitState::default(); units.len()],
            by_fingerprint: units.iter().enumerate().map(|(at, it)| (it.fingerprint, at)).collect(),
            units,
            free_from: 0,
            holders: BTreeSet::new(),
            read_to: BTreeMap::new(),
            notes: Vec::new(),
            seal,
        }
    }

    /// The place of the unit with this fingerprint.
    pub(super) fn place(&self, fingerprint: &Digest) -> Option<usize> {
        self.by_fingerprint.get(fingerprint).copied()
    }

    /// Reads what processes other than `own` have written since the last time.
    pub(crate) fn refresh(&mut self, folder: &PlanFolder, own: Option<u32>) -> Result<()> {
        for number in folder.numbers(PlanFile::Attempts)? {
            if Some(number) != own {
                self.read_attempts(folder, number)?;
            }
        }
        for number in folder.numbers(PlanFile::Results)? {
            if Some(number) != own {
                self.read_results(folder, number)?;
            }
        }
        Ok(())
    }

    fn read_attempts(&mut self, folder: &PlanFolder, number: u32) -> Result<()> {
        let Some(file) = folder.open(PlanFile::Attempts, number)? else { return Ok(()) };
        let from = self.read_to.get(&(false, number)).copied().unwrap_or(0);
        let mut lines = Vec::new();
        let end = folder.each_line(&file, from, &mut |at, line| {
            lines.push((at, serde_json::from_slice(line)));
        })?;
        for (at, line) in lines {
            match line {
                Ok(line) => self.apply(number, &line),
                Err(_) => self.not_believed(&PlanFile::Attempts.name(number), at),
            }
        }
        self.read_to.insert((false, number), end);
        Ok(())
    }

    fn apply(&mut self, number: u32, line: &AttemptLine) {
        match line {
            AttemptLine::Opened => self.free_all_of(number),
            AttemptLine::Begun { unit, attempt, .. } => {
                if let Some(state) = self.states.get_mut(*unit) {
                    state.attempts = state.attempts.max(*attempt);
                    state.holder = Some(number);
                    self.holders.insert(number);
                }
            }
            AttemptLine::Released { unit } => {
                if let Some(state) = self.states.get_mut(*unit) {
                    state.attempts = state.attempts.saturating_sub(1);
                    state.holder = None;
                    self.free_from = self.free_from.min(*unit);
                }
            }
            AttemptLine::Ended { unit } => {
                if let Some(state) = self.states.get_mut(*unit) {
                    (state.holder, state.retried) = (None, false);
                }
            }
        }
    }

    fn read_results(&mut self, folder: &PlanFolder, number: u32) -> Result<()> {
        let Some(file) = folder.open(PlanFile::Results, number)? else { return Ok(()) };
        let from = self.read_to.get(&(true, number)).copied().unwrap_or(0);
        let (states, places, seal) = (&mut self.states, &self.by_fingerprint, &self.seal);
        let (mut bad, mut foreign) = (Vec::new(), 0_usize);
        let end = folder.each_line(&file, from, &mut |offset, line| {
            if seal.as_ref().is_some_and(|seal| !seal.is_own(line)) {
                foreign += 1;
                return;
            }
            let result = serde_json::from_slice::<TrialResult>(line).ok();
            let place = result.as_ref().and_then(|it| places.get(&it.fingerprint));
            let (Some(result), Some(place), Ok(bytes)) = (result, place, u32::try_from(line.len()))
            else {
                bad.push(offset);
                return;
            };
            let (state, error) = (&mut states[*place], ErrorRank::of(&result, &unsealed(line)));
            if state.wants(error) || state.is_newer_error(error, (number, offset)) {
                state.result = Some(ResultAt { file: number, offset, bytes, error });
            }
            // Whose hands it is in is said by attempts alone: this may be the result of an earlier round.
            state.retried = false;
        })?;
        if foreign > 0 {
            self.notes.push(format!(
                "{}: results that you did not make on this machine are left out ({foreign}); `metier eval merge` \
                 takes those of other machines",
                PlanFile::Results.name(number)
            ));
        }
        for at in bad {
            self.not_believed(&PlanFile::Results.name(number), at);
        }
        self.read_to.insert((true, number), end);
        Ok(())
    }

    fn not_believed(&mut self, name: &str, at: u64) {
        self.notes.push(format!(
            "{name}: the line at byte {at} is not a line of this plan and is left out"
        ));
    }

    /// The processes that may hold units.
    pub(super) fn holders(&self) -> Vec<u32> {
        self.holders.iter().copied().collect()
    }

    /// Takes back what a process has: it is gone.
    pub(super) fn free_all_of(&mut self, number: u32) {
        self.holders.remove(&number);
        for (place, state) in self.states.iter_mut().enumerate() {
            if state.holder == Some(number) {
                state.holder = None;
                self.free_from = self.free_from.min(place);
            }
        }
    }

    /// The next unit of the part that is free, from the first on.
    pub(super) fn next_free(&mut self) -> Option<Free> {
        while let Some(state) = self.states.get(self.free_from) {
            if self.in_part[self.free_from] && state.is_free() {
                let spent = state.attempts >= MAX_ATTEMPTS;
                return Some(if spent {
                    Free::Spent(self.free_from)
                } else {
                    Free::Open(self.free_from)
                });
            }
            self.free_from += 1;
        }
        None
    }

    /// Puts a unit back among those that are free.
    pub(super) fn give_back(&mut self, place: usize) {
        self.states[place].holder = None;
        self.free_from = self.free_from.min(place);
    }

    /// Lets units whose result is an error be taken again.
    pub(super) fn retry_errors(&mut self) -> u64 {
        let mut count = 0;
        for (state, in_part) in self.states.iter_mut().zip(&self.in_part) {
            if *in_part && state.is_done() && state.result.is_some_and(|it| it.error.is_some()) {
                (state.retried, state.attempts, count) = (true, 0, count + 1);
            }
        }
        self.free_from = 0;
        count
    }

    /// How far the part is.
    pub(super) fn progress(&self) -> StoreProgress {
        let mut progress = StoreProgress::default();
        for (state, _) in self.states.iter().zip(&self.in_part).filter(|(_, in_part)| **in_part) {
            progress.units += 1;
            progress.done += u64::from(state.is_done());
            progress.leased += u64::from(!state.is_done() && state.holder.is_some());
            let error = state.result.and_then(|it| it.error).map(|it| it.kind);
            progress.lost += u64::from(state.is_done() && error == Some(TrialErrorKind::Lost));
        }
        progress
    }

    /// Where the results stand, in the order of units.
    pub(crate) fn results(&self) -> impl Iterator<Item = (usize, ResultAt)> + '_ {
        self.states.iter().enumerate().filter_map(|(place, state)| Some((place, state.result?)))
    }
}
