//! Where runs are kept, and which one is meant.
//! Reading them is `metier-agent`'s.

use std::path::PathBuf;

use metier_agent::{RunFolder, runs_in};

use crate::context::{AGENT_FOLDER, Context};
use crate::error::{CommandError, Result};
use crate::render::safe;

impl Context {
    /// The folder of the runs of this workspace.
    pub(crate) fn runs_folder(&self) -> PathBuf {
        self.workspace().join(AGENT_FOLDER).join("runs")
    }

    /// The run that is meant: its name, the beginning or the end of it, or `last`.
    pub(crate) fn find_run(&self, text: &str) -> Result<RunFolder> {
        let mut runs = runs_in(&self.runs_folder());
        if text == "last" && !runs.is_empty() {
            return Ok(runs.swap_remove(0));
        }
        let is_meant = |run: &RunFolder| {
            let id = run.id().as_str();
            id == text || id.starts_with(text) || id.ends_with(text)
        };
        let exact = runs.iter().position(|run| run.id().as_str() == text);
        let mut meant: Vec<usize> = (0..runs.len()).filter(|at| is_meant(&runs[*at])).collect();
        if let Some(exact) = exact {
            meant = vec![exact];
        }
        let shown = safe(text);
        match meant.as_slice() {
            [one] if !text.is_empty() => Ok(runs.swap_remove(*one)),
            [] | [_] => Err(CommandError::failed(
                "run-not-found",
                format!("there is no run `{shown}` here"),
            )
            .help("`metier runs` lists the runs of this project")),
            several => {
                let message = format!("{} runs are called `{shown}`", several.len());
                Err(CommandError::failed("run-ambiguous", message).help("name more of it"))
            }
        }
    }
}
