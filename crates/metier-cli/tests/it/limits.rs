//! Limits from the configuration: what they cut is reported, with a code, and the cut is the same every
//! time.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{builtin, json, many_skills, run, shown_own, texts};

fn own_names(listing: &Value) -> Vec<&str> {
    let skills = listing["skills"].as_array().expect("skills").iter();
    skills
        .filter(|skill| skill["source"] != "builtin")
        .map(|skill| skill["name"].as_str().expect("a name"))
        .collect()
}

#[test]
fn a_root_with_too_many_entries_is_cut_and_the_cut_is_reported() {
    let home = TestHome::new();
    many_skills(&home, "project/.agents/skills", 3000);
    home.write("home/.agent/config.json", r#"{"security": {"max_walk_entries": 1000}}"#);
    let listing = json(&home, &["list", "--json"]);
    let names = own_names(&listing);
    assert_eq!(names.len(), 1000);
    assert_eq!((names[0], names[999]), ("s0000", "s0999"), "the first by name");
    assert_eq!(listing["report"]["truncated"], json!(true));
    assert_eq!(
        listing["report"]["notes"],
        json!([{
            "path": "[T]/project/.agents/skills",
            "code": "walk-too-many",
            "message": "more than 1000 entries below this root",
        }])
    );
    let human = run(&home, &["list"]);
    assert_eq!(human.code, 0);
    assert_eq!(
        human.stderr,
        format!(
            "{} skills in 2 roots; 1 not searched (metier list --all shows why); the search stopped at a limit\n",
            1000 + builtin()
        )
    );
    home.write("home/.agent/config.json", r#"{"security": {"max_walk_entries": 3000}}"#);
    let whole = json(&home, &["list", "--json"]);
    assert_eq!(own_names(&whole).len(), 3000);
    assert_eq!(
        (&whole["report"]["truncated"], &whole["report"]["notes"]),
        (&json!(false), &json!([]))
    );
}

#[test]
fn skills_below_the_depth_limit_are_reported() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/a/b/near", "near", "Near.");
    home.skill("project/.agents/skills/a/b/c/far", "far", "Far.");
    home.write("project/.agent/config.json", r#"{"security": {"max_walk_depth": 3}}"#);
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--all"])), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    near              project  [not trusted] Near.

    Not searched
      [T]/project/.agents/skills/a/b/c  walk-too-deep
        directories more than 3 levels below the root are not walked
        help: Name the deeper directory as a root of its own, or raise `security.max_walk_depth`.

    ---- stderr
    6 skills in 2 roots; 1 not searched; the search stopped at a limit
    ");
}

#[test]
fn links_are_followed_only_where_the_configuration_allows_it() {
    let home = TestHome::new();
    home.skill("elsewhere/linked", "linked", "Behind a link.");
    std::fs::create_dir_all(home.project().join(".agents/skills")).expect("directories");
    std::os::unix::fs::symlink(
        home.path().join("elsewhere"),
        home.project().join(".agents/skills/more"),
    )
    .expect("a link");
    assert_eq!(own_names(&json(&home, &["list", "--json"])), ["linked"]);
    home.write("project/.agent/config.json", r#"{"security": {"follow_symlinks": false}}"#);
    let listing = json(&home, &["list", "--json"]);
    assert_eq!(own_names(&listing), [""; 0]);
    assert_eq!(texts(&listing["report"]["notes"], "code"), ["link-not-followed"]);
}

#[test]
fn frontmatter_limits_keep_a_skill_out_and_are_named() {
    let home = TestHome::new();
    let text = |lines: usize| {
        format!("---\nname: long\ndescription: Long.\n{}---\nx\n", "# a comment\n".repeat(lines))
    };
    home.write("project/.agents/skills/long/SKILL.md", text(50));
    assert_eq!(own_names(&json(&home, &["list", "--json"])), ["long"]);
    for (key, limit, code) in [
        ("max_frontmatter_lines", 40, "frontmatter-too-many-lines"),
        ("max_frontmatter_bytes", 400, "frontmatter-too-large"),
        ("max_description_chars", 3, "description-over-limit"),
    ] {
        home.write(
            "project/.agent/config.json",
            format!("{{\"security\": {{\"{key}\": {limit}}}}}"),
        );
        let listing = json(&home, &["list", "--json"]);
        assert_eq!(own_names(&listing), [""; 0], "{key}");
        let ignored = listing["report"]["ignored"].as_array().expect("a list");
        let is_own =
            |line: &&Value| !line["path"].as_str().is_some_and(|at| at.starts_with("builtin:"));
        let own: Vec<_> = ignored.iter().filter(is_own).map(|line| &line["code"]).collect();
        assert_eq!(own, [code], "{key}");
    }
}
