//! Masking secrets in a stream: exact values in every usual spelling, and the shapes of known tokens.
//!
//! A `Redactor` takes chunks as they come and gives back what is safe to show. What could still
//! become a secret is held back until more is known, so the answer does not depend on where the
//! chunks were cut. It reads bytes, not text, and never fails. Evidence, not a boundary: a script
//! that wants to smuggle a value out can always spell it in a way nobody listed.
//!
//! # Why it works as it does
//!
//! A program chooses where its writes are cut, and a pipe cuts them again. If each chunk were masked
//! alone, `sk-live-` in one write and the rest in the next would pass, by chance often and by intent
//! always. So nothing is given back that could be the start of a secret; the price is that such bytes
//! come late, at the latest when the stream ends. The law that the tests hold it to: whatever the cuts,
//! the output is that of the whole text.
//!
//! The order of the attempts at one place follows from what a wrong order would show. *Longest value
//! first*: of two values where one begins with the other, masking the shorter one would print the tail
//! of the longer, so a longer one that may still come is waited for before a shorter one counts. *Exact
//! values before shapes*: a value that we were given is masked as far as it goes and no further, where
//! a shape, which takes all bytes of its alphabet, could swallow the text that follows it. *A token
//! begins at the border of a word*, judged by the bytes as they came in and not by those that were
//! given back: after a mask the border would look different, and a script that prints a secret in front
//! of a token could switch the shape off. *A shape that has begun stays masked to its end* even when
//! that end is megabytes away, without holding the bytes: a token of endless length costs no memory.
//! *A private key is the exception with a limit*: it ends at its own last line, and a script that only
//! prints the first one would hide everything after it from the reader of the record.
//!
//! It comes before every cap, file and decoding. A cap that came first would cut a secret in half, and
//! half a secret is no value that anybody looks for; decoding first would turn the broken bytes inside
//! one into replacement characters and make it another text.

mod encodings;
mod shapes;

use std::sync::Arc;

use shapes::{Fit, Shape};

/// What stands where a secret was.
pub const MASK: &[u8] = b"[redacted]";

/// A value shorter than this is too common to be looked for.
const SHORTEST: usize = 6;

/// The longest private key that is looked through for its end.
const LONGEST_KEY: usize = 64 << 10;

/// Exact values to mask, prepared once for many streams.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Every spelling of every value, longest first.
    spellings: Vec<Vec<u8>>,
    /// Which bytes begin a spelling.
    starts: Vec<bool>,
}

impl Secrets {
    /// Prepares `values`; those under six bytes are not looked for, and their number is given by
    /// [`Secrets::too_short`] to a caller that asks beforehand.
    pub fn new<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Self {
        let values = values.into_iter();
        let mut spellings: Vec<Vec<u8>> = values
            .filter(|value| !Self::too_short(value.as_ref()))
            .flat_map(|value| encodings::spellings(value.as_ref()))
            .filter(|spelling| spelling.len() >= SHORTEST)
            .collect();
        spellings.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        spellings.dedup();
        let mut starts = vec![false; 256];
        for spelling in &spellings {
            starts[usize::from(spelling[0])] = true;
        }
        Self { spellings, starts }
    }

    /// Whether a value is too short to be masked without masking half of all text.
    pub fn too_short(value: &[u8]) -> bool {
        value.len() < SHORTEST
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.spellings.is_empty()
    }

    /// `text` with the values masked, and nothing else; `None` where none of them is in it.
    pub fn hide_in(self: &Arc<Self>, text: &str) -> Option<String> {
        let starts = |byte: u8| self.begins(byte);
        if self.is_empty() || !text.bytes().any(starts) {
            return None;
        }
        let mut redactor = Redactor::of_values(Arc::clone(self));
        let mut masked = redactor.push(text.as_bytes());
        masked.extend(redactor.finish());
        (redactor.masked() > 0).then(|| String::from_utf8_lossy(&masked).into_owned())
    }

    fn begins(&self, byte: u8) -> bool {
        self.starts.get(usize::from(byte)).copied().unwrap_or(false)
    }

