//! What is known of a reply while it streams.
//! Whatever the pieces, the whole must say the same as the parser.

use metier_model::{Action, Decision, Early, EarlyEvent, parse_text};
use proptest::prelude::*;

use crate::any;

/// The events of a text in these pieces, with neighbouring texts as one.
fn events<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<EarlyEvent> {
    let mut early = Early::new();
    let mut all: Vec<EarlyEvent> = Vec::new();
    for event in pieces.into_iter().flat_map(|piece| early.push(piece)) {
        match (all.last_mut(), event) {
            (Some(EarlyEvent::AnswerText(before)), EarlyEvent::AnswerText(more)) => {
                before.push_str(&more);
            }
            (_, event) => all.push(event),
        }
    }
    all
}

fn by_char(text: &str) -> Vec<&str> {
    text.split("").filter(|piece| !piece.is_empty()).collect()
}

/// What has to be known of a decision.
fn expected(decision: &Decision) -> Vec<EarlyEvent> {
    let (kind, target) = (decision.action.kind(), decision.action.target());
    let mut events = vec![EarlyEvent::ActionKnown { kind, target }];
    if let Action::FinalAnswer { text, .. } = &decision.action
        && !text.is_empty()
    {
        events.push(EarlyEvent::AnswerText(text.clone()));
    }
    events
}

/// The event comes with this piece, and not before.
fn comes_with(pieces: &[&str], last: &str, kind: &'static str, target: &str) {
    let mut early = Early::new();
    for piece in pieces {
        assert_eq!(early.push(piece), [], "{piece}");
    }
    let target = target.to_owned();
    assert_eq!(early.push(last), [EarlyEvent::ActionKnown { kind, target }]);
}

#[test]
fn the_action_is_known_as_soon_as_its_target_is_complete() {
    comes_with(
        &[
            r#"{"plan":null,"action":{"type":"select_skills","skills":[{"name":"pdf"},{"na"#,
            r#"me":"xlsx""#,
            "}",
        ],
        "]",
        "select_skills",
        "pdf, xlsx",
    );
    comes_with(
        &[
            r#"{"action":{"relative_path":"a/b.md","skill":{"source":"user","name":"pdf"},"#,
            r#""type":"load_resource"#,
        ],
        "\"",
        "load_resource",
        "user:pdf/a/b.md",
    );
    comes_with(
        &[
            "```json\n{ \"action\" : { \"type\" : \"run_script\", \"skill\": \"pdf\", \"relative_path\": \"x.py",
        ],
        "\",",
        "run_script",
        "pdf/x.py",
    );
    comes_with(
        &[
            r#"Let me {see}: {"action":{"args":{"type":"x","tool":"y"},"type":"call_tool","tool":"read_file"#,
        ],
        "\"",
        "call_tool",
        "read_file",
    );
    comes_with(&[r#"{"action":{"query":"q","type":"search_skills"#], "\"", "search_skills", "q");
    comes_with(&[r#"{"action":{"type":"final_answer"#], "\"", "final_answer", "");
}

#[test]
fn the_answer_is_shown_as_it_grows_and_escapes_may_be_cut_anywhere() {
    let mut early = Early::new();
    early.push(r#"{"action":{"type":"final_answer","text":""#);
    let mut push = |piece: &str| match early.push(piece).as_slice() {
        [] => String::new(),
        [EarlyEvent::AnswerText(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(push("One"), "One");
    assert_eq!(push(r"\"), "");
    assert_eq!(push("n"), "\n");
    assert_eq!(push(r"two \ud83"), "two ");
    assert_eq!(push(r"d\u"), "");
    assert_eq!(push("de00 \\\"x"), "😀 \"x");
    assert_eq!(push("\", \"data\": \"no answer\"}}"), "");
    assert_eq!(push(r#"{"action":{"type":"final_answer","text":"again"}}"#), "");
}

#[test]
fn the_text_waits_for_the_type() {
    let text = r#"{"action":{"text":"early","data":null,"type":"final_answer"}}"#;
    let decision = parse_text(text).expect("a decision");
    assert_eq!(events(by_char(text)), expected(&decision));
    assert_eq!(events([r#"{"action":{"text":"no answer","type":"search_skills""#]), []);
}

#[test]
fn only_the_action_of_the_decision_counts() {
    for text in [
        r#"{"plan":{"action":{"type":"final_answer","text":"x"}}"#,
        r#"{"type":"final_answer","text":"x"}"#,
        r#"{"action":{"type":"guess","text":"x"}}"#,
        "no JSON at all",
        "{}",
        "",
    ] {
        assert_eq!(events([text]), [], "{text}");
    }
}

#[test]
fn what_is_no_json_makes_it_silent() {
    let start = r#"{"action":{"type":"final_answer","text":"a"#;
    for (wrong, shown) in [(r"\x", "a"), (r"\ud800x", "a"), ("\n", "a"), (r"\udc00", "a")] {
        let all = events([start, wrong, "more"]);
        assert_eq!(all.last(), Some(&EarlyEvent::AnswerText(shown.to_owned())), "{wrong}");
    }
}

#[test]
fn a_retry_starts_anew() {
    let mut early = Early::new();
    early.push(r#"{"action":{"type":"final_answer","text":"half"#);
    early.reset();
    let target = "q".to_owned();
    let known = EarlyEvent::ActionKnown { kind: "search_skills", target };
    assert_eq!(early.push(r#"{"action":{"type":"search_skills","query":"q"}}"#), [known]);
}

#[test]
fn a_flood_is_not_kept() {
    let mut early = Early::new();
    early.push(r#"{"action":{"type":"final_answer","text":""#);
    let shown: usize = (0..1_000)
        .flat_map(|_| early.push(&"x".repeat(1_024)))
        .map(|event| if let EarlyEvent::AnswerText(text) = event { text.len() } else { 0 })
        .sum();
    assert!(shown <= 256 * 1024, "{shown}");
    assert_eq!(events(["[".repeat(200_000).as_str()]), []);
    assert_eq!(events([format!("{{\"a\":{}", "[".repeat(200_000)).as_str()]), []);
}

proptest! {
    #[test]
    fn a_whole_reply_has_the_events_of_its_decision_however_it_is_cut(
        decision in any::decision(),
        size in 1_usize..9,
        fence in any::<bool>(),
    ) {
        let json = serde_json::to_string(&decision).expect("JSON");
        let text = if fence { format!("Well, {{so}}:\n```json\n{json}\n```") } else { json };
        prop_assert_eq!(parse_text(&text), Ok(decision.clone()));
        let chars: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = chars.chunks(size).map(|piece| piece.iter().collect()).collect();
        prop_assert_eq!(events(pieces.iter().map(String::as_str)), expected(&decision));
        prop_assert_eq!(events([text.as_str()]), expected(&decision));
    }

    #[test]
    fn any_text_has_the_same_events_however_it_is_cut(
        text in r#"(\{"action":\{)?("type":"final_answer",)?("text":")?[ \[\]{}":,\\a-u0-9]{0,40}"#
    ) {
        prop_assert_eq!(events(by_char(&text)), events([text.as_str()]));
    }
}
