//! Heads of files that have not changed since they were last read.
//!
//! One file a root in the user's cache folder. It holds bytes, not judgements: for each `SKILL.md`
//! its stamp and its frontmatter, so that a change of the parser, the profile or the limits needs no
//! new format, and a hit costs one `stat` instead of an open, a read and a close. A stamp that
//! differs in anything, or that a later write could have left, is no hit: the disk is always right.
//! A file that is short, foreign or damaged is no cache. Writers replace the file whole; two
//! processes may use it at once, and anybody may delete it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use metier_fs::{FileId, Stamp, read_bounded, write_atomic};
use metier_skill::Digest;

/// Changes when the format does; an older file is then no cache.
const MAGIC: &[u8; 8] = b"metierc1";
/// A root with fewer skills is read as fast as its cache.
pub(crate) const WORTHWHILE: usize = 256;
/// A cache larger than this is not read.
const LARGEST: u64 = 1 << 30;

/// The remembered heads of one root.
#[derive(Default)]
pub(crate) struct CacheView {
    bytes: Vec<u8>,
    places: HashMap<u64, Place, BuildHasherDefault<Passthrough>>,
}

struct Place {
    stamp: Stamp,
    directory: Range<usize>,
    head: Range<usize>,
}

/// One remembered head, encoded.
#[derive(Debug)]
pub(crate) struct Record {
    stamp: Stamp,
    bytes: Box<[u8]>,
}

impl Record {
    pub(crate) fn encode(directory: &OsStr, stamp: &Stamp, head: &[u8]) -> Self {
        let directory = directory.as_encoded_bytes();
        let mut bytes = Vec::with_capacity(STAMP_BYTES + 8 + directory.len() + head.len());
        bytes.extend_from_slice(&length(directory));
        bytes.extend_from_slice(&length(head));
        for number in [stamp.id.device, stamp.id.inode, stamp.size, stamp.modified.cast_unsigned(), stamp.changed.cast_unsigned()] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&stamp.links.to_le_bytes());
        bytes.extend_from_slice(directory);
        bytes.extend_from_slice(head);
        Self { stamp: *stamp, bytes: bytes.into() }
    }
}

const STAMP_BYTES: usize = 5 * 8 + 4;

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes()
}

/// The cache file of the root at `path`.
pub(crate) fn cache_file(folder: &Path, root: &Path) -> PathBuf {
    let digest = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    folder.join(format!("heads-{}.bin", &digest[7..39]))
}

impl CacheView {
    /// Reads a cache file; anything but a whole, sound one is an empty cache.
    pub(crate) fn load(file: &Path) -> Self {
        let Ok(bytes) = read_bounded(file, LARGEST) else { return Self::default() };
        Self::decode(bytes).unwrap_or_default()
    }

    fn decode(bytes: Vec<u8>) -> Option<Self> {
        let body_start = MAGIC.len() + 16;
        if bytes.len() < body_start || !bytes.starts_with(MAGIC) {
            return None;
        }
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        if number(8)? != checksum(&bytes[body_start..]) {
            return None;
        }
        let count = usize::try_from(number(16)?).ok()?;
        let mut places = HashMap::with_capacity_and_hasher(count.min(bytes.len() / STAMP_BYTES), BuildHasherDefault::default());
        let mut at = body_start;
        let mut records = 0;
        while at < bytes.len() {
            records += 1;
            let small = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
            let directory_len = usize::try_from(small(at)?).ok()?;
            let head_len = usize::try_from(small(at + 4)?).ok()?;
            let at_stamp = at + 8;
            let stamp = Stamp {
                id: FileId { device: number(at_stamp)?, inode: number(at_stamp + 8)? },
                size: number(at_stamp + 16)?,
                modified: number(at_stamp + 24)?.cast_signed(),
                changed: number(at_stamp + 32)?.cast_signed(),
                links: small(at_stamp + 40)?,
            };
            let directory = at_stamp + STAMP_BYTES..at_stamp + STAMP_BYTES + directory_len;
            let head = directory.end..directory.end.checked_add(head_len)?;
            let key = checksum(bytes.get(directory.clone())?);
            at = head.end;
            if at > bytes.len() {
                return None;
            }
            places.insert(key, Place { stamp, directory, head });
        }
        (records == count).then_some(Self { bytes, places })
    }

    /// What is remembered of the skill in `directory` below the root.
    pub(crate) fn get(&self, directory: &[u8]) -> Option<(Stamp, &[u8])> {
        if self.places.is_empty() {
            return None;
        }
        let place = self.places.get(&checksum(directory))?;
        (self.bytes[place.directory.clone()] == *directory).then(|| (place.stamp, &self.bytes[place.head.clone()]))
    }

