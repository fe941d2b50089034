//! The classifier: one pass over the text that decides, for each character that can hide, whether
//! its neighbours excuse it.
//!
//! An excuse looks at the character before and the character after, and accepts only what a
//! reader sees (or a selector already excused). Hidden characters excuse nothing, so taking them
//! out leaves every verdict as it was; `without_hidden` relies on that.

use std::ops::Range;

use super::HiddenKind;
use super::bidi;
use super::tables::{
    Suspect, is_duployan, is_emoji, is_letter, is_mark, is_mongolian_letter, is_unspaced, joins,
    selects, suspect,
};

/// What follows U+1F3F4 in the only three subdivision flags that Unicode recommends: England,
/// Scotland and Wales. Anything else in tag letters is drawn as a bare black flag.
const FLAG_TAILS: [&str; 3] = [
    "\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    "\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
];

/// One or two braille blanks can be spacing in braille; from here on they are a hiding place.
const BLANKS_THAT_HIDE: usize = 3;

/// The character before the one being judged.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// The text starts here.
    Start,
    /// A character that a reader sees.
    Visible(char),
    /// A visible character that already has its variation selector or flag letters.
    Selected(char),
    /// An excused LRM, RLM or ALM.
    Mark,
    /// Any other excused character without a glyph.
    Excused,
    /// A hidden character, or a braille blank, which may turn out to be hidden.
    Hidden,
}

impl Before {
    /// The visible character to which a following joiner or mark would belong.
    fn base(self) -> Option<char> {
        match self {
            Self::Visible(c) | Self::Selected(c) => Some(c),
            Self::Start | Self::Mark | Self::Excused | Self::Hidden => None,
        }
    }

    fn base_is(self, test: fn(char) -> bool) -> bool {
        self.base().is_some_and(test)
    }

    /// True when a joiner may lean on the letter after it alone, as ZWNJ does before a
    /// Persian ending on a Latin word.
    fn is_open(self) -> bool {
        matches!(self, Self::Start | Self::Visible(_) | Self::Selected(_))
    }
}

/// Every hidden character of `text`, in order.
pub(super) fn hidden_characters(text: &str) -> Vec<(Range<usize>, HiddenKind)> {
    let direction =
        if bidi::has_controls(text) { bidi::survey(text) } else { bidi::Direction::default() };
    let mut control_excuses = direction.excused.iter().copied();
    let mut found = HiddenCharacters::default();
    let mut before = Before::Start;
    let mut at = 0;

    while let Some(c) = text[at..].chars().next() {
        // Most of most texts, which one curly quote or emoji brings here: nothing in ASCII is suspect,
        // and only the last of it is anyone's neighbour.
        if c.is_ascii() {
            at += ascii_len(&text.as_bytes()[at..]);
            found.end_blanks();
            before = Before::Visible(char::from(text.as_bytes()[at - 1]));
            continue;
        }
        let range = at..at + c.len_utf8();
        at = range.end;
        let rest = &text[at..];
        let Some(suspect) = suspect(c) else {
            found.end_blanks();
            before = Before::Visible(c);
            if c == '\u{1F3F4}'
                && let Some(tail) = FLAG_TAILS.iter().find(|tail| rest.starts_with(**tail))
            {
                at += tail.len();
                before = Before::Selected(c);
            }
            continue;
        };
        let verdict = match suspect {
            Suspect::BrailleBlank => {
                found.push_blank(range);
                before = Before::Hidden;
                continue;
            }
            Suspect::BidiControl => {
                control_excuses.next().filter(|excused| *excused).map(|_| Before::Excused)
            }
            Suspect::BidiMark => (direction.has_rtl
                && !matches!(before, Before::Mark | Before::Hidden))
            .then_some(Before::Mark),
            Suspect::Selector | Suspect::MongolianSelector => selected(before, c),
            _ => excused(suspect, c, before, rest.chars().next()).then_some(Before::Excused),
        };
        if let Some(excused) = verdict {
            found.end_blanks();
            before = excused;
        } else {
            found.hidden.push((range, suspect.kind()));
            before = Before::Hidden;
        }
    }
    found.end_blanks();
    found.hidden
}

/// How many bytes at the start are ASCII.
fn ascii_len(bytes: &[u8]) -> usize {
    const PIECE: usize = 32;
    let whole = bytes.chunks_exact(PIECE).take_while(|piece| piece.is_ascii()).count() * PIECE;
    whole + bytes[whole..].iter().take_while(|byte| byte.is_ascii()).count()
}

/// The base with its selector, when the selector is the first on a character that takes it.
fn selected(before: Before, selector: char) -> Option<Before> {
    let Before::Visible(base) = before else {
        return None;
    };
    let fits = selects(base, selector)
        || suspect(selector) == Some(Suspect::MongolianSelector) && is_mongolian_letter(base);
    fits.then_some(Before::Selected(base))
}

/// True when the two neighbours need `c` between them.
fn excused(suspect: Suspect, c: char, before: Before, after: Option<char>) -> bool {
    let after_is = |test: fn(char) -> bool| after.is_some_and(test);
    let touches = |test| before.base_is(test) || before.is_open() && after_is(test);
    match suspect {
        Suspect::Joiner => {
            touches(joins) || c == '\u{200D}' && before.base_is(is_emoji) && after_is(is_emoji)
        }
        Suspect::ZeroWidthSpace => touches(is_unspaced),
        Suspect::MongolianSeparator => {
            before.base_is(is_mongolian_letter) && after_is(is_mongolian_letter)
        }
        Suspect::SoftHyphen => {
            before.base_is(|c| is_letter(c) || is_mark(c)) && after_is(is_letter)
        }
        Suspect::GraphemeJoiner => {
            before.base_is(|c| is_letter(c) || is_mark(c)) && after_is(is_mark)
        }
        Suspect::Shorthand => before.base_is(is_duployan),
        // Judged by the caller, or never excused.
        Suspect::Tag
        | Suspect::Selector
        | Suspect::MongolianSelector
        | Suspect::ZeroWidth
        | Suspect::BidiControl
        | Suspect::BidiMark
        | Suspect::BrailleBlank
        | Suspect::Invisible => false,
    }
}

/// The hidden characters so far. Braille blanks are in the list on probation until it is known
/// how many stand together; hidden characters between them do not part them.
#[derive(Debug, Default)]
struct HiddenCharacters {
    hidden: Vec<(Range<usize>, HiddenKind)>,
    /// Where in `hidden` the open row of blanks stands.
    blanks: Vec<usize>,
}

impl HiddenCharacters {
    fn push_blank(&mut self, range: Range<usize>) {
        self.blanks.push(self.hidden.len());
        self.hidden.push((range, Suspect::BrailleBlank.kind()));
    }

    /// Ends the row of blanks, and acquits them if they are few.
    fn end_blanks(&mut self) {
        if self.blanks.len() < BLANKS_THAT_HIDE {
            // At most two removals from the end of the row; what stands behind them is moved
            // twice at most, so the scan stays linear.
            for &index in self.blanks.iter().rev() {
                self.hidden.remove(index);
            }
        }
        self.blanks.clear();
    }
}
