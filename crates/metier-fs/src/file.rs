//! Whole files, bounded; writes that are whole or not at all.
//!
//! Nothing here waits: a pipe or a socket is refused, not read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::dir::Dir;
use crate::head::EntryKind;
use crate::stamp::FileId;

/// Why a file could not be read whole.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// It is a directory, pipe, socket or device.
    NotRegular,
    /// It is larger than the limit, which is given.
    TooLarge(u64),
    /// Anything else.
    Io(io::Error),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotRegular => f.write_str("it is not a regular file"),
            Self::TooLarge(limit) => write!(f, "it is larger than {limit} bytes"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens a regular file without waiting for anything; gives its size too.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64), ReadError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    let file = options.open(path).map_err(|error| {
        // A socket answers the attempt with an error of its own.
        let special = fs::metadata(path).is_ok_and(|data| !data.is_file());
        if special { ReadError::NotRegular } else { ReadError::Io(error) }
    })?;
    let data = file.metadata()?;
    if data.is_file() { Ok((file, data.len())) } else { Err(ReadError::NotRegular) }
}

/// The regular file at `path`, if it has at most `limit` bytes. Never waits for a pipe.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let (file, size) = open_regular(path)?;
    read_open(&file, size, limit)?.ok_or(ReadError::TooLarge(limit))
}

/// All of an open regular file that had `size` bytes; `None` if it has more than `limit`.
pub(crate) fn read_open(file: &File, size: u64, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if size > limit {
        return Ok(None);
    }
    // The byte more than its size is how one read tells that it ends there; most files take no second.
    // Files of `/proc` have no size, and some of them give what they hold to the first read only.
    let room = if size == 0 { 4096 } else { usize::try_from(size).unwrap_or(0) + 1 };
    let mut bytes = Vec::with_capacity(room);
    #[cfg(unix)]
    loop {
        match rustix::io::read(file, rustix::buffer::spare_capacity(&mut bytes)) {
            Err(rustix::io::Errno::INTR) => continue,
            read => {
                if read? == 0 {
                    break;
                }
            }
        }
        let has_room = bytes.len() < bytes.capacity();
        if bytes.len() as u64 > limit || (has_room && bytes.len() as u64 == size) {
            break;
        }
        bytes.reserve(if has_room { 0 } else { bytes.len().max(4096) });
    }
    #[cfg(not(unix))]
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= limit))
}

/// A regular file that is read in pieces, from any thread.
#[derive(Debug)]
pub struct PiecewiseFile {
    file: File,
    size: u64,
    state: Option<FileSnapshot>,
}

/// What tells whether an open file was written to. The change time cannot be set by a program.
#[derive(Debug, PartialEq, Eq)]
struct FileSnapshot {
    size: u64,
    modified: SystemTime,
    #[cfg(unix)]
    changed: (i64, i64),
}

impl FileSnapshot {
    fn of(file: &File) -> io::Result<Self> {
        let data = file.metadata()?;
        Ok(Self {
            size: data.len(),
            modified: data.modified()?,
            #[cfg(unix)]
            changed: {
                use std::os::unix::fs::MetadataExt;
                (data.ctime(), data.ctime_nsec())
            },
        })
    }
}

impl PiecewiseFile {
    /// Opens the regular file at `path`. What it holds stays readable when the path is replaced.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let (file, size) = open_regular(path)?;
        Ok(Self::of(file, size))
    }

    /// The same of a regular file that is open.
    pub(crate) fn of(file: File, size: u64) -> Self {
        let state = FileSnapshot::of(&file).ok();
        Self { file, size, state }
    }

    /// Bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether nothing was written to it since it was opened, as far as the system tells.
    pub fn is_unchanged(&self) -> bool {
        FileSnapshot::of(&self.file).ok() == self.state
    }

    /// All of its bytes, from the first one on.
    pub fn reader(&self) -> impl Read + '_ {
        self.reader_from(0)
    }

    /// Its bytes from `offset` on.
    pub fn reader_from(&self, offset: u64) -> impl Read + '_ {
        PiecewiseReader { file: self, at: offset.min(self.size) }
    }

    /// Fills `buffer` with the bytes at `offset`; fewer bytes are an error.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        #[cfg(unix)]
        {
            std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset)
        }
        #[cfg(windows)]
        {
            let mut done = 0;
            while done < buffer.len() {
                let at = offset + done as u64;
                match std::os::windows::fs::FileExt::seek_read(&self.file, &mut buffer[done..], at)?
                {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    read => done += read,
                }
            }
            Ok(())
        }
    }
}

