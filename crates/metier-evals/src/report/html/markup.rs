//! Text from cases and results made safe for HTML: bounded, without hidden or controlling characters, escaped.
//!
//! Every text of a page that is not ours passes through here.

/// Characters of a name or title.
pub(super) const NAME: usize = 120;
/// Characters of a sentence.
pub(super) const SENTENCE: usize = 500;

/// The text on one line, at most so many characters, for an element or a quoted attribute.
pub(super) fn safe(text: &str, max: usize) -> String {
    escape(&metier::skill::text::short_line(text, max))
}

/// Escapes what HTML would read as more than text.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}
