//! A tar, mostly in a gzip, written so that it is the same everywhere: POSIX headers, no times, no owners.
//! Names that do not fit a header, or are not ASCII, get an extended one.

use std::io::{self, Read, Write};

use metier_fs::WholeFile;
use metier_skill::Digest;
use sha2::{Digest as _, Sha256};

use super::deflate::Deflater;
use super::zip_writer::check_size;
use super::{ArchiveWriter, NewEntry, Packing};

const BLOCK: usize = 512;
const CHUNK_BYTES: usize = 64 << 10;
/// Deflated, no flags, no time, no hint, made by no particular system.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Whether a tar is in a gzip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TarPacking {
    Gzip,
    Plain,
}

/// A tar that is being written.
pub(super) struct TarWriter<'f> {
    file: &'f mut WholeFile,
    packing: TarPacking,
    deflater: Option<Deflater>,
    crc: crc32fast::Hasher,
    size: u64,
    hasher: Sha256,
}

impl<'f> TarWriter<'f> {
    pub(super) fn new(file: &'f mut WholeFile, packing: TarPacking) -> Self {
        let (crc, hasher) = (crc32fast::Hasher::new(), Sha256::new());
        Self { file, packing, deflater: None, crc, size: 0, hasher }
    }

    /// The digest of the tar itself, after [`ArchiveWriter::finish`].
    pub(super) fn unpacked_digest(self) -> Digest {
        Digest::from_bytes(self.hasher.finalize().into())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.size += bytes.len() as u64;
        self.hasher.update(bytes);
        let file = &mut *self.file;
        if self.packing == TarPacking::Plain {
            return file.write_all(bytes);
        }
        if self.deflater.is_none() {
            file.write_all(&GZIP_HEADER)?;
        }
        let deflater = self.deflater.get_or_insert_with(Deflater::new);
        deflater.write(bytes, &mut |packed| file.write_all(packed))
    }

    fn pad(&mut self, size: u64) -> io::Result<()> {
        let over = usize::try_from(size % BLOCK as u64).unwrap_or(0);
        self.put(&[0; BLOCK][..(BLOCK - over) % BLOCK])
    }

    /// A header; before it, for a name that does not fit, an extended one.
    fn header(&mut self, path: &str, kind: u8, mode: u32, size: u64) -> io::Result<()> {
        if path.len() > 100 || !path.is_ascii() {
            let record = extended("path", path);
            self.put(&block("pax", b'x', 0o644, record.len() as u64)?)?;
            self.put(record.as_bytes())?;
            self.pad(record.len() as u64)?;
        }
        let name: String = path.chars().filter(char::is_ascii).take(100).collect();
        let name = if name.is_empty() { "file" } else { &name };
        self.put(&block(name, kind, mode, size)?)
    }
}

impl ArchiveWriter for TarWriter<'_> {
    /// Nothing can be stored in one stream; a tree that packs too tightly is seen when it is checked.
    fn file(&mut self, new: NewEntry<'_>, _: Packing, content: &mut dyn Read) -> io::Result<bool> {
        self.header(new.path, b'0', if new.executable { 0o755 } else { 0o644 }, new.size)?;
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut total = 0;
        loop {
            let read = content.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            total += read as u64;
            self.put(&buffer[..read])?;
        }
        check_size(new.size, total)?;
        self.pad(new.size)?;
        Ok(true)
    }

    fn directory(&mut self, path: &str) -> io::Result<()> {
        self.header(path, b'5', 0o755, 0)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.put(&[0; 2 * BLOCK])?;
        if self.packing == TarPacking::Plain {
            return Ok(());
        }
        let file = &mut *self.file;
        if let Some(deflater) = self.deflater.take() {
            deflater.finish(&mut |packed| file.write_all(packed))?;
        }
        let crc = std::mem::take(&mut self.crc).finalize();
        let size = u32::try_from(self.size & u64::from(u32::MAX)).unwrap_or(0);
        file.write_all(&crc.to_le_bytes())?;
        file.write_all(&size.to_le_bytes())
    }
}

/// `LENGTH KEY=VALUE\n`, where the length counts itself.
fn extended(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len() + 1;
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    format!("{length}{rest}")
}

fn block(name: &str, kind: u8, mode: u32, size: u64) -> io::Result<[u8; BLOCK]> {
    if size >= 1 << 33 {
        return Err(io::Error::other("too much for a tar"));
    }
    let mut block = [0; BLOCK];
    block[..name.len()].copy_from_slice(name.as_bytes());
    let mut put =
        |at: usize, text: String| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(100, format!("{mode:07o}"));
    put(108, format!("{:07o}", 0));
    put(116, format!("{:07o}", 0));
    put(124, format!("{size:011o}"));
    put(136, format!("{:011o}", 0));
    put(148, " ".repeat(8));
    put(257, "ustar\0".to_owned() + "00");
    block[156] = kind;
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}