struct PiecewiseReader<'f> {
    file: &'f PiecewiseFile,
    at: u64,
}

impl Read for PiecewiseReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.file.size - self.at).unwrap_or(usize::MAX);
        let room = left.min(buffer.len());
        self.file.read_at(self.at, &mut buffer[..room])?;
        self.at += room as u64;
        Ok(room)
    }
}

/// Writes `bytes` to `path` by way of a temporary file beside it. A link at `path` stays a link:
/// its target is written. Existing permissions stay; a new file is its owner's alone. Missing
/// directories are made.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    replace(&target, bytes, NewFiles::ForOwner)
}

/// Who may read a file that was not there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewFiles {
    /// Its owner: caches and state.
    ForOwner,
    /// Whom the user's mask allows: files that are shared, such as a project's.
    ForAll,
}

/// Replaces the file at `target`, which is no link, whole.
pub(crate) fn replace(target: &Path, bytes: &[u8], new: NewFiles) -> io::Result<()> {
    check_replaceable(target)?;
    let parent = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".metier-");
    #[cfg(unix)]
    if new == NewFiles::ForAll {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = new;
    let mut file = builder.tempfile_in(parent)?;
    file.write_all(bytes)?;
    if let Ok(data) = fs::metadata(target) {
        file.as_file().set_permissions(data.permissions())?;
    }
    file.as_file().sync_data()?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// An error where something else than a regular file stands at `target`, which a rename would remove: as root, a
/// device that every program of the machine uses.
pub(crate) fn check_replaceable(target: &Path) -> io::Result<()> {
    match entry_kind(target) {
        None | Some(EntryKind::File) => Ok(()),
        Some(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "something else than a regular file is there",
        )),
    }
}

/// Writes a file that others may read, whole: a project's records. What stands at `path` is replaced, unless it is no
/// regular file.
pub fn replace_shared(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, NewFiles::ForAll)
}

/// Which file or directory stands at `path`, a link as itself.
pub fn entry_id(path: &Path) -> io::Result<FileId> {
    let data = fs::symlink_metadata(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Ok(FileId { device: data.dev(), inode: data.ino() })
    }
    #[cfg(not(unix))]
    {
        // No number: the time of birth tells one directory from the next in the same place.
        let born =
            data.created().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let nanos = born.map_or(0, |since| since.as_nanos());
        Ok(FileId { device: 0, inode: u64::try_from(nanos & u128::from(u64::MAX)).unwrap_or(0) })
    }
}

/// Whether anything stands at `path`; links are followed.
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// Whether a directory stands at `path`; links are followed.
pub fn is_dir(path: &Path) -> bool {
    path.is_dir()
}

/// Whether an error says that links lead back to themselves.
pub fn is_link_loop(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Whether a link stands at `path`.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink())
}

/// Whether a directory stands at `path` that is no link to one.
pub fn is_real_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

/// What stands at `path`, a link as itself; `None` where nothing does.
pub fn entry_kind(path: &Path) -> Option<EntryKind> {
    Some(fs::symlink_metadata(path).ok()?.file_type().into())
}

/// Where the link at `path` leads, one step; `None` where no link stands.
pub fn link_target(path: &Path) -> Option<PathBuf> {
    let target = fs::read_link(path).ok()?;
    Some(path.parent().map_or_else(|| target.clone(), |dir| dir.join(&target)))
}

/// Where the link at `path` leads, as it is written; `None` when no link stands there.
pub fn link_text(path: &Path) -> Option<PathBuf> {
    fs::read_link(path).ok()
}

/// When the directory at `path` was made, in nanoseconds since the epoch. An error where the file system does
/// not say.
pub fn directory_birth(path: &Path) -> io::Result<i64> {
    let born = fs::symlink_metadata(path)?.created()?;
    let since = born.duration_since(std::time::UNIX_EPOCH).map_err(io::Error::other)?;
    i64::try_from(since.as_nanos()).map_err(io::Error::other)
}

/// Which directory stands at `path`; links are followed.
pub fn directory_id(path: &Path) -> io::Result<FileId> {
    Dir::open(path)?.id()
}

/// The path without links, where it exists.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(path)?;
    #[cfg(windows)]
    if let Some(usual) = real.to_str().and_then(without_verbatim_prefix) {
        return Ok(usual.into());
    }
    Ok(real)
}

