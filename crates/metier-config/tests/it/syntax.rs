//! JSON with comments and trailing commas, nothing looser, within bounds.
//!
//! Comments, commas, nesting, size, and text that is no JSON at all.

use insta::assert_snapshot;
use metier_config::{ConfigErrorKind, MAX_CONFIG_BYTES, MAX_NESTING, Scope, parse};
use metier_skill::Profile;

use crate::support::{problems, user};

#[test]
fn comments_and_trailing_commas_are_allowed() {
    let text = "\u{feff}// first\r\n{ /* { [ */ \"profile\": \"strict\", // } \" \n }";
    assert_eq!(user(text).config().profile, Some(Profile::Strict));
}

#[test]
fn the_example_of_the_first_design_is_read() {
    let text = r#"{
  "$schema": "https://example.org/metier.json",
  "skill_roots": [".agent/skills", "~/.agent/skills"],
  "model": { "provider": "mock", "params": { "script": "decisions.json" } },
  "execution": { "require_approval_for": ["write_file", "run_script", "network"] },
  "security": { "max_skill_body_lines": 500, "block_angle_brackets_in_frontmatter": true }
}"#;
    let layer = parse(text, "c", Scope::User).unwrap();
    assert_snapshot!(format!("{:?}\n{:?}", layer.config().model.provider, layer.config().execution.require_approval_for), @"
    Some(Mock)
    [WriteFile, RunScript, NetworkRequest]
    ");
    assert_eq!(layer.line_of("execution.require_approval_for[1]"), Some(5));
}

