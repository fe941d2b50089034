//! What reaches a terminal: nothing of a skill, a path or a configuration moves the cursor, sets a
//! title or hides text, whatever the colour setting. With `--color always` the only escapes are
//! our own; without colour there are none.

use metier_testkit::{Output, TestHome};

use crate::support::{METIER, run};

/// Blinking text on red, a window title, and a cursor movement: none of them is ours.
const EVIL: &str = "\u{1b}[5;41mA\u{1b}]0;title\u{7}B\u{1b}[2J";
/// The same attacks without an escape character: C1 controls, and text that runs backwards.
const SUBTLE: &str = "A\u{9b}5;41mB\u{9d}0;title\u{9c}C\u{202e}D\u{2066}E\u{7f}F";

/// A place where every text that metier shows is hostile.
fn hostile() -> TestHome {
    let home = TestHome::new();
    for (at, bad) in [EVIL, SUBTLE].into_iter().enumerate() {
        let root = format!("project/.agents/skills/{bad}");
        home.skill(&format!("{root}/good"), &format!("good{at}"), "Shown.");
        home.write(&format!("{root}/good/{bad}.md"), "x");
        home.write(&format!("{root}/name/SKILL.md"), format!("---\nname: a{bad}\n---\n"));
        home.write(
            &format!("{root}/raw/SKILL.md"),
            format!("---\nname: raw{at}\ndescription: Raw {bad} text\n---\nx\n"),
        );
        home.write(&format!("{root}/fields/SKILL.md"), fields(&format!("fields{at}"), bad));
        home.write(&format!("{root}/grants/SKILL.md"), grants(&format!("grants{at}"), bad));
        home.skill(&format!("home/.agents/skills/{bad}"), &format!("good{at}"), "Shadowed.");
        let versions = format!("home/.claude/plugins/cache/market/{bad}/1.0");
        home.skill(&format!("{versions}/skills/pdf"), "pdf", "A plugin's.");
    }
    home.skill("home/.agents/skills/pdf", "pdf", "The user's.");
    home
}

/// Hostile text in YAML's own escapes, which a parser turns into the real thing.
fn quoted(bad: &str) -> String {
    let escaped = |c: char| {
        if c.is_ascii_graphic() { c.to_string() } else { format!("\\U{:08X}", u32::from(c)) }
    };
    format!("\"{}\"", bad.chars().map(escaped).collect::<String>())
}

/// A skill with hostile text in every field that grants nothing.
fn fields(name: &str, bad: &str) -> String {
    let bad = quoted(bad);
    let mut text = format!("---\nname: {name}\ndescription: Every other field.\n");
    for key in ["license", "compatibility", "version", "author", "argument-hint", "model"] {
        text.push_str(&format!("{key}: {bad}\n"));
    }
    text.push_str(&format!("run-mode: {bad}\nmetadata:\n  {bad}: {bad}\n{bad}: x\n---\nBody.\n"));
    text
}

/// A skill with hostile text in the fields that grant.
fn grants(name: &str, bad: &str) -> String {
    let bad = quoted(bad);
    format!(
        "---\nname: {name}\ndescription: Grants.\npaths:\n- {bad}\nallowed-tools:\n- {bad}\n---\nx\n"
    )
}

fn runs(home: &TestHome, color: &str) -> Vec<Output> {
    let evil_root = format!(".agents/skills/{EVIL}");
    let evil_root_below = format!("project/{evil_root}");
    let commands: &[&[&str]] = &[
        &["list"],
        &["list", "--all"],
        &["list", "--all", "--profile", "lenient"],
        &["list", "--root", &evil_root, "--root", SUBTLE],
        &["inspect", "good0"],
        &["inspect", "good1"],
        &["inspect", "fields0", "--profile", "lenient"],
        &["inspect", "fields1", "--profile", "lenient"],
        &["inspect", "grants0", "--profile", "lenient"],
        &["inspect", "grants1", "--profile", "lenient"],
        &["inspect", EVIL],
        &["inspect", "raw"],
        &["search", "shown"],
        &["roots"],
        &["refresh"],
        &["check"],
        &["check", "--diff"],
        &["check", "--profile", "lenient", &evil_root],
        &["check", SUBTLE],
        &["config"],
        &["-C", EVIL, "list"],
        &["new", EVIL, "-d", "x"],
        &["new", "fine", "-d", "x", "--root", &evil_root],
        &["new", "fine", "-d", SUBTLE],
        &["disable", "good0"],
        &["disable", SUBTLE],
        &["enable", "good0"],
        &["delete", "good0"],
        &["delete", "user:good1"],
        &["delete", "--yes", "user:good0"],
        &["restore"],
        &["restore", EVIL],
        &["restore", "good0"],
        &["open", EVIL],
        &["open", "--folder", "good0"],
    ];
    // For `refresh` to have something to tell.
    run(home, &["refresh"]);
    home.skill(&format!("{evil_root_below}/late-{color}"), &format!("late-{color}"), "New.");
    let run = |args: &&[&str]| run(home, &[*args, &["--color", color]].concat());
    commands.iter().map(run).collect()
}

