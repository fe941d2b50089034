//! One unit by itself, for a scheduler that is not ours: the request goes in, a result comes out.
//!
//! A request holds all of the plan that the unit needs, so that any machine with the same skills can carry
//! it out, in any order and as often as it likes: nothing is looked up and nothing is kept.

use metier::CancelToken;
use metier::skill::Digest;
use serde::{Deserialize, Serialize};

use crate::error::{EvalError, Result};
use crate::plan::{EvalPlan, EvalUnit};
use crate::trial::TrialResult;
use crate::worker::run_guarded;

/// The version of a request's format.
pub const UNIT_REQUEST_FORMAT: u32 = 1;
/// The most bytes of a request.
pub const MAX_REQUEST_BYTES: usize = 64 << 20;

/// One unit with what it needs of its plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitRequest {
    /// The version of this format.
    pub format: u32,
    /// The plan that the unit is of.
    pub plan_id: Digest,
    /// That plan with the unit's case alone.
    pub plan: EvalPlan,
    /// The unit; its case is the only one.
    pub unit: EvalUnit,
}

impl UnitRequest {
    /// The request for each unit of a plan, in order.
    pub fn all(plan: &EvalPlan) -> impl Iterator<Item = Self> + '_ {
        let plan_id = plan.id();
        plan.units().map(move |unit| {
            let case = plan.cases[unit.case].clone();
            let alone = EvalPlan { cases: vec![case], ..plan.without_cases() };
            let unit = EvalUnit { case: 0, ..unit };
            Self { format: UNIT_REQUEST_FORMAT, plan_id, plan: alone, unit }
        })
    }

    /// Reads a request. One whose unit does not follow from its plan is refused: its result would be kept
    /// under the wrong fingerprint.
    pub fn parse(json: &[u8]) -> Result<Self> {
        let help = "take the requests from `metier eval plan --units`";
        if json.len() > MAX_REQUEST_BYTES {
            let message = format!("the request is larger than {} MB", MAX_REQUEST_BYTES >> 20);
            return Err(EvalError::usage(message, help));
        }
        let request: Self = serde_json::from_slice(json).map_err(|error| {
            EvalError::usage(format!("this is not a request for a unit: {error}"), help)
        })?;
        if request.format != UNIT_REQUEST_FORMAT {
            let message = format!(
                "the request has the format {}; this program reads {UNIT_REQUEST_FORMAT}",
                request.format
            );
            return Err(EvalError::usage(
                message,
                "use one version of the program for all of a plan",
            ));
        }
        if request.plan.cases.len() != 1 {
            return Err(EvalError::usage("the plan of a request has one case", help));
        }
        if let Some(fault) = request.plan.fault() {
            return Err(EvalError::usage(format!("the plan of the request {fault}"), help));
        }
        let fits = |it: &EvalUnit| EvalUnit { index: request.unit.index, ..*it } == request.unit;
        if !request.plan.units().any(|unit| fits(&unit)) {
            return Err(EvalError::usage("the unit of the request is not one of its plan", help));
        }
        Ok(request)
    }

    /// Carries it out: one result, whatever happens. `run` is what a [`crate::Worker`] is given too.
    pub fn run(
        &self,
        run: &dyn Fn(&EvalPlan, &EvalUnit, &CancelToken) -> TrialResult,
        cancel: &CancelToken,
    ) -> TrialResult {
        run_guarded(&self.plan, &self.unit, cancel, run)
    }
}
