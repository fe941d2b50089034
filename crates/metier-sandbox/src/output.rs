//! What is kept of a stream: its head, its tail, and how much there was. Pure:
//! `streams` feeds it, and a report shows it.

use serde::Serialize;

use crate::limits::OutputLimits;

/// Head and tail of a stream of any length, in bounded memory.
#[derive(Debug)]
pub(crate) struct HeadAndTail {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    bytes: u64,
}

/// What is shown of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CapturedStream {
    /// The text: all of it, or head and tail with a line between them that says what is missing.
    pub text: String,
    /// Bytes that were printed, after masking.
    pub bytes: u64,
    /// Whether something is missing from the text.
    pub truncated: bool,
}

impl HeadAndTail {
    pub(crate) fn new(limits: &OutputLimits) -> Self {
        Self {
            head: Vec::new(),
            tail: std::collections::VecDeque::new(),
            head_limit: limits.head,
            tail_limit: limits.tail,
            bytes: 0,
        }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        let to_head = chunk.len().min(self.head_limit - self.head.len());
        self.head.extend_from_slice(&chunk[..to_head]);
        let rest = &chunk[to_head..];
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn show(mut self) -> CapturedStream {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let missing = self.bytes - kept;
        let mut tail: &[u8] = self.tail.make_contiguous();
        let mut head: &[u8] = &self.head;
        let text = if missing == 0 {
            let whole = [head, tail].concat();
            String::from_utf8_lossy(&whole).into_owned()
        } else {
            // A character that the cut went through is dropped rather than shown as two wrong ones.
            while tail.first().is_some_and(|byte| byte & 0xC0 == 0x80) {
                tail = &tail[1..];
            }
            if let Err(error) = std::str::from_utf8(head)
                && error.error_len().is_none()
            {
                head = &head[..error.valid_up_to()];
            }
            let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
            format!("{head}\n[{missing} bytes left out]\n{tail}")
        };
        CapturedStream { text, bytes: self.bytes, truncated: missing > 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(chunks: &[&[u8]]) -> CapturedStream {
        let limits = OutputLimits { head: 4, tail: 4, stored: 0, total: 0 };
        let mut kept = HeadAndTail::new(&limits);
        for chunk in chunks {
            kept.push(chunk);
        }
        kept.show()
    }

    #[test]
    fn what_fits_is_shown_whole() {
        assert_eq!(kept(&[b"abc", b"defgh"]).text, "abcdefgh");
        assert!(!kept(&[b"abc", b"defgh"]).truncated);
    }

    #[test]
    fn of_more_the_head_and_the_tail_are_shown_and_the_rest_is_counted() {
        let shown = kept(&[b"abcdefgh", b"ij"]);
        assert_eq!(shown.text, "abcd\n[2 bytes left out]\nghij");
        assert_eq!((shown.bytes, shown.truncated), (10, true));
    }

    #[test]
    fn a_cut_never_goes_through_a_character() {
        let shown = kept(&["abcééééédef".as_bytes()]);
        assert!(!shown.text.contains('\u{fffd}'), "{}", shown.text);
    }

    proptest! {
        #[test]
        fn the_cut_of_chunks_never_matters(text in "[ -~é]{0,40}", at in 0usize..80) {
            let bytes = text.as_bytes();
            let at = at.min(bytes.len());
            prop_assert_eq!(kept(&[bytes]), kept(&[&bytes[..at], &bytes[at..]]));
        }
    }
}
