//! Rules of a script: a reply for whatever turn looks like this, before the sequence is asked.
//!
//! How often a rule was used is worked out from the turn's past, by going through it again: nothing
//! is kept from call to call.

use metier_skill::FailureCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Entry;
use crate::action::Action;
use crate::turn::{LoadedText, PastAction, Turn};

/// A reply with the turns that it is for.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) when: When,
    /// How often it may be used; nothing: as often as it fits.
    pub(super) times: Option<u32>,
    pub(super) reply: Entry,
}

/// What has to be true of a turn, all of it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct When {
    /// The request contains this; with a `*`, the whole request is like this.
    request: Option<String>,
    /// The last action failed with this code.
    last_code: Option<String>,
    /// What came of the last action contains this.
    last_contains: Option<String>,
    /// The skill of this name is loaded.
    loaded: Option<String>,
    /// It is this turn, from 1.
    turn: Option<u32>,
}

/// The first rule that fits and may still be used.
pub(super) fn matching<'a>(rules: &'a [Rule], turn: &Turn) -> Option<&'a Rule> {
    let past: Vec<&PastAction> = turn.past().collect();
    let now = past.len();
    if rules.iter().all(|rule| rule.times.is_none()) {
        return rules.iter().find(|rule| rule.when.fits(turn, &past, now));
    }
    let mut left: Vec<Option<u32>> = rules.iter().map(|rule| rule.times).collect();
    let mut used = None;
    for then in 0..=now {
        let fits = |i: &usize| left[*i] != Some(0) && rules[*i].when.fits(turn, &past, then);
        used = (0..rules.len()).find(fits);
        if let Some(Some(left)) = used.map(|i| &mut left[i]) {
            *left -= 1;
        }
    }
    used.map(|i| &rules[i])
}

impl When {
    /// Whether the turn fits, as it was when `then` actions were past.
    fn fits(&self, turn: &Turn, all: &[&PastAction], then: usize) -> bool {
        let view = &turn.view;
        let past = &all[..then];
        let last = past.last();
        let since = u32::try_from(all.len() - then).unwrap_or(u32::MAX);
        let holds = |wanted: &Option<String>, test: &dyn Fn(&str) -> bool| {
            wanted.as_deref().is_none_or(test)
        };
        holds(&self.request, &|wanted| is_like(&view.request, wanted))
            && holds(&self.last_code, &|wanted| {
                last.is_some_and(|last| last.code.map(FailureCode::as_str) == Some(wanted))
            })
            && holds(&self.last_contains, &|wanted| {
                last.is_some_and(|last| last.text.contains(wanted))
            })
            && holds(&self.loaded, &|wanted| {
                view.loaded.iter().any(|it| it.name == wanted && was_loaded(it, past, since == 0))
            })
            && self.turn.is_none_or(|wanted| wanted == turn.number.saturating_sub(since))
    }
}

/// Whether a skill that is loaded now was so after these actions.
fn was_loaded(skill: &LoadedText, past: &[&PastAction], now: bool) -> bool {
    now || skill.by_user
        || past.iter().any(|it| match &it.action {
            Some(Action::SelectSkills { skills, .. }) => {
                it.ok && skills.iter().any(|named| named.name == skill.name)
            }
            _ => false,
        })
}

/// Contains, or with `*` for anything: is.
fn is_like(text: &str, wanted: &str) -> bool {
    let mut parts = wanted.split('*');
    let (Some(first), Some(last)) = (parts.next(), parts.next_back()) else {
        return text.contains(wanted);
    };
    let Some(mut rest) = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_part_or_with_stars_the_whole() {
        assert!(is_like("fill the form", "the"));
        assert!(!is_like("fill the form", "them"));
        assert!(is_like("fill the form", "fill*form"));
        assert!(is_like("fill the form", "*the*"));
        assert!(is_like("fill the form", "*"));
        assert!(!is_like("fill the form", "*the"));
        assert!(!is_like("aba", "ab*ba"));
        assert!(is_like("a b c b d", "a*b*b*d"));
        assert!(!is_like("a b d", "a*b*b*d"));
    }
}
