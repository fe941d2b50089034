//! The two records about an entry: its line in the directory, and the header before its data.
//!
//! Each is judged on its own, and then against the other. What a field may hold is a list of what is
//! allowed: what is not known is refused.

use crate::archive::fault::{ArchiveError, ArchiveFault};
use crate::archive::read_at::ReadAt;

use super::Method;

pub(super) const LOCAL_SIGNATURE: [u8; 4] = *b"PK\x03\x04";
pub(super) const CENTRAL_SIGNATURE: [u8; 4] = *b"PK\x01\x02";
const DESCRIPTOR_SIGNATURE: [u8; 4] = *b"PK\x07\x08";
/// Bytes of a header without name and extra fields.
pub(super) const LOCAL_BYTES: u64 = 30;
const CENTRAL_BYTES: usize = 46;

const ENCRYPTED: u16 = 1 << 0 | 1 << 6 | 1 << 13;
/// How hard the packer tried: a hint.
const LEVEL: u16 = 1 << 1 | 1 << 2;
const DESCRIPTOR: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;
/// The version that stored and deflated entries and directories need.
const MAX_VERSION: u16 = 20;

/// Extra fields that hold times and owners, which nobody needs and nothing is decided by.
const HARMLESS_EXTRA: &[u16] = &[0x5455, 0x7875, 0x5855, 0x7855, 0x000a];
const ZIP64_EXTRA: u16 = 0x0001;

/// Systems whose attributes hold a mode in their upper half.
const UNIX: u8 = 3;
const DARWIN: u8 = 19;

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A line of the directory.
#[derive(Debug)]
pub(super) struct Central<'a> {
    made_by: u16,
    version: u16,
    flags: u16,
    method: u16,
    pub(super) crc: u32,
    pub(super) packed: u32,
    pub(super) size: u32,
    disk: u16,
    attributes: u32,
    pub(super) offset: u32,
    pub(super) name: &'a [u8],
    extra: &'a [u8],
    comment: &'a [u8],
}

impl<'a> Central<'a> {
    /// The first line of `bytes`, and what comes after it.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), ArchiveFault> {
        let Some((head, rest)) = bytes.split_at_checked(CENTRAL_BYTES) else {
            return Err(ArchiveFault::ZipDirectorySize);
        };
        if head[..4] != CENTRAL_SIGNATURE {
            return Err(ArchiveFault::ZipDirectorySize);
        }
        let split = |rest: &'a [u8], field: usize| {
            rest.split_at_checked(usize::from(u16_at(head, field)))
                .ok_or(ArchiveFault::ZipDirectorySize)
        };
        let (name, rest) = split(rest, 28)?;
        let (extra, rest) = split(rest, 30)?;
        let (comment, rest) = split(rest, 32)?;
        let central = Self {
            made_by: u16_at(head, 4),
            version: u16_at(head, 6),
            flags: u16_at(head, 8),
            method: u16_at(head, 10),
            crc: u32_at(head, 16),
            packed: u32_at(head, 20),
            size: u32_at(head, 24),
            disk: u16_at(head, 34),
            attributes: u32_at(head, 38),
            offset: u32_at(head, 42),
            name,
            extra,
            comment,
        };
        Ok((central, rest))
    }

    /// Judges flags, version, method, extra fields and place; gives the method.
    pub(super) fn check_form(&self) -> Result<Method, ArchiveFault> {
        if self.disk != 0 {
            return Err(ArchiveFault::ZipMultiDisk);
        }
        check_extra(self.extra)?;
        if [self.packed, self.size, self.offset].contains(&u32::MAX) {
            return Err(ArchiveFault::Zip64);
        }
        if !self.comment.is_empty() {
            return Err(ArchiveFault::ZipComment);
        }
        let method = check_packing(self.flags, self.method)?;
        if self.version > MAX_VERSION {
            return Err(ArchiveFault::ZipVersion);
        }
        // Where stored data with a record behind them end depends on who reads: only the deflate stream
        // knows its own end.
        if self.has_descriptor() && method == Method::Stored {
            return Err(ArchiveFault::ZipDescriptor);
        }
        Ok(method)
    }

    /// The name as text: ASCII, or UTF-8 that says so.
    pub(super) fn checked_text(&self) -> Result<&'a str, ArchiveFault> {
        if !self.name.is_ascii() && self.flags & UTF8 == 0 {
            return Err(ArchiveFault::NameEncoding);
        }
        std::str::from_utf8(self.name).map_err(|_| ArchiveFault::NameEncoding)
    }

    /// Judges the attributes; gives whether the file may be executed. A type is believed whatever system
    /// the entry says it comes from: a link is one where somebody unpacks it as one.
    pub(super) fn check_attributes(&self, is_dir: bool) -> Result<bool, ArchiveFault> {
        let mode = self.attributes >> 16;
        let says_dir = match mode & 0o170_000 {
            0 => None,
            0o100_000 => Some(false),
            0o040_000 => Some(true),
            0o120_000 => return Err(ArchiveFault::Link),
            _ => return Err(ArchiveFault::SpecialFile),
        };
        let dos_dir = self.attributes & 0x10 != 0;
        if says_dir.is_some_and(|says| says != is_dir) || (dos_dir && !is_dir) {
            return Err(ArchiveFault::DirectoryKind);
        }
        if mode & 0o7000 != 0 {
            return Err(ArchiveFault::Mode);
        }
        let [host, _] = self.made_by.to_be_bytes();
        Ok(!is_dir && matches!(host, UNIX | DARWIN) && mode & 0o111 != 0)
    }

    pub(super) const fn has_descriptor(&self) -> bool {
        self.flags & DESCRIPTOR != 0
    }
}

