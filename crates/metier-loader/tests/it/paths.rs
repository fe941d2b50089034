//! The paths that must not be read, each with its stable code; and a race that must not be won.
//!
//! Numbers are those of the list of cases this table was made from. Cases 62, 71 and 76 (a growing
//! file, a name of foreign bytes, half a million files) have tests of their own here; 34 and 66
//! (bytes that are no text, a mount inside a skill) stand with the command line's tests.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use metier_fs::SkillRoot;
use metier_loader::{LoadError, ResourceLimits, ResourceQuery, load_resource};
use metier_testkit::{TestHome, ran_unprivileged};

fn read(root: &SkillRoot, path: &str) -> Result<String, LoadError> {
    load_resource(root, path, &ResourceQuery::default(), &ResourceLimits::default())
        .map(|loaded| loaded.text)
}

/// A skill with every trap in it, beside a secret.
fn trap() -> (TestHome, SkillRoot) {
    let home = TestHome::new();
    let dir = home.skill("skill", "skill", "A skill.");
    home.write("secret", "SECRET");
    home.skill("skill-b", "skill-b", "Another.");
    home.write("skill/references/a.md", "good");
    home.write("skill/%2e%2e%2f", "literal");
    home.write("skill/a[1]*.md", "literal");
    home.write("skill/-rf.md", "literal");
    home.write("skill/.env", "SECRET");
    home.write("skill/.git/config", "SECRET");
    home.write("skill/utf16.md", b"\xff\xfeh\0i\0");
    home.write("skill/latin.md", b"caf\xe9");
    home.write("skill/bom.md", "\u{feff}text");
    home.write("skill/caf\u{e9}.md", "composed");
    let at = |name: &str| dir.join(name);
    symlink("references/a.md", at("inside.md")).expect("link");
    symlink("../secret", at("out.md")).expect("link");
    symlink(home.path().join("secret"), at("absolute.md")).expect("link");
    symlink("..", at("up")).expect("link");
    symlink("../skill/references", at("back")).expect("link");
    symlink("loop.md", at("loop.md")).expect("link");
    symlink("nowhere", at("dangling.md")).expect("link");
    symlink("/proc/self/root", at("magic")).expect("link");
    symlink("/dev/zero", at("zero")).expect("link");
    symlink("references/a.md", at("chain0")).expect("link");
    for n in 0..41 {
        symlink(format!("chain{n}"), at(&format!("chain{}", n + 1))).expect("link");
    }
    std::fs::hard_link(home.path().join("secret"), at("hard.md")).expect("hard link");
    assert!(
        std::process::Command::new("mkfifo").arg(at("pipe")).status().expect("mkfifo").success()
    );
    std::os::unix::net::UnixListener::bind(at("socket")).expect("socket");
    let sparse = std::fs::File::create(at("sparse.md")).expect("file");
    sparse.set_len(10 << 30).expect("a sparse file");
    std::fs::write(at("odd").with_file_name(std::ffi::OsStr::from_bytes(b"od\xffd.md")), "odd")
        .expect("writes");
    let root = SkillRoot::open(&dir).expect("opens");
    (home, root)
}

