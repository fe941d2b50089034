//! `metier list` for people: the table, who shadows whom, what was left out and why.

use metier_testkit::TestHome;

use crate::support::{run, shown, shown_own};

#[test]
fn an_empty_place_has_the_compiled_in_skills() {
    let home = TestHome::new();
    insta::assert_snapshot!(shown(&home, &run(&home, &["list"])), @"");
}

#[test]
fn an_explicit_root_beats_the_project_which_beats_the_user() {
    let home = TestHome::new();
    home.skill("extra/pdf", "pdf", "The explicit one.");
    home.skill("project/.claude/skills/pdf", "pdf", "The project's.");
    home.skill("project/.claude/skills/sheet", "sheet", "The project's.");
    home.skill("home/.claude/skills/pdf", "pdf", "The user's.");
    home.skill("home/.claude/skills/sheet", "sheet", "The user's.");
    home.skill("home/.claude/skills/slides", "slides", "The user's.");
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--root", "../extra"])), @"");
}

#[test]
fn the_first_of_two_roots_wins_and_a_folder_named_twice_counts_once() {
    let home = TestHome::new();
    home.skill("one/pdf", "pdf", "From the first root.");
    home.skill("two/pdf", "pdf", "From the second root.");
    home.skill("two/sheet", "sheet", "Only there.");
    let args = ["list", "--all", "--root", "../one", "--root", "../two", "--root", "../one"];
    insta::assert_snapshot!(shown_own(&home, &run(&home, &args)), @"");
}

#[test]
fn a_users_skill_shadows_a_compiled_in_one() {
    let home = TestHome::new();
    home.skill("home/.agent/skills/profile-csv", "profile-csv", "My own way.");
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--all"])), @"");
}

#[test]
fn one_source_alone() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/sheet", "sheet", "The project's.");
    home.skill("home/.agents/skills/slides", "slides", "The user's.");
    insta::assert_snapshot!(shown(&home, &run(&home, &["list", "--source", "user"])), @"");
    insta::assert_snapshot!(shown(&home, &run(&home, &["list", "--source", "plugin"])), @"");
}

#[test]
fn all_tells_what_was_shadowed_ignored_and_not_searched_and_why() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "The project's.");
    home.write(
        "home/.agents/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: The user's.\nversion: 1.2\n---\nDo it.\n",
    );
    home.write("project/.agents/skills/nameless/SKILL.md", "---\ndescription: Who?\n---\nx\n");
    home.write("project/.agents/skills/text/SKILL.md", "# Only text\n");
    home.write("project/.agents/skills/tags/SKILL.md", "---\nname: tags\ndescription: A <b>\n---\n");
    std::os::unix::fs::symlink("nowhere", home.project().join(".agents/skills/gone"))
        .expect("a link");
    let args = ["list", "--all", "--root", "../not-there"];
    insta::assert_snapshot!(shown_own(&home, &run(&home, &args)), @"");
    let brief = run(&home, &["list", "--root", "../not-there"]);
    assert_eq!(
        brief.stderr,
        "3 skills in 2 roots; 1 shadowed, 3 ignored, 2 not searched (metier list --all says why)\n"
    );
}

#[test]
fn skills_that_are_off_or_for_people_only_are_marked() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/off", "off", "Switched off by name.");
    home.skill("project/.agents/skills/off-too", "off-too", "Switched off by id.");
    home.write(
        "project/.agents/skills/mine/SKILL.md",
        "---\nname: mine\ndescription: Started by a person.\ndisable-model-invocation: true\n---\nx\n",
    );
    home.write(
        "home/.agent/config.json",
        r#"{"skills": {"off": {"enabled": false}, "project:off-too": {"enabled": false}, "user:mine": {"enabled": false}}}"#,
    );
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list"])), @"");
}

#[test]
fn the_lenient_profile_lists_what_the_strict_one_leaves_out() {
    let home = TestHome::new();
    home.write("project/.agents/skills/quiet/SKILL.md", "---\nname: quiet\n---\nDo it.\n");
    home.write(
        "project/.agents/skills/tags/SKILL.md",
        "---\nname: tags\ndescription: A <b> tag\n---\nx\n",
    );
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--profile", "lenient"])), @"");
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--profile", "strict"])), @"");
}

#[test]
fn one_skill_reached_by_a_link_or_a_copy_is_one_row() {
    let home = TestHome::new();
    let real = home.skill("project/.agents/skills/pdf", "pdf", "One skill.");
    std::fs::create_dir_all(home.project().join(".claude/skills")).expect("directories");
    std::os::unix::fs::symlink(real, home.project().join(".claude/skills/pdf")).expect("a link");
    home.skill("home/.agents/skills/pdf", "pdf", "One skill.");
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--all"])), @"");
}
