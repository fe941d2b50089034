//! One entry's data: unpacked, counted, and held to the checksum and the size that were declared.

use std::io;

use crate::archive::fault::{ArchiveError, ArchiveFault};
use crate::archive::inflate::Inflater;
use crate::archive::read_at::ReadAt;

use super::{Method, ZipEntry};

/// What is read of a stored entry at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Unpacks an entry, chunk by chunk, into `write`, which never gets more bytes than were declared.
pub(in crate::archive) fn unpack_entry(
    archive: &(impl ReadAt + ?Sized),
    entry: &ZipEntry,
    inflater: &mut Inflater,
    write: &mut dyn FnMut(&[u8]) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut crc = crc32fast::Hasher::new();
    let mut written = 0u64;
    let mut take = |chunk: &[u8]| {
        written += chunk.len() as u64;
        if written > entry.size {
            return Err(ArchiveFault::SizeMismatch.into());
        }
        crc.update(chunk);
        write(chunk)
    };
    let mut at = entry.data_at;
    let end = entry.data_at + entry.packed;
    let mut fill = |buffer: &mut [u8]| -> io::Result<usize> {
        let room = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
        archive.read_at(at, &mut buffer[..room])?;
        at += room as u64;
        Ok(room)
    };
    match entry.method {
        Method::Stored => {
            let mut buffer =
                vec![0; CHUNK_BYTES.min(usize::try_from(entry.packed).unwrap_or(CHUNK_BYTES))];
            loop {
                match fill(&mut buffer)? {
                    0 => break,
                    read => take(&buffer[..read])?,
                }
            }
        }
        Method::Deflated => {
            inflater.restart();
            while let Some(chunk) = inflater.next(&mut fill)? {
                take(inflater.chunk(chunk))?;
            }
            if !inflater.unused().is_empty() || at != end {
                return Err(ArchiveFault::TrailingData.into());
            }
        }
    }
    if written != entry.size {
        return Err(ArchiveFault::SizeMismatch.into());
    }
    if crc.finalize() != entry.crc {
        return Err(ArchiveFault::Checksum.into());
    }
    Ok(())
}
