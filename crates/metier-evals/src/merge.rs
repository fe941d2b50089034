//! Putting the results of several machines together, exactly as if one had run them all.
//!
//! Only results of one plan are merged; each unit comes from one place. The order and the grouping of
//! sources make no difference: what stays of a unit depends on its results alone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use metier::fs::PiecewiseFile;
use metier::skill::Digest;
use serde::Serialize;

use crate::error::{EvalError, Result};
use crate::plan::{Arm, EvalPlan};
use crate::shard::Shard;
use crate::store::{
    FileStore, PlanFile, PlanFolder, ResultAt, ResultLog, ResultSeal, Units, unit_name, unsealed,
};

/// The most missing units that are named.
const MAX_NAMED: usize = 100;

/// What was put together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeReport {
    /// The plan.
    pub plan: Digest,
    /// Where the results are now.
    pub folder: PathBuf,
    /// Units of the plan.
    pub units: u64,
    /// Units with a result.
    pub results: u64,
    /// Where results came from, in the order of the arguments.
    pub sources: Vec<MergedSource>,
    /// How many units have no result.
    pub missing: u64,
    /// The first of them.
    pub missing_units: Vec<MissingUnit>,
    /// What was found and not believed.
    pub notes: Vec<String>,
}

/// One folder of results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergedSource {
    /// The folder.
    pub folder: PathBuf,
    /// Units with a result in it.
    pub results: u64,
}

/// A unit without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingUnit {
    /// The case's id.
    pub case: String,
    /// How the skill was offered.
    pub arm: Arm,
    /// Which trial, from 0.
    pub trial: u32,
}

impl MergeReport {
    /// Whether every unit has a result.
    pub const fn is_complete(&self) -> bool {
        self.missing == 0
    }
}

/// A folder of results that is read.
struct MergeSource {
    folder: PlanFolder,
    results: BTreeMap<usize, ResultAt>,
    files: BTreeMap<u32, PiecewiseFile>,
}

/// Puts the results in `sources` together in the plan's folder in `into`. A source is the folder of
/// a plan, or one that holds a single such folder. What stands there already counts as well.
pub fn merge(sources: &[PathBuf], into: &FileStore) -> Result<MergeReport> {
    let found = sources.iter().map(|path| PlanFolder::find(path)).collect::<Result<Vec<_>>>()?;
    let Some(first) = found.first() else {
        return Err(EvalError::usage(
            "there is nothing to merge",
            "name one or more folders of results",
        ));
    };
    let plan = first.read_plan()?;
    for other in &found[1..] {
        check_same_plan((first, &plan), (other, &other.read_plan()?))?;
    }
    let id = plan.id();
    let target = into.plan_folder(&id);
    target.write_plan(&plan)?;
    into.keep_out_of_git();
    let (mut log, seal) = (ResultLog::open(&target)?, into.seal());
    let mut notes = Vec::new();
    let there = MergeSource::read(target.clone(), &plan, into.seal(), &mut notes)?;
    let mut read = vec![there];
    for folder in found {
        // The target may be named among its own sources: then what others made there counts too.
        if seal.is_some() || !is_same_folder(&folder, &target) {
            read.push(MergeSource::read(folder, &plan, None, &mut notes)?);
        }
    }
    let mut report = MergeReport {
        plan: id,
        folder: target.path().to_owned(),
        units: plan.unit_count(),
        results: 0,
        sources: read[1..].iter().map(MergeSource::counted).collect(),
        missing: 0,
        missing_units: Vec::new(),
        notes,
    };
    for (place, unit) in plan.units().enumerate() {
        match choose(&mut read, place, &|| unit_name(&plan, &unit))? {
            Some((0, _)) => report.results += 1,
            Some((_, line)) => {
                log.keep(match &seal {
                    Some(seal) => seal.seal(line),
                    None => line,
                })?;
                report.results += 1;
            }
            None => {
                report.missing += 1;
                if report.missing_units.len() < MAX_NAMED {
                    let case = plan.cases[unit.case].id.clone();
                    report.missing_units.push(MissingUnit {
                        case,
                        arm: unit.arm,
                        trial: unit.trial,
                    });
                }
            }
        }
    }
    log.sync()?;
    into.note_run(&id)?;
    Ok(report)
}

