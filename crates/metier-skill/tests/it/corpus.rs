//! Every `SKILL.md` of the corpus is a skill or has a coded reason, in the shares the house promises.
//!
//! It prints the table of codes and counts (`cargo test -- --nocapture`).

use std::collections::BTreeMap;

use metier_skill::{Code, ParseOptions, Parsed, Profile, Severity, parse};
use metier_testkit::{CorpusText, corpus_skills, corpus_texts};

/// All texts: the messy collections and the whole folders.
fn texts() -> Option<Vec<CorpusText>> {
    let mut texts = corpus_texts()?;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let skills = corpus_skills(dir.path())?;
    for entry in std::fs::read_dir(&skills).expect("skills") {
        let file = entry.expect("entry").path().join("SKILL.md");
        let bytes = std::fs::read(&file).expect("every corpus folder has a SKILL.md");
        texts.push(CorpusText { path: file.to_string_lossy().into_owned(), bytes });
    }
    Some(texts)
}

fn judge(text: &CorpusText, profile: Profile) -> Parsed {
    let directory = text.path.rsplit('/').nth(1);
    parse(&text.bytes, &ParseOptions { profile, directory, ..ParseOptions::default() })
}

/// Whether a person finds a name and a description in the text: the yardstick for "in any readable
/// form". It is deliberately cruder than the parser.
fn carries_name_and_description(text: &CorpusText) -> bool {
    let text = String::from_utf8_lossy(&text.bytes);
    let Some(rest) = text.trim_start_matches('\u{feff}').strip_prefix("---") else {
        return false;
    };
    let Some(end) = rest.find("\n---") else {
        return false;
    };
    let head = &rest[..end];
    let has = |key: &str| {
        head.lines().enumerate().any(|(at, line)| {
            line.strip_prefix(key).is_some_and(|value| {
                let value = value.trim();
                let block =
                    matches!(value, "" | "|" | ">" | "|-" | ">-" | "|+" | ">+" | "\"" | "'");
                let next = head.lines().nth(at + 1).unwrap_or_default();
                let null = matches!(value, "\"\"" | "''" | "~" | "null");
                !null && (!block || (next.starts_with([' ', '\t']) && !next.trim().is_empty()))
            })
        })
    };
    has("name:") && has("description:")
}

#[test]
fn no_text_is_lost_without_a_coded_reason() {
    let Some(texts) = texts() else { return };
    let mut table: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for profile in [Profile::Strict, Profile::Lenient] {
        let (mut readable, mut indexed, mut excused) = (0usize, 0usize, 0usize);
        let mut lost = Vec::new();
        for text in &texts {
            let parsed = judge(text, profile);
            assert_eq!(parsed.skill.is_none(), parsed.reason().is_some(), "{}", text.path);
            for diagnostic in &parsed.diagnostics {
                let row =
                    (profile.as_str(), diagnostic.severity.as_str(), diagnostic.code.as_str());
                *table.entry(row).or_default() += 1;
            }
            if !carries_name_and_description(text) {
                continue;
            }
            readable += 1;
            match parsed.reason() {
                None => indexed += 1,
                Some(reason) if is_stated_reason(reason.code) => excused += 1,
                Some(reason) => {
                    lost.push(format!("{} {}: {}", reason.code, text.path, reason.message));
                }
            }
        }
        let share = indexed as f64 / readable as f64;
        let default_share = indexed as f64 / (readable - excused) as f64;
        println!(
            "{profile}: {} texts, {readable} carry name and description, {indexed} indexed ({:.2} %), {excused} kept out for brackets, length or hidden text ({:.2} % of the others indexed)",
            texts.len(),
            share * 100.0,
            default_share * 100.0,
        );
        for line in &lost {
            println!("  lost: {line}");
        }
        match profile {
            Profile::Lenient => assert!(share >= 0.995, "lenient indexes {share}"),
            _ => assert!(default_share >= 0.99, "strict indexes {default_share}"),
        }
    }
    println!("\n| profile | severity | code | count |\n|---|---|---|---|");
    for ((profile, severity, code), count) in table {
        println!("| {profile} | {severity} | {code} | {count} |");
    }
}

fn is_stated_reason(code: Code) -> bool {
    matches!(
        code,
        Code::AngleBrackets
            | Code::HiddenText
            | Code::DescriptionOverLimit
            | Code::FrontmatterLineTooLong
            | Code::FrontmatterTooManyLines
            | Code::FrontmatterTooLarge
    )
}

#[test]
fn the_fast_path_gives_what_the_full_parser_gives_over_the_whole_corpus() {
    let Some(texts) = texts() else { return };
    let mut fast = 0usize;
    let mut all = 0usize;
    for text in &texts {
        match metier_skill::yaml::agreement(&text.bytes) {
            metier_skill::yaml::Agreement::Same => {
                fast += 1;
                all += 1;
            }
            metier_skill::yaml::Agreement::FullOnly => all += 1,
            metier_skill::yaml::Agreement::NoFrontmatter => {}
            metier_skill::yaml::Agreement::Different { fast, full } => {
                panic!("{}: fast {fast} full {full}", text.path)
            }
        }
    }
    println!("fast path: {fast} of {all} ({:.1} %)", fast as f64 * 100.0 / all as f64);
    assert!(fast * 10 > all * 8, "the fast path should serve most skills: {fast} of {all}");
}

#[test]
fn fixes_of_the_corpus_leave_valid_files() {
    let Some(texts) = texts() else { return };
    let mut fixed = 0usize;
    for text in &texts {
        let parsed = judge(text, Profile::Strict);
        let edits: Vec<_> =
            parsed.diagnostics.iter().filter_map(|d| d.fix.as_deref().cloned()).collect();
        if edits.is_empty() {
            continue;
        }
        let bytes = metier_skill::apply_edits(&text.bytes, &edits);
        let again = judge(&CorpusText { path: text.path.clone(), bytes }, Profile::Strict);
        assert!(
            again.diagnostics.iter().all(|d| d.fix.is_none()),
            "{}: a second fix is needed",
            text.path
        );
        let errors = |parsed: &Parsed| {
            parsed.diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
        };
        assert!(errors(&again) <= errors(&parsed), "{}", text.path);
        if let (Some(before), Some(after)) = (&parsed.skill, &again.skill) {
            assert_eq!(before.name, after.name, "{}", text.path);
            assert_eq!(before.description, after.description, "{}", text.path);
        }
        fixed += 1;
    }
    println!("{fixed} texts fixed");
}
