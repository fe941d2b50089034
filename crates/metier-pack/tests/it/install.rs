//! Installing, uninstalling, restoring and verifying, and what is in their way.
//! Through the library, in a home of its own; the binary's tests are in `metier-cli`.

use std::fs;

use metier_pack::{
    Fetchers, FileState, GitFetch, LockUse, Overwrite, PackError, PlannedAction, SignerChange,
    SourceAccess, SourceKind, SourcePolicy, SourceRuleScope, SourceRules, UpdateRequest,
    UpstreamState, VerifyState,
};
use metier_registry::manage::Backups;
use metier_skill::Profile;

use crate::sandbox_home::Home;
use crate::zip_builder::{Entry, SKILL, Zip};

const LOCK: &str = "project/.agent/skills.lock.json";
const WANTED: &str = "project/.agent/skills.json";

fn skill(name: &str) -> String {
    SKILL.replace("name: pdf", &format!("name: {name}"))
}

fn pack(home: &Home, at: &str, names: &[&str]) {
    let entries = names.iter().map(|name| Entry::deflated(format!("{name}/SKILL.md"), skill(name)));
    home.write(at, Zip::of(entries).bytes());
}

fn states(home: &Home) -> Vec<(String, VerifyState)> {
    let verified = home.target().expect("a target").verify(&[]).expect("verifies");
    verified.into_iter().map(|skill| (skill.name, skill.state)).collect()
}

