//! Packing: the same bytes everywhere, nothing that should stay, and what comes out is what went in.
//! Whatever is packed has to be accepted by our own reader.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use metier_pack::{
    ArchiveKind, LeftOutReason, PackLayout, PackLimits, PackOptions, inspect_archive, plan_pack,
};
use proptest::prelude::*;

use crate::sandbox_home::Home;
use crate::zip_builder::{Entry, SKILL, Zip};

fn options(kind: ArchiveKind, layout: PackLayout) -> PackOptions {
    let mut options = PackOptions::default();
    options.kind = kind;
    options.layout = layout;
    options
}

fn sample(home: &Home, at: &str) {
    home.write(&format!("{at}/SKILL.md"), SKILL);
    home.write(&format!("{at}/crlf.txt"), "a\r\nb\r\n");
    home.write(&format!("{at}/技能/日本語 ファイル.md"), "text");
    home.write(
        &format!("{at}/large.bin"),
        (0..3_000_000u32).map(|n| n.wrapping_mul(n).to_le_bytes()[1]).collect::<Vec<u8>>(),
    );
    home.write(&format!("{at}/metadata.json"), "{}");
    let script = home.write(&format!("{at}/scripts/run.sh"), "#!/bin/sh\n");
    executable(&script);
    fs::create_dir_all(home.path(&format!("{at}/empty/inner"))).expect("dirs");
}

#[cfg(unix)]
fn executable(path: &Path) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("chmod");
}

#[cfg(not(unix))]
fn executable(_: &Path) {}

const ALL: [(ArchiveKind, PackLayout); 4] = [
    (ArchiveKind::Zip, PackLayout::Folders),
    (ArchiveKind::Zip, PackLayout::Flat),
    (ArchiveKind::TarGz, PackLayout::Folders),
    (ArchiveKind::TarGz, PackLayout::Flat),
];

#[test]
fn two_packs_of_one_tree_are_equal_whatever_the_disk_says_about_times_modes_and_order() {
    let home = Home::new();
    sample(&home, "one/pdf");
    // Made in another order, with other modes, and later.
    fs::create_dir_all(home.path("two/renamed/empty/inner")).expect("dirs");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    sample(&home, "two/renamed");
    #[cfg(unix)]
    fs::set_permissions(
        home.path("two/renamed/crlf.txt"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .expect("chmod");
    for (kind, layout) in ALL {
        let pack = |from: &str, to: &str| {
            plan_pack(&home.path(from), options(kind, layout))
                .expect("plans")
                .write(&home.path(to))
                .expect("packs")
        };
        let (one, two) = (pack("one/pdf", "one.pack"), pack("two/renamed", "two.pack"));
        assert_eq!(one.digest, two.digest, "{kind:?} {layout:?}");
        assert_eq!(
            fs::read(home.path("one.pack")).expect("reads"),
            fs::read(home.path("two.pack")).expect("reads")
        );
    }
}

#[test]
fn what_was_packed_is_installed_bit_for_bit() {
    for (kind, layout) in ALL {
        let home = Home::new();
        sample(&home, "pdf");
        let packed = plan_pack(&home.path("pdf"), options(kind, layout)).expect("plans");
        let packed = packed.write(&home.path("out.pack")).expect("packs");
        let view = home.install("out.pack").expect("installs");
        assert_eq!(view.skills[0].tree, packed.plan.skills[0].tree, "{kind:?} {layout:?}");
        let all = home.snapshot();
        let below = |top: &str| -> BTreeMap<String, String> {
            let below = all.iter().filter_map(|(path, what)| Some((path.strip_prefix(top)?, what)));
            // Modes of directories and for others are the umask's.
            below
                .map(|(path, what)| {
                    (path.to_owned(), what.split(' ').next_back().unwrap_or_default().to_owned())
                })
                .filter(|(path, _)| !path.ends_with('/') && path.contains('.'))
                .collect()
        };
        assert_eq!(below("pdf/"), below("project/.agent/skills/pdf/"), "{kind:?} {layout:?}");
        assert!(home.path("project/.agent/skills/pdf/empty/inner").is_dir());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &str| {
                fs::metadata(home.path("project/.agent/skills/pdf").join(path))
                    .expect("there")
                    .permissions()
                    .mode()
            };
            assert_eq!((mode("scripts/run.sh") & 0o100, mode("crlf.txt") & 0o111), (0o100, 0));
        }
    }
}

#[cfg(unix)]
#[test]
fn secrets_caches_version_control_and_links_stay_and_are_named() {
    let home = Home::new();
    home.write("pdf/SKILL.md", SKILL);
    home.write("pdf/.env", "KEY=1");
    home.write("pdf/.git/config", "x");
    home.write("pdf/scripts/__pycache__/x.pyc", "x");
    home.write("pdf/keys/id_ed25519", "x");
    home.write("pdf/.gitignore", "x");
    std::os::unix::fs::symlink(home.path("outside/secret"), home.path("pdf/link")).expect("link");
    fs::hard_link(home.path("outside/secret"), home.path("pdf/hard")).expect("link");
    let plan = plan_pack(&home.path("pdf"), PackOptions::default()).expect("plans");
    let left: Vec<(&str, LeftOutReason)> =
        plan.left_out.iter().map(|it| (it.path.as_str(), it.reason)).collect();
    assert_eq!(
        left,
        [
            (".env", LeftOutReason::Secret),
            (".git", LeftOutReason::VersionControl),
            ("hard", LeftOutReason::HardLink),
            ("keys/id_ed25519", LeftOutReason::Secret),
            ("link", LeftOutReason::Link),
            ("scripts/__pycache__", LeftOutReason::Cache),
        ]
    );
    plan.write(&home.path("out.zip")).expect("packs");
    let bytes = fs::read(home.path("out.zip")).expect("reads");
    let files = inspect_archive(&bytes[..], &PackLimits::default()).expect("sound");
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["manifest.json", "pdf/.gitignore", "pdf/SKILL.md"]);
    assert!(!bytes.windows(6).any(|it| it == b"secret"));
}

