//! Files that a person named and that a script would not see: it is given copies of them.
//!
//! In the home directory scripts see nothing of the workspace, and a file in `~/Downloads` is outside every
//! project. The person's own words decide, never those of a model: a skill's text could move it to name
//! any file. What is given is a regular file that no rule and not the floor refuses to read.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use metier_fs::{EntryKind, canonical, entry_kind, is_link};
use metier_policy::{
    Effect, Invoker, LayerDecision, LayerKind, Permission, Request, RequestContext, Subject,
};
use metier_tools::ScriptHost;
use metier_tools::policy_facts::absolute;

use super::scripts::ScriptRequest;
use super::{LocalExecutor, now};

impl LocalExecutor {
    /// The files among the arguments of a script that it gets as copies; and, in sentences, those that it
    /// does not get because reading them is refused.
    pub(super) fn given_files(
        &self,
        wanted: &ScriptRequest<'_>,
        passed: &[String],
        host: &ScriptHost,
    ) -> (Vec<PathBuf>, Vec<String>) {
        let (mut given, mut refused) = (Vec::new(), Vec::new());
        for (typed, passed) in wanted.args.iter().zip(passed) {
            let path = Path::new(passed);
            let is_named = wanted.invoker == Invoker::User
                || is_named_in(&self.request, typed, self.home.as_deref(), &|name| {
                    self.is_file(name)
                });
            if !is_named || !path.is_absolute() || is_seen(path, host) {
                continue;
            }
            // Where the way to it has a link, what that leads to was not named.
            if !self.is_direct(typed, path) || entry_kind(path) != Some(EntryKind::File) {
                continue;
            }
            match self.refusal(path, wanted.invoker) {
                None if given.contains(&path.to_owned()) => {}
                None => given.push(path.to_owned()),
                Some(reason) => {
                    refused
                        .push(format!("{} is not given to the script: {reason}", path.display()));
                }
            }
        }
        (given, refused)
    }

    /// Whether there is a file with this name, as a person would write it.
    fn is_file(&self, name: &str) -> bool {
        let path = match (name.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.working_dir.join(name),
        };
        entry_kind(&path) == Some(EntryKind::File)
    }

    /// Whether a word leads to a file without a link on the way, below the folder it starts from. A clone may
    /// have `data` as a link to a folder of the user's.
    fn is_direct(&self, word: &str, file: &Path) -> bool {
        let (base, below) = match (word.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => (home.as_path(), below),
            // The copy is made without following a link.
            _ if Path::new(word).is_absolute() => return !is_link(Path::new(word)),
            _ => (self.working_dir.as_path(), word),
        };
        let Ok(mut at) = canonical(base) else { return false };
        for part in Path::new(below).components() {
            match part {
                Component::Normal(name) => at.push(name),
                Component::ParentDir => drop(at.pop()),
                _ => {}
            }
        }
        at == file
    }

    /// Why a rule or the floor refuses to read the file. That it lies outside the workspace is no reason:
    /// the person named it. A rule that asks is one, unless the person runs the script themselves: there is
    /// no question about the file alone.
    fn refusal(&self, path: &Path, invoker: Invoker) -> Option<String> {
        let name = match absolute(path) {
            Ok(name) => name,
            Err(error) => return Some(error.to_string()),
        };
        let request =
            Request::new(Permission::ReadFile, vec![Subject::Path(name)]).by(Invoker::User);
        let answers = self.answers().clone();
        let situation = RequestContext { loaded: &[], memory: &answers, now: now() };
        let decision = self.policy.decide(&request, &situation);
        let by_rule = |layer: &LayerDecision| {
            layer.effect == Effect::Ask && layer.layer != LayerKind::Default
        };
        let asks = decision.effect == Effect::Ask && decision.layers.iter().any(by_rule);
        let is_refused = decision.effect == Effect::Deny || asks && invoker != Invoker::User;
        is_refused.then_some(decision.reason)
    }
}

/// Whether a script sees the file without a copy.
fn is_seen(path: &Path, host: &ScriptHost) -> bool {
    let is_below = |root: &Path| canonical(root).is_ok_and(|root| path.starts_with(root));
    host.workspace.as_deref().is_some_and(is_below) || metier_sandbox::is_system(path)
}

/// Whether a text names a file by this word: the word stands there as a whole, or the same file is named by
/// way of the home directory.
fn is_named_in(
    text: &str,
    word: &str,
    home: Option<&Path>,
    is_file: &dyn Fn(&str) -> bool,
) -> bool {
    if word.is_empty() {
        return false;
    }
    let home = home.and_then(Path::to_str);
    let in_home = home.and_then(|home| word.strip_prefix(home)).map(|below| format!("~{below}"));
    let from_home =
        word.strip_prefix("~/").zip(home).map(|(below, home)| format!("{home}/{below}"));
    let words = [Some(word.to_owned()), in_home, from_home];
    words.iter().flatten().any(|word| stands_in(text, word, is_file))
}

/// Whether `word` stands in `text` and is not a part of a longer path or name.
fn stands_in(text: &str, word: &str, is_file: &dyn Fn(&str) -> bool) -> bool {
    let is_part = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '/' | '_' | '-' | '~');
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + word.len()..].chars();
        let next = match after.next() {
            // A point ends a sentence, or is part of a name.
            Some('.') => after.next(),
            other => other,
        };
        !before.is_some_and(|ch| is_part(ch) || ch == '.')
            && !next.is_some_and(is_part)
            && !is_in_longer_name(text, at..at + word.len(), is_file)
    })
}

