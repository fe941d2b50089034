//! A gzip file: one member, from the first byte to the last, unpacked as a stream.
//!
//! A second member, or anything else after the first, is refused: some programs read on and some stop.

use std::ops::Range;

use super::fault::{ArchiveError, ArchiveFault};
use super::inflate::Inflater;
use super::read_at::ReadAt;
use crate::limits::PackLimits;

pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The longest name or comment in a header.
const MAX_HEADER_BYTES: usize = 4 << 10;
/// Bytes of checksum and length at the end.
const TRAILER_BYTES: usize = 8;

const HAS_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;

/// The stream of a gzip file.
pub(super) struct Gunzip<'a, A: ReadAt + ?Sized> {
    archive: &'a A,
    /// Where the next packed bytes are.
    at: u64,
    /// Where the packed bytes end.
    end: u64,
    inflater: Inflater,
    chunk: Range<usize>,
    crc: crc32fast::Hasher,
    written: u64,
    limits: PackLimits,
}

impl<'a, A: ReadAt + ?Sized> Gunzip<'a, A> {
    pub(super) fn open(archive: &'a A, limits: &PackLimits) -> Result<Self, ArchiveError> {
        let end =
            archive.size().checked_sub(TRAILER_BYTES as u64).ok_or(ArchiveFault::GzipHeader)?;
        let at = header_bytes(archive, end)?;
        Ok(Self {
            archive,
            at,
            end,
            inflater: Inflater::new(),
            chunk: 0..0,
            crc: crc32fast::Hasher::new(),
            written: 0,
            limits: *limits,
        })
    }

    /// The next bytes, at most `most`; none at the end of the stream.
    pub(super) fn next(&mut self, most: u64) -> Result<&[u8], ArchiveError> {
        if self.chunk.is_empty() {
            let (archive, end, at) = (self.archive, self.end, &mut self.at);
            let mut fill = |buffer: &mut [u8]| {
                let room = usize::try_from(end - *at).unwrap_or(usize::MAX).min(buffer.len());
                archive.read_at(*at, &mut buffer[..room])?;
                *at += room as u64;
                Ok(room)
            };
            let Some(chunk) = self.inflater.next(&mut fill)? else { return Ok(&[]) };
            self.crc.update(self.inflater.chunk(chunk.clone()));
            self.written += chunk.len() as u64;
            self.check_size()?;
            self.chunk = chunk;
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(self.chunk.len());
        let given = self.chunk.start..self.chunk.start + most;
        self.chunk.start += most;
        Ok(self.inflater.chunk(given))
    }

    /// Judges what follows the stream, which has ended.
    pub(super) fn finish(self) -> Result<(), ArchiveError> {
        if !self.inflater.unused().is_empty() || self.at != self.end {
            return Err(ArchiveFault::TrailingData.into());
        }
        let mut trailer = [0; TRAILER_BYTES];
        self.archive.read_at(self.end, &mut trailer)?;
        let [c0, c1, c2, c3, l0, l1, l2, l3] = trailer;
        let length = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
        let is_right = self.crc.finalize() == u32::from_le_bytes([c0, c1, c2, c3])
            && self.written & u64::from(u32::MAX) == length;
        if is_right { Ok(()) } else { Err(ArchiveFault::GzipTrailer.into()) }
    }

    /// Headers and padding count too: a bomb can be made of them.
    fn check_size(&self) -> Result<(), ArchiveFault> {
        let padding = (self.limits.entries as u64).saturating_mul(1024);
        if self.written > self.limits.total_bytes.saturating_add(padding) {
            return Err(ArchiveFault::TooLarge);
        }
        let is_small = self.written < 1 << 20;
        if !is_small && self.written / self.limits.ratio > self.at {
            return Err(ArchiveFault::Ratio);
        }
        Ok(())
    }
}

/// Bytes of the header, which ends before `end`.
fn header_bytes(archive: &(impl ReadAt + ?Sized), end: u64) -> Result<u64, ArchiveError> {
    let mut head = vec![0; usize::try_from(end).unwrap_or(usize::MAX).min(MAX_HEADER_BYTES)];
    archive.read_at(0, &mut head)?;
    let wrong = || ArchiveError::from(ArchiveFault::GzipHeader);
    let (fixed, mut rest) = head.split_at_checked(10).ok_or_else(wrong)?;
    let flags = fixed[3];
    let known = HAS_CHECKSUM | HAS_EXTRA | HAS_NAME | HAS_COMMENT | 1;
    if fixed[..2] != MAGIC || fixed[2] != 8 || flags & !known != 0 {
        return Err(wrong());
    }
    let mut bytes = 10;
    let mut skip = |rest: &mut &[u8], count: usize| {
        *rest = rest.get(count..).ok_or_else(wrong)?;
        bytes += count as u64;
        Ok::<(), ArchiveError>(())
    };
    if flags & HAS_EXTRA != 0 {
        let length = rest.first_chunk::<2>().ok_or_else(wrong)?;
        let length = usize::from(u16::from_le_bytes(*length));
        skip(&mut rest, 2 + length)?;
    }
    for flag in [HAS_NAME, HAS_COMMENT] {
        if flags & flag != 0 {
            let length = rest.iter().position(|byte| *byte == 0).ok_or_else(wrong)?;
            skip(&mut rest, length + 1)?;
        }
    }
    if flags & HAS_CHECKSUM != 0 {
        skip(&mut rest, 2)?;
    }
    Ok(bytes)
}
