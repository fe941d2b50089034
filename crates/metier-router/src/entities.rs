//! What a request names: files, folders, columns, numbers, addresses and quoted words.
//!
//! A small grammar, the same for every skill; nothing is guessed beyond it.
//!
//! | thing | how it is said |
//! |---|---|
//! | file | a word with an extension (`sales.csv`, `data/a.json`), or one of the files the user gave |
//! | folder | a word with a slash and no extension (`src/`, `crates/app`) |
//! | group | what stands after *by*, *per*, *for each*; Chinese *an*, *mei ge*: `by region and year` |
//! | group and measure | `top 3 products by units`; in Chinese see `chinese` |
//! | measure | what stands after *sum*, *total*, *average*, …: `average price`, or before `column` |
//! | number, address | as written |
//! | text | what stands in quotes |
//!
//! tidy:allow-cjk

use crate::chinese_files::{chinese_files, without_all};

/// Everything that a request names, each kind in the order of the request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestEntities {
    pub(crate) files: Vec<String>,
    pub(crate) folders: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) measures: Vec<String>,
    pub(crate) numbers: Vec<String>,
    pub(crate) addresses: Vec<String>,
    pub(crate) texts: Vec<String>,
    /// Groups are to be ranked by a measure: `top 3 products by units`.
    pub(crate) ranks: bool,
}

const QUOTES: &[(char, char)] =
    &[('"', '"'), ('`', '`'), ('“', '”'), ('「', '」'), ('『', '』'), ('《', '》'), ('\'', '\'')];
/// Stands for a blank inside quotes.
const HELD: &str = "\u{1}";
/// Words that a group or a measure may begin with and that are not part of it.
const FILLERS: &[&str] =
    &["the", "a", "an", "each", "every", "its", "their", "all", "column", "of"];
/// Words that end a group or a measure.
const ENDS: &[&str] = &[
    "in", "from", "of", "for", "by", "per", "with", "to", "on", "at", "and", "or", "then", "as",
    "is", "are", "using", "please", "grouped", "group", "into", "over",
];
/// What follows *by* without being a column: how or until when something is done.
const NOT_COLUMNS: &[&str] =
    &["hand", "default", "myself", "yourself", "tomorrow", "tonight", "now", "end", "far", "way"];
const MEASURES: &[&str] = &[
    "sum", "sums", "total", "totals", "average", "averages", "mean", "minimum", "maximum", "min",
    "max", "add", "median",
];
/// Words before what is ranked.
const TOPS: &[&str] = &["top", "best", "largest", "biggest", "highest"];
pub(crate) const ROWS: &[&str] =
    &["row", "rows", "line", "lines", "entry", "entries", "record", "records"];
const LOWS: &[&str] = &["bottom", "worst", "lowest", "smallest", "fewest", "least"];
/// Words after a measure that are no column.
const NO_COLUMN: &[&str] =
    &["up", "value", "values", "number", "numbers", "amount", "column", "columns"];

impl RequestEntities {
    /// What `request` names, and the files that came with it.
    pub(crate) fn of(request: &str, given: &[String]) -> Self {
        let mut entities = Self::default();
        let held = entities.read_quotes(request);
        let named = chinese_files(request);
        let words = words(&without_all(&held, &named));
        for file in &named {
            push(&mut entities.files, file);
        }
        for word in &words {
            entities.take(&word.text);
        }
        // In the order of the request, however they were found.
        entities.files.sort_by_key(|file| request.find(file.as_str()));
        // A file that was given may be meant by its last part alone.
        for file in &mut entities.files {
            let same = |path: &&String| path.rsplit(['/', '\\']).next() == Some(file.as_str());
            if let Some(path) = given.iter().find(same) {
                file.clone_from(path);
            }
        }
        for path in given {
            if !entities.files.contains(path) && !entities.folders.contains(path) {
                entities.files.push(path.clone());
            }
        }
        entities.read_groups(&words);
        entities.read_measures(&words);
        entities.read_top(&words);
        entities.read_which(&words);
        // A file's name holds no column.
        entities.read_chinese(&without_all(request, &entities.files.clone()));
        entities
    }

    /// The words after `/name` are its arguments: `/greet Anna` gives a text, though nothing says that it
    /// is one.
    pub(crate) fn add_arguments(&mut self, arguments: &str) {
        for word in words(arguments) {
            let taken = [
                &self.files,
                &self.folders,
                &self.groups,
                &self.measures,
                &self.numbers,
                &self.addresses,
            ];
            let is_known = |list: &&Vec<String>| list.contains(&word.text);
            if !taken.iter().any(is_known) {
                push(&mut self.texts, &word.text);
            }
        }
    }

