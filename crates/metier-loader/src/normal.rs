//! Text as a model may see it. Pure.
//!
//! Line ends become line feeds, a byte order mark goes, invisible and bidi characters that hide
//! something go, and control characters are shown as escapes. Honest emoji and scripts survive byte
//! for byte.

use std::borrow::Cow;

use metier_skill::hidden::{cannot_hide, without_hidden};

/// `text` as a model may see it; borrowed when there is nothing to change.
pub fn normalize(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut out = Cow::Borrowed(text);
    if out.contains('\r') {
        out = Cow::Owned(out.replace("\r\n", "\n").replace('\r', "\n"));
    }
    if !cannot_hide(out.as_bytes())
        && let Cow::Owned(clean) = without_hidden(&out)
    {
        out = Cow::Owned(clean);
    }
    if out.chars().any(is_shown_escaped) {
        let mut shown = String::with_capacity(out.len());
        for ch in out.chars() {
            if is_shown_escaped(ch) {
                shown.extend(ch.escape_unicode());
            } else {
                shown.push(ch);
            }
        }
        out = Cow::Owned(shown);
    }
    out
}

fn is_shown_escaped(ch: char) -> bool {
    (ch.is_control() && !matches!(ch, '\n' | '\t')) || matches!(ch, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_hides_goes_and_what_is_honest_stays() {
        assert_eq!(normalize("\u{feff}a\r\nb\rc"), "a\nb\nc");
        assert_eq!(normalize("x\u{202e}y\u{200b}z\u{1b}[2J"), "xyz\\u{1b}[2J");
        for honest in ["👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️", "می‌خواهم", "क्‍ष", "表格 データ", "plain\ttext\n"]
        {
            assert!(matches!(normalize(honest), Cow::Borrowed(same) if same == honest), "{honest}");
        }
    }

    proptest! {
        #[test]
        fn twice_is_once_and_nothing_hidden_is_left(text in "[\\PC\r\n\t\u{1b}\u{200b}\u{202e}\u{e0041}\u{feff}]{0,40}") {
            let once = normalize(&text).into_owned();
            prop_assert!(metier_skill::hidden::find_hidden(&once).is_empty());
            let escape = '\u{1b}';
            prop_assert!(!once.contains('\r') && !once.contains(escape));
        }
    }
}
