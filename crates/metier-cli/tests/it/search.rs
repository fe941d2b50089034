//! `metier search`: the right skill first, in English and Chinese, misspelt or not. How ranks are
//! made is tested with the registry.

use metier_testkit::TestHome;
use serde_json::{Value, json};

use crate::support::{document, json, keys, run, shown, shown_own, texts};

fn skills() -> TestHome {
    let home = TestHome::new();
    let skill = |name: &str, description: &str| {
        home.skill(&format!("project/.agents/skills/{name}"), name, description);
    };
    skill("pdf-forms", "Fill in PDF forms. Use when a form must be completed.");
    skill("spreadsheet", "Make a spreadsheet from a table of numbers.");
    skill("biaoge", "生成电子表格。当用户需要表格时使用。");
    skill("review-code", "Review code changes for faults before they are merged.");
    skill("translate", "Translate letters between languages.");
    home
}

fn best(home: &TestHome, words: &[&str]) -> String {
    let args = [&["search", "--json"], words].concat();
    let found = json(home, &args);
    texts(&found["results"], "name")[0].to_owned()
}

#[test]
fn english_words_find_by_name_and_description() {
    let home = skills();
    insta::assert_snapshot!(shown_own(&home, &run(&home, &["search", "pdf", "form"])), @"
    exit: 0
    ---- stdout
    NAME       SOURCE   DESCRIPTION
    pdf-forms  project  Fill in PDF forms. Use when a form must be completed.

    ---- stderr
    metier inspect NAME shows more about one of them
    ");
    assert_eq!(best(&home, &["review", "my", "changes"]), "review-code");
    assert_eq!(best(&home, &["please translate this letter"]), "translate");
}

#[test]
fn chinese_words_find_chinese_descriptions() {
    let home = skills();
    assert_eq!(best(&home, &["电子表格"]), "biaoge");
    assert_eq!(best(&home, &["我需要一个表格"]), "biaoge");
}

#[test]
fn misspelt_words_are_understood() {
    let home = skills();
    assert_eq!(best(&home, &["spredsheet"]), "spreadsheet");
    assert_eq!(best(&home, &["transalte"]), "translate");
}

#[test]
fn a_result_has_the_keys_of_an_entry_and_a_score() {
    let home = skills();
    let mut found = json(&home, &["search", "--json", "--limit", "1", "pdf"]);
    assert_eq!(keys(&found), ["results"]);
    let score = found["results"][0]["score"].take();
    assert!(score.as_f64().is_some_and(|score| score > 0.0), "{score}");
    assert_eq!(
        found["results"],
        json!([{
            "id": "project:pdf-forms",
            "name": "pdf-forms",
            "description": "Fill in PDF forms. Use when a form must be completed.",
            "source": "project",
            "path": "[T]/project/.agents/skills/pdf-forms",
            "score": Value::Null,
            "matched": ["pdf"],
        }])
    );
}

#[test]
fn results_are_best_first_and_at_most_as_many_as_asked_for() {
    let home = skills();
    let found = json(&home, &["search", "--json", "form table letters code"]);
    let scores: Vec<f64> = found["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|hit| hit["score"].as_f64().expect("a number"))
        .collect();
    assert!(scores.len() > 2 && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let two = json(&home, &["search", "--json", "-n", "2", "form table letters code"]);
    assert_eq!(
        two["results"].as_array().expect("a list")[..],
        found["results"].as_array().expect("a list")[..2]
    );
}

#[test]
fn nothing_found_is_exit_code_one() {
    let home = skills();
    insta::assert_snapshot!(shown(&home, &run(&home, &["search", "qqqzzzxxx"])), @"
    exit: 1
    ---- stdout

    ---- stderr
    no skill matches; `metier list` shows all of them
    ");
    let output = run(&home, &["search", "qqqzzzxxx", "--json"]);
    assert_eq!(document(&home, &output, 1), json!({ "results": [] }));
}

#[test]
fn a_skill_that_is_off_is_not_found() {
    let home = skills();
    home.write("home/.agent/config.json", r#"{"skills": {"pdf-forms": {"enabled": false}}}"#);
    let output = run(&home, &["search", "pdf"]);
    assert!(!output.stdout.contains("pdf-forms"), "{output:?}");
}

#[test]
fn words_are_needed() {
    let home = skills();
    let output = run(&home, &["search"]);
    assert_eq!((output.code, &*output.stdout), (2, ""));
}
