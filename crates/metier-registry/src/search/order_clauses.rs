//! The clauses of a line, and which of them order a skill, in English and in Chinese (tidy:allow-cjk).
//!
//! What `orders` promises is kept here: the verb opens its clause, and neither a question, a refusal, a
//! condition nor a report stands around it. Pure, over a line whose quotes are blotted out.

use std::ops::Range;

use super::fold::is_unspaced;
use super::order_quotes::{BLOT, Masked};
use super::order_words::{
    ABOUT, AFTERTHOUGHTS, ARTICLES, AS_WHAT, BEHIND, CALLS, CHINESE_ARTICLES, CHINESE_GUARDS,
    CHINESE_KINDS, CHINESE_MEANS, CHINESE_OPENINGS, CHINESE_POLITE, CHINESE_QUESTION_ENDS,
    CHINESE_QUOTATIONS, CHINESE_RESERVATIONS, CHINESE_TAIL_BLOCKS, CHINESE_TAIL_REPORTS,
    CHINESE_VERBS, CLAUSE_ENDS, GUARDS, KINDS, MEANS, NEGATIONS, NEGATIVE_CHARACTERS, OPENINGS,
    PRONOUNS, QUESTIONS, QUOTATIONS, QUOTED_OBJECTS, REPORTS, RESERVATIONS, SENTENCE_ENDS,
    SUBJECTS, SUBORDINATES, TAILS, VERBS,
};
use super::orders::{Force, is_compound, is_name};

/// Bytes between a Chinese verb and the word skill.
const MAX_NAME_BYTES: usize = 90;

/// A name that is called, as places in the line.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: Range<usize>,
    /// Where the call ends.
    pub(super) end: usize,
    pub(super) force: Force,
    pub(super) beside: bool,
}

/// A part of a sentence between two signs.
#[derive(Debug)]
pub(super) struct Clause<'l> {
    text: &'l str,
    /// Where it begins in the line.
    start: usize,
    /// Its sentence asks something.
    asks: bool,
    /// An earlier part of its sentence makes it depend on something, or makes it a quotation.
    guarded: bool,
    /// An earlier sentence makes it a text that something is to be done with, or something behind it takes it
    /// back: it may want a skill, and orders none.
    doubtful: bool,
}

