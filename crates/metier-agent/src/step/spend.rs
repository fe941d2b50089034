//! What a run spends, when a budget is spent, and what cannot be done twice.
//!
//! Times come with the inputs: the step has no clock.

use metier_model::Usage;

use crate::event::Event;
use crate::op::Op;
use crate::setup::{BudgetSetting, Setup};
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

/// A budget that is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpentBudget {
    pub(crate) name: &'static str,
    pub(crate) limit: u64,
    used: u64,
}

impl SpentBudget {
    /// The event, for the record.
    pub(super) fn event(self, setup: &Setup) -> Event {
        let setting = setup.budget_settings.get(self.name).cloned();
        Event::BudgetSpent {
            budget: self.name.to_owned(),
            limit: self.limit,
            used: self.used,
            setting,
        }
    }

    /// A sentence with the setting, as a person writes it, the limit and the use.
    pub(super) fn message(self, setup: &Setup) -> String {
        let subject = match setup.budget_settings.get(self.name) {
            Some(BudgetSetting { key, place: None }) => format!("`{key}`"),
            Some(BudgetSetting { key, place: Some(place) }) => format!("`{key}` ({place})"),
            None => "the program".to_owned(),
        };
        let allows = if setup.is_inner { "leaves a subagent" } else { "allows" };
        let (limit, used) = (self.amount(self.limit), self.used);
        let used = match self.name {
            WALL => format!("{} s have passed", used / 1000),
            _ if used == 1 => "1 is used".to_owned(),
            _ => format!("{used} are used"),
        };
        format!("{subject} {allows} {limit}, and {used}")
    }

    /// A number in the budget's unit.
    fn amount(self, number: u64) -> String {
        let unit = match self.name {
            WALL => return format!("{} s", number.div_ceil(1000)),
            "turns" => "turn",
            "tool_calls" => "tool call",
            "script_runs" => "script run",
            _ => "token",
        };
        format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
    }
}

/// The budget that this operation would exceed. Calls are spent by the call after the
/// last one, not by the last one: a run that makes no more than it may has exceeded nothing.
pub(super) fn exceeded_by(state: &State, op: &Op) -> Option<SpentBudget> {
    let (limits, spent) = (&state.setup.limits, &state.spent);
    let budget =
        |name, limit: u32, used: u32| SpentBudget { name, limit: limit.into(), used: used.into() };
    let is_script = matches!(op, Op::Script { .. });
    if is_script && spent.script_runs >= limits.script_runs {
        return Some(budget("script_runs", limits.script_runs, spent.script_runs));
    }
    let is_call = is_script || matches!(op, Op::Tool { .. });
    (is_call && spent.tool_calls >= limits.tool_calls)
        .then(|| budget("tool_calls", limits.tool_calls, spent.tool_calls))
}

/// The first budget that the next turn would exceed.
pub(super) fn spent_budget(state: &State) -> Option<SpentBudget> {
    let (limits, spent) = (&state.setup.limits, &state.spent);
    let tokens = spent.usage.input + spent.usage.output;
    let over = |used: u64, limit: u64| used >= limit;
    // First: where there is no time left, there is none for a last turn.
    if let Some(limit) = spent_time(state) {
        return Some(SpentBudget { name: WALL, limit, used: state.elapsed_ms });
    }
    if over(spent.turns.into(), limits.turns.into()) {
        let (limit, used) = (limits.turns.into(), spent.turns.into());
        return Some(SpentBudget { name: "turns", limit, used });
    }
    let limit = limits.tokens.filter(|limit| over(tokens, *limit))?;
    Some(SpentBudget { name: "tokens", limit, used: tokens })
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
