//! What a run spends, when a budget is spent, and what cannot be done twice.
//!
//! Times come with the inputs: the step has no clock.

use metier_model::Usage;

use crate::op::Op;
use crate::setup::Setup;
use crate::state::State;

/// The budget of time.
const WALL: &str = "wall_ms";

/// Whether doing it a second time could do what doing it once does not.
pub(super) fn changes(setup: &Setup, op: &Op) -> bool {
    match op {
        Op::Script { .. } => true,
        Op::Tool { tool, .. } => {
            setup.tools.iter().find(|card| card.offer.name == *tool).is_none_or(|card| card.changes)
        }
        // A loop of its own has a record of its own, from which it continues.
        Op::Load { .. } | Op::Delegate { .. } | Op::Resource { .. } | Op::Search { .. } => false,
    }
}

/// The budget that this operation would exceed, and its limit. Calls are spent by the call after the
/// last one, not by the last one: a run that makes no more than it may has exceeded nothing.
pub(super) fn exceeded_by(state: &State, op: &Op) -> Option<(&'static str, u64)> {
    let (limits, spent) = (&state.setup.limits, &state.spent);
    let is_script = matches!(op, Op::Script { .. });
    if is_script && spent.script_runs >= limits.script_runs {
        return Some(("script_runs", limits.script_runs.into()));
    }
    let is_call = is_script || matches!(op, Op::Tool { .. });
    (is_call && spent.tool_calls >= limits.tool_calls)
        .then(|| ("tool_calls", limits.tool_calls.into()))
}

/// The first budget that the next turn would exceed, and its limit.
pub(super) fn spent_budget(state: &State) -> Option<(&'static str, u64)> {
    let (limits, spent) = (&state.setup.limits, &state.spent);
    let tokens = spent.usage.input + spent.usage.output;
    let over = |used: u64, limit: u64| used >= limit;
    // First: where there is no time left, there is none for a last turn.
    if let Some(limit) = spent_time(state) {
        return Some((WALL, limit));
    }
    if over(spent.turns.into(), limits.turns.into()) {
        return Some(("turns", limits.turns.into()));
    }
    limits.tokens.filter(|limit| over(tokens, *limit)).map(|limit| ("tokens", limit))
}

/// The limit on time, where it is spent.
pub(super) fn spent_time(state: &State) -> Option<u64> {
    state.setup.limits.wall_ms.filter(|limit| state.elapsed_ms >= *limit)
}

/// Adds what a reply cost.
pub(crate) fn add_usage(total: &mut Usage, more: &Usage) {
    total.input += more.input;
    total.output += more.output;
    total.cache_read += more.cache_read;
    total.cache_write += more.cache_write;
    total.reasoning += more.reasoning;
    total.attempts += more.attempts;
    total.sent_bytes += more.sent_bytes;
    total.total_ms += more.total_ms;
    total.estimated |= more.estimated;
}
