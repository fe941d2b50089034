//! Which skills a clause in Chinese calls. Called by `order_clauses`, with its rules.
//! tidy:allow-cjk

use super::order_clauses::{Clause, Found};
use super::order_words::{
    CHINESE_ARTICLES, CHINESE_JOINTS, CHINESE_KINDS, CHINESE_MEANS, CHINESE_OPENINGS,
    CHINESE_POLITE, CHINESE_TAIL_BLOCKS, CHINESE_TAIL_REPORTS, CHINESE_VERBS, NEGATIVE_CHARACTERS,
};
use super::orders::{Force, is_compound, is_name};

/// Bytes between a verb and the word skill.
const MAX_NAME_BYTES: usize = 90;

/// Adds the names that a clause calls.
pub(super) fn calls(clause: &Clause<'_>, found: &mut Vec<Found>) {
    let mut text = clause.text.trim_start();
    let mut polite = false;
    while let Some(rest) = CHINESE_OPENINGS.iter().find_map(|word| text.strip_prefix(word)) {
        polite |= CHINESE_POLITE.iter().any(|word| text.starts_with(word));
        text = rest.trim_start();
    }
    if clause.asks && !polite {
        return;
    }
    let is_means = CHINESE_MEANS.iter().any(|word| text.starts_with(word));
    let force = if is_means { Force::Mentioned } else { Force::Ordered };
    let before = found.len();
    call(clause, text, force, found);
    if found.len() > before {
        return;
    }
    if clause.goes_on {
        call_names(clause, text, force, found);
        let is_name = found[before..].first().is_some_and(|call| call.beside);
        found.truncate(if is_name { found.len() } else { before });
    } else if text.starts_with(['把', '将', '给', '对'])
        && let Some(at) = text.rfind('用')
        && !NEGATIVE_CHARACTERS.iter().any(|no| text[..at].contains(no))
    {
        call(clause, &text[at..], Force::Mentioned, found);
        let is_name = found[before..].first().is_some_and(|call| call.beside);
        found.truncate(if is_name { found.len() } else { before });
    }
}

/// Adds the call that `text`, the rest of this clause, begins with.
fn call(clause: &Clause<'_>, text: &str, force: Force, found: &mut Vec<Found>) {
    if let Some(verb) = CHINESE_VERBS.iter().find(|verb| text.starts_with(**verb)) {
        call_names(clause, &text[verb.len()..], force, found);
    }
}

/// Adds the names that `rest` begins with: `html 技能和 pdf 技能`.
fn call_names(clause: &Clause<'_>, rest: &str, force: Force, found: &mut Vec<Found>) {
    let Some((mut called, mut behind, beside)) = names(rest) else { return };
    let after_joint = |text: &'_ str| {
        let text = text.trim_start();
        CHINESE_JOINTS.iter().find_map(|joint| text.strip_prefix(joint).map(str::len))
    };
    while let Some(length) = after_joint(behind).filter(|_| beside)
        && let Some((more, rest, true)) = names(&behind[behind.len() - length..])
    {
        called.extend(more);
        behind = rest;
    }
    let tail = behind.trim_start();
    let goes_on = !CHINESE_TAIL_BLOCKS.iter().any(|word| tail.starts_with(word))
        && !CHINESE_TAIL_REPORTS.iter().any(|word| tail.contains(word))
        && !tail.trim_end().ends_with('了');
    let place = |part: &str| part.as_ptr() as usize - clause.text.as_ptr() as usize + clause.start;
    let found_at = |name: &&str| {
        let (at, end) = (place(name), place(behind));
        Found { name: at..at + name.len(), end, force, beside }
    };
    found.extend(called.iter().filter(|_| goes_on).map(found_at));
}

/// The names that a text begins with, what stands behind them, and whether the word skill is beside them.
fn names(text: &str) -> Option<(Vec<&str>, &str, bool)> {
    let mut rest = text.trim_start();
    while let Some(more) = CHINESE_ARTICLES.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = more.trim_start();
    }
    let name_of = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii() || !is_name_part(c)).unwrap_or(text.len());
        let is_path = text[end..].starts_with(|c: char| "./\\:@".contains(c));
        (!is_path && is_name(&text[..end])).then_some(end)
    };
    if let Some(behind) = CHINESE_KINDS.iter().find_map(|kind| rest.strip_prefix(kind)) {
        let behind = behind.trim_start();
        let end = name_of(behind)?;
        return Some((vec![&behind[..end]], &behind[end..], true));
    }
    let kind = CHINESE_KINDS.iter().filter_map(|kind| Some((rest.find(kind)?, kind.len()))).min();
    if let Some((at, length)) = kind.filter(|&(at, _)| at > 0 && at <= MAX_NAME_BYTES) {
        let name = rest[..at].trim();
        if name.split_whitespace().all(is_name) && !name.is_empty() {
            // A name may have such a sign itself, but for one in Latin letters.
            let parts: Vec<&str> = name.split(['和', '与', '及']).map(str::trim).collect();
            let are_names = parts.iter().all(|part| part.is_ascii() && is_name(part));
            let names = if are_names { parts } else { vec![name] };
            return Some((names, &rest[at + length..], true));
        }
    }
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let end = name_of(rest)?;
    is_compound(&rest[..end]).then(|| (vec![&rest[..end]], &rest[end..], false))
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '+' | '#')
}
