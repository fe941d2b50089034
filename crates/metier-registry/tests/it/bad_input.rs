//! Whatever stands on disk: a coded line each, nothing hangs, nothing stops the scan.
//!
//! Each test builds the trap with real files, pipes, sockets and links.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use metier_registry::{RootState, ScanOptions, scan};
use metier_testkit::{TestHome, ran_unprivileged, skill_text};

use crate::support::{codes, names, options, root, scan_one};

#[test]
fn a_root_that_is_missing_a_file_or_a_skill() {
    let home = TestHome::new();
    home.write("file", "x");
    let skill = home.skill("one", "one", "A skill.");
    assert_eq!(codes(&scan_one(&home.path().join("none"))), ["root-missing"]);
    let file = scan_one(&home.path().join("file"));
    assert_eq!(codes(&file), ["root-not-directory"]);
    assert_eq!(file.report.roots[0].state, RootState::NotDirectory);
    assert_eq!(names(&scan_one(&skill)), ["one"], "a root may itself be a skill");
}

#[test]
fn a_pipe_a_socket_and_a_directory_called_skill_md() {
    let home = TestHome::new();
    for dir in ["pipe", "socket", "dir/SKILL.md"] {
        std::fs::create_dir_all(home.path().join("root").join(dir)).expect("dirs");
    }
    let pipe = home.path().join("root/pipe/SKILL.md");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let _listener =
        std::os::unix::net::UnixListener::bind(home.path().join("root/socket/SKILL.md"))
            .expect("socket");
    home.skill("root/good", "good", "A skill.");
    let scan = scan_one(&home.path().join("root"));
    assert_eq!(names(&scan), ["good"]);
    assert_eq!(codes(&scan), ["file-not-regular"; 3]);
}

#[test]
fn a_huge_sparse_file_and_bytes_that_are_no_text() {
    let home = TestHome::new();
    let huge = home.write("root/huge/SKILL.md", "---\nname: huge\n");
    let file = std::fs::OpenOptions::new().write(true).open(huge).expect("opens");
    file.set_len(3 << 30).expect("a sparse file");
    home.write("root/latin/SKILL.md", b"---\nname: caf\xe9\ndescription: d\n---\n");
    home.write("root/wide/SKILL.md", b"\xff\xfe-\0-\0-\0");
    home.write("root/empty/SKILL.md", b"");
    home.write("root/none/SKILL.md", b"# Just text\n");
    home.write("root/open/SKILL.md", b"---\nname: open\ndescription: d\n");
    let scan = scan_one(&home.path().join("root"));
    assert_eq!(
        codes(&scan),
        [
            "file-empty",
            "file-not-utf8",
            "file-not-utf8",
            "frontmatter-missing",
            "frontmatter-too-large",
            "frontmatter-unclosed"
        ]
    );
    assert_eq!(scan.report.found, 6);
    assert_eq!(scan.report.valid, 0);
}

#[test]
fn a_skill_that_is_too_large_to_load_is_listed_with_a_word_about_it() {
    let home = TestHome::new();
    let huge = home.skill("root/huge", "huge", "A skill.").join("SKILL.md");
    let file = std::fs::OpenOptions::new().write(true).open(huge).expect("opens");
    file.set_len(3 << 30).expect("a sparse file");
    let scan = scan_one(&home.path().join("root"));
    assert_eq!(names(&scan), ["huge"]);
    let codes: Vec<&str> =
        scan.index.entries()[0].diagnostics.iter().map(|found| found.code.as_str()).collect();
    assert_eq!(codes, ["skill-unloadable"]);
}

#[test]
fn directories_and_files_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    if ran_unprivileged("bad_input::directories_and_files_that_may_not_be_read") {
        return;
    }
    let home = TestHome::new();
    home.skill("root/good", "good", "A skill.");
    let file = home.skill("root/file", "file", "A skill.").join("SKILL.md");
    let dir = home.skill("root/dir", "dir", "A skill.");
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("chmod");
    };
    set(&file, 0o000);
    set(&dir, 0o000);
    let scan = scan_one(&home.path().join("root"));
    set(&dir, 0o755);
    assert_eq!(names(&scan), ["good"]);
    assert_eq!(codes(&scan), ["directory-unreadable", "file-unreadable"]);
}

#[test]
fn links_that_dangle_loop_or_lead_back_are_lines_and_not_traps() {
    let home = TestHome::new();
    home.skill("root/group/real", "real", "A skill.");
    let at = |name: &str| home.path().join("root").join(name);
    let link =
        |target: &str, name: &str| std::os::unix::fs::symlink(target, at(name)).expect("link");
    link("nowhere", "dangling");
    link("self", "self");
    link(".", "group/up");
    link("../..", "group/root");
    link("group/real", "again");
    let scan = scan_one(&home.path().join("root"));
    assert_eq!(names(&scan), ["real"]);
    let entry = &scan.index.entries()[0];
    assert_eq!(entry.path, at("group/real"), "the real path, not the link");
    assert_eq!(entry.copies.len(), 1);
    assert_eq!(entry.copies[0].path, at("again"));
    assert_eq!(codes(&scan), ["link-cycle", "link-cycle", "link-cycle", "link-dangling"]);

    let closed = scan_off_links(&at(""));
    assert_eq!(names(&closed), ["real"]);
    assert!(codes(&closed).iter().all(|code| *code == "link-not-followed"), "{:?}", codes(&closed));
}

