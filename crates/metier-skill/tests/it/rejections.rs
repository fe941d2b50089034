//! Which other tools reject the same thing: said only where it was tried.
//!
//! `rejections.json` has inputs of ours and who refused each of them. A code names a tool when the tool
//! refused every input that shows the code, and there is one.

use std::collections::{BTreeMap, BTreeSet};

use metier_skill::{Code, ParseOptions, Profile, parse};
use serde_json::Value;

/// `{fill:N}` stands for N letters.
fn filled(text: &str) -> String {
    let Some((before, rest)) = text.split_once("{fill:") else { return text.to_owned() };
    let (number, after) = rest.split_once('}').expect("closed");
    format!("{before}{}{after}", "x".repeat(number.parse().expect("a number")))
}

fn bytes(case: &Value) -> Vec<u8> {
    if let Some(text) = case["text"].as_str() {
        return filled(text).into_bytes();
    }
    let hex = case["hex"].as_str().expect("text or hex").as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16);
    hex.chunks(2).map(|pair| byte(pair).expect("hex")).collect()
}

#[test]
fn a_code_names_the_tools_that_refused_every_case_of_it() {
    let record: Value = serde_json::from_str(include_str!("rejections.json")).expect("JSON");
    let mut refused: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in record["cases"].as_array().expect("cases") {
        let code = case["code"].as_str().expect("a code");
        let by = case["rejected_by"].as_array().expect("a list");
        let by: BTreeSet<&str> = by.iter().filter_map(Value::as_str).collect();
        refused.entry(code).and_modify(|all| all.retain(|tool| by.contains(tool))).or_insert(by);
        // What is wrong with the file's name or place is not found in its text.
        if case["file"] != "SKILL.md" {
            continue;
        }
        let directory = case["directory"].as_str();
        let shows = |profile| {
            let options = ParseOptions { profile, directory, ..ParseOptions::default() };
            let found = parse(&bytes(case), &options).diagnostics;
            found.iter().any(|it| it.code.as_str() == code)
        };
        assert!(shows(Profile::Strict) || shows(Profile::Spec), "does not show {code}: {case}");
    }
    for code in Code::ALL {
        let said: BTreeSet<&str> = code.info().rejected_by.iter().copied().collect();
        let tried = refused.get(code.as_str());
        assert_eq!(Some(&said), tried.or((said.is_empty()).then_some(&said)), "{}", code.as_str());
    }
}
