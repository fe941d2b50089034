//! Which skill is which: a `SKILL.md` that is a link, links that are refused, and names that look
//! like another skill's id. A skill is its directory, and none answers to a foreign id.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier::registry::{Entry, Scan};
use metier::skill::Profile;
use metier_testkit::{TestHome, skill_text};
use serde_json::{Value, json};

use crate::support::{builder, open};

/// A skill's folder whose `SKILL.md` is a link to `target`.
fn linked(home: &TestHome, dir: &str, target: &str) {
    let dir = home.path().join(dir);
    std::fs::create_dir_all(&dir).expect("directories");
    symlink(home.path().join(target), dir.join("SKILL.md")).expect("a link");
}

fn scan(home: &TestHome) -> Arc<Scan> {
    open(home, "project").skills()
}

/// The skill that counts under an id.
fn entry<'s>(scan: &'s Scan, id: &str) -> &'s Entry {
    let found = scan.index.entries().iter().find(|entry| entry.id().to_string() == id);
    found.unwrap_or_else(|| panic!("{id} is not listed"))
}

/// Where the skill lies that a query finds, below the home's place.
fn place(home: &TestHome, query: &str) -> PathBuf {
    let path = open(home, "project").skill(query).expect("a skill").path.clone();
    below(home, &path)
}

fn below(home: &TestHome, path: &Path) -> PathBuf {
    let base = home.path().canonicalize().expect("a path");
    path.strip_prefix(base).expect("below the home's place").to_owned()
}

/// The ids of the skills that are not built in.
fn own_ids(scan: &Scan) -> Vec<String> {
    let ids = scan.index.entries().iter().map(|entry| entry.id().to_string());
    ids.filter(|id| !id.starts_with("builtin:")).collect()
}

#[test]
fn folders_whose_files_link_to_one_target_are_skills_of_their_own() {
    let home = TestHome::new();
    home.write("shared/pdf.md", skill_text("pdf", "One text for all."));
    linked(&home, "project/.agents/skills/one", "shared/pdf.md");
    linked(&home, "project/.agents/skills/two", "shared/pdf.md");
    linked(&home, "home/.agents/skills/three", "shared/pdf.md");
    home.write("project/.agents/skills/two/scripts/run.sh", "echo two");
    let scan = scan(&home);
    let pdf = entry(&scan, "project:pdf");
    assert_eq!(below(&home, &pdf.path), Path::new("project/.agents/skills/one"));
    assert!(pdf.copies.is_empty(), "another folder is another skill: {pdf:?}");
    let conflict = &scan.report.conflicts[0];
    assert_eq!(conflict.winner, pdf.path);
    let shadowed: Vec<(PathBuf, Value)> = conflict
        .shadowed
        .iter()
        .map(|other| (below(&home, &other.path), json!(other.reason)))
        .collect();
    assert_eq!(
        shadowed,
        [
            ("project/.agents/skills/two".into(), json!("path-order")),
            ("home/.agents/skills/three".into(), json!("higher-root")),
        ]
    );
    assert_eq!(place(&home, "pdf"), Path::new("project/.agents/skills/one"));
    assert_eq!(place(&home, "project:pdf#2"), Path::new("project/.agents/skills/two"));
    assert_eq!(place(&home, "user:pdf"), Path::new("home/.agents/skills/three"));
    let reader = open(&home, "project").reader().approved();
    let script = reader.read_raw("project:pdf#2", "scripts/run.sh");
    assert_eq!(script.expect("its own file"), b"echo two");
    assert!(reader.read_raw("pdf", "scripts/run.sh").is_err());
}

#[test]
fn without_a_name_of_its_own_each_linked_folder_lends_it_one() {
    let home = TestHome::new();
    home.write("shared/any.md", "---\ndescription: Named by its folder.\n---\nDo it.\n");
    linked(&home, "project/.agents/skills/one", "shared/any.md");
    linked(&home, "project/.agents/skills/two", "shared/any.md");
    let metier = builder(&home, "project").profile(Profile::Lenient).open().expect("it opens");
    let scan = metier.skills();
    for name in ["one", "two"] {
        let skill = entry(&scan, &format!("project:{name}"));
        assert_eq!(below(&home, &skill.path), Path::new("project/.agents/skills").join(name));
    }
}

