//! The private copy of a skill for a run, and the digest of what would be copied.
//! Files are read through the skill's root; what that refuses is left out and reported.

use std::fs;
use std::io::Write;
use std::path::Path;

use metier_skill::{Digest, RelPath};

use crate::private::{create_new, create_private_dir};
use crate::skill_root::SkillRoot;

/// How much of a skill is copied.
#[derive(Debug, Clone, Copy)]
pub struct CopyLimits {
    /// The most files.
    pub files: usize,
    /// The most bytes in all of them.
    pub bytes: u64,
}

/// What was copied.
#[derive(Debug, Default)]
pub struct CopySummary {
    /// Paths and digests of the bytes that were written.
    pub files: Vec<(String, Digest)>,
    /// Paths that were left out, and why.
    pub left_out: Vec<(String, String)>,
    /// The directories that were listed, the skill's own as an empty path.
    pub dirs: Vec<String>,
}

/// A file that stopped the copy.
#[derive(Debug)]
pub struct CopyError {
    /// The path in the skill.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// How deep a skill goes at most.
const DEPTH: usize = 32;

/// Folders that are no part of a skill.
const SKIPPED: &[&str] = &[".git", ".hg", ".svn", "__pycache__"];

/// Copies the files of a skill below `into`. Each is read through the [`SkillRoot`]: links, special
/// files and files with a second name are left out and reported, as is what no checked path can name.
pub fn copy_skill(
    root: &SkillRoot,
    into: &Path,
    limits: CopyLimits,
) -> Result<CopySummary, CopyError> {
    walked(root, Some(into), limits)
}

/// What [`copy_skill`] would copy, without copying it.
pub fn hash_skill(root: &SkillRoot, limits: CopyLimits) -> Result<CopySummary, CopyError> {
    walked(root, None, limits)
}

fn walked(
    root: &SkillRoot,
    into: Option<&Path>,
    limits: CopyLimits,
) -> Result<CopySummary, CopyError> {
    let mut copy = SkillCopy { root, into, limits, copied: CopySummary::default(), bytes: 0 };
    copy.dir("", 0)?;
    copy.copied.files.sort();
    Ok(copy.copied)
}

impl CopySummary {
    /// One digest over the files, by path and bytes: the content of the skill as a script or a
    /// loader can see it.
    pub fn content(&self) -> Digest {
        content_of(self.files.iter().map(|(path, digest)| (path.as_str(), *digest)))
    }
}

/// One digest over files in the order of their paths.
pub fn content_of<'a>(files: impl Iterator<Item = (&'a str, Digest)>) -> Digest {
    let files: Vec<(&str, Digest)> = files.collect();
    Digest::of_parts(
        files.iter().flat_map(|(path, digest)| [path.as_bytes(), digest.as_bytes().as_slice()]),
    )
}

impl std::fmt::Display for CopyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for CopyError {}

struct SkillCopy<'a> {
    root: &'a SkillRoot,
    into: Option<&'a Path>,
    limits: CopyLimits,
    copied: CopySummary,
    bytes: u64,
}