    /// What is remembered of the skill in `directory`, to be stored again.
    pub(crate) fn record(&self, directory: &OsStr) -> Option<Record> {
        let (stamp, head) = self.get(directory.as_encoded_bytes())?;
        Some(Record::encode(directory, &stamp, head))
    }

    /// How many heads are remembered.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

/// Replaces the cache file by `records`, leaving out those whose stamps prove nothing yet. A
/// failure (a full disk, a read-only home) only means that the next scan reads the files again.
pub(crate) fn store(file: &Path, records: &[Record], now: SystemTime) {
    let sound: Vec<&Record> = records.iter().filter(|record| !record.stamp.is_racy(now)).collect();
    if sound.is_empty() {
        return;
    }
    let size: usize = sound.iter().map(|record| record.bytes.len()).sum();
    let mut bytes = Vec::with_capacity(MAGIC.len() + 16 + size);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&(sound.len() as u64).to_le_bytes());
    for record in sound {
        bytes.extend_from_slice(&record.bytes);
    }
    let sum = checksum(&bytes[MAGIC.len() + 16..]).to_le_bytes();
    bytes[8..16].copy_from_slice(&sum);
    let _ = write_atomic(file, &bytes);
}

/// A fast checksum against damage, not against malice: who can write the cache can write the
/// skills. Also the hash of a directory's name in memory.
fn checksum(bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut lanes = [MULTIPLIER, 0x1234_5678_9abc_def1, 0x0fed_cba9_8765_4321, bytes.len() as u64];
    let mix = |lane: u64, word: u64| (lane ^ word).wrapping_mul(MULTIPLIER).rotate_left(29);
    let (chunks, rest) = bytes.as_chunks::<32>();
    for chunk in chunks {
        for (lane, word) in lanes.iter_mut().zip(chunk.as_chunks::<8>().0) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
    }
    for word in rest.chunks(8) {
        let mut padded = [0u8; 8];
        padded[..word.len()].copy_from_slice(word);
        lanes[0] = mix(lanes[0], u64::from_le_bytes(padded));
        lanes.rotate_left(1);
    }
    let sum = lanes.into_iter().fold(0, mix);
    sum ^ (sum >> 31)
}

/// The keys are hashes already.
#[derive(Default)]
struct Passthrough(u64);

impl Hasher for Passthrough {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = checksum(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn stamp(inode: u64) -> Stamp {
        Stamp { id: FileId { device: 1, inode }, size: 9, modified: -5, changed: 7, links: 1 }
    }

    fn encoded(records: &[Record]) -> Vec<u8> {
        let dir = tempfile::tempdir().expect("dir");
        let file = dir.path().join("deep/cache");
        store(&file, records, SystemTime::now());
        read_bounded(&file, LARGEST).expect("stored")
    }

    fn sample() -> Vec<u8> {
        let one = Record::encode(OsStr::new("a/b"), &stamp(1), b"---\nx\n---\n");
        let two = Record::encode(OsStr::new("c"), &stamp(2), b"---\n---\n");
        encoded(&[one, two])
    }

    #[test]
    fn what_was_stored_is_found_again() {
        let view = CacheView::decode(sample()).expect("sound");
        assert_eq!(view.len(), 2);
        assert_eq!(view.get(b"a/b"), Some((stamp(1), b"---\nx\n---\n".as_slice())));
        assert_eq!(view.get(b"c"), Some((stamp(2), b"---\n---\n".as_slice())));
        assert_eq!(view.get(b"a"), None);
    }

    #[test]
    fn a_head_that_is_too_young_is_not_stored() {
        let now = SystemTime::now();
        let young = now.duration_since(SystemTime::UNIX_EPOCH).expect("after") - Duration::from_millis(1);
        let young = Stamp { modified: i64::try_from(young.as_nanos()).expect("fits"), ..stamp(3) };
        let records = [Record::encode(OsStr::new("old"), &stamp(1), b"x"), Record::encode(OsStr::new("young"), &young, b"y")];
        let view = CacheView::decode(encoded(&records)).expect("sound");
        assert!(view.get(b"old").is_some() && view.get(b"young").is_none());
    }

    proptest! {
        /// No damage makes a panic or a wrong answer: the file is whole or no cache.
        #[test]
        fn a_damaged_file_is_no_cache(at in 0usize..400, byte in any::<u8>(), cut in 0usize..400) {
            let good = sample();
            let mut bad = good.clone();
            let at = at % bad.len();
            bad[at] ^= byte;
            bad.truncate(bad.len() - cut % bad.len());
            if bad != good {
                let known = CacheView::decode(bad).map_or(0, |view| view.len());
                prop_assert_eq!(known, 0);
            }
        }
    }
}