/// Gives every clause of a line up to its first colon.
pub(super) fn each(line: &Masked, mut give: impl FnMut(&Clause<'_>)) {
    let text = &line.text;
    let is_end = |at: usize, c: char| {
        !c.is_ascii()
            || text[at + 1..].chars().next().is_none_or(|next| next.is_whitespace() || next == ')')
    };
    let colon = text.char_indices().find(|&(at, c)| c == '：' || c == ':' && is_end(at, c));
    let text = &text[..colon.map_or(text.len(), |(at, _)| at)];
    let (mut begin, mut quoted) = (0, false);
    let mut marks =
        text.char_indices().filter(|&(at, c)| SENTENCE_ENDS.contains(c) && is_end(at, c));
    while begin < text.len() {
        let mark = marks.next();
        let end = mark.map_or(text.len(), |(at, _)| at);
        let sentence = text.get(begin..end).unwrap_or_default();
        let asks = mark.is_some_and(|(_, c)| matches!(c, '?' | '？'))
            || CHINESE_QUESTION_ENDS.iter().any(|word| sentence.trim_end().ends_with(word));
        // `use the deploy skill, he said`
        let reported = |word: &str| REPORTS.contains(&word.trim_matches(','));
        let is_reported = sentence.to_lowercase().split_whitespace().any(reported);
        let (mut start, mut guarded) = (begin, is_reported);
        begin = mark.map_or(text.len(), |(at, c)| at + c.len_utf8());
        let taken_back = opens_with(&text[begin..], AFTERTHOUGHTS);
        for part in sentence.split_inclusive(CLAUSE_ENDS) {
            let inner = part.trim_end_matches(CLAUSE_ENDS);
            let mut later =
                text.get(start + part.len()..end).unwrap_or_default().split(CLAUSE_ENDS);
            let doubtful = quoted || taken_back || later.any(|it| opens_with(it, RESERVATIONS));
            give(&Clause { text: inner, start, asks, guarded, doubtful });
            guarded |= guards(inner);
            start += part.len();
        }
        quoted |= quotes(sentence);
    }
}

/// Whether a clause begins with one of these, or with their like in Chinese.
fn opens_with(clause: &str, words: &[&str]) -> bool {
    let lower = clause.to_lowercase();
    let first = lower.split_whitespace().find(|word| !matches!(*word, "and" | "so" | "or"));
    first.is_some_and(|first| words.contains(&first))
        || !lower.is_ascii()
            && CHINESE_RESERVATIONS.iter().any(|word| lower.trim_start().starts_with(word))
}

/// Whether a sentence makes those behind it a text that something is to be done with, or puts them off.
fn quotes(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let mut words = lower.split_whitespace().map(|word| word.trim_matches(CLAUSE_ENDS));
    words.clone().any(|word| QUOTATIONS.contains(&word))
        || words.next_back().is_some_and(|last| QUOTED_OBJECTS.contains(&last))
        || has_any(&lower, CHINESE_QUOTATIONS)
}

/// Whether what follows a call makes it depend on something, or takes it back.
fn has_reservation(rest: &str) -> bool {
    let lower = rest.to_lowercase();
    lower.split_whitespace().any(|word| RESERVATIONS.contains(&word))
        || has_any(&lower, CHINESE_RESERVATIONS)
}

/// Whether a clause makes those behind it depend on it, or quotes them.
fn guards(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    let is_guard = |word: &str| GUARDS.contains(&word) || NEGATIONS.contains(&word);
    lower.split_whitespace().any(is_guard)
        || lower.split_whitespace().next().is_some_and(|first| QUESTIONS.contains(&first))
        || has_any(&lower, CHINESE_GUARDS)
}

/// Whether a text has one of these Chinese words.
fn has_any(text: &str, words: &[&str]) -> bool {
    !text.is_ascii() && words.iter().any(|word| text.contains(word))
}

#[derive(Debug)]
struct Word {
    lower: String,
    /// It is written as a name (`Anna`) or a number.
    proper: bool,
    span: Range<usize>,
}

impl Clause<'_> {
    /// Adds the names that are called in this clause.
    pub(super) fn orders(&self, found: &mut Vec<Found>) {
        if self.guarded {
            return;
        }
        let words = self.words();
        let before = found.len();
        self.english(&words, found);
        self.chinese(found);
        for call in &mut found[before..] {
            let rest = self.text.get(call.end - self.start..).unwrap_or_default();
            if self.doubtful || has_reservation(rest) {
                call.force = Force::Mentioned;
            }
        }
    }

    fn words(&self) -> Vec<Word> {
        let mut words = Vec::new();
        let mut at = 0;
        for part in self.text.split_inclusive(char::is_whitespace) {
            let word = part.trim_end().trim_end_matches([')', '*', '.', '!', '?']);
            if !word.is_empty() {
                let start = self.start + at;
                // An apostrophe may be typed or set.
                let lower = word.to_lowercase().replace('’', "'");
                let proper = word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
                words.push(Word { lower, proper, span: start..start + word.len() });
            }
            at += part.len();
        }
        words
    }

    fn english(&self, words: &[Word], found: &mut Vec<Found>) {
        let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
        let (first, polite) = opened(&lower);
        if self.asks && !polite {
            return;
        }
        let Some(head) = lower.get(first) else { return };
        let mut ordered = false;
        if VERBS.contains(head) {
            let before = found.len();
            let verb =
                first + usize::from(*head == "try" && lower.get(first + 1) == Some(&"using"));
            object(words, verb + 1, lower.get(verb).unwrap_or(head), force_of(head), found);
            ordered = found.len() > before;
        }
        let is_free = !QUESTIONS.contains(head) && !SUBJECTS.contains(head);
        if !ordered && is_free && lower.get(first + 1) == Some(&"skill") && head.starts_with('(') {
            let span = words[first].span.start + 1..words[first].span.end;
            let end = words[first + 1].span.end;
            found.push(Found { name: span, end, force: Force::Mentioned, beside: true });
        }
        for at in first + usize::from(ordered)..lower.len() {
            if NEGATIONS.contains(&lower[at]) || SUBORDINATES.contains(&lower[at]) {
                break;
            }
            if matches!(lower[at], "and" | "then" | "plus" | "&") {
                let (next, _) = opened(&lower[at + 1..]);
                let next = at + 1 + next;
                let verb = lower.get(next).filter(|verb| VERBS.contains(verb) && is_free);
                if let Some(verb) = verb {
                    object(words, next + 1, verb, force_of(verb), found);
                } else if ordered {
                    direct(words, next, head, force_of(head), found);
                }
            } else if at > first && MEANS.contains(&lower[at]) && is_free && !ABOUT.contains(head) {
                object(words, at + 1, lower[at], Force::Mentioned, found);
            } else if lower[at].starts_with('(') && lower.get(at + 1) == Some(&"skill") {
                let span = words[at].span.start + 1..words[at].span.end;
                let end = words[at + 1].span.end;
                found.push(Found { name: span, end, force: Force::Mentioned, beside: true });
            }
        }
        self.wish(words, &lower, found);
    }

    /// `I want the pdf skill here`, `the skill pdf should do this`.
    fn wish(&self, words: &[Word], lower: &[&str], found: &mut Vec<Found>) {
        if self.asks {
            return;
        }
        match lower {
            ["i" | "we", "want" | "need", ..] => object(words, 2, "want", Force::Mentioned, found),
            ["the", "skill", _, "should" | "must", next, ..]
            | ["the", _, "skill", "should" | "must", next, ..]
                if !matches!(*next, "be" | "not" | "have" | "never") =>
            {
                let at = if lower[1] == "skill" { 2 } else { 1 };
                let (name, end) = (words[at].span.clone(), words[2].span.end);
                found.push(Found { name, end, force: Force::Mentioned, beside: true });
            }
            _ => {}
        }
    }

    fn chinese(&self, found: &mut Vec<Found>) {
        if self.text.is_ascii() {
            return;
        }
        let mut text = self.text.trim_start();
        let mut polite = false;
        while let Some(rest) = CHINESE_OPENINGS.iter().find_map(|word| text.strip_prefix(word)) {
            polite |= CHINESE_POLITE.iter().any(|word| text.starts_with(word));
            text = rest.trim_start();
        }
        if self.asks && !polite {
            return;
        }
        let is_means = CHINESE_MEANS.iter().any(|word| text.starts_with(word));
        let force = if is_means { Force::Mentioned } else { Force::Ordered };
        if let Some(call) = self.chinese_call(text, force) {
            found.push(call);
        } else if text.starts_with(['把', '将', '给', '对'])
            && let Some(at) = text.rfind('用')
            && !NEGATIVE_CHARACTERS.iter().any(|no| text[..at].contains(no))
            && let Some(call) = self.chinese_call(&text[at..], Force::Mentioned)
            && call.beside
        {
            found.push(call);
        }
    }

    /// The call that `text`, the rest of this clause, begins with.
    fn chinese_call(&self, text: &str, force: Force) -> Option<Found> {
        let place = |part: &str| part.as_ptr() as usize - self.text.as_ptr() as usize + self.start;
        let verb = CHINESE_VERBS.iter().find(|verb| text.starts_with(**verb))?;
        let mut rest = text[verb.len()..].trim_start();
        while let Some(more) = CHINESE_ARTICLES.iter().find_map(|word| rest.strip_prefix(word)) {
            rest = more.trim_start();
        }
        let found = |name: &str, behind: &str, beside| {
            let tail = behind.trim_start();
            let goes_on = !CHINESE_TAIL_BLOCKS.iter().any(|word| tail.starts_with(word))
                && !CHINESE_TAIL_REPORTS.iter().any(|word| tail.contains(word))
                && !tail.trim_end().ends_with('了');
            let name_at = place(name);
            goes_on.then(|| Found {
                name: name_at..name_at + name.len(),
                end: place(behind),
                force,
                beside,
            })
        };
        let name_of = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii() || !is_name_part(c)).unwrap_or(text.len());
            let is_path = text[end..].starts_with(|c: char| "./\\:@".contains(c));
            (!is_path && is_name(&text[..end])).then_some(end)
        };
        if let Some(behind) = CHINESE_KINDS.iter().find_map(|kind| rest.strip_prefix(kind)) {
            let behind = behind.trim_start();
            let end = name_of(behind)?;
            return found(&behind[..end], &behind[end..], true);
        }
        let kind =
            CHINESE_KINDS.iter().filter_map(|kind| Some((rest.find(kind)?, kind.len()))).min();
        if let Some((at, length)) = kind.filter(|&(at, _)| at > 0 && at <= MAX_NAME_BYTES) {
            let name = rest[..at].trim();
            if name.split_whitespace().all(is_name) && !name.is_empty() {
                return found(name, &rest[at + length..], true);
            }
        }
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let end = name_of(rest)?;
        is_compound(&rest[..end]).then(|| found(&rest[..end], &rest[end..], false))?
    }
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '+' | '#')
}

