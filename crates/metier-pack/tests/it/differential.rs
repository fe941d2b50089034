//! What our reader accepts, Python's `zipfile` and `unzip` read as the same files with the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use metier_pack::{PackLimits, PackOptions, inspect_archive, plan_pack};
use metier_skill::Digest;

use crate::sandbox_home::Home;
use crate::zip_builder::{Descriptor, Entry, SKILL, Zip, extra};

type Files = BTreeMap<String, Digest>;

fn ours(bytes: &[u8]) -> Option<Files> {
    let files = inspect_archive(bytes, &PackLimits::default()).ok()?;
    Some(files.into_iter().map(|file| (file.path, file.digest)).collect())
}

const PYTHON: &str = "
import sys, zipfile, hashlib
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    for i in z.infolist():
        if not i.is_dir():
            print('sha256:' + hashlib.sha256(z.read(i)).hexdigest() + ' ' + i.filename)
";

fn python(zip: &Path) -> Option<Files> {
    let out = Command::new("python3")
        .env("PYTHONUTF8", "1")
        .args(["-c", PYTHON])
        .arg(zip)
        .output()
        .expect("python3 runs");
    let text = out.status.success().then(|| String::from_utf8(out.stdout).expect("text"))?;
    let line = |line: &str| {
        let (digest, path) = line.split_once(' ').expect("two words");
        (path.to_owned(), digest.parse().expect("a digest"))
    };
    Some(text.lines().map(line).collect())
}

fn unzip(zip: &Path) -> Option<Files> {
    let dir = tempfile::tempdir().expect("dir");
    let status = Command::new("unzip")
        .env("LC_ALL", "C.UTF-8")
        .args(["-q", "-o"])
        .arg(zip)
        .arg("-d")
        .arg(dir.path())
        .output();
    if !status.expect("unzip runs").status.success() {
        return None;
    }
    let mut files = Files::new();
    let mut open = vec![dir.path().to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).expect("lists") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name =
                    path.strip_prefix(dir.path()).expect("below").to_string_lossy().into_owned();
                files.insert(name, Digest::of(&fs::read(&path).expect("reads")));
            }
        }
    }
    Some(files)
}

/// Compares all three; whether ours accepts it.
fn agree(home: &Home, what: &str, bytes: &[u8]) -> bool {
    let Some(ours) = ours(bytes) else { return false };
    let path = home.write("case.zip", bytes);
    assert_eq!(python(&path).as_ref(), Some(&ours), "{what}: zipfile");
    assert_eq!(unzip(&path).as_ref(), Some(&ours), "{what}: unzip");
    true
}

#[test]
fn other_programs_read_what_we_accept_as_the_same_files() {
    let home = Home::new();
    let packed = |it: Entry| Zip::skill([it]).bytes();
    let text = "text, text, text, text, text";
    let descriptor = |kind| {
        Entry::deflated("pdf/x", text).with(|it| {
            it.flags = 8;
            it.descriptor = kind;
        })
    };
    for (what, bytes) in [
        ("plain", packed(Entry::deflated("pdf/x", text))),
        ("any script", packed(Entry::stored("pdf/技能 é.md", text))),
        ("a record behind", packed(descriptor(Descriptor::Signed))),
        ("a bare record behind", packed(descriptor(Descriptor::Bare))),
        (
            "times",
            packed(
                Entry::stored("pdf/x", text).with(|it| it.extra = extra(0x5455, &[1, 0, 0, 0, 0])),
            ),
        ),
        (
            "DOS",
            packed(Entry::stored("pdf/x", text).with(|it| {
                it.made_by = 20;
                it.mode = 0;
            })),
        ),
        ("an archive inside", packed(Entry::stored("pdf/x.docx", Zip::skill([]).bytes()))),
        ("a comment", Zip::skill([]).with(|zip| zip.comment = b"hello".to_vec()).bytes()),
        (
            "in another order",
            Zip::of([Entry::stored("z/SKILL.md", SKILL), Entry::stored("a/b", text)]).bytes(),
        ),
    ] {
        assert!(agree(&home, what, &bytes), "{what} is refused");
    }
}

#[test]
fn our_packs_are_read_by_others_and_the_other_way_round() {
    let home = Home::new();
    home.write("pdf/SKILL.md", SKILL);
    home.write("pdf/技能/é.md", (0..20_000).map(|n| format!("line {n}\n")).collect::<String>());
    home.write(
        "pdf/large.bin",
        (0..2_000_000u32).map(|n| (n.wrapping_mul(n) >> 9) as u8).collect::<Vec<u8>>(),
    );
    fs::create_dir_all(home.path("pdf/empty")).expect("dirs");
    plan_pack(&home.path("pdf"), PackOptions::default())
        .expect("plans")
        .write(&home.path("ours.zip"))
        .expect("packs");
    assert!(agree(&home, "ours", &fs::read(home.path("ours.zip")).expect("reads")));
    let zip = |folder: &str, out: &str| {
        let mut run = Command::new("zip");
        run.args(["-q", "-r", "-9"]).arg(home.path(out)).arg(folder).current_dir(home.path(""));
        assert!(run.env("LC_ALL", "C").status().expect("zip runs").success());
        fs::read(home.path(out)).expect("reads")
    };
    home.write("plain/SKILL.md", SKILL);
    home.write("plain/a/b.txt", "text, text, text, text, text");
    assert!(agree(&home, "Info-ZIP", &zip("plain", "info.zip")));
    // Without the flag for UTF-8, `zipfile` reads other names than `unzip`.
    let bare = inspect_archive(&zip("pdf", "bare.zip")[..], &PackLimits::default());
    assert_eq!(bare.expect_err("refused").code(), "archive-name-encoding");
    let python = "import shutil, sys; shutil.make_archive(sys.argv[1], 'zip', sys.argv[2], 'pdf')";
    let made = Command::new("python3")
        .args(["-c", python])
        .arg(home.path("py"))
        .arg(home.path(""))
        .status();
    assert!(made.expect("python3 runs").success());
    assert!(agree(&home, "Python", &fs::read(home.path("py.zip")).expect("reads")));
    for (flags, out) in [
        (["--format=gnu"], "gnu.tgz"),
        (["--format=pax"], "pax.tgz"),
        (["--format=ustar"], "ustar.tgz"),
    ] {
        let run = Command::new("tar")
            .args(flags)
            .arg("-czf")
            .arg(home.path(out))
            .arg("pdf")
            .current_dir(home.path(""))
            .status();
        assert!(run.expect("tar runs").success());
        let files = ours(&fs::read(home.path(out)).expect("reads"))
            .unwrap_or_else(|| panic!("{out} is refused"));
        assert_eq!(files.len(), 3, "{out}");
    }
}

#[test]
fn of_ten_thousand_damaged_archives_none_is_read_differently() {
    // Every byte of the structure, changed one at a time: what is still accepted has to mean the same.
    let home = Home::new();
    let honest = Zip::skill([Entry::stored("pdf/x", "abc")]).bytes();
    let (mut accepted, mut tried) = (0, 0);
    for at in 0..honest.len() {
        for bit in [0, 3, 7] {
            let mut bytes = honest.clone();
            bytes[at] ^= 1 << bit;
            tried += 1;
            accepted += usize::from(agree(&home, &format!("byte {at}, bit {bit}"), &bytes));
        }
    }
    assert!(tried > 500 && accepted > 10 && accepted < tried / 3, "{accepted} of {tried}");
}
