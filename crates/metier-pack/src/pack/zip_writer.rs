//! A zip, written so that it is the same everywhere and that every strict reader takes it: sizes and
//! checksums stand before the data, and nothing is optional.

use std::io::{self, Read, Write};

use metier_fs::WholeFile;

use super::deflate::Deflater;
use super::{ArchiveWriter, NewEntry, Packing};
use crate::limits::PackLimits;

/// Files up to this size are packed in memory first, and stored as they are where packing gains nothing.
const IN_MEMORY_BYTES: u64 = 1 << 20;
const CHUNK_BYTES: usize = 64 << 10;
/// The first of January 1980, the earliest date there is.
const DATE: u16 = 0x0021;
const UTF8: u16 = 1 << 11;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Made by a Unix system, with version 2.0 of the format.
const MADE_BY: u16 = 3 << 8 | 20;

/// A zip that is being written.
pub(super) struct ZipWriter<'f> {
    file: &'f mut WholeFile,
    at: u64,
    directory: Vec<u8>,
    entries: usize,
}

/// What the two records about an entry say.
struct Entry<'p> {
    path: &'p str,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    mode: u32,
}

impl<'f> ZipWriter<'f> {
    pub(super) fn new(file: &'f mut WholeFile) -> Self {
        Self { file, at: 0, directory: Vec::new(), entries: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Writes the header and the data, and notes the line for the directory.
    fn whole(&mut self, entry: &Entry<'_>, data: &[u8]) -> io::Result<()> {
        let offset = self.at;
        self.put(&entry.local()?)?;
        self.put(data)?;
        self.note(entry, offset)
    }

    fn note(&mut self, entry: &Entry<'_>, offset: u64) -> io::Result<()> {
        let line = entry.central(offset)?;
        self.directory.extend_from_slice(&line);
        self.entries += 1;
        Ok(())
    }

    /// Packs a large file as it is read; the header is written over when the sizes are known.
    fn streamed(
        &mut self,
        new: NewEntry<'_>,
        packing: Packing,
        content: &mut dyn Read,
    ) -> io::Result<bool> {
        let offset = self.at;
        let method = if packing == Packing::Deflated { DEFLATED } else { STORED };
        let mut entry =
            Entry { path: new.path, method, crc: 0, packed: 0, size: new.size, mode: mode(new) };
        self.put(&entry.local()?)?;
        let start = self.at;
        let mut deflater = Deflater::new();
        let mut crc = crc32fast::Hasher::new();
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut read_bytes = 0;
        loop {
            let read = content.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            read_bytes += read as u64;
            crc.update(&buffer[..read]);
            match packing {
                Packing::Deflated => {
                    deflater.write(&buffer[..read], &mut |bytes| self.put(bytes))?
                }
                Packing::Stored => self.put(&buffer[..read])?,
            }
        }
        if packing == Packing::Deflated {
            deflater.finish(&mut |bytes| self.put(bytes))?;
        }
        check_size(new.size, read_bytes)?;
        entry.crc = crc.finalize();
        entry.packed = self.at - start;
        if packing == Packing::Deflated && is_suspect(new.size, entry.packed) {
            self.file.cut(offset)?;
            self.at = offset;
            return Ok(false);
        }
        self.file.write_over(offset, &entry.local()?)?;
        self.note(&entry, offset)?;
        Ok(true)
    }
}

/// Whether a reader would take a file that packs this tightly for a bomb.
fn is_suspect(size: u64, packed: u64) -> bool {
    size > PackLimits::RATIO_FREE_BYTES && size / PackLimits::default().ratio > packed
}

const fn mode(entry: NewEntry<'_>) -> u32 {
    if entry.executable { 0o100_755 } else { 0o100_644 }
}

impl ArchiveWriter for ZipWriter<'_> {
    fn file(
        &mut self,
        new: NewEntry<'_>,
        packing: Packing,
        content: &mut dyn Read,
    ) -> io::Result<bool> {
        if new.size > IN_MEMORY_BYTES || packing == Packing::Stored {
            return self.streamed(new, packing, content);
        }
        let mut bytes = Vec::new();
        content.take(IN_MEMORY_BYTES + 1).read_to_end(&mut bytes)?;
        check_size(new.size, bytes.len() as u64)?;
        let mut packed = Vec::new();
        let mut deflater = Deflater::new();
        let mut keep = |chunk: &[u8]| {
            packed.extend_from_slice(chunk);
            Ok(())
        };
        deflater.write(&bytes, &mut keep)?;
        deflater.finish(&mut keep)?;
        let is_tight = is_suspect(new.size, packed.len() as u64);
        let is_smaller = packed.len() < bytes.len() && !is_tight;
        let (method, data) = if is_smaller { (DEFLATED, &packed) } else { (STORED, &bytes) };
        let crc = crc32fast::hash(&bytes);
        let packed = data.len() as u64;
        let entry = Entry { path: new.path, method, crc, packed, size: new.size, mode: mode(new) };
        self.whole(&entry, data)?;
        Ok(true)
    }

    fn directory(&mut self, path: &str) -> io::Result<()> {
        let mode = 0o040_755;
        self.whole(&Entry { path, method: STORED, crc: 0, packed: 0, size: 0, mode }, &[])
    }

    fn finish(&mut self) -> io::Result<()> {
        let (offset, directory) = (self.at, std::mem::take(&mut self.directory));
        self.put(&directory)?;
        let entries = small(self.entries as u64)?;
        let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
        end.extend_from_slice(&entries.to_le_bytes());
        end.extend_from_slice(&entries.to_le_bytes());
        end.extend_from_slice(&large(directory.len() as u64)?.to_le_bytes());
        end.extend_from_slice(&large(offset)?.to_le_bytes());
        end.extend_from_slice(&[0, 0]);
        self.put(&end)
    }
}

impl Entry<'_> {
    /// What both records share, from the version to the length of the name.
    fn shared(&self) -> io::Result<Vec<u8>> {
        let version: u16 =
            if self.method == DEFLATED || self.path.ends_with('/') { 20 } else { 10 };
        let flags = if self.path.is_ascii() { 0 } else { UTF8 };
        let mut bytes = Vec::with_capacity(64);
        for field in [version, flags, self.method, 0, DATE] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        for field in [self.crc, large(self.packed)?, large(self.size)?] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&small(self.path.len() as u64)?.to_le_bytes());
        Ok(bytes)
    }

    fn local(&self) -> io::Result<Vec<u8>> {
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend_from_slice(&self.shared()?);
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(self.path.as_bytes());
        Ok(bytes)
    }

    fn central(&self, offset: u64) -> io::Result<Vec<u8>> {
        let mut bytes = b"PK\x01\x02".to_vec();
        bytes.extend_from_slice(&MADE_BY.to_le_bytes());
        bytes.extend_from_slice(&self.shared()?);
        // No extra field, no comment, the first disk, no inner attributes.
        bytes.extend_from_slice(&[0; 8]);
        let dos = u32::from(self.path.ends_with('/')) * 0x10;
        bytes.extend_from_slice(&(self.mode << 16 | dos).to_le_bytes());
        bytes.extend_from_slice(&large(offset)?.to_le_bytes());
        bytes.extend_from_slice(self.path.as_bytes());
        Ok(bytes)
    }
}

/// A file that grew or shrank since it was measured would leave a header that lies.
pub(super) fn check_size(declared: u64, read: u64) -> io::Result<()> {
    if declared == read {
        Ok(())
    } else {
        Err(io::Error::other("a file changed while it was packed"))
    }
}

fn small(value: u64) -> io::Result<u16> {
    u16::try_from(value).map_err(|_| io::Error::other("too much for a zip"))
}

fn large(value: u64) -> io::Result<u32> {
    let too_large = || io::Error::other("too much for a zip");
    u32::try_from(value).ok().filter(|value| *value != u32::MAX).ok_or_else(too_large)
}
