//! Changing a file that a person wrote: everything else stays byte for byte, the result is read,
//! and setting the same thing twice changes nothing.

use metier_config::{
    ConfigErrorKind, Scope, add_value, parse, remove_value, set_skill_enabled, set_value,
};
use proptest::prelude::*;

fn off(text: &str) -> String {
    set_skill_enabled(text, "config.json", Scope::User, "user:pdf", false).unwrap()
}

#[test]
fn a_file_of_nothing_gets_its_first_setting() {
    let expected = "{\n  \"skills\": {\n    \"user:pdf\": { \"enabled\": false }\n  }\n}";
    assert_eq!(off("{}"), expected);
    assert_eq!(off("{\n}"), expected);
    assert_eq!(off("\u{feff}{}"), format!("\u{feff}{expected}"));
    assert_eq!(
        off("// mine\n{\n    // nothing yet\n}\n"),
        "// mine\n{\n    // nothing yet\n    \"skills\": {\n        \"user:pdf\": { \"enabled\": false }\n    }\n}\n"
    );
}

#[test]
fn comments_order_indentation_and_commas_stay() {
    assert_eq!(
        off("{\n\t\"profile\": \"strict\", // why\n\t/* more */\n}\n"),
        "{\n\t\"profile\": \"strict\", // why\n\t/* more */\n\t\"skills\": {\n\t\t\"user:pdf\": { \"enabled\": false },\n\t},\n}\n"
    );
    assert_eq!(
        off(
            "{\n  \"skills\": {\n    \"b\": { \"enabled\": true } // on\n  },\n  \"profile\": \"strict\"\n}"
        ),
        "{\n  \"skills\": {\n    \"b\": { \"enabled\": true }, // on\n    \"user:pdf\": { \"enabled\": false }\n  },\n  \"profile\": \"strict\"\n}"
    );
    assert_eq!(
        off("{\r\n  \"profile\": \"strict\"\r\n}\r\n"),
        "{\r\n  \"profile\": \"strict\",\r\n  \"skills\": {\r\n    \"user:pdf\": { \"enabled\": false }\r\n  }\r\n}\r\n"
    );
}

