//! The links that a path goes through, by their texts.
//!
//! A policy that judges a path by where it leads has to know the names on the way too: what is called `.env`
//! is one, whatever it leads to. What is opened is found by the kernel, not by this.

use std::path::{Component, Path, PathBuf};

/// Links that are followed before giving up, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// A link on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkStep {
    /// The whole path, with the links before this one resolved.
    pub path: PathBuf,
    /// Where the link is: the path itself, or a directory above it.
    pub link: PathBuf,
    /// What it says.
    pub text: PathBuf,
}

/// The links on the way of an absolute path, in the order in which they are followed.
pub fn links_on_the_way(path: &Path) -> Vec<LinkStep> {
    let mut steps = Vec::new();
    let mut path = plain(path);
    for _ in 0..MAX_LINKS {
        let above: Vec<&Path> = path.ancestors().collect();
        let first = above.into_iter().rev().find_map(|at| {
            let text = std::fs::read_link(at).ok()?;
            Some((at.to_owned(), text))
        });
        let Some((link, text)) = first else { break };
        let rest = path.strip_prefix(&link).unwrap_or(Path::new("")).to_owned();
        let target = link.parent().unwrap_or(&link).join(&text);
        steps.push(LinkStep { path: path.clone(), link, text });
        path = plain(&target.join(rest));
    }
    steps
}

/// A path without `.` and `..`. What stands before the first link is real, so going up from it is a
/// matter of text.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_name_on_the_way_is_given_and_a_circle_ends() {
        let tmp = tempfile::tempdir().expect("dir");
        let top = tmp.path().canonicalize().expect("real");
        std::fs::create_dir_all(top.join("a/b")).expect("dirs");
        std::fs::write(top.join("a/b/file"), "").expect("writes");
        symlink("a", top.join("folder")).expect("links");
        symlink("../b/file", top.join("a/b/.env")).expect("links");
        symlink(top.join("folder/b/.env"), top.join("notes")).expect("links");
        symlink("loop", top.join("loop")).expect("links");
        let paths = |path: &str| -> Vec<PathBuf> {
            let steps = links_on_the_way(&top.join(path)).into_iter();
            steps.map(|step| step.path.strip_prefix(&top).expect("below").to_owned()).collect()
        };
        let expected = ["notes", "folder/b/.env", "a/b/.env"].map(PathBuf::from);
        assert_eq!(paths("notes"), expected);
        assert_eq!(paths("a/b/file"), Vec::<PathBuf>::new());
        assert_eq!(paths("none/x"), Vec::<PathBuf>::new());
        assert_eq!(paths("loop/x").len(), MAX_LINKS);
    }
}
