//! The words of a request that nothing of a script's run accounts for.
//!
//! A script is given files, columns and numbers, and nothing else of a request. So a word that is none of these, no
//! part of what the skill says it does and no filler was not taken into account, whatever it means: `North` in
//! "total units of North". Better a word too many is named than a wrong number given in silence. Called by `unmet`,
//! in English and Chinese (tidy:allow-cjk).

use std::collections::HashSet;
use std::ops::Range;

use crate::chinese::{COUNTERS, DIGITS};
use crate::entities::{ROWS, RequestEntities, extension, is_han};
use crate::filler_words::{
    CHINESE_BEFORE, CHINESE_BEHIND, CHINESE_FILLERS, CHINESE_SINGLES, CONDITIONS, FILLERS, JOINTS,
    SUPERLATIVES,
};

/// The most parts that are named, and the words of each.
const MAX_PARTS: usize = 6;
const MAX_WORDS: usize = 12;

/// Takes the place of what is accounted for.
const DONE: char = '\u{1}';
/// Of two characters that a description has side by side: the end of a word may be left beside them (英文 and 英语).
const PAIR: char = '\u{2}';
/// Characters that are a value alone.
const SINGLE_VALUES: &str = "男女东西南北中春夏秋冬红黄蓝绿黑白灰紫金银甲乙丙丁京沪津渝粤浙苏鲁豫冀晋陕川湘鄂皖闽赣桂云贵琼辽吉\
     早晚今昨新旧真假左右删画存发改译除减乘非未不没无别仅只";
/// Figures and what they are called besides. Superlatives mean those of a whole table only: of groups they rank.
const FIGURES: &[(&[&str], &[&str])] = &[
    (&["mean", "average", "avg", "平均", "均值"], &[]),
    (
        &["max", "maximum", "最大"],
        &["highest", "largest", "biggest", "greatest", "peak", "最高", "最多"],
    ),
    (&["min", "minimum", "最小"], &["lowest", "smallest", "fewest", "least", "最低", "最少"]),
    (&["sum", "total", "总和"], &[]),
    (&["count", "个数"], &[]),
];

/// What accounts for words.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// What the script was given.
    args: HashSet<String>,
    /// What its output has as headings, such as the columns.
    headings: HashSet<String>,
    /// What the skill says of itself, as stems.
    about: HashSet<String>,
    /// The same, as it is written.
    about_text: String,
    /// Groups are ranked: `the most units` was done.
    ranks: bool,
    /// Other words for what its tables have.
    figures: Vec<&'static str>,
}

impl Account {
    /// `about` is the skill's name and description; `output` what the script printed.
    pub(crate) fn new(
        args: &[String],
        about: &str,
        output: &str,
        entities: &RequestEntities,
    ) -> Self {
        let about = without_refusals(about);
        let mut account = Self {
            about: words_of(&about).map(|word| stem(&word)).collect(),
            about_text: about,
            ranks: entities.ranks,
            ..Self::default()
        };
        for arg in args {
            account.args.insert(arg.to_lowercase());
            let name = arg.rsplit(['/', '\\']).next().unwrap_or(arg);
            // The file `sales.csv` is about sales.
            account.args.extend(words_of(name.split('.').next().unwrap_or(name)));
            account.args.extend(words_of(arg));
        }
        // The first line often names every column; of these, the ones that were worked on stand below it, too.
        let (first, below) = output.split_once('\n').unwrap_or((output, ""));
        let shown: HashSet<String> = words_of(below).collect();
        let named = words_of(first).filter(|word| shown.is_empty() || shown.contains(word));
        account.headings.extend(named);
        let headings = below.lines().filter_map(|line| line.split_once([':', '：']));
        account.headings.extend(headings.flat_map(|(heading, _)| words_of(heading)));
        let columns: HashSet<String> = header_rows(below).flat_map(words_of).collect();
        let is_whole = !args.iter().any(|arg| arg == "--by");
        for (names, superlatives) in FIGURES {
            if names.iter().any(|name| columns.contains(*name)) {
                account.figures.extend(*names);
                account.figures.extend(superlatives.iter().filter(|_| is_whole));
            }
        }
        // `price times units` is no question of how often.
        account.headings.extend(columns.into_iter().filter(|word| word != "times"));
        account
    }

    /// Whether a table has this figure, by whatever name.
    pub(crate) fn has_figure(&self, word: &str) -> bool {
        self.figures.contains(&word)
    }

    fn is_column(&self, word: &str) -> bool {
        self.args.contains(word) || self.headings.contains(word)
    }

    fn has(&self, word: &str) -> bool {
        word.is_empty()
            || FILLERS.contains(&word)
            || CONDITIONS.contains(&word)
            || JOINTS.contains(&word)
            || self.is_column(word)
            || self.about.contains(&stem(word))
            || self.ranks && SUPERLATIVES.contains(&word)
            || self.has_figure(word)
    }

    /// Whether a word, or each part of it (`csv-summary`), is accounted for.
    fn covers(&self, word: &str) -> bool {
        self.has(word) || word.split(|c: char| !c.is_alphanumeric()).all(|part| self.has(part))
    }
}