/// The characters that may not reach a terminal, apart from escapes.
fn is_harmful(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\u{1b}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// The escape sequences in `text`, each up to its final letter.
fn escapes(text: &str) -> Vec<&str> {
    let ends = |piece: &str| {
        piece.find(|c: char| c.is_ascii_alphabetic()).map_or(piece.len(), |at| at + 1)
    };
    text.split('\u{1b}').skip(1).map(|piece| &piece[..ends(piece)]).collect()
}

#[test]
fn without_colour_no_escape_and_no_control_character_is_printed() {
    let home = hostile();
    for output in runs(&home, "never") {
        for text in [&output.stdout, &output.stderr] {
            assert!(!text.contains('\u{1b}'), "{output:?}");
            assert!(!text.contains(is_harmful), "{output:?}");
        }
    }
}

#[test]
fn with_colour_only_our_own_escapes_are_printed() {
    let home = hostile();
    let mut seen = 0;
    for output in runs(&home, "always") {
        for text in [&output.stdout, &output.stderr] {
            assert!(!text.contains(is_harmful), "{output:?}");
            for escape in escapes(text) {
                let colour = escape.strip_prefix('[').and_then(|rest| rest.strip_suffix('m'));
                let ours = colour.is_some_and(|code| {
                    code.bytes().all(|b| b.is_ascii_digit() || b == b';') && code != "5;41"
                });
                assert!(ours, "{escape:?} in {output:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "colour was asked for");
}

#[test]
fn a_hostile_path_is_shown_with_its_escapes_spelt_out() {
    let home = TestHome::new();
    home.skill(&format!("project/.agents/skills/{EVIL}"), "good", "Shown.");
    let shown = run(&home, &["inspect", "good"]).stdout;
    assert!(shown.contains(r".agents/skills/\x1b[5;41mA\x1b]0;title\x07B\x1b[2J"), "{shown}");
}

#[test]
fn every_hostile_field_is_shown_with_its_escapes_spelt_out() {
    let home = hostile();
    let shown = run(&home, &["inspect", "fields0"]).stdout;
    for key in ["version", "author", "license", "compatibility", "arguments"] {
        let line = shown.lines().find(|line| line.trim_start().starts_with(key));
        assert!(
            line.is_some_and(|line| line.contains(r"\x1b[5;41mA\x1b]0;title")),
            "{key}: {shown}"
        );
    }
}

#[test]
fn a_hostile_configuration_is_refused_in_plain_text() {
    let home = TestHome::new();
    let key = r"\u001b[5;41mA\u001b]0;title\u0007";
    for text in [
        format!(r#"{{"{key}": 1}}"#),
        format!(r#"{{"profile": "{key}"}}"#),
        format!(r#"{{"skills": {{"{key}": {{"enabled": "{key}"}}}}}}"#),
        format!("{{\"profile\": {EVIL}}}"),
    ] {
        home.write("project/.agent/config.json", text);
        for color in ["never", "always"] {
            let output = run(&home, &["list", "--color", color]);
            assert_eq!(output.code, 1, "{output:?}");
            assert!(!output.stderr.contains(is_harmful), "{output:?}");
            assert!(!output.stderr.contains("\u{1b}[5"), "{output:?}");
            assert!(!output.stderr.contains("\u{1b}]"), "{output:?}");
        }
    }
}

#[test]
fn output_is_plain_where_it_is_no_terminal_and_no_color_is_obeyed() {
    let home = TestHome::new();
    for variables in [&[][..], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "0")], &[("TERM", "dumb")]] {
        let output = TestHome::finish(
            home.command(METIER).envs(variables.iter().copied()).args(["list", "--all"]),
        );
        assert_eq!(output.code, 0);
        assert!(!output.stdout.contains('\u{1b}'), "{output:?}");
        assert!(!output.stderr.contains('\u{1b}'), "{output:?}");
    }
}

#[test]
fn json_is_never_coloured() {
    let home = hostile();
    for args in [&["list", "--json"][..], &["check", "--json"], &["roots", "--json"]] {
        let output = run(&home, &[args, &["--color", "always"]].concat());
        assert!(!output.stdout.contains('\u{1b}'), "{output:?}");
        output.json();
    }
}
