//! Answers that are handed back once: a copy of our own words, and a change that was not made. Pure.
//!
//! A small model copies the newest words that it reads, advice included, and says "done" where nothing was
//! done. It is shown that, and what it says then counts: nothing is rewritten, and no run is kept from
//! its end. Answers come in Chinese, too (tidy:allow-cjk).

use metier_model::Action;
use metier_skill::FailureCode;

use crate::context;
use crate::op::Outcome;
use crate::request_words::asks_for_change;
use crate::setup::Mode;
use crate::state::State;

/// Characters from which on equal words are a copy, not a coincidence.
const MIN_COPY_CHARS: usize = 20;

/// Words in a row that are a copy.
const COPIED_WORDS: usize = 7;

/// Why an answer is handed back, if it is. On the last turn there is no turn left for another.
pub(super) fn handed_back(state: &State, text: &str) -> Option<Outcome> {
    if state.answer_handed_back || state.ending.is_some() {
        return None;
    }
    let words = if is_our_own(state, text) {
        "This answer is a copy of these instructions. Give the answer to the request, or say what is \
         missing."
    } else if changed_nothing(state) && !denies(text) {
        "Nothing was written, deleted, moved or sent in this run: it was not done."
    } else {
        return None;
    };
    Some(Outcome::failed(FailureCode::InvalidReply, words))
}

/// Whether a run that was answered like this changed nothing although it was asked to.
pub(super) fn changed_nothing(state: &State) -> bool {
    state.setup.mode == Mode::Real
        && !state.attempts.succeeded
        && asks_for_change(&state.setup.request)
}

/// Whether a text says no to something, in English or Chinese.
fn denies(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_no = |word: &str| {
        matches!(word, "not" | "no" | "cannot" | "unable" | "impossible" | "without" | "nothing")
            || word.ends_with("n't")
            || word.ends_with("n\u{2019}t")
    };
    let is_between = |c: char| !c.is_alphanumeric() && c != '\'' && c != '\u{2019}';
    lower.split(is_between).any(is_no)
        || ["不", "没", "无法", "未"].iter().any(|no| lower.contains(no))
}

/// Whether an answer is what the prompt says about the next action: the tail, or the words on an action that
/// came to nothing. The words on something that is not allowed or not there are an answer.
fn is_our_own(state: &State, text: &str) -> bool {
    let answer = plain(text);
    if answer.chars().count() < MIN_COPY_CHARS {
        return false;
    }
    let advice = plain(&context::advice_line(state));
    if shares_words(&answer, &advice) {
        return true;
    }
    let Some(last) = state.trail.last() else { return false };
    let is_about_actions = matches!(
        last.past.code,
        Some(
            FailureCode::AlreadyLoaded
                | FailureCode::SkillNotLoaded
                | FailureCode::InvalidArguments
                | FailureCode::InvalidReply
        )
    );
    let is_repeated =
        last.times > 1 && !matches!(last.past.action, Some(Action::FinalAnswer { .. }));
    (is_about_actions || is_repeated && !last.past.ok)
        && shares_words(&answer, &plain(&last.observation))
}

/// Whether an answer has so many words of a text in a row that it is a copy, or is a part of it.
fn shares_words(answer: &str, text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    let is_copied = |words: &[&str]| answer.contains(&words.join(" "));
    text.contains(answer) || words.windows(COPIED_WORDS).any(is_copied)
}

/// The letters and digits of a text, with one blank between words.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}
