//! Finding a path in a table of protected places: folded, by its names, wherever they stand.
//!
//! Pure text: the caller has resolved links. What a name could be on the most forgiving file system
//! counts, since a miss here is a hole and a hit too many is a question or a refusal.

use crate::permission::Access;
use crate::places::PolicyPlaces;
use crate::protected::{Protected, ProtectedAt, TEMPLATES};
use crate::subject::AbsolutePath;
use crate::wildcard::Wildcard;

/// A table with the names of each entry compiled.
pub(crate) struct PlaceTable(Vec<(Protected, Vec<Wildcard>)>);

/// A path as the table compares it.
pub(crate) struct FoldedPath<'p> {
    path: &'p AbsolutePath,
    whole: String,
    home: Option<String>,
}

impl PlaceTable {
    pub(crate) fn new(entries: impl Iterator<Item = Protected>) -> Self {
        let compile =
            |entry: Protected| (entry, entry.pattern.split('/').map(Wildcard::new).collect());
        Self(entries.map(compile).collect())
    }

    /// The entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Protected> {
        self.0.iter().map(|(entry, _)| entry)
    }

    /// The first entry among those that `counts` which holds the path; for a deletion also one that is
    /// below it.
    pub(crate) fn find(
        &self,
        path: &FoldedPath<'_>,
        access: Access,
        counts: impl Fn(&Protected) -> bool,
    ) -> Option<&Protected> {
        let names: Vec<&str> = path.whole.split('/').collect();
        let name = names.last().copied().unwrap_or_default();
        let template = TEMPLATES.contains(&name);
        let at = |rest: Option<&str>, pattern: &str| {
            rest.is_some_and(|rest| {
                is_at_or_below(rest, pattern)
                    || (access == Access::Delete && is_at_or_below(pattern, rest))
            })
        };
        let (in_home, in_system) = (path.in_home(), path.whole.strip_prefix('/'));
        let holds = |entry: &Protected, runs: &[Wildcard]| match entry.place {
            ProtectedAt::Name => !template && runs.iter().all(|wanted| wanted.matches(name)),
            ProtectedAt::Home => at(in_home, entry.pattern),
            ProtectedAt::System => at(in_system, entry.pattern),
            // The names of the entry follow each other in the path.
            ProtectedAt::Anywhere => names
                .windows(runs.len())
                .any(|window| window.iter().zip(runs).all(|(name, wanted)| wanted.matches(name))),
        };
        let hit = self.0.iter().find(|(entry, runs)| counts(entry) && holds(entry, runs));
        hit.map(|(entry, _)| entry)
    }
}

impl<'p> FoldedPath<'p> {
    pub(crate) fn new(path: &'p AbsolutePath, places: &PolicyPlaces) -> Self {
        let home = places.home().map(|home| folded(home.as_str().trim_end_matches('/')));
        Self { path, whole: folded(path.as_str()), home }
    }

    fn in_home(&self) -> Option<&str> {
        self.whole.strip_prefix(self.home.as_deref()?)?.strip_prefix('/')
    }

    /// Whether the home directory is at or below the path.
    pub(crate) fn holds_home(&self) -> bool {
        let whole = self.whole.trim_end_matches('/');
        self.home.as_deref().is_some_and(|home| is_at_or_below(home, whole))
    }

    /// Whether the home directory or `workspace` is at or below the path.
    pub(crate) fn holds_home_or(&self, workspace: &AbsolutePath) -> bool {
        self.holds_home() || workspace.below(self.path).is_some()
    }
}

fn is_at_or_below(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Case-folded as the most forgiving file system compares: there `\u{17f}` equals `s`, which only
/// folding by way of upper case reveals, marks without a width do not count, and neither do dots and
/// blanks at the end of a name.
pub(crate) fn folded(path: &str) -> String {
    let lower = if path.is_ascii() {
        path.to_lowercase()
    } else {
        let kept = path.chars().filter(|ch| !is_ignored(*ch));
        kept.collect::<String>().to_uppercase().to_lowercase()
    };
    if !lower.split('/').any(|name| name.ends_with(['.', ' '])) {
        return lower;
    }
    let names: Vec<&str> = lower.split('/').map(|name| name.trim_end_matches(['.', ' '])).collect();
    names.join("/")
}

/// What HFS+ leaves out of a name when it compares two.
const fn is_ignored(ch: char) -> bool {
    matches!(ch, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_a_file_system_could_take_it_for() {
        for (path, same) in [
            ("/W/.GIT/Hooks", "/w/.git/hooks"),
            ("/w/.\u{17f}sh", "/w/.ssh"),
            ("/w/.g\u{200c}it", "/w/.git"),
            ("/w/.git. ./x", "/w/.git/x"),
            ("/w/a.b", "/w/a.b"),
            ("/", "/"),
        ] {
            assert_eq!(folded(path), same);
        }
    }
}
