//! Hostile and odd zips, numbered as in the research on security: each is refused with its stable code, by
//! the reader and by an installation, and nothing outside staging is touched.
//!
//! Cases 84-88 are about the target and are in `install` and in the tests of the binary; 89 is here, 90
//! and 91 are honest archives whose content a scan reports.

use metier_pack::{PackLimits, inspect_archive};

use crate::sandbox_home::Home;
use crate::zip_builder::{Descriptor, Entry, SKILL, Zip, extra};

/// A file in the skill's folder.
fn file(name: &str) -> Zip {
    Zip::skill([Entry::stored(name, "x")])
}

fn mode(mode: u32) -> Zip {
    Zip::skill([Entry::stored("pdf/x", "/etc/passwd").with(|it| it.mode = mode)])
}

fn in_skill(change: impl FnOnce(&mut Entry)) -> Zip {
    Zip::skill([Entry::deflated("pdf/x", "some text that is packed, packed").with(change)])
}

fn local(change: impl FnOnce(&mut Entry)) -> Zip {
    Zip::skill([Entry::deflated("pdf/x", "some text that is packed, packed").local(change)])
}

fn whole(change: impl FnOnce(&mut Zip)) -> Zip {
    Zip::skill([]).with(change)
}

/// Names, links and modes: 1 to 43.
fn names_and_modes() -> Vec<(u32, &'static str, Zip)> {
    let two = |a: &str, b: &str| Zip::skill([Entry::stored(a, "1"), Entry::stored(b, "2")]);
    vec![
        (1, "archive-name-parent", file("../x")),
        (2, "archive-name-parent", file("a/../../x")),
        (3, "archive-name-parent", file("a/../b")),
        (4, "archive-name-absolute", file("/abs")),
        (5, "archive-name-absolute", file("//abs")),
        (6, "archive-name-separator", file("..\\x")),
        (7, "archive-name-separator", file("a\\b")),
        (8, "archive-name-absolute", file("C:\\x")),
        (9, "archive-name-absolute", file("C:/x")),
        (10, "archive-name-absolute", file("\\\\srv\\share")),
        (11, "archive-name-absolute", file("\\\\?\\C:\\x")),
        (12, "archive-name-empty", file("")),
        (13, "archive-name-shape", file(".")),
        (14, "archive-name-shape", file("./a")),
        (15, "archive-name-shape", file("a//b")),
        (16, "archive-name-blank", file("pdf/x.")),
        (17, "archive-name-blank", file("pdf/x ")),
        (18, "archive-name-reserved", file("pdf/nul.txt")),
        (18, "archive-name-reserved", file("pdf/COM¹")),
        (19, "archive-name-separator", file("pdf/a.md:stream")),
        (20, "archive-name-separator", file("pdf/a.md::$DATA")),
        (21, "archive-name-hidden", file("pdf/a\0b")),
        (22, "archive-name-hidden", file("pdf/a\nb")),
        (22, "archive-name-hidden", file("pdf/a\x1b[31mb")),
        (23, "archive-name-hidden", file("pdf/a\u{202e}cod.exe")),
        (24, "archive-name-encoding", Zip::skill([Entry::stored(b"pdf/\xff\xfe", "x")])),
        (
            25,
            "archive-name-encoding",
            Zip::skill([Entry::stored(b"pdf/\x81", "x").with(|it| it.flags = 0)]),
        ),
        (
            25,
            "archive-name-encoding",
            Zip::skill([Entry::stored("pdf/é", "x").with(|it| it.flags = 0)]),
        ),
        (26, "zip-extra-field", in_skill(|it| it.extra = extra(0x7075, b"\x01\0\0\0\0evil"))),
        (
            27,
            "zip-extra-field",
            in_skill(|it| it.extra = extra(0x7075, b"\x01\0\0\0\0a").repeat(2)),
        ),
        (28, "archive-name-duplicate", two("pdf/x", "pdf/x")),
        (29, "archive-name-collision", two("pdf/x", "pdf/skill.MD")),
        (30, "archive-name-collision", two("pdf/e\u{301}", "pdf/\u{e9}")),
        (31, "archive-name-conflict", two("pdf/a", "pdf/a/b")),
        (31, "archive-name-conflict", two("pdf/a/b", "pdf/a")),
        (32, "archive-directory-data", file("pdf/d/")),
        (33, "archive-directory-kind", mode(0o040_755)),
        (33, "archive-directory-kind", in_skill(|it| it.dos = 0x10)),
        (
            33,
            "archive-directory-kind",
            Zip::skill([Entry::stored("pdf/d/", "").with(|it| it.mode = 0o100_644)]),
        ),
        (34, "archive-link", mode(0o120_777)),
        (
            35,
            "archive-link",
            Zip::skill([Entry::stored("pdf/l", "../../outside").with(|it| it.mode = 0o120_777)]),
        ),
        (
            36,
            "archive-link",
            Zip::skill([
                Entry::stored("pdf/l", "../../outside").with(|it| it.mode = 0o120_777),
                Entry::stored("pdf/l/x", "1"),
            ]),
        ),
        (
            37,
            "archive-link",
            Zip::skill([
                Entry::stored("pdf/l", "/etc").with(|it| it.mode = 0o120_777),
                Entry::stored("pdf/l", "1"),
            ]),
        ),
        (
            38,
            "archive-link",
            Zip::skill([
                Entry::stored("pdf/a", ".").with(|it| it.mode = 0o120_777),
                Entry::stored("pdf/a/b", "..").with(|it| it.mode = 0o120_777),
            ]),
        ),
        (
            38,
            "archive-link",
            Zip::skill([Entry::stored("pdf/a", "b/..").with(|it| {
                it.mode = 0o120_777;
                it.made_by = 20;
            })]),
        ),
        (40, "archive-special", mode(0o010_644)),
        (40, "archive-special", mode(0o020_644)),
        (40, "archive-special", mode(0o060_644)),
        (40, "archive-special", mode(0o140_644)),
        (41, "archive-mode", mode(0o104_755)),
        (41, "archive-mode", mode(0o102_755)),
        (41, "archive-mode", mode(0o101_755)),
    ]
}

