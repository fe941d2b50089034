//! Which runs this user began: noted in the user's state, outside every project.
//!
//! A project can ship a folder that looks like a run: a prompt, a model and loaded skills of somebody
//! else's choice. Such a one is shown, and never gone on with.

use std::path::PathBuf;

use metier_agent::{Event, Record, RunFolder};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::render::safe;

const LARGEST: u64 = 1024;

/// The runs of this user.
pub(crate) struct OwnRuns {
    folder: Option<PathBuf>,
}

impl OwnRuns {
    pub(crate) fn of(context: &Context) -> Self {
        Self { folder: context.user.as_ref().map(|user| user.state.join("runs")) }
    }

    /// Notes the name of a run that is about to begin.
    pub(crate) fn note_name(&self, run: &RunFolder) -> Result<()> {
        let Some(file) = self.file(run.id().as_str()) else { return Ok(()) };
        if metier_fs::exists(&file) {
            return Ok(());
        }
        metier_fs::write_atomic(&file, b"").map_err(|error| {
            let message = format!("{} cannot be written: {error}", safe(&file.to_string_lossy()));
            CommandError::failed("state-unwritable", message)
        })
    }

    /// Notes the first event of a run, which vouches for what the run was given.
    pub(crate) fn note_first(&self, record: &Record) {
        let Event::RunStarted { run_id, .. } = &record.event else { return };
        if let Some(file) = self.file(run_id) {
            // Without it the name is known, and the record still has to hold.
            let _ = metier_fs::write_atomic(&file, record.hash.to_string().as_bytes());
        }
    }

    /// An error unless this user began the run.
    pub(crate) fn must_know(&self, run: &RunFolder) -> Result<()> {
        let noted = self.file(run.id().as_str());
        let noted = noted.and_then(|file| metier_fs::read_bounded(&file, LARGEST).ok());
        let first = run.events().ok().and_then(|(records, _)| records.first().map(|it| it.hash));
        let is_own = noted.is_some_and(|noted| {
            noted.is_empty() || first.is_some_and(|hash| hash.to_string().as_bytes() == noted)
        });
        if is_own {
            return Ok(());
        }
        let message = format!("you did not begin the run {} on this machine", run.id());
        Err(CommandError::failed("run-foreign", message)
            .help("`metier show` shows it; to go on, start a run of your own"))
    }

    fn file(&self, id: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(id))
    }
}