impl SkillCopy<'_> {
    fn dir(&mut self, below: &str, depth: usize) -> Result<(), CopyError> {
        let fault = |message: String| CopyError { path: below.to_owned(), message };
        if depth > DEPTH {
            return Err(fault(format!("more than {DEPTH} folders deep")));
        }
        // By path, so another process could lead this list astray; what is read is not: it goes
        // through the root's descriptor.
        let list = fs::read_dir(self.root.path().join(below));
        let list = list.map_err(|error| fault(error.to_string()))?;
        self.copied.dirs.push(below.to_owned());
        for entry in list {
            let entry = entry.map_err(|error| fault(error.to_string()))?;
            let name = entry.file_name();
            let path = match below {
                "" => name.to_string_lossy().into_owned(),
                _ => format!("{below}/{}", name.to_string_lossy()),
            };
            if SKIPPED.iter().any(|skipped| name == *skipped) {
                continue;
            }
            let kind = entry.file_type().map_err(|error| fault(error.to_string()))?;
            if kind.is_dir() {
                self.dir(&path, depth + 1)?;
            } else {
                let mode = if is_executable(&entry) { 0o500 } else { 0o400 };
                self.file(path, mode)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: String, mode: u32) -> Result<(), CopyError> {
        let fault = |message: String| CopyError { path: path.clone(), message };
        let checked = match RelPath::new(&path) {
            Ok(checked) => checked,
            Err(fault) => {
                self.copied.left_out.push((path, fault.to_string()));
                return Ok(());
            }
        };
        if self.copied.files.len() >= self.limits.files {
            return Err(fault(format!("the skill has more than {} files", self.limits.files)));
        }
        let room = self.limits.bytes - self.bytes;
        let bytes = match self.root.read(&checked, room) {
            Ok(bytes) => bytes,
            Err(crate::RootError::TooLarge(_)) => {
                return Err(fault(format!("the skill has more than {} bytes", self.limits.bytes)));
            }
            Err(error) => {
                self.copied.left_out.push((path, error.to_string()));
                return Ok(());
            }
        };
        self.bytes += bytes.len() as u64;
        if let Some(into) = self.into {
            let target = into.join(checked.as_str());
            let written = target
                .parent()
                .map_or(Ok(()), create_private_dir)
                .and_then(|()| create_new(&target, mode))
                .and_then(|mut file| file.write_all(&bytes));
            written.map_err(|error| fault(error.to_string()))?;
        }
        self.copied.files.push((path, Digest::of(&bytes)));
        Ok(())
    }
}

#[cfg(unix)]
fn is_executable(entry: &fs::DirEntry) -> bool {
    use std::os::unix::fs::MetadataExt;
    entry.metadata().is_ok_and(|data| data.mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &fs::DirEntry) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const LIMITS: CopyLimits = CopyLimits { files: 10, bytes: 1000 };

    #[test]
    fn a_copy_has_the_files_and_neither_links_nor_second_names() {
        let tmp = tempfile::tempdir().expect("dir");
        let skill = tmp.path().join("skill");
        fs::create_dir_all(skill.join("scripts")).expect("dirs");
        fs::write(tmp.path().join("secret"), "secret").expect("writes");
        fs::write(skill.join("SKILL.md"), "text").expect("writes");
        fs::write(skill.join("scripts/x.py"), "print()").expect("writes");
        fs::write(skill.join(".env"), "KEY=1").expect("writes");
        std::os::unix::fs::symlink("../secret", skill.join("link")).expect("link");
        fs::hard_link(tmp.path().join("secret"), skill.join("hard")).expect("link");
        let root = SkillRoot::open(&skill).expect("opens");
        let into = tmp.path().join("copy");
        let copied = copy_skill(&root, &into, LIMITS).expect("copies");
        let paths: Vec<&str> = copied.files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["SKILL.md", "scripts/x.py"]);
        assert_eq!(copied.files[0].1, Digest::of(b"text"));
        let mut left: Vec<&str> = copied.left_out.iter().map(|(path, _)| path.as_str()).collect();
        left.sort_unstable();
        assert_eq!(left, [".env", "hard", "link"]);
        assert_eq!(fs::read(into.join("scripts/x.py")).expect("reads"), b"print()");
    }

    #[test]
    fn a_skill_over_a_limit_is_not_half_copied_in_silence() {
        let tmp = tempfile::tempdir().expect("dir");
        fs::write(tmp.path().join("a"), vec![0; 600]).expect("writes");
        fs::write(tmp.path().join("b"), vec![0; 600]).expect("writes");
        let root = SkillRoot::open(tmp.path()).expect("opens");
        let into = tempfile::tempdir().expect("dir");
        let error = copy_skill(&root, &into.path().join("c"), LIMITS).expect_err("too large");
        assert!(error.message.contains("1000 bytes"));
    }
}