    /// What an exact value makes of the bytes at the start of `rest`.
    fn fit(&self, rest: &[u8], is_last: bool) -> Fit {
        // Longest first: a longer value that may still come is waited for before a shorter counts.
        for spelling in &self.spellings {
            if rest.starts_with(spelling) {
                return Fit::Mask(spelling.len());
            }
            if !is_last && rest.len() < spelling.len() && spelling.starts_with(rest) {
                return Fit::Wait;
            }
        }
        Fit::No
    }
}

/// Masks one stream.
#[derive(Debug)]
pub struct Redactor {
    secrets: Arc<Secrets>,
    /// Whether tokens of known shapes are masked too.
    shapes: Shapes,
    /// Bytes that were not given back yet.
    held: Vec<u8>,
    /// The last bytes before the held ones, as they came in: a token begins at the border of a word.
    before: Vec<u8>,
    /// Inside a masked thing whose end has not been seen.
    inside: Inside,
    /// How many things were masked.
    masked: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shapes {
    Masked,
    Shown,
}

#[derive(Debug, Clone, Copy)]
enum Inside {
    Nothing,
    /// The rest of a token: bytes of its alphabet.
    Token(&'static Shape),
    /// A private key, of which so many bytes were swallowed.
    Key(usize),
}

impl Redactor {
    /// A redactor for one stream.
    pub fn new(secrets: Arc<Secrets>) -> Self {
        let (held, before, inside) = (Vec::new(), Vec::new(), Inside::Nothing);
        Self { secrets, shapes: Shapes::Masked, held, before, inside, masked: 0 }
    }

    /// One that masks the values alone: for text that is about tokens, such as a manual.
    pub fn of_values(secrets: Arc<Secrets>) -> Self {
        Self { shapes: Shapes::Shown, ..Self::new(secrets) }
    }

    /// Masks a text that is there as a whole.
    pub fn whole(secrets: &Arc<Secrets>, text: &[u8]) -> Vec<u8> {
        let mut redactor = Self::new(secrets.clone());
        let mut out = redactor.push(text);
        out.extend(redactor.finish());
        out
    }

    /// Takes a chunk and gives back what is safe to show.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(chunk);
        self.advance(false)
    }

    /// Gives back what was held; the stream has ended.
    pub fn finish(&mut self) -> Vec<u8> {
        self.advance(true)
    }

    /// How many things were masked so far.
    pub fn masked(&self) -> u64 {
        self.masked
    }

    fn advance(&mut self, is_last: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.held.len());
        let mut at = 0;
        while at < self.held.len() {
            let rest = &self.held[at..];
            let step = match self.inside {
                Inside::Token(shape) => {
                    let length = shape.run(rest);
                    if length < rest.len() || is_last {
                        self.inside = Inside::Nothing;
                    }
                    Some(length)
                }
                Inside::Key(swallowed) => match shapes::key_end(rest) {
                    Some(length) => {
                        self.inside = Inside::Nothing;
                        Some(length)
                    }
                    None if swallowed > LONGEST_KEY => {
                        self.inside = Inside::Nothing;
                        Some(0)
                    }
                    // The end may begin in the last bytes; one byte at a time until it is seen.
                    None if rest.len() < shapes::KEY_END_WINDOW && !is_last => None,
                    None => {
                        self.inside = Inside::Key(swallowed + 1);
                        Some(1)
                    }
                },
                Inside::Nothing => match self.fit(at, is_last) {
                    Fit::No => {
                        out.push(rest[0]);
                        Some(1)
                    }
                    Fit::Wait => None,
                    Fit::Mask(length) => {
                        out.extend_from_slice(MASK);
                        self.masked += 1;
                        Some(length)
                    }
                    Fit::Open(shape) => {
                        out.extend_from_slice(MASK);
                        self.masked += 1;
                        self.inside = Inside::Token(shape);
                        Some(0)
                    }
                    Fit::Key => {
                        out.extend_from_slice(MASK);
                        self.masked += 1;
                        self.inside = Inside::Key(0);
                        Some(shapes::KEY_BEGIN.len())
                    }
                },
            };
            let Some(length) = step else { break };
            at += length;
        }
        self.before.extend(self.held.drain(..at));
        let old = self.before.len().saturating_sub(shapes::LOOKBEHIND);
        self.before.drain(..old);
        out
    }

