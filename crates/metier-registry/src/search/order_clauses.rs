//! The clauses of a line, and which of them order a skill. Those in Chinese are read by `order_chinese`.
//! tidy:allow-cjk
//!
//! What `orders` promises is kept here: the verb opens its clause, and neither a question, a refusal, a
//! condition nor a report stands around it. What else may stand there is in `order_tails`. Pure, over a line whose
//! quotes are blotted out.

use std::ops::Range;

use super::fold::is_unspaced;
use super::order_chinese;
use super::order_quotes::{BLOT, Masked};
use super::order_tails::{is_bare_condition, is_closed, is_doubtful, leaves_it, takes_back};
use super::order_words::{
    ABOUT, ARTICLES, AS_WHAT, BEHIND, CALLS, CHINESE_GUARDS, CHINESE_KINDS, CHINESE_QUESTION_ENDS,
    CHINESE_QUOTATIONS, CLAUSE_ENDS, GUARDS, JOINTS, KINDS, MEANS, NEGATIONS, OPENINGS, PRONOUNS,
    QUESTIONS, QUOTATIONS, QUOTED_OBJECTS, REPORTS, SENTENCE_ENDS, SUBJECTS, SUBORDINATES, TAILS,
    VERBS,
};
use super::orders::{Force, is_compound, is_name};

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
    pub(super) text: &'l str,
    /// Where it begins in the line.
    pub(super) start: usize,
    /// Its sentence asks something.
    pub(super) asks: bool,
    /// An earlier clause of its sentence orders a skill, so that this one may go on: `then the pdf skill`.
    pub(super) goes_on: bool,
}

/// The names that are called in a line up to its first colon; `behind` is what stands below it.
pub(super) fn calls(line: &Masked, behind: &str) -> Vec<Found> {
    let text = &line.text;
    let is_end = |at: usize, c: char| {
        !c.is_ascii()
            || text[at + 1..].chars().next().is_none_or(|next| next.is_whitespace() || next == ')')
    };
    let colon = text.char_indices().find(|&(at, c)| c == '：' || c == ':' && is_end(at, c));
    let behind_colon = colon.map(|(at, c)| &text[at + c.len_utf8()..]);
    let text = &text[..colon.map_or(text.len(), |(at, _)| at)];
    let mut found = Vec::new();
    // An earlier sentence makes this one a text that something is to be done with, or puts it off.
    let (mut begin, mut quoted) = (0, false);
    let mut marks =
        text.char_indices().filter(|&(at, c)| SENTENCE_ENDS.contains(c) && is_end(at, c));
    while begin < text.len() {
        let mark = marks.next();
        let end = mark.map_or(text.len(), |(at, _)| at);
        let sentence = text.get(begin..end).unwrap_or_default();
        let start = begin;
        begin = mark.map_or(text.len(), |(at, c)| at + c.len_utf8());
        let asks = mark.is_some_and(|(_, c)| matches!(c, '?' | '？'))
            || CHINESE_QUESTION_ENDS.iter().any(|word| sentence.trim_end().ends_with(word));
        let before = found.len();
        sentence_calls(sentence, start, asks, &mut found);
        if found.len() > before {
            let first = |text: &str| {
                is_doubtful(text.split(|c| SENTENCE_ENDS.contains(c)).next().unwrap_or(text))
            };
            let depends = match (text[begin..].trim().is_empty(), behind_colon) {
                (false, _) => takes_back(&text[begin..]),
                (true, Some(rest)) => first(if rest.trim().is_empty() { behind } else { rest }),
                (true, None) => takes_back(behind),
            };
            if quoted || depends {
                found[before..].iter_mut().for_each(|call| call.force = Force::Mentioned);
            }
        }
        quoted |= begin < text.len() && (quotes(sentence) || is_bare_condition(sentence));
    }
    found
}

/// Adds what one sentence calls; it begins at `start`.
fn sentence_calls(sentence: &str, start: usize, asks: bool, found: &mut Vec<Found>) {
    // `use the deploy skill, he said`
    let reported = |word: &str| REPORTS.contains(&word.trim_matches(','));
    if sentence.to_lowercase().split_whitespace().any(reported) {
        return;
    }
    let (mut start, mut goes_on) = (start, false);
    // How many clauses were looked at for what the later ones depend on: none where nothing is called.
    let (mut depends, mut looked_at) = (false, 0);
    let first = found.len();
    // The clauses up to one that makes the rest depend on it, each with its calls.
    let mut clauses: Vec<(&str, Range<usize>)> = Vec::new();
    let mut guarded = false;
    for part in sentence.split_inclusive(CLAUSE_ENDS) {
        let text = part.trim_end_matches(CLAUSE_ENDS);
        let before = found.len();
        if !guarded {
            Clause { text, start, asks, goes_on }.orders(found);
        }
        if found.len() > before {
            depends = depends || clauses[looked_at..].iter().any(|(text, _)| is_doubtful(text));
            looked_at = clauses.len();
        }
        if depends {
            found[before..].iter_mut().for_each(|call| call.force = Force::Mentioned);
        }
        clauses.push((text, before..found.len()));
        goes_on |= found.len() > before;
        guarded |= guards(text);
        start += part.len();
    }
    if found.len() == first {
        return;
    }
    let mut is_left = true;
    for (text, calls) in clauses.into_iter().rev() {
        let own = &mut found[calls];
        if !is_left {
            for call in own.iter_mut() {
                call.force = Force::Mentioned;
            }
        }
        let orders = !own.is_empty() && own.iter().all(|call| call.force == Force::Ordered);
        is_left &= orders || leaves_it(text);
    }
}

