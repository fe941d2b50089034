//! Repositories on this machine as sources, with everything in their `.git` that makes git run a program: none of it
//! runs, whichever way they are named. Worktrees are repositories as well.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use metier_testkit::{TestHome, TestRepository};

use crate::support::{at, files_below, run};

/// A repository `clone` with a skill in `skills`.
fn with_clone() -> (TestHome, TestRepository) {
    let home = TestHome::new();
    home.skill("clone/skills/pdf", "pdf", "Fill PDF forms.");
    home.write("clone/skills/pdf/notes.md", "Notes.\n");
    let repository = TestRepository::new(home.path().join("clone"));
    repository.commit();
    (home, repository)
}

/// A program that leaves `RAN` behind.
fn trap(home: &TestHome) -> (PathBuf, PathBuf) {
    let marker = home.path().join("RAN");
    let trap = home.write("trap", format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display()));
    fs::set_permissions(&trap, PermissionsExt::from_mode(0o755)).expect("chmod");
    (trap, marker)
}

/// Makes everything in the folder of git data `at` that git could run a program by name `trap`.
fn plant(home: &TestHome, at: &str, trap: &Path) {
    let trap = trap.display();
    let own = home.path().join(at);
    let config = format!(
        "[core]\n\tfsmonitor = {trap}\n\tsshCommand = {trap}\n\tgitProxy = {trap}\n\taskPass = {trap}\n\
         \teditor = {trap}\n\tpager = {trap}\n\thooksPath = {own}/planted\n\talternateRefsCommand = {trap}\n\
         [credential]\n\thelper = {trap}\n[diff]\n\texternal = {trap}\n[gpg]\n\tprogram = {trap}\n\
         [filter \"evil\"]\n\tsmudge = {trap}\n\tclean = {trap}\n\tprocess = {trap}\n\trequired = true\n\
         [uploadpack]\n\tpackObjectsHook = {trap}\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n\
         [alias]\n\tupload-pack = !{trap}\n[protocol \"ext\"]\n\tallow = always\n\
         [remote \"origin\"]\n\turl = {own}\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\
         \tuploadpack = {trap}\n\tvcs = {trap}\n[url \"ext::{trap} \"]\n\tinsteadOf = {own}\n",
        own = own.display(),
    );
    let known = fs::read_to_string(own.join("config")).unwrap_or_default();
    home.write(&format!("{at}/config"), format!("{known}{config}"));
    home.write(&format!("{at}/info/attributes"), "* filter=evil diff=evil\n");
    for folder in ["hooks", "planted"] {
        for hook in [
            "reference-transaction",
            "post-checkout",
            "post-index-change",
            "pre-auto-gc",
            "fsmonitor-watchman",
            "proc-receive",
            "post-update",
        ] {
            let hook =
                home.write(&format!("{at}/{folder}/{hook}"), format!("#!/bin/sh\nexec {trap}\n"));
            fs::set_permissions(hook, PermissionsExt::from_mode(0o755)).expect("chmod");
        }
    }
}

fn installed(home: &TestHome) -> Vec<String> {
    files_below(&home.project().join(".agent/skills/pdf"))
}

#[test]
fn nothing_that_is_planted_in_a_repository_on_this_machine_runs() {
    let (home, repository) = with_clone();
    let (trap, marker) = trap(&home);
    let blob = repository.git(&["rev-parse", "HEAD:skills/pdf/notes.md"]);
    // Objects of another repository, which are read from there and nothing else.
    let other = TestRepository::new(home.path().join("other"));
    other.commit();
    let objects = home.path().join("other/.git/objects");
    home.write("clone/.git/objects/info/alternates", format!("{}\n", objects.display()));
    plant(&home, "clone/.git", &trap);
    // A folder inside that has a repository of its own, and one that looks like the inside of one.
    plant(&home, "clone/skills/.git", &trap);
    plant(&home, "clone/skills/pdf/.git", &trap);
    let forms = [
        "clone/skills",
        "clone/skills/pdf",
        "clone//skills#main",
        "clone/.git//skills",
        "clone#HEAD",
    ];
    for source in forms {
        let source = at(&home, source);
        for args in [["install", &source, "--list"], ["install", &source, "--dry-run"]] {
            let output = run(&home, &[&args[..], &["--all", "--yes"]].concat());
            assert_eq!(output.code, 0, "{source}: {output:?}");
        }
        let output = run(&home, &["install", &source, "--all", "--yes"]);
        assert_eq!(output.code, 0, "{source}: {output:?}");
        assert_eq!(installed(&home), ["SKILL.md", "notes.md"], "{source}");
        assert!(!marker.exists(), "{source}: a program ran");
        for args in
            [["outdated", "--json"], ["verify", "--upstream"], ["diff", "pdf"], ["update", "--all"]]
        {
            let output =
                run(&home, &[&args[..], &["--yes"][..usize::from(args[0] == "update")]].concat());
            assert!(output.code <= 1, "{source}: {args:?}: {output:?}");
            assert!(!marker.exists(), "{source}: {args:?}: a program ran");
        }
        assert_eq!(run(&home, &["uninstall", "pdf", "--yes"]).code, 0, "{source}");
    }
    // What is missing is fetched from nowhere: not by the remote's own program either.
    let (folder, name) = blob.split_at(2);
    let object = home.path().join("clone/.git/objects").join(folder).join(name);
    fs::remove_file(object).expect("removes");
    for source in ["clone//skills#main", "clone/.git//skills", "clone#HEAD"] {
        let output = run(&home, &["install", &at(&home, source), "--all", "--yes"]);
        assert!(output.code != 0 && !output.stderr.contains("panicked"), "{source}: {output:?}");
        assert!(!marker.exists(), "{source}: a program ran");
        assert!(!home.project().join(".agent/skills/pdf").exists(), "{source}");
    }
}

