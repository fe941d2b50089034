//! Patterns over commands: matched word by word against the arguments, never against one string.
//!
//! | pattern | matches |
//! |---|---|
//! | `git status` | that program with exactly that argument |
//! | `git *`, `git:*` | `git` with any arguments, or none |
//! | `git push *` | `git push` and whatever follows |
//! | `npm run test:*` | `npm run test`, `npm run test:unit`, and whatever follows |
//! | `npx * --help` | one argument, whatever it is, then `--help` |
//! | `*` | every command |
//!
//! Of scripts, `project:*` means those of all skills of that source.
//!
//! `gitx`, `/tmp/git` and the one word `git log; rm -rf` are other programs than `git`. A rule that
//! asks or refuses matches more widely ([`MatchMode::Wide`]): `rm` then means `/bin/rm` as well, and
//! `git push` means it with more arguments. A list of denied commands is still not a security boundary,
//! since any program may start another; the sandbox is.

use std::str::FromStr;

use metier_skill::Source;

use crate::wildcard::Wildcard;

/// How strictly a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchMode {
    /// For allow rules: exactly what was written.
    Exact,
    /// For ask and deny rules: also the same program by its path, and with more arguments.
    Wide,
}

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words {
    words: Box<[Word]>,
    /// Whether more arguments may follow.
    open: bool,
    /// For `project:*`, among scripts: all of those skills. Read as arguments it would mean a script called `project`,
    /// so that a rule which denies would deny nothing.
    of_source: Option<Wildcard>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    whole: Wildcard,
    /// For `test:*` as an argument: `test:` and more.
    family: Option<Wildcard>,
    has_slash: bool,
}

impl Words {
    pub(crate) fn new(pattern: &str) -> Self {
        let mut words: Vec<&str> = pattern.split_whitespace().collect();
        let mut open = false;
        let mut family = false;
        if let Some(last) = words.last_mut() {
            if matches!(*last, "*" | "**") {
                words.pop();
                open = true;
            } else if let Some(stem) = last.strip_suffix(":*") {
                *last = stem;
                open = true;
                family = true;
            }
        }
        let count = words.len();
        let of_source = match words[..] {
            [word] if family && Source::from_str(word).is_ok() => {
                Some(Wildcard::new(&format!("{word}:*")))
            }
            _ => None,
        };
        let words = words.into_iter().enumerate().map(|(at, word)| Word {
            whole: Wildcard::new(word),
            // Never for the program: `git:*` must not mean a program called `git:x`.
            family: (family && at > 0 && at + 1 == count)
                .then(|| Wildcard::new(&format!("{word}:*"))),
            has_slash: word.contains('/'),
        });
        Self { words: words.collect(), open, of_source }
    }

    /// Whether it matches the program and its arguments.
    pub(crate) fn matches(&self, argv: &[String], mode: MatchMode) -> bool {
        let Some((program, arguments)) = argv.split_first() else { return false };
        let Some((first, rest)) = self.words.split_first() else { return self.open };
        first.matches_program(program, mode)
            && match_arguments(rest, self.open || mode == MatchMode::Wide, arguments)
    }

    /// Whether it matches a script that can be spellings in several ways. A pattern of one word means
    /// the script with any arguments.
    pub(crate) fn matches_script(
        &self,
        spellings: &[String],
        args: &[String],
        mode: MatchMode,
    ) -> bool {
        let Some((first, rest)) = self.words.split_first() else { return self.open };
        let open = self.open || rest.is_empty() || mode == MatchMode::Wide;
        if self.of_source.as_ref().is_some_and(|all| spellings.iter().any(|it| all.matches(it))) {
            return true;
        }
        spellings.iter().any(|spelling| first.whole.matches(spelling))
            && match_arguments(rest, open, args)
    }

    /// Whether it matches some script of a skill that can be spelt in several ways.
    pub(crate) fn may_match_script_of(&self, skill: &[String]) -> bool {
        let Some(first) = self.words.first() else { return self.open };
        let is_of = |name: &String| self.of_source.as_ref().is_some_and(|all| all.matches(name));
        skill.iter().any(|name| first.whole.may_begin_with(&format!("{name}/")) || is_of(name))
    }
}

fn match_arguments(words: &[Word], open: bool, arguments: &[String]) -> bool {
    let fits = if open { arguments.len() >= words.len() } else { arguments.len() == words.len() };
    fits && words.iter().zip(arguments).all(|(word, argument)| {
        word.whole.matches(argument)
            || word.family.as_ref().is_some_and(|family| family.matches(argument))
    })
}