fn names_of(home: &Home, below: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(home.path(below))
        .expect("lists")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn the_preview_is_the_plan_that_is_carried_out_and_writes_nothing() {
    let home = Home::new();
    pack(&home, "project/packs/two.zip", &["a", "b"]);
    let before = home.snapshot();
    let target = home.target().expect("a target");
    let request = home.request("project/packs/two.zip");
    let preview = target.preview_install(&request).expect("plans");
    assert_eq!(home.snapshot(), before);
    let plan = target.plan_install(&request).expect("plans");
    assert_eq!(plan.view(), &preview);
    drop(plan);
    assert_eq!(home.snapshot(), before, "a plan that is not carried out leaves nothing");
    let done = target.plan_install(&request).expect("plans").carry_out().expect("installs");
    assert_eq!(done, preview);
    assert_eq!(names_of(&home, "project/.agent/skills"), ["a", "b", "mine"]);
    let lock = home.read(LOCK);
    assert!(
        lock.contains("\"source\": \"./packs/two.zip\"") && lock.contains("\"path\": \"a\""),
        "{lock}"
    );
    assert!(!lock.contains(&*home.path("").to_string_lossy()), "{lock}");
    assert!(home.read(WANTED).contains("\"a\": {\n      \"source\": \"./packs/two.zip\"\n    }"));
    // Again: nothing to do, and the same bytes.
    let again = target.plan_install(&request).expect("plans");
    assert!(
        again.is_empty() && again.view().skills.iter().all(|it| it.action == PlannedAction::Keep)
    );
    again.carry_out().expect("does nothing");
    assert_eq!(home.read(LOCK), lock);
    assert_eq!(
        states(&home),
        [
            ("a", VerifyState::Unchanged),
            ("b", VerifyState::Unchanged),
            ("mine", VerifyState::Unmanaged)
        ]
        .map(|(name, state)| (name.to_owned(), state))
    );
}

#[test]
fn what_is_there_is_replaced_only_when_asked_and_goes_to_a_backup() {
    let home = Home::new();
    pack(&home, "mine.zip", &["mine"]);
    let refused = |error: PackError| (error.code(), error.to_string());
    let (code, text) = refused(home.install("mine.zip").expect_err("in the way"));
    assert_eq!((code, text.as_str()), ("already-exists", "`mine` was not installed by Metier"));
    let mut request = home.request("mine.zip");
    request.overwrite = Overwrite::Replace;
    let target = home.target().expect("a target");
    target.plan_install(&request).expect("plans").carry_out().expect("installs");
    assert_eq!(home.read("project/.agent/skills/mine/SKILL.md"), skill("mine"));
    let backups = Backups::in_state(&home.path("state")).list().expect("lists").backups;
    assert_eq!((backups.len(), backups[0].path.ends_with("/mine")), (1, true));
    // A local edit is in the way of the next version, and of uninstalling.
    home.write("project/.agent/skills/mine/SKILL.md", skill("mine") + "edited\n");
    home.write(
        "mine.zip",
        Zip::of([Entry::deflated("mine/SKILL.md", skill("mine") + "v2\n")]).bytes(),
    );
    let (code, text) = refused(home.install("mine.zip").expect_err("edited"));
    assert_eq!(
        (code, text.as_str()),
        ("already-exists", "`mine` was changed since it was installed")
    );
    let names = ["mine".to_owned()];
    assert_eq!(
        target.plan_uninstall(&names, Overwrite::Refuse).expect_err("edited").code(),
        "already-exists"
    );
    assert!(home.read("project/.agent/skills/mine/SKILL.md").contains("edited"));
    target.plan_install(&request).expect("plans").carry_out().expect("installs");
    let backups = Backups::in_state(&home.path("state")).list().expect("lists").backups;
    assert_eq!(backups.len(), 2);
    let kept = Backups::in_state(&home.path("state")).folder_of(&backups[0]).join("SKILL.md");
    let kept = fs::read_to_string(kept).expect("reads");
    assert!(kept.contains("edited") || kept.contains("Mine."), "{kept}");
    // Another source of the same name is another skill.
    pack(&home, "other.zip", &["mine"]);
    let (_, text) = refused(home.install("other.zip").expect_err("another"));
    assert_eq!(text, "`mine` was installed from another source");
}

#[test]
fn the_same_files_may_be_taken_over() {
    let home = Home::new();
    pack(&home, "a.zip", &["a"]);
    home.write("project/.agent/skills/a/SKILL.md", skill("a"));
    let view = home.install("a.zip").expect("installs");
    assert_eq!(view.skills[0].action, PlannedAction::Adopt);
    assert!(home.read(LOCK).contains("\"a\""));
}

#[test]
fn uninstalling_keeps_a_backup_that_comes_back_with_its_records() {
    let home = Home::new();
    pack(&home, "two.zip", &["a", "b"]);
    home.install("two.zip").expect("installs");
    let before = (home.read(LOCK), home.read(WANTED));
    home.write("project/.agent/skills/a/.env", "KEY=1");
    let target = home.target().expect("a target");
    let plan = target.plan_uninstall(&["a".to_owned()], Overwrite::Refuse).expect("plans");
    plan.carry_out().expect("uninstalls");
    assert_eq!(names_of(&home, "project/.agent/skills"), ["b", "mine"]);
    assert!(!home.read(LOCK).contains("\"a\"") && home.read(LOCK).contains("\"b\""));
    let error = target.plan_uninstall(&["a".to_owned()], Overwrite::Refuse).expect_err("is gone");
    assert_eq!(error.code(), "not-installed");
    let error =
        target.plan_uninstall(&["mine".to_owned()], Overwrite::Replace).expect_err("not ours");
    assert_eq!(error.code(), "not-installed");
    let backup = Backups::in_state(&home.path("state")).find("a", |_| true).expect("a backup");
    let plan =
        target.plan_restore(&backup, Overwrite::Refuse).expect("plans").expect("was installed");
    assert_eq!(plan.view().skills[0].action, PlannedAction::Restore);
    plan.carry_out().expect("restores");
    assert_eq!((home.read(LOCK), home.read(WANTED)), before);
    assert_eq!(
        home.read("project/.agent/skills/a/.env"),
        "KEY=1",
        "what was put beside it comes back too"
    );
    assert!(Backups::in_state(&home.path("state")).list().expect("lists").backups.is_empty());
}

#[test]
fn without_a_source_the_disk_is_made_to_agree_with_the_records() {
    let home = Home::new();
    pack(&home, "project/two.zip", &["a", "b"]);
    home.install("project/two.zip").expect("installs");
    let lock = home.read(LOCK);
    fs::remove_dir_all(home.path("project/.agent/skills/a")).expect("removes");
    let target = home.target().expect("a target");
    let reconcile = |lock| target.plan_reconcile(lock, Overwrite::Refuse, Profile::Strict);
    for used in [LockUse::Update, LockUse::Exact] {
        let _ = fs::remove_dir_all(home.path("project/.agent/skills/a"));
        reconcile(used).expect("plans").carry_out().expect("installs");
        assert_eq!(home.read("project/.agent/skills/a/SKILL.md"), skill("a"));
        assert_eq!(home.read(LOCK), lock, "{used:?}");
    }
    // What is no longer wanted goes; the exact way refuses records that disagree.
    let wanted = home.read(WANTED);
    let only_a = wanted.replace(",\n    \"b\": {\n      \"source\": \"./two.zip\"\n    }", "");
    assert_ne!(only_a, wanted);
    home.write(WANTED, &only_a);
    let error = reconcile(LockUse::Exact).expect_err("they disagree");
    assert_eq!(
        (error.code(), error.to_string().contains("about b")),
        ("lock-outdated", true),
        "{error}"
    );
    reconcile(LockUse::Update).expect("plans").carry_out().expect("removes");
    assert_eq!(names_of(&home, "project/.agent/skills"), ["a", "mine"]);
    // A source that is not what it was is not taken for it.
    fs::remove_dir_all(home.path("project/.agent/skills/a")).expect("removes");
    home.write(
        "project/two.zip",
        Zip::of([Entry::deflated("a/SKILL.md", skill("a") + "evil\n")]).bytes(),
    );
    for used in [LockUse::Update, LockUse::Exact] {
        assert_eq!(reconcile(used).expect_err("changed").code(), "lock-mismatch", "{used:?}");
    }
    assert!(!home.path("project/.agent/skills/a").exists());
}

#[cfg(unix)]
#[test]
fn verify_names_every_kind_of_difference() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    let file = |name: &str| Entry::stored(format!("pdf/{name}"), name);
    home.write("pdf.zip", Zip::skill(["changed", "gone", "run.sh", "same"].map(file)).bytes());
    home.install("pdf.zip").expect("installs");
    let at = home.path("project/.agent/skills/pdf");
    fs::write(at.join("changed"), "x").expect("writes");
    fs::write(at.join("new"), "x").expect("writes");
    fs::remove_file(at.join("gone")).expect("removes");
    fs::set_permissions(at.join("run.sh"), PermissionsExt::from_mode(0o755)).expect("chmod");
    symlink("/etc/hostname", at.join("link")).expect("link");
    fs::create_dir(at.join("__pycache__")).expect("dir");
    fs::write(at.join("__pycache__/x.pyc"), "x").expect("writes");
    let verified = home.target().expect("a target").verify(&["pdf".to_owned()]).expect("verifies");
    let found: Vec<(&str, FileState)> =
        verified[0].differences.iter().map(|it| (it.path.as_str(), it.state)).collect();
    assert_eq!(
        found,
        [
            ("changed", FileState::Changed),
            ("gone", FileState::Missing),
            ("link", FileState::NotAFile),
            ("new", FileState::Extra),
            ("run.sh", FileState::Mode),
        ]
    );
    assert_eq!(verified[0].state, VerifyState::Modified);
    fs::remove_dir_all(&at).expect("removes");
    assert_eq!(
        home.target().expect("a target").verify(&["pdf".to_owned()]).expect("verifies")[0].state,
        VerifyState::Missing
    );
    // A lock that was edited to say another tree.
    home.install("pdf.zip").expect("installs");
    let tree = verified[0].locked.expect("locked").to_string();
    home.write(LOCK, home.read(LOCK).replace(&tree, &metier_skill::Digest::of(b"x").to_string()));
    assert_eq!(states(&home)[1], ("pdf".to_owned(), VerifyState::BadLock));
}

