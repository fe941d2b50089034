//! The spec profile against the recorded verdicts of the reference validator.
//!
//! `docs/spec-conformance.md` lists every deviation with its reason; this test fails when one is
//! missing there or no longer true.

use metier_skill::{Code, ParseOptions, Profile, parse};
use metier_testkit::research_file;
use serde_json::Value;

/// Cases where the reference validator's verdict is not ours.
fn listed_deviations() -> Vec<String> {
    let page = include_str!("../../../../docs/spec-conformance.md");
    page.lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|line| line.split('`').next())
        .map(str::to_owned)
        .collect()
}

fn input(case: &Value) -> Option<Vec<u8>> {
    let input = &case["input"];
    if let Some(text) = input.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    None
}

#[test]
fn the_spec_profile_agrees_with_the_reference_validator() {
    let Some(file) = research_file("skills-ref-oracle.json") else {
        return;
    };
    let oracle: Value =
        serde_json::from_slice(&std::fs::read(file).expect("oracle")).expect("JSON");
    let cases = oracle["cases"].as_array().expect("cases");
    let listed = listed_deviations();
    let mut unexplained = Vec::new();
    let mut stale: Vec<String> = listed.clone();
    let mut compared = 0;
    for case in cases {
        let id = case["id"].as_str().expect("id");
        let Some(bytes) = input(case) else { panic!("case {id} has no input: {case}") };
        let file_name = case["file"].as_str().expect("file");
        let directory = case["dir"].as_str();
        let options = ParseOptions { profile: Profile::Spec, directory, ..ParseOptions::default() };
        let parsed = parse(&bytes, &options);
        let found = matches!(file_name, "SKILL.md" | "skill.md");
        let ours = found && parsed.skill.is_some();
        let theirs = case["validate"]["rc"] == 0;
        compared += 1;
        if ours != theirs {
            if listed.iter().any(|known| known == id) {
                stale.retain(|known| known != id);
            } else {
                let codes: Vec<Code> = parsed.diagnostics.iter().map(|d| d.code).collect();
                unexplained.push(format!("{id}: ours {ours}, theirs {theirs}; {codes:?}"));
            }
        }
    }
    println!("{compared} cases compared, {} listed deviations", listed.len());
    assert!(unexplained.is_empty(), "not in docs/spec-conformance.md:\n{}", unexplained.join("\n"));
    assert!(stale.is_empty(), "listed but not true any more: {stale:?}");
}
