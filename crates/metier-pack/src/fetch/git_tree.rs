//! The files of a commit: which of them belong to skills, judged by name before one of them is fetched.
//!
//! git's own plumbing lists them and gives their bytes as they are in the repository: nothing is checked
//! out, so no filter, no attribute and no end-of-line rule can change one or run anything.

use std::io::{self, Write};
use std::path::Path;

use metier_fs::{NewFileMode, TreeWriter};

use crate::archive::{ArchiveFault, NameSet, check_entry_name};
use crate::error::PackError;
use crate::facts::SKILL_FILE;
use crate::layout::MAX_DEPTH;
use crate::left_out::{LeftOut, LeftOutReason, left_out_file};
use crate::limits::PackLimits;
use crate::marketplace::is_manifest;
use crate::shipped_tree::needed_dirs;

/// Files below this size are looked at before they are written.
const SMALL_BYTES: u64 = 1024;
/// How a file begins that only says where the real one is.
const POINTER_HEAD: &[u8] = b"version https://git-lfs.github.com/spec/";

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitFile {
    /// Its path below the directory that is meant.
    pub(super) path: String,
    pub(super) object: String,
    pub(super) executable: bool,
}

/// What is wanted of a commit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WantedFiles {
    pub(super) files: Vec<CommitFile>,
    pub(super) left_out: Vec<LeftOut>,
}

/// An entry of a commit, as git lists it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeEntry<'l> {
    mode: &'l str,
    object: &'l str,
    path: &'l [u8],
}

/// The entries in the output of `git ls-tree -r -z`.
pub(super) fn parse_entries(listed: &[u8]) -> Option<Vec<TreeEntry<'_>>> {
    let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let mut words = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
            let (mode, object) = (words.next()?, words.nth(1)?);
            Some(TreeEntry { mode, object, path: &line[tab + 1..] })
        })
        .collect()
}