/// `C:\x` for `\\?\C:\x`, which Windows gives for a real path and which equals no path that a person
/// else names. `None` for what the usual form cannot express.
#[cfg(any(windows, test))]
fn without_verbatim_prefix(text: &str) -> Option<&str> {
    const MAX_PATH_CHARS: usize = 259;
    let usual = text.strip_prefix(r"\\?\")?;
    let is_drive = usual.as_bytes().get(1..3) == Some(br":\");
    let kept = |name: &str| !name.ends_with(['.', ' ']);
    (is_drive && usual.len() <= MAX_PATH_CHARS && usual.split('\\').all(kept)).then_some(usual)
}

/// When something in a tree was last modified, before `now`: files, links and folders, of which at most
/// `most` are looked at; whether that was all of them. A time that is yet to come tells nothing.
pub fn last_modified(tree: &Path, now: SystemTime, most: usize) -> (Option<SystemTime>, bool) {
    let (mut last, mut seen, mut whole) = (None, 0, true);
    let mut open = vec![tree.to_owned()];
    while let Some(path) = open.pop() {
        seen += 1;
        let Ok(about) = fs::symlink_metadata(&path) else {
            whole = false;
            continue;
        };
        last = last.max(about.modified().ok().filter(|at| *at <= now));
        if !about.is_dir() {
            continue;
        }
        match fs::read_dir(&path) {
            Ok(entries) => {
                for entry in entries {
                    if seen + open.len() >= most {
                        whole = false;
                        break;
                    }
                    match entry {
                        Ok(entry) => open.push(entry.path()),
                        Err(_) => whole = false,
                    }
                }
            }
            Err(_) => whole = false,
        }
    }
    (last, whole)
}

/// When `path` was last modified.
pub fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// The names in a directory, sorted; names that are not UTF-8 are left out.
pub fn read_dir_names(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Removes a file and tells whether it was there: of several who try, one takes it.
pub fn take_file(path: &Path) -> bool {
    fs::remove_file(path).is_ok()
}

/// Removes a file; one that is not there is fine.
pub fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_whole_file_and_keeps_a_link() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("deep/er/file");
        write_atomic(&path, b"one").expect("makes directories");
        write_atomic(&path, b"two").expect("replaces");
        assert_eq!(read_bounded(&path, 10).expect("reads"), b"two");
        assert_eq!(fs::read_dir(path.parent().expect("parent")).expect("lists").count(), 1);
        #[cfg(unix)]
        {
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(&path, &link).expect("link");
            write_atomic(&link, b"three").expect("through the link");
            assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
            assert_eq!(read_bounded(&path, 10).expect("reads"), b"three");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_of_proc_is_read_whole() {
        for file in ["/proc/sys/kernel/pid_max", "/proc/sys/net/core/somaxconn", "/proc/cpuinfo"] {
            let path = Path::new(file);
            let bytes = read_bounded(path, 1 << 20).expect("reads");
            let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().count();
            assert_eq!(lines(&bytes), lines(&fs::read(path).expect("reads")), "{file}");
        }
    }

    #[test]
    fn a_real_windows_path_is_given_without_its_verbatim_prefix() {
        assert_eq!(without_verbatim_prefix(r"\\?\C:\Users\x"), Some(r"C:\Users\x"));
        assert_eq!(without_verbatim_prefix(r"\\?\C:\"), Some(r"C:\"));
        for other in [r"C:\x", r"\\?\UNC\server\share", r"\\?\C:\odd.", r"\\?\Volume{1}\x", "/x"] {
            assert_eq!(without_verbatim_prefix(other), None, "{other}");
        }
        assert_eq!(without_verbatim_prefix(&format!(r"\\?\C:\{}", "a".repeat(300))), None);
    }

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let dir = tempfile::tempdir().expect("dir");
        assert!(matches!(read_bounded(dir.path(), 10), Err(ReadError::NotRegular)));
        let path = dir.path().join("f");
        fs::write(&path, b"12345").expect("writes");
        assert!(matches!(read_bounded(&path, 4), Err(ReadError::TooLarge(4))));
        assert!(matches!(read_bounded(&dir.path().join("none"), 4), Err(ReadError::Io(_))));
        #[cfg(unix)]
        {
            let socket = dir.path().join("s");
            let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("socket");
            assert!(matches!(read_bounded(&socket, 10), Err(ReadError::NotRegular)));
        }
    }
}
