//! Reading a request: which words it has, how much each tells, and which names it calls.
//!
//! A request may be two words, a chatty paragraph, or a pasted file of a megabyte: only the
//! first distinct words are taken, from the first bytes. Words in paths and URLs weigh less,
//! for they are the user's own names; a file's extension says what is to be worked on. Nothing
//! here knows the documents. Signs of both scripts end a clause: tidy:allow-cjk.

use std::collections::HashMap;

use super::function_words::{Salience, gram_salience, salience};
use super::logarithm::ln;
use super::stem::stem;
use super::tokenize::{Kind, Tokenizer};
use super::tuning::Tuning;

/// What follows after this many bytes is not read.
const MAX_BYTES: usize = 32 * 1024;
/// The most distinct terms of one request.
const MAX_TERMS: usize = 128;
/// The longest sequence of terms that is kept for neighbours.
const MAX_ORDER: usize = 1024;

/// As many words at the beginning have their full weight.
const FIRST_WORDS: usize = 10;

/// One distinct term of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryTerm {
    /// As written, folded.
    pub(super) word: String,
    pub(super) stem: String,
    /// Humps of a camel-case word, for when the whole is unknown.
    pub(super) humps: Vec<String>,
    pub(super) is_gram: bool,
    pub(super) salience: Salience,
    pub(super) weight: f32,
    /// Whether it stands outside paths and URLs, or is a file's extension: what is left are names
    /// that the user gave, which tell nothing about the subject.
    pub(super) is_subject: bool,
    mentions: f32,
}

/// Whether a request is a question about the world (`what's a good textbook for …`, `explain the proof of
/// …`), and for what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Question {
    /// It is a task, or a question about things of the person's own.
    #[default]
    None,
    /// It asks for the first telling word after the question word, or to explain: a position in `wanted`.
    About(usize),
    /// It asks for something that no word tells: `what's new in`.
    Open,
}

/// A request, read.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) wanted: Vec<QueryTerm>,
    /// The terms in the order of the text, as positions in `wanted`.
    pub(super) order: Vec<usize>,
    pub(super) question: Question,
    /// What was called as a command (`/name`, `$name`, `@name`), without the sign.
    pub(super) called: Vec<String>,
}

impl Request {
    pub(super) fn read(text: &str, tuning: &Tuning) -> Self {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let mut request = Self::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut tokenizer = Tokenizer::default();
        let mut excluded = Excluded::default();
        for chunk in text.split_whitespace() {
            if request.wanted.len() >= MAX_TERMS || request.order.len() >= MAX_ORDER {
                break;
            }
            if let Some(name) = called_name(chunk) {
                request.called.push(name.to_owned());
            }
            let shape = if excluded.read(chunk) { Shape::Excluded } else { Shape::of(chunk) };
            let first = request.order.len();
            let mut last_word = None;
            tokenizer.run(chunk, |token| match token.kind {
                Kind::Joined => {}
                Kind::Hump => {
                    if let Some(wanted) = last_word.and_then(|at: usize| request.wanted.get_mut(at))
                        && wanted.humps.len() < 4
                        && wanted.mentions <= 1.0
                    {
                        wanted.humps.push(token.text.to_owned());
                    }
                }
                Kind::Word | Kind::Gram => {
                    last_word = request.add(token.text, token.kind, &mut known);
                }
            });
            request.weigh(first, shape, tuning);
        }
        request.question = question(text, &request);
        for wanted in &mut request.wanted {
            // Saying it again says it is meant, but not as many times more.
            wanted.weight *= 1.0 + 0.5 * ln(wanted.mentions.max(1.0));
        }
        request
    }

    fn add(&mut self, word: &str, kind: Kind, known: &mut HashMap<String, usize>) -> Option<usize> {
        if self.order.len() >= MAX_ORDER {
            return None; // text without spaces is one long chunk
        }
        let mut stemmed = word.to_owned();
        stem(&mut stemmed);
        let at = match known.get(&stemmed) {
            Some(&at) => at,
            None if self.wanted.len() < MAX_TERMS => {
                let at = self.wanted.len();
                self.wanted.push(QueryTerm {
                    word: word.to_owned(),
                    stem: stemmed.clone(),
                    humps: Vec::new(),
                    is_gram: kind == Kind::Gram,
                    salience: if kind == Kind::Gram { gram_salience(word) } else { salience(word) },
                    weight: 0.0,
                    is_subject: false,
                    mentions: 0.0,
                });
                known.insert(stemmed, at);
                at
            }
            None => return None,
        };
        if let Some(wanted) = self.wanted.get_mut(at) {
            wanted.mentions += 1.0;
        }
        self.order.push(at);
        Some(at)
    }

