//! Where the frontmatter starts and ends.
//!
//! Fences are lines: `---` at the start of a line, nothing but blanks after it. Searching for the
//! substring `---`, as the reference validator does, cuts `description: a --- b` in two without a
//! word. A reader feeds the file block by block and stops at the block that holds the closing
//! fence; nothing beyond it is ever needed.

use std::ops::Range;

use crate::digest::Digest;

/// What is known about the frontmatter after some bytes of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fence {
    /// The first line is not an opening fence (or the bytes are too few to tell and the file has ended).
    Absent,
    /// Opened, not closed yet: more bytes are needed, or, at the end of the file, it is unclosed.
    Open,
    /// Opened and closed.
    Closed(Frontmatter),
}

/// The places of a closed frontmatter in the file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    /// The text between the fences, without the fence lines.
    pub yaml: Range<usize>,
    /// Where the body starts: after the closing fence's line.
    pub body: usize,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a leading byte order mark, 0 or 3.
pub fn bom_len(bytes: &[u8]) -> usize {
    if bytes.starts_with(BOM) { BOM.len() } else { 0 }
}

/// The digest of the frontmatter in a whole file, as [`crate::parse()`] gives it; `None` where there is
/// none.
pub fn frontmatter_digest(file: &[u8]) -> Option<Digest> {
    match find(file, Complete::Yes) {
        Fence::Closed(found) => Some(Digest::of(&file[found.yaml])),
        Fence::Absent | Fence::Open => None,
    }
}

/// Finds the fences in the first `bytes` of a file; `complete` says that there are no more.
///
/// Reading more bytes never changes `Absent` or `Closed`.
pub fn find(bytes: &[u8], complete: Complete) -> Fence {
    let start = bom_len(bytes);
    let Some(first_end) = memchr::memchr(b'\n', &bytes[start..]).map(|at| start + at) else {
        let maybe = match complete {
            Complete::Yes => is_fence(&bytes[start..]),
            Complete::No => could_be_fence(&bytes[start..]),
        };
        return if maybe { Fence::Open } else { Fence::Absent };
    };
    if !is_fence(&bytes[start..first_end]) {
        return Fence::Absent;
    }
    let yaml_start = first_end + 1;
    let mut line = yaml_start;
    while line < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[line..]).map(|at| line + at);
        if bytes[line..].starts_with(b"---") {
            match end {
                Some(end) if is_fence(&bytes[line..end]) => {
                    return Fence::Closed(Frontmatter { yaml: yaml_start..line, body: end + 1 });
                }
                None if complete == Complete::Yes && is_fence(&bytes[line..]) => {
                    return Fence::Closed(Frontmatter {
                        yaml: yaml_start..line,
                        body: bytes.len(),
                    });
                }
                _ => {}
            }
        }
        let Some(end) = end else { break };
        line = end + 1;
    }
    Fence::Open
}

/// Whether the bytes given to [`find`] are the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complete {
    /// They are.
    Yes,
    /// There may be more.
    No,
}

fn is_fence(line: &[u8]) -> bool {
    line.strip_prefix(b"---")
        .is_some_and(|rest| rest.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')))
}

/// Whether more bytes could make this unfinished first line a fence. A line of blanks after the
/// dashes is given up after a kilobyte, so that a file of blanks is not read to its end.
fn could_be_fence(line: &[u8]) -> bool {
    line.len() < 1024 && (is_fence(line) || b"---".starts_with(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn yaml(text: &str) -> Option<&str> {
        match find(text.as_bytes(), Complete::Yes) {
            Fence::Closed(found) => Some(&text[found.yaml]),
            _ => None,
        }
    }

    #[test]
    fn fences_are_whole_lines() {
        assert_eq!(yaml("---\na: 1\n---\nbody"), Some("a: 1\n"));
        assert_eq!(yaml("---\na: b --- c\n---"), Some("a: b --- c\n"));
        assert_eq!(yaml("---\na: 1\n----\n---x\n --- \n"), None);
        assert_eq!(yaml("----\na: 1\n---\n"), None);
        assert_eq!(yaml("---\n---\n"), Some(""));
        assert_eq!(yaml("\n---\na: 1\n---\n"), None);
    }

    #[test]
    fn bom_crlf_and_trailing_blanks_are_tolerated() {
        assert_eq!(yaml("\u{feff}--- \t\r\na: 1\r\n---  \r\nx"), Some("a: 1\r\n"));
    }

    #[test]
    fn the_body_starts_after_the_closing_line() {
        let text = b"---\na: 1\n---\nbody";
        let Fence::Closed(found) = find(text, Complete::No) else { panic!("closed") };
        assert_eq!(&text[found.body..], b"body");
    }

    proptest! {
        /// A reader may stop at the first answer: more bytes never change it.
        #[test]
        fn an_answer_stands_whatever_follows(text in "(---[ \r]?\n)?([a: \r\n-]|---|---\n){0,40}", cut in 0usize..120) {
            let bytes = text.as_bytes();
            let cut = cut.min(bytes.len());
            match find(&bytes[..cut], Complete::No) {
                Fence::Open => {}
                answer => prop_assert_eq!(answer, find(bytes, Complete::Yes)),
            }
        }

        #[test]
        fn ranges_lie_in_the_text_in_order(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Fence::Closed(found) = find(&bytes, Complete::Yes) {
                prop_assert!(found.yaml.start <= found.yaml.end);
                prop_assert!(found.yaml.end < found.body && found.body <= bytes.len());
            }
        }
    }
}
