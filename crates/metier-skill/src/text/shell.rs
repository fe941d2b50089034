//! Words for a shell: a command that a person can paste.
//! What a terminal would show as something else is never printed as it is.

use super::escape_line;

/// A word as any shell reads it back, in characters that a terminal shows as they are: what could
/// deceive who pastes it is spelled by `printf`.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if escape_line(word) == word {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    // A substitution loses the line ends at its end.
    let body = word.trim_end_matches('\n');
    let as_is = |byte: u8| (byte.is_ascii_graphic() || byte == b' ') && !b"'\\%".contains(&byte);
    let spelled: String = body
        .bytes()
        .map(
            |byte| if as_is(byte) { char::from(byte).to_string() } else { format!("\\{byte:03o}") },
        )
        .collect();
    let ends = &word[body.len()..];
    let ends = if ends.is_empty() { String::new() } else { format!("'{ends}'") };
    format!("\"$(printf '{spelled}')\"{ends}")
}
