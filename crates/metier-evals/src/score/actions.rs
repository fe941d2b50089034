//! Judging what was done: actions that must be there or not, how often, in which order, and how many.
//! Pure: a trace and a case go in, results of checks come out.

use super::pattern::{describe, fits, is_tool_meant, matches_wildcard, was_done};
use crate::case::{
    ActionChecks, ActionCount, ActionPattern, ActionSequence, Constraints, SequenceMode, TOOLS,
};
use crate::read::action_kind;
use crate::subject::Trace;
use crate::trial::{CheckKind, CheckOutcome, CheckResult, TrialAction};

/// The kind of action that ends a run, which a sequence need not name.
const END: &str = "final_answer";

fn check(kind: CheckKind, name: String, wrong: Option<(String, Option<u32>)>) -> CheckResult {
    let outcome = if wrong.is_none() { CheckOutcome::Passed } else { CheckOutcome::Failed };
    let (detail, step) = wrong.unwrap_or_default();
    CheckResult { kind, name, outcome, detail, step }
}

pub(super) fn checks(wanted: &ActionChecks, actions: &[TrialAction]) -> Vec<CheckResult> {
    // What must be done has to work; what must not be done must not be tried either.
    let find = |pattern: &ActionPattern| actions.iter().find(|action| fits(pattern, action));
    let must = wanted.must.iter().map(|pattern| {
        let is_done = actions.iter().any(|action| was_done(pattern, action));
        let wrong = (!is_done).then(|| match find(pattern) {
            Some(tried) => (format!("it did not work{}", why(tried)), Some(tried.step)),
            None => ("it was not done".to_owned(), None),
        });
        check(CheckKind::Actions, format!("must {}", describe(pattern)), wrong)
    });
    let must_not = wanted.must_not.iter().map(|pattern| {
        let wrong = find(pattern).map(|action| (shown(action), Some(action.step)));
        check(CheckKind::Actions, format!("must not {}", describe(pattern)), wrong)
    });
    let order = wanted.order.iter().map(|sequence| in_sequence(sequence, actions));
    let counts = wanted.counts.iter().map(|count| counted(count, actions));
    must.chain(must_not).chain(order).chain(counts).collect()
}

fn shown(action: &TrialAction) -> String {
    let failed = if action.ok { String::new() } else { format!(" (failed{})", why(action)) };
    format!("{}{failed}", format!("{} {}", action.action, action.target).trim_end())
}

/// The code of what went wrong, where there is one.
fn why(action: &TrialAction) -> String {
    action.code.as_ref().map_or_else(String::new, |code| format!(": {code}"))
}

fn counted(count: &ActionCount, actions: &[TrialAction]) -> CheckResult {
    let ActionCount { action, min, max } = count;
    // Attempts count against the most, and only what worked towards the least.
    let tried: Vec<&TrialAction> = actions.iter().filter(|it| fits(action, it)).collect();
    let done = tried.iter().filter(|it| was_done(action, it)).count();
    let wrong = match max.map(|max| max as usize) {
        Some(max) if tried.len() > max => {
            Some((format!("it was done {} times", tried.len()), Some(tried[max].step)))
        }
        _ if done < *min as usize => {
            let failed = tried.len() - done;
            let failed =
                if failed > 0 { format!(", and failed {failed} times") } else { String::new() };
            Some((format!("it was done {done} times{failed}"), None))
        }
        _ => None,
    };
    let often = match max {
        Some(max) if max == min => format!("{min} times"),
        Some(max) => format!("{min} to {max} times"),
        None => format!("at least {min} times"),
    };
    check(CheckKind::Actions, format!("{} {often}", describe(action)), wrong)
}

fn in_sequence(sequence: &ActionSequence, actions: &[TrialAction]) -> CheckResult {
    let ActionSequence { mode, actions: wanted } = sequence;
    let names_end = wanted.iter().any(|pattern| pattern.action.as_deref() == Some(END));
    let actions: Vec<&TrialAction> =
        actions.iter().filter(|action| names_end || action.action != END).collect();
    let (words, wrong) = match mode {
        SequenceMode::InOrder => ("in order", in_order(wanted, &actions)),
        SequenceMode::Exact => ("exactly", exact(wanted, &actions)),
        SequenceMode::AnyOrder => ("in any order", any_order(wanted, &actions)),
        SequenceMode::Adjacent => ("one right after the other", adjacent(wanted, &actions)),
    };
    let list: Vec<String> = wanted.iter().map(describe).collect();
    check(CheckKind::Actions, format!("{words}: {}", list.join(", ")), wrong)
}

type Wrong = Option<(String, Option<u32>)>;

/// What is wrong where no action that worked is one that was wanted.
fn not_done(pattern: &ActionPattern, actions: &[&TrialAction]) -> (String, Option<u32>) {
    let tried = actions.iter().find(|it| fits(pattern, it) && !was_done(pattern, it));
    match tried {
        Some(tried) => {
            (format!("{} did not work{}", describe(pattern), why(tried)), Some(tried.step))
        }
        None => (format!("{} was not done", describe(pattern)), None),
    }
}

