//! Bytes to a small tree on disk, and which skills in it a scan has to account for.
//!
//! The input is text, so that a seed can be read and written by hand. Operations are separated by
//! a line `%%`; the first line of each is a kind and a path, the rest is its content:
//!
//! ```text
//! f a/SKILL.md          a file with the lines that follow
//! d b/c                 a directory
//! l d a                 a link at `d` to `a`
//! ```

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const MAX_OPERATIONS: usize = 24;
const MAX_COMPONENTS: usize = 4;
const MAX_CONTENT: usize = 2048;

/// One step of building the tree.
#[derive(Debug)]
pub struct Operation<'a> {
    kind: u8,
    path: PathBuf,
    content: &'a [u8],
}

/// Reads the operations; whatever the bytes are, there is an answer.
pub fn operations(bytes: &[u8]) -> Vec<Operation<'_>> {
    split(bytes, b"\n%%\n").into_iter().take(MAX_OPERATIONS).filter_map(operation).collect()
}

fn operation(bytes: &[u8]) -> Option<Operation<'_>> {
    let (head, content) = split_once(bytes, b'\n');
    let (kind, rest) = head.split_first()?;
    let (path, target) = split_once(rest.strip_prefix(b" ").unwrap_or(rest), b' ');
    let content = if *kind == b'l' { target } else { content };
    let content = &content[..content.len().min(MAX_CONTENT)];
    Some(Operation { kind: *kind, path: contained(path)?, content })
}

/// A relative path without `..`, or nothing. Names may be any other bytes.
fn contained(bytes: &[u8]) -> Option<PathBuf> {
    let usable = |name: &&[u8]| {
        !name.is_empty() && *name != b"." && *name != b".." && name.len() < 64 && !name.contains(&0)
    };
    let names = bytes.split(|byte| *byte == b'/').filter(usable).take(MAX_COMPONENTS);
    let path: PathBuf = names.map(OsStr::from_bytes).collect();
    (!path.as_os_str().is_empty()).then_some(path)
}

/// Builds the tree below `root`. An operation that the file system refuses is left out.
pub fn build(root: &Path, operations: &[Operation<'_>]) {
    for Operation { kind, path, content } in operations {
        let path = root.join(path);
        // The real parent has to stay below the root: a link may lead anywhere in the tree only.
        let Some(parent) = path.parent().filter(|parent| fs::create_dir_all(parent).is_ok()) else {
            continue;
        };
        if !fs::canonicalize(parent).is_ok_and(|real| real.starts_with(root)) {
            continue;
        }
        let _ = match kind {
            b'd' => fs::create_dir(&path),
            b'l' => contained(content).map_or(Ok(()), |target| symlink(root.join(target), &path)),
            _ => fs::write(&path, content),
        };
    }
}

/// The directories of the skills that nothing excuses a scan from seeing: regular files called
/// `SKILL.md`, not inside another skill, below directories of one or two plain characters (a longer
/// name may be hidden or on the list of directories that are skipped).
pub fn visible_skills(root: &Path) -> Vec<PathBuf> {
    let mut skills = Vec::new();
    // A root that is itself a skill is one, and what lies below belongs to it.
    if !has_skill_file(root) {
        collect(root, &mut skills);
    }
    skills
}

fn collect(dir: &Path, skills: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        // `file_type` does not follow links, so each directory is met once, at its real place.
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_dir || !is_plain(name.as_bytes()) {
            continue;
        }
        let file = fs::symlink_metadata(path.join("SKILL.md"));
        if file.is_ok_and(|file| file.is_file()) {
            skills.push(path);
        } else if !has_skill_file(&path) {
            collect(&path, skills);
        }
    }
}

fn is_plain(name: &[u8]) -> bool {
    name.len() <= 2 && name.iter().all(u8::is_ascii_alphanumeric)
}

fn has_skill_file(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name.eq_ignore_ascii_case("SKILL.md"))
}

fn split<'a>(bytes: &'a [u8], separator: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(separator.len()).position(|window| window == separator) {
        parts.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    parts.push(rest);
    parts
}

fn split_once(bytes: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == separator) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}