#[test]
fn every_path_case_has_its_code_and_nothing_of_a_secret_is_read() {
    let (_home, root) = trap();
    let long_name = format!("{}.md", "a".repeat(300));
    let long_path = format!("{}/x", "a/".repeat(2500));
    let deep = format!("{}x", "a/".repeat(300));
    let blocked = "PathTraversalBlocked";
    #[rustfmt::skip]
    let cases: &[(&str, &str, &str)] = &[
        ("1", "references/a.md", "ok"), ("2", "./references/a.md", "ok"), ("3", "references//a.md", blocked),
        ("4", "references/../references/a.md", blocked), ("5", "../secret", blocked), ("6", "references/../../secret", blocked),
        ("7", "/etc/passwd", blocked), ("8", "//etc/passwd", blocked), ("9", "~/x", "IoError"), ("10", "$HOME/x", "IoError"),
        ("11", "file:///etc/passwd", blocked), ("12", "C:\\x", blocked), ("13", "C:x", blocked), ("14", "\\\\srv\\share", blocked),
        ("15", "\\\\?\\C:\\x", blocked), ("16", "a\\..\\..\\x", blocked), ("17", "..\\x", blocked), ("18", "", blocked),
        ("19", ".", blocked), ("20", "..", blocked), ("21", "references/", blocked), ("22", "references/.", blocked),
        ("23", "references/..", blocked), ("24", "a\0b", blocked), ("25", "a\nb", blocked), ("26", "a\rb", blocked),
        ("27a", "a\u{1b}[2J", blocked), ("27b", "a\u{85}b", blocked), ("28", "a\u{7f}b", blocked), ("29", &long_name, blocked),
        ("30", &long_path, blocked), ("31", &deep, blocked), ("32", "%2e%2e%2f", "ok"), ("33", "%252e%252e%252f", "IoError"),
        ("35", "\u{ff0e}\u{ff0e}\u{ff0f}secret", blocked), ("35b", "\u{ff0e}\u{ff0e}/secret", blocked),
        ("36a", "..\u{2215}secret", blocked), ("36b", "a\u{2044}b", blocked), ("36c", "a\u{29f8}b", blocked),
        ("37", "references/ a.md", blocked), ("38", "references/a.md ", blocked), ("39", "references/a.md.", blocked),
        ("40a", "CON", blocked), ("40b", "nul.txt", blocked), ("40c", "COM1", blocked), ("40d", "COM\u{b9}.md", blocked),
        ("40e", "references/LPT\u{b3}", blocked), ("40f", "CONIN$", blocked), ("41a", "a.md:stream", blocked),
        ("41b", "references/a.md::$DATA", blocked), ("42", "SKILL~1.MD", blocked), ("43", "references/A.md", "IoError"),
        ("44", "cafe\u{301}.md", "IoError"), ("45a", "references/a\u{202e}dm.md", blocked), ("45b", "a\u{200b}.md", blocked),
        ("46", "inside.md", blocked), ("47", "out.md", blocked), ("48", "absolute.md", blocked), ("49", "up/secret", blocked),
        ("50", "back/a.md", blocked), ("51", "chain41", blocked), ("52", "loop.md", blocked), ("53", "dangling.md", blocked),
        ("54", "magic/etc/passwd", blocked), ("55", "hard.md", "NotAllowed"), ("56", "pipe", "NotAllowed"),
        ("57", "socket", "NotAllowed"), ("58", "zero", blocked), ("59", "references", "NotAllowed"), ("61", "sparse.md", "FileTooLarge"),
        ("68", "../skill-b/SKILL.md", blocked), ("69", "a[1]*.md", "ok"), ("69b", "*.md", "IoError"), ("70", "-rf.md", "ok"),
        ("72a", "utf16.md", "NotText"), ("72b", "latin.md", "NotText"), ("73", "bom.md", "ok"), ("74", "SKILL.md", "ok"),
        ("75a", ".env", "NotAllowed"), ("75b", ".git/config", "NotAllowed"), ("75c", "references/.hidden", "NotAllowed"),
    ];
    let mut wrong = Vec::new();
    for (case, path, expected) in cases {
        let got = read(&root, path);
        let code = got.as_ref().map_or_else(|error| error.code().as_str(), |_| "ok");
        if code != *expected {
            wrong.push(format!("{case} {path:?}: {code} instead of {expected}"));
        }
        let printed = format!("{got:?}");
        assert!(!printed.contains("SECRET") && !printed.contains("root:"), "{case} read a secret");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Case 62. However fast it grows, no more than the limit is read, and what is read was in it.
#[test]
fn a_file_that_grows_while_it_is_read_stays_within_the_limit() {
    use std::io::Write;
    const LIMIT: u64 = 256 << 10;
    let home = TestHome::new();
    let dir = home.skill("skill", "skill", "A skill.");
    let file = home.write("skill/log.md", "start\n");
    let root = SkillRoot::open(&dir).expect("opens");
    let limits = ResourceLimits { file_bytes: LIMIT, excerpt_chars: usize::MAX };
    let done = AtomicBool::new(false);
    let (mut whole, mut refused, mut between) = (0, 0, 0);
    let mut wrong = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let line = "more\n".repeat(400);
            while !done.load(Ordering::Relaxed) {
                let Ok(mut file) = std::fs::File::create(&file) else { continue };
                for _ in 0..200 {
                    let _ = file.write_all(line.as_bytes());
                }
            }
        });
        // As long as it takes for both to happen, and then some; a loaded machine gets a minute.
        let (enough, end) = (Duration::from_secs(2), Duration::from_mins(1));
        let start = Instant::now();
        while start.elapsed() < enough || (between == 0 || refused == 0) && start.elapsed() < end {
            match load_resource(&root, "log.md", &ResourceQuery::default(), &limits) {
                Ok(loaded) => {
                    whole += 1;
                    between += u64::from(loaded.report.bytes_read > 6);
                    let fits = loaded.report.bytes_read as u64 <= LIMIT
                        && loaded.text.len() == loaded.report.bytes_read;
                    let known = loaded.text.lines().all(|line| "start more".contains(line));
                    if !fits || !known {
                        wrong.push(format!("{:?}", loaded.report));
                    }
                }
                Err(error) if error.code().as_str() == "FileTooLarge" => refused += 1,
                Err(error) => wrong.push(format!("{error:?}")),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    println!("{whole} reads within the limit ({between} of a grown file), {refused} refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(between > 0 && refused > 0, "the file did not grow over the limit meanwhile");
}

/// Case 71. The list shows such a name as well as it can; what it shows is not a file's name, and
/// there is no other way to ask for it: a path is text.
#[test]
fn a_name_of_foreign_bytes_is_listed_and_cannot_be_read() {
    let (home, root) = trap();
    let (files, _) =
        metier_fs::list_files(&home.path().join("skill"), metier_fs::TreeLimits::default())
            .expect("lists");
    assert!(files.iter().any(|file| file.path == "od\u{fffd}d.md"));
    assert_eq!(read(&root, "od\u{fffd}d.md").expect_err("no such file").code().as_str(), "IoError");
}

/// Case 76. Hard links, because half a million of them are made in seconds; to a list a name is a
/// name.
#[test]
fn a_directory_of_half_a_million_files_is_listed_to_the_limit_and_says_so() {
    const FILES: u32 = 500_000;
    // A file system allows no more names of one file.
    const NAMES: u32 = 60_000;
    let (home, root) = trap();
    let many = home.path().join("skill/many");
    std::fs::create_dir(&many).expect("directory");
    let mut first = many.join("0");
    for number in 0..FILES {
        let path = many.join(number.to_string());
        if number % NAMES == 0 {
            std::fs::write(&path, "x").expect("writes");
            first = path;
        } else if let Err(error) = std::fs::hard_link(&first, &path) {
            metier_testkit::not_tested(format_args!(
                "only {number} of {FILES} files could be made: {error}"
            ));
            return;
        }
    }
    let limits = metier_fs::TreeLimits::default();
    let start = Instant::now();
    let (files, truncated) =
        metier_fs::list_files(&home.path().join("skill"), limits).expect("lists");
    println!("{} of {FILES} files listed in {:?}", files.len(), start.elapsed());
    assert!(truncated && files.len() <= limits.entries, "{} files", files.len());
    assert_eq!(read(&root, "references/a.md").expect("still read"), "good");
}

#[test]
fn the_file_systems_root_is_no_skill_and_a_replaced_directory_is_not_read() {
    assert!(SkillRoot::open(Path::new("/")).is_err());
    let (home, root) = trap();
    std::fs::rename(home.path().join("skill"), home.path().join("moved")).expect("renames");
    home.write("skill/references/a.md", "planted");
    assert_eq!(read(&root, "references/a.md").expect("still the one that was opened"), "good");
}

#[test]
fn a_file_without_permission_is_an_error_with_a_code() {
    use std::os::unix::fs::PermissionsExt;
    if ran_unprivileged("paths::a_file_without_permission_is_an_error_with_a_code") {
        return;
    }
    let (home, root) = trap();
    let file = home.write("skill/closed.md", "closed");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).expect("chmod");
    assert_eq!(read(&root, "closed.md").expect_err("refused").code().as_str(), "IoError");
}

/// A directory is swapped with a link to another one for ten seconds. A naive check (look, then
/// open) is fooled in the same time, which shows that the race is real.
#[test]
fn swapping_a_link_during_the_read_gains_nothing() {
    let home = TestHome::new();
    home.skill("skill", "skill", "A skill.");
    home.write("outside/a.md", "SECRET");
    home.write("skill/real/a.md", "good");
    let dir = home.path().join("skill");
    let (real, refs, link) = (dir.join("real"), dir.join("references"), dir.join("link"));
    symlink(home.path().join("outside"), &link).expect("link");
    std::fs::rename(&real, &refs).expect("starts as a directory");
    let root = SkillRoot::open(&dir).expect("opens");
    let done = AtomicBool::new(false);
    let (mut tries, mut good, mut naive_escapes) = (0u64, 0u64, 0u64);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // references: directory -> link -> directory
                let _ = std::fs::rename(&refs, &real);
                let _ = std::fs::rename(&link, &refs);
                let _ = std::fs::rename(&refs, &link);
                let _ = std::fs::rename(&real, &refs);
            }
        });
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            tries += 1;
            match read(&root, "references/a.md") {
                Ok(text) => {
                    assert_eq!(text, "good", "escaped after {tries} tries");
                    good += 1;
                }
                Err(error) => {
                    assert!(
                        matches!(error.code().as_str(), "IoError" | "PathTraversalBlocked"),
                        "{error:?}"
                    );
                }
            }
            naive_escapes +=
                u64::from(naive(&dir, "references/a.md").is_some_and(|text| text == "SECRET"));
        }
        done.store(true, Ordering::Relaxed);
    });
    println!(
        "{tries} tries, {good} good reads, 0 escapes; the naive check escaped {naive_escapes} times"
    );
    assert!(good > 0, "the file was never there");
    assert!(naive_escapes > 0, "the race was not real, so nothing was shown");
}

/// What others do: resolve, compare the prefix, then open by name.
fn naive(dir: &Path, path: &str) -> Option<String> {
    let real = std::fs::canonicalize(dir.join(path)).ok()?;
    real.starts_with(dir).then(|| std::fs::read_to_string(dir.join(path)).ok()).flatten()
}
