//! Running a plan: starts the helper, follows the output, sends events, and returns the report.
//!
//! Blocking, with a thread for each stream; async callers use a thread. The helper enforces the time
//! limit and ends the processes. This side is the second line: it kills a helper that is stuck,
//! together with everything below it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_cancel::CancelToken;

use crate::error::Error;
use crate::held_tier::forget_tier;
use crate::plan::RunPlan;
use crate::redact::Secrets;
use crate::report::{RunEvent, SandboxReport};
use crate::tier::Tier;

/// What a run needs besides its plan.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Values that are masked in all output; those of passed secrets belong here.
    pub secrets: Arc<Secrets>,
    /// Where standard output goes as a whole, masked; the file must not exist.
    pub stdout_file: Option<PathBuf>,
    /// The same for standard error.
    pub stderr_file: Option<PathBuf>,
    /// Ends the run from another thread: its processes are asked to end at once, and its report says
    /// `cancelled`.
    pub cancel: CancelToken,
}

/// Runs plans in one tier with one helper.
#[derive(Debug, Clone)]
pub struct Runner {
    helper: PathBuf,
    tier: Tier,
}

impl Runner {
    /// `helper` is a binary that calls [`crate::helper_main`] when its first argument is
    /// [`crate::HELPER_ARGUMENT`]; `tier` comes from [`crate::SandboxProbe::tier_for`].
    pub fn new(helper: impl Into<PathBuf>, tier: Tier) -> Self {
        Self { helper: helper.into(), tier }
    }

    /// The tier that every run of this runner gets.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The helper's binary.
    pub fn helper(&self) -> &Path {
        &self.helper
    }

    /// Runs a plan to its end. Whatever happens, nothing that it started is left when this returns.
    ///
    /// An error means that the program was not run, or that its end is not known. A program that
    /// failed, was stopped or was killed is a report.
    pub fn run(
        &self,
        plan: &RunPlan,
        options: &RunOptions,
        events: &(dyn Fn(RunEvent) + Sync),
    ) -> Result<SandboxReport, Error> {
        plan.check()?;
        let ran = crate::platform::run(self, plan, options, events);
        if let Err(Error::Setup { .. } | Error::Helper { .. } | Error::TierUnavailable { .. }) = ran
        {
            forget_tier(&self.helper, self.tier);
        }
        ran
    }
}
