//! A tar, mostly inside a gzip: files and directories, one after the other, and nothing else.
//!
//! A tar has no directory to compare with, so it is read once, and what it holds is written as it comes,
//! into a staging directory that goes when the archive turns out to be unsound. Extended headers may
//! give a name and nothing else that matters: links, sparse files and sizes in them are refused.

mod header;
mod stream;

use super::fault::{ArchiveError, ArchiveFault};
use super::names::{NameSet, check_entry_name};
use super::read_at::ReadAt;
use crate::limits::PackLimits;
use header::{BLOCK, Header, Kind, path_of_extension};
use stream::TarStream;

/// The longest extended header.
const MAX_EXTENSION_BYTES: u64 = 64 << 10;

/// An entry as it comes.
#[derive(Debug, Clone)]
pub(super) struct TarEntry {
    pub(super) path: String,
    pub(super) is_dir: bool,
    pub(super) executable: bool,
    pub(super) size: u64,
}

/// What is done with the entries of a tar.
pub(super) trait TarSink {
    /// An entry begins.
    fn begin(&mut self, entry: &TarEntry) -> Result<(), ArchiveError>;
    /// The next bytes of its data.
    fn data(&mut self, chunk: &[u8]) -> Result<(), ArchiveError>;
    /// It ends.
    fn end(&mut self) -> Result<(), ArchiveError>;
}

/// Reads the whole archive, entry by entry.
pub(super) fn read_tar<A: ReadAt + ?Sized>(
    archive: &A,
    limits: &PackLimits,
    sink: &mut dyn TarSink,
) -> Result<(), ArchiveError> {
    let mut stream = TarStream::open(archive, limits)?;
    let mut names = NameSet::default();
    let (mut seen, mut total) = (0, 0u64);
    let mut long_name: Option<String> = None;
    loop {
        let mut block = [0; BLOCK];
        stream.fill(&mut block)?;
        let Some(header) = Header::parse(&block)? else { break };
        seen += 1;
        if seen > limits.entries.saturating_mul(2) {
            return Err(ArchiveFault::TooManyEntries.into());
        }
        match header.kind {
            Kind::LongName | Kind::Extension | Kind::Global => {
                let given = read_extension(&mut stream, &header)?;
                if given.is_some() && long_name.is_some() {
                    return Err(ArchiveFault::TarExtension.into());
                }
                long_name = given.or(long_name);
                continue;
            }
            Kind::File | Kind::Directory => {}
        }
        let Some(entry) = checked(&header, long_name.take(), limits)? else { continue };
        let about = |fault: ArchiveFault| ArchiveError::of(fault, &entry.path);
        names.add(&entry.path, entry.is_dir).map_err(about)?;
        total = total.saturating_add(entry.size);
        if entry.size > limits.file_bytes || total > limits.total_bytes {
            return Err(about(ArchiveFault::TooLarge));
        }
        sink.begin(&entry)?;
        let mut left = entry.size;
        while left > 0 {
            let chunk = stream.next(left)?;
            if chunk.is_empty() {
                return Err(about(ArchiveFault::DataDamaged));
            }
            left -= chunk.len() as u64;
            sink.data(chunk)?;
        }
        sink.end()?;
        skip_padding(&mut stream, entry.size)?;
    }
    if long_name.is_some() {
        return Err(ArchiveFault::TarExtension.into());
    }
    check_end(stream)?;
    if seen == 0 { Err(ArchiveFault::Empty.into()) } else { Ok(()) }
}

/// The entry that a header describes; `None` for the directory itself that is packed as `./`.
fn checked(
    header: &Header,
    long_name: Option<String>,
    limits: &PackLimits,
) -> Result<Option<TarEntry>, ArchiveError> {
    let name = match long_name {
        Some(name) => name,
        None => header.name()?,
    };
    let is_dir = header.kind == Kind::Directory;
    if matches!(name.as_str(), "." | "./") && is_dir && header.size == 0 {
        return Ok(None);
    }
    let about = |fault: ArchiveFault| ArchiveError::of(fault, &name);
    // `tar -c .` writes every name like this; with another one of the same file it is a duplicate.
    let inner = name.strip_prefix("./").unwrap_or(&name);
    let (path, ends_in_slash) = check_entry_name(inner, limits).map_err(about)?;
    if ends_in_slash && !is_dir {
        return Err(about(ArchiveFault::DirectoryKind));
    }
    if header.mode & 0o7000 != 0 {
        return Err(about(ArchiveFault::Mode));
    }
    if is_dir && header.size != 0 {
        return Err(about(ArchiveFault::DirectoryData));
    }
    let executable = !is_dir && header.mode & 0o111 != 0;
    Ok(Some(TarEntry { path: path.to_owned(), is_dir, executable, size: header.size }))
}

/// The name that an extended header gives to the next entry.
fn read_extension<A: ReadAt + ?Sized>(
    stream: &mut TarStream<'_, A>,
    header: &Header,
) -> Result<Option<String>, ArchiveError> {
    if header.size > MAX_EXTENSION_BYTES {
        return Err(ArchiveFault::TarExtension.into());
    }
    let mut bytes = vec![0; usize::try_from(header.size).unwrap_or(0)];
    stream.fill(&mut bytes)?;
    skip_padding(stream, header.size)?;
    Ok(path_of_extension(header.kind, &bytes)?)
}

/// What fills an entry's last block has to be empty, or something could be kept there.
fn skip_padding<A: ReadAt + ?Sized>(
    stream: &mut TarStream<'_, A>,
    size: u64,
) -> Result<(), ArchiveError> {
    let block = BLOCK as u64;
    let mut padding = [0; BLOCK];
    let padding = &mut padding[..usize::try_from((block - size % block) % block).unwrap_or(0)];
    stream.fill(padding)?;
    if padding.iter().all(|byte| *byte == 0) {
        Ok(())
    } else {
        Err(ArchiveFault::TrailingData.into())
    }
}

/// After the first empty block there is a second one, and then nothing but more of them.
fn check_end<A: ReadAt + ?Sized>(mut stream: TarStream<'_, A>) -> Result<(), ArchiveError> {
    let mut after = 0u64;
    loop {
        let chunk = stream.next(u64::MAX)?;
        if chunk.is_empty() {
            break;
        }
        after += chunk.len() as u64;
        if chunk.iter().any(|byte| *byte != 0) {
            return Err(ArchiveFault::TarEnd.into());
        }
    }
    if after < BLOCK as u64 || !after.is_multiple_of(BLOCK as u64) {
        return Err(ArchiveFault::TarEnd.into());
    }
    stream.finish()
}
