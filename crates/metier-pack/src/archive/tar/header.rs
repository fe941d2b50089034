//! One block of a tar: a header, read strictly.
//!
//! Numbers are octal digits and nothing else, the checksum is right, and what follows the end of a text
//! is empty: these are the places where programs differ.

use crate::archive::fault::ArchiveFault;

pub(super) const BLOCK: usize = 512;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    /// GNU's long name of the next entry.
    LongName,
    /// Extended fields of the next entry.
    Extension,
    /// Extended fields of the whole archive.
    Global,
}

/// A header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) mode: u64,
    pub(super) size: u64,
    name: Vec<u8>,
}

/// Keys of an extended header that nothing is decided by: times, owners and other systems' notes.
const HARMLESS_KEYS: &[&str] = &[
    "mtime",
    "atime",
    "ctime",
    "uid",
    "gid",
    "uname",
    "gname",
    "comment",
    "charset",
    "hdrcharset",
];
const HARMLESS_PREFIXES: &[&str] = &["LIBARCHIVE.", "SCHILY.", "APPLE."];

impl Header {
    /// The header in `block`; `None` for the empty block at the end.
    pub(super) fn parse(block: &[u8; BLOCK]) -> Result<Option<Self>, ArchiveFault> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let declared = number(&block[148..156]).map_err(|_| ArchiveFault::TarChecksum)?;
        let sum: u64 = block
            .iter()
            .enumerate()
            .map(
                |(at, byte)| {
                    if (148..156).contains(&at) { u64::from(b' ') } else { u64::from(*byte) }
                },
            )
            .sum();
        if sum != declared {
            return Err(ArchiveFault::TarChecksum);
        }
        let is_ustar = match &block[257..265] {
            b"ustar\x0000" => true,
            b"ustar  \0" => false,
            _ => return Err(ArchiveFault::TarHeader),
        };
        let kind = match block[156] {
            b'0' | 0 => Kind::File,
            b'5' => Kind::Directory,
            b'L' => Kind::LongName,
            b'x' => Kind::Extension,
            b'g' => Kind::Global,
            b'1' | b'2' | b'K' => return Err(ArchiveFault::Link),
            b'3' | b'4' | b'6' => return Err(ArchiveFault::SpecialFile),
            _ => return Err(ArchiveFault::TarType),
        };
        if !text(&block[157..257])?.is_empty() {
            return Err(ArchiveFault::Link);
        }
        let mut name = text(&block[..100])?.to_vec();
        if is_ustar {
            let prefix = text(&block[345..500])?;
            if !prefix.is_empty() {
                name = [prefix, b"/", &name].concat();
            }
        }
        Ok(Some(Self {
            kind,
            mode: number(&block[100..108])?,
            size: number(&block[124..136])?,
            name,
        }))
    }

    /// The name in the header itself.
    pub(super) fn name(&self) -> Result<String, ArchiveFault> {
        String::from_utf8(self.name.clone()).map_err(|_| ArchiveFault::NameEncoding)
    }
}

/// Octal digits, with blanks before and a blank or NUL after them.
fn number(field: &[u8]) -> Result<u64, ArchiveFault> {
    let field = field.trim_ascii_start();
    let digits = field.iter().take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let (digits, rest) = field.split_at(digits);
    if digits.is_empty() || !rest.iter().all(|byte| matches!(byte, 0 | b' ')) {
        return Err(ArchiveFault::TarHeader);
    }
    let value = digits
        .iter()
        .try_fold(0u64, |value, digit| value.checked_mul(8)?.checked_add(u64::from(digit - b'0')));
    value.ok_or(ArchiveFault::TarHeader)
}

/// A text up to its NUL, after which there is nothing.
fn text(field: &[u8]) -> Result<&[u8], ArchiveFault> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let (text, rest) = field.split_at(end);
    if rest.iter().all(|byte| *byte == 0) { Ok(text) } else { Err(ArchiveFault::TarHeader) }
}

/// The path that an extended header gives, if it gives one.
pub(super) fn path_of_extension(kind: Kind, bytes: &[u8]) -> Result<Option<String>, ArchiveFault> {
    if kind == Kind::LongName {
        let name = text(bytes)?;
        return name_text(name).map(Some);
    }
    let mut path = None;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (key, value, after) = record(rest).ok_or(ArchiveFault::TarExtension)?;
        rest = after;
        match key {
            "path" if kind == Kind::Extension && path.is_none() => path = Some(name_text(value)?),
            _ if HARMLESS_KEYS.contains(&key) => {}
            _ if HARMLESS_PREFIXES.iter().any(|prefix| key.starts_with(prefix)) => {}
            "linkpath" => return Err(ArchiveFault::Link),
            _ => return Err(ArchiveFault::TarExtension),
        }
    }
    Ok(path)
}

fn name_text(name: &[u8]) -> Result<String, ArchiveFault> {
    String::from_utf8(name.to_vec()).map_err(|_| ArchiveFault::NameEncoding)
}

/// One record, `LENGTH KEY=VALUE\n`: key, value and what comes after it.
fn record(bytes: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let blank = bytes.iter().take(8).position(|byte| *byte == b' ')?;
    let length = std::str::from_utf8(&bytes[..blank]).ok()?;
    let is_plain = length.bytes().all(|byte| byte.is_ascii_digit()) && !length.starts_with('0');
    let length: usize = length.parse().ok().filter(|_| is_plain)?;
    let (record, after) = bytes.split_at_checked(length)?;
    let record = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some((std::str::from_utf8(&record[..equals]).ok()?, &record[equals + 1..], after))
}
