//! Cutting text into words: what both a description and a request go through.
//!
//! Latin and other spaced scripts give folded words; scripts without spaces give overlapping
//! pairs of characters. Words that stand together (`front-end`, `node.js`, the humps of
//! `PowerPoint`) are also given in their joined or separate form, and the caller chooses.
//! One pass, no allocation per token; knows nothing of stems, weights or the index.

use super::fold::{is_ignored, is_unspaced, narrow, push_folded};

/// Words longer than this are cut: keys, hashes and base64 are not searched by their tail.
const MAX_WORD: usize = 64;

/// What a token is, which decides how it is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word between separators.
    Word,
    /// A hump of the camel-case word just given.
    Hump,
    /// This word and the previous one as one word, as they stand together in the text.
    Joined,
    /// Two characters of a script without spaces, or one when it stands alone.
    Gram,
}

/// One token, folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) kind: Kind,
}

/// Buffers that are kept from text to text.
#[derive(Debug, Default)]
pub(super) struct Tokenizer {
    word: String,
    humps: Vec<usize>,
    /// The previous word and this one, while nothing but one separator is between them.
    joined: String,
    gram: String,
}

impl Tokenizer {
    /// Gives every token of `text` to `emit`, in order.
    pub(super) fn run(&mut self, text: &str, mut emit: impl FnMut(Token<'_>)) {
        self.word.clear();
        self.humps.clear();
        self.joined.clear();
        let mut before = Before::Nothing;
        let mut unspaced = None;
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if byte.is_ascii_alphanumeric() {
                let start = at;
                let mut capitals = false;
                while let Some(byte) = bytes.get(at).filter(|byte| byte.is_ascii_alphanumeric()) {
                    capitals |= byte.is_ascii_uppercase();
                    at += 1;
                }
                let plain = &text[start..at];
                self.finish_run(unspaced.take(), &mut emit);
                if !capitals
                    && self.word.is_empty()
                    && plain.len() <= MAX_WORD
                    && let Some(end) = bytes.get(at).filter(|&byte| ends_word(*byte))
                {
                    // Most words of most texts: given as they stand, without a copy.
                    self.give_plain(plain, joins(char::from(*end)), &mut emit);
                    before = Before::Nothing;
                    at += 1;
                } else {
                    before = self.push_plain(plain, before);
                }
                continue;
            }
            let Some(raw) = text[at..].chars().next() else {
                break;
            };
            at += raw.len_utf8();
            let c = narrow(raw);
            if is_ignored(c) {
                continue;
            }
            if is_unspaced(c) {
                self.finish_word(&mut emit);
                self.joined.clear();
                before = Before::Nothing;
                unspaced = Some(self.unspaced_character(c, unspaced, &mut emit));
                continue;
            }
            self.finish_run(unspaced.take(), &mut emit);
            let next = text[at..].chars().next();
            if c.is_alphanumeric() {
                if before.is_hump_before(c, next) {
                    self.humps.push(self.word.len());
                }
                before = Before::of(c);
                if self.word.len() < MAX_WORD {
                    push_folded(c, &mut self.word);
                }
                continue;
            }
            before = Before::Nothing;
            if self.sign_in_word(c, next) {
                continue;
            }
            let joins = !self.word.is_empty() && joins(c);
            self.finish_word(&mut emit);
            if !joins {
                self.joined.clear();
            }
        }
        self.finish_run(unspaced, &mut emit);
        self.finish_word(&mut emit);
    }

    /// Whether a sign belongs to the word: an apostrophe inside it (isn't gives isnt), and the
    /// signs of C#, F# and C++.
    fn sign_in_word(&mut self, sign: char, next: Option<char>) -> bool {
        match sign {
            '\'' | '\u{2019}' => !self.word.is_empty() && next.is_some_and(char::is_alphabetic),
            '#' if self.word.len() == 1 => {
                self.word.push('#');
                true
            }
            '+' if self.word.len() == 1 && next == Some('+') => {
                self.word.push_str("++");
                true
            }
            _ => false,
        }
    }

