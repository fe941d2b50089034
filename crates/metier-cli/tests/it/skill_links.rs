//! What is trusted, remembered and enforced is what is hashed: links in and around a skill, and links
//! that make a skill of a whole folder of skills.

use std::os::unix::fs::symlink;
use std::path::Path;

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::run_support::{answer, codes, events, holds_scripts, resource, run_scripted, select};
use crate::support::{json, run, texts};

const LIMITED: &str = "---\nname: work\ndescription: Works.\nallowed-tools: Read\n---\nWork.\n";
const FREE: &str = "---\nname: work\ndescription: Works.\n---\nWork.\n";
const SKILL: &str = "project/.agent/skills/work";

fn exec(home: &TestHome, flags: &[&str]) -> Output {
    run(home, &[&["exec", "work", "scripts/run.sh"], flags].concat())
}

/// Puts `SKILL.md` there in one of the ways that leave the bytes elsewhere; gives the file that holds
/// them.
fn linked(home: &TestHome, way: &str) -> std::path::PathBuf {
    let skill = home.path().join(SKILL);
    let target = home.write("project/shared/words.md", LIMITED);
    let file = skill.join("SKILL.md");
    match way {
        "relative" => symlink("../../../shared/words.md", &file),
        "absolute" => symlink(&target, &file),
        "inside" => {
            let inside = home.write(&format!("{SKILL}/words.md"), LIMITED);
            symlink("words.md", &file).expect("links");
            return inside;
        }
        "hidden" => {
            let inside = home.write(&format!("{SKILL}/.words.md"), LIMITED);
            symlink(".words.md", &file).expect("links");
            return inside;
        }
        "twice" => {
            symlink(&target, home.path().join("project/shared/second.md")).expect("links");
            symlink("../../../shared/second.md", &file)
        }
        "hard" => std::fs::hard_link(&target, &file),
        other => panic!("{other}"),
    }
    .expect("links");
    target
}

#[test]
fn a_skill_whose_skill_md_is_a_link_is_neither_trusted_nor_run() {
    for way in ["relative", "absolute", "inside", "hidden", "twice", "hard"] {
        let home = TestHome::new();
        if !holds_scripts(&home) {
            return;
        }
        home.write(&format!("{SKILL}/scripts/run.sh"), "echo it ran\n");
        let target = linked(&home, way);
        let trusted = json(&home, &["trust", "--yes", "--json"]);
        assert_eq!(trusted["skills"], json!([]), "{way}");
        let reason = trusted["left_out"][0]["reason"].as_str().expect("a reason");
        assert!(reason.contains("SKILL.md") && reason.contains("link"), "{way}: {reason}");
        assert_eq!(exec(&home, &["--yes"]).code, 3, "{way}: it lists only Read");
        // What the ceiling is made from lies elsewhere, and is changed there.
        std::fs::write(&target, FREE).expect("writes");
        for _ in 0..2 {
            let output = exec(&home, &["--yes"]);
            assert_eq!(output.code, 3, "{way}: {output:?}");
            assert!(!output.stdout.contains("it ran"), "{way}: {output:?}");
        }
        let again = json(&home, &["trust", "--yes", "--json"]);
        assert_eq!(again["skills"], json!([]), "{way}");
        // As a file of its own it is trusted, as it is.
        std::fs::remove_file(home.path().join(SKILL).join("SKILL.md")).expect("removes");
        home.write(&format!("{SKILL}/SKILL.md"), FREE);
        assert_eq!(
            texts(&json(&home, &["trust", "--yes", "--json"])["skills"], "id"),
            ["project:work"]
        );
        let output = exec(&home, &["--yes"]);
        assert!(output.stdout.contains("it ran"), "{way}: {output:?}");
        home.write(&format!("{SKILL}/SKILL.md"), LIMITED);
        assert_eq!(exec(&home, &["--yes"]).code, 3, "{way}: it was changed");
    }
}

