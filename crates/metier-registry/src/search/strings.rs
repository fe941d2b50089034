//! Strings with numbers: an open-addressing table over one text buffer.
//!
//! The standard map would keep every word in an allocation of its own and hash it with `SipHash`;
//! building the index is mostly this lookup, and this table makes it about twice as fast. The
//! hash is seeded at random per index, because descriptions are foreign text that could be
//! chosen to collide; numbers follow the order of insertion, so the seed never shows.

use std::hash::{BuildHasher, RandomState};

/// An empty place of the table.
const EMPTY: u32 = u32::MAX;

/// Places of a new table: enough for a few hundred skills without growing.
const FIRST_SIZE: usize = 1 << 13;

/// A set of strings, numbered from 0 in the order they came.
#[derive(Debug)]
pub(super) struct Strings {
    text: String,
    ends: Vec<u32>,
    /// Places of a power-of-two table: the number of a string and a part of its hash.
    table: Vec<(u32, u32)>,
    seeds: [u64; 2],
}

impl Default for Strings {
    fn default() -> Self {
        let state = RandomState::new();
        Self {
            text: String::new(),
            ends: Vec::new(),
            table: vec![(EMPTY, 0); FIRST_SIZE],
            seeds: [state.hash_one(0), state.hash_one(1)],
        }
    }
}

impl Strings {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string with this number.
    pub(super) fn get(&self, number: u32) -> &str {
        let at = number as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or_default();
        self.text.get(start.unwrap_or_default() as usize..end as usize).unwrap_or_default()
    }

    /// The number of a string that is there.
    pub(super) fn find(&self, string: &str) -> Option<u32> {
        self.place(string, self.hash(string)).ok()
    }

    /// The number of a string, which is added when it is new.
    pub(super) fn insert(&mut self, string: &str) -> u32 {
        let hash = self.hash(string);
        let place = match self.place(string, hash) {
            Ok(number) => return number,
            Err(place) => place,
        };
        let number = u32::try_from(self.ends.len()).unwrap_or(EMPTY);
        self.text.push_str(string);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        self.table[place] = (number, check(hash));
        if self.ends.len() * 2 > self.table.len() {
            self.grow();
        }
        number
    }

    /// Where the string is, or the empty place where it belongs.
    fn place(&self, string: &str, hash: u64) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut place = first_place(hash, mask);
        loop {
            let (number, checked) = self.table[place];
            if number == EMPTY {
                return Err(place);
            }
            if checked == check(hash) && self.get(number) == string {
                return Ok(number);
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mask = self.table.len() * 2 - 1;
        let mut table = vec![(EMPTY, 0); mask + 1];
        for number in (0..).take(self.ends.len()) {
            let hash = self.hash(self.get(number));
            let mut place = first_place(hash, mask);
            while table[place].0 != EMPTY {
                place = (place + 1) & mask;
            }
            table[place] = (number, check(hash));
        }
        self.table = table;
    }

    /// Multiply and fold, eight bytes at a time, from a random start.
    fn hash(&self, string: &str) -> u64 {
        let [seed, factor] = self.seeds;
        let factor = factor | 1;
        let fold = |value: u64| {
            let wide = u128::from(value) * u128::from(factor);
            #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
            {
                (wide as u64) ^ ((wide >> 64) as u64)
            }
        };
        let bytes = string.as_bytes();
        let mut hash = seed ^ (bytes.len() as u64);
        let (words, tail) = bytes.as_chunks::<8>();
        for &word in words {
            hash = fold(hash ^ u64::from_le_bytes(word));
        }
        // The rest without a copy of variable length: overlapping reads from both of its ends.
        let last = if let (Some(&head), Some(&end)) = (tail.first_chunk(), tail.last_chunk()) {
            u64::from(u32::from_le_bytes(head)) << 32 | u64::from(u32::from_le_bytes(end))
        } else if let [first, .., last] = *tail {
            let middle = tail.get(1).copied().unwrap_or_default();
            u64::from(u32::from_le_bytes([first, middle, last, 0]))
        } else {
            tail.first().copied().map_or(0, u64::from)
        };
        fold(fold(hash ^ last) ^ seed)
    }
}

/// The part of a hash that is kept to spare comparisons.
fn check(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The place that a hash chooses in a table of `mask + 1` places.
fn first_place(hash: u64, mask: usize) -> usize {
    usize::try_from(hash & mask as u64).unwrap_or_default()
}
