//! The shapes of tokens that issuers have published: a head, an alphabet, a least length. Data and
//! the matching of it. A new issuer is one line.

/// What the bytes at one place are.
pub(super) enum Fit {
    /// Nothing.
    No,
    /// More bytes are needed to tell.
    Wait,
    /// So many bytes of a secret.
    Mask(usize),
    /// A token of this shape, however long it is.
    Open(&'static Shape),
    /// The first line of a private key.
    Key,
}

/// The shape of a token.
#[derive(Debug)]
pub(super) struct Shape {
    head: &'static [u8],
    alphabet: Alphabet,
    /// The least number of bytes after the head.
    least: usize,
    /// Dots that must be among them.
    dots: usize,
}

#[derive(Debug, Clone, Copy)]
enum Alphabet {
    /// `A-Z0-9`
    Upper,
    /// `A-Za-z0-9_`
    Word,
    /// `A-Za-z0-9_-`
    Dashed,
    /// `A-Za-z0-9_.-`
    Dotted,
}

const fn shape(head: &'static [u8], alphabet: Alphabet, least: usize) -> Shape {
    Shape { head, alphabet, least, dots: 0 }
}

static SHAPES: &[Shape] = &[
    // Amazon: key ids of users, roles and sessions.
    shape(b"AKIA", Alphabet::Upper, 16),
    shape(b"ASIA", Alphabet::Upper, 16),
    shape(b"ABIA", Alphabet::Upper, 16),
    shape(b"ACCA", Alphabet::Upper, 16),
    // GitHub: personal, OAuth, user-to-server, server-to-server, refresh, fine-grained.
    shape(b"ghp_", Alphabet::Word, 30),
    shape(b"gho_", Alphabet::Word, 30),
    shape(b"ghu_", Alphabet::Word, 30),
    shape(b"ghs_", Alphabet::Word, 30),
    shape(b"ghr_", Alphabet::Word, 30),
    shape(b"github_pat_", Alphabet::Word, 40),
    // OpenAI, Anthropic and those who copied the form.
    shape(b"sk-", Alphabet::Dashed, 24),
    shape(b"sk_live_", Alphabet::Word, 16),
    shape(b"sk_test_", Alphabet::Word, 16),
    shape(b"rk_live_", Alphabet::Word, 16),
    // Slack.
    shape(b"xoxb-", Alphabet::Dashed, 20),
    shape(b"xoxp-", Alphabet::Dashed, 20),
    shape(b"xoxa-", Alphabet::Dashed, 20),
    shape(b"xoxr-", Alphabet::Dashed, 20),
    shape(b"xoxs-", Alphabet::Dashed, 20),
    shape(b"xapp-", Alphabet::Dashed, 20),
    // GitLab, npm, PyPI, Hugging Face, Google, DigitalOcean.
    shape(b"glpat-", Alphabet::Dashed, 18),
    shape(b"npm_", Alphabet::Word, 36),
    shape(b"pypi-", Alphabet::Dashed, 40),
    shape(b"hf_", Alphabet::Word, 30),
    shape(b"AIza", Alphabet::Dashed, 35),
    shape(b"ya29.", Alphabet::Dashed, 30),
    shape(b"dop_v1_", Alphabet::Word, 40),
    // A JSON web token: two objects and a signature.
    Shape { head: b"eyJ", alphabet: Alphabet::Dotted, least: 28, dots: 2 },
];

/// A run this long is taken for a token without waiting for its end.
const LONG: usize = 8 << 10;

pub(super) const KEY_BEGIN: &[u8] = b"-----BEGIN ";
const KEY_END: &[u8] = b"-----END ";
const KEY_WORDS: &[u8] = b"PRIVATE KEY-----";
/// The words between `BEGIN` and `PRIVATE KEY`: `RSA `, `ENCRYPTED `, `OPENSSH `.
const LONGEST_KIND: usize = 24;
/// So many bytes tell whether a key's last line begins here.
pub(super) const KEY_END_WINDOW: usize = KEY_END.len() + LONGEST_KIND + KEY_WORDS.len();

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Dashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
        }
    }
}

impl Shape {
    /// How many bytes at the start of `rest` can belong to a token of this shape.
    pub(super) fn run(&self, rest: &[u8]) -> usize {
        rest.iter().position(|byte| !self.alphabet.has(*byte)).unwrap_or(rest.len())
    }

