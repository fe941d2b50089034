//! `metier check --format json|sarif`: documents that other programs read, so every key and the
//! counting of lines and columns is compared.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{at, document, keys, run};

fn folder() -> TestHome {
    let home = TestHome::new();
    home.write(
        "project/my skills/colon/SKILL.md",
        "---\nname: colon\ndescription: Use when: asked\n---\nDo it.\n",
    );
    home.write(
        "project/my skills/tags/SKILL.md",
        "---\nname: tags\ndescription: Ünïcödé <b> tag\ncolour: blue\n---\nDo it.\n",
    );
    home.write("project/my skills/empty/SKILL.md", "");
    home
}

#[test]
fn json_has_every_diagnostic_and_a_summary() {
    let home = folder();
    let output = run(&home, &["check", "--format", "json", "my skills"]);
    assert_eq!(
        document(&home, &output, 1),
        json!({
            "diagnostics": [
                {
                    "code": "yaml-unquoted-colon",
                    "severity": "warning",
                    "file": "my skills/colon/SKILL.md",
                    "line": 3,
                    "column": 14,
                    "message": "read as `description: \"Use when: asked\"`",
                    "help": "Put the value in double quotes (`metier check --fix` does it).",
                    "fixable": true,
                    "rejected_by": ["skills-ref", "quick_validate", "strict-yaml-clients"],
                },
                {
                    "code": "file-empty",
                    "severity": "error",
                    "file": "my skills/empty/SKILL.md",
                    "line": 1,
                    "column": 1,
                    "message": "the file is empty",
                    "help": "Write the frontmatter and a body, or remove the directory.",
                    "fixable": false,
                    "rejected_by": ["skills-ref", "quick_validate"],
                },
                {
                    "code": "angle-brackets",
                    "severity": "error",
                    "file": "my skills/tags/SKILL.md",
                    "line": 3,
                    "column": 22,
                    "message": "`description` contains `<` or `>`",
                    "help": "Write the words out: `less than`, `->` as `to`, placeholders in capitals.",
                    "fixable": false,
                    "rejected_by": ["quick_validate"],
                },
                {
                    "code": "field-unknown",
                    "severity": "note",
                    "file": "my skills/tags/SKILL.md",
                    "line": 4,
                    "column": 1,
                    "message": "unknown field `colour`",
                    "help": "Put your own data under `metadata` if the skill should pass strict validators.",
                    "fixable": false,
                    "rejected_by": ["skills-ref", "quick_validate"],
                },
            ],
            "summary": { "skills": 3, "errors": 2, "warnings": 1, "notes": 1, "fixable": 1, "fixed": 0 },
        })
    );
    assert_eq!(run(&home, &["check", "--json", "my skills"]), output);
}

#[test]
fn json_of_a_flawless_skill_is_empty_and_done() {
    let home = TestHome::new();
    home.skill("project/good", "good", "Fine.");
    let output = run(&home, &["check", "--format", "json", "good"]);
    assert_eq!(
        document(&home, &output, 0),
        json!({
            "diagnostics": [],
            "summary": { "skills": 1, "errors": 0, "warnings": 0, "notes": 0, "fixable": 0, "fixed": 0 },
        })
    );
}

#[test]
fn sarif_has_what_its_schema_requires() {
    let home = folder();
    let output = run(&home, &["check", "--format", "sarif", "my skills"]);
    let sarif = document(&home, &output, 1);
    assert_eq!(sarif["version"], "2.1.0");
    assert!(sarif["$schema"].as_str().is_some_and(|schema| schema.contains("sarif-2.1.0")));
    let runs = sarif["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1);
    let driver = &runs[0]["tool"]["driver"];
    assert_eq!(driver["name"], "metier");
    let rules = driver["rules"].as_array().expect("rules");
    let ids: Vec<&Value> = rules.iter().map(|rule| &rule["id"]).collect();
    assert_eq!(ids, ["yaml-unquoted-colon", "file-empty", "angle-brackets", "field-unknown"]);
    let results = runs[0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 4);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("fits");
        assert_eq!(ids[index], &result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("a level")));
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
        assert!(uri.starts_with("my%20skills/") && uri.ends_with("/SKILL.md"), "{uri}");
        if let Some(region) = place.get("region") {
            assert_eq!(keys(region), ["startColumn", "startLine"]);
            assert!(region["startLine"].as_u64() >= Some(1), "{region}");
            assert!(region["startColumn"].as_u64() >= Some(1), "{region}");
        }
    }
}

#[test]
fn columns_count_characters_as_the_sarif_document_says() {
    let home = folder();
    let sarif = run(&home, &["check", "--format", "sarif", "my skills/tags"]).json();
    let run_of_it = &sarif["runs"][0];
    assert_eq!(run_of_it["columnKind"], "unicodeCodePoints");
    assert_eq!(
        run_of_it["results"][0]["locations"][0]["physicalLocation"]["region"],
        json!({ "startLine": 3, "startColumn": 22 })
    );
}

#[test]
fn a_skill_outside_the_working_directory_has_an_absolute_uri() {
    let home = TestHome::new();
    home.write("elsewhere/x/SKILL.md", "");
    let sarif = run(&home, &["check", "--format", "sarif", &at(&home, "elsewhere")]).json();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
    assert!(uri.starts_with("file:///") && uri.ends_with("elsewhere/x/SKILL.md"), "{uri}");
}

#[test]
fn an_error_in_sarif_format_is_an_error_document() {
    let home = TestHome::new();
    let output = run(&home, &["check", "--format", "sarif", "none"]);
    let error = document(&home, &output, 2);
    assert_eq!(keys(&error["error"]), ["code", "help", "message"]);
    assert_eq!(error["error"]["code"], "usage");
}
