//! Runs of bytes of one kind in a text, found without looking at every byte.
//! What they mean is the caller's.

/// Where the first run of at least `least` bytes that `is_in` takes begins, at `from` or later. Before `from` no run is
/// open.
pub(crate) fn next_run(
    text: &str,
    from: usize,
    least: usize,
    is_in: impl Fn(u8) -> bool,
) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        let window = bytes.get(at..at + least)?;
        // From the end: a byte that is in no run rules out every run that it would be in.
        match window.iter().rposition(|byte| !is_in(*byte)) {
            None => return Some(at),
            Some(gap) => at += gap + 1,
        }
    }
}

/// Where the first character outside ASCII begins, at `from` or later.
pub(crate) fn next_not_ascii(text: &str, from: usize) -> Option<usize> {
    /// Bytes that are looked at in one step.
    const STEP: usize = 64;
    let mut at = from;
    for piece in text.as_bytes()[from..].chunks(STEP) {
        if !piece.is_ascii() {
            return piece.iter().position(|byte| !byte.is_ascii()).map(|inside| at + inside);
        }
        at += piece.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_characters_are_found_wherever_they_stand() {
        for before in 0..200 {
            let text = format!("{}{}{}", "a".repeat(before), " ".repeat(20), "é".repeat(3));
            assert_eq!(next_run(&text, 0, 20, |byte| byte == b' '), Some(before));
            assert_eq!(next_run(&text, 0, 21, |byte| byte == b' '), None);
            let first = before + 20;
            assert_eq!(next_not_ascii(&text, 0), Some(first));
            assert_eq!(next_not_ascii(&text, first + 2), Some(first + 2));
            assert_eq!(next_not_ascii(&text[..first], 0), None);
        }
    }
}