#[test]
fn nothing_is_remembered_about_a_linked_skill_md() {
    let home = TestHome::new();
    if !holds_scripts(&home) {
        return;
    }
    let skill = "home/.agents/skills/work";
    home.write(&format!("{skill}/scripts/run.sh"), "echo it ran\n");
    let target = home.write("elsewhere/words.md", FREE);
    symlink(&target, home.path().join(skill).join("SKILL.md")).expect("links");
    let output = exec(&home, &["--yes"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stderr.contains("SKILL.md"), "what is wrong: {output:?}");
    assert_eq!(json(&home, &["permissions", "--json"])["answers"], json!([]));
}

#[test]
fn what_a_link_in_a_skill_leads_to_is_not_run() {
    for folder in [false, true] {
        let home = TestHome::new();
        if !holds_scripts(&home) {
            return;
        }
        home.write(&format!("{SKILL}/SKILL.md"), FREE);
        home.write("project/outside/run.sh", "echo it ran\n");
        if folder {
            symlink("../../../outside", home.path().join(SKILL).join("scripts")).expect("links");
        } else {
            std::fs::create_dir(home.path().join(SKILL).join("scripts")).expect("makes");
            let link = home.path().join(SKILL).join("scripts/run.sh");
            symlink("../../../../outside/run.sh", link).expect("links");
        }
        assert_eq!(
            texts(&json(&home, &["trust", "--yes", "--json"])["skills"], "id"),
            ["project:work"]
        );
        for words in ["echo it ran\n", "echo it ran twice\n"] {
            home.write("project/outside/run.sh", words);
            let output = exec(&home, &["--yes"]);
            assert_ne!(output.code, 0, "{output:?}");
            assert!(!output.stdout.contains("it ran"), "{output:?}");
        }
    }
}

#[test]
fn a_linked_folder_is_trusted_where_it_leads_and_not_when_it_is_led_elsewhere() {
    let home = TestHome::new();
    if !holds_scripts(&home) {
        return;
    }
    for at in ["project/vendor/one", "project/vendor/two", "elsewhere"] {
        home.write(&format!("{at}/SKILL.md"), FREE);
        home.write(&format!("{at}/scripts/run.sh"), format!("echo it ran in {at}\n"));
    }
    let link = home.path().join(SKILL);
    std::fs::create_dir_all(link.parent().expect("a parent")).expect("makes");
    let lead_to = |target: &Path| {
        let _ = std::fs::remove_file(&link);
        symlink(target, &link).expect("links");
    };
    lead_to(Path::new("../../vendor/one"));
    let trusted = json(&home, &["trust", "--yes", "--json"]);
    assert_eq!(texts(&trusted["skills"], "path"), ["vendor/one"]);
    assert!(exec(&home, &["--yes"]).stdout.contains("it ran in project/vendor/one"));
    lead_to(Path::new("../../vendor/two"));
    assert_eq!(exec(&home, &["--yes"]).code, 3, "another folder");
    // A folder outside of the project is not the project's to be trusted.
    lead_to(&home.path().join("elsewhere"));
    let trusted = json(&home, &["trust", "--yes", "--json"]);
    assert_eq!(trusted["skills"], json!([]));
    let reason = trusted["left_out"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("outside"), "{reason}");
    assert_eq!(exec(&home, &["--yes"]).code, 3);
}

/// A folder of skills with a `SKILL.md` of its own, and a skill with a secret.
fn with_root_skill(root: &str) -> TestHome {
    let home = TestHome::new();
    let text = "---\nname: all\ndescription: Everything.\n---\nRead all.\n";
    home.write(&format!("project/{root}/SKILL.md"), text);
    home.skill(&format!("project/{root}/secret"), "secret", "Has a secret.");
    home.write(&format!("project/{root}/secret/notes.md"), "CANARY\n");
    home
}

#[test]
fn a_link_makes_no_skill_of_a_folder_of_skills() {
    let root = ".agent/skills";
    for (link, target) in [
        ("loop", "."),
        ("a/loop", ".."),
        ("a/b/loop", "../.."),
        ("a/loop", "../../skills"),
        ("up", "../skills"),
        ("through", "../../.agent/skills"),
    ] {
        let home = with_root_skill(root);
        let at = home.project().join(root).join(link);
        std::fs::create_dir_all(at.parent().expect("a parent")).expect("makes");
        symlink(target, &at).expect("links");
        let listed = json(&home, &["list", "--json"]);
        let names = texts(&listed["skills"], "name");
        assert!(!names.contains(&"all") && names.contains(&"secret"), "{link}: {names:?}");
        let ignored = listed["report"]["ignored"].as_array().expect("a list");
        let line = ignored.iter().find(|line| line["code"] == "skill-holds-root");
        let path = line.unwrap_or_else(|| panic!("{link}: {ignored:?}"))["path"].as_str();
        assert!(path.is_some_and(|path| path.ends_with(link)), "{link}: {path:?}");
        let report = &listed["report"];
        let found = report["found"].as_u64().expect("a number");
        let valid = report["valid"].as_u64().expect("a number");
        assert_eq!(found, valid + ignored.len() as u64, "every SKILL.md is counted once");
        let replies = json!([select(&["all"]), resource("all", "secret/notes.md"), answer("x")]);
        run_scripted(&home, &replies, &["--yes"]);
        assert_eq!(codes(&events(&home)), ["SkillNotFound", "SkillNotFound"], "{link}");
    }
}

#[test]
fn a_link_to_a_folder_above_the_root_or_around_another_root_is_no_skill() {
    // The project's top has a SKILL.md.
    let home = with_root_skill(".agent/skills");
    std::fs::rename(home.project().join(".agent/skills/SKILL.md"), home.project().join("SKILL.md"))
        .expect("moves");
    symlink("../..", home.project().join(".agent/skills/up")).expect("links");
    let listed = json(&home, &["list", "--json"]);
    assert!(!texts(&listed["skills"], "name").contains(&"all"), "{listed}");
    assert!(texts(&listed["report"]["ignored"], "code").contains(&"skill-holds-root"));
    // Another agent's folder, which holds a root.
    let home = with_root_skill(".agents");
    home.skill("project/.agents/skills/other", "other", "Another.");
    std::fs::create_dir_all(home.project().join(".claude/skills")).expect("makes");
    symlink("../../.agents", home.project().join(".claude/skills/all")).expect("links");
    let listed = json(&home, &["list", "--json"]);
    let names = texts(&listed["skills"], "name");
    assert!(!names.contains(&"all") && names.contains(&"other"), "{names:?}");
    assert!(texts(&listed["report"]["ignored"], "code").contains(&"skill-holds-root"));
}

#[test]
fn a_folder_that_is_named_as_a_root_may_be_a_skill() {
    let home = with_root_skill("mine");
    let listed = json(&home, &["list", "--json", "--root", "mine"]);
    let names = texts(&listed["skills"], "name");
    assert!(names.contains(&"all"), "{names:?}");
    assert_eq!(listed["report"]["ignored"], json!([]), "what is below it are its own files");
    // Also beside a link to it, and with links to ordinary skills.
    home.write("project/.agent/skills/x/SKILL.md", FREE.replace("work", "x"));
    symlink("../../mine", home.project().join(".agent/skills/linked")).expect("links");
    symlink("x", home.project().join(".agent/skills/again")).expect("links");
    let listed = json(&home, &["list", "--json", "--root", "mine"]);
    assert_eq!(listed["report"]["ignored"], json!([]), "{listed}");
    let names: Vec<Value> = texts(&listed["skills"], "name").into_iter().map(Value::from).collect();
    assert!(names.contains(&json!("all")) && names.contains(&json!("x")), "{names:?}");
    let listed = json(&home, &["list", "--json"]);
    assert!(texts(&listed["skills"], "name").contains(&"all"), "as an ordinary skill: {listed}");
}