#[test]
fn an_archive_that_does_not_fit_its_own_list_is_refused() {
    let home = Home::new();
    home.write("pdf/SKILL.md", SKILL);
    home.write("pdf/a.md", "as it was packed");
    plan_pack(&home.path("pdf"), PackOptions::default())
        .expect("plans")
        .write(&home.path("out.zip"))
        .expect("packs");
    // The list of one archive with the files of another.
    let manifest = manifest_of(&home, "out.zip");
    home.write(
        "mixed.zip",
        Zip::of([
            Entry::deflated("manifest.json", manifest),
            Entry::deflated("pdf/SKILL.md", SKILL),
            Entry::deflated("pdf/a.md", "as it was changed"),
        ])
        .bytes(),
    );
    let error = home.install("mixed.zip").expect_err("refused");
    assert_eq!(
        (error.code(), error.to_string().contains("pdf`: a.md")),
        ("manifest-mismatch", true),
        "{error}"
    );
    home.install("out.zip").expect("installs");
}

#[test]
fn a_list_of_digests_that_is_damaged_or_of_another_version_is_not_taken_for_none() {
    let home = Home::new();
    home.write("pdf/SKILL.md", SKILL);
    home.write("pdf/a.md", "as it was packed");
    plan_pack(&home.path("pdf"), PackOptions::default())
        .expect("plans")
        .write(&home.path("out.zip"))
        .expect("packs");
    let whole = String::from_utf8(manifest_of(&home, "out.zip")).expect("text");
    let install = |manifest: &str| {
        let entries = [
            Entry::deflated("manifest.json", manifest),
            Entry::deflated("pdf/SKILL.md", SKILL),
            Entry::deflated("pdf/a.md", "as it was packed"),
        ];
        home.write("mixed.zip", Zip::of(entries).bytes());
        home.install("mixed.zip")
    };
    let tree = whole.find("\"tree\"").expect("a tree");
    let without_tree =
        format!("{}{}", &whole[..tree], &whole[whole[tree..].find('\n').expect("a line") + tree..]);
    for damaged in [
        whole[..whole.len() - 10].to_owned(),
        format!("\u{feff}{whole}"),
        whole.replace("metier-pack-1", "metier-pack-2"),
        whole.replace("metier-pack-1", "metier-pack-1 "),
        whole.replacen("\"skills\"", "\"skills\": {}, \"skills\"", 1),
        whole.replace("\"files\"", "\"file\""),
        without_tree,
        whole.replacen("\"tree\"", "\"version\": \"9\", \"tree\"", 1),
        whole.replacen("\"tree\"", "\"executable\": [\"a.md\"], \"tree\"", 1),
    ] {
        let error = install(&damaged).expect_err(&damaged);
        assert_eq!(error.code(), "manifest-mismatch", "{error}: {damaged}");
    }
    install(&whole).expect("installs");
    // Files of other programs that have this name.
    for other in ["{\"name\": \"app\"}", "not JSON", "{\"format\": 3}", "[]"] {
        install(other).unwrap_or_else(|error| panic!("{other}: {error}"));
    }
}

