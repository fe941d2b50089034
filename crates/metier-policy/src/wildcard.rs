//! Patterns over text: `*` is any run of characters, `?` is one; everything else is itself.
//!
//! A pattern matches the whole text or nothing, and upper case is not lower case. `*` crosses `/`
//! and line ends: a rule about a folder means everything below it, and a rule that could be escaped
//! by one more directory or an odd character in a name would be no rule. There is no escape: a
//! literal `*` in a name is matched by `?` or `*`.
//!
//! Matching never goes back over a `*`: between two stars the leftmost place is as good as any. So
//! the work is bounded by text times longest piece, and is linear for pieces without `?`.

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wildcard {
    /// What must stand at the start.
    first: Piece,
    /// What follows each `*`, the last of them at the end of the text. Empty without a `*`.
    rest: Box<[Piece]>,
    /// The byte that a text must begin with, where that is fixed. Most rules of a long list fail
    /// here, without a look at anything else.
    begins: Option<u8>,
}

/// Text between stars.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    text: Box<str>,
    chars: usize,
    questions: bool,
}

impl Wildcard {
    pub(crate) fn new(pattern: &str) -> Self {
        let mut pieces = pattern.split('*').map(Piece::new);
        let first = pieces.next().unwrap_or_else(|| Piece::new(""));
        let mut rest: Vec<Piece> = pieces.collect();
        // `a**b` is `a*b`; an empty last piece stays, since it says that the end is open.
        let last = rest.pop();
        rest.retain(|piece| piece.chars > 0);
        rest.extend(last);
        let begins = first.text.bytes().next().filter(|byte| *byte != b'?');
        Self { first, rest: rest.into(), begins }
    }

    /// Whether it matches everything.
    pub(crate) fn is_everything(&self) -> bool {
        self.first.chars == 0 && matches!(&*self.rest, [last] if last.chars == 0)
    }

    #[inline]
    pub(crate) fn matches(&self, text: &str) -> bool {
        let begins = self.begins.is_none_or(|byte| text.as_bytes().first() == Some(&byte));
        begins && self.matches_whole(text)
    }

    /// Whether it matches some text that begins with `head`.
    pub(crate) fn may_begin_with(&self, head: &str) -> bool {
        if self.first.chars >= head.chars().count() {
            let start: String = self.first.text.chars().take(head.chars().count()).collect();
            return Piece::new(&start).at_start(head) == Some(head.len());
        }
        // What is behind a star may follow.
        self.first.at_start(head).is_some() && !self.rest.is_empty()
    }

    fn matches_whole(&self, text: &str) -> bool {
        let Some(start) = self.first.at_start(text) else { return false };
        let mut text = &text[start..];
        let Some((last, middle)) = self.rest.split_last() else { return text.is_empty() };
        for piece in middle {
            let Some(end) = piece.find_end(text) else { return false };
            text = &text[end..];
        }
        last.is_at_end(text)
    }
}

impl Piece {
    fn new(text: &str) -> Self {
        Self { text: text.into(), chars: text.chars().count(), questions: text.contains('?') }
    }

    /// The bytes of `text` that it takes at the start.
    fn at_start(&self, text: &str) -> Option<usize> {
        if !self.questions {
            return text.starts_with(&*self.text).then_some(self.text.len());
        }
        let mut rest = text.chars();
        for wanted in self.text.chars() {
            let found = rest.next()?;
            if wanted != '?' && wanted != found {
                return None;
            }
        }
        Some(text.len() - rest.as_str().len())
    }

    /// Where its leftmost place in `text` ends.
    fn find_end(&self, text: &str) -> Option<usize> {
        if !self.questions {
            return text.find(&*self.text).map(|start| start + self.text.len());
        }
        text.char_indices()
            .find_map(|(start, _)| self.at_start(&text[start..]).map(|taken| start + taken))
    }

    fn is_at_end(&self, text: &str) -> bool {
        if !self.questions {
            return text.ends_with(&*self.text);
        }
        let start = text.char_indices().rev().nth(self.chars - 1).map(|(at, _)| at);
        start.is_some_and(|start| self.at_start(&text[start..]).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_may_match_what_begins_like_it() {
        for (pattern, head, expected) in [
            ("pdf/*", "pdf/", true),
            ("pdf/scripts/*.py", "pdf/", true),
            ("p?f/*", "pdf/", true),
            ("*", "pdf/", true),
            ("*/x", "pdf/", true),
            ("pdf*", "pdf/", true),
            ("pdf", "pdf/", false),
            ("pd/*", "pdf/", false),
            ("pdfs/*", "pdf/", false),
            ("", "pdf/", false),
        ] {
            assert_eq!(Wildcard::new(pattern).may_begin_with(head), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "a/b\nc", true),
            ("**", "x", true),
            ("a", "A", false),
            ("a*", "a", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*.md", "docs/x.md", true),
            ("*.md", "x.md.sh", false),
            ("src/*", "src/a/b.rs", true),
            ("src/*", "src", false),
            ("src/*", "xsrc/a", false),
            ("?", "é", true),
            ("?", "", false),
            ("*?", "éü", true),
            ("*a?", "xab", true),
            ("a*b?c*d", "a--bxc--d", true),
            ("a*b?c*d", "a--bc--d", false),
            ("*ab*ab", "ab", false),
            ("*ab*ab", "abab", true),
            ("*.example.com", "api.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "api.example.com.evil", false),
        ] {
            assert_eq!(Wildcard::new(pattern).matches(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_matches_everything_is_known() {
        assert!(Wildcard::new("**").is_everything());
        assert!(!Wildcard::new("*a").is_everything() && !Wildcard::new("").is_everything());
    }

    /// The definition itself: slow, and plain to see.
    fn oracle(pattern: &[char], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['*', rest @ ..] => (0..=text.len()).any(|skipped| oracle(rest, &text[skipped..])),
            [wanted, rest @ ..] => text.split_first().is_some_and(|(found, text)| {
                (wanted == found || *wanted == '?') && oracle(rest, text)
            }),
        }
    }

    #[test]
    fn a_hostile_pattern_costs_no_more_than_text_times_pattern() {
        let text = "a".repeat(100_000);
        for pattern in ["*a".repeat(500) + "b", "*?a".repeat(500) + "b", "*aaaa?aaab*".repeat(20)] {
            assert!(!Wildcard::new(&pattern).matches(&text));
        }
    }

    proptest::proptest! {
        #[test]
        fn it_agrees_with_the_definition(pattern in "[ab*?é]{0,8}", text in "[abé/\n]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let expected = oracle(&chars(&pattern), &chars(&text));
            proptest::prop_assert_eq!(Wildcard::new(&pattern).matches(&text), expected);
        }

        #[test]
        fn any_pattern_can_be_tried_on_any_text(pattern in ".{0,40}", text in ".{0,40}") {
            let _ = Wildcard::new(&pattern).matches(&text);
            proptest::prop_assert!(Wildcard::new("*").matches(&text));
        }
    }
}