/// Bombs and lies about the structure: 44 to 70.
fn structure() -> Vec<(u32, &'static str, Zip)> {
    let zeros = vec![0; 4 << 20];
    let empty = |count: usize| Zip::of((0..count).map(|at| Entry::stored(format!("pdf/{at}"), "")));
    let first = Zip::skill([]).bytes();
    let zip64 = |bytes: &[u8]| bytes.to_vec();
    vec![
        (
            44,
            "archive-name-duplicate",
            Zip::skill([Entry::stored("pdf/SKILL.md", "x").with(|it| {
                it.there = false;
                it.offset = Some(0);
            })]),
        ),
        (
            45,
            "zip-overlap",
            Zip::skill([Entry::deflated("pdf/y", SKILL).with(|it| {
                it.there = false;
                it.offset = Some(0);
            })]),
        ),
        (
            45,
            "zip-overlap",
            Zip::skill([Entry::stored("pdf/y", "x").with(|it| {
                it.there = false;
                it.offset = Some(10);
            })]),
        ),
        (46, "zip-extra-field", in_skill(|it| it.extra = extra(0x9999, b"PK\x03\x04"))),
        (49, "archive-ratio", Zip::skill([Entry::deflated("pdf/zeros", &zeros)])),
        (50, "archive-entries", empty(70_000)),
        (51, "archive-entries", empty(65_535)),
        (51, "archive-entries", empty(65_536)),
        (52, "zip-count", whole(|zip| zip.count = Some(0))),
        (52, "zip-count", whole(|zip| zip.count = Some(2))),
        (52, "zip-count", whole(|zip| zip.count_here = Some(2))),
        (53, "zip-directory-size", whole(|zip| zip.directory_size = Some(u32::MAX - 1))),
        (53, "zip-directory-size", whole(|zip| zip.directory_size = Some(400))),
        (
            53,
            "zip-gap",
            whole(|zip| {
                zip.directory_size = Some(50);
                zip.directory_offset = None;
            }),
        ),
        (54, "zip-directory-offset", whole(|zip| zip.directory_offset = Some(0))),
        (54, "zip-directory-offset", whole(|zip| zip.directory_offset = Some(1))),
        (55, "zip-gap", in_skill(|it| it.gap = vec![7; 9])),
        (55, "zip-gap", whole(|zip| zip.before_directory = vec![7; 9])),
        (55, "zip-gap", whole(|zip| zip.before_end = vec![7; 9])),
        (
            56,
            "zip-prefix",
            whole(|zip| {
                zip.prefix = b"#!/bin/sh\n".to_vec();
                zip.shifted = true;
            }),
        ),
        (57, "zip-suffix", whole(|zip| zip.suffix = vec![7; 30])),
        (58, "zip-directory-offset", whole(|zip| zip.prefix.clone_from(&first))),
        (
            58,
            "zip-hidden-entry",
            whole(|zip| {
                zip.prefix.clone_from(&first);
                zip.shifted = true;
            }),
        ),
        (
            59,
            "zip-end-twice",
            whole(|zip| zip.comment = [b"PK\x05\x06".as_slice(), &[0; 18]].concat()),
        ),
        (60, "zip-comment", whole(|zip| zip.comment_length = Some(9))),
        (
            60,
            "zip-suffix",
            whole(|zip| {
                zip.comment = b"hello".to_vec();
                zip.comment_length = Some(2);
            }),
        ),
        (61, "zip-multi-disk", whole(|zip| zip.disk = 1)),
        (61, "zip-multi-disk", in_skill(|it| it.disk = 3)),
        (
            62,
            "zip-64",
            whole(|zip| {
                zip.before_end =
                    zip64(&[b"PK\x06\x06".as_slice(), &[0; 52], b"PK\x06\x07", &[0; 16]].concat());
            }),
        ),
        (
            62,
            "zip-64",
            whole(|zip| zip.before_end = zip64(&[b"PK\x06\x06".as_slice(), &[0; 52]].concat())),
        ),
        (62, "zip-64", whole(|zip| zip.directory_offset = Some(u32::MAX))),
        (63, "zip-64", in_skill(|it| it.extra = extra(1, &[0; 28]))),
        (63, "zip-64", in_skill(|it| it.extra = extra(1, &[0; 3]))),
        (63, "zip-64", in_skill(|it| it.size = u32::MAX)),
        (64, "zip-name-mismatch", local(|it| it.name = b"pdf/y".to_vec())),
        (65, "zip-method-mismatch", local(|it| it.method = 0)),
        (65, "zip-method-mismatch", local(|it| it.flags = 1 << 11)),
        (66, "zip-checksum-mismatch", local(|it| it.crc ^= 1)),
        (67, "zip-size-mismatch", local(|it| it.size += 1)),
        (67, "zip-size-mismatch", local(|it| it.packed -= 1)),
        (
            68,
            "zip-descriptor",
            in_skill(|it| {
                it.flags = 8;
                it.descriptor = Descriptor::Wrong;
            }),
        ),
        (68, "zip-descriptor", in_skill(|it| it.flags = 8)),
        (
            68,
            "zip-descriptor",
            Zip::skill([Entry::stored("pdf/x", "x").with(|it| {
                it.flags = 8;
                it.descriptor = Descriptor::Signed;
            })]),
        ),
        (69, "zip-hidden-entry", in_skill(|it| it.listed = false)),
        (70, "zip-entry-missing", in_skill(|it| it.there = false)),
    ]
}

