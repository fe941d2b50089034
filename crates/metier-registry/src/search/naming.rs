//! Skills that a request calls by name in its prose, and those that it declines.
//! tidy:allow-cjk
//!
//! The grammar is small. A name is called when it stands after a word such as *use* or *invoke*
//! (`use pdf for this`), or with the word *skill* or *workflow* behind it and such a word close before
//! it (`I want the code review skill`), or as the first thing with a colon behind it (`pdf: merge
//! these`), or as a command (`/pdf`), or with a hyphen after *and* when something was called before
//! (`use csv-summary on a.csv and profile-csv on b.csv`). A name is declined when *not*, *without*, *instead of* or
//! *rather than* stands directly before that. All other mentions are words like others.
//!
//! Why a grammar and not a score. A call by name comes before every ranking, so a false one is worse
//! than a missed one: a missed call is still found by its words, a false one loads an unwanted
//! manual. And names are chosen by strangers. A skill may be called `use`, `and`, `this` or
//! `summarise the report`; if a bare mention were a call, such a skill would be loaded by half of all
//! requests. So a name counts only where a person's sentence puts it (after a word of calling, before
//! *skill*, as a command), without the word *skill* only where a sentence of that kind continues or ends,
//! and a refusal only where it touches the call, since `not only pdf` and `do not use pdf` differ by
//! just that. Ordinary words count only as a command or in quotes. The number of words that are looked at is bounded, and with it what a pasted file can
//! do. What these rules miss, ranking by description finds.

use std::collections::HashSet;

use super::fold::{is_ignored, is_unspaced, narrow, push_folded};
use super::ordinary_words::is_ordinary;

/// Words of a request beyond this many are not looked at: who calls a skill does so early or late,
/// and what is longer is pasted.
const MAX_WORDS: usize = 512;

/// How a request mentions a document by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Naming {
    /// It says not to use it.
    Declined,
    /// It calls it.
    Called,
}

/// A word that asks for something to be used; the first ones also do so without an article or *skill*.
const CALLS: &[&str] =
    &["use", "using", "invoke", "invoking", "call", "activate", "load", "run", "enter", "entering"];
const ASKS: &[&str] =
    &["apply", "launch", "need", "start", "through", "trigger", "try", "via", "want", "with"];
const ARTICLES: &[&str] = &["the", "my", "our", "your", "this", "a", "an", "named", "called"];
const KINDS: &[&str] = &["skill", "skills", "workflow"];
const REFUSALS: &[&str] = &["not", "dont", "never", "without", "no", "avoid", "skip"];
/// What may stand behind a name that is called without the word *skill*.
const BEHIND: &[&str] = &[
    "again", "and", "as", "at", "for", "here", "in", "instead", "now", "on", "please", "then",
    "to", "with",
];
const CHINESE_CALLS: &[&str] = &["用", "调用", "启动", "运行", "激活", "进入", "执行"];
const CHINESE_REFUSALS: &[&str] = &["不要", "不用", "别", "勿", "不"];
const CHINESE_KINDS: &[&str] = &["技能", "工作流"];

/// A request, cut into words to look for names in.
#[derive(Debug, Default)]
pub(super) struct Prose {
    words: Vec<Word>,
    known: HashSet<String>,
}

#[derive(Debug, Default)]
struct Word {
    /// Folded as names are.
    text: String,
    /// A command's sign (`/`, `$`, `@`) stands before it.
    sign: bool,
    /// A quotation mark stands directly before it, and one directly behind it.
    quoted: (bool, bool),
    /// A sign other than a joint (`-`, `_`, `.`) stands behind it.
    stop: Option<char>,
    /// A blank or the text's end stands behind it, perhaps after a sign.
    separate: bool,
}

impl Prose {
    pub(super) fn read(request: &str) -> Self {
        let mut prose = Self::default();
        let mut word = Word::default();
        let (mut earlier, mut before) = (' ', ' ');
        for c in request.chars().map(narrow).filter(|&c| !is_ignored(c)) {
            if prose.words.len() >= MAX_WORDS {
                break;
            }
            let same = word.text.is_empty() || word.text.starts_with(is_unspaced) == is_unspaced(c);
            if c.is_alphanumeric() || (matches!(c, '+' | '#') && !word.text.is_empty()) {
                if !same {
                    prose.words.push(std::mem::take(&mut word));
                }
                if word.text.is_empty() {
                    // `/pdf` is a command, `skills/pdf` is a path.
                    let begins =
                        earlier.is_whitespace() || matches!(earlier, '(' | '"' | '`' | '\'');
                    word.sign = matches!(before, '/' | '$' | '@') && begins;
                    word.quoted.0 = is_quote(before);
                }
                if c.is_ascii() {
                    word.text.push(c.to_ascii_lowercase());
                } else {
                    push_folded(c, &mut word.text);
                }
            } else if matches!(c, '\'' | '\u{2019}') && !word.text.is_empty() {
                continue; // don't is dont
            } else {
                if !word.text.is_empty() {
                    word.quoted.1 = is_quote(c);
                    prose.words.push(std::mem::take(&mut word));
                }
                if let Some(last) = prose.words.last_mut() {
                    if c.is_whitespace() {
                        last.separate = true;
                    } else if last.stop.is_none()
                        && !is_joint(c)
                        && !(last.separate && opens_a_word(c))
                    {
                        last.stop = Some(c);
                    }
                }
            }
            (earlier, before) = (before, c);
        }
        if !word.text.is_empty() {
            prose.words.push(word);
        }
        if let Some(last) = prose.words.last_mut() {
            last.separate = true;
        }
        prose.known = prose.words.iter().map(|word| word.text.clone()).collect();
        prose
    }