#[test]
fn ten_installations_at_once_give_ten_skills_and_ten_entries() {
    let home = Home::new();
    for number in 0..10 {
        pack(&home, &format!("s{number}.zip"), &[&format!("s{number}")]);
    }
    std::thread::scope(|scope| {
        for number in 0..10 {
            let home = &home;
            scope.spawn(move || home.install(&format!("s{number}.zip")).expect("installs"));
        }
    });
    let states = states(&home);
    assert_eq!(states.len(), 11);
    assert!(states.iter().all(|(name, state)| name == "mine" || *state == VerifyState::Unchanged));
    assert_eq!(names_of(&home, "project/.agent"), ["skills", "skills.json", "skills.lock.json"]);
}

#[cfg(unix)]
#[test]
fn a_target_that_is_a_link_or_a_file_is_refused() {
    let home = Home::new();
    pack(&home, "a.zip", &["a"]);
    let root = home.path("project/.agent/skills");
    fs::rename(&root, home.path("moved")).expect("moves");
    std::os::unix::fs::symlink(home.path("outside"), &root).expect("link");
    let before = home.snapshot();
    assert_eq!(home.install("a.zip").expect_err("a link").code(), "bad-target");
    assert_eq!(home.snapshot(), before);
    fs::remove_file(&root).expect("removes");
    fs::write(&root, "a file").expect("writes");
    assert_eq!(home.install("a.zip").expect_err("a file").code(), "bad-target");
    fs::remove_file(&root).expect("removes");
    // A link in the place of the skill itself is not followed.
    fs::create_dir(&root).expect("dir");
    std::os::unix::fs::symlink(home.path("outside"), root.join("a")).expect("link");
    assert_eq!(home.install("a.zip").expect_err("a link").code(), "already-exists");
    let mut request = home.request("a.zip");
    request.overwrite = Overwrite::Replace;
    home.target()
        .expect("a target")
        .plan_install(&request)
        .expect("plans")
        .carry_out()
        .expect("installs");
    assert_eq!(names_of(&home, "outside"), ["secret"]);
}