/// Lies about the data, and what is not read: 71 to 82.
fn data() -> Vec<(u32, &'static str, Zip)> {
    vec![
        (71, "archive-checksum", in_skill(|it| it.crc ^= 1)),
        (72, "archive-size-mismatch", in_skill(|it| it.size -= 1)),
        (72, "archive-size-mismatch", in_skill(|it| it.size += 1)),
        (
            73,
            "archive-trailing-data",
            in_skill(|it| {
                it.data.extend(b"more");
                it.packed += 4;
            }),
        ),
        (
            74,
            "archive-data",
            in_skill(|it| {
                it.data.truncate(9);
                it.packed = 9;
            }),
        ),
        (74, "archive-data", in_skill(|it| it.data[0] = 0xff)),
        (
            75,
            "archive-size-mismatch",
            Zip::skill([Entry::stored("pdf/x", "xyz").with(|it| it.size = 2)]),
        ),
        (76, "zip-encrypted", in_skill(|it| it.flags = 1)),
        (76, "zip-encrypted", in_skill(|it| it.flags = 1 | 1 << 6)),
        (76, "zip-encrypted", local(|it| it.flags = 1)),
        (77, "zip-method", in_skill(|it| it.method = 99)),
        (77, "zip-method", in_skill(|it| it.method = 12)),
        (77, "zip-method", in_skill(|it| it.method = 14)),
        (77, "zip-method", in_skill(|it| it.method = 93)),
        (78, "zip-version", in_skill(|it| it.version = 63)),
        (79, "zip-extra-field", in_skill(|it| it.extra = vec![0x55, 0x54, 200, 0, 1])),
        (79, "zip-extra-field", in_skill(|it| it.extra = vec![1, 2, 3])),
        (80, "archive-name-long", file(&format!("pdf/{}", "n".repeat(300)))),
        (81, "archive-name-long", file(&format!("pdf/{}x", "d/".repeat(300)))),
    ]
}

