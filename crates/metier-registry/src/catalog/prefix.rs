//! The part of a catalog that is the same for every request: every description where all fit, else every name,
//! else how many skills there are.
//!
//! It follows from the skills that are always visible, the format and the budget, and from nothing else.

use std::borrow::Cow;

use metier_skill::estimate_tokens;

use super::written::WrittenEntry;
use super::{CatalogRequest, Cataloger, SkillContents};

/// More tokens than any list has.
pub(super) const NO_LIMIT: usize = usize::MAX / 4;

/// How much of the skills that are always visible the prefix shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    /// Every description.
    All,
    /// Every name.
    Names,
    /// How many there are.
    Number,
    /// Nothing: not even a frame fits, or there are no such skills.
    Nothing,
}

/// The part that is the same for every request.
#[derive(Debug)]
pub(super) struct WrittenPrefix {
    pub(super) text: String,
    pub(super) tokens: usize,
    /// How much of the skills it shows.
    pub(super) shows: Prefix,
    /// What each description in it costs.
    pub(super) costs: Vec<usize>,
}

/// The part that is the same for every request.
pub(super) fn write_prefix(
    all: &Cataloger,
    wanted: &CatalogRequest<'_>,
    contents: &dyn SkillContents,
) -> WrittenPrefix {
    let format = wanted.format;
    let budget = wanted.budget.unwrap_or(NO_LIMIT);
    let of = |text: String, shows: Prefix, costs: Vec<usize>| WrittenPrefix {
        tokens: estimate_tokens(&text),
        text,
        shows,
        costs,
    };
    if all.visible.is_empty() {
        return of(String::new(), Prefix::Nothing, Vec::new());
    }
    if let Some((text, costs)) = everything(all, wanted, contents) {
        return of(text, Prefix::All, costs);
    }
    let list: Vec<&str> = all.visible.iter().map(|visible| visible.entry.name().as_str()).collect();
    let whole = [format.opening(), format.names(&list, wanted.reader)].concat();
    let names = of(whole, Prefix::Names, Vec::new());
    if names.tokens <= budget - budget / 4 {
        return names;
    }
    let number = [format.opening(), format.number(list.len(), wanted.reader)].concat();
    of(number, Prefix::Number, Vec::new())
}

/// All descriptions, if they fit.
fn everything(
    all: &Cataloger,
    wanted: &CatalogRequest<'_>,
    contents: &dyn SkillContents,
) -> Option<(String, Vec<usize>)> {
    let format = wanted.format;
    let budget = wanted.budget.unwrap_or(NO_LIMIT);
    // Metadata alone says whether it is worth looking at files.
    if format.needs_contents() && wanted.budget.is_some() {
        let mut least = 0;
        for visible in &all.visible {
            least += estimate_tokens(visible.description());
            if least > budget {
                return None;
            }
        }
    }
    let mut text = [&format.opening(), format.entries(false)].concat();
    let mut spent = estimate_tokens(&text) + estimate_tokens(&format.closing(&[]));
    let mut costs = Vec::with_capacity(all.visible.len());
    for (at, visible) in all.visible.iter().enumerate() {
        let entry = if at == 0 {
            Cow::Owned(WrittenEntry::new(format.entry(visible, contents, true)))
        } else {
            all.written.entry(all, at, format, contents)
        };
        spent += entry.cost.tokens();
        if spent > budget {
            return None;
        }
        text.push_str(&entry.text);
        costs.push(entry.cost.tokens());
    }
    Some((text, costs))
}
