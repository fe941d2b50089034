//! Systems without a sandbox of ours yet: nothing is held here, and it says so. Only the tier `none`
//! exists, and it has to be asked for; the probe names what is missing.

use std::path::Path;

use crate::error::Error;
use crate::plan::RunPlan;
use crate::probe::{SandboxFeature, SandboxProbe, TierProbe};
use crate::report::{RunEvent, SandboxReport};
use crate::runner::{RunOptions, Runner};
use crate::tier::Tier;

#[path = "unconfined.rs"]
mod unconfined;

pub(crate) fn run(
    runner: &Runner,
    plan: &RunPlan,
    options: &RunOptions,
    events: &(dyn Fn(RunEvent) + Sync),
) -> Result<SandboxReport, Error> {
    match runner.tier() {
        Tier::None => unconfined::run(plan, options, events),
        tier => Err(Error::TierUnavailable { tier }),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the signature is that of the other system")]
pub(crate) fn probe(_: &Path, _: &Path) -> Result<SandboxProbe, Error> {
    let system = std::env::consts::OS;
    let missing = |tier| TierProbe {
        tier,
        missing: Some(format!("Metier has no sandbox for {system} yet")),
        attempts: Vec::new(),
    };
    let mut tiers = vec![missing(Tier::Medium)];
    if cfg!(target_os = "macos") {
        tiers.push(missing(Tier::Macos));
    }
    let detail = format!("scripts on {system} run unconfined, if they run at all");
    let features = vec![SandboxFeature { name: "sandbox", present: false, detail }];
    Ok(SandboxProbe { best: Tier::None, tiers, features })
}

/// There is no helper here.
pub(crate) fn helper_main() -> i32 {
    crate::wire::EXIT_SETUP
}
