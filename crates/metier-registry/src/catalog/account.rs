//! What became of every skill: shown in full, by name or not at all, and why, in words.
//!
//! Only tells; `fit` decides.

use std::collections::HashMap;
use std::sync::Arc;

use metier_skill::TokenCost;

use super::fit::FittedCatalog;
use super::prefix::Prefix;
use super::{CatalogEntry, Cataloger, DisplayLevel, DisplayReason};

/// A description in the tail.
#[derive(Debug)]
pub(super) struct Chosen {
    /// The skill's position.
    pub(super) at: usize,
    pub(super) reason: DisplayReason,
    pub(super) text: Arc<str>,
    pub(super) cost: TokenCost,
    /// Whether the description is shorter than it would be with more room.
    pub(super) cut: bool,
}

/// A line for every skill that a model could see: those of the prefix, with what their descriptions
/// cost there; those that apply to the files at hand, of which the first ones without a description
/// are named; what was chosen for the tail; and those that apply to other files.
pub(super) fn report(all: &Cataloger, fitted: &FittedCatalog) -> Vec<CatalogEntry> {
    let FittedCatalog { met, also, chosen, hits, shows: prefix, .. } = fitted;
    let (prefix, costs) = (*prefix, &fitted.prefix.costs);
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
        line.tokens = Some(one.cost.tokens());
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
    let mut named = *also;
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
    let first = all.visible.len();
    for (at, some) in all.conditional.iter().enumerate() {
        if !met.contains(&(at + first)) {
            let message = some.unmet_message();
            let (shown, reason) = (DisplayLevel::Omitted, DisplayReason::PathsUnmet);
            placed.push(CatalogEntry::new(&some.visible.entry, shown, reason, message));
        }
    }
    placed
}