    /// Takes what stands in quotes, and gives the request with each of them held together as a word.
    fn read_quotes(&mut self, request: &str) -> String {
        let mut held = String::with_capacity(request.len());
        let mut rest = request;
        while let Some(at) = rest.find(|c| QUOTES.iter().any(|&(open, _)| open == c)) {
            let before = rest[..at].chars().next_back();
            let open = rest[at..].chars().next().unwrap_or('"');
            let inner = &rest[at + open.len_utf8()..];
            let close = QUOTES.iter().find(|&&(o, _)| o == open).map_or(open, |&(_, close)| close);
            // The apostrophe of a word (don't) opens nothing.
            let opens = open != '\'' || before.is_none_or(|c| !c.is_alphanumeric());
            held.push_str(&rest[..at]);
            held.push(open);
            rest = inner;
            if let Some(end) = inner.find(close).filter(|_| opens) {
                let text = inner[..end].trim();
                if !text.is_empty() {
                    self.texts.push(text.to_owned());
                }
                held.push_str(&text.replace(char::is_whitespace, HELD));
                held.push(close);
                rest = &inner[end + close.len_utf8()..];
            }
        }
        held + rest
    }

    fn take(&mut self, word: &str) {
        if word.contains("://") {
            push(&mut self.addresses, word);
        } else if is_number(word) {
            push(&mut self.numbers, word);
        } else if extension(word).is_some() {
            push(&mut self.files, word);
        } else if is_folder(word) {
            push(&mut self.folders, word.trim_end_matches('/'));
        }
    }

    /// `top 3 products by units`: groups of products, measured in units.
    fn read_top(&mut self, words: &[Word]) {
        for (at, word) in words.iter().enumerate() {
            let is_low = LOWS.contains(&word.lower.as_str());
            if !TOPS.contains(&word.lower.as_str()) && !is_low {
                continue;
            }
            let mut rest = words[at + 1..].iter().filter(|next| !is_number(&next.text));
            let (Some(group), Some(by), Some(measure)) = (rest.next(), rest.next(), rest.next())
            else {
                continue;
            };
            // `top 2 regions by sales` of sales.csv is about a column.
            let is_measure = self.may_be_column(measure) || self.is_stem(measure);
            if by.lower == "by" && self.may_be_column(group) && is_measure {
                self.groups.retain(|known| *known != measure.text);
                push(&mut self.measures, &measure.text);
                // Rows are no column to group by.
                if !ROWS.contains(&group.lower.as_str()) {
                    self.groups.insert(0, group.text.clone());
                    self.ranks = !is_low;
                }
                // How many of the smallest is no number for scripts that give the largest.
                let number = words.get(at + 1).filter(|_| is_low);
                self.numbers.retain(|known| number.is_none_or(|number| *known != number.text));
            }
        }
    }

    /// `which product sold the most units`: groups of products, measured in units.
    fn read_which(&mut self, words: &[Word]) {
        let [first, group, rest @ ..] = words else { return };
        let at = rest.iter().position(|word| {
            matches!(word.lower.as_str(), "most" | "highest" | "largest" | "greatest")
        });
        let measure = at.and_then(|at| rest.get(at + 1));
        if let Some(measure) = measure.filter(|it| self.may_be_column(it))
            && matches!(first.lower.as_str(), "which" | "what")
            && self.may_be_column(group)
        {
            push(&mut self.groups, &group.text);
            push(&mut self.measures, &measure.text);
            self.ranks = true;
        }
    }

    /// `by region`, `per product`, `for each month`, `by region and product`.
    fn read_groups(&mut self, words: &[Word]) {
        for (at, word) in words.iter().enumerate() {
            let opens = match word.lower.as_str() {
                "by" | "per" => true,
                "each" | "every" => at > 0 && words[at - 1].lower == "for",
                _ => false,
            };
            if !opens || word.stop {
                continue;
            }
            let mut rest = words[at + 1..].iter().skip_while(|next| is_filler(next)).peekable();
            let Some(first) = rest.next().filter(|first| self.may_be_column(first)) else {
                continue;
            };
            let mut group = first.text.clone();
            // A second one, when it is plainly the last: "by region and year in sales.csv".
            if !first.stop
                && let Some(joint) = rest.next()
                && joint.lower == "and"
                && let Some(second) = rest.next().filter(|second| self.may_be_column(second))
                && (second.stop
                    || rest.peek().is_none_or(|next| ENDS.contains(&next.lower.as_str())))
            {
                group = format!("{group},{}", second.text);
            }
            push(&mut self.groups, &group);
        }
    }

    /// `average price`, `sum the units`, `the price column`.
    fn read_measures(&mut self, words: &[Word]) {
        for (at, word) in words.iter().enumerate() {
            let lower = word.lower.as_str();
            if MEASURES.contains(&lower) && !word.stop {
                let next = words[at + 1..]
                    .iter()
                    .find(|next| !is_filler(next) && (lower != "add" || next.lower != "up"));
                if let Some(next) = next.filter(|next| self.may_be_column(next))
                    && !NO_COLUMN.contains(&next.lower.as_str())
                    && !MEASURES.contains(&next.lower.as_str())
                {
                    push(&mut self.measures, &next.text);
                }
            } else if lower == "column"
                && at > 1
                && is_filler(&words[at - 2])
                && self.may_be_column(&words[at - 1])
                && !self.groups.contains(&words[at - 1].text)
            {
                push(&mut self.measures, &words[at - 1].text);
            }
        }
    }

