//! `metier list` for people: the table, who shadows whom, what was left out and why, and what is
//! shown of folders that cannot be read or named.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, UNIX_EPOCH};

use metier_testkit::{TestHome, skill_text};
use serde_json::Value;

use crate::support::{METIER, at, json, run, run_unprivileged, shown, shown_own};

#[test]
fn an_empty_place_has_the_compiled_in_skills() {
    let home = TestHome::new();
    insta::assert_snapshot!(shown(&home, &run(&home, &["list"])), @r#"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    csv-summary       builtin  Summarise a CSV or TSV file - count, sum, mean, minimum and maximum of its numeric columns, for the whole table or grouped by a column. Use when someone wants totals, averages or a breakdown of tabular data, such as "sum the units in orders.csv" or "sales by region". Do NOT use for data quality checks, types or duplicates (use profile-csv), for Excel workbooks, or for charts.
    profile-csv       builtin  Profile the quality of a CSV or TSV file - column types, empty values, mixed types, duplicate rows, ranges and most frequent values - and report what looks wrong. Use when someone asks whether a data export or a spreadsheet saved as CSV is clean, such as "is orders.csv clean", or wants it checked before it is loaded somewhere. Do NOT use for totals, averages or a breakdown by a column (use csv-summary).
    project-overview  builtin  Give an overview of a project or repository - title of its README, build files, programming languages by files and lines, largest folders. Use when someone opens an unknown codebase and asks what it is, what it is written in, how it is laid out or where to start, such as "give an overview of the repository". Do NOT use to review, explain or change code, or for the history of commits.
    review-skill      builtin  Review an existing Agent Skill (a folder with a SKILL.md) before it is shared or installed - does its description trigger, are its steps complete, are its scripts and tools safe - and report findings by severity. Use when someone asks to review, audit or critique a skill, or whether a skill from elsewhere can be trusted, such as "review the skill in ./my-skill". Do NOT use to write a new skill (use write-skill) or to review code that is not a skill.
    write-skill       builtin  Write or improve an Agent Skill (a folder with a SKILL.md). Use when someone wants a new skill, such as "write a skill for release notes", asks why a skill does not trigger, or wants its frontmatter, description, steps or file layout written or rewritten. Do NOT use to review or audit a skill that is finished (use review-skill).

    ---- stderr
    5 skills in 1 root
    "#);
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
    let output = run(&home, &["list", "--root", &at(&home, "extra")]);
    insta::assert_snapshot!(shown_own(&home, &output), @"
    exit: 0
    ---- stdout
    NAME              SOURCE    DESCRIPTION
    pdf               explicit  The explicit one.
    sheet             project   [not trusted] The project's.
    slides            user      The user's.

    ---- stderr
    8 skills in 4 roots; 3 shadowed (metier list --all shows why)
    ");
}

#[test]
fn the_first_of_two_roots_wins_and_a_folder_named_twice_counts_once() {
    let home = TestHome::new();
    home.skill("one/pdf", "pdf", "From the first root.");
    home.skill("two/pdf", "pdf", "From the second root.");
    home.skill("two/sheet", "sheet", "Only there.");
    let (one, two) = (at(&home, "one"), at(&home, "two"));
    let args = ["list", "--all", "--root", &one, "--root", &two, "--root", &one];
    insta::assert_snapshot!(shown_own(&home, &run(&home, &args)), @"
    exit: 0
    ---- stdout
    NAME              SOURCE    DESCRIPTION
    pdf               explicit  From the first root.
    sheet             explicit  Only there.

    Shadowed
      explicit:pdf#2  [T]/two/pdf
        a root with higher priority has a skill of that name: [T]/one/pdf

    ---- stderr
    7 skills in 3 roots; 1 shadowed
    ");
}

#[test]
fn a_users_skill_shadows_a_compiled_in_one() {
    let home = TestHome::new();
    home.skill("home/.agent/skills/profile-csv", "profile-csv", "My own way.");
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--all"])), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    profile-csv       user     My own way.

    Shadowed
      builtin:profile-csv  builtin:profile-csv
        a root with higher priority has a skill of that name: [T]/home/.agent/skills/profile-csv

    ---- stderr
    5 skills in 2 roots; 1 shadowed
    ");
}

#[test]
fn one_source_alone() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/sheet", "sheet", "The project's.");
    home.skill("home/.agents/skills/slides", "slides", "The user's.");
    insta::assert_snapshot!(shown(&home, &run(&home, &["list", "--source", "user"])), @"
    exit: 0
    ---- stdout
    NAME    SOURCE  DESCRIPTION
    slides  user    The user's.

    ---- stderr
    1 skill in 1 root
    ");
    insta::assert_snapshot!(shown(&home, &run(&home, &["list", "--source", "plugin"])), @"
    exit: 0
    ---- stdout

    ---- stderr
    0 skills in 0 roots
    ");
}

#[test]
fn one_source_is_a_view_of_the_whole_listing() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "The project's.");
    home.skill("home/.agents/skills/pdf", "pdf", "The user's, shadowed.");
    home.skill("home/.agents/skills/sheet", "sheet", "The user's.");
    home.skill("home/.claude/plugins/cache/market/office/1.0/skills/pdf", "pdf", "A plugin's.");
    let whole = json(&home, &["list", "--json"]);
    for source in ["explicit", "project", "user", "plugin", "builtin"] {
        let part = json(&home, &["list", "--json", "--source", source]);
        let expected: Vec<&Value> = whole["skills"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|skill| skill["source"] == source)
            .collect();
        let part: Vec<&Value> = part["skills"].as_array().expect("a list").iter().collect();
        assert_eq!(part, expected, "{source}");
    }
}

#[test]
fn all_shows_what_was_shadowed_ignored_and_not_searched_and_why() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "The project's.");
    home.write(
        "home/.agents/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: The user's.\nversion: 1.2\n---\nDo it.\n",
    );
    home.write("project/.agents/skills/nameless/SKILL.md", "---\ndescription: Who?\n---\nx\n");
    home.write("project/.agents/skills/text/SKILL.md", "# Only text\n");
    home.write(
        "project/.agents/skills/tags/SKILL.md",
        "---\nname: tags\ndescription: A <b>\n---\n",
    );
    std::os::unix::fs::symlink("nowhere", home.project().join(".agents/skills/gone"))
        .expect("a link");
    let missing = at(&home, "not-there");
    let args = ["list", "--all", "--root", &missing];
    insta::assert_snapshot!(shown_own(&home, &run(&home, &args)), @"
    exit: 1
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    pdf               project  [not trusted] The project's.

    Shadowed
      user:pdf  [T]/home/.agents/skills/pdf
        a root with higher priority has a skill of that name: [T]/project/.agents/skills/pdf

    Ignored
      [T]/project/.agents/skills/nameless  name-missing
        the frontmatter has no `name`, line 2
        help: Add `name:` with the directory's name.
      [T]/project/.agents/skills/tags  angle-brackets
        `description` contains `<` or `>`, line 3
        help: Write the words out: `less than`, `->` as `to`, placeholders in capitals.
      [T]/project/.agents/skills/text  frontmatter-missing
        the first line is not `---`, line 1
        help: Start the file with `---`, the fields and another `---`, followed by the body.

    Not searched
      [T]/not-there  root-missing
        the root does not exist
        help: Check the path, or create the directory.
      [T]/project/.agents/skills/gone  link-dangling
        the link's target does not exist
        help: Remove the link or restore its target.

    ---- stderr
    6 skills in 3 roots; 1 shadowed, 3 ignored, 2 not searched
    error: [T]/not-there: the root does not exist
    ");
    let brief = run(&home, &["list", "--root", &missing]);
    assert!(
        brief.stderr.starts_with(
            "6 skills in 3 roots; 1 shadowed, 3 ignored, 2 not searched (metier list --all shows why)\n"
        ),
        "{brief:?}"
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
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list"])), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    mine              project  [user only] [not trusted] Started by a person.
    off               project  [off] [not trusted] Switched off by name.
    off-too           project  [off] [not trusted] Switched off by id.

    ---- stderr
    8 skills in 2 roots
    ");
}

#[test]
fn the_lenient_profile_lists_what_the_strict_one_leaves_out() {
    let home = TestHome::new();
    home.write("project/.agents/skills/quiet/SKILL.md", "---\nname: quiet\n---\nDo it.\n");
    home.write(
        "project/.agents/skills/tags/SKILL.md",
        "---\nname: tags\ndescription: A <b> tag\n---\nx\n",
    );
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--profile", "lenient"])), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    quiet             project  [not trusted] 
    tags              project  [not trusted] A &lt;b&gt; tag

    ---- stderr
    7 skills in 2 roots
    ");
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--profile", "strict"])), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION

    ---- stderr
    5 skills in 2 roots; 2 ignored (metier list --all shows why)
    ");
}

#[test]
fn one_skill_reached_by_a_link_or_a_copy_is_one_row() {
    let home = TestHome::new();
    let real = home.skill("project/.agents/skills/pdf", "pdf", "One skill.");
    std::fs::create_dir_all(home.project().join(".claude/skills")).expect("directories");
    std::os::unix::fs::symlink(real, home.project().join(".claude/skills/pdf")).expect("a link");
    home.skill("home/.agents/skills/pdf", "pdf", "One skill.");
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--all"])), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    pdf               project  [not trusted] One skill.

    ---- stderr
    6 skills in 4 roots
    ");
}

#[test]
fn of_two_with_one_name_in_one_root_the_later_one_wins() {
    let home = TestHome::new();
    let day = |days: u64| UNIX_EPOCH + Duration::from_hours(24 * days);
    for (dir, days) in [("a", 20_000), ("b", 20_002), ("c", 20_001)] {
        let text = skill_text("pdf", &format!("In {dir}."));
        let path = home.write(&format!("project/.agents/skills/{dir}/pdf/SKILL.md"), text);
        let file = File::options().write(true).open(path).expect("opens");
        file.set_modified(day(days)).expect("sets the time");
    }
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--all"])), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    pdf               project  [clash] [not trusted] In b.

    Shadowed
      project:pdf#2  [T]/project/.agents/skills/c/pdf
        another skill of that name in the same root was modified later: [T]/project/.agents/skills/b/pdf
      project:pdf#3  [T]/project/.agents/skills/a/pdf
        another skill of that name in the same root was modified later: [T]/project/.agents/skills/b/pdf

    ---- stderr
    6 skills in 2 roots; 2 shadowed, 1 with a clash
    ");
}

#[test]
fn a_root_that_may_not_be_read_is_reported() {
    let home = TestHome::new();
    let root = home.skill("project/.agents/skills/pdf", "pdf", "Fine.");
    let root = root.parent().expect("a root");
    std::fs::set_permissions(root, PermissionsExt::from_mode(0o000)).expect("chmod");
    let output = run_unprivileged(&home, &["list", "--all"]);
    std::fs::set_permissions(root, PermissionsExt::from_mode(0o755)).expect("chmod");
    let Some(output) = output else {
        return;
    };
    insta::assert_snapshot!(shown_own(&home, &output), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION

    Not searched
      [T]/project/.agents/skills  root-unreadable
        the root cannot be read
        help: Check the permissions of the directory.

    ---- stderr
    5 skills in 1 root; 1 not searched
    ");
}

#[test]
fn names_that_are_no_text_are_shown_as_well_as_they_can_be() {
    let home = TestHome::new();
    let dir = home.project().join(".agents/skills").join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir_all(&dir).expect("directories");
    std::fs::write(dir.join("SKILL.md"), skill_text("cafe", "Bytes.")).expect("writes");
    let human = run(&home, &["list"]);
    assert!(
        human.stdout.contains("\ncafe              project  [not trusted] Bytes.\n"),
        "{human:?}"
    );
    let listing = run(&home, &["list", "--json"]).json();
    let path = listing["skills"][0]["path"].as_str().expect("a path");
    assert!(path.ends_with("/caf\u{fffd}"), "{path}");
    assert_eq!(run(&home, &["inspect", "cafe"]).code, 0);
    let inside = TestHome::finish(home.command(METIER).current_dir(&dir).arg("check"));
    assert_eq!(inside.stdout, "1 skill checked: no problems\n");
}
