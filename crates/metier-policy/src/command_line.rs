//! Splits a command line into a program and its arguments, for callers that have only text.
//!
//! Plain words and quotes are understood. Whatever only a shell understands (pipes, lists, redirection,
//! substitution, globs, assignments before the program) is refused, never guessed: a rule about
//! `git` must not let `git log; rm -rf ~` pass.

use crate::error::PolicyError;
use crate::subject::Argv;

/// The program and arguments in a line of plain words.
pub fn parse_command_line(line: &str) -> Result<Argv, PolicyError> {
    let shell = |found: char| PolicyError::ShellSyntax {
        command: line.to_owned(),
        found: found.to_string(),
    };
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(ch) = chars.next() {
        match ch {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err(shell(ch)),
                        Some(end) if end == ch => break,
                        Some(inner @ ('$' | '`' | '\\' | '!')) if ch == '"' => {
                            return Err(shell(inner));
                        }
                        Some(inner) => word.push(inner),
                    }
                }
            }
            ';' | '|' | '&' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '\\' | '*' | '?'
            | '[' | ']' | '#' | '~' | '!' | '\n' | '\r' | '\0' => return Err(shell(ch)),
            _ => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    if words.first().is_some_and(|program: &String| program.contains('=')) {
        return Err(shell('='));
    }
    Argv::new(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_and_quotes_are_read() {
        for (line, expected) in [
            ("git status", &["git", "status"][..]),
            ("  git\t log  -1 ", &["git", "log", "-1"]),
            ("git commit -m 'a; b $x'", &["git", "commit", "-m", "a; b $x"]),
            ("echo \"two words\" ''", &["echo", "two words", ""]),
            ("a'b'\"c\"", &["abc"]),
        ] {
            assert_eq!(parse_command_line(line).expect("plain").words(), expected, "{line}");
        }
    }

    #[test]
    fn what_needs_a_shell_is_refused() {
        for line in [
            "git log; rm -rf ~",
            "git log && rm x",
            "git log | sh",
            "git log > x",
            "git log\nrm x",
            "git $(rm x)",
            "git \"$(rm x)\"",
            "git `rm x`",
            "git 'open",
            "ls *.rs",
            "PATH=/tmp git log",
            "git log &",
            "cat ~/.ssh/id_rsa",
        ] {
            assert_eq!(
                parse_command_line(line).map_err(|e| e.code()),
                Err("shell-syntax"),
                "{line}"
            );
        }
        assert_eq!(parse_command_line("  "), Err(PolicyError::EmptyCommand));
    }
}
