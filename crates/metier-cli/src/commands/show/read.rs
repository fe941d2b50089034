//! The record of a run from its folder, with the loops inside it, for whoever shows or exports it.
//! Long texts are put back in place; a broken record is read as far as it holds.

use metier_agent::export::Recorded;
use metier_agent::{AgentError, RunFolder, runs_in};

use crate::error::{CommandError, Result};
use crate::render::safe;

/// What could be read of a run.
pub(crate) struct RunRecord {
    pub(crate) recorded: Recorded,
    /// What is wrong with the record, in sentences. What stands behind a fault was not read.
    pub(crate) faults: Vec<String>,
}

/// Reads a run.
pub(crate) fn read(folder: &RunFolder) -> Result<RunRecord> {
    let mut faults = Vec::new();
    let mut recorded = read_one(folder, &mut faults).map_err(|error| refused(&error))?;
    for inner in inner_runs(folder) {
        match read_one(&inner, &mut faults) {
            Ok(inner) => recorded.inner.push(inner),
            Err(error) => faults.push(safe(&error.to_string()).into_owned()),
        }
    }
    Ok(RunRecord { recorded, faults })
}

/// The loops inside a run, in the order in which they began.
pub(crate) fn inner_runs(folder: &RunFolder) -> Vec<RunFolder> {
    let mut inner = runs_in(&folder.path().join("inner"));
    let begun = |run: &RunFolder| {
        let number = run.id().as_str().rsplit_once("-sub").map(|(_, number)| number);
        number.and_then(|number| number.parse::<u32>().ok())
    };
    inner.sort_by_key(begun);
    inner
}

fn read_one(
    folder: &RunFolder,
    faults: &mut Vec<String>,
) -> std::result::Result<Recorded, AgentError> {
    let setup = folder.setup()?;
    let (records, fault) = folder.events()?;
    let id = folder.id().clone();
    faults.extend(fault.map(|fault| format!("the record of {id} is broken: {fault}")));
    Ok(Recorded { id, setup, records, inner: Vec::new() })
}

/// A run that cannot be read, for people.
pub(crate) fn refused(error: &AgentError) -> CommandError {
    CommandError::failed(error.code(), safe(&error.to_string()).into_owned()).help(error.help())
}
