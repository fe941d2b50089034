//! What a file looked like when it was read: enough to say afterwards whether it changed meanwhile.
//! Values only; `dir` fills them in.

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