#[test]
fn nothing_is_not_an_empty_configuration() {
    assert_snapshot!(problems(""), @"
    config.json:1:1: the configuration is empty [config-syntax]
      help: write `{}` for a configuration that sets nothing, or delete the file
    ");
    assert_snapshot!(problems("// all gone\n"), @"
    config.json:1:1: the configuration is empty [config-syntax]
      help: write `{}` for a configuration that sets nothing, or delete the file
    ");
    assert!(parse("{}", "c", Scope::User).is_ok());
}

#[test]
fn an_unclosed_string_is_found_where_it_starts() {
    let text = "{\n  \"profile: \"strict\",\n  \"catalog\": {}\n}";
    assert_snapshot!(problems(text), @r#"
    config.json:2:20: this string is not closed on its line [config-syntax]
      help: close it with `"`; write a line break in it as `\n`
    "#);
}

#[test]
fn every_syntax_error_says_what_to_do() {
    let texts = [
        "{ profile: 1 }",
        "{ 'profile': 1 }",
        "{ \"profile\" \"strict\" }",
        "{ \"profile\": }",
        "{ \"profile\":",
        "{ \"profile\": strict }",
        "{ \"profile\": \"strict\" \"catalog\": {} }",
        "{ \"skill_roots\": [\"a\" \"b\"] }",
        "{ \"skill_roots\": [\"a\", , \"b\"] }",
        "{ \"skill_roots\": [\"a\" }",
        "{ \"skill_roots\": [\"a\"",
        "{ \"catalog\": {",
        "{} {}",
        "{ # comment\n}",
        "{ /* comment }",
        "{ \"model\": { \"name\": \"C:\\models\" } }",
        "{ \"model\": { \"name\": \"\\ud800\" } }",
        "{ \"model\": { \"name\": \"a\u{0}b\" } }",
        "{ \"budgets\": { \"turns\": 0x10 } }",
        "{ \"budgets\": { \"turns\": - } }",
        "{ \"budgets\": { \"turns\": NaN } }",
        "\u{0}\u{0}\u{0}",
    ];
    let shown = texts.map(|text| format!("{text:?}\n{}", problems(text)));
    assert_snapshot!(shown.join("\n"), @r#"
    "{ profile: 1 }"
    config.json:1:3: a key is not quoted [config-syntax]
      help: put it in double quotes
    "{ 'profile': 1 }"
    config.json:1:3: a string is in single quotes [config-syntax]
      help: use double quotes
    "{ \"profile\" \"strict\" }"
    config.json:1:13: missing `:` after a key [config-syntax]
      help: write `"key": value`
    "{ \"profile\": }"
    config.json:1:14: expected a value, found `}` [config-syntax]
      help: remove it, or write the value
    "{ \"profile\":"
    config.json:1:13: missing value after a key [config-syntax]
      help: write a value after the `:`, or remove the key
    "{ \"profile\": strict }"
    config.json:1:14: unquoted word [config-syntax]
      help: put it in double quotes; only `true`, `false` and `null` go without
    "{ \"profile\": \"strict\" \"catalog\": {} }"
    config.json:1:22: missing comma [config-syntax]
      help: add `,`
    "{ \"skill_roots\": [\"a\" \"b\"] }"
    config.json:1:22: missing comma [config-syntax]
      help: add `,`
    "{ \"skill_roots\": [\"a\", , \"b\"] }"
    config.json:1:24: expected a value, found `,` [config-syntax]
      help: remove it, or write the value
    "{ \"skill_roots\": [\"a\" }"
    config.json:1:23: expected a value, found `}` [config-syntax]
      help: remove it, or write the value
    "{ \"skill_roots\": [\"a\""
    config.json:1:18: this `[` is never closed [config-syntax]
      help: add the missing `]`
    "{ \"catalog\": {"
    config.json:1:14: this `{` is never closed [config-syntax]
      help: add the missing `}`
    "{} {}"
    config.json:1:4: unexpected text after the end of the configuration [config-syntax]
      help: remove it; check for a bracket that closes too early
    "{ # comment\n}"
    config.json:1:3: this is not valid JSON [config-syntax]
      help: check the quotes, commas and brackets around it; comments start with `//`
    "{ /* comment }"
    config.json:1:3: this comment is never closed [config-syntax]
      help: close it with `*/`
    "{ \"model\": { \"name\": \"C:\\models\" } }"
    config.json:1:25: invalid escape in a string [config-syntax]
      help: write a backslash as `\\`; the escapes are \n \t \r \b \f \/ \" \\ and \u0000
    "{ \"model\": { \"name\": \"\\ud800\" } }"
    config.json:1:23: invalid escape in a string [config-syntax]
      help: write a backslash as `\\`; the escapes are \n \t \r \b \f \/ \" \\ and \u0000
    "{ \"model\": { \"name\": \"a\0b\" } }"
    config.json:1:24: a string contains a control character [config-syntax]
      help: write it as `\u0000`, or remove it
    "{ \"budgets\": { \"turns\": 0x10 } }"
    config.json:1:25: invalid number [config-syntax]
      help: write it in decimal, such as 12 or 0.5
    "{ \"budgets\": { \"turns\": - } }"
    config.json:1:26: invalid number [config-syntax]
      help: write it in decimal, such as 12 or 0.5
    "{ \"budgets\": { \"turns\": NaN } }"
    config.json:1:25: unquoted word [config-syntax]
      help: put it in double quotes; only `true`, `false` and `null` go without
    "\0\0\0"
    config.json:1:1: this is not valid JSON [config-syntax]
      help: check the quotes, commas and brackets around it; comments start with `//`
    "#);
}

#[test]
fn columns_count_characters_and_lines_any_line_end() {
    let text = "{\r\n\r  \"model\": { \"name\": \"模型\", \"nam\": 1 } }";
    let errors = parse(text, "c", Scope::User).unwrap_err();
    assert_eq!((errors[0].line, errors[0].column), (3, 28));
}

#[test]
fn a_text_over_the_limit_is_not_read() {
    let text = format!("{{}}{}", " ".repeat(MAX_CONFIG_BYTES - 2));
    assert!(parse(&text, "c", Scope::User).is_ok());
    assert_snapshot!(problems(&format!("{text} ")), @"
    config.json:1:1: the configuration is 1048577 bytes long; the limit is 1048576 [config-too-large]
      help: remove what does not belong in a configuration
    ");
}

#[test]
fn nesting_has_a_bound_that_strings_and_comments_do_not_count_for() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(r#"{{ "model": {{ "params": {{ "x": {open}{close} }} }} }}"#)
    };
    assert!(parse(&nested(MAX_NESTING - 3), "c", Scope::User).is_ok());
    assert_snapshot!(problems(&nested(MAX_NESTING - 2)), @"
    config.json:1:92: nested more than 64 levels deep [config-too-large]
      help: check for unclosed brackets; no setting needs that many levels
    ");
    let harmless =
        format!("{{ /* {0} */ \"model\": {{ \"name\": \"\\\"{0}\" }} }} // {0}", "[{".repeat(500));
    assert!(parse(&harmless, "c", Scope::User).is_ok());
}

#[test]
fn half_a_megabyte_of_open_brackets_does_no_harm() {
    for bracket in ["[", "{\"a\":", "[{\"a\":"] {
        let text = bracket.repeat(500_000 / bracket.len());
        let errors = parse(&text, "c", Scope::Project).unwrap_err();
        assert_eq!(errors[0].kind, ConfigErrorKind::TooLarge);
    }
}
