//! Laws that hold for any bytes: total, deterministic, bounded, and a skill exactly without errors.
//!
//! The same laws hold for the fuzz target `frontmatter`.

use metier_skill::{ParseOptions, Profile, Severity, check, parse};
use proptest::prelude::*;

fn assert_lawful(bytes: &[u8]) {
    for profile in [Profile::Strict, Profile::Lenient, Profile::Spec] {
        let options =
            ParseOptions { profile, directory: Some("some-skill"), ..ParseOptions::default() };
        for parsed in [parse(bytes, &options), check(bytes, &options)] {
            let has_error = parsed.diagnostics.iter().any(|d| d.severity == Severity::Error);
            assert_eq!(parsed.skill.is_none(), has_error, "{profile} {parsed:?}");
            for diagnostic in &parsed.diagnostics {
                assert!(diagnostic.span.start <= diagnostic.span.end);
                assert!(diagnostic.span.end as usize <= bytes.len(), "{diagnostic:?}");
                if let Some(fix) = &diagnostic.fix {
                    assert!(fix.range.end <= bytes.len());
                }
            }
            if let Some(skill) = &parsed.skill {
                assert!(!skill.name.as_str().is_empty());
                let shown = [skill.name.as_str(), &skill.description];
                if profile != Profile::Spec {
                    assert!(shown.iter().all(|text| !text.contains(['<', '>'])), "{shown:?}");
                    assert!(
                        shown.iter().all(|text| metier_skill::hidden::find_hidden(text).is_empty())
                    );
                }
            }
        }
        assert_eq!(parse(bytes, &options), parse(bytes, &options));
    }
}

proptest! {
    #[test]
    fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        assert_lawful(&bytes);
    }

    #[test]
    fn any_frontmatter_gets_an_answer(
        lines in proptest::collection::vec(
            "(name|description|allowed-tools|metadata|paths|user-invocable|x)?:? ?[\\PC\u{200b}\u{e0041}\u{202e}]{0,20}", 0..10),
        ending in "(\n|\r\n)",
    ) {
        let text = format!("---{ending}{}{ending}---{ending}body", lines.join(&ending));
        assert_lawful(text.as_bytes());
    }
}

/// Time is bounded by the 64 KiB limit: none of these may take noticeable time or memory.
#[test]
fn attacks_end_in_a_diagnostic() {
    let in_frontmatter =
        |yaml: &str| format!("---\nname: a\ndescription: b\n{yaml}\n---\n").into_bytes();
    let anchors: String =
        (0..60).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n.max(1) - 1)).collect();
    for bytes in [
        in_frontmatter(&anchors),
        in_frontmatter(&format!("x: {}", "[".repeat(60_000))),
        in_frontmatter(&format!("x: {}", "{a: ".repeat(15_000))),
        in_frontmatter(&"- ".repeat(30_000)),
        in_frontmatter(&"? ".repeat(30_000)),
        in_frontmatter(&format!("x: {}", "a".repeat(70_000))),
        in_frontmatter("x: 1\n...\nname: c"),
        in_frontmatter("x: !!python/object/apply:os.system [id]"),
        in_frontmatter("x: a\0b"),
        in_frontmatter("x: a\u{85}name: evil"),
        in_frontmatter("name: again"),
        in_frontmatter(&"k: v\n".repeat(300)),
        b"---\nname: \"a\\x1b[2J\"\ndescription: b\n---\n".to_vec(),
        "---\nname: a\ndescription: \"\u{e0049}\u{e0067}\u{e006e}ore\"\n---\n".as_bytes().to_vec(),
        b"---\n\xff\xfe\n---\n".to_vec(),
        b"---\nname: a\rdescription: b\n---\n".to_vec(),
    ] {
        assert_lawful(&bytes);
        let parsed = parse(&bytes, &ParseOptions::default());
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        assert!(parsed.reason().is_some(), "{shown:?} was accepted");
    }
}

/// A reader stops at the limit. Three dashes there are the start of a longer line, not a fence: taken
/// for one, they would hide the controls below them.
#[test]
fn dashes_at_the_cut_close_nothing() {
    let limit = ParseOptions::default().limits.frontmatter_bytes;
    let mut text = "---\nname: a\ndescription: b\n".to_owned();
    text.push_str(&format!("#{}\n", "x".repeat(limit - 3 - text.len() - 2)));
    assert_eq!(text.len(), limit - 3);
    text.push_str("---x: y\nallowed-tools: Read\ndisable-model-invocation: true\n---\n");
    for bytes in [&text.as_bytes()[..limit], text.as_bytes()] {
        let parsed = parse(bytes, &ParseOptions::default());
        assert_eq!(
            parsed.reason().map(|it| it.code),
            Some(metier_skill::Code::FrontmatterTooLarge)
        );
    }
}
