//! Which skill is which: a `SKILL.md` that is a link, links that are refused, and names that look
//! like another skill's id. A skill is its directory, and none answers to a foreign id.

use std::os::unix::fs::symlink;

use metier_testkit::{TestHome, skill_text};
use serde_json::{Value, json};

use crate::support::{document, entry, json, many_skills, run, texts};

/// A skill's folder whose `SKILL.md` is a link to `target`.
fn linked(home: &TestHome, dir: &str, target: &str) {
    let dir = home.path().join(dir);
    std::fs::create_dir_all(&dir).expect("directories");
    symlink(home.path().join(target), dir.join("SKILL.md")).expect("a link");
}

#[test]
fn folders_whose_files_link_to_one_target_are_skills_of_their_own() {
    let home = TestHome::new();
    home.write("shared/pdf.md", skill_text("pdf", "One text for all."));
    linked(&home, "project/.agents/skills/one", "shared/pdf.md");
    linked(&home, "project/.agents/skills/two", "shared/pdf.md");
    linked(&home, "home/.agents/skills/three", "shared/pdf.md");
    home.write("project/.agents/skills/two/scripts/run.sh", "echo two");
    let listing = json(&home, &["list", "--all", "--json"]);
    let pdf = entry(&listing, "project:pdf");
    assert_eq!(pdf["path"], "[T]/project/.agents/skills/one");
    assert_eq!(pdf.get("copies"), None, "another folder is another skill: {pdf}");
    let conflict = &listing["report"]["conflicts"][0];
    assert_eq!(conflict["winner"], "[T]/project/.agents/skills/one");
    assert_eq!(
        texts(&conflict["shadowed"], "path"),
        ["[T]/project/.agents/skills/two", "[T]/home/.agents/skills/three"]
    );
    assert_eq!(texts(&conflict["shadowed"], "reason"), ["path-order", "higher-root"]);
    let paths = |id: &str| json(&home, &["inspect", id, "--json"])["path"].clone();
    assert_eq!(paths("pdf"), "[T]/project/.agents/skills/one");
    assert_eq!(paths("project:pdf#2"), "[T]/project/.agents/skills/two");
    assert_eq!(paths("user:pdf"), "[T]/home/.agents/skills/three");
    let files = json(&home, &["inspect", "project:pdf#2", "--json"])["files"].clone();
    assert_eq!(texts(&files, "path"), ["SKILL.md", "scripts/run.sh"], "its own files");
}

#[test]
fn without_a_name_of_its_own_each_linked_folder_lends_it_one() {
    let home = TestHome::new();
    home.write("shared/any.md", "---\ndescription: Named by its folder.\n---\nDo it.\n");
    linked(&home, "project/.agents/skills/one", "shared/any.md");
    linked(&home, "project/.agents/skills/two", "shared/any.md");
    let listing = json(&home, &["list", "--json", "--profile", "lenient"]);
    for name in ["one", "two"] {
        let skill = entry(&listing, &format!("project:{name}"));
        assert_eq!(skill["path"], format!("[T]/project/.agents/skills/{name}"));
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
    let listing = json(&home, &["list", "--all", "--json"]);
    assert_eq!(listing["report"]["conflicts"], json!([]));
    assert_eq!(
        entry(&listing, "project:pdf")["copies"],
        json!([{ "path": "[T]/project/.claude/skills/again", "source": "project" }])
    );
}

#[test]
fn links_are_followed_or_refused_as_the_settings_say() {
    let home = TestHome::new();
    many_skills(&home, "project/.agents/skills", 300);
    home.write("shared/file.md", skill_text("by-file", "Behind a linked file."));
    home.skill("shared/folder", "by-folder", "Behind a linked folder.");
    linked(&home, "project/.agents/skills/by-file", "shared/file.md");
    let link = home.project().join(".agents/skills/by-folder");
    symlink(home.path().join("shared/folder"), link).expect("a link");
    let linked_ids = |listing: &Value| -> Vec<String> {
        let ids = texts(&listing["skills"], "id");
        ids.into_iter().filter(|id| id.starts_with("project:by-")).map(str::to_owned).collect()
    };
    let followed = json(&home, &["list", "--json"]);
    assert_eq!(linked_ids(&followed), ["project:by-file", "project:by-folder"]);

    home.write("project/.agent/config.json", r#"{"security": {"follow_symlinks": false}}"#);
    let refused = json(&home, &["list", "--json"]);
    assert_eq!(linked_ids(&refused), [""; 0]);
    let report = texts(&refused["report"]["notes"], "code");
    assert_eq!(report, ["link-not-followed", "link-not-followed"]);

    std::fs::remove_file(home.project().join(".agent/config.json")).expect("removes");
    assert_eq!(json(&home, &["list", "--json"]), followed);
}

#[test]
fn a_skill_that_calls_itself_by_anothers_id_does_not_get_its_place() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    home.skill("project/.agents/skills/trick", "\"user:pdf\"", "An impostor.");
    home.skill("project/.agents/skills/other", "\"pdf@user\"", "Another one.");
    let path = |query: &str| json(&home, &["inspect", query, "--json"])["path"].clone();
    for query in ["user:pdf", "pdf@user", "pdf"] {
        assert_eq!(path(query), "[T]/home/.agents/skills/pdf", "{query}");
    }
    assert_eq!(path("project:user:pdf"), "[T]/project/.agents/skills/trick");
    assert_eq!(path("project:pdf@user"), "[T]/project/.agents/skills/other");
    let read = json(&home, &["read", "user:pdf", "--raw", "--json"]);
    assert!(read["text"].as_str().expect("a text").contains("The user's."), "{read}");
    let ids = json(&home, &["list", "--json"]);
    let own: Vec<&str> =
        texts(&ids["skills"], "id").into_iter().filter(|id| !id.starts_with("builtin:")).collect();
    assert_eq!(own, ["user:pdf", "project:pdf@user", "project:user:pdf"]);
}

#[test]
fn a_switch_for_an_id_does_not_reach_a_skill_that_is_called_so() {
    let home = TestHome::new();
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    home.skill("project/.agents/skills/trick", "\"user:pdf\"", "An impostor.");
    let enabled = |skills: &str| {
        home.write("home/.agent/config.json", format!("{{\"skills\": {skills}}}"));
        let listing = json(&home, &["list", "--json"]);
        ["user:pdf", "project:user:pdf"].map(|id| entry(&listing, id)["enabled"] == true)
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
    let second = json(&home, &["inspect", "project:pdf#2", "--json"]);
    assert_eq!(second["name"], "pdf");
    for (query, dir) in [("pdf#2", "c"), ("project:c#", "d"), ("c#", "d")] {
        let shown = json(&home, &["inspect", query, "--json"]);
        assert_eq!(shown["path"], format!("[T]/project/.agents/skills/{dir}"), "{query}");
    }
    let missing = document(&home, &run(&home, &["inspect", "project:pdf#9", "--json"]), 1);
    assert_eq!(missing["error"]["code"], "SkillNotFound");
}
