//! What is shown in full, by name, or not at all, within a budget.
//!
//! Everything in full when it fits. Else every name, as long as the names leave a quarter of the
//! budget for descriptions; beyond that half a list of names would not help to find the other half,
//! and the budget goes to the descriptions that fit the request best (`search_skills` finds the
//! rest). Of the descriptions a few are given by rotation, so that a skill whose own words never
//! come up is still seen at times. What is in the prefix is decided by the skills that are always
//! visible and by the budget alone; skills that apply to the files at hand are fitted into the tail.
//! Pure except for what [`SkillContents`] reads.
//!
//! Why in this order. A model that sees every description picks best, so nothing clever is done while
//! all of them fit. When they do not, a name without its description is still worth its few tokens, as
//! it can be asked for; but once names eat most of the budget, the descriptions that are left decide
//! nothing, hence the quarter. The prefix must not follow the request, or a provider's prompt cache
//! would miss at every turn: that is why ranking only ever fills the tail. Ranking alone would let a
//! skill hide all others by repeating every word a user might say; against that stand the ratio of
//! order and thrift (long descriptions lose to short ones that are as good), the few places by
//! rotation, and the budget, which counts what is shown. The two shares were chosen on the "when to
//! use" lines of public skills and are flat around their values. A list that is cut too early costs a
//! search, one that is too long costs the request: where an estimate is in doubt, less is shown.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use metier_skill::{TokenCost, estimate_tokens};

use super::account::Chosen;
use super::prefix::{NO_LIMIT, Prefix, WrittenPrefix, write_prefix};
use super::written::WrittenEntry;
use super::{CatalogFormat, CatalogRequest, Cataloger, DisplayReason, Ranked, SkillContents};

/// The text, and what was decided about the skills that a model may see.
#[derive(Debug)]
pub(super) struct FittedCatalog {
    /// The part that is the same for every request.
    pub(super) prefix: Arc<WrittenPrefix>,
    /// Whether anything is written: not where not even a frame fits.
    pub(super) is_written: bool,
    /// How much of the skills the prefix shows, or would show.
    pub(super) shows: Prefix,
    pub(super) tail: String,
    pub(super) tokens: usize,
    /// The descriptions in the tail.
    pub(super) chosen: Vec<Chosen>,
    /// The skills that apply to the files at hand.
    pub(super) met: Vec<usize>,
    /// How many of those without a description are named.
    pub(super) also: usize,
    pub(super) hits: Vec<Ranked>,
}

impl FittedCatalog {
    /// The text of the prefix.
    pub(super) fn prefix(&self) -> &str {
        if self.is_written { &self.prefix.text } else { "" }
    }
}

/// How many of a ranking are considered.
const MAX_CONSIDERED: usize = 300;
/// Descriptions by rotation, and the room below which there are none.
const ROTATED: usize = 2;
const MIN_ROOM_TO_ROTATE: usize = 300;
/// The best of a ranking, which are not left to the rotation. Among a thousand skills the right one is
/// among the first 20 for 83 % of 7,200 lines out of skills' own bodies and descriptions, among the first
/// 40 for 87 %.
const ALWAYS_SHOWN: usize = 40;
/// What is left of a description near the top of a ranking that has no room for all of it.
const CUT_CHARS: [usize; 3] = [240, 120, 60];
/// Skills whose files or bodies were looked at in vain before the list is taken as full.
const MAX_MISFITS: usize = 4;
/// Of the room for descriptions this share goes to the best in their order; the rest is spent so
/// that a short description, which costs less, comes before a long one that is as good. Chosen on
/// the "when to use" lines of public skills; flat from 0.3 to 0.6.
const IN_ORDER_SHARE: f32 = 0.4;