    /// How the request mentions a document with this name, whose `key` is folded to words.
    pub(super) fn naming(&self, key: &str) -> Option<Naming> {
        if key.starts_with(is_unspaced) {
            return self.unspaced(key);
        }
        let is_plain = is_ordinary(key);
        let first = key.split(' ').next().filter(|first| !first.is_empty())?;
        if !self.known.contains(first) {
            return None; // true for nearly all of many names
        }
        let name: Vec<&str> = key.split(' ').collect();
        let places = self.words.windows(name.len()).enumerate();
        let places = places
            .filter(|(_, words)| words.iter().zip(&name).all(|(word, name)| word.text == **name));
        let places = places.filter(|(at, _)| !is_plain || self.is_marked(*at, at + name.len()));
        places.filter_map(|(at, _)| self.at(at, at + name.len())).min()
    }

    /// Whether these words are plainly a name, whatever they mean: as a command, or in quotes.
    fn is_marked(&self, start: usize, end: usize) -> bool {
        let first = self.words.get(start).is_some_and(|word| word.sign || word.quoted.0);
        let last = self.words.get(end.wrapping_sub(1)).is_some_and(|word| word.quoted.1);
        first && (last || self.words.get(start).is_some_and(|word| word.sign))
    }

    /// How the words from `start` up to `end` are spoken of.
    fn at(&self, start: usize, end: usize) -> Option<Naming> {
        // `sales.csv` and `pdf/forms` are files, `pdf-like` is another word.
        let joined = |at: usize| self.words.get(at).is_some_and(|word| !word.separate);
        let file = self.words.get(end.wrapping_sub(1)).is_some_and(|word| {
            !word.separate && matches!(word.stop, Some('.' | '/' | '\\') | None)
        }) && end < self.words.len()
            && !self.unspaced_at(end);
        let inside = start.checked_sub(1).is_some_and(joined)
            && !self.unspaced_at(start.wrapping_sub(1))
            && !self.words.get(start).is_some_and(|word| word.sign);
        if file || inside {
            return None;
        }
        let kind = self.words.get(end).is_some_and(|word| {
            KINDS.contains(&word.text.as_str())
                || CHINESE_KINDS.iter().any(|kind| word.text.starts_with(kind))
        }) && self.stop_before(end).is_none();
        let (verb, reach) = self.verb_before(start, kind);
        let refused = self.refused_before(reach);
        let command = self.words.get(start).is_some_and(|word| word.sign);
        let behind = self.words.get(end).is_none_or(|word| {
            BEHIND.contains(&word.text.as_str()) || word.text.starts_with(is_unspaced)
        }) || self.stop_before(end).is_some();
        let heads = start == 0 && self.stop_before(end) == Some(':');
        if refused && (verb != Verb::None || !command) {
            return Some(Naming::Declined);
        }
        let called = command
            || heads
            || kind && verb != Verb::None
            || behind && (verb == Verb::Direct || self.is_also_called(start, end));
        called.then_some(Naming::Called)
    }

    /// Whether these words are joined by hyphens.
    fn is_compound(&self, start: usize, end: usize) -> bool {
        let joined = |name: &[Word]| name.iter().all(|word| !word.separate);
        end - start > 1 && self.words.get(start..end - 1).is_some_and(joined)
    }

    /// Whether a name with a hyphen follows *and*, and something was called before.
    fn is_also_called(&self, start: usize, end: usize) -> bool {
        let compound = self.is_compound(start, end);
        let before = self.words.get(..start).unwrap_or_default();
        let joint = before.last().is_some_and(|word| {
            matches!(word.text.as_str(), "and" | "then" | "also" | "plus" | "和" | "然后" | "再")
        });
        compound && joint && before.iter().any(|word| CALLS.contains(&word.text.as_str()))
    }

