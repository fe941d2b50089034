//! The tier that holds on this machine, found once in a process: many runs need it again and again, and trying takes
//! a moment. A run whose tier did not hold ends, and has it tried anew: a long-lived process must not keep to what
//! once was. A machine on which none held is tried again each time.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::probe::SandboxProbe;
use crate::tier::Tier;

/// What was found with a helper, in a folder, for the least tier that may run.
struct HeldTier {
    helper: PathBuf,
    scratch: PathBuf,
    least: Tier,
    tier: Tier,
}

static HELD: Mutex<Vec<HeldTier>> = Mutex::new(Vec::new());
/// Held while the tiers are tried, so that threads which begin together try them once. Who knows its tier never waits.
static TRYING: Mutex<()> = Mutex::new(());

fn held() -> MutexGuard<'static, Vec<HeldTier>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tier to run with, as [`SandboxProbe::tier_for`] gives it.
pub fn held_tier(helper: &Path, scratch: &Path, least: Tier) -> Result<Tier, Error> {
    let known = || {
        let held = held();
        let same = |it: &&HeldTier| it.helper == helper && it.scratch == scratch;
        held.iter().filter(same).find(|it| it.least == least).map(|it| it.tier)
    };
    if let Some(tier) = known() {
        return Ok(tier);
    }
    let _trying = TRYING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tier) = known() {
        return Ok(tier);
    }
    let tier = SandboxProbe::run(helper, scratch)?.tier_for(least)?;
    let (helper, scratch) = (helper.to_owned(), scratch.to_owned());
    held().push(HeldTier { helper, scratch, least, tier });
    Ok(tier)
}

/// Forgets a tier that did not hold.
pub(crate) fn forget_tier(helper: &Path, tier: Tier) {
    held().retain(|it| it.helper != helper || it.tier != tier);
}