/// How many words open an order politely, and whether they ask for it (`can you`).
fn opened(lower: &[&str]) -> (usize, bool) {
    let (mut at, mut polite) = (0, false);
    loop {
        let rest = lower.get(at..).unwrap_or_default();
        let opening = OPENINGS.iter().find(|words| rest.starts_with(words));
        let Some(opening) = opening else { return (at, polite) };
        polite |= opening.last() == Some(&"you") && opening.len() == 2;
        at += opening.len();
    }
}

/// What a verb asks for: `with the deploy skill` is no order.
fn force_of(verb: &str) -> Force {
    if MEANS.contains(&verb) { Force::Mentioned } else { Force::Ordered }
}

/// The name that a verb before `at` has as its object.
fn object(words: &[Word], at: usize, verb: &str, force: Force, found: &mut Vec<Found>) {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let mut from = at;
    while from < at + 3 && ARTICLES.contains(&lower(from)) {
        from += 1;
    }
    let text_is_name = |at: usize| words.get(at).is_some_and(|word| is_name(&word.lower));
    // `the code review skill`
    let behind = (from + 1..from + 7).find(|&at| is_kind(lower(at)));
    if let Some(kind) = behind.filter(|&kind| (from..kind).all(text_is_name)) {
        if goes_on(words, kind + 1, verb) {
            let parts =
                words[from..kind].split(|word| lower(kind).ends_with('s') && word.lower == "and");
            for part in parts.filter(|part| !part.is_empty()) {
                let name = part[0].span.start..part[part.len() - 1].span.end;
                found.push(Found { name, end: words[kind].span.end, force, beside: true });
            }
        }
        return;
    }
    // `the skill pdf`
    if is_kind(lower(from)) {
        let name = from + 1 + usize::from(matches!(lower(from + 1), "named" | "called"));
        if text_is_name(name) && goes_on(words, name + 1, verb) {
            let span = words[name].span.clone();
            found.push(Found { end: span.end, name: span, force, beside: true });
        }
        return;
    }
    let called = words.get(from).and_then(|word| word.lower.strip_prefix('/'));
    if called.is_some_and(is_name) && force == Force::Ordered {
        // The sign stays: it marks a name as one.
        let span = words[from].span.clone();
        found.push(Found { end: span.end, name: span, force, beside: false });
    } else if from == at && CALLS.contains(&verb) {
        direct(words, at, verb, force, found);
    }
}