#[test]
fn a_file_on_one_line_stays_on_one_line() {
    assert_eq!(
        off(r#"{"profile": "strict"}"#),
        r#"{"profile": "strict", "skills": { "user:pdf": { "enabled": false } }}"#
    );
    assert_eq!(off(r#"{"skills": {}}"#), r#"{"skills": { "user:pdf": { "enabled": false } }}"#);
    assert_eq!(
        off(r#"{"skills": {"a": {"enabled": true},}}"#),
        r#"{"skills": {"a": {"enabled": true}, "user:pdf": { "enabled": false },}}"#
    );
    // A comment to the end of the line leaves no room behind it.
    assert_eq!(
        off("{\"profile\": \"strict\" // x, }\n}"),
        "{\"profile\": \"strict\", // x, }\n  \"skills\": {\n    \"user:pdf\": { \"enabled\": false }\n  }\n}"
    );
}

#[test]
fn a_setting_that_is_there_is_changed_in_place_however_its_key_is_written() {
    assert_eq!(
        off("{\"skills\": {\"user\\u003apdf\": {\"enabled\": /* was */ true /* on */}}}"),
        "{\"skills\": {\"user\\u003apdf\": {\"enabled\": /* was */ false /* on */}}}"
    );
}

#[test]
fn a_text_that_is_no_configuration_is_refused() {
    for (text, kind) in [
        ("", ConfigErrorKind::Syntax),
        ("{", ConfigErrorKind::Syntax),
        ("[]", ConfigErrorKind::WrongType),
        (r#"{"skill": {}}"#, ConfigErrorKind::UnknownKey),
        (r#"{"skills": []}"#, ConfigErrorKind::WrongType),
        (r#"{"skills": {"user:pdf": {}}}"#, ConfigErrorKind::MissingKey),
        (r#"{"skills": {}, "skills": {}}"#, ConfigErrorKind::DuplicateKey),
    ] {
        let errors = set_skill_enabled(text, "c", Scope::User, "user:pdf", true).unwrap_err();
        assert_eq!(errors[0].kind, kind, "{text}");
    }
    let full = format!("{{}}{}", " ".repeat(metier_config::MAX_CONFIG_BYTES - 2));
    let errors = set_skill_enabled(&full, "c", Scope::User, "user:pdf", true).unwrap_err();
    assert_eq!(errors[0].kind, ConfigErrorKind::TooLarge);
}

/// Blanks and comments as people leave them.
fn blank() -> impl Strategy<Value = String> {
    let pieces =
        ["", " ", "\n", "\n  ", "\r\n\t", " // note, } {\n", " /* a \" b, */ ", "\r", "//\r\n  "];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..3)
        .prop_map(|pieces| pieces.concat())
}

/// An object of `entries` with blanks everywhere, and perhaps a trailing comma.
fn object(entries: Vec<String>) -> impl Strategy<Value = String> {
    let gaps = proptest::collection::vec((blank(), blank()), entries.len());
    (gaps, blank(), any::<bool>()).prop_map(move |(gaps, end, trailing)| {
        let mut text = "{".to_owned();
        for (at, (entry, (before, after))) in entries.iter().zip(gaps).enumerate() {
            let comma = if trailing || at + 1 < entries.len() { "," } else { "" };
            text.push_str(&format!("{before}{entry}{after}{comma}"));
        }
        format!("{text}{end}}}")
    })
}

fn config() -> impl Strategy<Value = String> {
    let skill = |key: &'static str| {
        (blank(), blank(), any::<bool>())
            .prop_map(move |(a, b, on)| format!("\"{key}\":{a}{{ \"enabled\":{b}{on} }}"))
    };
    let keys = proptest::sample::subsequence(vec!["user:a", "b", "user:pdf", "user:z"], 0..=4);
    let skills = keys
        .prop_flat_map(move |keys| keys.into_iter().map(skill).collect::<Vec<_>>())
        .prop_flat_map(object)
        .prop_map(|object| format!("\"skills\": {object}"));
    let others = proptest::sample::subsequence(
        vec!["\"profile\": \"strict\"", "\"budgets\": { \"turns\": 3 }"],
        0..=2,
    );
    (others, proptest::option::of(skills), any::<bool>())
        .prop_flat_map(|(others, skills, first)| {
            let mut entries: Vec<String> = others.into_iter().map(str::to_owned).collect();
            match skills {
                Some(skills) if first => entries.insert(0, skills),
                Some(skills) => entries.push(skills),
                None => {}
            }
            (blank(), object(entries), blank())
        })
        .prop_map(|(before, object, after)| format!("{before}{object}{after}"))
}

/// Whether `part` is left of `whole` when some of it is taken out.
fn is_kept(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|wanted| rest.any(|ch| ch == wanted))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn only_the_setting_changes(text in config(), on in any::<bool>()) {
        let before = parse(&text, "c", Scope::User).unwrap();
        let edited = set_skill_enabled(&text, "c", Scope::User, "user:pdf", on).unwrap();
        let after = parse(&edited, "c", Scope::User).unwrap();
        let mut expected = before.config().clone();
        let there = expected.skills.get_mut("user:pdf").map(|skill| skill.enabled = on).is_some();
        let mut shown = after.config().clone();
        prop_assert_eq!(shown.skills.get("user:pdf").map(|skill| skill.enabled), Some(on));
        if there {
            // Only the word itself: the text around it is the same on both sides.
            let words = |text: &str| text.replace("true", "_").replace("false", "_");
            prop_assert_eq!(words(&text), words(&edited));
        } else {
            prop_assert!(is_kept(&text, &edited), "{}", edited);
            shown.skills.remove("user:pdf");
        }
        prop_assert_eq!(shown, expected);
        let again = set_skill_enabled(&edited, "c", Scope::User, "user:pdf", on).unwrap();
        prop_assert_eq!(&again, &edited);
    }

    #[test]
    fn any_id_can_be_set(text in config(), id in any::<String>()) {
        let edited = set_skill_enabled(&text, "c", Scope::User, &id, false).unwrap();
        let after = parse(&edited, "c", Scope::User).unwrap();
        prop_assert_eq!(after.config().skills.get(&id).map(|skill| skill.enabled), Some(false));
    }
}

#[test]
fn a_setting_is_taken_out_and_comments_stay() {
    let without = |text: &str| {
        remove_value(text, "c", Scope::User, &["model", "base_url"]).expect("a configuration")
    };
    assert_eq!(
        without(
            "{\n  \"model\": {\n    // local\n    \"base_url\": \"http://x\",\n    \"name\": \"m\"\n  }\n}"
        ),
        "{\n  \"model\": {\n    // local\n    \"name\": \"m\"\n  }\n}"
    );
    assert_eq!(
        without("{\"model\": {\"name\": \"m\", \"base_url\": \"http://x\"}}"),
        "{\"model\": {\"name\": \"m\", }}"
    );
    assert_eq!(
        without("{\"model\": {\"base_url\": \"http://x\" /* why */, \"name\": \"m\"}}"),
        "{\"model\": { /* why */ \"name\": \"m\"}}"
    );
    assert_eq!(without("{\"profile\": \"strict\"}"), "{\"profile\": \"strict\"}");
}

#[test]
fn a_value_of_a_section_that_is_not_there_gets_one() {
    let set = |text: &str| {
        let value = serde_json::json!("gpt-5-mini");
        set_value(text, "c", Scope::User, &["model", "name"], &value).expect("a configuration")
    };
    assert_eq!(set("{}"), "{\n  \"model\": {\n    \"name\": \"gpt-5-mini\"\n  }\n}");
    assert_eq!(
        set("{ // mine\n  \"profile\": \"strict\", // keep\n}"),
        "{ // mine\n  \"profile\": \"strict\", // keep\n  \"model\": {\n    \"name\": \"gpt-5-mini\",\n  },\n}"
    );
    let errors = set_value("{}", "c", Scope::User, &["model", "nam"], &"x".into()).unwrap_err();
    assert_eq!(errors[0].kind, ConfigErrorKind::UnknownKey);
}

#[test]
fn a_value_is_added_to_a_list_and_the_others_and_their_comments_stay() {
    let add = |text: &str| {
        add_value(text, "c", Scope::User, &["sources", "allow"], &"b.test".into())
            .expect("a configuration")
    };
    assert_eq!(add("{}"), "{\n  \"sources\": {\n    \"allow\": [\"b.test\"]\n  }\n}");
    assert_eq!(add(r#"{"sources": {"allow": []}}"#), r#"{"sources": {"allow": ["b.test"]}}"#);
    assert_eq!(
        add("{\"sources\": {\"allow\": [ // ask Bob\n ]}}"),
        "{\"sources\": {\"allow\": [\"b.test\" // ask Bob\n ]}}"
    );
    assert_eq!(
        add("{\"sources\": {\"allow\": [\n  /* none yet */\n ]}}"),
        "{\"sources\": {\"allow\": [\"b.test\"\n  /* none yet */\n ]}}"
    );
    assert_eq!(
        add("{\"sources\": {\"allow\": [\n    \"a.test\", // mine\n  ]}}"),
        "{\"sources\": {\"allow\": [\n    \"a.test\", // mine\n    \"b.test\",\n  ]}}"
    );
    assert_eq!(
        add("{\"sources\": {\"allow\": [\"a.test\" // mine\n]}}"),
        "{\"sources\": {\"allow\": [\"a.test\", // mine\n\"b.test\"\n]}}"
    );
    let text = r#"{"sources": {"allow": ["b.test", /* last */ "c.test"]}}"#;
    assert_eq!(add(text), text, "it is there");
    let errors = add_value("{}", "c", Scope::User, &["budgets", "turns"], &1.into()).unwrap_err();
    assert_eq!(errors[0].kind, ConfigErrorKind::WrongType);
}
