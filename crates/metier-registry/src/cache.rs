//! Heads of files that have not changed since they were last read.
//!
//! One file a root in the user's cache folder. It holds bytes, not judgements: for each `SKILL.md`
//! its stamp and its frontmatter, so that a change of the parser, the profile or the limits needs no
//! new format, and a hit costs a `stat` and a short read instead of an open, a read and a close. A
//! stamp that differs in anything, or that a later write could have left, is no hit: the disk is
//! always right. A file that is short, foreign or damaged is no cache. Writers replace the file
//! whole; two processes may use it at once, and anybody may delete it.
//!
//! Layout: a header, a table with one row a skill (loaded whole), then for each its digest, directory
//! and head (read a stretch at a time, so that a large cache is not held in memory beside what is
//! made of it).

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use metier_fs::{FileId, PiecewiseFile, Stamp, write_atomic};
use metier_skill::Digest;

/// Changes when the format does; an older file is then no cache.
const MAGIC: &[u8; 8] = b"metierc3";
/// A root with fewer skills is read as fast as its cache.
const WORTHWHILE: usize = 256;
/// The magic, the checksum of the table, the number of rows.
const HEADER: usize = 8 + 8 + 8;
/// Nine numbers of eight bytes: see [`Row`].
const ROW: usize = 9 * 8;
/// The length of a digest.
const DIGEST: usize = 32;
/// A table with more rows is not loaded.
const MOST_ROWS: u64 = 10_000_000;

/// The cache of one root: where it is, and what is in it once somebody asks.
pub(crate) struct Cache {
    file: PathBuf,
    view: OnceLock<CacheView>,
}

impl Cache {
    /// The cache of the root at `root`, in `folder`.
    pub(crate) fn of(folder: &Path, root: &Path) -> Self {
        let digest = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
        Self { file: folder.join(format!("heads-{}.bin", &digest[7..39])), view: OnceLock::new() }
    }

    /// Whether there is a file to load, so that loading is worth a thread.
    pub(crate) fn is_there(&self) -> bool {
        metier_fs::exists(&self.file)
    }

    /// What is remembered; the table is read at the first call.
    pub(crate) fn view(&self) -> &CacheView {
        self.view.get_or_init(|| CacheView::load(&self.file))
    }

    /// Replaces what is remembered, where enough has changed to be worth it: `fresh` heads were
    /// read from disk, `paths` are the directories of all `skills` below `root`.
    pub(crate) fn renew<'a>(
        &self,
        root: &Path,
        mut fresh: Vec<Record>,
        skills: usize,
        paths: impl Iterator<Item = &'a Path>,
        now: SystemTime,
    ) {
        let stale = fresh.len() + (self.view().len() + fresh.len()).saturating_sub(skills);
        // A few stale heads are read again next time; rewriting the file for them would cost more.
        if skills < WORTHWHILE || stale <= 64.max(skills / 20) {
            return;
        }
        let known: HashSet<Box<OsStr>> =
            fresh.iter().map(|record| record.directory.clone()).collect();
        let mut ahead = ReadAhead::default();
        for directory in paths.filter_map(|path| path.strip_prefix(root).ok()).map(Path::as_os_str)
        {
            if !known.contains(directory) {
                let hit = self.view().get(directory, &mut ahead);
                fresh.extend(
                    hit.map(|hit| Record::new(directory, &hit.stamp, hit.digest, hit.head)),
                );
            }
        }
        store(&self.file, &fresh, now);
    }
}

/// One head to remember.
#[derive(Debug)]
pub(crate) struct Record {
    stamp: Stamp,
    digest: Digest,
    directory: Box<OsStr>,
    head: Box<[u8]>,
}

impl Record {
    pub(crate) fn new(directory: &OsStr, stamp: &Stamp, digest: Digest, head: &[u8]) -> Self {
        Self { stamp: *stamp, digest, directory: directory.into(), head: head.into() }
    }
}

/// A head that is remembered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hit<'a> {
    pub(crate) stamp: Stamp,
    /// The digest of the frontmatter.
    pub(crate) digest: Digest,
    pub(crate) head: &'a [u8],
}

/// The table of a cache, and the file for the rest.
#[derive(Default)]
pub(crate) struct CacheView {
    file: Option<PiecewiseFile>,
    table: Vec<u8>,
    /// From the hash of a directory to its row.
    rows: HashMap<u64, u32, BuildHasherDefault<Passthrough>>,
}

/// A stretch of the cache file, read at once.
#[derive(Default)]
pub(crate) struct ReadAhead {
    start: u64,
    bytes: Vec<u8>,
}

impl ReadAhead {
    const STRETCH: usize = 64 * 1024;

    fn bytes(&mut self, file: &PiecewiseFile, offset: u64, len: usize) -> Option<&[u8]> {
        let end = offset.checked_add(len as u64)?;
        let held = self.start..self.start + self.bytes.len() as u64;
        if offset < held.start || end > held.end {
            let left = usize::try_from(file.size().checked_sub(offset)?).ok()?;
            self.start = offset;
            self.bytes.resize(left.min(Self::STRETCH.max(len)), 0);
            if file.read_at(offset, &mut self.bytes).is_err() {
                self.bytes.clear();
            }
        }
        let from = usize::try_from(offset - self.start).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }
}

