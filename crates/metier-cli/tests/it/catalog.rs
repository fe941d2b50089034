//! `metier catalog`: what a model is shown, within a budget, and the reasons. Ranking and recall are
//! tested with the registry.

use metier_testkit::TestHome;
use serde_json::Value;

use crate::support::{builtin, document, json, keys, run, shown, texts};

/// A project with three skills of its own that a model may see, one for people and one for tables.
fn skills() -> TestHome {
    let home = TestHome::new();
    let skill = |name: &str, description: &str, more: &str| {
        let text = format!(
            "---\nname: {name}\ndescription: {description}\n{more}---\n# {name}\n\nDo it.\n"
        );
        home.write(&format!("project/.agents/skills/{name}/SKILL.md"), text);
    };
    skill("pdf-forms", "Fill in PDF forms.", "");
    skill("photos", "Sort photos by date.", "");
    skill("release", "Write release notes.", "");
    skill("deploy", "Ship it.", "disable-model-invocation: true\n");
    skill("tables", "Sum up tables.", "paths: \"*.csv\"\n");
    home
}

fn names<'a>(document: &'a Value, key: &str) -> Vec<&'a str> {
    texts(&document[key], "name")
}

#[test]
fn the_default_is_one_line_a_skill() {
    let home = skills();
    let output = run(&home, &["catalog", "--budget", "none"]);
    let own: Vec<&str> =
        output.stdout.lines().filter(|line| !line.contains("source=builtin")).collect();
    assert_eq!(
        own,
        [
            "- name=pdf-forms | source=project | description=Fill in PDF forms.",
            "- name=photos | source=project | description=Sort photos by date.",
            "- name=release | source=project | description=Write release notes.",
        ]
    );
    let report = format!("tokens, no limit: {} in full, 0 by name, 2 left out", builtin() + 3);
    assert!(output.stderr.contains(&report), "{output:?}");
}

#[test]
fn every_skill_is_explained() {
    let home = skills();
    let args = ["catalog", "--request", "fill this form", "--budget", "90", "--explain"];
    insta::assert_snapshot!(shown(&home, &run(&home, &args)), @"
    exit: 0
    ---- stdout
    NAME              SHOWN     TOKENS  WHY
    pdf-forms         in full   20      number 1 for this request
    photos            in full   18      it fits in the remaining room
    csv-summary       by name           no room for its description
    profile-csv       by name           no room for its description
    project-overview  by name           no room for its description
    release           by name           no room for its description
    review-skill      by name           no room for its description
    write-skill       by name           no room for its description
    tables            left out          it applies to *.csv, and you are not working on such a file
    deploy            left out          only a person may invoke it (`disable-model-invocation`)
    77 of 90 tokens: 2 in full, 6 by name, 2 left out

    ---- stderr
    ");
}

#[test]
fn the_document_accounts_for_every_skill() {
    let home = skills();
    let document = json(&home, &["catalog", "--json"]);
    assert_eq!(
        keys(&document),
        ["budget", "named", "omitted", "prefix_bytes", "shown", "text", "tokens"]
    );
    assert_eq!(names(&document, "omitted"), ["tables", "deploy"]);
    assert_eq!(texts(&document["omitted"], "reason"), ["paths-unmet", "user-only"]);
    assert!(names(&document, "shown").contains(&"pdf-forms"));
    assert_eq!(document["budget"], 4000);
    let text = document["text"].as_str().expect("a text");
    assert!(text.contains("- name=photos | source=project | description=Sort photos by date.\n"));
    assert!(!text.contains("deploy"));
    let with_table = json(&home, &["catalog", "--json", "--file", "data/sales.csv"]);
    assert!(names(&with_table, "shown").contains(&"tables"));
    let by_request = json(&home, &["catalog", "--json", "--request", "sum up sales.csv"]);
    assert!(names(&by_request, "shown").contains(&"tables"));
}

#[test]
fn a_small_budget_keeps_names_and_a_stable_prefix() {
    let home = TestHome::new();
    for at in 0..60 {
        let topic = ["pdf forms", "photos", "release notes"][at % 3];
        let name = format!("skill-{at:02}");
        let description = format!("Works on {topic} with great care, number {at}.");
        home.skill(&format!("project/.agents/skills/{name}"), &name, &description);
    }
    let mut prefixes = std::collections::BTreeSet::new();
    for (turn, request) in
        ["a pdf form", "my photos", "release notes", "什么", ""].iter().enumerate()
    {
        let turn = turn.to_string();
        let args = ["catalog", "--json", "--budget", "900", "--turn", &turn, "--request", request];
        let document = json(&home, &args);
        let text = document["text"].as_str().expect("a text");
        let prefix = usize::try_from(document["prefix_bytes"].as_u64().expect("a number"));
        prefixes.insert(text[..prefix.expect("fits")].to_owned());
        assert!(document["tokens"].as_u64().is_some_and(|tokens| tokens <= 900));
        assert_eq!(names(&document, "omitted"), Vec::<&str>::new());
        assert!((0..60).all(|at| text.contains(&format!("skill-{at:02}"))), "{text}");
    }
    assert_eq!(prefixes.len(), 1);
}

#[test]
fn the_configuration_sets_format_and_budget() {
    let home = skills();
    home.write(
        "home/.agent/config.json",
        r#"{"catalog": {"format": "xml", "budget_tokens": 5000}, "skills": {"project:photos": {"enabled": false}}}"#,
    );
    let document = json(&home, &["catalog", "--json"]);
    assert!(document["text"].as_str().is_some_and(|text| text.starts_with("<available_skills>")));
    assert_eq!(document["budget"], 5000);
    let photos = document["omitted"].as_array().expect("a list").iter();
    let photos: Vec<_> = photos.filter(|one| one["name"] == "photos").collect();
    assert_eq!(photos[0]["reason"], "disabled");
}

#[test]
fn files_and_bodies_are_shown_where_the_format_says_so() {
    let home = skills();
    home.write("project/.agents/skills/photos/scripts/sort.py", "print()");
    assert_eq!(run(&home, &["trust", "--yes"]).code, 0, "or its bodies are not shown");
    let awareness = run(&home, &["catalog", "--format", "awareness"]).stdout;
    assert!(awareness.contains("  Files: SKILL.md, scripts/\n"), "{awareness}");
    let direct = run(&home, &["catalog", "--format", "direct"]).stdout;
    assert!(
        direct.contains("### Skill: photos\n**Description:** Sort photos by date.\n\n> # photos\n")
    );
    let json: Value =
        serde_json::from_str(&run(&home, &["catalog", "--format", "json"]).stdout).expect("JSON");
    assert!(names(&json, "skills").contains(&"release"));
}

#[test]
fn a_budget_is_a_number_or_none() {
    let home = skills();
    let output = run(&home, &["catalog", "--json", "--budget", "much"]);
    let error = document(&home, &output, 2);
    assert!(
        error["error"]["message"]
            .as_str()
            .is_some_and(|report| report.contains("number of tokens"))
    );
}