fn check_packing(flags: u16, method: u16) -> Result<Method, ArchiveFault> {
    if flags & ENCRYPTED != 0 {
        return Err(ArchiveFault::ZipEncrypted);
    }
    let method = match method {
        0 => Method::Stored,
        8 => Method::Deflated,
        _ => return Err(ArchiveFault::ZipMethod),
    };
    let allowed = UTF8 | DESCRIPTOR | if method == Method::Deflated { LEVEL } else { 0 };
    if flags & !allowed == 0 { Ok(method) } else { Err(ArchiveFault::ZipFlags) }
}

fn check_extra(mut extra: &[u8]) -> Result<(), ArchiveFault> {
    let mut seen = Vec::new();
    while !extra.is_empty() {
        let Some((head, rest)) = extra.split_at_checked(4) else {
            return Err(ArchiveFault::ZipExtraField);
        };
        let id = u16_at(head, 0);
        let Some((_, rest)) = rest.split_at_checked(usize::from(u16_at(head, 2))) else {
            return Err(ArchiveFault::ZipExtraField);
        };
        if id == ZIP64_EXTRA {
            return Err(ArchiveFault::Zip64);
        }
        if !HARMLESS_EXTRA.contains(&id) || seen.contains(&id) {
            return Err(ArchiveFault::ZipExtraField);
        }
        seen.push(id);
        extra = rest;
    }
    Ok(())
}

/// The header before an entry's data.
#[derive(Debug)]
pub(super) struct Local<'b> {
    flags: u16,
    method: u16,
    crc: u32,
    packed: u32,
    size: u32,
    name: &'b [u8],
    bytes: u64,
}

impl<'b> Local<'b> {
    /// Reads the header at `at`, which ends before `end`.
    pub(super) fn read(
        archive: &(impl ReadAt + ?Sized),
        at: u64,
        end: u64,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Self, ArchiveError> {
        let mut head = [0; LOCAL_BYTES as usize];
        archive.read_at(at, &mut head)?;
        if head[..4] != LOCAL_SIGNATURE {
            return Err(ArchiveFault::ZipEntryMissing.into());
        }
        let (name_bytes, extra_bytes) =
            (usize::from(u16_at(&head, 26)), usize::from(u16_at(&head, 28)));
        let bytes = LOCAL_BYTES + (name_bytes + extra_bytes) as u64;
        if at + bytes > end {
            return Err(ArchiveFault::ZipOverlap.into());
        }
        buffer.resize(name_bytes + extra_bytes, 0);
        archive.read_at(at + LOCAL_BYTES, buffer)?;
        let (name, extra) = buffer.split_at(name_bytes);
        let (flags, method) = (u16_at(&head, 6), u16_at(&head, 8));
        if flags & ENCRYPTED != 0 {
            return Err(ArchiveFault::ZipEncrypted.into());
        }
        check_extra(extra)?;
        if u16_at(&head, 4) > MAX_VERSION {
            return Err(ArchiveFault::ZipVersion.into());
        }
        Ok(Self {
            flags,
            method,
            crc: u32_at(&head, 14),
            packed: u32_at(&head, 18),
            size: u32_at(&head, 22),
            name,
            bytes,
        })
    }

    /// Bytes of the header, with name and extra fields.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Compares it with the line of the directory. Where a record follows the data, the header may leave
    /// what it did not know yet at zero.
    pub(super) fn agrees_with(&self, central: &Central<'_>) -> Result<(), ArchiveFault> {
        let is_later = central.has_descriptor();
        let same = |here: u32, there: u32| here == there || (is_later && here == 0);
        if self.name != central.name {
            Err(ArchiveFault::ZipNameMismatch)
        } else if self.flags != central.flags || self.method != central.method {
            Err(ArchiveFault::ZipMethodMismatch)
        } else if !same(self.crc, central.crc) {
            Err(ArchiveFault::ZipChecksumMismatch)
        } else if !same(self.packed, central.packed) || !same(self.size, central.size) {
            Err(ArchiveFault::ZipSizeMismatch)
        } else {
            Ok(())
        }
    }
}

/// Bytes of the record between the data that end at `at` and what begins at `next`. It fills that space
/// exactly and repeats the directory.
pub(super) fn descriptor_bytes(
    archive: &(impl ReadAt + ?Sized),
    central: &Central<'_>,
    at: u64,
    next: u64,
) -> Result<u64, ArchiveError> {
    let bytes = next - at;
    let mut record = [0; 16];
    let fields: &[u8] = match bytes {
        12 => {
            archive.read_at(at, &mut record[..12])?;
            // A checksum that poses as the signature: it would be read in two ways.
            if record[..4] == DESCRIPTOR_SIGNATURE {
                return Err(ArchiveFault::ZipDescriptor.into());
            }
            &record[..12]
        }
        16 => {
            archive.read_at(at, &mut record)?;
            if record[..4] != DESCRIPTOR_SIGNATURE {
                return Err(ArchiveFault::ZipDescriptor.into());
            }
            &record[4..]
        }
        _ => return Err(ArchiveFault::ZipDescriptor.into()),
    };
    let declared = [central.crc, central.packed, central.size];
    let agrees = (0..3).all(|field| u32_at(fields, field * 4) == declared[field]);
    if agrees { Ok(bytes) } else { Err(ArchiveFault::ZipDescriptor.into()) }
}