/// The `manifest.json` of a pack, by way of the program that everybody has.
fn manifest_of(home: &Home, zip: &str) -> Vec<u8> {
    let out = std::process::Command::new("unzip")
        .arg("-p")
        .arg(home.path(zip))
        .arg("manifest.json")
        .output();
    out.expect("unzip runs").stdout
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    // Names with a letter in front, so that none is a device's (`nul`, `con`), which is refused.
    #[test]
    fn any_tree_comes_back_from_both_formats(
        files in proptest::collection::btree_map("w[a-z]{0,2}(/w[a-zé]{0,2}){0,3}", proptest::collection::vec(any::<u8>(), 0..400), 0..8),
    ) {
        let home = Home::new();
        home.write("pdf/SKILL.md", SKILL);
        for (path, bytes) in &files {
            // A name that is a file and a folder at once cannot be made.
            let path = home.path(&format!("pdf/{path}.x"));
            if fs::create_dir_all(path.parent().expect("a parent")).is_ok() {
                let _ = fs::write(&path, bytes);
            }
        }
        for (kind, layout) in ALL {
            let plan = plan_pack(&home.path("pdf"), options(kind, layout)).expect("plans");
            let packed = plan.write(&home.path("out.pack")).expect("packs");
            let bytes = fs::read(home.path("out.pack")).expect("reads");
            let read = inspect_archive(&bytes[..], &PackLimits::default()).expect("sound");
            let number = read.iter().filter(|file| file.path != "manifest.json").count();
            prop_assert_eq!(number, packed.plan.skills[0].files);
            let view = home.target().expect("a target").preview_install(&home.request("out.pack")).expect("plans");
            prop_assert_eq!(view.skills[0].tree, packed.plan.skills[0].tree);
        }
    }

    #[test]
    fn no_damage_to_an_archive_makes_the_reader_panic_or_changes_a_file_unseen(
        at in any::<prop::sample::Index>(), bit in 0u8..8, which in 0usize..2,
    ) {
        let home = Home::new();
        home.write("pdf/SKILL.md", SKILL);
        home.write("pdf/a/b.txt", "some text, some text, some text");
        let kind = [ArchiveKind::Zip, ArchiveKind::TarGz][which];
        let plan = plan_pack(&home.path("pdf"), options(kind, PackLayout::Folders)).expect("plans");
        plan.write(&home.path("out.pack")).expect("packs");
        let mut bytes = fs::read(home.path("out.pack")).expect("reads");
        let honest = inspect_archive(&bytes[..], &PackLimits::default()).expect("sound");
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(files) = inspect_archive(&bytes[..], &PackLimits::default()) {
            // Times and hints are free; names, bytes and digests are not, unless both records agree.
            for (file, before) in files.iter().zip(&honest) {
                prop_assert!(file.digest == before.digest, "{}", file.path);
            }
        }
    }
}
