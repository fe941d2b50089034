//! Text from outside, made safe to show. Every name, path, description, error or reply from
//! outside passes through here before it reaches a terminal, a prompt, a page or one of our messages.
//!
//! One set of rules for all of them: control characters, line and paragraph separators, bidirectional
//! controls and hidden characters (see [`crate::hidden`]) are shown as escapes such as `\x1b` or
//! `\u{202e}`, and so is a flood of combining marks, which draws over the lines around it. An escape
//! is visible to a person and to a model alike. Honest emoji and scripts survive. A backslash is not
//! escaped: the result is to be read, not to be decoded.
//!
//! | function | for |
//! |---|---|
//! | [`escape_lines`] | output and answers that may fill several lines |
//! | [`escape_line`] | a name or path that must stay on its line |
//! | [`fold_line`] | prose on one line: runs of white space become one blank |
//! | [`short_line`] | the same as `escape_line`, at most so many characters |
//! | [`quoted`] | in backquotes inside a sentence of ours |
//! | [`label`] | inside a bracketed line of ours, which it cannot close |
//! | [`shell_word`] | in a command that a person can paste |
//! | [`clip`] | only the bound, for text that is safe already |
//! | [`clip_at`] | the same, for callers that count something other than characters |
//! | [`sequence_end`] | where a text can be cut into pages |
//! | [`Excerpt`] | head and tail of output, with a note of what is missing |
//! | [`for_model`] | texts and parts of texts for a model: hidden characters are removed |
//!
//! What is shown is judged, not what it was cut from: a mark that is honest in an Arabic text hides
//! in an excerpt without an Arabic letter.
//!
//! Pure, and linear in what is shown: the bounded forms look at no more of the text than their bound.

mod excerpt;
mod model;
mod shell;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use crate::hidden::{self, is_mark, may_hide};

pub use excerpt::{Excerpt, ExcerptBuilder, TextSize, counted};
pub use model::for_model;
pub use shell::shell_word;

/// Combining marks on one character that are shown as they are. Honest stacks (Hebrew with
/// cantillation, Tibetan, Vietnamese) need fewer.
const MAX_MARKS: usize = 8;

/// Characters that a cut goes back so as not to split a flag, a family or a Persian word.
const MAX_STEP_BACK: usize = 32;

/// Attempts at a bounded line in which a character is judged by its neighbours. Cutting can take
/// away what excused a character further up; after these attempts nothing is excused.
const EXCUSING_ATTEMPTS: usize = 8;

/// The text safe for a terminal; line feeds and tabs stay.
///
/// Carriage returns are escaped, since they let a text overwrite its own line. Embeddings, overrides
/// and isolates are escaped even where they are honest: they reach beyond the text into whatever is
/// printed after it on the line. Marks such as RLM stay where they are honest.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escaped(text, Form::LINES)
}

/// The text on one line: [`escape_lines`], with line feeds, tabs and directional marks escaped too.
/// (A mark at the end of a name turns the punctuation that we put behind it.)
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escaped(text, Form::LINE)
}

/// The text on one line as prose: every run of white space, of whatever kind, is one blank, none
/// stands at the ends, and the rest is as in [`escape_line`].
pub fn fold_line(text: &str) -> Cow<'_, str> {
    let mut before = b' ';
    let is_folded = text.bytes().all(|byte| {
        let fine = matches!(byte, b'!'..=b'~') || byte == b' ' && before != b' ';
        before = byte;
        fine
    });
    if is_folded && (before != b' ' || text.is_empty()) {
        return Cow::Borrowed(text);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    Cow::Owned(escape_line(&words.join(" ")).into_owned())
}

/// The text as in [`escape_line`], at most `max` characters. A text that is cut ends with an ellipsis
/// (which counts), and never within an escape or a sequence that is drawn as one character.
pub fn short_line(text: &str, max: usize) -> Cow<'_, str> {
    bounded(text, Form::LINE, max)
}

/// The text as in [`short_line`], in backquotes, for a sentence. A backquote in it is escaped, so that
/// the text ends where it seems to end.
pub fn quoted(text: &str, max: usize) -> String {
    format!("`{}`", bounded(text, Form { delimiter: Some('`'), ..Form::LINE }, max))
}

/// The text as in [`short_line`], for the inside of a bracketed line of ours: a closing bracket in it
/// is escaped, so that it cannot end the line and speak outside.
pub fn label(text: &str, max: usize) -> Cow<'_, str> {
    bounded(text, Form { delimiter: Some(']'), ..Form::LINE }, max)
}

/// At most `max` characters of a text that is safe already, with an ellipsis (which counts) where it
/// was cut; never within a sequence that is drawn as one character. As safe as the text was.
pub fn clip(text: &str, max: usize) -> Cow<'_, str> {
    if text.char_indices().nth(max).is_none() {
        return Cow::Borrowed(text);
    }
    match text.char_indices().nth(max.saturating_sub(1)) {
        Some((end, _)) if max > 0 => Cow::Owned(clip_at(text, end)),
        _ => Cow::Borrowed(""),
    }
}

