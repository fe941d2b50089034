//! Splitting `allowed-tools`: a string at commas or blanks, never inside parentheses.
//!
//! Most real skills write the string, most of those with commas; 140 of 4,341 measured ones have
//! separators inside the parentheses of a pattern such as `Bash(git add:*, git commit:*)`.

/// A parenthesis is not closed, or closed without being opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unbalanced;

/// The tools named in `text`.
pub(crate) fn split_tools(text: &str) -> Result<Vec<Box<str>>, Unbalanced> {
    let mut tools = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    let mut push = |piece: &str| {
        if !piece.is_empty() {
            tools.push(piece.into());
        }
    };
    for (at, ch) in text.char_indices() {
        match ch {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or(Unbalanced)?,
            _ if depth == 0 && (ch == ',' || ch.is_whitespace()) => {
                push(&text[start..at]);
                start = at + ch.len_utf8();
            }
            _ => {}
        }
    }
    if depth != 0 {
        return Err(Unbalanced);
    }
    push(&text[start..]);
    Ok(tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        split_tools(text).expect("balanced").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn commas_blanks_and_parentheses() {
        assert_eq!(split("Read, Write,Bash"), ["Read", "Write", "Bash"]);
        assert_eq!(split("Bash(git:*) Bash(jq:*) Read"), ["Bash(git:*)", "Bash(jq:*)", "Read"]);
        assert_eq!(
            split("Bash(git add:*, git commit:*), Read"),
            ["Bash(git add:*, git commit:*)", "Read"]
        );
        assert_eq!(split("Read\n  Write"), ["Read", "Write"]);
        assert!(split(" , ").is_empty());
    }

    #[test]
    fn unbalanced_parentheses_are_refused() {
        assert_eq!(split_tools("Bash(git"), Err(Unbalanced));
        assert_eq!(split_tools("Bash)git("), Err(Unbalanced));
    }
}
