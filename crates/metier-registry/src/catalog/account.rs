//! What became of every skill: shown in full, by name or not at all, and why, in words.
//!
//! Only tells; `fit` decides.

use std::collections::HashMap;

use super::fit::Prefix;
use super::{Cataloger, Placed, Ranked, Reason, Shown};

/// A description in the tail.
pub(super) struct Chosen {
    /// The skill's position.
    pub(super) at: usize,
    pub(super) reason: Reason,
    pub(super) text: String,
    pub(super) tokens: usize,
}

/// A line for every skill that a model may see: those of the prefix, with what their descriptions
/// cost there; those that apply to the files at hand, of which the first ones without a description
/// are named; and what was chosen for the tail.
pub(super) fn report(
    all: &Cataloger,
    (met, also): (&[usize], usize),
    chosen: &[Chosen],
    (prefix, costs): (Prefix, &[usize]),
    hits: &[Ranked],
) -> Vec<Placed> {
    let ranks: HashMap<usize, usize> = hits.iter().map(|hit| hit.0).zip(1..).collect();
    let mut placed = Vec::with_capacity(all.visible.len() + met.len());
    let mut full = vec![false; all.visible.len() + all.conditional.len()];
    if prefix == Prefix::All {
        for (at, &tokens) in costs.iter().enumerate() {
            let message = "all descriptions fit";
            let entry = &all.skill(at).entry;
            let mut line = Placed::new(entry, Shown::Full, Reason::AllFit, message);
            line.tokens = Some(tokens);
            placed.push(line);
            full[at] = true;
        }
    }
    for one in chosen {
        let rank = ranks.get(&one.at).copied();
        let message = match (one.reason, rank) {
            (Reason::PathsMet, _) => "it applies to a file that is worked on".to_owned(),
            (Reason::Ranked, Some(rank)) => format!("number {rank} for this request"),
            (Reason::Rotation, _) => "it was its turn".to_owned(),
            _ => "there was room left".to_owned(),
        };
        let mut line = Placed::new(&all.skill(one.at).entry, Shown::Full, one.reason, message);
        line.tokens = Some(one.tokens);
        line.rank = rank;
        placed.push(line);
        full[one.at] = true;
    }
    for at in (0..all.visible.len()).filter(|at| !full[*at]) {
        let rank = ranks.get(&at).copied();
        let (shown, reason, message) = match (prefix, rank) {
            (Prefix::Names, Some(rank)) => (
                Shown::Named,
                Reason::DescriptionOverBudget,
                format!("number {rank} for this request: no room for its description"),
            ),
            (Prefix::Names, None) => (
                Shown::Named,
                Reason::DescriptionOverBudget,
                "no room for its description".to_owned(),
            ),
            _ => (
                Shown::Omitted,
                Reason::NameOverBudget,
                "all the names together are more than the budget allows".to_owned(),
            ),
        };
        let mut line = Placed::new(&all.skill(at).entry, shown, reason, message);
        line.rank = rank;
        placed.push(line);
    }
    let mut named = also;
    // In the order in which they were tried.
    let mut waiting: Vec<usize> = met.iter().copied().filter(|at| !full[*at]).collect();
    waiting.sort_by_key(|at| ranks.get(at).copied().unwrap_or(usize::MAX));
    for at in waiting {
        let shown = if named > 0 { Shown::Named } else { Shown::Omitted };
        named = named.saturating_sub(1);
        let message = "it applies to a file that is worked on; no room for its description";
        let entry = &all.skill(at).entry;
        placed.push(Placed::new(entry, shown, Reason::DescriptionOverBudget, message));
    }
    placed
}
