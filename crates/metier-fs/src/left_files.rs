//! What a script left in the folder that is kept: taken, cleaned and hashed through descriptors.
//!
//! The script is gone by then, but what it left is not to be trusted: the folder may be a link to the
//! user's files, and hold links, pipes, closed folders, names of other files and files that are large
//! without taking room. Only regular files stay, and everything that is done to them is bounded.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use metier_skill::Digest;

#[cfg_attr(unix, path = "left_files_unix.rs")]
#[cfg_attr(not(unix), path = "left_files_portable.rs")]
mod system;

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub struct LeftLimits {
    /// Files and folders.
    pub entries: usize,
    /// Levels of folders.
    pub depth: usize,
    /// Bytes of all files, holes included: what is kept is copied and hashed with them.
    pub bytes: u64,
}

impl Default for LeftLimits {
    fn default() -> Self {
        Self { entries: 10_000, depth: 16, bytes: 512 << 20 }
    }
}

/// What is left after cleaning.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LeftFiles {
    /// The regular files, by their paths below the folder, sorted.
    pub files: Vec<PathBuf>,
    /// What was removed, with the reason; at most [`LeftFiles::MAX_REMOVED`] of them.
    pub removed: Vec<(PathBuf, &'static str)>,
    /// How many more were removed.
    pub more_removed: usize,
}

impl LeftFiles {
    /// How many removed files are named.
    pub const MAX_REMOVED: usize = 100;

    pub(crate) fn removed(&mut self, path: PathBuf, why: &'static str) {
        if self.removed.len() < Self::MAX_REMOVED {
            self.removed.push((path, why));
        } else {
            self.more_removed += 1;
        }
    }
}

/// A file with its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftFile {
    /// Its path below the folder.
    pub path: PathBuf,
    /// Bytes, holes included.
    pub bytes: u64,
    /// Of its bytes; nothing where they were too many or the time was up.
    pub digest: Option<Digest>,
}

/// Why nothing was kept.
#[derive(Debug)]
#[non_exhaustive]
pub enum LeftError {
    /// Something else stands in the place of the folder.
    Replaced {
        /// What it is: "a link to /x".
        by: String,
    },
    /// There was no time left.
    Stopped,
    /// Anything else.
    Io(io::Error),
}

impl fmt::Display for LeftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced { by } => write!(f, "it was replaced by {by}"),
            Self::Stopped => f.write_str("there was no time left to look through it"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LeftError {}

impl From<io::Error> for LeftError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::Stopped,
            _ => Self::Io(error),
        }
    }
}

/// Moves the folder `name` from one folder to another, both on one file system. Gives whether it was
/// there; anything but a folder in its place is an error and stays where it is.
pub fn take_left_files(from: &Path, name: &str, to: &Path) -> Result<bool, LeftError> {
    system::take(from, name, to)
}

/// Removes everything from `dir` but regular files and folders: links, pipes, sockets, devices, files that
/// have another name outside of it, and what is over the limits. The rest its owner can read.
pub fn clean_left_files(
    dir: &Path,
    limits: LeftLimits,
    stop: &dyn Fn() -> bool,
) -> Result<LeftFiles, LeftError> {
    system::clean(dir, limits, stop)
}

/// The regular files below `dir` with their digests, sorted by path. Of all of them together at most
/// `bytes` are hashed, counted with holes: a file that does not fit has no digest.
pub fn digest_left_files(
    dir: &Path,
    bytes: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<LeftFile>, LeftError> {
    system::digests(dir, bytes, stop)
}

/// Reads until it has to stop.
pub(crate) struct Stoppable<'a, R> {
    pub(crate) inner: R,
    pub(crate) stop: &'a dyn Fn() -> bool,
}