#[test]
fn a_link_to_a_folder_whose_file_is_a_link_is_one_skill() {
    let home = TestHome::new();
    home.write("shared/pdf.md", skill_text("pdf", "One text for all."));
    linked(&home, "project/.agents/skills/real", "shared/pdf.md");
    std::fs::create_dir_all(home.project().join(".claude/skills")).expect("directories");
    let real = home.project().join(".agents/skills/real");
    symlink(real, home.project().join(".claude/skills/again")).expect("a link");
    let scan = scan(&home);
    assert!(scan.report.conflicts.is_empty(), "{:?}", scan.report.conflicts);
    let copies: Vec<PathBuf> =
        entry(&scan, "project:pdf").copies.iter().map(|copy| below(&home, &copy.path)).collect();
    assert_eq!(copies, [Path::new("project/.claude/skills/again")]);
}

#[test]
fn links_are_followed_or_refused_as_the_settings_say() {
    let home = TestHome::new();
    home.write("shared/file.md", skill_text("by-file", "Behind a linked file."));
    home.skill("shared/folder", "by-folder", "Behind a linked folder.");
    linked(&home, "project/.agents/skills/by-file", "shared/file.md");
    let link = home.project().join(".agents/skills/by-folder");
    symlink(home.path().join("shared/folder"), link).expect("a link");
    let followed = scan(&home);
    assert_eq!(own_ids(&followed), ["project:by-file", "project:by-folder"]);

    home.write("project/.agent/config.json", r#"{"security": {"follow_symlinks": false}}"#);
    let refused = scan(&home);
    assert_eq!(own_ids(&refused), [""; 0]);
    let codes: Vec<String> =
        refused.report.notes.iter().map(|note| note.code.to_string()).collect();
    assert_eq!(codes, ["link-not-followed", "link-not-followed"]);

    std::fs::remove_file(home.project().join(".agent/config.json")).expect("removes");
    assert_eq!(scan(&home).index.hash(), followed.index.hash());
}

#[test]
fn a_skill_that_calls_itself_by_anothers_id_does_not_get_its_place() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    home.skill("project/.agents/skills/trick", "\"user:pdf\"", "An impostor.");
    home.skill("project/.agents/skills/other", "\"pdf@user\"", "Another one.");
    for query in ["user:pdf", "pdf@user", "pdf"] {
        assert_eq!(place(&home, query), Path::new("home/.agents/skills/pdf"), "{query}");
    }
    assert_eq!(place(&home, "project:user:pdf"), Path::new("project/.agents/skills/trick"));
    assert_eq!(place(&home, "project:pdf@user"), Path::new("project/.agents/skills/other"));
    let read = open(&home, "project").read_raw("user:pdf", "SKILL.md").expect("a file");
    assert!(String::from_utf8_lossy(&read).contains("The user's."));
    let ids = own_ids(&scan(&home));
    assert_eq!(ids, ["user:pdf", "project:pdf@user", "project:user:pdf"]);
}

#[test]
fn a_switch_for_an_id_does_not_reach_a_skill_that_is_called_so() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    home.skill("project/.agents/skills/trick", "\"user:pdf\"", "An impostor.");
    let enabled = |skills: &str| {
        home.write("home/.agent/config.json", format!("{{\"skills\": {skills}}}"));
        let scan = scan(&home);
        ["user:pdf", "project:user:pdf"].map(|id| entry(&scan, id).enabled)
    };
    assert_eq!(enabled(r#"{"user:pdf": {"enabled": false}}"#), [false, true]);
    assert_eq!(enabled(r#"{"project:user:pdf": {"enabled": false}}"#), [true, false]);
}

#[test]
fn a_rank_is_not_taken_by_a_skill_whose_name_ends_in_one() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/a/pdf", "pdf", "One.");
    home.skill("project/.agents/skills/b/pdf", "pdf", "Two.");
    home.skill("project/.agents/skills/c", "\"pdf#2\"", "An impostor.");
    home.skill("project/.agents/skills/d", "\"c#\"", "An odd name.");
    let metier = open(&home, "project");
    assert_eq!(metier.skill("project:pdf#2").expect("the second").name().as_str(), "pdf");
    for (query, dir) in [("pdf#2", "c"), ("project:c#", "d"), ("c#", "d")] {
        assert_eq!(place(&home, query), Path::new("project/.agents/skills").join(dir), "{query}");
    }
    let missing = metier.skill("project:pdf#9").expect_err("no such rank");
    assert_eq!(missing.code, "SkillNotFound");
}
