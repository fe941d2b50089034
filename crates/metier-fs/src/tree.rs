//! The files below a directory: listing them, and telling whether two trees are the same.
//!
//! Links are listed and never followed; anything past a limit makes two trees different.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::file::open_regular;

/// Bounds on a walk through one skill's directory.
#[derive(Debug, Clone, Copy)]
pub struct TreeLimits {
    /// Files and directories.
    pub entries: usize,
    /// Bytes of all files, where contents are compared.
    pub bytes: u64,
    /// Levels of directories.
    pub depth: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { entries: 10_000, bytes: 64 << 20, depth: 16 }
    }
}

/// A file below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path below the directory, with `/` between names.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Whether its owner may execute it (false where the system has no such bit).
    pub executable: bool,
    /// Whether it is a link, which is listed and not followed.
    pub link: bool,
    /// Whether it is a pipe, socket or device, which is listed and never opened.
    pub special: bool,
}

/// The files below `dir`, sorted by path, and whether a limit cut the list. Links are listed, not
/// followed; `.git`, `node_modules` and caches are left out.
pub fn list_files(dir: &Path, limits: TreeLimits) -> io::Result<(Vec<TreeFile>, bool)> {
    let mut files = Vec::new();
    let mut seen = 0usize;
    let mut truncated = false;
    let mut open: Vec<(PathBuf, String, usize)> = vec![(dir.to_owned(), String::new(), 0)];
    while let Some((path, prefix, depth)) = open.pop() {
        let entries = match fs::read_dir(&path) {
            // What went away meanwhile is not there; what cannot be listed is missing from the list.
            Err(error) if depth > 0 && error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) if depth > 0 => {
                truncated = true;
                continue;
            }
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            seen += 1;
            if seen > limits.entries {
                truncated = true;
                break;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let data = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            let relative = format!("{prefix}{name}");
            if data.is_dir() {
                if matches!(name.as_str(), ".git" | "node_modules" | "__pycache__") {
                    continue;
                }
                if depth + 1 >= limits.depth {
                    truncated = true;
                    continue;
                }
                open.push((entry.path(), format!("{relative}/"), depth + 1));
            } else {
                files.push(TreeFile {
                    path: relative,
                    size: data.len(),
                    executable: is_executable(&data),
                    link: data.is_symlink(),
                    special: !data.is_symlink() && !data.is_file(),
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((files, truncated))
}

/// What everything below `path` looks like, as one text: names, kinds, sizes, identities and times. It differs when
/// anything was changed, and stays when `path` itself is renamed.
pub fn tree_mark(path: &Path) -> io::Result<String> {
    let mut seen = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(dir) = open.pop() {
        let data = fs::symlink_metadata(&dir)?;
        if !data.is_dir() {
            seen.push(format!(
                "{} {}",
                dir.strip_prefix(path).unwrap_or(&dir).display(),
                stamp_text(&data)
            ));
            continue;
        }
        if dir != path {
            seen.push(format!("{}/", dir.strip_prefix(path).unwrap_or(&dir).display()));
        }
        for entry in fs::read_dir(&dir)? {
            open.push(entry?.path());
        }
    }
    seen.sort();
    Ok(metier_skill::Digest::of(seen.join("\n").as_bytes()).to_string())
}

fn stamp_text(data: &fs::Metadata) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (size, inode) = (data.size(), data.ino());
        let (modified, changed) = (data.mtime_nsec(), data.ctime_nsec());
        format!("{inode} {size} {}.{modified} {}.{changed}", data.mtime(), data.ctime())
    }
    #[cfg(not(unix))]
    {
        format!("{} {:?}", data.len(), data.modified().ok())
    }
}

#[cfg(unix)]
pub(crate) fn is_executable(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    data.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
pub(crate) fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// Whether two directories hold the same files with the same bytes. Anything that cannot be read
/// or passes a limit makes them different: sameness is claimed only where it was seen.
pub fn same_tree(a: &Path, b: &Path, limits: TreeLimits) -> bool {
    let list = |dir: &Path| -> Option<BTreeMap<String, TreeFile>> {
        let (files, truncated) = list_files(dir, limits).ok()?;
        let bytes: u64 = files.iter().map(|file| file.size).sum();
        let plain = files.iter().all(|file| !file.link && !file.special);
        (!truncated && plain && bytes <= limits.bytes)
            .then(|| files.into_iter().map(|file| (file.path.clone(), file)).collect())
    };
    let (Some(left), Some(right)) = (list(a), list(b)) else {
        return false;
    };
    left == right && left.keys().all(|path| same_bytes(&a.join(path), &b.join(path)))
}

fn same_bytes(a: &Path, b: &Path) -> bool {
    let (Ok((mut a, _)), Ok((mut b, _))) = (open_regular(a), open_regular(b)) else {
        return false;
    };
    let mut left = [0u8; 16 * 1024];
    let mut right = [0u8; 16 * 1024];
    loop {
        let Ok(read) = a.read(&mut left) else {
            return false;
        };
        if read == 0 {
            return b.read(&mut right).is_ok_and(|rest| rest == 0);
        }
        if b.read_exact(&mut right[..read]).is_err() || left[..read] != right[..read] {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("dir");
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("dirs");
            fs::write(path, text).expect("writes");
        }
        dir
    }

    #[test]
    fn trees_are_the_same_byte_for_byte_or_not_at_all() {
        let one = tree(&[("SKILL.md", "a"), ("scripts/x.py", "print()")]);
        let same = tree(&[("SKILL.md", "a"), ("scripts/x.py", "print()")]);
        let body = tree(&[("SKILL.md", "b"), ("scripts/x.py", "print()")]);
        let more = tree(&[("SKILL.md", "a"), ("scripts/x.py", "print()"), ("y", "")]);
        let limits = TreeLimits::default();
        assert!(same_tree(one.path(), same.path(), limits));
        assert!(!same_tree(one.path(), body.path(), limits));
        assert!(!same_tree(one.path(), more.path(), limits));
        assert!(!same_tree(one.path(), same.path(), TreeLimits { bytes: 3, ..limits }));
        assert!(!same_tree(one.path(), same.path(), TreeLimits { entries: 2, ..limits }));
    }

    /// A pipe has no writer here: opening it the usual way would wait for ever.
    #[cfg(unix)]
    #[test]
    fn a_pipe_makes_trees_different_and_nothing_waits() {
        let (one, two) = (tree(&[("SKILL.md", "a")]), tree(&[("SKILL.md", "a")]));
        for dir in [&one, &two] {
            let made = std::process::Command::new("mkfifo").arg(dir.path().join("pipe")).status();
            assert!(made.expect("mkfifo").success());
        }
        assert!(!same_tree(one.path(), two.path(), TreeLimits::default()));
        let (files, _) = list_files(one.path(), TreeLimits::default()).expect("lists");
        assert!(files.iter().any(|file| file.special));
    }

    #[test]
    fn a_listing_is_sorted_and_says_when_it_was_cut() {
        let dir = tree(&[("b", "1"), ("a/c", "22"), (".git/config", "x")]);
        let (files, truncated) = list_files(dir.path(), TreeLimits::default()).expect("lists");
        let paths: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.size)).collect();
        assert_eq!((paths, truncated), (vec![("a/c", 2), ("b", 1)], false));
        let (_, truncated) =
            list_files(dir.path(), TreeLimits { depth: 1, ..TreeLimits::default() })
                .expect("lists");
        assert!(truncated);
    }
}