fn in_order(wanted: &[ActionPattern], actions: &[&TrialAction]) -> Wrong {
    let mut from = 0;
    for pattern in wanted {
        let Some(at) = actions[from..].iter().position(|action| was_done(pattern, action)) else {
            // Done, but before what should come first.
            let early = actions[..from].iter().find(|action| was_done(pattern, action));
            return Some(match early {
                Some(early) => (format!("{} came too early", describe(pattern)), Some(early.step)),
                None => not_done(pattern, actions),
            });
        };
        from += at + 1;
    }
    None
}

fn exact(wanted: &[ActionPattern], actions: &[&TrialAction]) -> Wrong {
    for at in 0..wanted.len().max(actions.len()) {
        match (wanted.get(at), actions.get(at)) {
            (Some(pattern), Some(action)) if was_done(pattern, action) => {}
            (Some(pattern), Some(action)) => {
                let detail = format!("{} instead of {}", shown(action), describe(pattern));
                return Some((detail, Some(action.step)));
            }
            (Some(pattern), None) => {
                return Some(not_done(pattern, actions));
            }
            (None, Some(action)) => {
                return Some((format!("{} is one too many", shown(action)), Some(action.step)));
            }
            (None, None) => {}
        }
    }
    None
}

fn any_order(wanted: &[ActionPattern], actions: &[&TrialAction]) -> Wrong {
    // A pattern that fits much must not take the only action of one that fits little: augmenting paths.
    let mut taken: Vec<Option<usize>> = vec![None; actions.len()];
    for at in 0..wanted.len() {
        let mut seen = vec![false; actions.len()];
        if !assign(at, wanted, actions, &mut taken, &mut seen) {
            return Some(not_done(&wanted[at], actions));
        }
    }
    None
}

fn assign(
    at: usize,
    wanted: &[ActionPattern],
    actions: &[&TrialAction],
    taken: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for (place, action) in actions.iter().enumerate() {
        if seen[place] || !was_done(&wanted[at], action) {
            continue;
        }
        seen[place] = true;
        let is_free = taken[place].is_none_or(|other| assign(other, wanted, actions, taken, seen));
        if is_free {
            taken[place] = Some(at);
            return true;
        }
    }
    false
}

fn adjacent(wanted: &[ActionPattern], actions: &[&TrialAction]) -> Wrong {
    let is_here = |window: &[&TrialAction]| {
        window.iter().zip(wanted).all(|(action, pattern)| was_done(pattern, action))
    };
    if wanted.is_empty() || actions.windows(wanted.len()).any(is_here) {
        return None;
    }
    // Where it came furthest: the action that broke it.
    let reached = |from: usize| {
        actions[from..]
            .iter()
            .zip(wanted)
            .take_while(|(action, pattern)| was_done(pattern, action))
            .count()
    };
    let best = (0..actions.len()).max_by_key(|from| (reached(*from), std::cmp::Reverse(*from)));
    let broke = best.and_then(|from| actions.get(from + reached(from)));
    let detail = match broke {
        Some(action) => format!("{} came between", shown(action)),
        None => "they were not done".to_owned(),
    };
    Some((detail, broke.map(|action| action.step)))
}

pub(super) fn constraints(limits: &Constraints, trace: &Trace) -> Vec<CheckResult> {
    let mut checks = Vec::new();
    let mut at_most = |what: &str, limit: Option<u64>, used: u64, step: Option<u32>| {
        let Some(limit) = limit else { return };
        let wrong = (used > limit).then(|| (format!("{used} were used"), step));
        checks.push(check(CheckKind::Constraint, format!("at most {limit} {what}"), wrong));
    };
    let calls = || {
        trace.actions.iter().filter(|it| matches!(it.action.as_str(), "call_tool" | "run_script"))
    };
    let over = limits.max_tool_calls.and_then(|limit| calls().nth(limit as usize));
    // A call that failed was one, too: a model that is stuck in them keeps within no limit. A program that is tested
    // may count more than it shows.
    let calls_used = u64::from(trace.cost.tool_calls).max(calls().count() as u64);
    at_most("tool calls", limits.max_tool_calls.map(u64::from), calls_used, over.map(|it| it.step));
    at_most(
        "turns",
        limits.max_turns.map(u64::from),
        trace.cost.model_calls.into(),
        limits.max_turns,
    );
    at_most("tokens", limits.max_tokens, trace.cost.tokens_in + trace.cost.tokens_out, None);
    for tool in &limits.forbidden_tools {
        let kind = action_kind(tool);
        let is_it = |action: &&TrialAction| {
            action.tool.as_deref().is_some_and(|name| matches_wildcard(tool, name))
                || kind == Some(action.action.as_str())
                || action.tool.is_none()
                    && TOOLS.contains(&action.action.as_str())
                    && is_tool_meant(tool, &action.action)
        };
        let wrong = trace.actions.iter().find(is_it).map(|it| (shown(it), Some(it.step)));
        checks.push(check(CheckKind::Constraint, format!("never {tool}"), wrong));
    }
    checks
}
