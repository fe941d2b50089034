//! Counting the lines of a text without making them. Pure.
//! For the bodies and files that are loaded, and for `metier doctor`, which counts those of all skills.

/// How many lines `text` has: as many as `lines()` gives.
pub fn count_lines(text: &str) -> usize {
    let ended = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    ended + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_counted_as_they_would_be_made(text in "[a\r\n\u{2028}]{0,40}") {
            prop_assert_eq!(count_lines(&text), text.lines().count());
        }
    }
}
