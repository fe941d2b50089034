//! Broken YAML that people write: each repair is drawn under its line, says how the line is
//! read, and is exactly what `--fix` writes. Faults that are no repairs stay as they are.

use metier_testkit::TestHome;

use crate::support::{run, shown};

/// A line as written, the code it gets, and the line that `--fix` makes of it.
const REPAIRS: &[(&str, &str, &str)] = &[
    ("description: Use when: asked", "yaml-unquoted-colon", "description: \"Use when: asked\""),
    ("description: Use when:", "yaml-unquoted-colon", "description: \"Use when:\""),
    ("description: *Bold* start", "yaml-special-start", "description: \"*Bold* start\""),
    ("description: @someone", "yaml-special-start", "description: \"@someone\""),
    ("description: [Draft] text", "yaml-special-start", "description: \"[Draft] text\""),
    ("description: `code` first", "yaml-special-start", "description: \"`code` first\""),
    ("description: | on one line", "yaml-text-after-block", "description: \"on one line\""),
    ("description: > on one line", "yaml-text-after-block", "description: \"on one line\""),
    (
        "description: \"quoted\" and more",
        "yaml-text-after-quote",
        "description: \"\\\"quoted\\\" and more\"",
    ),
    ("description: 'it's mine'", "yaml-text-after-quote", "description: \"it's mine\""),
    ("description: \"never closed", "yaml-unclosed-quote", "description: \"never closed\""),
    ("description: \"C:\\dir\"", "yaml-bad-escape", "description: \"C:\\\\dir\""),
    ("description: “Smart: quotes”", "yaml-smart-quotes", "description: \"Smart: quotes\""),
    ("description: “Smart quotes”", "yaml-smart-quotes", "description: \"Smart quotes\""),
    ("description:\tAfter a tab", "yaml-tab", "description: After a tab"),
];

#[test]
fn a_quoted_value_that_continues_at_column_1_is_read_in_every_profile_and_indented_by_fix() {
    let written = "description: \"Use when\nasked: twice,\n\nor never.\"";
    let indented = "description: \"Use when\n  asked: twice,\n\n  or never.\"";
    let home = TestHome::new();
    let path = home.write("project/.agents/skills/x/SKILL.md", file(written));
    let skill = ".agents/skills/x";
    for profile in ["strict", "lenient", "spec"] {
        let output = run(&home, &["check", "--profile", profile, skill]);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stdout.contains("warning[yaml-quote-unindented]"), "{output:?}");
        assert!(!output.stdout.contains("rejected by"), "{output:?}");
    }
    let description = || run(&home, &["inspect", "x", "--json"]).json()["description"].take();
    let before = description();
    assert_eq!(before, "Use when asked: twice,\nor never.");
    assert_eq!(run(&home, &["check", "--fix", skill]).code, 0);
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), file(indented));
    assert_eq!(description(), before);
    let again = run(&home, &["check", "--fix", skill]);
    assert!(again.stdout.ends_with("1 skill checked: no problems\n"), "{again:?}");
}

#[test]
fn a_byte_order_mark_in_a_value_is_not_called_a_tab() {
    let home = TestHome::new();
    let path = home.write("project/x/SKILL.md", file("description: \u{feff}A mark first"));
    let output = run(&home, &["check", "x"]);
    assert!(output.stdout.starts_with("warning[yaml-byte-order-mark]: "), "{output:?}");
    assert_eq!(run(&home, &["check", "--fix", "x"]).code, 0);
    let fixed = std::fs::read_to_string(&path).expect("reads");
    assert_eq!(fixed, file("description: \"A mark first\""));
}

#[test]
fn a_limit_inside_the_quotes_keeps_the_skill_out() {
    let home = TestHome::new();
    let line = "description: \"Use when\nallowed-tools: Read\nasked.\"";
    home.write("project/x/SKILL.md", file(line));
    for profile in ["strict", "lenient", "spec"] {
        let output = run(&home, &["check", "--profile", profile, "x"]);
        assert_eq!(output.code, 1, "{output:?}");
    }
}

/// A whole file around the third line.
fn file(line: &str) -> String {
    format!("---\nname: x\n{line}\nlicense: MIT\n---\n\n# X\n\nDo it: well.\n")
}

#[test]
fn each_repair_is_drawn_under_its_line_and_written_by_fix() {
    for (line, code, fixed_line) in REPAIRS {
        let home = TestHome::new();
        let path = home.write("project/x/SKILL.md", file(line));
        let output = run(&home, &["check", "x"]);
        assert_eq!(output.code, 0, "a repair is a warning: {output:?}");
        let drawn: Vec<&str> = output.stdout.lines().collect();
        assert!(drawn[0].starts_with(&format!("warning[{code}]: ")), "{line}: {output:?}");
        assert!(drawn[1].starts_with(" --> x/SKILL.md:3:"), "{line}: {output:?}");
        // A tab is drawn as four columns, marks included.
        assert_eq!(drawn[3], format!("3 | {}", line.replace('\t', "    ")), "{output:?}");
        assert!(drawn[4].trim_start_matches([' ', '|']).starts_with('^'), "{line}: {output:?}");
        assert!(output.stdout.contains("= help: "), "{line}: {output:?}");
        assert!(output.stdout.ends_with("1 warning; 1 fixable with `metier check --fix`\n"));

        let fixed = run(&home, &["check", "--fix", "x"]);
        assert_eq!(fixed.code, 0, "{fixed:?}");
        assert!(fixed.stdout.ends_with("1 skill checked: no problems; 1 fixed\n"), "{fixed:?}");
        let written = std::fs::read_to_string(&path).expect("reads");
        assert_eq!(written, file(fixed_line), "only that line is another");
    }
}

