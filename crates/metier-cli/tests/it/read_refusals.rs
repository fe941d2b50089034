//! What `metier read` refuses, each with its stable code, exit code 1 and a word on what to do:
//! paths that leave the skill, links, special and binary files, sizes, permissions.

use std::os::unix::fs::{PermissionsExt, symlink};

use metier_testkit::TestHome;

use crate::support::{METIER, document, fifo, run, run_unprivileged, shown};

const SKILL: &str = "home/.agents/skills/pdf";

/// A skill with a trap of every kind, beside a secret.
fn trapped() -> TestHome {
    let home = TestHome::new();
    home.skill(SKILL, "pdf", "Fills in forms.");
    let secret = home.write("project/secret.md", "SECRET");
    home.write(&format!("{SKILL}/references/a.md"), "# A\n");
    home.write(&format!("{SKILL}/.env"), "SECRET");
    home.write(&format!("{SKILL}/binary.md"), b"PNG\0\0SECRET");
    home.write(&format!("{SKILL}/latin.md"), b"caf\xe9 SECRET");
    home.write(&format!("{SKILL}/large.md"), vec![b'x'; 2_000_001]);
    let dir = home.path().join(SKILL);
    symlink(&secret, dir.join("link.md")).expect("link");
    symlink("references/a.md", dir.join("inside.md")).expect("link");
    std::fs::hard_link(&secret, dir.join("hard.md")).expect("hard link");
    fifo(&dir.join("pipe"));
    home
}

/// The code that reading `path` ends in.
fn code(home: &TestHome, path: &str, more: &[&str]) -> String {
    let output = run(home, &[&["read", "pdf", path, "--json"], more].concat());
    let report = document(home, &output, 1);
    assert!(!output.stdout.contains("SECRET"), "{path}: {output:?}");
    let error = &report["error"];
    assert!(error["help"].as_str().is_some_and(|help| !help.is_empty()), "{path}: {error}");
    error["code"].as_str().expect("a code").to_owned()
}

#[test]
fn a_refused_path_has_its_code_raw_or_not() {
    let home = trapped();
    let absolute = home.path().join("project/secret.md").to_string_lossy().into_owned();
    let blocked = "PathTraversalBlocked";
    for (path, expected) in [
        ("../../../secret.md", blocked),
        ("references/../../x", blocked),
        (&absolute, blocked),
        ("~/x.md", "IoError"),
        ("", blocked),
        (".env", "NotAllowed"),
        ("link.md", blocked),
        ("inside.md", blocked),
        ("hard.md", "NotAllowed"),
        ("pipe", "NotAllowed"),
        ("references", "NotAllowed"),
        ("large.md", "FileTooLarge"),
        ("references/none.md", "IoError"),
        ("references/A.md", "IoError"),
    ] {
        assert_eq!(code(&home, path, &[]), expected, "{path}");
        assert_eq!(code(&home, path, &["--raw"]), expected, "{path} --raw");
        assert_eq!(code(&home, path, &["--section", "A"]), expected, "{path} --section");
    }
    // Text is asked for, so what is no text is refused; raw takes any bytes.
    for path in ["binary.md", "latin.md"] {
        assert_eq!(code(&home, path, &[]), "NotText", "{path}");
        assert_eq!(run(&home, &["read", "pdf", path, "--raw"]).code, 0, "{path} --raw");
    }
}