/// The result that stays of a unit, and which source has it.
fn choose(
    sources: &mut [MergeSource],
    place: usize,
    name: &dyn Fn() -> String,
) -> Result<Option<(usize, Vec<u8>)>> {
    let mut best: Option<(usize, ResultAt, Vec<u8>)> = None;
    for at in 0..sources.len() {
        let Some((result, line)) = sources[at].line(place)? else { continue };
        best = Some(match best {
            None => (at, result, line),
            // The rule of a store: one result replaces another here as it does there.
            Some((_, there, _)) if there.gives_way_to(result.error) => (at, result, line),
            Some(best) if result.error.is_some() || best.2 == line => best,
            Some((there, _, _)) => {
                let message = format!(
                    "{} has two different results, in {} and in {}",
                    name(),
                    sources[there].folder.path().display(),
                    sources[at].folder.path().display()
                );
                let help = "it was run twice: leave one of the folders out";
                return Err(EvalError::store(message, help));
            }
        });
    }
    Ok(best.map(|(at, _, line)| (at, line)))
}

impl MergeSource {
    /// Reads a folder; with a seal, only what has it.
    fn read(
        folder: PlanFolder,
        plan: &EvalPlan,
        seal: Option<Arc<ResultSeal>>,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let mut units = Units::of(plan, Shard::WHOLE, seal);
        units.refresh(&folder, None)?;
        let shown = folder.path().display().to_string();
        notes.extend(units.notes.iter().map(|note| format!("{shown}: {note}")));
        let results: BTreeMap<usize, ResultAt> = units.results().collect();
        let mut files = BTreeMap::new();
        for number in folder.numbers(PlanFile::Results)? {
            files.extend(folder.open(PlanFile::Results, number)?.map(|file| (number, file)));
        }
        Ok(Self { folder, results, files })
    }

    fn counted(&self) -> MergedSource {
        MergedSource { folder: self.folder.path().to_owned(), results: self.results.len() as u64 }
    }

    /// A unit's result, and its line.
    fn line(&mut self, place: usize) -> Result<Option<(ResultAt, Vec<u8>)>> {
        let Some(at) = self.results.get(&place) else { return Ok(None) };
        let Some(file) = self.files.get(&at.file) else { return Ok(None) };
        Ok(Some((*at, unsealed(&self.folder.line_at(file, at.offset, at.bytes)?))))
    }
}

fn is_same_folder(one: &PlanFolder, other: &PlanFolder) -> bool {
    let real = |folder: &PlanFolder| metier::fs::canonical(folder.path()).ok();
    real(one).is_some_and(|path| Some(path) == real(other))
}

/// Refuses folders of two plans, and says what is different.
fn check_same_plan(first: (&PlanFolder, &EvalPlan), other: (&PlanFolder, &EvalPlan)) -> Result<()> {
    let ((one, plan), (two, second)) = (first, other);
    if plan.id() == second.id() {
        return Ok(());
    }
    let different = if plan.harness != second.harness {
        format!("made by the versions {} and {} of the program", plan.harness, second.harness)
    } else if plan.subject != second.subject {
        let name = |it: &EvalPlan| format!("{}:{}", it.subject.provider, it.subject.model);
        if name(plan) == name(second) {
            "run with different settings".to_owned()
        } else {
            format!("run with {} and {}", name(plan), name(second))
        }
    } else if plan.index_hash != second.index_hash || plan.skills != second.skills {
        "about different skills".to_owned()
    } else {
        "about different cases, arms or trials".to_owned()
    };
    let (one, two) = (one.path().display(), two.path().display());
    let message = format!("{one} and {two} hold results of two plans, {different}");
    Err(EvalError::store(message, "merge the parts of one plan; use `compare` for two plans"))
}