#[test]
fn a_target_that_changes_between_plan_and_execution_is_left_alone() {
    let home = Home::new();
    pack(&home, "a.zip", &["a"]);
    let target = home.target().expect("a target");
    let plan = target.plan_install(&home.request("a.zip")).expect("plans");
    home.write("project/.agent/skills/a/mine.txt", "mine");
    assert_eq!(plan.carry_out().expect_err("changed").code(), "target-changed");
    assert_eq!(home.read("project/.agent/skills/a/mine.txt"), "mine");
    assert_eq!(names_of(&home, "project/.agent/skills"), ["a", "mine"]);
}

#[test]
fn an_edit_between_plan_and_execution_is_not_replaced() {
    let home = Home::new();
    pack(&home, "a.zip", &["a", "b"]);
    home.install("a.zip").expect("installs");
    let target = home.target().expect("a target");
    let edited = "project/.agent/skills/a/SKILL.md";
    let mut request = home.request("a.zip");
    request.overwrite = Overwrite::Replace;
    let entries =
        ["a", "b"].map(|name| Entry::deflated(format!("{name}/SKILL.md"), skill(name) + "new\n"));
    home.write("a.zip", Zip::of(entries).bytes());
    let plans = [
        target.plan_install(&request).expect("plans"),
        target.plan_uninstall(&["a".to_owned()], Overwrite::Refuse).expect("plans"),
    ];
    let text = home.read(edited);
    home.write(edited, text.replace("name: a", "name: A"));
    for plan in plans {
        assert_eq!(plan.carry_out().expect_err("edited").code(), "target-changed");
        assert_eq!(home.read(edited), text.replace("name: a", "name: A"));
    }
    home.write(edited, text);
    let plan = target.plan_install(&request).expect("plans");
    plan.carry_out().expect("it is as the plan saw it again");
    assert!(home.read(edited).ends_with("new\n"));
    assert_eq!(names_of(&home, "project/.agent/skills"), ["a", "b", "mine"]);
}

