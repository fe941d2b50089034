//! A zip whose file, when it is unpacked, is that zip: case 48. Whatever opens archives in archives never ends on it.
//!
//! It is a program of two instructions of five bytes: write the bytes that follow, and repeat the last bytes that were
//! written. What stands before and after the packed data is copied by the same program. The checksum of the whole
//! stands in it, and is the solution of a linear equation, because a CRC is linear in each of its bits.

use metier_pack::{PackLimits, inspect_archive};
use metier_skill::Digest;

use crate::sandbox_home::Home;

const SKILL_NAME: &str = "quine/SKILL.md";
const OWN_NAME: &str = "quine/all.zip";
/// A repetition has five bytes only where it begins so many bytes back.
const BEFORE: usize = 253;

/// Bits, the lowest first, as deflate packs them.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn number(&mut self, value: usize, bits: u32) {
        self.0.extend((0..bits).map(|bit| value >> bit & 1 == 1));
    }

    /// A code of Huffman's begins with its highest bit.
    fn code(&mut self, value: usize, bits: u32) {
        self.0.extend((0..bits).rev().map(|bit| value >> bit & 1 == 1));
    }

    /// Copies `length` bytes from `distance` bytes back.
    fn copy(&mut self, length: usize, distance: usize) {
        let (symbol, extra, bits) = match length {
            10 => (264, 0, 0),
            131..=162 => (281, length - 131, 5),
            258 => (285, 0, 0),
            _ => panic!("no code for {length}"),
        };
        if symbol < 280 {
            self.code(symbol - 256, 7);
        } else {
            self.code(symbol - 280 + 0xc0, 8);
        }
        self.number(extra, bits);
        let (symbol, first, bits) = match distance {
            17..=24 => (8, 17, 3),
            129..=192 => (14, 129, 6),
            257..=384 => (16, 257, 7),
            _ => panic!("no code for {distance}"),
        };
        self.code(symbol, 5);
        self.number(distance - first, bits);
    }

    /// A block with the copies in it.
    fn block(&mut self, is_last: bool, copies: &[(usize, usize)]) {
        self.number(usize::from(is_last), 1);
        self.number(1, 2);
        for (length, distance) in copies {
            self.copy(*length, *distance);
        }
        self.code(0, 7);
    }

    fn five_bytes(self) -> Vec<u8> {
        let bits = &self.0;
        assert!((33..=40).contains(&bits.len()), "{} bits", bits.len());
        let byte =
            |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        bits.chunks(8).map(byte).collect()
    }
}

/// Writes the `count` bytes that follow.
fn literal(count: usize) -> Vec<u8> {
    let count = u16::try_from(count).expect("small");
    [&[0][..], &count.to_le_bytes(), &(!count).to_le_bytes()].concat()
}

/// Repeats the last twenty bytes.
fn repeat_twenty() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.block(false, &[(10, 20), (10, 20)]);
    bits.five_bytes()
}

/// Repeats all of what stands before the data, and the instruction that wrote it.
fn repeat_before() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.block(false, &[(BEFORE + 5, BEFORE + 5)]);
    bits.block(false, &[]);
    bits.five_bytes()
}

/// Repeats all of what stands after the data, and itself: the end.
fn repeat_after(after: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.block(true, &[(after + 5, after + 5)]);
    bits.five_bytes()
}

/// The packed data, which unpack to what stands before them, themselves, and what stands after them.
fn packed(before: &[u8], after: &[u8]) -> Vec<u8> {
    let (first, last) = (repeat_before(), repeat_after(after.len()));
    let (before_len, after_len) = (literal(before.len() + 5), literal(after.len() + 5));
    let (five, twenty, again, none) = (literal(5), literal(20), repeat_twenty(), literal(0));
    [
        &before_len,
        before,
        &before_len,
        &first,
        &five,
        &first,
        &five,
        &five,
        &twenty,
        &first,
        &five,
        &five,
        &twenty,
        &again,
        &twenty,
        &again,
        &twenty,
        &again,
        &twenty,
        &again,
        &twenty,
        &again,
        &none,
        &none,
        &after_len,
        &again,
        &none,
        &none,
        &after_len,
        &last,
        after,
        &last,
    ]
    .concat()
}

/// The fields that a header and the directory share: from the version to the lengths of name and extra field.
fn shared(method: u16, crc: u32, packed: usize, size: usize, name: &str) -> Vec<u8> {
    let number = |value: usize| u32::try_from(value).expect("small").to_le_bytes();
    let mut out = [&[20, 0, 0, 0][..], &method.to_le_bytes(), &[0, 0, 0x21, 0]].concat();
    out.extend(crc.to_le_bytes());
    out.extend(number(packed));
    out.extend(number(size));
    out.extend(u16::try_from(name.len()).expect("short").to_le_bytes());
    out.extend([0, 0]);
    out
}

