//! `metier read`: a body, a section, some lines, page after page; as people and as programs get it.
//!
//! tidy:allow-cjk: headings and honest scripts that must survive byte for byte.

use metier_testkit::{TestHome, skill_text};
use serde_json::{Value, json};

use crate::support::{METIER, document, json, keys, run, shown};

const SKILL: &str = "home/.agents/skills/pdf";

const GUIDE: &str = "\
# Guide

Opening.

```sh
# not a heading
```

## Steps

First.

### Detail

Deep.

## Steps

Second.

指标定义
--------

表格。

Setext one
==========

Under it.

## Last:

End without a line break";

/// A skill with a guide in its references.
fn guided() -> TestHome {
    let home = TestHome::new();
    home.skill(SKILL, "pdf", "Fills in forms.");
    home.write(&format!("{SKILL}/references/guide.md"), GUIDE);
    home
}

/// A section of the guide.
fn section(home: &TestHome, hint: &str) -> String {
    let output = run(home, &["read", "pdf", "references/guide.md", "--section", hint]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{hint}: {output:?}");
    output.stdout
}

#[test]
fn a_body_comes_without_its_frontmatter() {
    let home = guided();
    insta::assert_snapshot!(shown(&home, &run(&home, &["read", "pdf"])), @"
    exit: 0
    ---- stdout
    # pdf

    Do it.

    ---- stderr
    ");
    assert_eq!(run(&home, &["read", "user:pdf"]).stdout, "# pdf\n\nDo it.\n");
    assert_eq!(run(&home, &["read", "pdf@user"]).stdout, "# pdf\n\nDo it.\n");
}

#[test]
fn a_section_is_found_with_and_without_marks_and_by_its_anchor() {
    let home = guided();
    let first = "## Steps\n\nFirst.\n\n### Detail\n\nDeep.\n\n";
    for hint in ["Steps", "steps", "## Steps", "##Steps", " Steps: "] {
        assert_eq!(section(&home, hint), first, "{hint}");
    }
    assert_eq!(section(&home, "### Detail"), "### Detail\n\nDeep.\n\n");
    assert_eq!(
        section(&home, "#setext-one"),
        "Setext one\n==========\n\nUnder it.\n\n## Last:\n\nEnd without a line break"
    );
    assert_eq!(
        section(&home, "Last"),
        "## Last:\n\nEnd without a line break",
        "to the end of the file"
    );
    assert_eq!(section(&home, "指标定义"), "指标定义\n--------\n\n表格。\n\n");
    assert_eq!(section(&home, "## 指标定义"), "指标定义\n--------\n\n表格。\n\n");
}

#[test]
fn a_section_that_is_not_there_gives_the_start_and_the_headings() {
    let home = guided();
    let output = run(&home, &["read", "pdf", "references/guide.md", "--section", "not a heading"]);
    assert_eq!(output.code, 0);
    assert_eq!(output.stdout, GUIDE);
    insta::assert_snapshot!(output.stderr, @"
    warning: there is no section `not a heading`; this is the start of the file
    sections: # Guide, ## Steps, ### Detail, ## Steps, ## 指标定义, # Setext one, ## Last:
    ");
    let report = json(
        &home,
        &["read", "pdf", "references/guide.md", "--section", "none", "--json"],
    )["report"]
        .clone();
    assert_eq!(report["section_not_found"], "none");
    assert_eq!(report["headings"][0], "# Guide");
}

#[test]
fn the_second_of_two_sections_of_one_name_is_reached_by_its_lines() {
    let home = guided();
    let output = run(&home, &["read", "pdf", "references/guide.md", "--lines", "17-20"]);
    assert_eq!(output.stdout, "## Steps\n\nSecond.\n\n");
}

#[test]
fn lines_are_those_of_the_file() {
    let home = guided();
    let lines = |lines: &str| run(&home, &["read", "pdf", "references/guide.md", "--lines", lines]);
    assert_eq!(lines("1-3").stdout, "# Guide\n\nOpening.\n");
    assert_eq!(lines("3").stdout, "Opening.\n");
    assert_eq!(lines("33-").stdout, "End without a line break");
    let beyond = lines("900-");
    assert_eq!((beyond.stdout.as_str(), beyond.code), ("", 0));
    assert_eq!(beyond.stderr, "nothing to show: references/guide.md has 33 lines\n");
    for wrong in ["0-3", "5-2", "x", ""] {
        assert_eq!(lines(wrong).code, 2, "{wrong}");
    }
    // Without a path they are those of SKILL.md, frontmatter included.
    assert_eq!(run(&home, &["read", "pdf", "--lines", "2-2"]).stdout, "name: pdf\n");
    // Inside a section only the lines that are in both.
    let both = ["read", "pdf", "references/guide.md", "--section", "Guide", "--lines", "1-1"];
    assert_eq!(run(&home, &both).stdout, "# Guide\n");
}

#[test]
fn the_document_is_text_and_report() {
    let home = guided();
    let document = json(&home, &["read", "pdf", "--json"]);
    let bytes = skill_text("pdf", "Fills in forms.").len();
    assert_eq!(keys(&document), ["report", "text"]);
    assert_eq!(document["text"], "# pdf\n\nDo it.\n");
    let report = &document["report"];
    assert!(report["sha256"].as_str().is_some_and(|it| it.starts_with("sha256:")), "{report}");
    assert_eq!(
        (&report["path"], &report["bytes_read"], &report["chars_returned"], &report["lines"]),
        (&json!("SKILL.md"), &json!(bytes), &json!(14), &json!([1, 3]))
    );
    assert_eq!(
        keys(report),
        ["bytes_read", "chars_returned", "lines", "path", "sha256", "total_lines", "truncated"]
    );
    let part = json(&home, &["read", "pdf", "references/guide.md", "--section", "Last", "--json"]);
    assert_eq!(
        (&part["report"]["section"], &part["report"]["lines"]),
        (&json!("## Last:"), &json!([31, 33]))
    );
}

/// Reads page after page, as the report says.
fn pages(home: &TestHome, path: &str) -> (String, usize) {
    let (mut whole, mut count) = (String::new(), 0);
    let mut more: Vec<String> = Vec::new();
    loop {
        let mut args = vec!["read", "pdf", path, "--json"];
        args.extend(more.iter().map(String::as_str));
        let page = json(home, &args);
        whole.push_str(page["text"].as_str().expect("a text"));
        count += 1;
        let next = &page["report"]["next"];
        let option = |name: &str, value: String| vec![name.to_owned(), value];
        more = match (next["lines"].as_str(), next["skip_chars"].as_u64()) {
            (Some(lines), _) => option("--lines", lines.to_owned()),
            (_, Some(chars)) => {
                let mut lines: Vec<String> =
                    more.windows(2).filter(|it| it[0] == "--lines").flatten().cloned().collect();
                lines.extend(option("--skip-chars", chars.to_string()));
                lines
            }
            (None, None) => return (whole, count),
        };
        assert!(count < 100, "paging does not end");
    }
}

#[test]
fn pages_put_together_are_the_whole_file() {
    let home = guided();
    let many = (0..4000).map(|n| format!("line {n} of many")).collect::<Vec<_>>().join("\n");
    let mixed = format!("short\n{}\n{}end", "長".repeat(30_000), "x\n".repeat(9_000));
    let endless = "word ".repeat(10_000);
    for (name, text) in [
        ("many.md", many),
        ("mixed.md", mixed),
        ("endless.md", endless),
        ("one.md", "one".to_owned()),
        ("empty.md", String::new()),
    ] {
        home.write(&format!("{SKILL}/{name}"), &text);
        let (whole, count) = pages(&home, name);
        assert!(whole == text, "{name}: {} of {} bytes in {count} pages", whole.len(), text.len());
        assert_eq!(count > 1, text.len() > 12_000, "{name}");
    }
}

#[test]
fn output_says_how_to_read_on() {
    let home = guided();
    home.write(&format!("{SKILL}/long.md"), "twelve chars\n".repeat(2000));
    let output = run(&home, &["read", "pdf", "long.md"]);
    assert_eq!(output.stdout, "twelve chars\n".repeat(923));
    assert_eq!(output.stderr, "there is more: --lines 924-2000\n");
    let rest = run(&home, &["read", "pdf", "long.md", "--lines", "924-2000"]);
    assert_eq!(rest.stderr, "there is more: --lines 1847-2000\n");
    home.write(&format!("{SKILL}/wide.md"), "x".repeat(13_000));
    assert_eq!(
        run(&home, &["read", "pdf", "wide.md"]).stderr,
        "there is more: --skip-chars 12000\n"
    );
}

#[test]
fn raw_gives_the_file_as_it_is() {
    let home = guided();
    let text = "---\r\nname: raw\r\ndescription: d\r\n---\r\nA\u{202e}B\r\n";
    home.write("home/.agents/skills/raw/SKILL.md", text);
    assert_eq!(run(&home, &["read", "raw", "--raw"]).stdout, text);
    assert_eq!(run(&home, &["read", "raw"]).stdout, "AB\n");
    let document = json(&home, &["read", "raw", "--raw", "--json"]);
    assert_eq!(document, json!({ "text": text, "bytes": text.len() }));
    assert_eq!(run(&home, &["read", "raw", "--raw", "--section", "x"]).code, 2);
    home.write("home/.agents/skills/low/skill.md", skill_text("low", "d"));
    assert_eq!(run(&home, &["read", "low", "--raw"]).stdout, skill_text("low", "d"));
}

#[test]
fn raw_bytes_reach_a_pipe_unchanged_whatever_the_colour_setting() {
    let home = guided();
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend(b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b1m\r\n");
    home.write(&format!("{SKILL}/assets/all.bin"), &bytes);
    for color in ["auto", "always", "never"] {
        let args = ["read", "pdf", "assets/all.bin", "--raw", "--color", color];
        let output = home.command(METIER).args(args).output().expect("starts");
        assert_eq!(output.stdout, bytes, "{color}");
    }
}

/// Sections with two names alike, one without words, and one beyond an excerpt.
fn long_body() -> String {
    let mut body = format!("Opening.\n{}\n# Title\nIntro\n", "open\n".repeat(30));
    for n in 0..12 {
        let heading = match n {
            3 | 7 => "## Examples",
            5 => "##",
            9 => "## It's \"quoted\" `code`",
            _ => "## Part",
        };
        body.push_str(&format!(
            "{heading}{}\n",
            if heading == "## Part" { format!(" {n}") } else { String::new() }
        ));
        body.push_str(&format!("{n} line of this part\n").repeat(if n == 11 { 900 } else { 60 }));
    }
    body
}

#[test]
fn every_section_left_out_of_a_long_body_is_reached_by_the_printed_option() {
    let home = TestHome::new();
    let body = long_body();
    home.write(
        &format!("{SKILL}/SKILL.md"),
        format!("---\nname: pdf\ndescription: d\n---\n\n{body}"),
    );
    let document = json(&home, &["read", "pdf", "--json"]);
    assert_eq!(document["report"]["truncated"], json!(true));
    let text = document["text"].as_str().expect("a text");
    assert!(text.lines().count() <= 500);
    let omitted = document["report"]["omitted"].as_array().expect("a list");
    assert!(omitted.len() >= 5, "{omitted:?}");
    let file = format!("---\nname: pdf\ndescription: d\n---\n\n{body}");
    let printed = run(&home, &["read", "pdf"]).stderr;
    assert_eq!(printed.lines().count(), omitted.len(), "{printed}");
    let mut reached = String::new();
    for (line, omitted) in printed.lines().zip(omitted) {
        let (_, option) = line.rsplit_once(" lines): ").expect("an option");
        let part = whole_part(&home, option);
        let lines = usize::try_from(omitted["lines"].as_u64().expect("a number")).expect("small");
        let piece: String = part.split_inclusive('\n').take(lines).collect();
        assert!(file.contains(&piece) && piece.lines().count() == lines, "{line}");
        assert!(!reached.contains(&piece), "{line} gave a part that was given before");
        assert!(text.contains(&format!("Load SKILL.md, {}", loads(&omitted["load"]))), "{omitted}");
        reached.push_str(&piece);
    }
    // What was kept and what was reached are the whole body.
    for line in body.lines() {
        assert!(text.contains(line) || reached.contains(line), "{line}");
    }
}

fn loads(part: &Value) -> String {
    match (part["section"].as_str(), part["lines"].as_str()) {
        (Some(section), None) => format!("section \"{section}\""),
        (None, Some(lines)) => format!("lines {lines}"),
        _ => panic!("one of two: {part}"),
    }
}

/// Everything that an option of `metier read pdf` gives, as a shell would run it, page after page.
fn whole_part(home: &TestHome, option: &str) -> String {
    let mut option = option.to_owned();
    let mut whole = String::new();
    loop {
        let script = format!("exec \"$0\" read pdf {option}");
        let mut shell = home.command("sh");
        let output = TestHome::finish(shell.arg("-c").arg(script).arg(METIER));
        assert_eq!(output.code, 0, "{option}: {output:?}");
        assert!(!output.stderr.contains("no section"), "{option}: {output:?}");
        whole.push_str(&output.stdout);
        match output.stderr.trim().strip_prefix("there is more: ") {
            Some(next) => next.clone_into(&mut option),
            None => return whole,
        }
    }
}

#[test]
fn what_hides_goes_and_honest_scripts_survive_byte_for_byte() {
    let home = guided();
    let honest = "👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️ می‌خواهم क्‍ष 表格 データ 한국어 café\n";
    home.write(&format!("{SKILL}/honest.md"), honest);
    assert_eq!(run(&home, &["read", "pdf", "honest.md"]).stdout, honest);
    let hidden = "a\u{202e}b\u{200b}c\u{e0041}\u{e0042}d\u{2066}e\u{1b}[2Jf\r\ng\u{feff}h\n";
    home.write(&format!("{SKILL}/hidden.md"), hidden);
    assert_eq!(run(&home, &["read", "pdf", "hidden.md"]).stdout, "abcde\\x1b[2Jf\ngh\n");
    home.write(
        &format!("{SKILL}/SKILL.md"),
        format!("---\nname: pdf\ndescription: d\n---\n{honest}{hidden}"),
    );
    assert_eq!(run(&home, &["read", "pdf"]).stdout, format!("{honest}abcde\\x1b[2Jf\ngh\n"));
}

#[test]
fn a_builtin_skill_is_read_like_any_other() {
    let home = TestHome::new();
    let body = run(&home, &["read", "write-skill"]);
    assert!(body.stdout.starts_with("# Write a skill\n"), "{body:?}");
    let part =
        run(&home, &["read", "builtin:write-skill", "references/descriptions.md", "--lines", "1"]);
    assert!(part.stdout.starts_with("# "), "{part:?}");
    let error =
        document(&home, &run(&home, &["read", "write-skill", "references/none.md", "--json"]), 1);
    assert_eq!(error["error"]["code"], "IoError");
    let error = document(&home, &run(&home, &["read", "write-skill", "../x", "--json"]), 1);
    assert_eq!(error["error"]["code"], "PathTraversalBlocked");
}