/// The directories of skills in a commit, as text; sorted as git sorts.
pub(super) fn skill_dirs(entries: &[TreeEntry<'_>]) -> Vec<String> {
    let dirs = entries.iter().filter_map(|entry| {
        let path = std::str::from_utf8(entry.path).ok()?;
        let dir = path.strip_suffix(SKILL_FILE)?;
        (dir.is_empty() || dir.ends_with('/')).then(|| dir.trim_end_matches('/').to_owned())
    });
    dirs.collect()
}

/// Whether the directory `path` is in a commit.
pub(super) fn has_dir(entries: &[TreeEntry<'_>], path: &str) -> bool {
    let inside = format!("{path}/");
    path.is_empty() || entries.iter().any(|entry| entry.path.starts_with(inside.as_bytes()))
}

/// What is wanted of a commit: below `top`, everything that belongs to a skill, and lists of plugins.
/// Files elsewhere are not fetched: a repository with a few skills in it may be large.
pub(super) fn wanted_files(
    entries: &[TreeEntry<'_>],
    top: &str,
    limits: &PackLimits,
) -> Result<WantedFiles, (ArchiveFault, Option<String>)> {
    let inside = if top.is_empty() { String::new() } else { format!("{top}/") };
    let below: Vec<(&TreeEntry<'_>, &[u8])> = entries
        .iter()
        .filter_map(|entry| Some((entry, entry.path.strip_prefix(inside.as_bytes())?)))
        .collect();
    let is_skill_file = |path: &&[u8]| {
        let dir = path.strip_suffix(SKILL_FILE.as_bytes());
        dir.is_some_and(|dir| dir.is_empty() || dir.ends_with(b"/"))
            && path.split(|byte| *byte == b'/').count() <= MAX_DEPTH + 1
    };
    let dirs: Vec<&[u8]> = below
        .iter()
        .map(|(_, path)| *path)
        .filter(is_skill_file)
        .map(|path| &path[..path.len() - SKILL_FILE.len()])
        .collect();
    let mut wanted = WantedFiles::default();
    let mut names = NameSet::default();
    for (entry, path) in below {
        let is_of_skill = dirs.iter().any(|dir| path.starts_with(dir));
        if !is_of_skill && !is_manifest(path) {
            continue;
        }
        let fault = |fault| (fault, Some(String::from_utf8_lossy(path).into_owned()));
        let path = std::str::from_utf8(path).map_err(|_| fault(ArchiveFault::NameEncoding))?;
        let reason = match entry.mode {
            "100644" | "100755" | "100664" => None,
            "120000" => Some(LeftOutReason::Link),
            _ => Some(LeftOutReason::Special),
        };
        // What is never shipped is not fetched either; how it is called does not matter then.
        if let Some(reason) = left_out_file(path).or(reason) {
            wanted.left_out.push(LeftOut { path: path.to_owned(), reason });
            continue;
        }
        check_entry_name(path, limits).map_err(fault)?;
        names.add(path, false).map_err(fault)?;
        wanted.files.push(CommitFile {
            path: path.to_owned(),
            object: entry.object.to_owned(),
            executable: entry.mode == "100755",
        });
        if wanted.files.len() > limits.entries {
            return Err((ArchiveFault::TooManyEntries, None));
        }
    }
    Ok(wanted)
}

/// Writes files as `git cat-file --batch` gives them, in the order in which they were asked for.
pub(super) struct FileWriter<'a> {
    tree: TreeWriter,
    files: &'a [CommitFile],
    limits: &'a PackLimits,
    /// How errors call the source.
    shown: &'a str,
    at: usize,
    part: Part,
    total: u64,
    left_out: Vec<LeftOut>,
    /// Why it stopped.
    error: Option<PackError>,
}

/// What comes next in the stream.
enum Part {
    Head(Vec<u8>),
    Body { left: u64, small: Option<Vec<u8>>, file: Option<std::fs::File> },
    LineEnd,
}

impl<'a> FileWriter<'a> {
    /// Into a new directory in `folder`.
    pub(super) fn new(
        folder: &Path,
        files: &'a [CommitFile],
        limits: &'a PackLimits,
        shown: &'a str,
    ) -> Result<Self, PackError> {
        let written = |error| PackError::not_written(folder, error);
        let tree = TreeWriter::create_in(folder, "tree-").map_err(written)?;
        let paths = files.iter().map(|file| file.path.as_str());
        for dir in needed_dirs(paths, std::iter::empty()) {
            tree.make_dir(dir).map_err(written)?;
        }
        Ok(Self {
            tree,
            files,
            limits,
            shown,
            at: 0,
            part: Part::Head(Vec::new()),
            total: 0,
            left_out: Vec::new(),
            error: None,
        })
    }

    /// Where they are, and what was left out; or why not.
    pub(super) fn finish(self) -> Result<(std::path::PathBuf, Vec<LeftOut>), PackError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok((self.tree.path().to_owned(), self.left_out)),
        }
    }

    /// Whether every file has come.
    pub(super) fn is_whole(&self) -> bool {
        self.at == self.files.len()
    }

    /// Takes the next piece of the stream. After an error nothing more is taken.
    pub(super) fn feed(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            match self.step(piece) {
                Ok(used) => piece = &piece[used..],
                Err(error) => {
                    self.error = Some(error);
                    return Err(io::ErrorKind::Other.into());
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, piece: &[u8]) -> Result<usize, PackError> {
        match &mut self.part {
            Part::Head(head) => {
                let end = piece.iter().position(|byte| *byte == b'\n');
                head.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
                if end.is_some() || head.len() > 200 {
                    let head = std::mem::take(head);
                    self.begin(&head)?;
                }
                Ok(end.map_or(piece.len(), |end| end + 1))
            }
            Part::Body { left, small, file } => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(piece.len());
                *left -= take as u64;
                if let Some(small) = small {
                    small.extend_from_slice(&piece[..take]);
                } else if let Some(file) = file {
                    let written = |error| PackError::not_written(self.shown, error);
                    file.write_all(&piece[..take]).map_err(written)?;
                }
                if *left == 0 {
                    let small = small.take();
                    self.end(small)?;
                }
                Ok(take)
            }
            Part::LineEnd => {
                self.part = Part::Head(Vec::new());
                Ok(1)
            }
        }
    }

    fn begin(&mut self, head: &[u8]) -> Result<(), PackError> {
        let fault = |fault, path: &str| {
            PackError::in_directory(Path::new(self.shown), fault, Some(path.to_owned()))
        };
        let head = String::from_utf8_lossy(head).into_owned();
        let file = self.files.get(self.at);
        let size = head.rsplit_once(" blob ").and_then(|(_, size)| size.parse::<u64>().ok());
        let (Some(file), Some(size)) = (file, size) else {
            let fault = super::GitFault::Failed(format!("it answered `{head}` for a file"));
            return Err(PackError::Git { source: self.shown.to_owned(), fault });
        };
        self.total = self.total.saturating_add(size);
        if size > self.limits.file_bytes || self.total > self.limits.total_bytes {
            return Err(fault(ArchiveFault::TooLarge, &file.path));
        }
        let is_small = size < SMALL_BYTES;
        let opened = if is_small { None } else { Some(self.make_file()?) };
        self.part = Part::Body { left: size, small: is_small.then(Vec::new), file: opened };
        if size == 0 { self.end(Some(Vec::new())) } else { Ok(()) }
    }

    fn end(&mut self, small: Option<Vec<u8>>) -> Result<(), PackError> {
        if let Some(bytes) = small {
            if bytes.starts_with(POINTER_HEAD) {
                let path = self.files[self.at].path.clone();
                self.left_out.push(LeftOut { path, reason: LeftOutReason::Pointer });
            } else {
                let written = |error| PackError::not_written(self.shown, error);
                self.make_file()?.write_all(&bytes).map_err(written)?;
            }
        }
        self.at += 1;
        self.part = Part::LineEnd;
        Ok(())
    }

    fn make_file(&self) -> Result<std::fs::File, PackError> {
        let file = &self.files[self.at];
        let mode = if file.executable { NewFileMode::Executable } else { NewFileMode::Plain };
        self.tree
            .make_file(&file.path, mode)
            .map_err(|error| PackError::not_written(&file.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(lines: &[(&str, &str)]) -> Vec<u8> {
        let line =
            |(mode, path): &(&str, &str)| format!("{mode} blob 0123abcd\t{path}\0").into_bytes();
        lines.iter().flat_map(line).collect()
    }

    fn paths(lines: &[(&str, &str)], top: &str) -> Result<Vec<String>, &'static str> {
        let listed = listed(lines);
        let entries = parse_entries(&listed).expect("parses");
        let wanted = wanted_files(&entries, top, &PackLimits::default());
        let wanted = wanted.map_err(|(fault, _)| fault.code())?;
        Ok(wanted.files.into_iter().map(|file| file.path).collect())
    }

    #[test]
    fn only_what_belongs_to_skills_is_wanted() {
        let lines = [
            ("100644", ".claude-plugin/marketplace.json"),
            ("100644", "README.md"),
            ("100644", "movie.mp4"),
            ("100644", "skills/a/SKILL.md"),
            ("100755", "skills/a/run.sh"),
            ("120000", "skills/a/link"),
            ("160000", "skills/a/module"),
            ("100644", "skills/ab/x"),
            ("100644", "NOT-SKILL.md"),
        ];
        let expected = [".claude-plugin/marketplace.json", "skills/a/SKILL.md", "skills/a/run.sh"];
        assert_eq!(paths(&lines, "").expect("fine"), expected);
        assert_eq!(paths(&lines, "skills").expect("fine"), ["a/SKILL.md", "a/run.sh"]);
        assert_eq!(paths(&lines, "skills/a").expect("fine"), ["SKILL.md", "run.sh"]);
        assert_eq!(paths(&lines, "skills/ab").expect("fine"), Vec::<String>::new());
    }

    #[test]
    fn names_that_lead_out_or_collide_are_refused_where_they_would_be_installed() {
        for (name, code) in [
            ("a/../../x", "archive-name-parent"),
            ("a/Skill.md", "archive-name-collision"),
            ("a/con", "archive-name-reserved"),
            ("a/x\\y", "archive-name-separator"),
        ] {
            let refused = paths(&[("100644", "a/SKILL.md"), ("100644", name)], "");
            assert_eq!(refused, Err(code), "{name}");
        }
        assert!(paths(&[("100644", "a/SKILL.md"), ("100644", "docs/con")], "").is_ok());
    }

    #[test]
    fn a_stream_in_pieces_of_any_size_gives_the_same_files() {
        let file = |path: &str| CommitFile {
            path: path.to_owned(),
            object: "00".to_owned(),
            executable: false,
        };
        let files = [file("a/one"), file("empty"), file("large"), file("pointer")];
        let large = vec![b'x'; 5000];
        let pointer = [POINTER_HEAD, b"v1\noid sha256:00\nsize 1\n"].concat();
        let mut stream = Vec::new();
        for bytes in [&b"1\n2"[..], b"", &large, &pointer] {
            stream.extend_from_slice(format!("00 blob {}\n", bytes.len()).as_bytes());
            stream.extend_from_slice(bytes);
            stream.push(b'\n');
        }
        for size in [1, 3, 7, 4096, stream.len()] {
            let tmp = tempfile::tempdir().expect("dir");
            let limits = PackLimits::default();
            let mut writer = FileWriter::new(tmp.path(), &files, &limits, "x").expect("makes");
            stream.chunks(size).for_each(|piece| writer.feed(piece).expect("takes"));
            assert!(writer.is_whole());
            let (path, left) = writer.finish().expect("whole");
            let read =
                |name: &str| metier_fs::read_bounded(&path.join(name), 1 << 20).expect("there");
            assert_eq!(
                (read("a/one"), read("empty"), read("large")),
                (b"1\n2".to_vec(), vec![], large.clone())
            );
            assert_eq!(
                left,
                [LeftOut { path: "pointer".to_owned(), reason: LeftOutReason::Pointer }]
            );
        }
    }
}