#[test]
fn the_listing_shows_what_fix_would_write() {
    for (line, _, fixed_line) in REPAIRS {
        let (before, after) = (TestHome::new(), TestHome::new());
        before.write("project/.agents/skills/x/SKILL.md", file(line));
        after.write("project/.agents/skills/x/SKILL.md", file(fixed_line));
        let description =
            |home: &TestHome| run(home, &["inspect", "x", "--json"]).json()["description"].take();
        assert_eq!(description(&before), description(&after), "{line}");
    }
}

#[test]
fn a_repair_says_how_the_line_is_read() {
    let home = TestHome::new();
    home.write("project/x/SKILL.md", file("description: \"C:\\dir\" for paths: all"));
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "x"])), @r#"
    exit: 0
    ---- stdout
    warning[yaml-text-after-quote]: read as `description: "\"C:\\dir\" for paths: all"`
     --> x/SKILL.md:3:14
      |
    3 | description: "C:\dir" for paths: all
      |              ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: Quote the whole value (`metier check --fix` does it).
      = note: also rejected by skills-ref, quick_validate, strict-yaml-clients

    1 skill checked: 1 warning; 1 fixable with `metier check --fix`

    ---- stderr
    "#);
    home.write("project/x/SKILL.md", file("description: “Use when: asked”"));
    insta::assert_snapshot!(shown(&home, &run(&home, &["check", "x"])), @r#"
    exit: 0
    ---- stdout
    warning[yaml-smart-quotes]: read as `description: "Use when: asked"`
     --> x/SKILL.md:3:14
      |
    3 | description: “Use when: asked”
      |              ^^^^^^^^^^^^^^^^^
      |
      = help: Use straight double quotes (`metier check --fix` does it).

    1 skill checked: 1 warning; 1 fixable with `metier check --fix`

    ---- stderr
    "#);
}

#[test]
fn a_name_is_repaired_too() {
    let home = TestHome::new();
    let path =
        home.write("project/x/SKILL.md", "---\nname: “x”\ndescription: Fine.\n---\nDo it.\n");
    assert!(run(&home, &["check", "x"]).stdout.starts_with("warning[yaml-smart-quotes]"));
    assert_eq!(run(&home, &["check", "--fix", "x"]).code, 0);
    let written = std::fs::read_to_string(path).expect("reads");
    assert_eq!(written, "---\nname: \"x\"\ndescription: Fine.\n---\nDo it.\n");
}

/// Lines with a fault that must not be fixed by guessing, and the code each gets.
const FAULTS: &[(&str, &str)] = &[
    ("description: cut # here", "yaml-comment-cut"),
    ("description: One\ndescription: Two", "yaml-duplicate-key"),
    ("description: Fine.\nlicense: *alias", "yaml-alias"),
    ("description: Fine.\nlicense: !tag MIT", "yaml-tag"),
    ("description: Fine.\nmetadata: {a: b}", "yaml-flow"),
    ("description: Fine.\n...\nmore: yes", "yaml-documents"),
    ("description: Fine.\nmetadata: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", "yaml-too-deep"),
    ("description: Fine.\n- a list item", "yaml-syntax"),
    ("description: Fine.\nlicense: \"MIT\" or so", "field-unreadable"),
    ("description: Fine.\nallowed-tools: [Read", "control-unreadable"),
    ("description: Fine.\nallowed-tools: “Read: all”, Bash: x", "control-unreadable"),
    ("description: Fine.\ndisable-model-invocation: \"true", "control-unreadable"),
];

#[test]
fn a_fault_that_is_no_repair_is_reported_and_never_touched() {
    for (line, code) in FAULTS {
        let home = TestHome::new();
        let text = format!("---\nname: x\n{line}\n---\nDo it.\n");
        let path = home.write("project/x/SKILL.md", &text);
        let document = run(&home, &["check", "--json", "--fix", "x"]).json();
        let first = &document["diagnostics"][0];
        assert_eq!(first["code"], *code, "{line}: {document}");
        assert_eq!(first["fixable"], false, "{line}");
        assert_eq!(document["summary"]["fixed"], 0, "{line}");
        assert_eq!(std::fs::read_to_string(&path).expect("reads"), text, "{line}");
    }
}

#[test]
fn by_the_specification_a_repairable_fault_is_an_error() {
    for (line, code, _) in REPAIRS {
        if *code == "yaml-smart-quotes" {
            continue;
        }
        let home = TestHome::new();
        home.write("project/x/SKILL.md", file(line));
        let output = run(&home, &["check", "--spec", "x"]);
        assert_eq!(output.code, 1, "{line}: {output:?}");
        assert!(output.stdout.contains(&format!("error[{code}]")), "{line}: {output:?}");
    }
}