/// The header rows of tables: lines without a number, of several columns, above lines with one.
fn header_rows(output: &str) -> impl Iterator<Item = &str> {
    let has_digit = |line: &str| line.contains(|c: char| c.is_ascii_digit());
    let is_table = |line: &str| {
        let columns = line.split("  ").flat_map(|part| part.split(['|', '\t']));
        columns.filter(|it| !it.trim().is_empty()).count() > 1
    };
    let is_rule = |line: &str| line.contains("--") && !line.contains(char::is_alphanumeric);
    let mut lines = output.lines().filter(move |line| !is_rule(line)).peekable();
    std::iter::from_fn(move || {
        let line = lines.next()?;
        let is_header =
            is_table(line) && !has_digit(line) && lines.peek().is_some_and(|row| has_digit(row));
        Some(is_header.then_some(line))
    })
    .flatten()
}

/// What a text says that the skill is not for, or must not be done, must not account for anything.
pub(crate) fn without_refusals(about: &str) -> String {
    let is_refusal = |sentence: &str| {
        let lower = sentence.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let starts = ["do not", "don't", "not for", "never", "不要", "不用于", "不适用"];
        starts.iter().any(|start| lower.starts_with(start))
    };
    about.split_inclusive(['.', '。', '\n']).filter(|sentence| !is_refusal(sentence)).collect()
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// A word without its ending, so that `totals` is `total` and `checked` is `check`.
fn stem(word: &str) -> String {
    let cut = |end: &str| word.strip_suffix(end).filter(|rest| rest.chars().count() > 3);
    let stem = ["ies", "ing", "ed", "es", "s", "e", "y"].iter().find_map(|end| cut(end));
    stem.unwrap_or(word).to_owned()
}

/// The parts of a request in English that nothing accounts for, as ranges of its words; `taken` are words that
/// were named already.
pub(crate) fn english(
    words: &[&str],
    lower: &[String],
    account: &Account,
    taken: &[Range<usize>],
) -> Vec<Range<usize>> {
    let is_taken = |at: usize| taken.iter().any(|range| range.contains(&at));
    let is_file = |at: usize| {
        extension(words[at].trim_matches([',', '"', '`', '\'', '?', '!', '.'])).is_some()
    };
    let ends = |at: usize| words[at].ends_with([',', ';', '.', '?', '!', ':']);
    // `product A`, `region All`: written as a name, a filler is one. Not where every word is written so.
    let is_capital = |at: usize| {
        let bare = words[at].trim_start_matches(|c: char| !c.is_alphanumeric());
        bare.starts_with(char::is_uppercase)
            && !matches!(lower[at].as_str(), "i" | "i'd" | "i'm" | "i'll" | "csv")
    };
    let shouts = (0..words.len()).filter(|at| is_capital(*at)).count() * 2 > words.len();
    let accounts = |at: usize| {
        let word = lower[at].as_str();
        // `product a`: no article stands before a preposition.
        let is_letter = word == "a"
            && lower.get(at + 1).is_none_or(|next| ends(at) || JOINTS.contains(&next.as_str()));
        let is_name = is_letter || at > 0 && !ends(at - 1) && is_capital(at) && !shouts;
        account.covers(word) && (!is_name || !FILLERS.contains(&word) || account.is_column(word))
    };
    let is_left = |at: usize| !is_taken(at) && !is_file(at) && !accounts(at);
    let mut parts: Vec<Range<usize>> = Vec::new();
    for at in (0..words.len()).filter(|at| is_left(*at)) {
        let can_join = |before: &Range<usize>| {
            at - before.end <= 2
                && (before.end - 1..at).all(|it| !ends(it) && !is_file(it) && !is_taken(it))
        };
        match parts.last_mut().filter(|before| can_join(before)) {
            Some(before) => before.end = at + 1,
            None => parts.push(at..at + 1),
        }
    }
    let mut floor = 0;
    for part in &mut parts {
        let may_reach = |at: usize| at >= floor && !ends(at) && !is_taken(at) && !is_file(at);
        let is = |at: usize, list: &[&str]| list.contains(&lower[at].as_str());
        // `for product B`, `but not North`: from the word that says how it is meant.
        let near = (part.start.saturating_sub(3)..part.start).rev().take_while(|at| may_reach(*at));
        let near = near.take_while(|at| !is(*at, &["by", "per"])).find(|at| is(*at, JOINTS));
        let mut start = near.unwrap_or(part.start);
        while start > 0 && may_reach(start - 1) && is(start - 1, JOINTS) {
            start -= 1;
        }
        // `when price is above 3`.
        let between = |at: &usize| {
            may_reach(*at)
                && (account.is_column(&lower[*at]) || is(*at, &["is", "are", "was", "the", "of"]))
        };
        let back = (0..start).rev().take(3).take_while(between).last().unwrap_or(start);
        if back > 0 && may_reach(back - 1) && is(back - 1, CONDITIONS) {
            start = back - 1;
        }
        part.start = start;
        // `2 rows`, `times units`, `variance of units`.
        let follows = |at: usize| {
            at < words.len()
                && !is_taken(at)
                && !is_file(at)
                && account.is_column(&lower[at])
                && !is(at, FILLERS)
                && !is(at, JOINTS)
        };
        let is_row = |at: usize| at < words.len() && is(at, ROWS);
        if !ends(part.end - 1) {
            if follows(part.end) || is_row(part.end) {
                part.end += 1;
            } else if part.end < words.len() && lower[part.end] == "of" && follows(part.end + 1) {
                part.end += 2;
            }
        }
        floor = part.end;
    }
    for part in &mut parts {
        part.end = part.end.min(part.start + MAX_WORDS);
    }
    parts.truncate(MAX_PARTS);
    parts
}

/// The parts of a request in Chinese, without its files, that nothing accounts for; `named` were found already.
pub(crate) fn chinese(text: &str, account: &Account, named: &[String]) -> Vec<String> {
    let mut rest = text.to_lowercase();
    // Lower case of some letters is longer; then places are not the same.
    let written = if rest.len() == text.len() { text } else { rest.as_str() }.to_owned();
    for part in named.iter().map(|part| part.to_lowercase()) {
        let words = if rest.contains(&part) { vec![&*part] } else { part.split(' ').collect() };
        for word in words {
            blot(&mut rest, word, |_, _| true);
        }
    }
    // Of what is only a heading, a single character may be a part of another word.
    let is_long = |word: &&String| word.is_ascii() || word.chars().count() > 1;
    blot_words(&mut rest, account.args.iter().collect());
    for (digit, _) in DIGITS.iter().filter(|(_, number)| account.args.contains(*number)) {
        for counter in COUNTERS {
            blot(&mut rest, &format!("{digit}{counter}"), |_, _| true);
        }
    }
    for word in CHINESE_FILLERS {
        blot(&mut rest, word, |_, _| true);
    }
    blot_words(&mut rest, account.headings.iter().filter(is_long).collect());
    for figure in account.figures.iter().filter(|figure| !figure.is_ascii()) {
        blot(&mut rest, figure, |_, _| true);
    }
    let mut pairs: Vec<String> = Vec::new();
    for word in account.about_text.split(|c: char| !is_han(c)).filter(|word| !word.is_empty()) {
        let letters: Vec<char> = word.chars().collect();
        for pair in letters.windows(2) {
            pairs.push(pair.iter().collect());
        }
    }
    blot_pairs(&mut rest, &pairs);
    let is_end = |c: char| {
        matches!(c, DONE | PAIR) || "，。；、：！？,;:!?“”「」『』《》\"'`（）()".contains(c)
    };
    let is_accounted =
        |word: &str| account.covers(word) || word.chars().all(|c| CHINESE_SINGLES.contains(c));
    let mut parts = Vec::new();
    for part in rest.split(is_end) {
        let mut left = part.split_whitespace().filter(|word| !is_accounted(word));
        let Some(first) = left.next() else { continue };
        let last = left.next_back().unwrap_or(first);
        let place = |word: &str| word.as_ptr() as usize - rest.as_ptr() as usize;
        let found = written.get(place(first)..place(last) + last.len()).unwrap_or(first);
        let found = found.trim_start_matches(|c| CHINESE_BEFORE.contains(c));
        let found = found.trim_end_matches(|c| CHINESE_BEHIND.contains(c));
        let begin = place(first);
        let touches = rest[..begin].ends_with(PAIR)
            || rest.get(begin + part.trim().len()..).is_some_and(|rest| rest.starts_with(PAIR));
        let is_fragment = found.chars().count() == 1
            && found.chars().all(|c| is_han(c) && !SINGLE_VALUES.contains(c));
        if !(touches && is_fragment) {
            parts.push(found.to_owned());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.truncate(MAX_PARTS);
    parts
}

/// Blots whole words, the longest first.
fn blot_words(text: &mut String, mut words: Vec<&String>) {
    words.sort_by_key(|word| (std::cmp::Reverse(word.len()), *word));
    for word in words {
        let joins =
            |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        blot(text, word, |before, behind| !word.is_ascii() || !joins(before) && !joins(behind));
    }
}

/// Blots pairs of characters. One that is a part of two pairs counts for both.
fn blot_pairs(text: &mut String, pairs: &[String]) {
    let places = |pair: &String| -> Vec<(usize, usize)> {
        text.match_indices(pair.as_str()).map(|(at, it)| (at, at + it.len())).collect()
    };
    let places: Vec<(usize, usize)> = pairs.iter().flat_map(places).collect();
    for (start, end) in places {
        text.replace_range(start..end, &PAIR.to_string().repeat(end - start));
    }
}

/// Puts what stands for what is accounted for in the place of a word, byte for byte.
fn blot(text: &mut String, word: &str, fits: impl Fn(Option<char>, Option<char>) -> bool) {
    if word.is_empty() {
        return;
    }
    let places: Vec<usize> = text.match_indices(word).map(|(at, _)| at).collect();
    for at in places {
        let end = at + word.len();
        if fits(text[..at].chars().next_back(), text[end..].chars().next()) {
            text.replace_range(at..end, &DONE.to_string().repeat(word.len()));
        }
    }
}
