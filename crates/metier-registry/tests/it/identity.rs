//! One skill, several paths; one name, several skills; one tree, one hash.
//!
//! Names, copies, links, hashes: what counts as the same.

use metier_registry::{Duplicate, Root, ScanOptions, SwitchedSkill, scan};
use metier_skill::Source;
use metier_testkit::{TestHome, skill_text};

use crate::support::{names, options, scan_one};

fn roots(home: &TestHome) -> Vec<Root> {
    let root = |source, path: &str, plugin: Option<&str>| Root {
        source,
        path: home.path().join(path),
        plugin: plugin.map(str::to_owned),
        required: false,
        absent: false,
        foreign: None,
    };
    vec![
        root(Source::Project, "project/.claude/skills", None),
        root(Source::User, "home/.agents/skills", None),
        root(Source::User, "home/.claude/skills", None),
        root(Source::Plugin, "home/plug", Some("docs")),
    ]
}

#[test]
fn a_byte_identical_copy_is_one_entry_and_a_rival_with_another_body_is_a_conflict() {
    let home = TestHome::new();
    for dir in ["home/.agents/skills/same", "home/.claude/skills/same"] {
        home.skill(dir, "same", "The same.");
    }
    home.write(
        "home/.agents/skills/rival/SKILL.md",
        "---\nname: rival\ndescription: d\n---\nBody A\n",
    );
    home.write(
        "home/.claude/skills/rival/SKILL.md",
        "---\nname: rival\ndescription: d\n---\nBody B\n",
    );
    let scan = scan(&roots(&home), &options());
    assert_eq!(names(&scan), ["rival", "same"]);
    let path = home.path().join("home/.claude/skills/same");
    assert_eq!(&*scan.index.entries()[1].copies, [Duplicate { path, source: Source::User }]);
    assert_eq!(scan.report.conflicts.len(), 1);
    assert_eq!(&*scan.report.conflicts[0].name, "rival");
    assert_eq!(scan.report.valid, 4);
}

#[test]
fn a_shadowed_skill_stays_reachable_by_its_qualified_name() {
    let home = TestHome::new();
    home.skill("project/.claude/skills/pdf", "pdf", "The project's.");
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    home.skill("home/plug/pdf", "pdf", "The plugin's.");
    let scan = scan(&roots(&home), &options());
    assert_eq!(names(&scan), ["docs:pdf", "pdf"]);
    let described = |query: &str| {
        scan.index.find(query).map_or("-".to_owned(), |entry| entry.skill.description.to_string())
    };
    assert_eq!(described("pdf"), "The project's.");
    assert_eq!(described("project:pdf"), "The project's.");
    assert_eq!(described("user:pdf"), "The user's.");
    assert_eq!(described("pdf@user"), "The user's.");
    assert_eq!(described("docs:pdf"), "The plugin's.");
    assert_eq!(described("plugin:docs:pdf"), "The plugin's.");
    assert_eq!(described("builtin:pdf"), "-");
    let shadowed = &scan.report.conflicts[0].shadowed[0];
    assert_eq!(
        (shadowed.source, shadowed.path.clone()),
        (Source::User, home.path().join("home/.agents/skills/pdf"))
    );
}

#[test]
fn identical_trees_have_one_hash_wherever_they_stand_and_however_they_were_made() {
    let made = |order: &[usize]| {
        let home = TestHome::new();
        for at in order {
            let name = format!("skill-{at}");
            home.write(
                &format!("root/g{}/{name}/SKILL.md", at % 3),
                skill_text(&name, &format!("Number {at}.")),
            );
        }
        let scan = scan_one(&home.path().join("root"));
        let place = home.path().to_string_lossy().into_owned();
        (
            serde_json::to_string(scan.index.entries()).expect("JSON").replace(&place, ""),
            scan.report.index_hash,
        )
    };
    let up: Vec<usize> = (0..50).collect();
    let down: Vec<usize> = (0..50).rev().collect();
    assert_eq!(made(&up), made(&down));
    assert_ne!(made(&up).1, made(&up[1..]).1);
}

#[test]
fn the_hash_covers_what_is_enforced_and_not_what_is_only_described() {
    let hash = |fields: &str| {
        let home = TestHome::new();
        home.write(
            "root/a/SKILL.md",
            format!("---\nname: a\ndescription: d\n{fields}---\nbody {fields}\n"),
        );
        scan_one(&home.path().join("root")).report.index_hash
    };
    let plain = hash("");
    assert_eq!(plain, hash("license: MIT\n"));
    assert_ne!(plain, hash("allowed-tools: Read\n"));
    assert_ne!(plain, hash("disable-model-invocation: true\n"));
    assert_ne!(hash("allowed-tools: Read\n"), hash("allowed-tools: Read Write\n"));
    let home = TestHome::new();
    home.skill("root/a", "a", "d");
    let switch =
        SwitchedSkill { key: "explicit:a".to_owned(), enabled: false, off_by_project: false };
    let off = ScanOptions { switches: vec![switch], ..options() };
    let scan = scan(&[crate::support::root(&home.path().join("root"))], &off);
    assert!(!scan.index.entries()[0].enabled);
    assert_ne!(scan.report.index_hash, plain);
}