/// Refuses the archive by the reader and by an installation, and compares everything around.
pub(crate) fn refused(number: u32, code: &str, bytes: &[u8], name: &str) {
    let found = inspect_archive(bytes, &PackLimits::default());
    let found = found.map_or_else(|error| error.code(), |_| "accepted");
    assert_eq!(found, code, "case {number}, by the reader");
    let home = Home::new();
    home.write(name, bytes);
    let before = home.snapshot();
    let error = home.install(name).expect_err("refused");
    assert_eq!(error.code(), code, "case {number}, by an installation: {error}");
    assert_eq!(home.snapshot(), before, "case {number}: something was touched");
    let target = home.target().expect("a target");
    assert_eq!(
        target.preview_install(&home.request(name)).expect_err("refused").code(),
        code,
        "case {number}"
    );
}

#[test]
fn hostile_names_links_and_modes_are_refused_with_their_codes() {
    for (number, code, zip) in names_and_modes() {
        refused(number, code, &zip.bytes(), "case.zip");
    }
}

#[test]
fn a_structure_that_could_be_read_in_two_ways_is_refused_with_its_code() {
    for (number, code, zip) in structure() {
        refused(number, code, &zip.bytes(), "case.zip");
    }
}

#[test]
fn data_that_are_not_as_declared_are_refused_with_their_codes() {
    for (number, code, zip) in data() {
        refused(number, code, &zip.bytes(), "case.zip");
    }
    // 82: an empty zip, nothing at all, and something else.
    refused(82, "archive-empty", &Zip::default().bytes(), "case.zip");
    refused(82, "archive-format", b"", "case.zip");
    refused(82, "archive-format", b"hello, this is no archive", "case.zip");
    refused(82, "zip-end", &Zip::skill([]).bytes()[..60], "case.zip");
}

#[test]
fn a_skill_has_to_be_there_once() {
    let skill_at = |path: &str| Entry::deflated(path, SKILL);
    for (code, entries) in [
        ("no-skill", vec![Entry::stored("pdf/README.md", "x")]),
        ("no-skill", vec![skill_at("pdf/skill.md")]),
        ("two-layouts", vec![skill_at("SKILL.md"), skill_at("pdf/SKILL.md")]),
        ("name-twice", vec![skill_at("a/SKILL.md"), skill_at("b/SKILL.md")]),
        ("frontmatter-missing", vec![Entry::stored("pdf/SKILL.md", "no frontmatter")]),
        ("bad-name", vec![Entry::stored("x/SKILL.md", SKILL.replace("name: pdf", "name: ../pdf"))]),
        ("bad-name", vec![Entry::stored("x/SKILL.md", SKILL.replace("name: pdf", "name: nul"))]),
    ] {
        let home = Home::new();
        home.write("case.zip", Zip::of(entries).bytes());
        let before = home.snapshot();
        assert_eq!(home.install("case.zip").expect_err("refused").code(), code);
        assert_eq!(home.snapshot(), before);
    }
    // A skill inside a skill is a file of it.
    let home = Home::new();
    home.write(
        "case.zip",
        Zip::of([skill_at("pdf/SKILL.md"), skill_at("pdf/assets/x/SKILL.md")]).bytes(),
    );
    assert_eq!(home.install("case.zip").expect("installs").skills.len(), 1);
}

