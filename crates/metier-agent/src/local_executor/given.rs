//! Files that a person named and that a script would not see: it is given copies of them.
//!
//! In the home directory scripts see nothing of the workspace, and a file in `~/Downloads` is outside every
//! project. The person's own words decide, never those of a model: a skill's text could move it to name
//! any file. What is given is a regular file that no rule and not the floor refuses to read.

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
                || is_named_in(&self.request, typed, self.home.as_deref());
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
fn is_named_in(text: &str, word: &str, home: Option<&Path>) -> bool {
    if word.is_empty() {
        return false;
    }
    let home = home.and_then(Path::to_str);
    let in_home = home.and_then(|home| word.strip_prefix(home)).map(|below| format!("~{below}"));
    let from_home =
        word.strip_prefix("~/").zip(home).map(|(below, home)| format!("{home}/{below}"));
    [Some(word.to_owned()), in_home, from_home].iter().flatten().any(|word| stands_in(text, word))
}

/// Whether `word` stands in `text` and is not a part of a longer path or name.
fn stands_in(text: &str, word: &str) -> bool {
    let is_part = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '/' | '_' | '-' | '~');
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + word.len()..].chars();
        let next = match after.next() {
            // A point ends a sentence, or is part of a name.
            Some('.') => after.next(),
            other => other,
        };
        !before.is_some_and(|ch| is_part(ch) || ch == '.') && !next.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_the_word_itself_and_by_no_part_of_one() {
        let home = Some(Path::new("/h/u"));
        let is_named = |text: &str, word: &str| is_named_in(text, word, home);
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
}
