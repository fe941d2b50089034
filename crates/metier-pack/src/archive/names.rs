//! Names of entries: each checked as text, and all of them compared with each other.
//!
//! A name means the same on every system or it is refused. Two names that a file system which ignores
//! case, or how an accent is encoded, would take for one are refused too: the second would replace the
//! first there, after both were scanned.

use std::collections::HashMap;

use metier_skill::WorkPath;
use unicode_normalization::UnicodeNormalization;

use super::fault::ArchiveFault;
use crate::limits::PackLimits;

/// Characters that Windows has in no name.
const NOT_ON_WINDOWS: &[char] = &['<', '>', '"', '|', '?', '*'];

/// The path of an entry, without the `/` at the end of a directory's, and whether it had one.
pub(crate) fn check_entry_name<'n>(
    name: &'n str,
    limits: &PackLimits,
) -> Result<(&'n str, bool), ArchiveFault> {
    let (path, is_dir) = match name.strip_suffix('/') {
        Some(path) if !path.is_empty() => (path, true),
        _ => (name, false),
    };
    if path.starts_with("./") || path == "." {
        return Err(ArchiveFault::NameShape);
    }
    let checked = WorkPath::new(path).map_err(ArchiveFault::from)?;
    if checked.names().count() > limits.depth {
        return Err(ArchiveFault::NameTooLong);
    }
    if path.contains(NOT_ON_WINDOWS) {
        return Err(ArchiveFault::NameReserved);
    }
    Ok((path, is_dir))
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    File,
    /// A directory with an entry of its own.
    Directory,
    /// A directory that only the names below it speak of.
    Implied,
}

/// The names that were seen, to be compared with the next.
#[derive(Debug, Default)]
pub(crate) struct NameSet {
    /// By folded path: the path as it was written, and what it is.
    seen: HashMap<String, (String, Node)>,
    /// The directory of the last entry: most entries stand beside the one before.
    last_dir: String,
}

impl NameSet {
    /// Adds a checked path.
    pub(crate) fn add(&mut self, path: &str, is_dir: bool) -> Result<(), ArchiveFault> {
        if let Some((above, _)) = path.rsplit_once('/')
            && above != self.last_dir
        {
            for (end, _) in above.match_indices('/') {
                self.add_one(&path[..end], Node::Implied)?;
            }
            self.add_one(above, Node::Implied)?;
            above.clone_into(&mut self.last_dir);
        }
        self.add_one(path, if is_dir { Node::Directory } else { Node::File })
    }

    fn add_one(&mut self, path: &str, node: Node) -> Result<(), ArchiveFault> {
        let folded = fold(path);
        let Some((known, what)) = self.seen.get_mut(&folded) else {
            self.seen.insert(folded, (path.to_owned(), node));
            return Ok(());
        };
        match (*what, node) {
            _ if known != path => Err(ArchiveFault::NameCollision),
            (Node::File, Node::File) | (Node::Directory, Node::Directory) => {
                Err(ArchiveFault::NameDuplicate)
            }
            (Node::File, _) | (_, Node::File) => Err(ArchiveFault::NameConflict),
            (Node::Implied, _) => {
                *what = node;
                Ok(())
            }
            (Node::Directory, Node::Implied) => Ok(()),
        }
    }
}

/// The path as a file system sees it that ignores case and how accents are encoded.
pub(crate) fn fold(path: &str) -> String {
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    // Upper case first: the long s and the Kelvin sign meet their letters only this way.
    let upper: String = path.nfc().flat_map(char::to_uppercase).collect();
    upper.nfc().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(names: &[&str]) -> Result<(), ArchiveFault> {
        let mut set = NameSet::default();
        for name in names {
            let (path, is_dir) = check_entry_name(name, &PackLimits::default())?;
            set.add(path, is_dir)?;
        }
        Ok(())
    }

    #[test]
    fn names_in_any_script_and_dotfiles_pass() {
        assert_eq!(
            all(&["a/", "a/SKILL.md", "a/.gitignore", "a/技能/日本語.md", "a/é.md"]),
            Ok(())
        );
        assert_eq!(all(&["a/b/c", "a/b/d", "a/e", "a/b/", "a/"]), Ok(()));
    }

    #[test]
    fn names_that_are_one_somewhere_are_refused() {
        for (names, fault) in [
            (&["a/x", "a/x"], ArchiveFault::NameDuplicate),
            (&["a/", "a/"], ArchiveFault::NameDuplicate),
            (&["a/SKILL.md", "a/skill.MD"], ArchiveFault::NameCollision),
            (&["A/x", "a/y"], ArchiveFault::NameCollision),
            (&["e\u{301}", "\u{e9}"], ArchiveFault::NameCollision),
            (&["\u{212a}", "k"], ArchiveFault::NameCollision),
            (&["a", "a/b"], ArchiveFault::NameConflict),
            (&["a/b", "a"], ArchiveFault::NameConflict),
            (&["a", "a/"], ArchiveFault::NameConflict),
        ] {
            assert_eq!(all(names), Err(fault), "{names:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_name_that_passes_stays_below_and_is_not_changed(name in any::<String>()) {
            if let Ok((path, is_dir)) = check_entry_name(&name, &PackLimits::default()) {
                prop_assert_eq!(format!("{path}{}", if is_dir { "/" } else { "" }), name.clone());
                prop_assert!(path.split('/').all(|part| !part.is_empty() && part != "." && part != ".."));
                prop_assert!(!path.contains(['\\', ':', '\0']) && !path.starts_with('/'));
            }
        }

        #[test]
        fn the_order_of_names_does_not_decide(mut names in proptest::collection::vec("[abA](/[abB]){0,2}", 1..6)) {
            let there = all(&names.iter().map(String::as_str).collect::<Vec<_>>()).is_ok();
            names.reverse();
            prop_assert_eq!(all(&names.iter().map(String::as_str).collect::<Vec<_>>()).is_ok(), there);
        }
    }
}