fn local(method: u16, crc: u32, packed: usize, size: usize, name: &str) -> Vec<u8> {
    [b"PK\x03\x04", &shared(method, crc, packed, size, name)[..], name.as_bytes()].concat()
}

fn central(method: u16, crc: u32, packed: usize, size: usize, name: &str, at: usize) -> Vec<u8> {
    let offset = u32::try_from(at).expect("small").to_le_bytes();
    let mode = (0o100_644_u32 << 16).to_le_bytes();
    let fields = shared(method, crc, packed, size, name);
    [b"PK\x01\x02\x14\x03", &fields[..], &[0; 6], &mode, &offset, name.as_bytes()].concat()
}

/// The archive, saying that its own checksum is `crc`.
fn archive(crc: u32, filler: usize) -> Vec<u8> {
    let start = "---\nname: quine\ndescription: Holds itself.\n---\n\nText ";
    let size = BEFORE - 60 - SKILL_NAME.len() - OWN_NAME.len();
    let skill = format!("{start}{filler:0>width$}\n", width = size - start.len() - 1);
    let skill_crc = crc32fast::hash(skill.as_bytes());
    let build = |packed_size: usize, own_size: usize| {
        let skill_header = local(0, skill_crc, skill.len(), skill.len(), SKILL_NAME);
        let at = skill_header.len() + skill.len();
        let own_header = local(8, crc, packed_size, own_size, OWN_NAME);
        let before = [&skill_header[..], skill.as_bytes(), &own_header].concat();
        assert_eq!(before.len(), BEFORE);
        let directory = [
            central(0, skill_crc, skill.len(), skill.len(), SKILL_NAME, 0),
            central(8, crc, packed_size, own_size, OWN_NAME, at),
        ]
        .concat();
        let (bytes, start) =
            (u32::try_from(directory.len()), u32::try_from(before.len() + packed_size));
        let mut end = b"PK\x05\x06\0\0\0\0\x02\0\x02\0".to_vec();
        end.extend(bytes.expect("small").to_le_bytes());
        end.extend(start.expect("small").to_le_bytes());
        end.extend([0, 0]);
        let after = [directory, end].concat();
        let packed = packed(&before, &after);
        (packed.len(), [before, packed, after].concat())
    };
    // The sizes do not depend on what stands in the fields.
    let (packed_size, whole) = build(0, 0);
    let (_, whole) = build(packed_size, whole.len());
    whole
}

/// The checksum that an archive has which says that it has it.
fn own_crc(filler: usize) -> Option<u32> {
    let crc = |value: u32| crc32fast::hash(&archive(value, filler));
    let constant = crc(0);
    // One equation for each bit: the bits of the checksum that flip it, and the constant in bit 32.
    let columns: Vec<u32> = (0..32).map(|bit| crc(1 << bit) ^ constant ^ 1 << bit).collect();
    let mut rows: Vec<u64> = (0..32)
        .map(|row| {
            let of = |at: usize| u64::from(columns[at] >> row & 1) << at;
            (0..32).map(of).sum::<u64>() | u64::from(constant >> row & 1) << 32
        })
        .collect();
    for bit in 0..32 {
        let pivot = (bit..32).find(|row| rows[*row] >> bit & 1 == 1)?;
        rows.swap(bit, pivot);
        let chosen = rows[bit];
        for (at, row) in rows.iter_mut().enumerate() {
            if at != bit && *row >> bit & 1 == 1 {
                *row ^= chosen;
            }
        }
    }
    Some((0..32).map(|bit| u32::try_from(rows[bit] >> 32 & 1).unwrap_or(0) << bit).sum())
}

#[test]
fn an_archive_that_holds_itself_is_unpacked_once() {
    // About three in ten systems of equations have one solution.
    let found = (0..60).find_map(|filler| Some((filler, own_crc(filler)?)));
    let (filler, crc) = found.expect("a checksum that fits");
    let bytes = archive(crc, filler);
    assert_eq!(crc32fast::hash(&bytes), crc);
    let files = inspect_archive(bytes.as_slice(), &PackLimits::default()).expect("sound");
    let own = files.iter().find(|file| file.path == OWN_NAME).expect("listed");
    assert_eq!((own.size, own.digest), (bytes.len() as u64, Digest::of(&bytes)), "it is itself");

    let home = Home::new();
    home.write("case.zip", &bytes);
    let view = home.install("case.zip").expect("installs");
    let rules: Vec<&str> = view.skills[0].findings.iter().map(|it| it.finding.rule).collect();
    assert_eq!((view.skills[0].files, rules), (2, vec!["nested-archive"]));
    let installed = std::fs::read(home.path("project/.agent/skills/quine/all.zip")).expect("there");
    assert_eq!(installed, bytes);
}
