//! Every call of Metier's API that the targets make, with what must hold about the answer.
//!
//! When an API changes, this is the file to adapt; the targets and the seeds stay.

use std::path::{Path, PathBuf};

use metier_config::{Scope, set_skill_enabled};
use metier_loader::{
    BodyLimits, MemoryFiles, Part, ResourceLimits, ResourceQuery, invoke::fill, load_body,
    load_resource,
};
use metier_model::{Action, Decision, Early, EarlyEvent, parse_text, plan};
use metier_registry::{Root, Scan, ScanOptions, scan};
use metier_skill::{Limits, ParseOptions, Parsed, Profile, Severity, Source, check, parse};

/// Judges `bytes` as a `SKILL.md` in every profile.
pub fn parse_frontmatter(bytes: &[u8]) {
    if let metier_skill::yaml::Agreement::Different { fast, full } =
        metier_skill::yaml::agreement(bytes)
    {
        panic!("the fast path disagrees: {fast} against {full}");
    }
    for profile in [Profile::Strict, Profile::Lenient, Profile::Spec] {
        let options =
            ParseOptions { profile, limits: Limits::default(), directory: Some("pdf-tools") };
        let parsed = parse(bytes, &options);
        assert_holds(&parsed, bytes);
        assert!(parsed == parse(bytes, &options), "the same bytes gave two answers");
        assert_holds(&check(bytes, &options), bytes);
    }
}

fn assert_holds(parsed: &Parsed, bytes: &[u8]) {
    let has_error = parsed.diagnostics.iter().any(|it| it.severity == Severity::Error);
    assert_eq!(parsed.skill.is_none(), has_error, "no skill exactly when there is an error");
    for diagnostic in &parsed.diagnostics {
        let (start, end) = (diagnostic.span.start as usize, diagnostic.span.end as usize);
        assert!(start <= end && end <= bytes.len(), "a span outside the file: {diagnostic:?}");
        assert!(!diagnostic.message.is_empty(), "a diagnostic without a message: {diagnostic:?}");
    }
    assert!(parsed.body.is_none_or(|start| start <= bytes.len()), "a body outside the file");
}

/// Scans `root` in two profiles and gives every path that the answers mention.
pub fn scan_tree(root: &Path) -> Vec<PathBuf> {
    let strict = scan_with(root, Profile::Strict);
    let again = scan_with(root, Profile::Strict);
    assert_eq!(strict.index.hash(), again.index.hash(), "one tree gave two hashes");
    scan_with(root, Profile::Lenient);
    accounted(&strict)
}

fn scan_with(root: &Path, profile: Profile) -> Scan {
    let root = Root {
        source: Source::Explicit,
        path: root.to_owned(),
        plugin: None,
        required: true,
        absent: false,
    };
    let options = ScanOptions { profile, builtin: false, ..ScanOptions::default() };
    let scan = scan(&[root], &options);
    let report = &scan.report;
    assert_eq!(report.found, report.valid + report.ignored.len(), "found = valid + ignored");
    scan
}

/// The directories of skills that are listed, shadowed, copies, ignored or not walked.
fn accounted(scan: &Scan) -> Vec<PathBuf> {
    let listed = scan.index.directories();
    let left_out = scan.report.ignored.iter().chain(&scan.report.notes).map(|it| it.path.as_path());
    listed.chain(left_out).map(Path::to_owned).collect()
}

/// Reads `bytes` as everything that a skill and its user bring: a body and its sections, a path,
/// arguments, a configuration. The first line is the path and the arguments.
pub fn read_skill(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let skill = format!("---\nname: a\ndescription: b\n---\n{rest}");
    let files = MemoryFiles(vec![("SKILL.md".to_owned(), skill.into_bytes())]);
    let limits = BodyLimits { lines: 40, chars: 2_000, ..BodyLimits::default() };
    if let Ok(loaded) = load_body(&files, &limits) {
        assert!(metier_skill::hidden::find_hidden(&loaded.text).is_empty(), "hidden text is left");
        for omitted in &loaded.report.omitted {
            let part = match &omitted.load {
                Part::Section(heading) => {
                    ResourceQuery { section: Some(heading), ..ResourceQuery::default() }
                }
                Part::Lines(lines) => ResourceQuery {
                    lines: Some(lines.parse().expect("lines")),
                    ..ResourceQuery::default()
                },
            };
            let read = load_resource(&files, "SKILL.md", &part, &ResourceLimits::default());
            let read = read.expect("what is left out can be read");
            assert!(read.report.section_not_found.is_none(), "{omitted:?} is not found");
        }
    }
    let query = ResourceQuery { section: Some(line), ..ResourceQuery::default() };
    let _ = load_resource(&files, "SKILL.md", &query, &ResourceLimits::default());
    let _ = load_resource(&files, line, &ResourceQuery::default(), &ResourceLimits::default());
    assert_eq!(fill("<$ARGUMENTS>", line, None), format!("<{}>", line.trim()));
    fill(rest, line, Some(line));
    if let Ok(edited) = set_skill_enabled(rest, "config.json", Scope::User, "user:pdf", false) {
        let again = set_skill_enabled(&edited, "config.json", Scope::User, "user:pdf", false);
        assert_eq!(again.as_deref(), Ok(edited.as_str()), "a second edit changed something");
    }
}

/// Reads `bytes` as a model's reply, whole and in pieces of every small size.
pub fn read_reply(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let events = early_events([text]);
    for size in [1, 2, 3, 7] {
        let chars: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = chars.chunks(size).map(|piece| piece.iter().collect()).collect();
        let cut = early_events(pieces.iter().map(String::as_str));
        assert_eq!(cut, events, "pieces of {size} gave other events");
    }
    let Ok(decision) = parse_text(text) else { return };
    let written = serde_json::to_string(&decision).expect("a decision is JSON");
    assert_eq!(parse_text(&written).as_ref(), Ok(&decision), "written and read again: {written}");
    // A reply that is JSON in a JSON string is taken, but nothing of it is shown early.
    if !text.trim_start().starts_with('"') {
        assert_eq!(events, shown(&decision), "what was shown is not what was decided");
    }
    if let Ok(Some(next)) = plan::apply(decision.plan.as_ref(), &decision) {
        assert!(next.steps.len() <= plan::MAX_STEPS, "a plan over the limit");
    }
}

/// The events of a text in these pieces, with neighbouring texts as one.
fn early_events<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<EarlyEvent> {
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

fn shown(decision: &Decision) -> Vec<EarlyEvent> {
    let (kind, target) = (decision.action.kind(), decision.action.target());
    let mut events = vec![EarlyEvent::ActionKnown { kind, target }];
    if let Action::FinalAnswer { text, .. } = &decision.action
        && !text.is_empty()
    {
        events.push(EarlyEvent::AnswerText(text.clone()));
    }
    events
}