    /// Whether a file has this name, but for its extension.
    fn is_stem(&self, word: &Word) -> bool {
        self.files.iter().any(|path| {
            let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
            name.split('.').next().is_some_and(|stem| stem.eq_ignore_ascii_case(&word.lower))
        })
    }

    fn may_be_column(&self, word: &Word) -> bool {
        let lower = word.lower.as_str();
        lower.starts_with(char::is_alphabetic)
            && !ENDS.contains(&lower)
            && !NOT_COLUMNS.contains(&lower)
            && (lower.len() < 6 || !lower.ends_with("ing"))
            && extension(&word.text).is_none()
            && !word.text.contains('/')
            && !self.is_stem(word)
            && !word.text.chars().any(is_han)
    }
}

/// A word of a request, without the signs around it.
#[derive(Debug)]
struct Word {
    text: String,
    lower: String,
    /// A sign that ends a clause stands behind it.
    stop: bool,
}

/// The words, cut at blanks and where Chinese and other text meet.
fn words(request: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for chunk in request.split_whitespace() {
        // A name such as `销售.csv` that stands alone is one word.
        let whole = trimmed(chunk);
        if extension(whole).is_some() && !whole.contains(['把', '将', '对', '按', '用', '给', '从'])
        {
            words.push(Word::new(chunk, whole));
            continue;
        }
        let mut start = 0;
        let mut before: Option<bool> = None;
        for (at, c) in chunk.char_indices() {
            let han = is_han(c) || !c.is_ascii() && !c.is_alphanumeric();
            if before.is_some_and(|before| before != han) {
                words.push(Word::new(&chunk[start..at], trimmed(&chunk[start..at])));
                start = at;
            }
            before = Some(han);
        }
        words.push(Word::new(&chunk[start..], trimmed(&chunk[start..])));
    }
    words.retain(|word| !word.text.is_empty());
    words
}

impl Word {
    fn new(chunk: &str, text: &str) -> Self {
        let behind = chunk.find(text).map_or("", |at| &chunk[at + text.len()..]);
        let stop =
            behind.contains([',', '.', ';', ':', '!', '?', ')', '，', '。', '；', '？', '！']);
        let text = text.replace(HELD, " ");
        Self { lower: text.to_lowercase(), text, stop }
    }
}

/// Without the signs that surround a word in prose; those that begin a path stay.
fn trimmed(chunk: &str) -> &str {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '_' | '-' | '\\');
    let chunk = chunk.trim_start_matches(|c: char| !inside(c));
    let chunk = chunk.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_'));
    chunk.strip_suffix("'s").unwrap_or(chunk)
}

/// The extension of a file's name: letters and digits, with a letter among them.
pub(crate) fn extension(word: &str) -> Option<&str> {
    if word.contains("://") {
        return None;
    }
    let name = word.rsplit(['/', '\\']).next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let fits = (1..=8).contains(&extension.len())
        && extension.bytes().all(|b| b.is_ascii_alphanumeric())
        && extension.bytes().any(|b| b.is_ascii_alphabetic());
    // `e.g` and `i.e` are no files.
    (fits && !stem.is_empty() && !matches!(name, "e.g" | "i.e" | "a.m" | "p.m"))
        .then_some(extension)
}

fn is_folder(word: &str) -> bool {
    let inner = word.trim_end_matches('/');
    // `and/or` is no folder; one slash counts when it begins or ends the word.
    let slashes = inner.matches('/').count();
    let marked = word.ends_with('/') || word.starts_with("./") || word.starts_with("~/");
    word == "."
        || !inner.is_empty() && (marked || slashes > 1 || slashes == 1 && word.starts_with('/'))
        || slashes == 1 && inner.len() > 6 && inner.split('/').all(|part| part.len() > 2)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<f64>().is_ok()
}

fn is_filler(word: &Word) -> bool {
    !word.stop && FILLERS.contains(&word.lower.as_str())
}

pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}')
}

pub(crate) fn push(list: &mut Vec<String>, thing: &str) {
    if !list.iter().any(|known| known == thing) {
        list.push(thing.to_owned());
    }
}

/// Whether a text holds Chinese characters.
pub(crate) fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| matches!(c, '\u{4E00}'..='\u{9FFF}'))
}

/// Whether a request is in Chinese, and is to be answered so: `read 数据.csv` is in English.
pub(crate) fn is_in_chinese(request: &str) -> bool {
    is_chinese(&without_all(request, &chinese_files(request)))
}