#[test]
fn records_that_change_between_plan_and_execution_are_not_written_over() {
    let home = Home::new();
    let newer = |text: &str| {
        let entry = |name: &str| Entry::deflated(format!("{name}/SKILL.md"), skill(name) + text);
        home.write("a.zip", Zip::of(["a", "b"].map(entry)).bytes());
    };
    newer("");
    home.install("a.zip").expect("installs");
    let target = home.target().expect("a target");
    let update = || target.plan_update(&UpdateRequest::new(Vec::new())).expect("plans");
    let replacing = || {
        let mut request = home.request("other.zip");
        request.overwrite = Overwrite::Replace;
        target.plan_install(&request).expect("plans").carry_out().expect("installs");
    };
    // Another source for one of the skills, with the same files: nothing on the disk shows it.
    newer("new\n");
    let entry = Entry::deflated("b/SKILL.md", skill("b"));
    home.write("other.zip", Zip::of([entry]).bytes());
    let waiting = update();
    replacing();
    let records = (home.read(LOCK), home.read(WANTED));
    assert_eq!(waiting.carry_out().expect_err("changed").code(), "target-changed");
    assert_eq!((home.read(LOCK), home.read(WANTED)), records);
    // One that is uninstalled meanwhile does not come back.
    let waiting = update();
    let plan = target.plan_uninstall(&["b".to_owned()], Overwrite::Refuse).expect("plans");
    plan.carry_out().expect("uninstalls");
    let records = home.read(LOCK);
    assert_eq!(waiting.carry_out().expect_err("changed").code(), "target-changed");
    assert_eq!(home.read(LOCK), records);
    update().carry_out().expect("updates");
    // Exactly the lock means the one that is there.
    fs::remove_dir_all(home.path("project/.agent/skills/a")).expect("removes");
    let waiting =
        target.plan_reconcile(LockUse::Exact, Overwrite::Refuse, Profile::Strict).expect("plans");
    home.write(LOCK, home.read(LOCK).replace("\"version\": 1,", "\"version\": 1,\n  \"x\": 1,"));
    assert_eq!(waiting.carry_out().expect_err("changed").code(), "target-changed");
}

#[test]
fn an_older_version_of_the_source_is_held_back_until_it_is_wanted() {
    let home = Home::new();
    let of_version = |version: &str| {
        let text =
            skill("a").replace("name: a", &format!("name: a\nmetadata:\n  version: \"{version}\""));
        home.write("a.zip", Zip::of([Entry::deflated("a/SKILL.md", text)]).bytes());
    };
    of_version("2.0");
    home.install("a.zip").expect("installs");
    of_version("1.0");
    let target = home.target().expect("a target");
    let mut request = UpdateRequest::new(Vec::new());
    let done = target.plan_update(&request).expect("plans").carry_out().expect("does nothing");
    assert_eq!(done.not_updated[0].problem.code, "older");
    assert!(home.read(LOCK).contains("\"version\": \"2.0\""));
    request.overwrite = Overwrite::Replace;
    target.plan_update(&request).expect("plans").carry_out().expect("updates");
    assert!(home.read(LOCK).contains("\"version\": \"1.0\""));
}

