//! The texts of some files of a tree, kept in memory so that a difference can be shown line by line.
//! Small texts alone, and not many: a difference without its lines is still named.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metier_skill::Digest;

/// Bytes of a file whose text is kept.
pub(crate) const MAX_TEXT_BYTES: u64 = 1 << 20;
/// Bytes of all texts that are kept.
const MAX_KEPT_BYTES: u64 = 64 << 20;

/// Which texts are kept.
#[derive(Debug)]
pub(crate) struct TextFilter {
    digests: HashSet<Digest>,
    /// Whether these are the ones that are kept, or the ones that are not.
    keeps_listed: bool,
    left: AtomicU64,
}

impl TextFilter {
    /// Those with one of these digests.
    pub(crate) fn only(digests: HashSet<Digest>) -> Self {
        Self { digests, keeps_listed: true, left: AtomicU64::new(MAX_KEPT_BYTES) }
    }

    /// Those with none of these digests.
    pub(crate) fn except(digests: HashSet<Digest>) -> Self {
        Self { keeps_listed: false, ..Self::only(digests) }
    }

    /// The text of a file of `size` bytes, where it is wanted, whole, and text.
    pub(crate) fn text(&self, digest: Digest, size: u64, bytes: &[u8]) -> Option<Arc<str>> {
        let is_wanted = self.digests.contains(&digest) == self.keeps_listed;
        if !is_wanted || size > MAX_TEXT_BYTES || bytes.len() as u64 != size {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
        let take = |left: u64| left.checked_sub(size);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        Some(text.into())
    }
}
