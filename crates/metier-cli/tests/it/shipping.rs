//! `metier pack`, `install`, `uninstall`, `verify` and `restore`, from the outside: what is printed, exit
//! codes, and what is on the disk.

use std::fs;

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{answer_on_terminal, files_below, json, keys, run, run_in, shown};

fn with_pack() -> TestHome {
    let home = TestHome::new();
    home.skill("src/pdf", "pdf", "Fill PDF forms.");
    home.write("src/pdf/scripts/fill.py", "print()\n");
    home.write("src/pdf/.env", "KEY=1\n");
    let packed = run_in(&home, "src", &["pack", "pdf", "-o", "../project/pdf.zip"]);
    assert_eq!(packed.code, 0, "{packed:?}");
    home
}

macro_rules! assert_shipped {
    ($home:expr, $output:expr, @$snapshot:literal) => {
        insta::with_settings!({filters => vec![
            (r"sha256:[0-9a-f]{64}", "[DIGEST]"),
            (r"\d+\.\d KB|\d+ B", "[SIZE]"),
        ]}, {
            insta::assert_snapshot!(shown($home, $output), @$snapshot);
        });
    };
}

#[test]
fn a_skill_travels_from_a_directory_through_an_archive_to_the_project_and_back() {
    let home = TestHome::new();
    home.skill("src/pdf", "pdf", "Fill PDF forms.");
    home.write("src/pdf/scripts/fill.py", "print()\n");
    home.write("src/pdf/.env", "KEY=1\n");
    assert_shipped!(&home, &run_in(&home, "src", &["pack", "pdf", "-o", "../project/pdf.zip"]), @"
    exit: 0
    ---- stdout
    packed [T]/src/../project/pdf.zip  [SIZE]
      [DIGEST]
      pdf  2 files, [SIZE]  [DIGEST]

    ---- stderr
    left out: .env (may hold secrets)
    ");
    let again = run_in(&home, "src", &["pack", "pdf", "-o", "../project/pdf.zip"]);
    assert_eq!(again.code, 1, "{again:?}");
    assert_shipped!(&home, &run(&home, &["install", "pdf.zip", "--dry-run"]), @"
    exit: 0
    ---- stdout
    install pdf  from ./pdf.zip (2 files, [SIZE])
      Fill PDF forms.
      scripts: scripts/fill.py
      [DIGEST]

    ---- stderr
    1 skill in the plan; nothing was changed
    ");
    assert!(!home.project().join(".agent").exists());
    assert_shipped!(&home, &run(&home, &["install", "pdf.zip"]), @"
    exit: 3
    ---- stdout

    ---- stderr
    error: installing pdf needs your confirmation
    help: see it with --dry-run; then: metier install --yes pdf.zip
    ");
    assert!(!home.project().join(".agent").exists());
    assert_shipped!(&home, &run(&home, &["install", "pdf.zip", "--yes"]), @"
    exit: 0
    ---- stdout
    installed pdf  [T]/project/.agent/skills/pdf

    ---- stderr
    ");
    assert!(run(&home, &["list"]).stdout.contains("pdf"));
    let trusted = json(&home, &["inspect", "pdf", "--json"]);
    assert_eq!(trusted["trust"], "trusted", "what was confirmed is trusted: {trusted}");
    assert_shipped!(&home, &run(&home, &["verify"]), @"
    exit: 0
    ---- stdout
    [DIGEST]  pdf  unchanged

    ---- stderr
    1 skill, none differs from the lock
    ");
    home.write("project/.agent/skills/pdf/scripts/fill.py", "evil()\n");
    assert_ne!(json(&home, &["inspect", "pdf", "--json"])["trust"], "trusted");
    assert_shipped!(&home, &run(&home, &["verify"]), @"
    exit: 1
    ---- stdout
    [DIGEST]  pdf  modified
      changed: scripts/fill.py

    ---- stderr
    1 skill not as locked; `metier install --force` brings back what was installed, and keeps a backup
    ");
    assert_eq!(
        run(&home, &["install", "--yes"]).code,
        1,
        "a local edit is not lost without a word"
    );
    assert_eq!(run(&home, &["install", "--locked", "--force", "--yes"]).code, 0);
    assert_eq!(run(&home, &["verify"]).code, 0);
    assert_shipped!(&home, &run(&home, &["uninstall", "pdf", "--yes"]), @"
    exit: 0
    ---- stdout
    uninstalled pdf  [T]/project/.agent/skills/pdf

    ---- stderr
    to restore it: metier restore pdf
    ");
    assert!(!run(&home, &["list"]).stdout.contains("pdf"));
    assert_eq!(run(&home, &["restore", "pdf", "--yes"]).code, 0);
    assert_eq!(run(&home, &["verify"]).code, 0);
}

#[test]
fn the_plan_that_is_printed_is_the_one_that_is_carried_out() {
    let home = with_pack();
    let without = |mut value: Value| {
        value.as_object_mut().expect("an object").remove("dry_run").expect("says which it is");
        value
    };
    let shown = json(&home, &["install", "pdf.zip", "--dry-run", "--json"]);
    let done = json(&home, &["install", "pdf.zip", "--yes", "--json"]);
    assert_eq!((&shown["dry_run"], &done["dry_run"]), (&json!(true), &json!(false)));
    assert_eq!(keys(&done), ["dry_run", "left_out", "skills", "target"]);
    assert_eq!(without(shown), without(done));
    let gone = json(&home, &["uninstall", "pdf", "--dry-run", "--json"]);
    assert_eq!(without(gone), without(json(&home, &["uninstall", "pdf", "--yes", "--json"])));
}

#[test]
fn each_error_says_what_is_wrong_and_what_to_do() {
    let home = with_pack();
    home.write("project/broken.zip", "PK\x03\x04 and no more");
    home.write("project/.agent/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Mine.\n---\n");
    for (args, code, exit, said) in [
        (&["install", "anthropics/skills"][..], "source-not-allowed", 3, "sources.allow"),
        (&["install", "none.zip"], "source-not-found", 1, "there is nothing at"),
        (&["install", "broken.zip"], "zip-end", 1, "no end record"),
        (&["install", "pdf.zip", "--yes"], "already-exists", 1, "was not installed by Metier"),
        (&["install", "pdf.zip", "--skill", "csv"], "not-in-source", 1, "it has: pdf"),
        (&["uninstall", "pdf", "--yes"], "not-installed", 1, "metier delete"),
        (&["verify", "none"], "not-installed", 1, "is not installed here"),
        (&["pack", "pdf.rar", "-o", "x.rar"], "usage", 2, ".tar.gz"),
    ] {
        let mut args = args.to_vec();
        args.push("--json");
        let output = run(&home, &args);
        let error = &output.json()["error"];
        assert_eq!(
            (error["code"].as_str(), output.code),
            (Some(code), exit),
            "{args:?}: {output:?}"
        );
        assert!(output.stdout.contains(said), "{args:?}: {output:?}");
    }
    assert!(
        fs::read_to_string(home.project().join(".agent/skills/pdf/SKILL.md"))
            .expect("reads")
            .contains("Mine.")
    );
}

#[test]
fn at_a_terminal_the_plan_is_shown_and_no_means_no() {
    let home = with_pack();
    let Some(output) = answer_on_terminal(&home, &["install", "pdf.zip"], "Install?", "n\n") else {
        return;
    };
    assert_eq!(output.code, 3, "{output:?}");
    let text = format!("{}{}", output.stdout, output.stderr);
    assert!(text.contains("scripts/fill.py") && text.contains("sha256:"), "{text}");
    assert!(!home.project().join(".agent").exists());
    let Some(output) = answer_on_terminal(&home, &["install", "pdf.zip"], "Install?", "y\n") else {
        return;
    };
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(run(&home, &["verify"]).code, 0);
}

#[test]
fn ten_processes_at_once_install_ten_skills() {
    let home = TestHome::new();
    for number in 0..10 {
        home.skill(&format!("src/s{number}"), &format!("s{number}"), "Works.");
    }
    std::thread::scope(|scope| {
        for number in 0..10 {
            let home = &home;
            scope.spawn(move || {
                let output = run(home, &["install", &format!("../src/s{number}"), "--yes"]);
                assert_eq!(output.code, 0, "{output:?}");
            });
        }
    });
    let verified = json(&home, &["verify", "--json"]);
    let states: Vec<&Value> =
        verified["skills"].as_array().expect("skills").iter().map(|it| &it["state"]).collect();
    assert_eq!(states, vec![&json!("unchanged"); 10]);
}

#[test]
fn what_is_for_the_user_is_the_users() {
    let home = with_pack();
    assert_eq!(run(&home, &["install", "pdf.zip", "--user", "--yes"]).code, 0);
    assert!(home.home().join(".agent/skills/pdf/SKILL.md").exists());
    assert!(
        home.home().join(".agent/skills.lock.json").exists()
            && !home.project().join(".agent").exists()
    );
    assert_eq!(run(&home, &["verify", "--user"]).code, 0);
    assert_eq!(run(&home, &["uninstall", "pdf", "--yes"]).code, 0, "found where it is");
    assert!(!home.home().join(".agent/skills/pdf").exists());
}

#[test]
fn a_project_that_is_a_skill_does_not_install_what_is_installed() {
    let home = TestHome::new();
    home.write("project/SKILL.md", "---\nname: p1\ndescription: The project.\n---\n\nText.\n");
    for _ in 0..2 {
        let output = run(&home, &["install", ".", "--yes"]);
        assert_eq!(output.code, 0, "{output:?}");
    }
    home.write("project/notes.md", "More.\n");
    for _ in 0..2 {
        let output = run(&home, &["update", "--all", "--yes"]);
        assert_eq!(output.code, 0, "{output:?}");
    }
    let installed = home.project().join(".agent/skills");
    assert_eq!(files_below(&installed), ["p1/SKILL.md", "p1/notes.md"]);
    assert!(!installed.join("p1/.agent").exists());
    // Nor does it matter what a skill there holds.
    home.write("project/.agent/skills/mine/con.txt", "x");
    let output = run(&home, &["install", ".", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn what_is_left_out_is_said_before_the_skills_and_caches_are_counted() {
    let home = TestHome::new();
    home.skill("src/pdf", "pdf", "Fill PDF forms.");
    for number in 0..300 {
        home.write(&format!("src/pdf/x{number}.pyc"), "x");
    }
    home.write("src/pdf/a/__pycache__/x", "x");
    home.write("src/pdf/a/.env", "KEY=1\n");
    let output = run(&home, &["install", "../src", "--dry-run"]);
    let lines: Vec<&str> = output.stdout.lines().take(4).collect();
    assert_eq!(
        lines[..3],
        [
            "left out: pdf/a/.env (may hold secrets)",
            "left out: pdf/a/__pycache__ (a cache)",
            "left out: 300 times *.pyc (a cache)",
        ]
    );
    assert!(lines[3].starts_with("install pdf"), "{output:?}");
}

#[test]
fn each_skill_that_is_uninstalled_has_its_way_back() {
    let home = TestHome::new();
    home.skill("src/a", "a", "Works.");
    home.skill("src/b", "b", "Works.");
    assert_eq!(run(&home, &["install", "../src", "--yes"]).code, 0);
    let output = run(&home, &["uninstall", "a", "b", "--yes"]);
    let said = "to restore them: metier restore a; metier restore b";
    assert!(output.stderr.contains(said), "{output:?}");
    // And what is replaced, in whose folder ever it is.
    assert_eq!(run(&home, &["install", "../src/a", "--user", "--yes"]).code, 0);
    home.skill("src/a", "a", "Works better.");
    let output = run(&home, &["update", "a", "--yes"]);
    assert!(output.stderr.contains("to go back: metier restore user:a"), "{output:?}");
    let output = run(&home, &["verify", "a"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("a  unchanged"), "{output:?}");
}

#[test]
fn a_project_that_is_a_skill_does_not_grow_when_two_folders_have_it() {
    let home = TestHome::new();
    home.write("project/SKILL.md", "---\nname: p1\ndescription: The project.\n---\n\nText.\n");
    for args in [
        &["install", ".", "--project", "--yes"][..],
        &["install", ".", "--project", "--agent", "claude", "--yes"],
    ] {
        let output = run(&home, args);
        assert_eq!(output.code, 0, "{output:?}");
    }
    for round in 0..3 {
        home.write("project/notes.md", format!("{round}\n"));
        for args in [
            &["update", "--all", "--project", "--yes"][..],
            &["update", "--all", "--project", "--agent", "claude", "--yes"],
        ] {
            let output = run(&home, args);
            assert_eq!(output.code, 0, "{output:?}");
        }
    }
    for folder in [".agent", ".claude"] {
        let installed = home.project().join(folder).join("skills");
        assert_eq!(files_below(&installed), ["p1/SKILL.md", "p1/notes.md"], "{folder}");
    }
}

#[test]
fn a_pack_holds_neither_an_earlier_one_nor_its_signatures() {
    let home = TestHome::new();
    home.skill("project/pdf", "pdf", "Fill PDF forms.");
    let pack = |args: &[&str]| run_in(&home, "project/pdf", &[&["pack", "."], args].concat());
    let first = pack(&["--json"]).json();
    home.write("project/pdf/pdf.zip.minisig", "an old signature");
    for round in 0..2 {
        let again = pack(&["--force"]);
        let said = again.stderr.contains("pdf.zip.minisig is of the archive that was there before");
        assert!(again.code == 0 && said, "{again:?}");
        let again = pack(&["--force", "--json"]).json();
        assert_eq!(again["digest"], first["digest"], "{round}: {again}");
        let reason = |name: &str| json!({"path": name, "reason": "earlier-pack"});
        assert_eq!(again["left_out"], json!([reason("pdf.zip"), reason("pdf.zip.minisig")]));
    }
    let planned = pack(&["--dry-run"]);
    assert!(planned.stderr.contains("an earlier pack"), "{planned:?}");
    // From elsewhere, into a folder of the skill.
    home.write("project/pdf/dist/keep.txt", "x");
    let args = ["pack", "../project/pdf", "-o", "../project/pdf/dist/a.zip", "--force", "--json"];
    let one = run_in(&home, "home", &args).json();
    assert_eq!(run_in(&home, "home", &args).json()["digest"], one["digest"]);
    // Into a folder that holds nothing else.
    fs::create_dir(home.project().join("pdf/only")).expect("a folder");
    let only = || pack(&["-o", "only/b.zip", "--force", "--json"]).json()["digest"].clone();
    assert_eq!(only(), only());
    fs::remove_dir_all(home.project().join("pdf/only")).expect("removes");
    // Another archive is a file of the skill.
    assert_eq!(pack(&["-o", "other.tar.gz", "--json"]).json()["skills"][0]["files"], 5);
}

#[test]
fn a_pack_replaces_regular_files_only_and_says_what_is_missing() {
    let home = TestHome::new();
    home.skill("project/src/pdf", "pdf", "Fill PDF forms.");
    home.skill("project/src/csv", "csv", "Read tables.");
    crate::support::fifo(&home.project().join("pipe.zip"));
    home.write("project/real.zip", "kept");
    std::os::unix::fs::symlink("real.zip", home.project().join("link.zip")).expect("links");
    for name in ["pipe.zip", "link.zip"] {
        let before = fs::symlink_metadata(home.project().join(name)).expect("there").file_type();
        let output = run(&home, &["pack", "src", "--force", "-o", name]);
        assert!(output.code == 1 && output.stderr.contains("not a regular file"), "{output:?}");
        let after = fs::symlink_metadata(home.project().join(name)).expect("there").file_type();
        assert_eq!(before, after, "{name}");
    }
    let output = run(&home, &["pack", "src", "-o", "no/such/a.zip"]);
    assert!(output.stderr.contains("its folder is missing"), "{output:?}");
    assert!(
        !output.stderr.contains(".metier-") && !output.stderr.contains("free space"),
        "{output:?}"
    );
    let output = run(&home, &["pack", "src", "--flat", "-o", "f.zip"]);
    assert!(output.code == 1 && output.stderr.contains("src has 2 skills"), "{output:?}");
    assert!(output.stderr.contains("--skill") && output.stderr.contains("csv, pdf"), "{output:?}");
}