#[test]
fn a_restored_version_without_a_signature_keeps_the_pin() {
    let home = Home::new();
    pack(&home, "a.zip", &["a"]);
    home.install("a.zip").expect("installs");
    let entry = Entry::deflated("a/SKILL.md", skill("a") + "new\n");
    home.write("a.zip", Zip::of([entry]).bytes());
    let target = home.target().expect("a target");
    target.plan_update(&UpdateRequest::new(Vec::new())).expect("plans").carry_out().expect("done");
    // The newer version was signed.
    let signed = |signer: &str| {
        let lock = home.read(LOCK);
        let lock: Vec<&str> = lock.lines().filter(|line| !line.contains("\"signer\"")).collect();
        let at = format!("      \"signer\": \"{signer}\",\n      \"tree\"");
        home.write(LOCK, lock.join("\n").replace("      \"tree\"", &at));
    };
    signed("minisign:AAAA");
    let backups = Backups::in_state(&home.path("state"));
    let oldest = backups.list().expect("lists").backups.pop().expect("a backup");
    let plan = target.plan_restore(&oldest, Overwrite::Refuse).expect("plans");
    plan.expect("it was installed").carry_out().expect("restores");
    assert!(home.read(LOCK).contains("minisign:AAAA"), "{}", home.read(LOCK));
    // What someone else signed is not restored over it in silence.
    signed("minisign:BBBB");
    let pinned = backups.list().expect("lists").backups.remove(0);
    let refused = target.plan_restore(&pinned, Overwrite::Refuse).expect_err("another signer");
    assert_eq!(refused.code(), "signer-changed");
    let accepting = target.with_signer_change(SignerChange::Accept);
    accepting.plan_restore(&pinned, Overwrite::Refuse).expect("plans");
}

#[test]
fn a_rule_about_a_folder_holds_for_what_is_above_it() {
    let home = Home::new();
    for name in ["good", "evil"] {
        home.write(&format!("src/{name}/SKILL.md"), skill(name));
    }
    let mut policy = SourcePolicy::default();
    let evil = fs::canonicalize(home.path("src/evil")).expect("real");
    policy.rules.push(SourceRules {
        origin: "here".to_owned(),
        scope: SourceRuleScope::User,
        allow: None,
        deny: vec![evil.to_string_lossy().into_owned()],
    });
    let access = SourceAccess::new(policy, std::sync::Arc::new(Fetchers::default()));
    let target = home.target().expect("a target").with_access(access);
    let refused = target.plan_install(&home.request("./src")).expect_err("denied");
    assert_eq!(refused.code(), "source-denied");
    let mut request = home.request("./src");
    request.skills = vec!["good".to_owned()];
    target.plan_install(&request).expect("plans").carry_out().expect("installs");
}

#[test]
fn a_folder_that_could_be_a_repository_of_a_host_is_named_with_a_dot() {
    let home = Home::new();
    home.write("owner/repo/SKILL.md", skill("repo"));
    assert_eq!(home.install("owner/repo").expect_err("ambiguous").code(), "bad-source");
    home.install("./owner/repo").expect("installs");
}

#[test]
fn a_list_of_plugins_that_cannot_be_read_stops_only_who_wants_a_plugin() {
    let home = Home::new();
    home.write("src/a/SKILL.md", skill("a"));
    home.write("src/.claude-plugin/marketplace.json", "{");
    let mut request = home.request("./src");
    request.plugin = Some("x".to_owned());
    let target = home.target().expect("a target");
    assert_eq!(target.plan_install(&request).expect_err("bad list").code(), "bad-record");
    home.install("./src").expect("installs");
}

#[test]
fn a_staged_file_that_changes_between_plan_and_execution_is_not_installed() {
    let home = Home::new();
    pack(&home, "a.zip", &["a"]);
    let target = home.target().expect("a target");
    for change in ["content", "new"] {
        let plan = target.plan_install(&home.request("a.zip")).expect("plans");
        let staging = home.path("project/.agent/skills/.metier-staging");
        let entry = fs::read_dir(&staging).expect("lists").next().expect("one").expect("entry");
        let dir = entry.path().join("tree-0/a");
        match change {
            "content" => fs::write(dir.join("SKILL.md"), skill("a").replace("name: a", "name: b")),
            _ => fs::write(dir.join("run.sh"), "echo"),
        }
        .expect("writes");
        assert_eq!(plan.carry_out().expect_err("changed").code(), "target-changed", "{change}");
        assert_eq!(names_of(&home, "project/.agent/skills"), ["mine"]);
    }
    // Touched and the same: some file systems are not exact about times.
    let plan = target.plan_install(&home.request("a.zip")).expect("plans");
    let staging = home.path("project/.agent/skills/.metier-staging");
    let entry = fs::read_dir(&staging).expect("lists").next().expect("one").expect("entry");
    fs::write(entry.path().join("tree-0/a/SKILL.md"), skill("a")).expect("writes");
    plan.carry_out().expect("installs");
}