    fn fit(&self, at: usize, is_last: bool) -> Fit {
        let (passed, rest) = self.held.split_at(at);
        if self.secrets.begins(rest[0]) {
            match self.secrets.fit(rest, is_last) {
                Fit::No => {}
                found => return found,
            }
        }
        match self.shapes {
            Shapes::Masked => shapes::fit(&self.before, passed, rest, is_last),
            Shapes::Shown => Fit::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn masked(secrets: &[&str], text: &str) -> String {
        let secrets = Arc::new(Secrets::new(secrets));
        String::from_utf8(Redactor::whole(&secrets, text.as_bytes())).expect("text")
    }

    /// Tokens are put together here, so that no scanner takes this file for a leak.
    fn token(head: &str, tail: &str, count: usize) -> String {
        format!("{head}{}", tail.repeat(count))
    }

    #[test]
    fn tokens_of_known_shapes_are_masked_and_their_neighbours_stay() {
        let jwt =
            format!("{}.{}.{}", token("eyJ", "hbGc", 4), token("eyJ", "zdWI", 5), "c2ln".repeat(6));
        for secret in [
            token("AKIA", "ABCD2345", 2),
            token("ghp_", "aB3dE6", 6),
            token("github_pat_", "11ABCDEFG0", 5),
            token("sk-ant-api03-", "abcDEF123-_", 4),
            token("sk-proj-", "abcDEF123", 5),
            token("xoxb-", "123456789-", 4),
            token("glpat-", "abcDEF1234", 2),
            token("npm_", "abcDEF", 6),
            token("hf_", "abcDEF1234", 3),
            token("AIza", "SyA1234", 5),
            jwt,
        ] {
            let text = format!("token={secret}, next");
            assert_eq!(masked(&[], &text), "token=[redacted], next", "{secret}");
        }
    }

    #[test]
    fn a_token_is_found_behind_a_colour_an_escape_and_a_percent_code() {
        let long = token("ghp_", "aB3dE6", 6);
        let short = token("sk-proj-", "abcDEF123", 5);
        let jwt =
            format!("{}.{}.{}", token("eyJ", "hbGc", 4), token("eyJ", "zdWI", 5), "c2ln".repeat(6));
        for secret in [long, short, jwt] {
            for before in ["\u{1b}[1;32m", "\u{1b}[K", "{\"a\":\"x\\n", "\\t", "token%3D", "%3d"] {
                let text = format!("{before}{secret} next");
                assert_eq!(masked(&[], &text), format!("{before}[redacted] next"), "{text}");
            }
        }
    }

    #[test]
    fn a_value_is_masked_as_the_json_of_other_languages_writes_it() {
        for spelling in ["p\\u00e4ss\\u2713\\ud83d\\ude00w", "p\\u00E4ss\\u2713\\uD83D\\uDE00w"] {
            assert_eq!(masked(&["päss✓😀w"], spelling), "[redacted]");
        }
        assert_eq!(masked(&["pass/word/1"], "pass\\/word\\/1"), "[redacted]");
    }

    #[test]
    fn values_alone_are_hidden_where_tokens_are_the_topic() {
        let secrets = Arc::new(Secrets::new(["hunter2hunter2"]));
        let token = token("ghp_", "aB3dE6", 6);
        let text = format!("é hunter2hunter2é {token} hunter2");
        let hidden = format!("é [redacted]é {token} hunter2");
        assert_eq!(secrets.hide_in(&text), Some(hidden));
        assert_eq!(secrets.hide_in(&token), None);
        assert_eq!(Arc::new(Secrets::default()).hide_in(&text), None);
    }

    #[test]
    fn a_private_key_is_masked_from_its_first_to_its_last_line() {
        let key =
            format!("-----BEGIN {0} KEY-----\nMIIabc\nxyz\n-----END {0} KEY-----", "RSA PRIVATE");
        assert_eq!(masked(&[], &format!("a\n{key}\nb\n")), "a\n[redacted]\nb\n");
        let public = "-----BEGIN PUBLIC KEY-----\nMIIabc\n-----END PUBLIC KEY-----\n";
        assert_eq!(masked(&[], public), public);
    }

    #[test]
    fn honest_text_stays() {
        for text in [
            "ask-me, task-force, risk-averse sk-1",
            "the word eyJ and AKIA alone; ghp_ too",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "https://example.org/a/b?c=d&e=f",
        ] {
            assert_eq!(masked(&["tiny"], text), text);
        }
    }

    #[test]
    fn a_value_is_masked_in_every_spelling() {
        let value = "pa/ss wörd\"+&1";
        for spelling in encodings::spellings(value.as_bytes()) {
            let text = [b"<".as_slice(), &spelling, b">"].concat();
            let secrets = Arc::new(Secrets::new([value]));
            let out = Redactor::whole(&secrets, &text);
            assert_eq!(out, [b"<".as_slice(), MASK, b">"].concat(), "{spelling:?}");
        }
    }

    #[test]
    fn a_value_inside_a_longer_base64_text_is_masked() {
        let value = "correct horse battery";
        for pad in ["", "u", "us", "use"] {
            let text =
                encodings::base64(format!("{pad}:{value}:x").as_bytes(), encodings::STANDARD);
            let out = masked(&[value], &text);
            assert!(out.contains("[redacted]") && out.len() < text.len(), "{pad}: {out}");
        }
    }

    #[test]
    fn the_longer_of_two_values_counts() {
        assert_eq!(
            masked(&["secret", "secret-longer"], "a secret-longer b secret-long"),
            "a [redacted] b [redacted]-long"
        );
    }

    fn cut(text: &[u8], cuts: &[usize], secrets: &Arc<Secrets>) -> Vec<u8> {
        let mut redactor = Redactor::new(secrets.clone());
        let (mut out, mut from) = (Vec::new(), 0);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
        places.sort_unstable();
        for place in places {
            out.extend(redactor.push(&text[from..place]));
            from = place;
        }
        out.extend(redactor.push(&text[from..]));
        out.extend(redactor.finish());
        out
    }

    fn contains(text: &[u8], part: &[u8]) -> bool {
        text.windows(part.len()).any(|window| window == part)
    }

    proptest! {
        #[test]
        fn a_planted_value_never_appears_whichever_way_chunks_are_cut(
            value in "[a-zA-Z0-9+/=_%\" -]{8,40}",
            before in "[a-zA-Z0-9 =:\n-]{0,60}",
            after in "[a-zA-Z0-9 =:\n-]{0,60}",
            spelling in any::<usize>(),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let spellings = encodings::spellings(value.as_bytes());
            let spelling = &spellings[spelling % spellings.len()];
            let text = [before.as_bytes(), spelling, after.as_bytes(), spelling].concat();
            let secrets = Arc::new(Secrets::new([&value]));
            let out = cut(&text, &cuts, &secrets);
            prop_assert!(!contains(&out, spelling), "{}", String::from_utf8_lossy(&out));
            prop_assert_eq!(out, cut(&text, &[], &secrets));
        }

        #[test]
        fn the_cut_of_chunks_never_changes_the_answer(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("-----BEGIN PRIVATE KEY-----".to_owned()),
                    Just("-----END PRIVATE KEY-----".to_owned()),
                    Just("ghp_".to_owned()), Just("eyJ".to_owned()), Just(".".to_owned()),
                    Just("sk-".to_owned()), Just("planted".to_owned()), Just("AKIA".to_owned()),
                    "[a-zA-Z0-9_-]{1,30}", "[ -~\n]{1,10}",
                ], 0..12),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let text = parts.concat();
            let secrets = Arc::new(Secrets::new(["planted", "plantedagain"]));
            prop_assert_eq!(
                cut(text.as_bytes(), &cuts, &secrets),
                cut(text.as_bytes(), &[], &secrets)
            );
        }
    }
}