/// One row of the table.
struct Row {
    /// The hash of the directory's name.
    key: u64,
    stamp: Stamp,
    /// Where the digest, the directory and the head stand in the file, one after another.
    offset: u64,
    directory_len: u32,
    head_len: u32,
    /// The checksum of all three.
    sum: u32,
}

impl Row {
    fn encode(&self) -> [u8; ROW] {
        let pair = |low: u32, high: u32| u64::from(low) | (u64::from(high) << 32);
        let numbers = [
            self.key,
            self.stamp.id.device,
            self.stamp.id.inode,
            self.stamp.size,
            self.stamp.modified.cast_unsigned(),
            self.stamp.changed.cast_unsigned(),
            pair(self.stamp.links, self.sum),
            self.offset,
            pair(self.directory_len, self.head_len),
        ];
        let mut bytes = [0; ROW];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; ROW]) -> Self {
        let number = |at: usize| u64::from_le_bytes(bytes.as_chunks::<8>().0[at]);
        let low = |number: u64| u32::try_from(number & 0xffff_ffff).unwrap_or_default();
        Self {
            key: number(0),
            stamp: Stamp {
                id: FileId { device: number(1), inode: number(2) },
                size: number(3),
                modified: number(4).cast_signed(),
                changed: number(5).cast_signed(),
                links: low(number(6)),
            },
            offset: number(7),
            directory_len: low(number(8)),
            head_len: low(number(8) >> 32),
            sum: low(number(6) >> 32),
        }
    }
}

impl CacheView {
    /// Reads a cache file's table; anything but a sound one is an empty cache.
    fn load(file: &Path) -> Self {
        PiecewiseFile::open(file).ok().and_then(Self::decode).unwrap_or_default()
    }

    fn decode(file: PiecewiseFile) -> Option<Self> {
        let mut header = [0; HEADER];
        file.read_at(0, &mut header).ok()?;
        let number = |at: usize| u64::from_le_bytes(header.as_chunks::<8>().0[at]);
        let count = number(2);
        if &header[..8] != MAGIC
            || count > MOST_ROWS
            || count.checked_mul(ROW as u64)? > file.size()
        {
            return None;
        }
        let mut table = vec![0; usize::try_from(count).ok()? * ROW];
        file.read_at(HEADER as u64, &mut table).ok()?;
        if checksum(&table) != number(1) {
            return None;
        }
        let chunks = table.as_chunks::<ROW>().0;
        let mut rows =
            HashMap::with_capacity_and_hasher(chunks.len(), BuildHasherDefault::default());
        for (at, chunk) in chunks.iter().enumerate() {
            rows.insert(Row::decode(chunk).key, u32::try_from(at).ok()?);
        }
        Some(Self { file: Some(file), table, rows })
    }

    fn row(&self, directory: &OsStr) -> Option<Row> {
        let at = usize::try_from(*self.rows.get(&checksum(directory.as_encoded_bytes()))?).ok()?;
        self.table.as_chunks::<ROW>().0.get(at).map(Row::decode)
    }

    /// What the skill in `directory` below the root looked like when its head was remembered.
    pub(crate) fn stamp(&self, directory: &OsStr) -> Option<Stamp> {
        if self.rows.is_empty() {
            return None;
        }
        self.row(directory).map(|row| row.stamp)
    }

    /// The remembered head. Heads stand in the order of the walk that stored them,
    /// so `ahead` is filled with many at once.
    pub(crate) fn get<'b>(&self, directory: &OsStr, ahead: &'b mut ReadAhead) -> Option<Hit<'b>> {
        let row = self.row(directory)?;
        let directory_len = usize::try_from(row.directory_len).ok()?;
        let names = directory_len.checked_add(usize::try_from(row.head_len).ok()?)?;
        let bytes = ahead.bytes(self.file.as_ref()?, row.offset, DIGEST.checked_add(names)?)?;
        let (digest, rest) = bytes.split_first_chunk::<DIGEST>()?;
        let sound = short_checksum(bytes) == row.sum
            && &rest[..directory_len] == directory.as_encoded_bytes();
        let (digest, head) = (Digest::from_bytes(*digest), &rest[directory_len..]);
        sound.then_some(Hit { stamp: row.stamp, digest, head })
    }

    /// How many heads are remembered.
    fn len(&self) -> usize {
        self.rows.len()
    }
}

