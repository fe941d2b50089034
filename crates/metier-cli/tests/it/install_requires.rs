//! Skills that need other skills: what is installed along, what is missing, circles, and what keeps a skill
//! installed.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{json, run};

fn skill(home: &TestHome, name: &str, metadata: &str) {
    home.write(
        &format!("project/src/{name}/SKILL.md"),
        format!("---\nname: {name}\ndescription: Works.\nmetadata:\n  kind: test\n{metadata}---\n\nText.\n"),
    );
}

fn names(plan: &Value) -> Vec<&str> {
    plan["skills"].as_array().expect("skills").iter().filter_map(|it| it["name"].as_str()).collect()
}

fn with_chain() -> TestHome {
    let home = TestHome::new();
    skill(&home, "report", "  metier.requires: table, chart\n");
    skill(&home, "table", "  requires:\n    skills: [csv]\n");
    skill(&home, "chart", "  depends: [csv, numpy]\n");
    skill(&home, "csv", "");
    skill(&home, "other", "");
    home
}

#[test]
fn what_the_chosen_skills_need_comes_along_from_the_same_source() {
    let home = with_chain();
    let plan = json(&home, &["install", "src", "--skill", "report", "--dry-run", "--json"]);
    assert_eq!(names(&plan), ["chart", "csv", "report", "table"]);
    assert_eq!(plan["skills"][1]["required_by"], json!(["chart", "table"]));
    let shown = run(&home, &["install", "src", "--skill", "report", "--dry-run"]);
    assert!(shown.stdout.contains("needed by: chart, table"), "{shown:?}");
    let alone =
        json(&home, &["install", "src", "--skill", "report", "--no-deps", "--dry-run", "--json"]);
    assert_eq!(names(&alone), ["report"]);
    assert_eq!(alone["skills"][0]["missing"], json!(["chart", "table"]));
    assert_eq!(run(&home, &["install", "src", "--skill", "report", "--yes"]).code, 0);
    let listed = json(&home, &["list", "--json"]);
    let ids: Vec<&str> = listed["skills"]
        .as_array()
        .expect("skills")
        .iter()
        .filter_map(|it| it["id"].as_str())
        .collect();
    assert!(ids.contains(&"project:csv") && !ids.contains(&"project:other"), "{ids:?}");
}

#[test]
fn what_is_missing_is_named_and_what_is_elsewhere_is_not_missing() {
    let home = TestHome::new();
    skill(&home, "report", "  metier.requires: [nowhere, mine]\n  dependencies: [torch]\n");
    home.skill("home/.agent/skills/mine", "mine", "The user's.");
    let plan = json(&home, &["install", "src", "--dry-run", "--json"]);
    assert_eq!(plan["skills"][0]["missing"], json!(["nowhere"]), "packages are not skills");
    let output = run(&home, &["install", "src", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    let doctor = run(&home, &["doctor"]);
    assert!(doctor.stdout.contains("the skill `nowhere`"), "{doctor:?}");
    assert!(!doctor.stdout.contains("the skill `mine`"), "{doctor:?}");
}

#[test]
fn a_circle_is_refused_and_named() {
    let home = TestHome::new();
    skill(&home, "a", "  metier.requires: b\n");
    skill(&home, "b", "  metier.requires: c\n");
    skill(&home, "c", "  metier.requires: a\n");
    for args in [
        &["install", "src", "--yes", "--json"][..],
        &["install", "src", "--skill", "b", "--yes", "--json"],
    ] {
        let output = run(&home, args);
        let error = &output.json()["error"];
        assert_eq!(
            (error["code"].as_str(), output.code),
            (Some("dependency-cycle"), 1),
            "{output:?}"
        );
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            ["a -> b -> c -> a", "b -> c -> a -> b"].iter().any(|it| message.contains(it)),
            "{message}"
        );
    }
    assert!(!home.project().join(".agent/skills").exists());
    // A circle that closes over what is installed is one too.
    skill(&home, "c", "");
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    skill(&home, "c", "  metier.requires: a\n");
    let output = run(&home, &["update", "c", "--yes", "--json"]);
    assert_eq!(output.json()["not_updated"][0]["code"], "dependency-cycle", "{output:?}");
}

#[test]
fn what_others_need_is_uninstalled_only_with_them_or_by_force() {
    let home = with_chain();
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    let output = run(&home, &["uninstall", "csv", "--yes", "--json"]);
    let error = &output.json()["error"];
    assert_eq!((error["code"].as_str(), output.code), (Some("required"), 1), "{output:?}");
    assert_eq!(error["message"], "`csv` is needed by table");
    assert!(home.project().join(".agent/skills/csv").exists());
    let plan = json(&home, &["uninstall", "csv", "--force", "--dry-run", "--json"]);
    assert_eq!(plan["skills"][0]["required_by"], json!(["table"]));
    let output = run(&home, &["uninstall", "csv", "table", "report", "--yes"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(run(&home, &["install", "src", "--yes"]).code, 0);
    assert_eq!(run(&home, &["uninstall", "csv", "--force", "--yes"]).code, 0);
    assert!(run(&home, &["doctor"]).stdout.contains("the skill `csv`"));
}