pub(super) fn fit(
    all: &Cataloger,
    wanted: &CatalogRequest<'_>,
    contents: &dyn SkillContents,
) -> FittedCatalog {
    let format = wanted.format;
    let budget = wanted.budget.unwrap_or(NO_LIMIT);
    let prefix = all.written.prefix(wanted, || write_prefix(all, wanted, contents));
    let met = all.met(wanted);
    let nothing = FittedCatalog {
        shows: prefix.shows,
        prefix: Arc::clone(&prefix),
        is_written: false,
        tail: String::new(),
        tokens: 0,
        chosen: Vec::new(),
        met,
        also: 0,
        hits: Vec::new(),
    };
    if all.visible.is_empty() && nothing.met.is_empty() {
        return nothing;
    }
    let opening = match prefix.shows {
        Prefix::All => String::new(),
        // No skill is always visible: the frame comes and goes with those that apply.
        Prefix::Nothing => [&format.opening(), format.entries(false)].concat(),
        Prefix::Names | Prefix::Number => format.entries(true).to_owned(),
    };
    let frame = [opening.as_str(), &format.closing(&[])].map(estimate_tokens);
    let Some(room) = budget.checked_sub(prefix.tokens + frame.iter().sum::<usize>()) else {
        // Where not even the frame fits, nothing is written, names included.
        return FittedCatalog { shows: Prefix::Number, ..nothing };
    };
    let request = wanted.request.map(str::trim).filter(|request| !request.is_empty());
    let needs_ranking = prefix.shows != Prefix::All || !nothing.met.is_empty();
    let mut hits = match request.filter(|_| needs_ranking) {
        Some(request) => all.ranking().rank_scores(request, MAX_CONSIDERED),
        None => Vec::new(),
    };
    hits.retain(|(at, _)| *at < all.visible.len() || nothing.met.contains(at));
    let mut room = Room {
        all,
        wanted,
        contents,
        left: room,
        taken: vec![false; all.len()],
        chosen: Vec::new(),
    };
    let waiting = room.descriptions(&nothing.met, prefix.shows, &hits);
    let mut chosen = room.chosen;
    let mut also = waiting.len();
    let mut tail = assemble(wanted, &opening, &chosen, &waiting[..also]);
    // The parts are estimated apart; a rounding must not break the budget.
    let mut tokens = prefix.tokens + tail_tokens(&tail, wanted, &opening, &chosen, &waiting);
    while tokens > budget && !(chosen.is_empty() && also == 0) {
        if also > 0 {
            also -= 1;
        } else {
            chosen.pop();
        }
        tail = assemble(wanted, &opening, &chosen, &waiting[..also]);
        tokens = prefix.tokens + estimate_tokens(&tail);
    }
    if prefix.text.is_empty() && chosen.is_empty() && also == 0 {
        return FittedCatalog { hits, ..nothing };
    }
    FittedCatalog { is_written: true, tail, tokens, chosen, also, hits, ..nothing }
}

/// What a tail costs that was assembled from these: their sum, unless a run of characters goes from one into the
/// next.
fn tail_tokens(
    tail: &str,
    wanted: &CatalogRequest<'_>,
    opening: &str,
    chosen: &[Chosen],
    also: &[&str],
) -> usize {
    let first = TokenCost::of(opening);
    let sum = chosen.iter().try_fold(first, |sum, one| sum.then(one.cost));
    let sum = sum.and_then(|sum| sum.then(TokenCost::of(&wanted.format.closing(also))));
    let is_sum = !chosen.is_empty() && wanted.format != CatalogFormat::Json;
    sum.filter(|_| is_sum).map_or_else(|| estimate_tokens(tail), TokenCost::tokens)
}

fn assemble(
    wanted: &CatalogRequest<'_>,
    opening: &str,
    chosen: &[Chosen],
    also: &[&str],
) -> String {
    let mut tail =
        String::with_capacity(chosen.iter().map(|one| one.text.len()).sum::<usize>() + 64);
    if !chosen.is_empty() || wanted.format == CatalogFormat::Json || opening.starts_with('<') {
        tail.push_str(opening);
    }
    for one in chosen {
        // Entries are written as if another stood before them.
        let text = &*one.text;
        let first = tail.ends_with('[') && wanted.format == CatalogFormat::Json;
        tail.push_str(if first { text.strip_prefix(',').unwrap_or(text) } else { text });
    }
    tail.push_str(&wanted.format.closing(also));
    tail
}

