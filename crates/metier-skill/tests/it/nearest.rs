//! The nearest word, if one is near.
//!
//! Near enough helps, too near misleads: both ends are tested.

use metier_skill::{nearest, unknown_skill};
use proptest::prelude::*;

#[test]
fn typing_errors_are_forgiven() {
    let keys = ["follow_symlinks", "profile", "timeout_s"];
    for typed in ["follow_symlink", "followSymlinks", "follow-symlinks", "folow_symlinsk"] {
        assert_eq!(nearest(typed, keys), Some("follow_symlinks"), "{typed}");
    }
    assert_eq!(nearest("porfile", keys), Some("profile"));
    assert_eq!(nearest("timeout", keys), Some("timeout_s"));
}

#[test]
fn names_of_tools_are_found_as_models_misspell_them() {
    let tools = ["read_file", "list_dir", "grep", "write_file"];
    for (typed, meant) in [
        ("readfile", Some("read_file")),
        ("Read-File", Some("read_file")),
        ("read file", Some("read_file")),
        ("read.file", Some("read_file")),
        ("gre", Some("grep")),
        ("grpe", Some("grep")),
        ("make_coffee", None),
    ] {
        assert_eq!(nearest(typed, tools), meant, "{typed}");
    }
}

#[test]
fn a_skill_that_is_not_there_names_the_near_ones_and_then_what_contains_the_word() {
    let skills = ["pdf-forms", "pdf", "csv", "fill-pdf-forms"];
    let unknown = |asked: &str| unknown_skill(asked, skills, "Select one of the list.");
    for (asked, near) in [
        ("PDF", "`pdf` or `pdf-forms` or `fill-pdf-forms`"),
        ("pdf-from", "`pdf-forms` or `pdf`"),
        ("csv-tables", "`csv`"),
    ] {
        let words = format!("There is no skill `{asked}`. Did you mean {near}?");
        assert_eq!(unknown(asked), words);
    }
    assert_eq!(unknown(""), "There is no skill ``. Select one of the list.");
    let long = unknown(&"pdf".repeat(1000));
    assert!(long.ends_with("Select one of the list.") && long.len() < 200, "{long}");
    assert_eq!(unknown("a`\n"), "There is no skill `a\\x60\\n`. Select one of the list.");
}

#[test]
fn what_is_not_near_is_not_offered() {
    assert_eq!(nearest("x", ["follow_symlinks"]), None);
    assert_eq!(nearest("", ["a"]), None);
    assert_eq!(nearest("pdf", ["xlsx", "docx"]), None);
    assert_eq!(nearest(&"a".repeat(10_000), ["a"]), None);
}

#[test]
fn the_nearest_wins_and_then_the_first() {
    assert_eq!(nearest("pdfs", ["pdf-forms", "pdf", "pdfx"]), Some("pdf"));
    assert_eq!(nearest("a1", ["a2", "a3"]), None, "two letters leave no room for a guess");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_word_is_nearest_to_itself(word in "[a-z_]{1,64}", other in "[a-z_]{1,64}") {
        prop_assert_eq!(nearest(&word, [other.as_str(), word.as_str()]), Some(word.as_str()));
    }

    #[test]
    fn any_text_gives_an_answer(word in ".*", candidates in proptest::collection::vec(".*", 0..5)) {
        let _ = nearest(&word, candidates.iter().map(String::as_str));
    }
}
