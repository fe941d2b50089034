//! What a file looked like when it was read: enough to tell later whether it changed.
//!
//! The cache lives by this: a stamp that proves nothing must say so.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

impl Stamp {
    /// Whether a change after `now` could leave this very stamp, because the file is younger than
    /// the resolution of its file system's clock. Such a stamp proves nothing.
    ///
    /// Whole seconds betray a coarse clock (FAT: two seconds); otherwise a tenth of a second covers
    /// the kernel's tick many times over.
    pub fn is_racy(&self, now: SystemTime) -> bool {
        let now = nanos(now);
        let newest = self.modified.max(self.changed);
        let coarse = self.modified % 1_000_000_000 == 0;
        let window = if coarse { Duration::from_secs(2) } else { Duration::from_millis(100) };
        let window = i64::try_from(window.as_nanos()).unwrap_or(i64::MAX);
        newest >= now.saturating_sub(window)
    }
}

/// Nanoseconds since the epoch, saturated.
pub(crate) fn nanos(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_nanos()).unwrap_or(i64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_young_file_proves_nothing() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let stamp = |modified: i64| Stamp {
            id: FileId { device: 1, inode: 2 },
            size: 3,
            modified,
            changed: modified,
            links: 1,
        };
        let second = 1_000_000_000i64;
        assert!(stamp(nanos(now) - 5).is_racy(now));
        assert!(!stamp(nanos(now) - second / 2 - 7).is_racy(now));
        assert!(stamp(nanos(now) - second).is_racy(now), "a whole second may be a coarse clock");
        assert!(stamp(nanos(now) + second * 60 + 1).is_racy(now), "the future proves nothing");
    }
}