    /// Gives a word that needs no folding; `joins` tells whether the next one stands with it.
    fn give_plain(&mut self, word: &str, joins: bool, emit: &mut impl FnMut(Token<'_>)) {
        emit(Token { text: word, kind: Kind::Word });
        if !self.joined.is_empty() {
            self.give_joined(word, emit);
        }
        if joins {
            self.joined.push_str(word);
        }
    }

    /// Gives the previous word with `word` behind it, and forgets it.
    fn give_joined(&mut self, word: &str, emit: &mut impl FnMut(Token<'_>)) {
        if self.joined.len() + word.len() <= MAX_WORD {
            self.joined.push_str(word);
            emit(Token { text: &self.joined, kind: Kind::Joined });
        }
        self.joined.clear();
    }

    /// Appends ASCII letters and digits to the word.
    fn push_plain(&mut self, plain: &str, mut before: Before) -> Before {
        let start = self.word.len();
        let plain = &plain[..plain.len().min(MAX_WORD.saturating_sub(start))];
        if before != Before::Nothing || plain.bytes().skip(1).any(|b| b.is_ascii_uppercase()) {
            for (at, c) in plain.char_indices() {
                if before.is_hump_before(c, plain[at + 1..].chars().next()) {
                    self.humps.push(start + at);
                }
                before = Before::of(c);
            }
        } else {
            before = plain.chars().next_back().map_or(before, Before::of);
        }
        self.word.push_str(plain);
        if let Some(added) = self.word.get_mut(start..) {
            added.make_ascii_lowercase();
        }
        before
    }

    fn unspaced_character(
        &mut self,
        c: char,
        run: Option<(char, usize)>,
        emit: &mut impl FnMut(Token<'_>),
    ) -> (char, usize) {
        let Some((last, length)) = run else {
            return (c, 1);
        };
        self.gram.clear();
        self.gram.push(last);
        self.gram.push(c);
        emit(Token { text: &self.gram, kind: Kind::Gram });
        (c, length + 1)
    }

    /// A run of one character has no pair: it is given alone.
    fn finish_run(&mut self, run: Option<(char, usize)>, emit: &mut impl FnMut(Token<'_>)) {
        if let Some((only, 1)) = run {
            self.gram.clear();
            self.gram.push(only);
            emit(Token { text: &self.gram, kind: Kind::Gram });
        }
    }

    fn finish_word(&mut self, emit: &mut impl FnMut(Token<'_>)) {
        if self.word.is_empty() {
            return;
        }
        emit(Token { text: &self.word, kind: Kind::Word });
        let mut start = 0;
        if !self.humps.is_empty() {
            self.humps.push(self.word.len());
            for &end in &self.humps {
                if let Some(hump) = self.word.get(start..end).filter(|hump| !hump.is_empty()) {
                    emit(Token { text: hump, kind: Kind::Hump });
                }
                start = end;
            }
            self.humps.clear();
        }
        if !self.joined.is_empty() {
            let word = std::mem::take(&mut self.word);
            self.give_joined(&word, emit);
            self.word = word;
        }
        std::mem::swap(&mut self.joined, &mut self.word);
    }
}

/// Whether a byte after a plain word ends it: ASCII, and no sign that may belong to the word.
fn ends_word(byte: u8) -> bool {
    byte.is_ascii() && !matches!(byte, b'\'' | b'#' | b'+')
}

/// Whether words on both sides of a sign stand together.
fn joins(sign: char) -> bool {
    matches!(sign, '-' | '_' | '.' | '/' | '\u{2010}' | '\u{2011}')
}

/// The character before, as far as camel case cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Lower,
    Upper,
    Other,
}

impl Before {
    fn of(c: char) -> Self {
        if c.is_lowercase() {
            Self::Lower
        } else if c.is_uppercase() {
            Self::Upper
        } else {
            Self::Other
        }
    }

    /// A hump starts at `aB` and at the last capital of `ABc`.
    fn is_hump_before(self, c: char, next: Option<char>) -> bool {
        match self {
            Self::Lower => c.is_uppercase(),
            Self::Upper => c.is_uppercase() && next.is_some_and(char::is_lowercase),
            Self::Nothing | Self::Other => false,
        }
    }
}