/// Replaces the cache file by `records`, leaving out those whose stamps prove nothing yet. A
/// failure (a full disk, a read-only home) only means that the next scan reads the files again.
fn store(file: &Path, records: &[Record], now: SystemTime) {
    let sound: Vec<&Record> = records.iter().filter(|record| !record.stamp.is_racy(now)).collect();
    if sound.is_empty() {
        return;
    }
    let len = |record: &&Record| DIGEST + record.directory.len() + record.head.len();
    let data: usize = sound.iter().map(len).sum();
    let table_end = HEADER + sound.len() * ROW;
    let mut bytes = Vec::with_capacity(table_end + data);
    bytes.resize(table_end, 0);
    for (at, record) in sound.iter().enumerate() {
        let offset = bytes.len();
        let directory = record.directory.as_encoded_bytes();
        bytes.extend_from_slice(record.digest.as_bytes());
        bytes.extend_from_slice(directory);
        bytes.extend_from_slice(&record.head);
        let row = Row {
            key: checksum(directory),
            stamp: record.stamp,
            offset: offset as u64,
            directory_len: u32::try_from(directory.len()).unwrap_or(u32::MAX),
            head_len: u32::try_from(record.head.len()).unwrap_or(u32::MAX),
            sum: short_checksum(&bytes[offset..]),
        };
        bytes[HEADER + at * ROW..HEADER + (at + 1) * ROW].copy_from_slice(&row.encode());
    }
    bytes[..8].copy_from_slice(MAGIC);
    let sum = checksum(&bytes[HEADER..table_end]);
    bytes[8..16].copy_from_slice(&sum.to_le_bytes());
    bytes[16..24].copy_from_slice(&(sound.len() as u64).to_le_bytes());
    let _ = write_atomic(file, &bytes);
}

fn short_checksum(bytes: &[u8]) -> u32 {
    let sum = checksum(bytes);
    u32::try_from((sum ^ (sum >> 32)) & 0xffff_ffff).unwrap_or_default()
}

/// A fast checksum against damage, not against malice: who can write the cache can write the
/// skills. Also the hash of a directory's name.
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

    /// A view of the cache that holds `bytes`.
    fn view(bytes: &[u8]) -> CacheView {
        let dir = tempfile::tempdir().expect("dir");
        let file = dir.path().join("cache");
        write_atomic(&file, bytes).expect("writes");
        CacheView::load(&file)
    }

    fn encoded(records: &[Record]) -> Vec<u8> {
        let dir = tempfile::tempdir().expect("dir");
        let file = dir.path().join("deep/cache");
        store(&file, records, SystemTime::now());
        metier_fs::read_bounded(&file, 1 << 20).expect("stored")
    }

    fn record(directory: &str, stamp: &Stamp, head: &[u8]) -> Record {
        Record::new(OsStr::new(directory), stamp, Digest::of(head), head)
    }

    fn sample() -> Vec<u8> {
        encoded(&[
            record("a/b", &stamp(1), b"---\nx\n---\n"),
            record("c", &stamp(2), b"---\n---\n"),
        ])
    }

    /// The stamp and the head; the digest must be the one that was stored with it.
    fn get(view: &CacheView, directory: &str) -> Option<(Stamp, Vec<u8>)> {
        let mut ahead = ReadAhead::default();
        let hit = view.get(OsStr::new(directory), &mut ahead)?;
        assert_eq!(hit.digest, Digest::of(hit.head));
        Some((hit.stamp, hit.head.to_vec()))
    }

    #[test]
    fn what_was_stored_is_found_again() {
        let view = view(&sample());
        assert_eq!(view.len(), 2);
        assert_eq!(get(&view, "a/b"), Some((stamp(1), b"---\nx\n---\n".to_vec())));
        assert_eq!(get(&view, "c"), Some((stamp(2), b"---\n---\n".to_vec())));
        assert_eq!(get(&view, "a"), None);
        assert_eq!(view.stamp(OsStr::new("c")), Some(stamp(2)));
    }

    #[test]
    fn a_head_that_is_too_young_is_not_stored() {
        let now = SystemTime::now();
        let moment = now.checked_sub(Duration::from_millis(1)).expect("before");
        let young = moment.duration_since(SystemTime::UNIX_EPOCH).expect("after");
        let young = Stamp { modified: i64::try_from(young.as_nanos()).expect("fits"), ..stamp(3) };
        let records = [record("old", &stamp(1), b"x"), record("young", &young, b"y")];
        let view = view(&encoded(&records));
        assert!(get(&view, "old").is_some() && get(&view, "young").is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        /// No damage makes a panic or a wrong answer: a head is as it was stored, or not known.
        #[test]
        fn a_damaged_file_gives_no_wrong_head(at in 0usize..400, byte in any::<u8>(), cut in 0usize..400) {
            let good = sample();
            let mut bad = good.clone();
            let at = at % bad.len();
            bad[at] ^= byte;
            bad.truncate(bad.len() - cut % bad.len());
            let view = view(&bad);
            for (directory, truth) in [("a/b", (stamp(1), b"---\nx\n---\n".to_vec())), ("c", (stamp(2), b"---\n---\n".to_vec()))] {
                if let Some(answer) = get(&view, directory) {
                    prop_assert_eq!(answer, truth);
                }
            }
        }
    }
}