impl Word {
    fn matches_program(&self, program: &str, mode: MatchMode) -> bool {
        if mode == MatchMode::Wide {
            let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
            return self.whole.matches(program) || self.whole.matches(name);
        }
        // `pod*` means programs of the path, not `podium/../../tmp/evil`.
        let reaches = self.has_slash || self.whole.is_everything() || !program.contains('/');
        reaches && self.whole.matches(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_allows_matches_exactly_what_was_written() {
        for (pattern, line, expected) in [
            ("git:*", "git", true),
            ("git:*", "git log -1", true),
            ("git:*", "gitx log", false),
            ("git:*", "git:x log", false),
            ("git:*", "/tmp/git log", false),
            ("git *", "git", true),
            ("git push *", "git push", true),
            ("git push *", "git push origin main", true),
            ("git push *", "git pull", false),
            ("git push *", "git -C x push", false),
            ("git status", "git status", true),
            ("git status", "git status -s", false),
            ("npm run test:*", "npm run test", true),
            ("npm run test:*", "npm run test:unit -- -v", true),
            ("npm run test:*", "npm run testx", false),
            ("npx * --help", "npx eslint --help", true),
            ("npx * --help", "npx --help", false),
            ("pod*", "podman", true),
            ("pod*", "pod/../evil", false),
            ("./run.sh:*", "./run.sh a", true),
            ("*", "anything at all", true),
            ("", "git", false),
        ] {
            assert_eq!(
                Words::new(pattern).matches(&argv(line), MatchMode::Exact),
                expected,
                "{pattern} on {line}"
            );
        }
        let one_word = ["git log; rm -rf".to_owned()];
        assert!(!Words::new("git:*").matches(&one_word, MatchMode::Exact));
        assert!(!Words::new("*").matches(&[], MatchMode::Exact));
    }

    #[test]
    fn what_refuses_leans_towards_matching() {
        for (pattern, line, expected) in [
            ("rm", "/bin/rm -rf x", true),
            ("rm", "rm -rf x", true),
            ("rm", "rmdir x", false),
            ("git push", "git push --force", true),
            ("git push", "git pull", false),
        ] {
            assert_eq!(
                Words::new(pattern).matches(&argv(line), MatchMode::Wide),
                expected,
                "{pattern} on {line}"
            );
        }
    }

    #[test]
    fn one_word_means_a_script_with_any_arguments() {
        let spellings = ["user:pdf/scripts/fill.py".to_owned(), "pdf/scripts/fill.py".to_owned()];
        let args = argv("--in a.pdf");
        for (pattern, expected) in [
            ("*", true),
            ("user:pdf/*", true),
            ("pdf/scripts/fill.py", true),
            ("pdf/scripts/fill.py --in *", true),
            ("pdf/scripts/fill.py --out *", false),
            ("user:*", true),
            ("project:*", false),
            ("pdf:*", false),
            ("scripts/fill.py", false),
        ] {
            let words = Words::new(pattern);
            assert_eq!(
                words.matches_script(&spellings, &args, MatchMode::Exact),
                expected,
                "{pattern}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn a_program_without_wildcards_matches_no_other(
            pattern in "[a-z]{1,3}( [a-z*:]{1,3}){0,3}(:\\*| \\*)?",
            argv in proptest::collection::vec("[a-z/;:* ]{1,4}", 1..4),
        ) {
            let program = pattern.split([' ', ':']).next().unwrap_or_default();
            if Words::new(&pattern).matches(&argv, MatchMode::Exact) {
                proptest::prop_assert_eq!(&argv[0], program);
            }
            if Words::new(&pattern).matches(&argv, MatchMode::Wide) {
                proptest::prop_assert_eq!(argv[0].rsplit('/').next(), Some(program));
            }
        }

        #[test]
        fn what_refuses_matches_whatever_allows(
            pattern in "[a-z*?]{1,3}( [a-z*:?]{1,3}){0,3}(:\\*| \\*)?",
            argv in proptest::collection::vec("[a-z/]{0,3}", 0..4),
        ) {
            let words = Words::new(&pattern);
            let exact = words.matches(&argv, MatchMode::Exact);
            proptest::prop_assert!(!exact || words.matches(&argv, MatchMode::Wide));
        }
    }
}
