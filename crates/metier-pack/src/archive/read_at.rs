//! Bytes at a place, from any thread: what the readers of archives stand on.
//!
//! An archive is never held whole in memory, and never mapped: a mapped file that shrinks kills the
//! process that reads it.

use std::io;

use metier_fs::PiecewiseFile;

/// Something whose bytes can be read at any place.
pub trait ReadAt: Sync {
    /// How many bytes there are.
    fn size(&self) -> u64;

    /// Fills `buffer` with the bytes at `offset`; fewer bytes are an error of the kind `UnexpectedEof`.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl ReadAt for PiecewiseFile {
    fn size(&self) -> u64 {
        Self::size(self)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        Self::read_at(self, offset, buffer)
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(buffer.len());
        let bytes = self.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}