#[test]
fn odd_and_honest_archives_are_read() {
    let nested = Zip::skill([Entry::deflated("pdf/deep", "x".repeat(1000))]).bytes();
    let timed = |it: &mut Entry| it.extra = extra(0x5455, &[1, 0, 0, 0, 0]);
    let with_descriptor = |descriptor| {
        in_skill(|it| {
            it.flags = 8;
            it.descriptor = descriptor;
        })
    };
    for (what, zip) in [
        ("42: everybody may write", mode(0o100_777)),
        ("43: no one may read", mode(0o100_000)),
        ("47: an archive in it is a file", Zip::skill([Entry::stored("pdf/nested.zip", &nested)])),
        (
            "48: itself in it, stored at the end",
            Zip::skill([Entry::stored("pdf/self.zip", Zip::skill([]).bytes())]),
        ),
        ("68: a record behind deflated data", with_descriptor(Descriptor::Signed)),
        ("68: the same without signature", with_descriptor(Descriptor::Bare)),
        ("times", in_skill(timed)),
        (
            "from DOS",
            in_skill(|it| {
                it.made_by = 20;
                it.mode = 0;
            }),
        ),
        ("a comment", whole(|zip| zip.comment = "packed by hand, 手".as_bytes().to_vec())),
        ("a directory", Zip::skill([Entry::stored("pdf/d/", "")])),
        ("hints of the packer", in_skill(|it| it.flags = 2)),
        (
            "any script",
            Zip::skill([Entry::stored("pdf/技能.md", "x"), Entry::stored("pdf/عربى.md", "x")]),
        ),
        (
            "90: macros and 91: programs are for the scan",
            Zip::skill([Entry::stored("pdf/x.pyc", "x"), Entry::stored("pdf/x.so", b"\x7fELF")]),
        ),
    ] {
        let home = Home::new();
        home.write("case.zip", zip.bytes());
        home.install("case.zip")
            .unwrap_or_else(|error| panic!("{what}: {error} [{}]", error.code()));
        assert_eq!(home.read("project/.agent/skills/pdf/SKILL.md"), SKILL, "{what}");
    }
}

#[test]
fn an_archive_in_an_archive_is_a_file_however_deep_and_is_said() {
    // 47 and 48: five levels that would come to a terabyte. None of them is opened, so that nothing recurses.
    let mut bomb = Zip::of([Entry::deflated("0", vec![0; 1 << 20])]).bytes();
    for _ in 0..5 {
        let level = (0..16).map(|at| Entry::deflated(format!("{at}.zip"), bomb.clone()));
        bomb = Zip::of(level).bytes();
    }
    let home = Home::new();
    home.write("case.zip", Zip::skill([Entry::deflated("pdf/bomb.zip", &bomb)]).bytes());
    let view = home.install("case.zip").expect("installs");
    let rules: Vec<&str> = view.skills[0].findings.iter().map(|it| it.finding.rule).collect();
    assert_eq!((view.skills[0].files, rules), (2, vec!["nested-archive"]));
    assert!(view.skills[0].inspected_percent < Some(100), "what was not looked into is said");
    let installed = std::fs::read(home.path("project/.agent/skills/pdf/bomb.zip")).expect("there");
    assert_eq!(installed, bomb, "as it came");
}

#[test]
fn an_archive_that_is_written_to_while_it_is_read_is_refused() {
    // 89: what is hashed, judged and unpacked comes from one descriptor; a file that is replaced by a
    // rename is not seen at all, and one that is changed in place is refused.
    let home = Home::new();
    let path = home.write("case.zip", Zip::skill([]).bytes());
    let file = metier_fs::PiecewiseFile::open(&path).expect("opens");
    let other = home.write("other.zip", Zip::skill([Entry::stored("pdf/evil", "x")]).bytes());
    std::fs::rename(other, &path).expect("replaces");
    let paths: Vec<String> = inspect_archive(&file, &PackLimits::default())
        .expect("the one that was opened")
        .into_iter()
        .map(|file| file.path)
        .collect();
    assert_eq!(paths, ["pdf/SKILL.md"]);
    let file = metier_fs::PiecewiseFile::open(&path).expect("opens");
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&path, Zip::skill([]).bytes()).expect("writes over");
    assert!(!file.is_unchanged());
}