#[test]
fn a_folder_that_looks_like_a_bare_repository_runs_nothing_either() {
    let (home, _) = with_clone();
    let (trap, marker) = trap(&home);
    for folder in ["objects", "refs"] {
        home.write(&format!("clone/skills/{folder}/x"), "");
    }
    home.write("clone/skills/HEAD", "ref: refs/heads/main\n");
    plant(&home, "clone/skills", &trap);
    for source in ["clone/skills", "clone/skills#main", "clone/skills#HEAD"] {
        let output = run(&home, &["install", &at(&home, source), "--all", "--yes", "--json"]);
        assert!(
            output.code != 0 && output.json()["error"]["code"].is_string(),
            "{source}: {output:?}"
        );
        assert!(!marker.exists(), "{source}: a program ran");
    }
}

#[test]
fn a_worktree_is_a_repository_whose_git_is_a_file() {
    let (home, repository) = with_clone();
    repository.git(&["branch", "work"]);
    repository.git(&["worktree", "add", "--quiet", "../tree", "work"]);
    assert!(home.path().join("tree/.git").is_file());
    home.write("tree/skills/pdf/draft.md", "Not committed.\n");
    // As a directory it is what lies there; with a ref it is what was committed. Its `.git` never comes along.
    for (source, files) in [
        ("tree/skills", &["SKILL.md", "draft.md", "notes.md"][..]),
        ("tree", &["SKILL.md", "draft.md", "notes.md"]),
        ("tree#work", &["SKILL.md", "notes.md"]),
        ("tree//skills#work", &["SKILL.md", "notes.md"]),
    ] {
        let output = run(&home, &["install", &at(&home, source), "--all", "--yes", "--force"]);
        assert_eq!(output.code, 0, "{source}: {output:?}");
        assert_eq!(installed(&home), files, "{source}");
        assert_eq!(run(&home, &["verify"]).code, 0, "{source}");
    }
    // A file that only looks like one leads to no repository, and to no program.
    let (trap, marker) = trap(&home);
    plant(&home, "evil", &trap);
    for (number, text) in ["gitdir: ../evil\n", "gitdir: /\n", "gitdir:\n", "x"].iter().enumerate()
    {
        let name = format!("forged-{number}");
        home.skill(&format!("{name}/csv"), "csv", "Read tables.");
        home.write(&format!("{name}/.git"), text);
        let output = run(
            &home,
            &["install", &at(&home, &format!("{name}#main")), "--all", "--yes", "--json"],
        );
        assert!(
            output.code != 0 && output.json()["error"]["code"].is_string(),
            "{text:?}: {output:?}"
        );
        assert!(!marker.exists(), "{text:?}: a program ran");
        let plain = run(&home, &["install", &at(&home, &name), "--yes", "--dry-run"]);
        assert_eq!(plain.code, 0, "{plain:?}");
        assert!(!marker.exists(), "{text:?}: a program ran");
    }
}

#[test]
fn a_folder_with_an_at_sign_is_updated_from_what_the_records_say() {
    let (home, repository) = with_clone();
    home.skill("clone/@team/csv", "csv", "Read tables.");
    repository.commit();
    let source = at(&home, "clone/.git//@team#HEAD");
    let output = run(&home, &["install", &source, "--all", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let current = run(&home, &["outdated"]);
    assert_eq!(current.code, 0, "{current:?}");
    home.skill("clone/@team/csv", "csv", "Read large tables.");
    repository.commit();
    let output = run(&home, &["update", "--all", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let text = home.project().join(".agent/skills/csv/SKILL.md");
    assert!(fs::read_to_string(text).expect("installed").contains("Read large tables."));
}