#[test]
fn a_refusal_says_what_to_do() {
    let home = trapped();
    insta::assert_snapshot!(shown(&home, &run(&home, &["read", "pdf", "../secret.md"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: `../secret.md`: the path contains `..` [path-parent]
    help: name a file below the skill's directory, such as references/a.md
    ");
    insta::assert_snapshot!(shown(&home, &run(&home, &["read", "pdf", "hard.md"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: hard.md: it is a hard link: another directory entry names the same file
    help: hidden files, links and special files of a skill are never read
    ");
    insta::assert_snapshot!(shown(&home, &run(&home, &["read", "pdf", ".env", "--raw"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: `.env`: files whose names start with a dot are not read [path-dotfile]
    help: hidden files, links and special files of a skill are never read
    ");
}

#[test]
fn a_body_of_ten_megabytes_is_a_coded_error() {
    let home = TestHome::new();
    let text = format!("---\nname: big\ndescription: d\n---\n{}", "A line.\n".repeat(1_250_000));
    home.write("home/.agents/skills/big/SKILL.md", text);
    for args in [&["read", "big", "--json"][..], &["read", "big", "--raw", "--json"]] {
        let report = document(&home, &run(&home, args), 1);
        assert_eq!(report["error"]["code"], "FileTooLarge", "{args:?}");
    }
}

#[test]
fn what_a_rule_denies_is_not_shown() {
    let home = TestHome::new();
    home.skill(SKILL, "pdf", "SECRET words.");
    home.write(
        "home/.agent/config.json",
        r#"{"permissions": [{"permission": "load_skill", "pattern": "*", "effect": "deny"}]}"#,
    );
    for flags in [&[][..], &["--yes"], &["--raw"], &["--block"], &["--arguments", "x"]] {
        let output = run(&home, &[&["read", "pdf", "--json"], flags].concat());
        assert_eq!(document(&home, &output, 3)["error"]["code"], "NotAllowed", "{flags:?}");
        assert!(!output.stdout.contains("SECRET"));
    }
}

#[test]
fn a_body_that_is_no_text_is_a_coded_error() {
    let home = TestHome::new();
    home.write("home/.agents/skills/nul/SKILL.md", b"---\nname: nul\ndescription: d\n---\na\0b\n");
    home.write(
        "home/.agents/skills/latin/SKILL.md",
        b"---\nname: latin\ndescription: d\n---\n\xe9\n",
    );
    for name in ["nul", "latin"] {
        let report = document(&home, &run(&home, &["read", name, "--json"]), 1);
        assert_eq!(report["error"]["code"], "NotText", "{name}");
    }
}

#[test]
fn a_file_without_permission_is_a_coded_error() {
    let home = trapped();
    let file = home.write(&format!("{SKILL}/closed.md"), "SECRET");
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o000)).expect("chmod");
    let args = ["read", "pdf", "closed.md", "--json"];
    let Some(output) = run_unprivileged(&home, &args) else { return };
    let report = document(&home, &output, 1);
    assert_eq!(report["error"]["code"], "IoError");
    let message = report["error"]["message"].as_str().expect("a text");
    assert!(message.contains("closed.md") && message.contains("denied"), "{message}");
}

/// Case 34 of the list of path cases: a path is text, so bytes that are none (here overlong dots)
/// end at the command line.
#[test]
fn a_path_that_is_not_utf8_never_reaches_the_loader() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let home = trapped();
    for bytes in
        [b"\xc0\xae\xc0\xae/secret.md".as_slice(), b"references/\xffa.md", b"\xed\xa0\x80.md"]
    {
        for raw in [None, Some("--raw")] {
            let mut command = home.command(METIER);
            command.args(["read", "pdf"]).arg(OsStr::from_bytes(bytes)).args(raw);
            let output = TestHome::finish(&mut command);
            assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{bytes:?}: {output:?}");
            assert!(output.stderr.contains("invalid UTF-8"), "{output:?}");
        }
    }
}

/// Case 66: another file system, or another part of this one, mounted inside a skill.
#[test]
fn what_is_mounted_inside_a_skill_is_not_read() {
    let home = trapped();
    let outside = home.path().join("outside");
    home.write("outside/secret.md", "SECRET");
    home.write(&format!("{SKILL}/mounted/own.md"), "own");
    home.write(&format!("{SKILL}/one.md"), "own");
    let mounted = |script: &str| {
        let mut command = home.command("unshare");
        command.args(["--mount", "sh", "-c", script, METIER]).arg(&outside);
        TestHome::finish(command.arg(home.path().join(SKILL)))
    };
    if mounted("mount --bind \"$1\" \"$2/mounted\"").code != 0 {
        metier_testkit::not_tested(
            "this user may not mount, so a mount inside a skill was not tried",
        );
        return;
    }
    for script in [
        "mount --bind \"$1\" \"$2/mounted\" && exec \"$0\" read pdf mounted/secret.md --json",
        "mount --bind \"$1/secret.md\" \"$2/one.md\" && exec \"$0\" read pdf one.md --json",
        "mount -t tmpfs none \"$2/mounted\" && echo SECRET > \"$2/mounted/secret.md\" && exec \"$0\" read pdf mounted/secret.md --json",
    ] {
        let output = mounted(script);
        let report = document(&home, &output, 1);
        assert_eq!(report["error"]["code"], "PathTraversalBlocked", "{script}");
        assert!(!output.stdout.contains("SECRET"), "{output:?}");
    }
}

/// Listed a moment ago, gone now: files come and go all the while, and every answer is a text or a
/// coded error.
#[test]
fn a_file_that_vanishes_is_a_coded_error_and_never_a_crash() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let home = TestHome::new();
    home.skill(SKILL, "pdf", "Fills in forms.");
    let file = home.write(&format!("{SKILL}/references/a.md"), "text\n");
    let done = AtomicBool::new(false);
    let answers = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = std::fs::remove_file(&file);
                let _ = std::fs::write(&file, "text\n");
            }
        });
        let read = || run(&home, &["read", "pdf", "references/a.md", "--json"]);
        let list = || run(&home, &["files", "pdf", "--json"]);
        let answers: Vec<_> = (0..40).map(|_| (read(), list())).collect();
        done.store(true, Ordering::Relaxed);
        answers
    });
    for (read, list) in answers {
        let report = read.json();
        let fine = matches!(report["text"].as_str(), Some("text\n" | ""));
        assert!(fine || report["error"]["code"] == "IoError", "{read:?}");
        assert_eq!(list.code, 0, "{list:?}");
    }
}
