//! Head and tail of a text that is too long to be shown, and how much is missing between them.
//!
//! One type for every cut in what tools and scripts give back: an excerpt can be made shorter again, and
//! its note still counts all that is missing. A cut goes between lines where that costs little, so that the number of
//! missing lines is one that a reader can check. Pure; the streams of a script are fed in as they come.

/// The start and the end of a text, and what is missing between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    head: String,
    /// Empty where nothing is missing: the head is the text then.
    tail: String,
    missing: TextSize,
}

/// Characters and line ends of a text or a part of one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextSize {
    /// Characters.
    pub chars: u64,
    /// Line ends.
    pub lines: u64,
}

impl TextSize {
    /// The size of `text`.
    pub fn of(text: &str) -> Self {
        Self {
            chars: text.chars().count() as u64,
            lines: text.bytes().filter(|byte| *byte == b'\n').count() as u64,
        }
    }

    const fn plus(self, other: Self) -> Self {
        Self { chars: self.chars + other.chars, lines: self.lines + other.lines }
    }

    const fn minus(self, other: Self) -> Self {
        Self {
            chars: self.chars.saturating_sub(other.chars),
            lines: self.lines.saturating_sub(other.lines),
        }
    }
}

impl Excerpt {
    /// The whole text.
    pub fn whole(text: impl Into<String>) -> Self {
        Self { head: text.into(), ..Self::default() }
    }

    /// Whether something is missing.
    pub fn is_cut(&self) -> bool {
        self.missing != TextSize::default()
    }

    /// The size of the text that it is an excerpt of.
    pub fn size(&self) -> TextSize {
        TextSize::of(&self.head).plus(TextSize::of(&self.tail)).plus(self.missing)
    }

    /// The excerpt with both of its parts changed. What is missing is counted as before.
    #[must_use]
    pub fn map(self, change: impl Fn(String) -> String) -> Self {
        Self { head: change(self.head), tail: change(self.tail), missing: self.missing }
    }

    /// At most `max` characters of it, two thirds from the start and one from the end, with a note between
    /// them that says what is missing in all and, in `rest`, where it is. The note counts as well, but
    /// leaves half of `max` to the text.
    pub fn text_within(&self, max: usize, rest: Option<&str>) -> String {
        let size = self.size();
        if !self.is_cut() && size.chars <= max as u64 {
            return self.head.clone();
        }
        // The longest that it can be, with the two line ends around it.
        let note_chars = note(size, rest).chars().count() + 2;
        let room = max.saturating_sub(note_chars).max(max / 2);
        let tail_source = if self.is_cut() { &self.tail } else { &self.head };
        let head = first_chars(&self.head, room - room / 3);
        let tail = last_chars(tail_source, room / 3);
        let missing = size.minus(TextSize::of(head)).minus(TextSize::of(tail));
        let line_end = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        format!("{head}{line_end}{}\n{tail}", note(missing, rest))
    }
}

/// What is missing, and where all of it is.
fn note(missing: TextSize, rest: Option<&str>) -> String {
    let chars = counted(missing.chars, "character");
    let lines = match missing.lines {
        0 => String::new(),
        lines => format!(", {}", counted(lines, "line")),
    };
    let rest = rest.map(|rest| format!("; {rest}")).unwrap_or_default();
    format!("[{chars}{lines} left out{rest}]")
}

/// A number with its noun: `1 line`, `2 lines`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// At most `count` characters from the start, up to the end of a line if one is in the second half.
fn first_chars(text: &str, count: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(count) else { return text };
    let start = &text[..end];
    match start.rfind('\n') {
        Some(at) if at + 1 >= end / 2 => &start[..=at],
        _ => start,
    }
}

/// At most `count` characters from the end, from the start of a line if one is in the first half.
fn last_chars(text: &str, count: usize) -> &str {
    if count == 0 {
        return "";
    }
    let at = text.char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at);
    let end = &text[at..];
    if at == 0 || text[..at].ends_with('\n') {
        return end;
    }
    match end.find('\n') {
        Some(line_end) if line_end < end.len() / 2 => &end[line_end + 1..],
        _ => end,
    }
}

/// Makes an excerpt of a text of any length as it comes, in bounded memory.
#[derive(Debug)]
pub struct ExcerptBuilder {
    excerpt: Excerpt,
    max: usize,
    head_chars: usize,
}

impl ExcerptBuilder {
    /// Keeps `max` characters from the start and as many from the end.
    pub fn new(max: usize) -> Self {
        Self { excerpt: Excerpt::default(), max, head_chars: 0 }
    }

