//! What became of every skill: shown in full, by name or not at all, and why, in words.
//!
//! Only tells; `fit` decides.

use std::collections::HashMap;

use super::fit::Prefix;
use super::{CatalogEntry, Cataloger, DisplayLevel, DisplayReason, Ranked};

/// A description in the tail.
pub(super) struct Chosen {
    /// The skill's position.
    pub(super) at: usize,
    pub(super) reason: DisplayReason,
    pub(super) text: String,
    pub(super) tokens: usize,
    /// Whether the description is shorter than it would be with more room.
    pub(super) cut: bool,
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
) -> Vec<CatalogEntry> {
    let ranks: HashMap<usize, usize> = hits.iter().map(|hit| hit.0).zip(1..).collect();
    let mut placed = Vec::with_capacity(all.visible.len() + met.len());
    let mut full = vec![false; all.visible.len() + all.conditional.len()];
    if prefix == Prefix::All {
        for (at, &tokens) in costs.iter().enumerate() {
            let message = "all descriptions fit";
            let entry = &all.skill(at).entry;
            let mut line =
                CatalogEntry::new(entry, DisplayLevel::Full, DisplayReason::AllFit, message);
            line.tokens = Some(tokens);
            placed.push(line);
            full[at] = true;
        }
    }
    for one in chosen {
        let rank = ranks.get(&one.at).copied();
        let message = match (one.reason, rank) {
            (DisplayReason::PathsMet, _) => "it applies to a file you are working on".to_owned(),
            (DisplayReason::Ranked, Some(rank)) if one.cut => {
                format!("number {rank} for this request; its description is cut")
            }
            (DisplayReason::Ranked, Some(rank)) => format!("number {rank} for this request"),
            (DisplayReason::Rotation, _) => "included by rotation".to_owned(),
            _ => "it fits in the remaining room".to_owned(),
        };
        let mut line =
            CatalogEntry::new(&all.skill(one.at).entry, DisplayLevel::Full, one.reason, message);
        line.tokens = Some(one.tokens);
        line.rank = rank;
        placed.push(line);
        full[one.at] = true;
    }
    for at in (0..all.visible.len()).filter(|at| !full[*at]) {
        let rank = ranks.get(&at).copied();
        let (shown, reason, message) = match (prefix, rank) {
            (Prefix::Names, Some(rank)) => (
                DisplayLevel::Named,
                DisplayReason::DescriptionOverBudget,
                format!("number {rank} for this request, but there is no room for its description"),
            ),
            (Prefix::Names, None) => (
                DisplayLevel::Named,
                DisplayReason::DescriptionOverBudget,
                "no room for its description".to_owned(),
            ),
            _ => (
                DisplayLevel::Omitted,
                DisplayReason::NameOverBudget,
                "the names alone exceed the budget".to_owned(),
            ),
        };
        let mut line = CatalogEntry::new(&all.skill(at).entry, shown, reason, message);
        line.rank = rank;
        placed.push(line);
    }
    let mut named = also;
    // In the order in which they were tried.
    let mut waiting: Vec<usize> = met.iter().copied().filter(|at| !full[*at]).collect();
    waiting.sort_by_key(|at| ranks.get(at).copied().unwrap_or(usize::MAX));
    for at in waiting {
        let shown = if named > 0 { DisplayLevel::Named } else { DisplayLevel::Omitted };
        named = named.saturating_sub(1);
        let message = "it applies to a file you are working on; no room for its description";
        let entry = &all.skill(at).entry;
        placed.push(CatalogEntry::new(entry, shown, DisplayReason::DescriptionOverBudget, message));
    }
    placed
}
