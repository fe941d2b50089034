//! A file that only grows, one writer at a time: the record of a run.
//!
//! The writer holds the kernel's lock on the file for as long as it lives, so that two processes
//! never write one record; a crash leaves nothing locked. A line that a crash or a full disk cut off
//! is cut away before anything is appended.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use crate::private::set_private;

const MAX_ATTEMPTS: u32 = 10;
const RETRY_INTERVAL: Duration = Duration::from_millis(3);

/// A file that is being appended to.
#[derive(Debug)]
pub struct AppendFile {
    file: File,
    bytes: u64,
}

/// Why a file could not be opened for appending.
#[derive(Debug)]
#[non_exhaustive]
pub enum AppendError {
    /// Another process is writing to it.
    Busy,
    /// It is larger than the limit.
    TooLarge,
    /// The system refused.
    Io(io::Error),
}

impl std::fmt::Display for AppendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Busy => f.write_str("another process is writing to it"),
            Self::TooLarge => f.write_str("it is larger than the limit"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AppendError {}

impl AppendFile {
    /// Makes a new file for the owner alone, which must not be there yet.
    pub fn create(path: &Path) -> Result<Self, AppendError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Self::of_new(options.open(path).map_err(AppendError::Io)?)
    }

    /// The same of a new file, opened to read and append.
    pub(crate) fn of_new(file: File) -> Result<Self, AppendError> {
        set_private(&file).map_err(AppendError::Io)?;
        Ok(Self { file: locked(file)?, bytes: 0 })
    }

    /// Opens a file that is there and gives what is in it, at most `limit` bytes of it. What follows
    /// the last line end is no whole line: it is cut off, and its length given.
    pub fn open(path: &Path, limit: u64) -> Result<(Self, Vec<u8>, u64), AppendError> {
        let file = OpenOptions::new().read(true).append(true).open(path);
        Self::of_existing(file.map_err(AppendError::Io)?, limit)
    }

    /// The same of a file that was opened to read and append.
    pub(crate) fn of_existing(file: File, limit: u64) -> Result<(Self, Vec<u8>, u64), AppendError> {
        let mut file = locked(file)?;
        let mut bytes = Vec::new();
        (&mut file).take(limit + 1).read_to_end(&mut bytes).map_err(AppendError::Io)?;
        if bytes.len() as u64 > limit {
            return Err(AppendError::TooLarge);
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let torn = (bytes.len() - whole) as u64;
        if torn > 0 {
            bytes.truncate(whole);
            file.set_len(whole as u64).map_err(AppendError::Io)?;
        }
        file.seek(SeekFrom::End(0)).map_err(AppendError::Io)?;
        let appended = Self { file, bytes: whole as u64 };
        Ok((appended, bytes, torn))
    }

    /// The same of a file that may be too large to be read: only its end is looked at. How many bytes
    /// were cut off is given.
    pub(crate) fn at_end_of(file: File) -> Result<(Self, u64), AppendError> {
        let mut file = locked(file)?;
        let size = file.metadata().map_err(AppendError::Io)?.len();
        let whole = end_of_last_line(&mut file, size).map_err(AppendError::Io)?;
        if whole < size {
            file.set_len(whole).map_err(AppendError::Io)?;
        }
        file.seek(SeekFrom::End(0)).map_err(AppendError::Io)?;
        Ok((Self { file, bytes: whole }, size - whole))
    }

    /// Appends a whole line. When that fails, the file is as it was.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(line) {
            let _ = self.file.set_len(self.bytes);
            return Err(error);
        }
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Bytes that are in it.
    pub const fn size(&self) -> u64 {
        self.bytes
    }

    /// Waits until everything is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Where the last line end of a file of `size` bytes ends; 0 where there is none.
fn end_of_last_line(file: &mut File, size: u64) -> io::Result<u64> {
    const BLOCK: u64 = 64 << 10;
    let mut end = size;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let mut block = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.take(end - start).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// The file with its lock. A process that is just being started shares the lock for a moment, until it
/// becomes another program; so one try is not enough.
fn locked(file: File) -> Result<File, AppendError> {
    for _ in 0..MAX_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(AppendError::Io(error)),
        }
    }
    Err(AppendError::Busy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_cut_off_and_there_is_one_writer() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("events.jsonl");
        let mut first = AppendFile::create(&path).expect("makes");
        first.append(b"one\n").expect("writes");
        first.append(b"tw").expect("writes");
        assert!(matches!(AppendFile::open(&path, 100), Err(AppendError::Busy)));
        assert!(matches!(AppendFile::create(&path), Err(AppendError::Io(_))));
        drop(first);
        let (mut again, bytes, torn) = AppendFile::open(&path, 100).expect("opens");
        assert_eq!((bytes.as_slice(), torn), (b"one\n".as_slice(), 2));
        again.append(b"two\n").expect("writes");
        again.sync().expect("syncs");
        drop(again);
        assert!(matches!(AppendFile::open(&path, 7), Err(AppendError::TooLarge)));
        let (_, bytes, torn) = AppendFile::open(&path, 100).expect("opens");
        assert_eq!((bytes.as_slice(), torn), (b"one\ntwo\n".as_slice(), 0));
    }
}
