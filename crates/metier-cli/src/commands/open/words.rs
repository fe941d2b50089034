//! A command line split into words as a shell would, without a shell: quotes and backslashes count,
//! nothing is expanded and nothing runs.
//!
//! `$EDITOR` is written for a shell, as in `code --wait` or `"/opt/My Editor/bin" -n`.

/// The words of `text`; `None` when a quote is not closed. On Windows a backslash is a part of a
/// path, not an escape.
pub(super) fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(ch) = chars.next() {
        match (quote, ch) {
            (Some(open), _) if ch == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(ch);
                word.get_or_insert_default();
            }
            (None, _) if ch.is_whitespace() => words.extend(word.take()),
            (None, '\\') if !cfg!(windows) => {
                word.get_or_insert_default().push(chars.next()?);
            }
            // Inside double quotes only what would end or change them can be escaped.
            (Some('"'), '\\') if matches!(chars.peek(), Some('"' | '\\' | '$' | '`')) => {
                word.get_or_insert_default().extend(chars.next());
            }
            _ => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (text, expected) in [
            ("vi", &["vi"][..]),
            ("  code   --wait ", &["code", "--wait"]),
            ("'/opt/My Editor/bin' -n", &["/opt/My Editor/bin", "-n"]),
            (r#""a \"b\" c" d"e f"g"#, &[r#"a "b" c"#, "de fg"]),
            ("emacs '' x", &["emacs", "", "x"]),
            ("vi $(touch x) `y` ; z", &["vi", "$(touch", "x)", "`y`", ";", "z"]),
            ("", &[]),
        ] {
            assert_eq!(split(text).as_deref().unwrap_or_default(), expected, "{text}");
        }
        #[cfg(unix)]
        assert_eq!(split(r"my\ editor").expect("words"), ["my editor"]);
        for bad in ["'vi", "\"vi"] {
            assert_eq!(split(bad), None);
        }
    }
}
