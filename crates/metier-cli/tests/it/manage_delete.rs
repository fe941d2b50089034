//! `metier delete` and `metier restore`: whose skills may go, who is asked, what is kept, and how it
//! comes back.

use std::os::unix::fs::symlink;
use std::path::Path;

use metier_testkit::{Output, TestHome};
use serde_json::json;

use crate::support::{METIER, answer_on_terminal, document, files_below, json, keys, run, shown};

/// What was printed, without ids and times.
fn deleted_report(home: &TestHome, output: &Output) -> String {
    shown(home, output)
}

macro_rules! assert_reported {
    ($home:expr, $output:expr, @$snapshot:literal) => {
        insta::with_settings!({filters => vec![
            (r"\d{14}-\w{4}", "[ID]"),
            (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[DATE AND TIME]"),
        ]}, {
            insta::assert_snapshot!(deleted_report($home, $output), @$snapshot);
        });
    };
}

fn with_skill() -> TestHome {
    let home = TestHome::new();
    home.skill("home/.claude/skills/pdf", "pdf", "Fill PDF forms.");
    home.write("home/.claude/skills/pdf/scripts/fill.py", "print()\n");
    home.write("home/.claude/skills/pdf/.git/HEAD", "kept too\n");
    home
}

#[test]
fn a_skill_goes_with_all_its_files_and_comes_back_with_all_of_them() {
    let home = with_skill();
    let folder = home.home().join(".claude/skills/pdf");
    let before = files_below(&folder);
    assert_reported!(&home, &run(&home, &["delete", "--yes", "pdf"]), @"
    exit: 0
    ---- stdout
    deleted user:pdf  [T]/home/.claude/skills/pdf

    ---- stderr
    to restore it: metier restore [ID]
    ");
    assert!(!folder.exists());
    assert!(!run(&home, &["list"]).stdout.contains("pdf"));
    assert_reported!(&home, &run(&home, &["restore", "--list"]), @"
    exit: 0
    ---- stdout
    NAME  DELETED              ID                   PATH
    pdf   [DATE AND TIME]  [ID]  [T]/home/.claude/skills/pdf

    ---- stderr
    1 backup; to restore one: metier restore NAME
    ");
    assert_eq!(run(&home, &["restore"]), run(&home, &["restore", "--list"]));
    assert_reported!(&home, &run(&home, &["restore", "user:pdf", "--yes"]), @"
    exit: 0
    ---- stdout
    restored user:pdf  [T]/home/.claude/skills/pdf

    ---- stderr
    ");
    assert_eq!(files_below(&folder), before);
    assert_reported!(&home, &run(&home, &["restore", "--list"]), @"
    exit: 0
    ---- stdout

    ---- stderr
    there is nothing to restore
    ");
    assert_eq!(files_below(&home.home().join(".local/state/metier/backups")), [] as [&str; 0]);
}

#[test]
fn the_documents_have_the_record() {
    let home = with_skill();
    let deleted = json(&home, &["delete", "--yes", "pdf", "--json"]);
    assert_eq!(keys(&deleted), ["backup", "kept", "remaining"]);
    let backup = &deleted["backup"];
    assert_eq!(keys(backup), ["bytes", "files", "id", "path", "skill", "time", "truncated"]);
    assert_eq!(backup["skill"], json!("user:pdf"));
    assert_eq!(backup["path"], json!("[T]/home/.claude/skills/pdf"));
    assert_eq!(backup["files"][1], json!({ "path": "scripts/fill.py", "bytes": 8 }));
    let listed = json(&home, &["restore", "--list", "--json"]);
    assert_eq!((&listed["damaged"], &listed["backups"][0]["number"]), (&json!([]), &json!(1)));
    assert_eq!(listed["backups"][0]["id"], backup["id"]);
    let id = backup["id"].as_str().expect("an id");
    let restored = json(&home, &["restore", id, "--yes", "--json"]);
    assert_eq!(
        restored,
        json!({
            "dry_run": false,
            "skill": "user:pdf",
            "path": "[T]/home/.claude/skills/pdf",
            "backup": id,
        })
    );
}

#[test]
fn without_a_terminal_and_without_a_word_nothing_is_deleted() {
    let home = with_skill();
    insta::assert_snapshot!(shown(&home, &run(&home, &["delete", "pdf"])), @"
    exit: 3
    ---- stdout

    ---- stderr
    error: deleting user:pdf needs your confirmation: [T]/home/.claude/skills/pdf (2 files, 70 B)
    help: to delete it: metier delete --yes user:pdf (a backup is kept)
    ");
    let error = document(&home, &run(&home, &["delete", "pdf", "--json"]), 3);
    assert_eq!(error["error"]["code"], json!("NeedsApproval"));
    assert!(home.home().join(".claude/skills/pdf/SKILL.md").exists());
    assert!(!home.home().join(".local").exists());
}

#[test]
fn on_a_terminal_a_person_is_asked_and_only_yes_is_yes() {
    let home = with_skill();
    for answer in ["n\n", "\n", "maybe\n"] {
        let Some(output) = answer_on_terminal(&home, &["delete", "pdf"], "[y/N]", answer) else {
            return;
        };
        assert_eq!(output.code, 3, "{output:?}");
        assert!(output.stdout.contains("nothing deleted"), "{output:?}");
        assert!(home.home().join(".claude/skills/pdf/SKILL.md").exists());
    }
    let output = answer_on_terminal(&home, &["delete", "pdf"], "[y/N]", "y\n").expect("a terminal");
    assert_eq!(output.code, 0, "{output:?}");
    let asked = home.scrub(&output.stdout);
    for shown in ["[T]/home/.claude/skills/pdf", "2 files", "scripts/fill.py", "[y/N]"] {
        assert!(asked.contains(shown), "{shown}: {asked}");
    }
    assert!(!home.home().join(".claude/skills/pdf").exists());
}

#[test]
fn only_the_users_own_skills_can_be_deleted() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/ours", "ours", "The project's.");
    home.skill("project/.agents/skills/both", "both", "The project's.");
    home.skill("home/.agents/skills/both", "both", "The user's.");
    home.skill("home/.claude/plugins/cache/market/tool/1.0/skills/plug", "plug", "A plugin's.");
    home.skill("explicit/named", "named", "Named.");
    let explicit = home.path().join("explicit").to_string_lossy().into_owned();
    let refusal = |args: &[&str]| {
        let output = run(&home, &[&["delete", "--yes"], args].concat());
        assert_eq!(output.code, 1, "{output:?}");
        home.scrub(&output.stderr)
    };
    let all = [
        refusal(&["ours"]),
        refusal(&["both"]),
        refusal(&["plug"]),
        refusal(&["write-skill"]),
        refusal(&["named", "--root", &explicit]),
        refusal(&["nobody"]),
    ];
    insta::assert_snapshot!(all.concat(), @"
    error: `ours` is the project's skill, [T]/project/.agents/skills/ours: only skills in your own folders can be deleted
    help: remove its folder there, or switch it off: `metier disable ours`
    error: `both` is the project's skill, [T]/project/.agents/skills/both: only skills in your own folders can be deleted
    help: to delete your own skill of that name: metier delete user:both
    error: `plug` is a plugin's skill, [T]/home/.claude/plugins/cache/market/tool/1.0/skills/plug: only skills in your own folders can be deleted
    help: remove the plugin with the agent that installed it, or `metier disable plug`
    error: `write-skill` is a built-in skill, builtin:write-skill: only skills in your own folders can be deleted
    help: `metier disable write-skill` switches it off
    error: `named` is an explicit root's skill, [T]/explicit/named: only skills in your own folders can be deleted
    help: remove its folder there, or switch it off: `metier disable named`
    error: there is no skill `nobody` here
    help: `metier list --all` shows every skill, and why others were left out
    ");
    assert_eq!(run(&home, &["delete", "--yes", "user:both"]).code, 0);
    assert!(home.project().join(".agents/skills/both/SKILL.md").exists());
}

#[test]
fn of_several_backups_each_can_be_chosen_and_nothing_is_replaced() {
    let home = TestHome::new();
    let write = |text: &str| home.skill("home/.agent/skills/pdf", "pdf", text);
    for text in ["First.", "Second.", "Third."] {
        write(text);
        assert_eq!(run(&home, &["delete", "--yes", "pdf"]).code, 0);
    }
    assert_eq!(run(&home, &["restore", "user:pdf@2", "--yes"]).code, 0);
    let now = || json(&home, &["inspect", "pdf", "--json"])["description"].clone();
    assert_eq!(now(), json!("Second."));
    insta::assert_snapshot!(shown(&home, &run(&home, &["restore", "user:pdf", "--yes"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: [T]/home/.agent/skills/pdf is there already
    help: move it away first; the backup stays as it is
    ");
    assert_eq!(now(), json!("Second."));
    insta::assert_snapshot!(shown(&home, &run(&home, &["restore", "user:pdf@3", "--yes"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: there is no backup `user:pdf@3`
    help: there are 2 backups of it: @1 (the newest) to @2
    ");
    std::fs::remove_dir_all(home.home().join(".agent")).expect("removes");
    assert_eq!(
        run(&home, &["restore", "user:pdf@2", "--yes"]).code,
        0,
        "the folders above are made"
    );
    assert_eq!(now(), json!("First."));
}

#[test]
fn of_a_linked_folder_only_the_link_goes() {
    let home = TestHome::new();
    let real = home.skill("dotfiles/pdf", "pdf", "Fill PDF forms.");
    std::fs::create_dir_all(home.home().join(".claude/skills")).expect("directory");
    let link = home.home().join(".claude/skills/pdf");
    symlink("../../../dotfiles/pdf", &link).expect("link");
    assert_reported!(&home, &run(&home, &["delete", "--yes", "pdf"]), @"
    exit: 0
    ---- stdout
    deleted the link of user:pdf  [T]/home/.claude/skills/pdf

    ---- stderr
    to restore it: metier restore [ID]
    ");
    assert!(real.join("SKILL.md").exists());
    assert!(std::fs::symlink_metadata(&link).is_err());
    assert_eq!(run(&home, &["restore", "user:pdf", "--yes"]).code, 0);
    assert_eq!(std::fs::read_link(&link).expect("a link"), Path::new("../../../dotfiles/pdf"));
    assert!(json(&home, &["inspect", "pdf", "--json"])["enabled"].as_bool().expect("a switch"));
}

#[test]
fn other_places_of_the_same_skill_are_reported() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/pdf", "pdf", "Fill PDF forms.");
    home.skill("home/.claude/skills/pdf", "pdf", "Fill PDF forms.");
    assert_reported!(&home, &run(&home, &["delete", "--yes", "pdf"]), @"
    exit: 0
    ---- stdout
    deleted user:pdf  [T]/home/.agents/skills/pdf

    ---- stderr
    warning: the same skill is still at [T]/home/.claude/skills/pdf
    to restore it: metier restore [ID]
    ");
    assert!(home.home().join(".claude/skills/pdf/SKILL.md").exists());
}

#[test]
fn a_backup_on_another_file_system_is_a_whole_copy() {
    use std::os::unix::fs::MetadataExt;
    let home = with_skill();
    let device = |path: &Path| std::fs::metadata(path).map(|data| data.dev()).ok();
    let shm = Path::new("/dev/shm");
    let Some(state) = tempfile::tempdir_in(shm).ok().filter(|_| device(shm) != device(home.path()))
    else {
        metier_testkit::not_tested("there is no second file system here");
        return;
    };
    let metier = |args: &[&str]| {
        TestHome::finish(home.command(METIER).env("METIER_HOME", state.path()).args(args))
    };
    let folder = home.home().join(".claude/skills/pdf");
    symlink("scripts", folder.join("link")).expect("link");
    let before = files_below(&folder);
    assert_eq!(metier(&["delete", "--yes", "pdf"]).code, 0);
    assert!(!folder.exists());
    assert_eq!(files_below(&home.home().join(".claude/skills")), [] as [&str; 0]);
    let restored = metier(&["restore", "user:pdf", "--yes"]);
    assert_eq!((restored.code, &*restored.stderr), (0, ""), "{restored:?}");
    assert_eq!(files_below(&folder), before);
    assert_eq!(std::fs::read_link(folder.join("link")).expect("a link"), Path::new("scripts"));
    assert_eq!(files_below(&state.path().join("state/backups")), [] as [&str; 0]);
}

/// A repository with a skill, and the home that a link leads from.
fn with_repository() -> (TestHome, std::path::PathBuf) {
    let home = TestHome::new();
    let real = home.skill("repo/skills/pdf", "pdf", "Fill PDF forms.");
    home.skill("home/.agent/skills/own", "own", "The user's.");
    (home, real)
}

#[test]
fn a_skill_behind_a_link_out_of_its_root_is_not_deleted() {
    let (home, real) = with_repository();
    symlink(home.path().join("repo/skills"), home.home().join(".agent/skills/grp")).expect("link");
    insta::assert_snapshot!(shown(&home, &run(&home, &["delete", "--yes", "pdf"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    error: [T]/home/.agent/skills/grp/pdf is reached through a link; it is really at [T]/repo/skills/pdf, outside your skills folder
    help: remove the link [T]/home/.agent/skills/grp to remove everything behind it, or delete the folder it points to
    ");
    let error = document(&home, &run(&home, &["delete", "--yes", "pdf", "--json"]), 1);
    assert_eq!(error["error"]["code"], json!("behind-a-link"));
    assert!(real.join("SKILL.md").exists());
    assert!(!home.home().join(".local").exists());
    // A link in there is not the user's either.
    home.skill("elsewhere/far", "far", "Far away.");
    symlink("../../elsewhere/far", home.path().join("repo/skills/far")).expect("link");
    let error = document(&home, &run(&home, &["delete", "--yes", "far", "--json"]), 1);
    assert_eq!(error["error"]["code"], json!("behind-a-link"));
    assert!(std::fs::symlink_metadata(home.path().join("repo/skills/far")).is_ok());
}

#[test]
fn a_link_inside_the_root_leads_to_a_skill_of_the_users() {
    let home = TestHome::new();
    let real = home.skill("home/.agent/skills/.real/pdf", "pdf", "Fill PDF forms.");
    symlink(".real", home.home().join(".agent/skills/grp")).expect("link");
    let deleted = json(&home, &["delete", "--yes", "pdf", "--json"]);
    assert_eq!(deleted["backup"]["path"], json!("[T]/home/.agent/skills/grp/pdf"));
    assert_eq!(deleted["real_path"], json!("[T]/home/.agent/skills/.real/pdf"));
    assert!(!real.exists());
}

#[test]
fn where_the_root_is_a_link_the_real_path_is_shown_before_and_after() {
    let (home, real) = with_repository();
    std::fs::remove_dir_all(home.home().join(".agent/skills")).expect("removes");
    symlink(home.path().join("repo/skills"), home.home().join(".agent/skills")).expect("link");
    insta::assert_snapshot!(shown(&home, &run(&home, &["delete", "pdf"])), @"
    exit: 3
    ---- stdout

    ---- stderr
    error: deleting user:pdf needs your confirmation: [T]/home/.agent/skills/pdf, which is [T]/repo/skills/pdf (1 file, 62 B)
    help: to delete it: metier delete --yes user:pdf (a backup is kept)
    ");
    if let Some(asked) = answer_on_terminal(&home, &["delete", "pdf"], "[y/N]", "n\n") {
        let text = home.scrub(&asked.stdout);
        assert!(text.contains("[T]/repo/skills/pdf"), "{text}");
    }
    assert!(real.join("SKILL.md").exists());
    assert_reported!(&home, &run(&home, &["delete", "--yes", "pdf"]), @"
    exit: 0
    ---- stdout
    deleted user:pdf  [T]/home/.agent/skills/pdf, which is [T]/repo/skills/pdf

    ---- stderr
    to restore it: metier restore [ID]
    ");
    assert!(!real.exists());
    assert_eq!(run(&home, &["restore", "user:pdf", "--yes"]).code, 0);
    assert!(real.join("SKILL.md").exists());
    let deleted = json(&home, &["delete", "--yes", "pdf", "--json"]);
    assert_eq!(keys(&deleted), ["backup", "kept", "real_path", "remaining"]);
    assert_eq!(deleted["real_path"], json!("[T]/repo/skills/pdf"));
}

#[test]
fn backups_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = with_skill();
    let folder = home.home().join(".local/state/metier/backups");
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    // One that an earlier version made.
    std::fs::create_dir_all(&folder).expect("directories");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("chmod");
    assert_eq!(run(&home, &["delete", "--yes", "pdf"]).code, 0);
    assert_eq!(mode(&folder), 0o700);
    for dir in std::fs::read_dir(&folder).expect("lists") {
        assert_eq!(mode(&dir.expect("an entry").path()), 0o700);
    }
}

/// Starts `delete`, which waits in the middle of its move, and gives it when it is there.
fn delete_that_waits(home: &TestHome) -> std::process::Child {
    let mut command = home.command("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2"])
        .args(["-e", "inject=renameat2:delay_enter=1500000:when=1"])
        .args([METIER, "delete", "--yes", "pdf"]);
    let quiet = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = quiet.spawn().expect("starts");
    let backups = home.home().join(".local/state/metier/backups");
    // Its record is written before anything is moved.
    let has_begun = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        backups.is_dir() && files_below(&backups).iter().any(|it| it.ends_with("record.json"))
    });
    if !has_begun {
        let _ = child.kill();
        let _ = child.wait();
    }
    assert!(has_begun, "no backup was begun");
    child
}

#[test]
fn a_delete_in_the_middle_of_its_move_and_other_commands_lose_nothing() {
    if !crate::reads::can_trace() {
        return;
    }
    for args in [
        &["install", "../src/pdf", "--user", "--yes", "--force"][..],
        &["install", "../src/csv", "--user", "--yes"],
        &["restore", "--list"],
        &["list"],
    ] {
        let home = TestHome::new();
        home.skill("home/.agent/skills/pdf", "pdf", "The own one.");
        home.skill("src/pdf", "pdf", "The other one.");
        home.skill("src/csv", "csv", "Read tables.");
        let mut deletes = delete_that_waits(&home);
        let output = run(&home, args);
        let deleted = deletes.wait().expect("ends");
        // The second of the two finds the place free, or taken by what came first, and says so.
        assert!(deleted.success() || output.code == 0, "{args:?}: {output:?}");
        let backups = json(&home, &["restore", "--list", "--json"]);
        let kept = backups["backups"].as_array().expect("backups");
        let place = home.home().join(".agent/skills/pdf/SKILL.md");
        let there = std::fs::read_to_string(place).unwrap_or_default();
        let is_kept = |words: &str| {
            there.contains(words)
                || kept.iter().any(|backup| {
                    let id = backup["id"].as_str().expect("an id");
                    let file = home.home().join(".local/state/metier/backups").join(id);
                    std::fs::read_to_string(file.join("skill/SKILL.md"))
                        .is_ok_and(|it| it.contains(words))
                })
        };
        assert!(is_kept("The own one."), "{args:?}: {output:?} {backups}");
        if args[0] == "install" && output.code == 0 {
            assert_eq!(run(&home, &["verify", "--user"]).code, 0, "{args:?}");
        }
        // No backup without its skill is left, once the next command has looked.
        let _ = run(&home, &["install", "../src/csv", "--user", "--yes"]);
        for entry in
            std::fs::read_dir(home.home().join(".local/state/metier/backups")).expect("backups")
        {
            let backup = entry.expect("an entry").path();
            assert!(
                !backup.is_dir() || backup.join("skill").exists(),
                "{args:?}: {}",
                backup.display()
            );
        }
    }
}