fn scan_off_links(path: &Path) -> metier_registry::Scan {
    scan(&[root(path)], &ScanOptions { follow_links: false, ..options() })
}

#[test]
fn a_maze_of_links_ends() {
    let home = TestHome::new();
    home.skill("root/a/skill", "skill", "A skill.");
    for at in 0..3000 {
        for (target, name) in [("..", "up"), ("../a", "a"), (".", "here")] {
            let link = home.path().join(format!("root/a/{name}{at}"));
            std::os::unix::fs::symlink(target, link).expect("link");
        }
    }
    let scan = scan_one(&home.path().join("root"));
    assert_eq!(names(&scan), ["skill"]);
    assert!(scan.report.notes.len() <= 1001, "a maze is not a million lines");
    assert!(scan.report.truncated, "and the report says that lines were left out");
    let again = scan_one(&home.path().join("root"));
    assert_eq!(scan.report.notes, again.report.notes, "the same lines are left out each time");
}

#[test]
fn limits_cut_the_same_entries_whatever_the_order_and_say_so() {
    let home = TestHome::new();
    for at in (0..40).rev() {
        home.skill(&format!("up/s{at:02}"), &format!("s{at:02}"), "A skill.");
    }
    for at in 0..40 {
        home.skill(&format!("down/s{at:02}"), &format!("s{at:02}"), "A skill.");
    }
    let cut = |dir: &str| {
        let scan =
            scan(&[root(&home.path().join(dir))], &ScanOptions { max_entries: 10, ..options() });
        assert_eq!(codes(&scan), ["walk-too-many"]);
        assert!(scan.report.truncated);
        (names(&scan).join(" "), scan.report.index_hash)
    };
    assert_eq!(cut("up"), cut("down"));
    assert_eq!(cut("up").0, "s00 s01 s02 s03 s04 s05 s06 s07 s08 s09");

    home.skill("deep/1/2/3/4/5/six", "six", "Six levels down.");
    home.skill("deep/1/2/3/4/5/6/seven", "seven", "Seven levels down.");
    let deep = scan_one(&home.path().join("deep"));
    assert_eq!(names(&deep), ["six"]);
    assert_eq!(codes(&deep), ["walk-too-deep"]);
    assert!(deep.report.truncated);
}

/// A large directory is probed while it is listed; what then does not count must leave no trace.
#[test]
fn a_large_directory_that_is_cut_or_a_skill_itself_gives_nothing_that_was_probed_early() {
    let home = TestHome::new();
    for at in (0..400).rev() {
        home.skill(&format!("root/s{at:03}"), &format!("s{at:03}"), "A skill.");
    }
    home.write("root/s399/SKILL.md", "no frontmatter");
    let dir = home.path().join("root");
    let whole = scan_one(&dir);
    assert_eq!((whole.report.found, whole.report.valid), (400, 399));
    let cut = scan(&[root(&dir)], &ScanOptions { max_entries: 250, ..options() });
    assert_eq!((cut.report.found, codes(&cut)), (250, vec!["walk-too-many"]));
    assert_eq!(names(&cut), names(&whole)[..250]);

    home.write("root/skill.md", skill_text("root", "A skill."));
    let itself = scan_one(&dir);
    assert_eq!((names(&itself), itself.report.found), (vec!["root"], 1));
    assert_eq!(codes(&itself), Vec::<&str>::new());
}

#[test]
fn other_spellings_hidden_folders_and_foreign_code() {
    let home = TestHome::new();
    home.write("root/lower/skill.md", skill_text("lower", "A skill."));
    home.write("root/mixed/Skill.md", skill_text("mixed", "A skill."));
    home.skill("root/.hidden/one", "hidden", "A skill.");
    home.skill("root/node_modules/pkg", "pkg", "A skill.");
    home.skill("root/outer", "outer", "A skill.");
    home.skill("root/outer/inner", "inner", "Inside a skill.");
    let scan = scan_one(&home.path().join("root"));
    assert_eq!(names(&scan), ["lower", "outer"]);
    assert_eq!(scan.index.entries()[0].diagnostics[0].code.as_str(), "file-name-case");
    assert_eq!(codes(&scan), ["file-name-case"], "the mixed spelling is reported");
}

#[test]
fn names_with_escapes_and_directories_that_are_no_text() {
    let home = TestHome::new();
    home.write("root/esc/SKILL.md", "---\nname: \"a\\e[2Jb\"\ndescription: d\n---\n");
    let odd = home.path().join("root").join(std::ffi::OsStr::from_bytes(b"caf\xe9\x1b[2J"));
    std::fs::create_dir_all(&odd).expect("odd directory");
    std::fs::write(odd.join("SKILL.md"), skill_text("odd", "A skill.")).expect("writes");
    let scan = scan_one(&home.path().join("root"));
    assert_eq!(names(&scan), ["odd"]);
    assert_eq!(codes(&scan), ["control-character"]);
    let json = serde_json::to_string(&scan.index.entries()).expect("JSON of any path");
    assert!(!json.contains('\u{1b}'));
}