/// A text that is safe already up to the byte `at` or a little before, as in [`clip`]. What the cut
/// robbed of its excuse is removed.
pub fn clip_at(text: &str, at: usize) -> String {
    let clipped = format!("{}…", &text[..sequence_end(text, at)]);
    match hidden::without_hidden(&clipped) {
        Cow::Owned(clean) => clean,
        Cow::Borrowed(_) => clipped,
    }
}

/// What is escaped besides what always is.
#[derive(Debug, Clone, Copy)]
struct Form {
    one_line: bool,
    /// The character that would close the quotes around the text.
    delimiter: Option<char>,
}

impl Form {
    const LINES: Self = Self { one_line: false, delimiter: None };
    const LINE: Self = Self { one_line: true, delimiter: None };

    fn escapes(self, ch: char) -> bool {
        match ch {
            '\n' | '\t' | '\u{200E}' | '\u{200F}' | '\u{61C}' => self.one_line,
            // A byte order mark is honest at the start of a file, and we put something before it.
            '\u{FEFF}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => true,
            ch => ch.is_control() || Some(ch) == self.delimiter,
        }
    }

    fn leaves_alone(self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| match byte {
            b'\n' | b'\t' => !self.one_line,
            b' '..=b'~' => self.delimiter.is_none_or(|delimiter| char::from(*byte) != delimiter),
            _ => false,
        })
    }
}

/// Whether a character that can hide may be excused by its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Excuse {
    Neighbours,
    Nothing,
}

fn escaped(text: &str, form: Form) -> Cow<'_, str> {
    if form.leaves_alone(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let whole = escaped_within(text, form, Excuse::Neighbours, usize::MAX);
    whole.unwrap_or(Cow::Borrowed(""))
}

fn bounded(text: &str, form: Form, max: usize) -> Cow<'_, str> {
    let cut = text.char_indices().nth(max).map(|(at, _)| at);
    let whole = &text[..cut.unwrap_or(text.len())];
    if cut.is_none() {
        if form.leaves_alone(text.as_bytes()) {
            return Cow::Borrowed(text);
        }
        if let Ok(all) = escaped_within(text, form, Excuse::Neighbours, max) {
            return all;
        }
    }
    // Nothing but the ellipsis may be cut off a candidate, so that each is judged as it is shown.
    let mut end = whole.len();
    for attempt in 0.. {
        let excuse = if attempt < EXCUSING_ATTEMPTS { Excuse::Neighbours } else { Excuse::Nothing };
        let candidate = format!("{}…", &whole[..end]);
        match escaped_within(&candidate, form, excuse, max) {
            Ok(line) => return Cow::Owned(line.into_owned()),
            Err(_) if end == 0 => break,
            Err(at) => end = sequence_end(text, at.min(end - 1)),
        }
    }
    Cow::Borrowed("")
}

/// The text with what acts or hides escaped, or where the character stands with which it would have
/// more than `max` characters.
fn escaped_within(
    text: &str,
    form: Form,
    excuse: Excuse,
    max: usize,
) -> Result<Cow<'_, str>, usize> {
    let hidden = match excuse {
        Excuse::Neighbours => hidden::hidden_ranges(text),
        Excuse::Nothing => Vec::new(),
    };
    let mut hidden = hidden.into_iter().peekable();
    let mut out: Option<String> = None;
    let (mut shown, mut marks) = (0_usize, 0_usize);
    for (at, ch) in text.char_indices() {
        while hidden.next_if(|range: &Range<usize>| range.end <= at).is_some() {}
        marks = if is_mark(ch) { marks + 1 } else { 0 };
        let hides = hidden.peek().is_some_and(|range| range.contains(&at))
            || excuse == Excuse::Nothing && may_hide(ch);
        if hides || marks > MAX_MARKS || form.escapes(ch) {
            let out = out.get_or_insert_with(|| text[..at].to_owned());
            let from = out.len();
            push_escape(out, ch);
            // An escape is ASCII.
            shown = shown.saturating_add(out.len() - from);
        } else {
            if let Some(out) = &mut out {
                out.push(ch);
            }
            shown = shown.saturating_add(1);
        }
        if shown > max {
            return Err(at);
        }
    }
    Ok(out.map_or(Cow::Borrowed(text), Cow::Owned))
}

/// The last place up to `at` where the text can be cut without splitting a sequence that is drawn as
/// one character: neither behind what joins nor before what belongs to the character in front of it.
pub fn sequence_end(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    let mut end = at;
    for _ in 0..MAX_STEP_BACK {
        let before = text[..end].chars().next_back();
        let after = text[end..].chars().next();
        let splits =
            before.is_some_and(may_hide) || after.is_some_and(|c| may_hide(c) || is_mark(c));
        match before {
            Some(before) if splits => end -= before.len_utf8(),
            _ => return end,
        }
    }
    at
}

pub(crate) fn push_escape(out: &mut String, ch: char) {
    // Writing to a string cannot fail.
    let _ = match ch {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\0'..='\x7F' => write!(out, "\\x{:02x}", u32::from(ch)),
        ch => write!(out, "\\u{{{:x}}}", u32::from(ch)),
    };
}
