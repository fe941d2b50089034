//! What a file looked like when it was read: enough to say afterwards whether it changed meanwhile.
//! Values only; `dir` fills them in.

use std::fmt;

/// The identity of a file or directory on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// The device it lives on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// What was seen of a file: identity, size and both times in nanoseconds since the epoch.
///
/// The change time cannot be set by a program, so a write that restores the modification time is
/// seen all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Which file.
    pub id: FileId,
    /// Bytes.
    pub size: u64,
    /// Last change of the content.
    pub modified: i64,
    /// Last change of content or attributes; 0 where the system has no such time.
    pub changed: i64,
    /// Directory entries that name this file; 1 where the system does not say.
    pub links: u32,
}

/// A stamp as one number: enough to say whether a file is still the one that was seen, in no more room
/// than a time. No check against an attacker, who could look for a collision only by writing the file
/// over and over; what is enforced has a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileMark(u64);

impl Stamp {
    /// The stamp as one number.
    pub const fn mark(&self) -> FileMark {
        let parts = [
            self.id.device,
            self.id.inode,
            self.size,
            self.modified.cast_unsigned(),
            self.changed.cast_unsigned(),
        ];
        let (mut mark, mut at) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        while at < parts.len() {
            mark = (mark ^ parts[at]).wrapping_mul(0xff51_afd7_ed55_8ccd);
            mark ^= mark >> 32;
            at += 1;
        }
        FileMark(mark)
    }
}

impl fmt::Display for FileMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