#[test]
fn a_lock_that_contradicts_itself_is_said_and_written_anew_from_the_source() {
    let home = Home::new();
    pack(&home, "project/a.zip", &["a"]);
    home.install("project/a.zip").expect("installs");
    let lock = home.read(LOCK);
    let digests: Vec<&str> = lock.split('"').filter(|it| it.starts_with("sha256:")).collect();
    let other = metier_skill::Digest::of(b"x").to_string();
    let target = home.target().expect("a target");
    let reconcile = |lock| target.plan_reconcile(lock, Overwrite::Refuse, Profile::Strict);
    // Of the archive, of the tree, of the file.
    assert_eq!(digests.len(), 3);
    for digest in &digests[1..] {
        home.write(LOCK, lock.replace(digest, &other));
        assert_eq!(states(&home)[0], ("a".to_owned(), VerifyState::BadLock));
        assert_eq!(reconcile(LockUse::Exact).expect_err("refused").code(), "bad-lock");
        reconcile(LockUse::Update).expect("plans").carry_out().expect("repairs");
        assert_eq!(home.read(LOCK), lock);
        assert_eq!(states(&home)[0], ("a".to_owned(), VerifyState::Unchanged));
    }
    // A source that is neither half of it is not taken for it.
    home.write(LOCK, lock.replace(digests[1], &other).replace(digests[2], &other));
    assert_eq!(reconcile(LockUse::Update).expect_err("refused").code(), "lock-mismatch");
}

#[test]
fn records_that_a_clone_brings_cannot_lead_anywhere() {
    let home = Home::new();
    home.write(LOCK, "{\"version\": 1, \"skills\": {\"../../../outside\": {\"source\": \"x\", \"kind\": \"archive\", \"tree\": \"sha256:0000000000000000000000000000000000000000000000000000000000000000\", \"files\": {}}}}");
    let target = home.target().expect("a target");
    let reconcile = target.plan_reconcile(LockUse::Update, Overwrite::Replace, Profile::Strict);
    assert_eq!(reconcile.expect_err("refused").code(), "bad-record");
    for (text, code) in [
        ("{\"version\": 9, \"skills\": {}}", "bad-record"),
        ("{", "bad-record"),
        ("<<<<<<< HEAD\n", "bad-record"),
    ] {
        home.write(LOCK, text);
        assert_eq!(target.verify(&[]).expect_err("refused").code(), code, "{text}");
        assert_eq!(home.read(LOCK), text);
    }
    fs::remove_file(home.path(LOCK)).expect("removes");
    // A journal moves folders: one that the user's state does not know is not followed.
    let journal = format!(
        "{{\"moves\": [{{\"name\": \"stolen\", \"new\": {:?}, \"old\": null, \"old_record\": null}}], \"records\": null, \"forgotten_backup\": null}}",
        home.path("outside")
    );
    home.write("project/.agent/skills/.metier-commit/journal.json", journal);
    pack(&home, "a.zip", &["a"]);
    let before = home.snapshot();
    assert_eq!(home.install("a.zip").expect_err("refused").code(), "bad-target");
    assert_eq!(target.verify(&[]).expect_err("refused").code(), "bad-target");
    assert_eq!(home.snapshot(), before);
}