/// The room for descriptions as it fills.
struct Room<'a, 'w> {
    all: &'a Cataloger,
    wanted: &'w CatalogRequest<'w>,
    contents: &'w dyn SkillContents,
    left: usize,
    /// Which skills are chosen, or will be, by their positions.
    taken: Vec<bool>,
    chosen: Vec<Chosen>,
}

impl<'a> Room<'a, '_> {
    /// Chooses the descriptions of the tail; gives the names of skills that apply and have no room.
    fn descriptions(&mut self, met: &[usize], prefix: Prefix, hits: &[Ranked]) -> Vec<&'a str> {
        let all = self.all;
        let whole = self.left;
        // Skills that apply to the files at hand, the best for the request first; where others need
        // room too, they get half of it.
        let mut met = met.to_vec();
        if !met.is_empty() {
            let rank: HashMap<usize, usize> = hits.iter().map(|hit| hit.0).zip(0..).collect();
            met.sort_by_key(|at| rank.get(at).copied().unwrap_or(usize::MAX));
        }
        let name = |at: &usize| all.skill(*at).entry.name().as_str();
        let names: usize = met.iter().map(|at| estimate_tokens(name(at)) + 1).sum();
        let names = if met.is_empty() { 0 } else { (names + 16).min(whole / 8) };
        let share =
            if matches!(prefix, Prefix::Names | Prefix::Number) { whole / 2 } else { whole };
        self.left = share.saturating_sub(names);
        for &at in &met {
            if self.add(at, DisplayReason::PathsMet) {
                self.taken[at] = true;
            }
        }
        self.left += whole - share;
        if matches!(prefix, Prefix::Names | Prefix::Number) {
            let rotated = self.rotated(hits, whole);
            let reserved: usize = rotated.iter().map(|&(_, tokens)| tokens).sum();
            self.left = self.left.saturating_sub(reserved);
            for &(at, _) in &rotated {
                self.taken[at] = true;
            }
            self.ranked(hits, whole);
            self.left += reserved;
            for &(at, _) in &rotated {
                self.add(at, DisplayReason::Rotation);
            }
            self.rest(hits.is_empty());
        }
        self.left += names;
        let mut waiting = Vec::new();
        for at in met.iter().filter(|at| !self.taken[**at]) {
            let tokens = estimate_tokens(name(at)) + 1 + if waiting.is_empty() { 16 } else { 0 };
            if tokens > self.left {
                break;
            }
            self.left -= tokens;
            waiting.push(name(at));
        }
        waiting
    }

    fn entry(&self, at: usize) -> Cow<'a, WrittenEntry> {
        self.all.written.entry(self.all, at, self.wanted.format, self.contents)
    }

    /// Shows a skill, if there is room.
    fn add(&mut self, at: usize, reason: DisplayReason) -> bool {
        let entry = self.entry(at);
        if entry.cost.tokens() > self.left {
            return false;
        }
        let WrittenEntry { text, cost } = entry.into_owned();
        self.left -= cost.tokens();
        self.chosen.push(Chosen { at, reason, text, cost, cut: false });
        true
    }

    /// Shows the best of a ranking that have no place yet, each within its share of the room: a long
    /// description is cut rather than left out, for a skill at rank 11 without one is not chosen,
    /// and one at rank 139 with one is not what was asked for.
    fn near_top(&mut self, hits: &[Ranked]) {
        let mut open: Vec<usize> = hits.iter().take(ALWAYS_SHOWN).map(|hit| hit.0).collect();
        open.retain(|at| !self.taken[*at]);
        for (done, at) in open.iter().copied().enumerate() {
            let share = self.left / (open.len() - done);
            let whole = self.all.skill(at);
            let chars = whole.description_chars();
            let cuts = CUT_CHARS.into_iter().filter(|most| chars > *most);
            let last = cuts.clone().count();
            for (try_number, most) in [None].into_iter().chain(cuts.map(Some)).enumerate() {
                let WrittenEntry { text, cost } = match most.and_then(|most| whole.cut(most)) {
                    None => self.entry(at).into_owned(),
                    Some(cut) => {
                        WrittenEntry::new(self.wanted.format.entry(&cut, self.contents, false))
                    }
                };
                let tokens = cost.tokens();
                // The shortest form may take from what others would get.
                let room = if try_number == last { self.left } else { share };
                if tokens <= room {
                    self.left -= tokens;
                    self.taken[at] = true;
                    let (reason, cut) = (DisplayReason::Ranked, try_number > 0);
                    self.chosen.push(Chosen { at, reason, text, cost, cut });
                    break;
                }
            }
        }
    }

    /// The skills whose turn it is, and what they will cost.
    fn rotated(&self, hits: &[Ranked], whole: usize) -> Vec<(usize, usize)> {
        let count = self.all.visible.len();
        let mut picks = Vec::new();
        if self.left < MIN_ROOM_TO_ROTATE || count == 0 || self.wanted.format.needs_contents() {
            return picks;
        }
        for at in self.turn_order().take(count.min(64)) {
            let sure = hits.iter().take(ALWAYS_SHOWN).any(|hit| hit.0 == at);
            let tokens = self.entry(at).cost.tokens();
            // A long description would take the place of several that fit the request.
            if !sure && tokens <= whole / 8 {
                picks.push((at, tokens));
                if picks.len() == ROTATED {
                    break;
                }
            }
        }
        picks
    }

    /// All visible skills, beginning where this turn's rotation begins.
    fn turn_order(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.all.visible.len();
        let turn = usize::try_from(self.wanted.turn % (count.max(1) as u64)).unwrap_or_default();
        let start = turn * ROTATED % count.max(1);
        (start..count).chain(0..start)
    }

    /// Descriptions of skills that fit the request: first the best, then the rest of those near the top,
    /// then the best for their cost.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^24")]
    fn ranked(&mut self, hits: &[Ranked], whole: usize) {
        let shelved = self.wanted.format.needs_contents();
        let in_order = whole as f32 * (1.0 - IN_ORDER_SHARE);
        let mut rest: Vec<(f32, usize)> = Vec::new();
        let mut misfits = 0;
        for &(document, _) in hits {
            if self.left as f32 <= in_order || misfits >= MAX_MISFITS {
                break;
            }
            if self.taken[document] {
                continue;
            }
            if self.add(document, DisplayReason::Ranked) {
                self.taken[document] = true;
            } else {
                misfits += usize::from(shelved);
            }
        }
        if !shelved {
            self.near_top(hits);
        }
        // Where not even the beginning of a description near the top fits, one from far below does not either.
        let is_short = !shelved && hits.iter().take(ALWAYS_SHOWN).any(|hit| !self.taken[hit.0]);
        let below = if is_short { &[] } else { hits };
        for &(document, score) in below.iter().filter(|hit| !self.taken[hit.0]) {
            // There will be no more room than now.
            if shelved || self.entry(document).cost.tokens() <= self.left {
                rest.push((score / self.all.skill(document).thrift(), document));
            }
        }
        rest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, document) in rest {
            if self.left < 8 || misfits >= MAX_MISFITS {
                break;
            }
            if self.add(document, DisplayReason::Ranked) {
                self.taken[document] = true;
            } else {
                misfits += usize::from(shelved);
            }
        }
        // In the text the best stand first, whatever order they were chosen in.
        let mut rank = vec![1; self.taken.len()];
        for (&(document, _), place) in hits.iter().zip(1..) {
            rank[document] = place;
        }
        self.chosen.sort_by_key(|one| match one.reason {
            DisplayReason::Ranked => rank[one.at],
            _ => 0,
        });
    }

    /// Room that is left goes to other skills in turn: all of it where nothing was asked for.
    fn rest(&mut self, nothing_asked: bool) {
        let mut misfits = 0;
        for at in self.turn_order() {
            if self.left < 16 || misfits >= if nothing_asked { 32 } else { MAX_MISFITS } {
                break;
            }
            if self.taken[at] {
                continue;
            }
            if self.add(at, DisplayReason::RoomLeft) {
                self.taken[at] = true;
            } else {
                misfits += 1;
            }
        }
    }
}
