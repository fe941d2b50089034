//! The bytes of a tar: as they are, or out of a gzip.
//! Which of the two it is, its first bytes say.

use super::super::fault::{ArchiveError, ArchiveFault};
use super::super::gzip::{Gunzip, MAGIC};
use super::super::read_at::ReadAt;
use crate::limits::PackLimits;

const CHUNK_BYTES: usize = 64 << 10;

/// The stream of a tar.
pub(super) enum TarStream<'a, A: ReadAt + ?Sized> {
    Gzip(Box<Gunzip<'a, A>>),
    Plain(PlainStream<'a, A>),
}

impl<'a, A: ReadAt + ?Sized> TarStream<'a, A> {
    /// The stream of `archive`, whose first bytes say what it is.
    pub(super) fn open(archive: &'a A, limits: &PackLimits) -> Result<Self, ArchiveError> {
        let mut start = [0; 2];
        let bytes = usize::try_from(archive.size()).unwrap_or(2).min(2);
        archive.read_at(0, &mut start[..bytes])?;
        if start == MAGIC {
            return Ok(Self::Gzip(Box::new(Gunzip::open(archive, limits)?)));
        }
        Ok(Self::Plain(PlainStream {
            archive,
            at: 0,
            chunk: vec![0; CHUNK_BYTES],
            used: 0,
            filled: 0,
        }))
    }

    /// The next bytes, at most `most`; none at the end of the stream.
    pub(super) fn next(&mut self, most: u64) -> Result<&[u8], ArchiveError> {
        match self {
            Self::Gzip(stream) => stream.next(most),
            Self::Plain(stream) => stream.next(most),
        }
    }

    /// Fills `buffer`; an archive that ends before that is cut off.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<(), ArchiveError> {
        let mut done = 0;
        while done < buffer.len() {
            let chunk = self.next((buffer.len() - done) as u64)?;
            if chunk.is_empty() {
                return Err(ArchiveFault::DataDamaged.into());
            }
            buffer[done..done + chunk.len()].copy_from_slice(chunk);
            done += chunk.len();
        }
        Ok(())
    }

    /// Judges what follows the stream, which has ended.
    pub(super) fn finish(self) -> Result<(), ArchiveError> {
        match self {
            Self::Gzip(stream) => stream.finish(),
            Self::Plain(_) => Ok(()),
        }
    }
}

/// A file as it is.
pub(super) struct PlainStream<'a, A: ReadAt + ?Sized> {
    archive: &'a A,
    at: u64,
    chunk: Vec<u8>,
    used: usize,
    filled: usize,
}

impl<A: ReadAt + ?Sized> PlainStream<'_, A> {
    fn next(&mut self, most: u64) -> Result<&[u8], ArchiveError> {
        if self.used == self.filled {
            let left = usize::try_from(self.archive.size() - self.at).unwrap_or(usize::MAX);
            (self.used, self.filled) = (0, left.min(self.chunk.len()));
            self.archive.read_at(self.at, &mut self.chunk[..self.filled])?;
            self.at += self.filled as u64;
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(self.filled - self.used);
        self.used += most;
        Ok(&self.chunk[self.used - most..self.used])
    }
}