/// A name with a hyphen that stands at `at` without the word skill.
fn direct(words: &[Word], at: usize, verb: &str, force: Force, found: &mut Vec<Found>) {
    let Some(word) = words.get(at).filter(|word| is_compound(&word.lower)) else { return };
    let behind = words.get(at + 1).map(|word| word.lower.as_str());
    if behind.is_none_or(|behind| BEHIND.contains(&behind) || behind.starts_with(is_unspaced))
        && goes_on(words, at + 1, verb)
    {
        let name = word.span.clone();
        found.push(Found { end: name.end, name, force, beside: false });
    }
}

fn is_kind(word: &str) -> bool {
    KINDS.contains(&word) || CHINESE_KINDS.iter().any(|kind| word.starts_with(kind))
}

/// Whether the words from `at` continue an order, and do not make its object the subject of something
/// (`the deploy skill failed`), a part of another name (`the deploy skill docs`), or a thing that is only
/// spoken of (`as an example`, `call the deploy skill a failure`).
fn goes_on(words: &[Word], at: usize, verb: &str) -> bool {
    let Some(word) = words.get(at) else { return true };
    let lower = word.lower.as_str();
    let next = words.get(at + 1).map_or("", |word| word.lower.as_str());
    let is_word =
        lower.starts_with(|c: char| c.is_ascii_alphabetic()) && !lower.contains(['.', '/', BLOT]);
    match lower {
        "as" => !AS_WHAT.contains(&next) && !ARTICLES.contains(&next),
        "for" => !AS_WHAT.contains(&next),
        "and" => !PRONOUNS.contains(&next),
        // What it is to be called.
        _ if verb == "call" && is_word && (word.proper || ARTICLES.contains(&lower)) => false,
        lower => TAILS.contains(&lower) || word.proper || !is_word,
    }
}