#[test]
fn a_directory_is_a_source_and_what_is_not_one_is_named() {
    let home = Home::new();
    home.write("src/a/SKILL.md", skill("a"));
    home.write("src/nested/b/SKILL.md", skill("b"));
    let mut request = home.request("src");
    request.skills = vec!["b".to_owned()];
    let target = home.target().expect("a target");
    target.plan_install(&request).expect("plans").carry_out().expect("installs");
    assert_eq!(names_of(&home, "project/.agent/skills"), ["b", "mine"]);
    request.skills = vec!["c".to_owned()];
    let error = target.plan_install(&request).expect_err("not there");
    assert_eq!((error.code(), error.help().as_str()), ("not-in-source", "it has: a, b"));
    for (source, code, said) in [
        ("owner/repo", "source-not-allowed", "sources.allow"),
        ("none.zip", "source-not-found", "a directory"),
    ] {
        let error = home.install(source).expect_err("not there");
        assert_eq!(error.code(), code);
        assert!(error.help().contains(said), "{}", error.help());
    }
    assert!(
        !fs::read_dir(home.path("project/.agent/skills")).expect("lists").any(|entry| {
            entry.expect("an entry").file_name().to_string_lossy().starts_with('.')
        })
    );
}

/// Calls git with an environment of its own; `None` where there is no git.
fn git(home: &Home, args: &[&str]) -> Option<()> {
    let mut call = std::process::Command::new("git");
    call.args(args).current_dir(home.path("src")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    for name in ["AUTHOR", "COMMITTER"] {
        call.env(format!("GIT_{name}_NAME"), "a").env(format!("GIT_{name}_EMAIL"), "a@b");
    }
    let output = call.output().ok()?;
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

#[cfg(unix)]
#[test]
fn a_tag_that_gave_way_to_a_branch_of_its_name_is_moved() {
    let home = Home::new();
    home.write("src/a/SKILL.md", skill("a"));
    let commit = ["commit", "-q", "-a", "-m", "x"];
    if git(&home, &["init", "-q", "-b", "main"]).is_none() {
        return;
    }
    for args in [&["add", "."][..], &commit, &["tag", "v1"]] {
        git(&home, args).expect("git");
    }
    let path = std::env::split_paths(&std::env::var_os("PATH").expect("a path")).collect();
    let fetch = std::sync::Arc::new(GitFetch::new(path, None));
    let fetchers = std::sync::Arc::new(Fetchers::default().with(SourceKind::Git, fetch));
    let access = SourceAccess::new(SourcePolicy::default(), fetchers);
    let target = home.target().expect("a target").with_access(access);
    let plan = target.plan_install(&home.request("./src#v1")).expect("plans");
    plan.carry_out().expect("installs");
    assert!(home.read(LOCK).contains("\"fixed\": true"), "{}", home.read(LOCK));
    home.write("src/a/SKILL.md", skill("a") + "evil\n");
    for args in [&["tag", "-d", "v1"][..], &["checkout", "-q", "-b", "v1"], &commit] {
        git(&home, args).expect("git");
    }
    let request = UpdateRequest::new(Vec::new());
    let done = target.plan_update(&request).expect("plans");
    assert_eq!(done.view().not_updated[0].problem.code, "moved");
    let tags = target.outdated_tags(&request).expect("asks");
    assert_eq!(tags[0].state, UpstreamState::Moved);
    let refused = target.plan_install(&home.request("./src#v1")).expect_err("moved");
    assert_eq!(refused.code(), "already-exists");
}

#[test]
fn a_change_that_another_process_finishes_meanwhile_is_none_of_someone_else() {
    let home = Home::new();
    let target = home.target().expect("a target");
    let commit = home.path("project/.agent/skills/.metier-commit");
    home.write("project/.agent/skills/.metier-commit/journal.json", "{}");
    let error = target.recover().expect_err("no seal");
    assert_eq!(error.code(), "bad-target");
    assert!(error.help().contains("come with a clone"), "{}", error.help());
    let lock = home.path("project/.agent/.skills.lock.json.lock");
    let lock = metier_fs::FileLock::take(&lock, std::time::Duration::ZERO).expect("free");
    let reader = std::thread::spawn(move || target.recover());
    // Whether it has seen the journal by now or not, it waits for its writer.
    for _ in 0..1000 {
        assert!(fs::read_dir(&commit).is_ok() && !reader.is_finished());
    }
    fs::remove_dir_all(&commit).expect("the writer is done");
    drop(lock);
    reader.join().expect("ends").expect("nothing is wrong");
}