impl<R: io::Read> io::Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stop)() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.inner.read(buffer)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    const NEVER: &dyn Fn() -> bool = &|| false;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
        std::fs::write(path, text).expect("writes");
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("chmod");
    }

    #[test]
    fn a_folder_is_taken_and_nothing_in_its_place_is() {
        let tmp = tempfile::tempdir().expect("dir");
        let (work, to) = (tmp.path().join("work"), tmp.path().join("to"));
        write(&tmp.path().join("home/letter"), "x");
        write(&work.join("outputs/file"), "x");
        std::fs::create_dir(&to).expect("makes");
        set_mode(&work.join("outputs"), 0);
        set_mode(&work, 0);
        assert!(take_left_files(&work, "outputs", &to).expect("takes"));
        assert!(to.join("outputs/file").exists());
        assert!(!take_left_files(&work, "outputs", &to).expect("is not there any more"));
        symlink(tmp.path().join("home"), work.join("outputs")).expect("links");
        let error = take_left_files(&work, "outputs", &to).expect_err("a link");
        let text = format!("a link to {}", tmp.path().join("home").display());
        assert!(matches!(&error, LeftError::Replaced { by } if *by == text), "{error}");
        std::fs::remove_file(work.join("outputs")).expect("removes");
        write(&work.join("outputs"), "a file");
        let error = take_left_files(&work, "outputs", &to).expect_err("a file");
        assert!(error.to_string().contains("replaced by a file"), "{error}");
    }

    #[test]
    fn only_regular_files_stay_and_their_owner_can_read_them() {
        let tmp = tempfile::tempdir().expect("dir");
        let (top, home) = (tmp.path().join("top"), tmp.path().join("home"));
        write(&home.join("letter"), "a letter");
        for file in ["a/b/file", "a/twice", "secret", "run"] {
            write(&top.join(file), "x");
        }
        std::fs::hard_link(top.join("a/twice"), top.join("twice")).expect("links");
        std::fs::hard_link(home.join("letter"), top.join("a/b/hard")).expect("links");
        symlink(&home, top.join("a/home")).expect("links");
        symlink("secret", top.join("a/b/link")).expect("links");
        assert!(
            Command::new("mkfifo").arg(top.join("a/b/pipe")).status().expect("starts").success()
        );
        let _socket = UnixListener::bind(top.join("socket")).expect("binds");
        set_mode(&top.join("run"), 0o4711);
        for closed in ["secret", "a/twice", "a/b/file", "a/b", "a"] {
            set_mode(&top.join(closed), 0);
        }
        let before = std::fs::metadata(home.join("letter")).expect("there").permissions();
        let left = clean_left_files(&top, LeftLimits::default(), NEVER).expect("cleans");
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(left.files, paths(&["a/b/file", "a/twice", "run", "secret", "twice"]));
        let removed = ["a/b/hard", "a/b/link", "a/b/pipe", "a/home", "socket"];
        let names: Vec<&PathBuf> = left.removed.iter().map(|(path, _)| path).collect();
        assert_eq!(names, paths(&removed).iter().collect::<Vec<_>>());
        for file in &left.files {
            assert_eq!(std::fs::read_to_string(top.join(file)).expect("reads"), "x");
        }
        let mode = std::fs::metadata(top.join("run")).expect("there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o711 | 0o600);
        assert_eq!(std::fs::read_to_string(home.join("letter")).expect("there"), "a letter");
        assert_eq!(std::fs::metadata(home.join("letter")).expect("there").permissions(), before);
        let again = clean_left_files(&top, LeftLimits::default(), NEVER).expect("cleans");
        assert_eq!((again.files, again.removed), (left.files, Vec::new()));
    }

    #[test]
    fn what_is_over_a_limit_goes_and_is_counted() {
        let tmp = tempfile::tempdir().expect("dir");
        for at in 0..150 {
            write(&tmp.path().join(format!("{at:03}")), "x");
        }
        write(&tmp.path().join("000d/1/2/3/4/file"), "x");
        let limits = LeftLimits { entries: 20, depth: 3, ..LeftLimits::default() };
        let left = clean_left_files(tmp.path(), limits, NEVER).expect("cleans");
        // 20 entries: a file, three levels of folders, a folder that is too deep, and 15 more files.
        assert_eq!(left.files.len(), 16, "{left:?}");
        assert_eq!(left.removed[0], ("000d/1/2/3".into(), "it is too deep"));
        assert_eq!(left.removed.len() + left.more_removed, 1 + 134);
        let names = crate::read_dir_names(tmp.path()).expect("lists");
        assert_eq!(names.len(), 17);
        let large = std::fs::File::create(tmp.path().join("001")).expect("makes");
        large.set_len(1 << 40).expect("sparse");
        let few = LeftLimits { bytes: 5, ..limits };
        let left = clean_left_files(tmp.path(), few, NEVER).expect("cleans");
        assert_eq!(left.files.len(), 5, "what fits stays: {left:?}");
        assert_eq!(left.removed[0], ("001".into(), "the files are too large"));
        let stopped = clean_left_files(tmp.path(), limits, &|| true);
        assert!(matches!(stopped, Err(LeftError::Stopped)));
    }

    #[test]
    fn digests_are_of_the_bytes_and_large_files_have_none() {
        let tmp = tempfile::tempdir().expect("dir");
        write(&tmp.path().join("a"), "text");
        std::fs::File::create(tmp.path().join("b"))
            .and_then(|f| f.set_len(1 << 40))
            .expect("sparse");
        write(&tmp.path().join("c/d"), "more");
        symlink("a", tmp.path().join("link")).expect("links");
        let files = digest_left_files(tmp.path(), 10, NEVER).expect("hashes");
        let file = |path: &str, bytes, digest| LeftFile { path: path.into(), bytes, digest };
        let expected = [
            file("a", 4, Some(Digest::of(b"text"))),
            file("b", 1 << 40, None),
            file("c/d", 4, Some(Digest::of(b"more"))),
        ];
        assert_eq!(files, expected);
        let files = digest_left_files(tmp.path(), 7, NEVER).expect("hashes");
        assert_eq!(files[2].digest, None, "four bytes of seven were used");
    }
}
