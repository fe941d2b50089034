//! The beginning of a section that is longer than its room. Pure.
//!
//! It ends at the end of a line, or inside a line that alone is much longer than what is left; a code
//! fence that it would leave open is closed, so that what follows is not taken for code.

use super::room::Size;

/// How much of a section stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Beginning {
    /// Bytes of the section.
    pub(super) bytes: usize,
    /// Lines of the section that stay whole.
    pub(super) whole_lines: usize,
    /// What ends it: a line end, an ellipsis, the end of a code fence.
    pub(super) end: String,
    /// What it takes, its end included.
    pub(super) size: Size,
}

/// A line is cut where more characters than these would stay unused.
const UNUSED_CHARS: usize = 200;

/// The longest beginning of `text` within `room`; `None` if no more than its heading fits.
pub(super) fn beginning(text: &str, room: Size, has_heading: bool) -> Option<Beginning> {
    let mut best: Option<Beginning> = None;
    let (mut bytes, mut size) = (0, Size { chars: 0, lines: 0 });
    let mut fence = Fence::default();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let before = fence.closing();
        fence.read(line);
        let chars = line.chars().count();
        let whole = size.plus(Size { chars, lines: 1 });
        let end = fence.closing();
        let ended = Size { chars: end.chars().count(), lines: usize::from(!end.is_empty()) };
        if whole.plus(ended).within(room) {
            (bytes, size) = (bytes + line.len(), whole);
            if at > 0 || !has_heading {
                best = Some(Beginning { bytes, whole_lines: at + 1, end, size: size.plus(ended) });
            }
            continue;
        }
        let unused = room.chars.saturating_sub(best.as_ref().map_or(0, |best| best.size.chars));
        if unused > UNUSED_CHARS && (at > 0 || !has_heading) {
            let whole_lines = at;
            let end = format!("…\n{before}");
            let lines = 1 + usize::from(!before.is_empty());
            let taken = size.plus(Size { chars: end.chars().count(), lines });
            if taken.within(room) {
                let part = words_within(line, room.chars - taken.chars);
                let size = taken.plus(Size { chars: part.chars().count(), lines: 0 });
                best = Some(Beginning { bytes: bytes + part.len(), whole_lines, end, size });
            }
        }
        break;
    }
    best
}

/// As many characters of a line as there is room for, up to the end of a word where one is near.
fn words_within(line: &str, chars: usize) -> &str {
    let end = line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at);
    let part = &line[..end];
    match part.rfind(char::is_whitespace) {
        Some(space) if end - space < UNUSED_CHARS / 2 => part[..space].trim_end(),
        _ => part.trim_end(),
    }
}

/// A code fence that is open.
#[derive(Default)]
struct Fence<'a> {
    open: Option<&'a str>,
}

impl<'a> Fence<'a> {
    fn read(&mut self, line: &'a str) {
        let inner = line.trim_start_matches(' ');
        let marks = inner.find(|ch| ch != '`').unwrap_or(inner.len());
        let marks = marks.max(inner.find(|ch| ch != '~').unwrap_or(inner.len()));
        if marks < 3 {
            return;
        }
        let (marks, rest) = inner.split_at(marks);
        match self.open {
            None if !marks.starts_with('`') || !rest.contains('`') => self.open = Some(marks),
            Some(open) if marks.starts_with(open) && rest.trim().is_empty() => self.open = None,
            _ => {}
        }
    }

    /// The line that closes it, if it is open.
    fn closing(&self) -> String {
        self.open.map(|marks| format!("{marks}\n")).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, chars: usize, lines: usize, has_heading: bool) -> Option<String> {
        let found = beginning(text, Size { chars, lines }, has_heading)?;
        Some(format!("{}{}", &text[..found.bytes], found.end))
    }

    #[test]
    fn it_ends_with_a_line_and_closes_a_fence() {
        let text = "## A\none\ntwo\n```sh\nls\ncd\n```\nend\n";
        assert_eq!(shown(text, 999, 2, true).as_deref(), Some("## A\none\n"));
        assert_eq!(shown(text, 999, 6, true).as_deref(), Some("## A\none\ntwo\n```sh\nls\n```\n"));
        assert_eq!(shown(text, 999, 1, true), None, "a heading alone");
    }

    #[test]
    fn a_line_that_is_longer_than_the_room_is_cut_at_a_word() {
        let text = format!("## A\n{}\n", "word ".repeat(1000));
        let shown = shown(&text, 300, 10, true).expect("fits");
        assert!(shown.ends_with("word…\n"), "{shown}");
        assert!((280..=300).contains(&shown.chars().count()));
    }

    proptest! {
        #[test]
        fn it_fits_and_begins_the_text(
            text in "((```|~~~~|[a-z世 ]{0,300}|    ```)\n){0,30}",
            chars in 0usize..2000, lines in 0usize..30, has_heading: bool,
        ) {
            let Some(found) = beginning(&text, Size { chars, lines }, has_heading) else { return Ok(()) };
            let shown = format!("{}{}", &text[..found.bytes], found.end);
            prop_assert!(shown.chars().count() <= chars && shown.lines().count() <= lines);
            prop_assert_eq!(shown.chars().count(), found.size.chars);
            prop_assert_eq!(shown.lines().count(), found.size.lines);
        }
    }
}