/// Words of a name with blanks, on each side of one of them.
const MAX_NAME_WORDS: usize = 6;

/// What people put around a name.
const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('\u{201c}', '\u{201d}'),
    ('\u{2018}', '\u{2019}'),
    ('\u{300c}', '\u{300d}'),
    ('\u{300e}', '\u{300f}'),
    ('\u{300a}', '\u{300b}'),
];

/// Whether what stands at `place` is a word of a name with blanks, such as `Files.csv` of `My Files.csv`:
/// in quotes, with a backslash before the blank, or because there is such a file.
fn is_in_longer_name(text: &str, place: Range<usize>, is_file: &dyn Fn(&str) -> bool) -> bool {
    let (before, after) = (&text[..place.start], &text[place.end..]);
    let is_escaped = before.trim_end().len() < before.len() && before.trim_end().ends_with('\\');
    if is_escaped || after.starts_with("\\ ") {
        return true;
    }
    let in_quotes = QUOTES.iter().any(|&(open, close)| {
        let Some(left) = before.rfind(open) else { return false };
        let Some(right) = after.find(close) else { return false };
        let (left, right) = (&before[left + open.len_utf8()..], &after[..right]);
        // What was opened is closed before the word, or a whole sentence is quoted.
        let is_closed = left.contains(close);
        let words = left.split_whitespace().count() + right.split_whitespace().count();
        let is_at_an_end = left.trim().is_empty() || right.trim().is_empty();
        !is_closed && is_at_an_end && (1..=MAX_NAME_WORDS).contains(&words)
    });
    in_quotes || {
        let starts = word_starts(before).into_iter().chain([place.start]);
        let ends: Vec<usize> =
            word_ends(after).into_iter().map(|end| place.end + end).chain([place.end]).collect();
        let mut names = starts.flat_map(|start| ends.iter().map(move |&end| start..end));
        names.any(|name| name != place && is_file(&text[name]))
    }
}

/// Where the last words of a text begin.
fn word_starts(text: &str) -> Vec<usize> {
    let starts = text.char_indices().filter(|&(at, ch)| {
        !ch.is_whitespace() && text[..at].chars().next_back().is_none_or(char::is_whitespace)
    });
    let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
    starts[starts.len().saturating_sub(MAX_NAME_WORDS)..].to_vec()
}

/// Where the first words of a text end.
fn word_ends(text: &str) -> Vec<usize> {
    let ends = text.char_indices().filter(|&(at, ch)| {
        let end = at + ch.len_utf8();
        !ch.is_whitespace() && text[end..].chars().next().is_none_or(char::is_whitespace)
    });
    ends.map(|(at, ch)| at + ch.len_utf8()).take(MAX_NAME_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_the_word_itself_and_by_no_part_of_one() {
        let home = Some(Path::new("/h/u"));
        let is_named = |text: &str, word: &str| is_named_in(text, word, home, &|_| false);
        for text in [
            "summarise ~/x.csv by region",
            "summarise \"~/x.csv\".",
            "~/x.csv",
            "\u{6c47}\u{603b}~/x.csv\u{7684}\u{9500}\u{552e}\u{989d}",
            "see /h/u/x.csv, please",
        ] {
            assert!(is_named(text, "~/x.csv") && is_named(text, "/h/u/x.csv"), "{text}");
        }
        for text in ["", "summarise ~/x.csv2", "~/x.csv.gz", "a~/x.csv", "/h/u/x.csv/y", "x.csv"] {
            assert!(!is_named(text, "~/x.csv") && !is_named(text, "/h/u/x.csv"), "{text}");
        }
        assert!(is_named("summarise x.csv.", "x.csv") && !is_named("anything", ""));
        assert!(!is_named("summarise max.csv", "x.csv") && !is_named("../x.csv", "x.csv"));
    }

    #[test]
    fn a_word_of_a_name_with_blanks_names_no_file() {
        let is_named = |text: &str, word: &str| {
            is_named_in(text, word, None, &|name| matches!(name, "My Files.csv" | "a.csv old.csv"))
        };
        for text in [
            "summarise \"My Files.csv\" by region",
            "summarise 'Our Files.csv'",
            "summarise My\\ Files.csv",
            "summarise My Files.csv by region",
            "\u{6c47}\u{603b}\u{201c}My Files.csv\u{201d}",
        ] {
            assert!(!is_named(text, "Files.csv"), "{text}");
        }
        assert!(is_named("summarise \"My Files.csv\" by region", "My Files.csv"));
        assert!(is_named("summarise My Files.csv by region", "My Files.csv"));
        assert!(is_named("summarise My Files.csv and Files.csv", "Files.csv"));
        assert!(is_named("say \"hello\", then read Files.csv and \"bye\"", "Files.csv"));
        assert!(is_named("don't skip a row of Files.csv, it's short", "Files.csv"));
        assert!(!is_named("read a.csv old.csv", "a.csv") && is_named("read a.csv b.csv", "a.csv"));
    }
}