    /// Gives the terms of the chunk that starts at `first` their weight, the best one they had.
    fn weigh(&mut self, first: usize, shape: Shape, tuning: &Tuning) {
        let last = self.order.len().saturating_sub(1);
        for place in first..self.order.len() {
            let Some(wanted) = self.order.get(place).and_then(|&at| self.wanted.get_mut(at)) else {
                continue;
            };
            let from_telling = match wanted.salience {
                Salience::Hardly => tuning.stop,
                Salience::Little => tuning.chatter,
                Salience::Fully => 1.0,
            };
            let (is_subject, from_shape) = match shape {
                Shape::Path { extension } if !(extension && place == last) => (false, tuning.path),
                Shape::Excluded => (false, tuning.chatter),
                _ => (true, 1.0),
            };
            wanted.is_subject |= is_subject;
            let weight = from_telling * from_shape * earliness(place, tuning);
            wanted.weight = wanted.weight.max(weight);
        }
    }
}

/// What is asked for mostly comes first, details and pasted matter later; but the question may
/// also come last, so no word falls below a part of its weight.
#[expect(clippy::cast_precision_loss, reason = "places are below 2^24 where exact")]
fn earliness(place: usize, tuning: &Tuning) -> f32 {
    let late = place.saturating_sub(FIRST_WORDS) as f32;
    (1.0 / (1.0 + late / tuning.half_weight_after)).max(tuning.late)
}

/// Words for what a person has before them.
const OWN: &[&str] =
    &["my", "our", "this", "these", "that", "those", "i", "im", "ive", "we", "here", "it"];

/// What a question about the world asks for. Who asks about things of their own (`what is wrong with my
/// proof`, `what does this do`) wants something done with them; that is a task like others.
fn question(text: &str, request: &Request) -> Question {
    let end = text.find(['?', '.', '!', '\n', ';']).unwrap_or(text.len());
    let bare = |chunk: &str| -> String {
        chunk.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let words: Vec<String> = text[..end].split_whitespace().map(bare).collect();
    let asks = matches!(
        words.first().map_or("", String::as_str),
        "what" | "whats" | "who" | "whos" | "which" | "why" | "when" | "where"
        // Who wants a subject explained wants a skill that explains.
            | "explain" | "describe" | "define"
    );
    let own = |word: &String| OWN.contains(&word.as_str());
    if !asks || words.iter().any(own) || text[..end].contains(['/', '`', '"']) {
        return Question::None;
    }
    let telling = |at: &usize| {
        request.wanted.get(*at).is_some_and(|wanted| wanted.salience == Salience::Fully)
    };
    let first = request.order.iter().copied().take(words.len()).find(telling);
    // `what's new in` asks for news, whatever follows.
    match first {
        Some(at) if words.get(1).is_none_or(|word| word != "new") => Question::About(at),
        _ => Question::Open,
    }
}

/// The name in `/name`, `$name` or `@name`, if the chunk is nothing else.
fn called_name(chunk: &str) -> Option<&str> {
    let chunk = chunk.trim_start_matches(['(', '"', '\'', '`']);
    let name = chunk.strip_prefix(['/', '$', '@'])?;
    let name = name.trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_name = name.starts_with(char::is_alphanumeric) && !name.contains(['/', '\\']);
    is_name.then_some(name)
}

/// What a piece of text between spaces looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Path {
        extension: bool,
    },
    /// What the request says to leave out: `without starting a setup`.
    Excluded,
}

/// Whether what is read is something that the request says to leave out, up to the end of its clause.
#[derive(Debug, Default)]
struct Excluded {
    open: bool,
    before: String,
}

impl Excluded {
    /// Reads the next chunk, and tells whether it is left out.
    fn read(&mut self, chunk: &str) -> bool {
        let word: String =
            chunk.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        if matches!(word.as_str(), "but" | "and" | "just" | "then" | "only") {
            self.open = false;
        }
        let opens = word == "without"
            || matches!(
                (self.before.as_str(), word.as_str()),
                ("instead", "of") | ("rather", "than")
            );
        let ends = chunk.ends_with([',', '.', ';', ':', '!', '?', ')', '，', '。']);
        let inside = self.open;
        self.open = (self.open || opens) && !ends;
        self.before = word;
        inside
    }
}

impl Shape {
    fn of(chunk: &str) -> Self {
        let chunk = chunk.trim_matches(|c: char| !c.is_alphanumeric() && !"/~.\\".contains(c));
        let chunk = chunk.trim_end_matches(['.', '/']);
        let slashes = chunk.bytes().filter(|b| matches!(b, b'/' | b'\\')).count();
        let file = chunk.rsplit(['/', '\\']).next().unwrap_or_default();
        let extension = file.rsplit_once('.').is_some_and(|(name, extension)| {
            !name.is_empty()
                && (1..=5).contains(&extension.len())
                && extension.bytes().all(|b| b.is_ascii_alphanumeric())
                && extension.bytes().any(|b| b.is_ascii_alphabetic())
        });
        if extension || chunk.contains("://") || slashes > 1 {
            Self::Path { extension: extension && !chunk.contains("://") }
        } else {
            Self::Plain
        }
    }
}
