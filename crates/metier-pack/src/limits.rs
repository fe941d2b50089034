//! How large an archive or a tree of skills may be. Every reader and the writer hold to one value of this.

/// The most that one archive or directory may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackLimits {
    /// Entries of an archive, files and directories.
    pub entries: usize,
    /// Bytes of one unpacked file.
    pub file_bytes: u64,
    /// Bytes of all unpacked files.
    pub total_bytes: u64,
    /// How many bytes one packed byte may become. Files below [`PackLimits::RATIO_FREE_BYTES`] are free.
    pub ratio: u64,
    /// Names in a path.
    pub depth: usize,
}

impl PackLimits {
    /// Below this size a file may be packed as tightly as it likes: a page of blanks is no bomb.
    pub const RATIO_FREE_BYTES: u64 = 64 << 10;
}

impl Default for PackLimits {
    /// Room for a thousand large skills in one archive, and far from what fills a disk.
    fn default() -> Self {
        Self {
            entries: 20_000,
            file_bytes: 100 << 20,
            total_bytes: 512 << 20,
            ratio: 200,
            depth: 16,
        }
    }
}
