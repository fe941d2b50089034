//! The parts of a description that stand in quotes, and those that do not.
//!
//! Authors quote what a person would say ("prove this olympiad inequality"). A quote stays on one line
//! and within a few words; an apostrophe inside a word opens none.
//!
//! tidy:allow-cjk

/// Bytes of what is still a phrase and not a sentence about something.
const MAX_QUOTE: usize = 120;

/// The parts of `text` in order, each with whether it stands in quotes; together they are the whole text.
pub(super) fn parts(text: &str, mut give: impl FnMut(&str, bool)) {
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest[from..].find(['"', '\'', '“', '「', '‘']).map(|at| from + at) {
        let (end, next) = match quote(rest, at) {
            Some((start, end)) => {
                give(&rest[..start], false);
                give(&rest[start..end], true);
                (end, 0)
            }
            None => (0, at + rest[at..].chars().next().map_or(1, char::len_utf8)),
        };
        rest = &rest[end..];
        // Behind a quote stands the sign that closes it.
        from = if end > 0 { rest.chars().next().map_or(0, char::len_utf8) } else { next };
    }
    give(rest, false);
}

/// The inside of the quote that opens at `at`, if one does.
fn quote(text: &str, at: usize) -> Option<(usize, usize)> {
    let open = text[at..].chars().next()?;
    let close = match open {
        '“' => '”',
        '「' => '」',
        '‘' => '’',
        other => other,
    };
    let in_word = |ch: Option<char>| ch.is_some_and(char::is_alphanumeric);
    if matches!(open, '"' | '\'') && in_word(text[..at].chars().next_back()) {
        return None;
    }
    let start = at + open.len_utf8();
    let near = &text[start..text.floor_char_boundary((start + MAX_QUOTE).min(text.len()))];
    let closes = |(end, _): &(usize, &str)| {
        open != '\'' && open != '‘' || !in_word(near[*end + close.len_utf8()..].chars().next())
    };
    let mut ends = near.match_indices(close);
    let end = ends.find(closes).map(|(end, _)| end)?;
    (end > 0 && !near[..end].contains('\n')).then_some((start, start + end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quoted(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        parts(text, |part, is_quoted| {
            if is_quoted {
                found.push(part.to_owned());
            }
        });
        found
    }

    #[test]
    fn what_people_would_say_is_found_and_apostrophes_open_nothing() {
        assert_eq!(
            quoted(r#"Use for "sum the units" or “sales by region”."#),
            ["sum the units", "sales by region"]
        );
        assert_eq!(
            quoted("asked to 'solve this', 'what's new' or don't"),
            ["solve this", "what's new"]
        );
        assert_eq!(quoted("the user's files and the authors' names"), Vec::<String>::new());
        assert_eq!(quoted("说「翻译这段话」时使用"), ["翻译这段话"]);
    }

    proptest! {
        #[test]
        fn the_parts_are_the_text(text in "[a \"'“”「」‘’\\n.世]{0,60}") {
            let mut whole = String::new();
            parts(&text, |part, _| whole.push_str(part));
            prop_assert_eq!(whole, text);
        }
    }
}
