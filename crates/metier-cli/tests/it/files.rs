//! `metier files`: what a skill consists of, without reading any of it.
//!
//! Links and special files are listed and never followed or opened.

use std::os::unix::fs::{PermissionsExt, symlink};

use metier_testkit::TestHome;
use serde_json::json;

use crate::support::{document, fifo, json, keys, run, run_unprivileged, shown, texts};

const SKILL: &str = "project/.agents/skills/pdf";

fn pdf(home: &TestHome) {
    home.skill(SKILL, "pdf", "Fills in forms.");
    home.write(&format!("{SKILL}/references/forms.md"), "# Forms\n");
    let script = home.write(&format!("{SKILL}/scripts/fill.py"), "print(1)\n");
    std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).expect("chmod");
    home.write(&format!("{SKILL}/assets/form.bin"), [0; 3000]);
    symlink("references/forms.md", home.path().join(SKILL).join("link.md")).expect("link");
}

#[test]
fn files_are_listed_with_kind_and_size() {
    let home = TestHome::new();
    pdf(&home);
    insta::assert_snapshot!(shown(&home, &run(&home, &["files", "pdf"])), @"
    exit: 0
    ---- stdout
    KIND      SIZE    FILE
    markdown  62 B    SKILL.md
    template  2.9 KB  assets/form.bin
    markdown  19 B    link.md (link, not read)
    markdown  8 B     references/forms.md
    script    9 B     scripts/fill.py

    ---- stderr
    5 files, 3.0 KB, below [T]/project/.agents/skills/pdf
    ");
}

#[test]
fn the_document_names_the_skill_and_its_files() {
    let home = TestHome::new();
    pdf(&home);
    let document = json(&home, &["files", "pdf", "--json"]);
    assert_eq!(keys(&document), ["files", "path", "skill", "truncated"]);
    assert_eq!(
        (&document["skill"], &document["truncated"]),
        (&json!("project:pdf"), &json!(false))
    );
    assert_eq!(document["path"], format!("[T]/{SKILL}"));
    assert_eq!(
        document["files"][3],
        json!({ "path": "references/forms.md", "kind": "markdown", "bytes": 8, "executable": false, "link": false })
    );
    assert_eq!(
        texts(&document["files"], "path"),
        ["SKILL.md", "assets/form.bin", "link.md", "references/forms.md", "scripts/fill.py"]
    );
    assert_eq!(document["files"][2]["link"], json!(true));
    assert_eq!(document["files"][4]["executable"], json!(true));
}

#[test]
fn a_builtin_skill_has_files_too() {
    let home = TestHome::new();
    let document = json(&home, &["files", "write-skill", "--json"]);
    assert_eq!(texts(&document["files"], "path"), ["SKILL.md", "references/descriptions.md"]);
}

#[test]
fn special_files_are_listed_and_nothing_waits_for_them() {
    let home = TestHome::new();
    pdf(&home);
    fifo(&home.path().join(SKILL).join("pipe"));
    let document = json(&home, &["files", "pdf", "--json"]);
    assert!(texts(&document["files"], "path").contains(&"pipe"));
}

#[test]
fn a_folder_that_cannot_be_listed_is_reported() {
    let home = TestHome::new();
    pdf(&home);
    let closed = home.path().join(SKILL).join("references");
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).expect("chmod");
    let Some(output) = run_unprivileged(&home, &["files", "pdf", "--json"]) else { return };
    let report = document(&home, &output, 0);
    assert_eq!(report["truncated"], json!(true));
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).expect("chmod");
}

#[test]
fn a_skill_that_is_not_there_is_an_error_with_the_nearest_name() {
    let home = TestHome::new();
    pdf(&home);
    let error = document(&home, &run(&home, &["files", "pfd", "--json"]), 1);
    assert_eq!(error["error"]["code"], "SkillNotFound");
}

#[test]
fn a_name_of_foreign_bytes_is_listed_and_cannot_take_over_the_terminal() {
    use std::os::unix::ffi::OsStrExt;
    let home = TestHome::new();
    pdf(&home);
    let dir = home.path().join(SKILL);
    for name in [b"od\xffd.md".as_slice(), b"esc\x1b[2J.md"] {
        std::fs::write(dir.join(std::ffi::OsStr::from_bytes(name)), "x").expect("writes");
    }
    let output = run(&home, &["files", "pdf"]);
    assert!(output.stdout.contains("od\u{fffd}d.md"), "{output:?}");
    assert!(output.stdout.contains("esc\\x1b[2J.md"), "{output:?}");
}