    /// The next part of the text.
    pub fn push(&mut self, part: &str) {
        let room = self.max - self.head_chars;
        let end = part.char_indices().nth(room).map_or(part.len(), |(at, _)| at);
        let (to_head, rest) = part.split_at(end);
        self.head_chars += to_head.chars().count();
        self.excerpt.head.push_str(to_head);
        self.excerpt.tail.push_str(rest);
        // Not with every part: moving the tail costs as much as it is long.
        if self.excerpt.tail.len() > self.max.saturating_mul(8) + (64 << 10) {
            self.drop_middle();
        }
    }

    fn drop_middle(&mut self) {
        let tail = &mut self.excerpt.tail;
        let kept = match self.max {
            0 => tail.len(),
            max => tail.char_indices().rev().nth(max - 1).map_or(0, |(at, _)| at),
        };
        let dropped = TextSize::of(&tail[..kept]);
        self.excerpt.missing = self.excerpt.missing.plus(dropped);
        tail.drain(..kept);
    }

    /// The excerpt of all that was pushed.
    pub fn finish(mut self) -> Excerpt {
        self.drop_middle();
        if !self.excerpt.is_cut() {
            let tail = std::mem::take(&mut self.excerpt.tail);
            self.excerpt.head.push_str(&tail);
        }
        self.excerpt
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(count: u32) -> String {
        (0..count).map(|number| format!("line {number:04}\n")).collect::<Vec<_>>().concat()
    }

    #[test]
    fn the_note_counts_exactly_the_lines_that_are_not_shown() {
        let text = lines(2000);
        for kept in [200, 1000, 12_000] {
            let mut builder = ExcerptBuilder::new(kept);
            text.as_bytes().chunks(7).for_each(|part| {
                builder.push(std::str::from_utf8(part).expect("text"));
            });
            let excerpt = builder.finish();
            for max in [150, 999, 5000] {
                let shown = excerpt.text_within(max, Some("all of it: there"));
                let visible = shown.lines().filter(|line| line.starts_with("line ")).count();
                let said = format!(", {} lines left out; all of it: there]", 2000 - visible);
                assert!(shown.contains(&said), "{kept} {max}: {shown}");
                assert!(shown.chars().count() <= max, "{kept} {max}: {shown}");
                assert!(shown.starts_with("line 0000\n") && shown.ends_with("line 1999\n"));
            }
        }
    }

    #[test]
    fn a_text_that_fits_is_whole_and_a_long_line_is_cut_in_itself() {
        let excerpt = Excerpt::whole("a\nb");
        assert_eq!((excerpt.text_within(3, None).as_str(), excerpt.is_cut()), ("a\nb", false));
        let long = Excerpt::whole("é".repeat(200)).text_within(100, None);
        assert_eq!(
            long,
            format!("{}\n[127 characters left out]\n{}", "é".repeat(49), "é".repeat(24))
        );
        assert_eq!(
            Excerpt::whole("ab\ncd\n").text_within(1, None),
            "[6 characters, 2 lines left out]\n"
        );
    }

    proptest! {
        #[test]
        fn shown_and_missing_are_all_of_it(
            text in "[a-zé\n]{0,300}", kept in 0usize..80, max in 90usize..160, at in 0usize..300,
        ) {
            let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            let (first, second) = text.split_at(at.unwrap_or(0));
            let mut builder = ExcerptBuilder::new(kept);
            builder.push(first);
            builder.push(second);
            let excerpt = builder.finish();
            prop_assert_eq!(excerpt.size(), TextSize::of(&text));
            let shown = excerpt.text_within(max, None);
            match shown.split_once(" left out]\n") {
                None => prop_assert_eq!(&shown, &text),
                Some((before, tail)) => {
                    let (head, note) = before.rsplit_once('[').expect("a note");
                    let said: usize = note.split(' ').next().expect("a number").parse().expect("a number");
                    let head = if text.starts_with(head) { head } else { head.trim_end_matches('\n') };
                    prop_assert!(text.starts_with(head) && text.ends_with(tail), "{shown:?}");
                    let visible = head.chars().count() + tail.chars().count();
                    // The line end before the note may be ours.
                    let total = text.chars().count();
                    prop_assert!(visible + said == total || visible + said == total + 1, "{shown:?}");
                    prop_assert!(shown.chars().count() <= max, "{shown:?}");
                }
            }
        }
    }
}
