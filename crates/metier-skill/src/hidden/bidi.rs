//! Which bidirectional controls of a text are honest. Called by `scan` before its pass, because
//! the answer depends on what closes a control, further on in the paragraph.
//!
//! A control is excused when it has its partner in the same paragraph, the pair encloses something
//! visible, and the paragraph holds right-to-left letters that could need it. Overrides never are:
//! they draw left-to-right letters backwards, so that `gpj.exe` reads as `exe.jpg`, and no language is written so.
//! In Trojan Source (CVE-2021-42574) one of these conditions fails.

use super::tables::{is_rtl_letter, suspect};

/// What the whole text says about direction.
#[derive(Debug, Default)]
pub(super) struct Direction {
    /// The text holds at least one right-to-left letter.
    pub(super) has_rtl: bool,
    /// For each embedding, override, isolate and closing control in order: is it honest?
    pub(super) excused: Vec<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opener {
    Embedding,
    Override,
    Isolate,
}

#[derive(Debug)]
struct Open {
    opener: Opener,
    /// Its index in `Direction::excused`.
    control: usize,
    /// How many visible characters of the paragraph came before it.
    visible_before: usize,
}

#[derive(Debug, Default)]
struct Paragraph {
    open: Vec<Open>,
    open_isolates: usize,
    visible: usize,
    has_rtl: bool,
    /// Pairs that are honest if the paragraph proves to hold right-to-left letters.
    pairs: Vec<(usize, usize)>,
}

/// Whether there is a control or mark about which [`survey`] would be asked. Seen by bytes, at once for
/// nearly all texts; bytes that only look alike cost a survey, no more.
pub(super) fn has_controls(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(0xE2, 0xD8, bytes).any(|at| {
        matches!(
            bytes[at..],
            [0xD8, 0x9C, ..]
                | [0xE2, 0x80, 0x8E | 0x8F | 0xAA..=0xAE, ..]
                | [0xE2, 0x81, 0xA6..=0xA9, ..]
        )
    })
}

/// Reads the whole text once.
pub(super) fn survey(text: &str) -> Direction {
    let mut direction = Direction::default();
    let mut paragraph = Paragraph::default();
    for c in text.chars() {
        let control = direction.excused.len();
        match c {
            '\n' | '\r' | '\u{1C}'..='\u{1E}' | '\u{85}' | '\u{2029}' => {
                std::mem::take(&mut paragraph).end(&mut direction);
                continue;
            }
            '\u{202A}' | '\u{202B}' => paragraph.open(Opener::Embedding, control),
            '\u{202D}' | '\u{202E}' => paragraph.open(Opener::Override, control),
            '\u{2066}'..='\u{2068}' => paragraph.open(Opener::Isolate, control),
            '\u{202C}' => paragraph.close_embedding(control),
            '\u{2069}' => paragraph.close_isolate(control),
            c => {
                if !c.is_whitespace() && suspect(c).is_none() {
                    paragraph.visible += 1;
                    paragraph.has_rtl = paragraph.has_rtl || is_rtl_letter(c);
                }
                continue;
            }
        }
        direction.excused.push(false);
    }
    paragraph.end(&mut direction);
    direction
}

impl Paragraph {
    fn open(&mut self, opener: Opener, control: usize) {
        self.open_isolates += usize::from(opener == Opener::Isolate);
        self.open.push(Open { opener, control, visible_before: self.visible });
    }

    /// U+202C closes the innermost embedding or override, but never reaches out of an isolate.
    fn close_embedding(&mut self, control: usize) {
        if let Some(open) = self.open.pop_if(|open| open.opener != Opener::Isolate) {
            self.pair(&open, control);
        }
    }

    /// U+2069 closes the innermost isolate together with all that was left open in it.
    fn close_isolate(&mut self, control: usize) {
        if self.open_isolates == 0 {
            return;
        }
        while let Some(open) = self.open.pop() {
            if open.opener == Opener::Isolate {
                self.open_isolates -= 1;
                self.pair(&open, control);
                return;
            }
        }
    }

    fn pair(&mut self, open: &Open, close: usize) {
        if open.opener != Opener::Override && self.visible > open.visible_before {
            self.pairs.push((open.control, close));
        }
    }

    fn end(self, direction: &mut Direction) {
        if !self.has_rtl {
            return;
        }
        direction.has_rtl = true;
        for (open, close) in self.pairs {
            direction.excused[open] = true;
            direction.excused[close] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::Suspect;
    use super::*;

    #[test]
    fn every_character_that_the_survey_is_about_is_seen_by_its_bytes() {
        for ch in '\0'..=char::MAX {
            let is_asked = matches!(suspect(ch), Some(Suspect::BidiControl | Suspect::BidiMark));
            assert_eq!(has_controls(&format!("a{ch}b")), is_asked, "{ch:?}");
        }
    }
}
