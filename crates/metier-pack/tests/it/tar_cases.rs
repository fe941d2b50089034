//! Gzipped tars: honest ones of several programs, and hostile ones, each refused with its stable code.

use metier_pack::{PackLimits, inspect_archive};
use miniz_oxide::deflate::compress_to_vec;

use crate::archive_cases::refused;
use crate::sandbox_home::Home;
use crate::zip_builder::SKILL;

const BLOCK: usize = 512;

/// One header and its data.
fn entry(name: &str, kind: u8, data: &[u8], change: impl FnOnce(&mut [u8; BLOCK])) -> Vec<u8> {
    let mut block = [0; BLOCK];
    block[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    block[100..107].copy_from_slice(b"0000644");
    block[108..115].copy_from_slice(b"0000000");
    block[116..123].copy_from_slice(b"0000000");
    block[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
    block[136..147].copy_from_slice(b"00000000000");
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    change(&mut block);
    sum(&mut block);
    let mut out = block.to_vec();
    out.extend(data);
    out.resize(out.len().next_multiple_of(BLOCK), 0);
    out
}

fn sum(block: &mut [u8; BLOCK]) {
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn file(name: &str, data: &[u8]) -> Vec<u8> {
    entry(name, b'0', data, |_| ())
}

fn skill() -> Vec<u8> {
    file("pdf/SKILL.md", SKILL.as_bytes())
}

fn gzip(tar: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    out.extend(compress_to_vec(tar, 6));
    out.extend(crc32fast::hash(tar).to_le_bytes());
    out.extend(u32::try_from(tar.len()).expect("small").to_le_bytes());
    out
}

/// The skill, what follows, and the end.
fn archive(more: &[u8]) -> Vec<u8> {
    gzip(&[&skill(), more, &[0; 2 * BLOCK]].concat())
}

fn pax(records: &str) -> Vec<u8> {
    entry("pax", b'x', records.as_bytes(), |_| ())
}

#[test]
fn hostile_tars_are_refused_with_their_codes() {
    let link = |kind: u8| {
        entry("pdf/l", kind, b"", |block| block[157..168].copy_from_slice(b"/etc/passwd"))
    };
    let kind = |kind: u8| entry("pdf/l", kind, b"", |_| ());
    let with = |change: fn(&mut [u8; BLOCK])| entry("pdf/x", b'0', b"x", change);
    let mut bad_sum = file("pdf/x", b"x");
    bad_sum[0] = b'q';
    let mut padded = file("pdf/x", b"x");
    padded[BLOCK + 5] = 1;
    let two = |a: &str, b: &str| [file(a, b"1"), file(b, b"2")].concat();
    let mut cases: Vec<(&str, Vec<u8>)> = vec![
        ("archive-name-parent", archive(&file("../x", b"x"))),
        ("archive-name-parent", archive(&file("pdf/../../x", b"x"))),
        ("archive-name-absolute", archive(&file("/etc/x", b"x"))),
        ("archive-name-separator", archive(&file("..\\x", b"x"))),
        ("archive-name-encoding", archive(&entry("pdf/x", b'0', b"x", |block| block[4] = 0xff))),
        ("archive-name-duplicate", archive(&two("pdf/x", "pdf/x"))),
        ("archive-name-duplicate", archive(&two("pdf/x", "./pdf/x"))),
        ("archive-name-collision", archive(&two("pdf/x", "pdf/X"))),
        ("archive-name-conflict", archive(&two("pdf/x", "pdf/x/y"))),
        // 39: hard links, and every other kind of link.
        ("archive-link", archive(&link(b'1'))),
        ("archive-link", archive(&link(b'2'))),
        ("archive-link", archive(&link(b'0'))),
        ("archive-link", archive(&kind(b'K'))),
        ("archive-special", archive(&kind(b'3'))),
        ("archive-special", archive(&kind(b'4'))),
        ("archive-special", archive(&kind(b'6'))),
        ("tar-type", archive(&kind(b'S'))),
        ("tar-type", archive(&kind(b'7'))),
        ("tar-type", archive(&kind(b'Z'))),
        ("archive-mode", archive(&with(|block| block[100..107].copy_from_slice(b"0004755")))),
        ("archive-directory-data", archive(&entry("pdf/d/", b'5', b"x", |_| ()))),
        ("archive-directory-kind", archive(&file("pdf/d/", b""))),
        ("tar-checksum", archive(&bad_sum)),
        ("tar-header", archive(&with(|block| block[124..136].copy_from_slice(b"-0000000001\0")))),
        ("tar-header", archive(&with(|block| block[124] = 0x80))),
        (
            "tar-header",
            archive(&with(|block| block[257..265].copy_from_slice(b"\0\0\0\0\0\0\0\0"))),
        ),
        ("tar-header", archive(&with(|block| block[50] = b'x'))),
        ("archive-trailing-data", archive(&padded)),
        ("tar-extension", archive(&[pax("11 size=99\n"), file("pdf/x", b"x")].concat())),
        ("archive-link", archive(&[pax("17 linkpath=/etc\n"), file("pdf/x", b"x")].concat())),
        ("tar-extension", archive(&[pax("22 GNU.sparse.major=1\n"), file("pdf/x", b"x")].concat())),
        ("tar-extension", archive(&[pax("99 path=x\n"), file("pdf/x", b"x")].concat())),
        ("archive-name-parent", archive(&[pax("13 path=../x\n"), file("pdf/x", b"x")].concat())),
        (
            "tar-extension",
            archive(&[pax("12 path=a/x\n"), pax("12 path=b/x\n"), file("pdf/x", b"x")].concat()),
        ),
        ("tar-extension", archive(&pax("12 path=a/x\n"))),
        ("tar-end", gzip(&[&skill(), &[0; 2 * BLOCK][..], &file("pdf/hidden", b"x")].concat())),
        ("tar-end", gzip(&[&skill(), &[0; BLOCK][..]].concat())),
        ("archive-data", gzip(&skill())),
        ("archive-data", gzip(&[skill(), file("pdf/x", &[7; 2000])[..1024].to_vec()].concat())),
        ("archive-empty", gzip(&[0; 2 * BLOCK])),
        ("archive-ratio", archive(&file("pdf/zeros", &vec![0; 8 << 20]))),
    ];
    let honest = archive(&[]);
    // Two members, bytes behind the end, a wrong checksum, a wrong length, unknown flags, half of it.
    cases.push(("archive-trailing-data", [honest.clone(), honest.clone()].concat()));
    cases.push(("archive-trailing-data", [honest.as_slice(), b"more"].concat()));
    for (code, change) in [("gzip-trailer", 8), ("gzip-trailer", 1)] {
        let mut bytes = honest.clone();
        let at = bytes.len() - change;
        bytes[at] ^= 1;
        cases.push((code, bytes));
    }
    let mut flags = honest.clone();
    flags[3] = 0x80;
    cases.push(("gzip-header", flags));
    cases.push(("archive-data", [&honest[..honest.len() / 2], &[0; 8]].concat()));
    for (number, (code, bytes)) in cases.into_iter().enumerate() {
        refused(u32::try_from(number).expect("small"), code, &bytes, "case.tar.gz");
    }
}

#[test]
fn tars_of_usual_programs_are_read() {
    let long = format!("pdf/{}/x.md", "d".repeat(120));
    let gnu_long = entry("././@LongLink", b'L', format!("{long}\0").as_bytes(), |block| {
        block[257..265].copy_from_slice(b"ustar  \0");
    });
    let pax_path = pax(&format!("{} path={long}\n", long.len() + 10));
    for (what, bytes) in [
        ("with a directory", archive(&entry("pdf/d/", b'5', b"", |_| ()))),
        (
            "packed as .",
            gzip(
                &[
                    entry("./", b'5', b"", |_| ()),
                    file("./SKILL.md", SKILL.as_bytes()),
                    vec![0; 10_240],
                ]
                .concat(),
            ),
        ),
        ("GNU's long names", archive(&[gnu_long, file("cut", b"x")].concat())),
        ("POSIX's long names", archive(&[pax_path, file("cut", b"x")].concat())),
        (
            "git's comment",
            gzip(
                &[
                    entry(
                        "pax_global_header",
                        b'g',
                        b"52 comment=0123456789012345678901234567890123456789\n",
                        |_| (),
                    ),
                    skill(),
                    vec![0; 1024],
                ]
                .concat(),
            ),
        ),
        ("times", archive(&[pax("30 mtime=1700000000.123456789\n"), file("pdf/x", b"x")].concat())),
    ] {
        let home = Home::new();
        home.write("case.tgz", bytes);
        home.install("case.tgz")
            .unwrap_or_else(|error| panic!("{what}: {error} [{}]", error.code()));
        assert_eq!(home.read("project/.agent/skills/pdf/SKILL.md"), SKILL, "{what}");
    }
    assert!(inspect_archive(&archive(&[])[..], &PackLimits::default()).is_ok());
}