/// Whether a sentence makes those behind it a text that something is to be done with, or puts them off.
fn quotes(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let mut words = lower.split_whitespace().map(|word| word.trim_matches(CLAUSE_ENDS));
    words.clone().any(|word| QUOTATIONS.contains(&word))
        || words.next_back().is_some_and(|last| QUOTED_OBJECTS.contains(&last))
        || has_any(&lower, CHINESE_QUOTATIONS)
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
    fn orders(&self, found: &mut Vec<Found>) {
        let words = self.words();
        let before = found.len();
        self.english(&words, found);
        order_chinese::calls(self, found);
        let calls = &mut found[before..];
        calls.sort_by_key(|call| call.name.start);
        // From the last one on: what makes it depend on something holds for those before it.
        let mut is_plain = true;
        let mut next: Option<&Found> = None;
        for call in calls.iter_mut().rev() {
            let end = next.map_or(self.start + self.text.len(), |next| next.name.start);
            // Several names before one `skills` have the same end.
            if end > call.end {
                let rest = self.text.get(call.end - self.start..end - self.start);
                is_plain &= is_closed(up_to_joint(rest.unwrap_or_default(), next.is_some()));
            }
            let before = self.text.get(..call.name.start - self.start).unwrap_or_default();
            if !is_plain || is_doubtful(before) {
                call.force = Force::Mentioned;
            }
            next = Some(call);
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
        } else if self.goes_on {
            also(words, first, found);
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
            if JOINTS.contains(&lower[at]) {
                let (next, _) = opened(&lower[at + 1..]);
                let next = at + 1 + next;
                let verb = lower.get(next).filter(|verb| VERBS.contains(verb) && is_free);
                if let Some(verb) = verb {
                    object(words, next + 1, verb, force_of(verb), found);
                } else if ordered {
                    let before = found.len();
                    direct(words, next, head, force_of(head), found);
                    if found.len() == before {
                        also(words, next, found);
                    }
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

    /// `I want the pdf skill here`, `the skill pdf should do this`, `a page with the html skill`.
    fn wish(&self, words: &[Word], lower: &[&str], found: &mut Vec<Found>) {
        if self.asks {
            return;
        }
        match lower {
            ["i" | "we", "want" | "need", ..] => {
                object(words, 2, "want", Force::Mentioned, found);
                thing_with(words, 2, found);
            }
            ["i'd" | "we'd", "like", ..] => thing_with(words, 2, found),
            ["i" | "we", "would", "like", ..] => thing_with(words, 3, found),
            ["the", "skill", _, "should" | "must", next, ..]
            | ["the", _, "skill", "should" | "must", next, ..]
                if !matches!(*next, "be" | "not" | "have" | "never") =>
            {
                let at = if lower[1] == "skill" { 2 } else { 1 };
                let (name, end) = (words[at].span.clone(), words[2].span.end);
                found.push(Found { name, end, force: Force::Mentioned, beside: true });
            }
            _ => thing_with(words, opened(lower).0, found),
        }
    }
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

/// What continues an order: `the pdf skill` behind `use the html skill and`.
fn also(words: &[Word], at: usize, found: &mut Vec<Found>) {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let articles = (at..at + 3).take_while(|&at| ARTICLES.contains(&lower(at))).count();
    let from = at + articles;
    // Behind an article a name may have several words; without one it stands alone.
    let most = if articles > 0 { from + 4 } else { from + 2 };
    let is_part = |at: usize| {
        let word = lower(at);
        is_name(word)
            && !ARTICLES.contains(&word)
            && !TAILS.contains(&word)
            && !ABOUT.contains(&word)
    };
    // `html 技能坏了` says something of it.
    let is_whole = |word: &str| KINDS.contains(&word) || CHINESE_KINDS.contains(&word);
    let kind = (from..most).find(|&at| is_whole(lower(at)));
    if kind.is_some_and(|kind| (from..kind).all(is_part)) {
        object(words, at, "use", Force::Ordered, found);
    }
}

/// `a page with the html skill`, from its article on.
fn thing_with(words: &[Word], at: usize, found: &mut Vec<Found>) {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    if !matches!(lower(at), "a" | "an") {
        return;
    }
    let is_end =
        |word: &str| NEGATIONS.contains(&word) || SUBORDINATES.contains(&word) && word != "about";
    let behind = (at + 1..words.len()).take_while(|&at| !is_end(lower(at)));
    for means in behind.filter(|&at| MEANS.contains(&lower(at))) {
        object(words, means + 1, lower(means), Force::Mentioned, found);
    }
}

/// What stands between two calls, without what leads to the second: ` on a.csv and use the `.
fn up_to_joint(rest: &str, is_between: bool) -> &str {
    let word_at = |word: &str| word.as_ptr() as usize - rest.as_ptr() as usize;
    let mut words = rest.split_whitespace().filter(|_| is_between);
    let joint = words.position(|word| JOINTS.contains(&word.to_lowercase().as_str()));
    let joint = joint.and_then(|at| rest.split_whitespace().nth(at)).map(word_at);
    &rest[..joint.unwrap_or(rest.len())]
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
        // What makes it depend on something leaves a wish.
        "if" | "unless" | "until" | "when" | "once" | "after" | "before" | "depending"
        | "pending" | "subject" | "provided" | "assuming" | "upon" => true,
        lower => TAILS.contains(&lower) || word.proper || !is_word,
    }
}