    fn unspaced_at(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|word| word.text.starts_with(is_unspaced))
    }

    fn stop_before(&self, at: usize) -> Option<char> {
        at.checked_sub(1).and_then(|at| self.words.get(at)).and_then(|word| word.stop)
    }

    /// The verb before a name, and where it stands (the name's own place when there is none).
    fn verb_before(&self, start: usize, kind: bool) -> (Verb, usize) {
        let mut at = start;
        let mut articles = 0;
        while let Some(before) = at.checked_sub(1) {
            let Some(word) = self.words.get(before).filter(|word| word.stop.is_none()) else {
                break;
            };
            let text = word.text.as_str();
            if CALLS.contains(&text) || CHINESE_CALLS.iter().any(|call| text.ends_with(call)) {
                let direct = articles == 0;
                return (if direct { Verb::Direct } else { Verb::Far }, before);
            }
            if kind && ASKS.contains(&text) {
                return (Verb::Far, before);
            }
            if !ARTICLES.contains(&text) || articles == 3 {
                break;
            }
            articles += 1;
            at = before;
        }
        (Verb::None, at)
    }

    /// Whether what begins at `at` is refused by what stands directly before it.
    fn refused_before(&self, at: usize) -> bool {
        if let Some(word) = self.words.get(at)
            && word.text.starts_with(is_unspaced)
            && CHINESE_REFUSALS.iter().any(|refusal| word.text.contains(refusal))
        {
            return true;
        }
        let before = |steps: usize| {
            let word = at.checked_sub(steps).and_then(|at| self.words.get(at))?;
            word.stop.is_none().then_some(word.text.as_str())
        };
        let Some(last) = before(1) else {
            return false;
        };
        REFUSALS.contains(&last)
            || CHINESE_REFUSALS.iter().any(|refusal| last.ends_with(refusal))
            || matches!((before(2), last), (Some("instead"), "of") | (Some("rather"), "than"))
    }

    /// A name in a script without spaces stands inside a run of characters.
    fn unspaced(&self, key: &str) -> Option<Naming> {
        let is_plain = is_ordinary(key);
        self.words
            .iter()
            .enumerate()
            .filter_map(|(place, word)| {
                let at = word.text.find(key)?;
                let is_quoted = word.quoted == (true, true) && word.text == key;
                if is_plain && !word.sign && !is_quoted {
                    return None;
                }
                let (mut before, mut behind) = (&word.text[..at], &word.text[at + key.len()..]);
                if is_quoted {
                    // The quotes cut the run of characters; what it says stands around them.
                    let text =
                        |place: Option<usize>| self.words.get(place?).map(|it| it.text.as_str());
                    before = text(place.checked_sub(1)).unwrap_or_default();
                    behind = text(Some(place + 1)).unwrap_or_default();
                }
                let call = CHINESE_CALLS.iter().find_map(|call| before.strip_suffix(call));
                let refused = |text: &str| CHINESE_REFUSALS.iter().any(|no| text.ends_with(no));
                let kind = CHINESE_KINDS.iter().any(|kind| behind.starts_with(kind));
                if call.is_some_and(refused) || refused(before) {
                    Some(Naming::Declined)
                } else if word.sign || call.is_some() || kind && (before.is_empty() || is_quoted) {
                    Some(Naming::Called)
                } else {
                    None
                }
            })
            .min()
    }

    /// Whether the request calls some skill, whatever its name: by a command, or as *the some-name
    /// skill*. A slash that begins a path is no command, so it counts only at the beginning or after
    /// a verb; *a new skill* is not a name, so one counts only when it is written with a hyphen.
    pub(super) fn calls_some(&self) -> bool {
        (0..self.words.len()).any(|at| {
            let Some(word) = self.words.get(at) else {
                return false;
            };
            let (verb, reach) = self.verb_before(at, false);
            let command = word.sign && word.stop != Some('/') && (at == 0 || verb != Verb::None);
            (command || verb != Verb::None && self.is_compound_skill(at))
                && !self.refused_before(reach)
        })
    }

    /// Whether words joined by hyphens begin here and *skill* follows them.
    fn is_compound_skill(&self, start: usize) -> bool {
        let rest = self.words.get(start..).unwrap_or_default();
        let joined = rest.iter().take_while(|word| !word.separate && word.stop.is_none()).count();
        let behind = rest.get(joined + 1).map(|word| word.text.as_str());
        joined > 0 && matches!(behind, Some("skill" | "workflow"))
    }
}

/// Whether a sign neither ends what a word belongs to nor stands between two things.
fn is_joint(sign: char) -> bool {
    matches!(sign, '-' | '_' | '*') || is_quote(sign)
}

fn is_quote(sign: char) -> bool {
    matches!(
        sign,
        '"' | '`'
            | '\''
            | '\u{2018}'
            | '\u{2019}'
            | '\u{201c}'
            | '\u{201d}'
            | '\u{300c}'
            | '\u{300d}'
    )
}

/// Whether a sign after a blank belongs to what follows.
fn opens_a_word(sign: char) -> bool {
    matches!(sign, '/' | '$' | '@' | '(' | '[' | '{' | '<' | '~' | '.')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    None,
    /// A word that asks, or with an article between.
    Far,
    /// A word that calls, directly before the name.
    Direct,
}
