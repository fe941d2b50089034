//! Where skills are looked for and where things are written: variables, `-C`, subdirectories,
//! plugins, and `METIER_HOME`, which moves everything.

use metier_testkit::{Output, TestHome};
use serde_json::{Value, json};

use crate::support::{
    METIER, at, document, entry, files_below, json, many_skills, run, run_in, shown_own, texts,
};

fn with(home: &TestHome, variables: &[(&str, String)], args: &[&str]) -> Output {
    let mut command = home.command(METIER);
    command.args(args);
    for (name, value) in variables {
        command.env(name, value);
    }
    TestHome::finish(&mut command)
}

fn own_ids(listing: &Value) -> Vec<&str> {
    let ids = texts(&listing["skills"], "id");
    ids.into_iter().filter(|id| !id.starts_with("builtin:")).collect()
}

#[test]
fn metier_skills_dir_is_a_list_of_explicit_roots_after_those_of_the_command_line() {
    let home = TestHome::new();
    home.skill("named/pdf", "pdf", "On the command line.");
    home.skill("one/pdf", "pdf", "In the variable.");
    home.skill("one/sheet", "sheet", "In the variable.");
    home.skill("two/sheet", "sheet", "Later in the variable.");
    home.skill("two/slides", "slides", "Later in the variable.");
    home.skill("project/.agents/skills/slides", "slides", "The project's.");
    let list = format!("{}:{}", at(&home, "one"), at(&home, "two"));
    let variables = [("METIER_SKILLS_DIR", list)];
    let output = with(&home, &variables, &["list", "--root", &at(&home, "named")]);
    insta::assert_snapshot!(shown_own(&home, &output), @"
    exit: 0
    ---- stdout
    NAME              SOURCE    DESCRIPTION
    pdf               explicit  On the command line.
    sheet             explicit  In the variable.
    slides            explicit  Later in the variable.

    ---- stderr
    8 skills in 5 roots; 3 shadowed (metier list --all shows why)
    ");
}

#[test]
fn claude_skills_dir_is_a_user_root() {
    let home = TestHome::new();
    home.skill("theirs/pdf", "pdf", "In the variable.");
    home.skill("theirs/sheet", "sheet", "In the variable.");
    home.skill("home/.claude/skills/sheet", "sheet", "In the home directory.");
    let output = with(&home, &[("CLAUDE_SKILLS_DIR", at(&home, "theirs"))], &["list"]);
    insta::assert_snapshot!(shown_own(&home, &output), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    pdf               user     In the variable.
    sheet             user     In the home directory.

    ---- stderr
    7 skills in 3 roots; 1 shadowed (metier list --all shows why)
    ");
}

#[test]
fn metier_home_moves_configuration_skills_and_state_and_leaves_the_home_alone() {
    let home = TestHome::new();
    many_skills(&home, "moved/skills", 400);
    home.write("moved/config.json", r#"{"skills": {"s0001": {"enabled": false}}}"#);
    let variables = [("METIER_HOME", at(&home, "moved"))];
    let listing = document(&home, &with(&home, &variables, &["list", "--json"]), 0);
    assert_eq!(entry(&listing, "user:s0001")["enabled"], json!(false));
    assert_eq!(entry(&listing, "user:s0001")["path"], "[T]/moved/skills/s0001");
    assert_eq!(with(&home, &variables, &["refresh"]).code, 0);
    let mut written = files_below(&home.path().join("moved"));
    written.retain(|file| !file.starts_with("skills/"));
    let kinds: Vec<&str> =
        written.iter().map(|file| file.split(['-', '.']).next().expect("a piece")).collect();
    assert_eq!(kinds, ["config", "state/refresh"], "{written:?}");
    assert_eq!(files_below(&home.home()), [""; 0], "nothing in the home directory");
}

#[test]
fn without_metier_home_the_state_is_where_xdg_says() {
    let home = TestHome::new();
    many_skills(&home, "project/.agents/skills", 400);
    std::os::unix::fs::symlink(home.home(), home.path().join("link")).expect("a link");
    for own in ["home", "link"] {
        let variables =
            [("HOME", at(&home, own)), ("XDG_STATE_HOME", at(&home, &format!("xdg-{own}/state")))];
        assert_eq!(with(&home, &variables, &["refresh"]).code, 0);
        let written = files_below(&home.path().join(format!("xdg-{own}")));
        assert_eq!(written.len(), 1, "{written:?}");
        assert!(written[0].starts_with("state/metier/refresh-"), "{written:?}");
        assert_eq!(files_below(&home.home()), [""; 0], "HOME={own}");
    }
}

#[test]
fn other_agents_user_folders_are_read_with_metier_home_too() {
    let home = TestHome::new();
    home.skill("home/.claude/skills/pdf", "pdf", "Another agent's.");
    home.skill("home/.agent/skills/mine", "mine", "In the folder that was moved away.");
    let variables = [("METIER_HOME", at(&home, "moved"))];
    let listing = document(&home, &with(&home, &variables, &["list", "--json"]), 0);
    assert_eq!(own_ids(&listing), ["user:pdf"]);
}

#[test]
fn a_plugins_skill_is_qualified_where_its_name_is_taken() {
    let home = TestHome::new();
    let cache = "home/.claude/plugins/cache/market";
    home.skill(&format!("{cache}/office/1.9.0/skills/pdf"), "pdf", "An old version.");
    home.skill(&format!("{cache}/office/1.10.0/skills/pdf"), "pdf", "Of one plugin.");
    home.skill(&format!("{cache}/office/1.10.0/skills/sheet"), "sheet", "Of one plugin.");
    home.skill(&format!("{cache}/papers/2.0/skills/pdf"), "pdf", "Of another plugin.");
    home.skill("home/.claude/skills/pdf", "pdf", "The user's.");
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["list", "--all"])), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    office:pdf        plugin   Of one plugin.
    papers:pdf        plugin   Of another plugin.
    pdf               user     The user's.
    sheet             plugin   Of one plugin.

    ---- stderr
    9 skills in 4 roots
    ");
    let shown = json(&home, &["inspect", "office:pdf", "--json"]);
    assert_eq!(shown["id"], "plugin:office:pdf");
    assert_eq!(shown["path"], format!("[T]/{cache}/office/1.10.0/skills/pdf"));
    home.write(
        "home/.agent/config.json",
        r#"{"skills": {"plugin:office:pdf": {"enabled": false}}}"#,
    );
    let listing = json(&home, &["list", "--json"]);
    assert_eq!(entry(&listing, "plugin:office:pdf")["enabled"], json!(false), "off by its id");
    assert_eq!(entry(&listing, "plugin:papers:pdf")["enabled"], json!(true));
    assert_eq!(entry(&listing, "user:pdf")["enabled"], json!(true));
}

#[test]
fn a_subdirectory_sees_the_repositorys_roots_and_its_own_first() {
    let home = TestHome::new();
    home.skill("project/.agents/skills/pdf", "pdf", "At the top.");
    home.skill("project/.agents/skills/sheet", "sheet", "At the top.");
    home.skill("project/crate/.claude/skills/pdf", "pdf", "Nearer.");
    home.skill(".agents/skills/outside", "outside", "Above the repository.");
    std::fs::create_dir_all(home.project().join("crate/src")).expect("directories");
    let deep = run_in(&home, "project/crate/src", &["list"]);
    insta::assert_snapshot!(shown_own(&home, &deep), @"
    exit: 0
    ---- stdout
    NAME              SOURCE   DESCRIPTION
    pdf               project  [not trusted] Nearer.
    sheet             project  [not trusted] At the top.

    ---- stderr
    7 skills in 3 roots; 1 shadowed (metier list --all shows why)
    ");
    assert_eq!(run(&home, &["-C", "crate/src", "list"]), deep);
    assert_eq!(run(&home, &["list", "-C", "crate/src"]), deep);
}

#[test]
fn relative_paths_start_where_dash_c_leads() {
    let home = TestHome::new();
    home.skill("elsewhere/skills/pdf", "pdf", "Elsewhere.");
    let listing = json(&home, &["-C", "../elsewhere", "list", "--json", "--root", "skills"]);
    assert_eq!(own_ids(&listing), ["explicit:pdf"]);
    let checked = run(&home, &["-C", "../elsewhere", "check", "skills"]);
    assert_eq!(checked.stdout, "1 skill checked: no problems\n");
}

#[test]
fn dash_c_needs_a_directory() {
    let home = TestHome::new();
    home.write("project/file", "x");
    for dir in ["none", "file"] {
        let output = run(&home, &["-C", dir, "list"]);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(home.scrub(&output.stderr).contains(&format!("[T]/project/{dir}")), "{output:?}");
    }
}

#[test]
fn roots_of_the_configuration_belong_to_whose_file_names_them() {
    let home = TestHome::new();
    home.skill("project/tools/skills/pdf", "pdf", "Named by the project.");
    home.skill("home/mine/sheet", "sheet", "Named by the user.");
    home.skill("home/also/slides", "slides", "Named by the user, relative.");
    home.write("project/.agent/config.json", r#"{"skill_roots": ["tools/skills"]}"#);
    home.write("home/.agent/config.json", r#"{"skill_roots": ["~/mine", "also"]}"#);
    std::fs::create_dir_all(home.project().join("deep")).expect("directories");
    let output = run_in(&home, "project/deep", &["list", "--json"]);
    let listing = document(&home, &output, 0);
    assert_eq!(own_ids(&listing), ["project:pdf", "user:sheet", "user:slides"]);
}

/// The home directory is never a project, whatever way leads there: its file is the user's alone.
#[test]
fn in_the_home_directory_the_users_file_is_not_also_the_projects() {
    let home = TestHome::new();
    home.skill("home/.agent/skills/mine", "mine", "In the home directory.");
    home.write("home/.agent/config.json", r#"{"profile": "lenient", "trusted_keys": []}"#);
    std::os::unix::fs::symlink(home.home(), home.path().join("link")).expect("a link");
    let by_link = || {
        let mut command = home.command(METIER);
        command.env("HOME", home.path().join("link")).current_dir(home.path().join("link"));
        command
    };
    let runs = |args: &[&str]| {
        [
            run_in(&home, "home", args),
            run_in(&home, "link", args),
            run(&home, &[&["-C", "../home"], args].concat()),
            run(&home, &[&["-C", "../link"], args].concat()),
            TestHome::finish(by_link().args(args)),
        ]
    };
    for repository in [false, true] {
        if repository {
            std::fs::create_dir_all(home.home().join(".git")).expect("directories");
        }
        for output in runs(&["config", "--json"]) {
            let shown = document(&home, &output, 0);
            let files = shown["files"].as_array().expect("a list");
            let other = |file: &&Value| {
                file["path"] != "[T]/.agent/config.json" && file["scope"] != "managed"
            };
            let users: Vec<&Value> = files.iter().filter(other).collect();
            assert_eq!(users.len(), 1, "one file is one layer: {files:?}");
            assert_eq!((&users[0]["scope"], &users[0]["exists"]), (&json!("user"), &json!(true)));
            let settings = shown["settings"].as_array().expect("a list");
            let profile = settings.iter().find(|row| row["key_path"] == "profile");
            let profile = profile.expect("a profile");
            assert_eq!(
                (&profile["value"], &profile["overruled"]),
                (&json!("lenient"), &json!(null))
            );
        }
        for output in runs(&["list", "--json"]) {
            assert_eq!(own_ids(&document(&home, &output, 0)), ["user:mine"]);
        }
    }
}

#[test]
fn a_configuration_behind_a_link_that_leads_nowhere_is_refused_from_everywhere_below() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.project().join("deep/er")).expect("directories");
    std::os::unix::fs::symlink("nowhere", home.project().join(".agent")).expect("a link");
    for dir in ["project", "project/deep", "project/deep/er"] {
        let output = run_in(&home, dir, &["list"]);
        assert_eq!(output.code, 1, "{dir}: {output:?}");
        assert!(output.stderr.contains(".agent/config.json cannot be read"), "{dir}: {output:?}");
    }
}