    fn fit(&'static self, rest: &[u8], is_last: bool) -> Fit {
        if rest.len() < self.head.len() {
            let may_come = !is_last && self.head.starts_with(rest);
            return if may_come { Fit::Wait } else { Fit::No };
        }
        let Some(tail) = rest.strip_prefix(self.head) else { return Fit::No };
        let length = self.run(&tail[..tail.len().min(LONG)]);
        let has_dots = self.dots == 0 || {
            let mut dots = tail[..length].iter().filter(|byte| **byte == b'.');
            dots.nth(self.dots - 1).is_some()
        };
        if length >= self.least && has_dots {
            // What follows belongs to it too, however the chunks were cut.
            return Fit::Open(self);
        }
        let is_cut = length == tail.len() && length < LONG;
        if is_cut && !is_last { Fit::Wait } else { Fit::No }
    }
}

/// So many bytes in front of a token tell whether a word ends there.
pub(super) const LOOKBEHIND: usize = 16;

/// What a shape makes of the bytes at the start of `rest`; `older` and then `newer` came before them.
pub(super) fn fit(older: &[u8], newer: &[u8], rest: &[u8], is_last: bool) -> Fit {
    if rest[0] == b'-' {
        return key_begin(rest, is_last);
    }
    let heads = matches!(
        rest[0],
        b'A' | b'g' | b's' | b'r' | b'x' | b'n' | b'p' | b'h' | b'y' | b'd' | b'e'
    );
    if !heads || !is_border(older, newer) {
        return Fit::No;
    }
    let mut waits = false;
    for shape in SHAPES {
        match shape.fit(rest, is_last) {
            Fit::No => {}
            Fit::Wait => waits = true,
            found => return found,
        }
    }
    if waits { Fit::Wait } else { Fit::No }
}

/// Whether a word can begin here: not behind a letter or digit, unless that is the end of a
/// terminal's colour (`ESC[32m`), of an escape (`\n`) or of a percent code (`%3D`).
fn is_border(older: &[u8], newer: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if !newer.last().or(older.last()).is_some_and(is_word) {
        return true;
    }
    // The same bytes whichever way the chunks were cut.
    let mut back = [0; LOOKBEHIND];
    let bytes = newer.iter().rev().chain(older.iter().rev());
    for (place, byte) in back.iter_mut().zip(bytes) {
        *place = *byte;
    }
    let [last, second, third, ..] = back;
    if second == b'\\' && matches!(last, b'n' | b't' | b'r') {
        return true;
    }
    if third == b'%' && second.is_ascii_hexdigit() && last.is_ascii_hexdigit() {
        return true;
    }
    let parameters = back[1..].iter().position(|byte| !matches!(byte, b'0'..=b';' | b'?'));
    let begin = parameters.map_or(&[][..], |at| &back[1 + at..]);
    last.is_ascii_alphabetic() && begin.starts_with(b"[\x1b")
}

/// Whether a private key begins at the start of `rest`.
fn key_begin(rest: &[u8], is_last: bool) -> Fit {
    match key_line(rest, KEY_BEGIN) {
        Line::Whole(_) => Fit::Key,
        Line::Cut if !is_last => Fit::Wait,
        _ => Fit::No,
    }
}

/// The length of the last line of a private key, if it stands at the start of `rest`.
pub(super) fn key_end(rest: &[u8]) -> Option<usize> {
    match key_line(rest, KEY_END) {
        Line::Whole(length) => Some(length),
        _ => None,
    }
}

enum Line {
    Whole(usize),
    /// It may become one.
    Cut,
    Other,
}

fn key_line(rest: &[u8], head: &[u8]) -> Line {
    if rest.len() < head.len() {
        return if head.starts_with(rest) { Line::Cut } else { Line::Other };
    }
    let Some(tail) = rest.strip_prefix(head) else { return Line::Other };
    for kind in 0..=LONGEST_KIND.min(tail.len()) {
        let here = &tail[kind..];
        if here.starts_with(KEY_WORDS) {
            return Line::Whole(head.len() + kind + KEY_WORDS.len());
        }
        if here.len() < KEY_WORDS.len() && KEY_WORDS.starts_with(here) {
            return Line::Cut;
        }
        if !(here[0].is_ascii_uppercase() || here[0] == b' ') {
            return Line::Other;
        }
    }
    Line::Other
}
