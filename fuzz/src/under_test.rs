//! Every call of Metier's API that the targets make, with what must hold about the answer.
//!
//! When an API changes, this is the file to adapt; the targets and the seeds stay.

use std::path::{Path, PathBuf};

use metier_config::{Scope, Settings, set_skill_enabled};
use metier_loader::{
    BodyLimits, Invocation, MemoryFiles, NextPart, Part, ResourceLimits, ResourceQuery, invoke,
    invoke::fill, load_body, load_resource,
};
use metier_model::{Action, Decision, Early, EarlyEvent, parse_text, plan};
use metier_pack::{PackLimits, fetched_names, fetched_urls, inspect_archive, recorded_source};
use metier_policy::{
    AbsolutePath, AnswerMemory, Effect, Permission, PlacedRule, Policy, PolicyPlaces, Request,
    RequestContext, Rule, RuleLayer, RuleSource, Subject, UnixTime, parse_command_line,
};
use metier_registry::{Root, Scan, ScanOptions, scan};
use metier_sign::{
    FileHash, OmsBundle, PublicKey, SidecarKind, SidecarSignature, SignerTrust, SigningKey,
    TrustedKeys, parse_public_keys,
};
use metier_skill::{
    Limits, ParseOptions, Parsed, PathFault, Profile, RelPath, Severity, Source, WorkPath, check,
    parse,
};

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

/// Reads `bytes` as what a server sends about a source, and as what a person types. What they name stays
/// below, and a source is recorded as it would be read again.
pub fn read_fetched(bytes: &[u8]) {
    for name in fetched_names(bytes) {
        assert!(WorkPath::new(&name).is_ok(), "a file that would be written elsewhere: {name:?}");
    }
    for url in fetched_urls(bytes) {
        assert!(!url.contains("/../"), "a URL that climbs: {url:?}");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(recorded) = recorded_source(text) {
        assert_eq!(recorded_source(&recorded).as_deref(), Some(recorded.as_str()), "from {text:?}");
    }
}

/// Reads `bytes` as an archive. What it accepts is within the limits, and its names stay below.
pub fn read_archive(bytes: &[u8]) {
    // Small, so that a bomb shows as an error here and not as a process that is killed.
    let limits = PackLimits {
        entries: 200,
        file_bytes: 1 << 20,
        total_bytes: 4 << 20,
        ..PackLimits::default()
    };
    let read = || inspect_archive(bytes, &limits).map_err(|error| error.code());
    let Ok(files) = read() else { return };
    assert_eq!(read(), Ok(files.clone()), "the same bytes gave two answers");
    assert!(files.iter().map(|file| file.size).sum::<u64>() <= limits.total_bytes);
    let mut names: Vec<String> = files.iter().map(|file| file.path.to_lowercase()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), files.len(), "two names that are one somewhere");
    for file in &files {
        assert_below(&file.path);
    }
}

/// Reads `bytes` as everything about signatures that a source or a person brings. Without a key that is trusted no
/// signature is by a signer whom we know, and one of this text is of no other text.
pub fn read_signature(bytes: &[u8]) {
    let no_keys = TrustedKeys::default();
    for kind in SidecarKind::ALL {
        let Ok(signature) = SidecarSignature::parse(kind, bytes) else { continue };
        assert_eq!(SidecarSignature::parse(kind, bytes), Ok(signature.clone()), "two answers");
        let check = |text: &[u8]| {
            let hash = FileHash::of_reader(signature.hash_kind(), text).expect("memory is read");
            signature.check(&hash, &no_keys, None)
        };
        let (one, other) = (check(b"signed\n"), check(b"other\n"));
        for signer in one.iter().chain(&other) {
            assert_eq!(signer.trust, SignerTrust::Unknown, "no key is trusted");
        }
        assert!(one.is_err() || other.is_err(), "one signature of two texts");
    }
    if let Ok(bundle) = OmsBundle::parse(bytes) {
        let checked = bundle.check(std::iter::empty(), |_| true, &no_keys);
        assert!(checked.is_err(), "a bundle is accepted without a key");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for named in parse_public_keys(text).unwrap_or_default() {
        let again = PublicKey::from_text(named.key.kind(), &named.key.to_text());
        assert_eq!(again.map(|key| key.id()), Ok(named.key.id()), "a key is read as itself");
    }
    if let Ok(keys) = TrustedKeys::parse(text) {
        assert_eq!(TrustedKeys::parse(&keys.to_text()), Ok(keys), "keys are read as themselves");
    }
    // Without a password: hashing one is slow on purpose.
    let Ok(key) = SigningKey::open(text, || None) else { return };
    let hash = FileHash::of_reader(key.hash_kind(), bytes).expect("memory is read");
    if let Ok(signed) = key.sign(&hash, "a comment") {
        let signature = SidecarSignature::parse(key.kind(), signed.as_bytes()).expect("is read");
        let mut keys = TrustedKeys::default();
        keys.add(key.public(), None).expect("the first one");
        let signer = signature.check(&hash, &keys, None).expect("is ours");
        assert_eq!(signer.trust, SignerTrust::Trusted);
    }
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
        foreign: None,
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

/// Reads `bytes` as everything that a skill and its user bring: a body and its parts, a path and
/// arguments. The first line is the path, the section and the arguments.
pub fn read_skill(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let skill = format!("---\nname: a\ndescription: b\n---\n{rest}");
    let parsed = parse(skill.as_bytes(), &ParseOptions::default()).skill.expect("a skill");
    let files = MemoryFiles(vec![("SKILL.md".to_owned(), skill.into_bytes())]);
    let limits = BodyLimits { lines: 40, chars: 2_000, ..BodyLimits::default() };
    if let Ok(loaded) = load_body(&files, &limits) {
        assert_open(&loaded.text);
        for omitted in &loaded.report.omitted {
            assert_open(&omitted.heading);
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
            assert_open(&read.text);
            assert!(read.report.section_not_found.is_none(), "{omitted:?} is not found");
        }
    }
    if let Ok(called) = invoke(&files, &parsed, line, &limits) {
        assert_open(&called.text);
    }
    read_pages(&files, line);
    let _ = load_resource(&files, line, &ResourceQuery::default(), &ResourceLimits::default());
    if let Some(called) = Invocation::parse(line) {
        assert!(line.contains(called.name) && line.contains(called.arguments));
    }
    assert_eq!(fill("<$ARGUMENTS>", line, None), format!("<{}>", line.trim()));
    fill(rest, line, Some(line));
}

/// The first pages of the file and of a section of it: none hides anything, and each makes progress.
fn read_pages(files: &MemoryFiles, section: &str) {
    let limits = ResourceLimits { excerpt_chars: 1 + section.len() % 64, ..Default::default() };
    for section in [None, Some(section)] {
        let mut query = ResourceQuery { section, ..ResourceQuery::default() };
        let mut last = (0, 0);
        for _ in 0..8 {
            let Ok(page) = load_resource(files, "SKILL.md", &query, &limits) else { break };
            assert_open(&page.text);
            for heading in &page.report.headings {
                assert_open(heading);
            }
            match page.report.next {
                None => break,
                Some(NextPart::SkipChars(skip)) => query.skip_chars = skip,
                Some(NextPart::Lines(lines)) => {
                    query.lines = Some(lines.parse().expect("lines"));
                    query.skip_chars = 0;
                }
            }
            let at = (query.lines.map_or(0, |lines| lines.first), query.skip_chars);
            assert!(at > last, "a page makes no progress: {at:?} after {last:?}");
            last = at;
        }
    }
}

/// Nothing hides in a text that stands in a prompt between other lines.
fn assert_open(text: &str) {
    let hidden = metier_skill::hidden::find_hidden(&format!("x\n{text}\n"));
    assert!(hidden.is_empty(), "hidden text is left: {hidden:?}");
}

/// Reads `bytes` as a configuration of each scope, and edits it.
pub fn read_config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read = |scope| metier_config::parse(text, "config.json", scope);
    for scope in [Scope::Managed, Scope::User, Scope::Project] {
        let Err(errors) = read(scope) else { continue };
        assert!(!errors.is_empty(), "refused without a reason");
        for error in errors {
            let lines = text.matches(['\n', '\r']).count() + 1;
            assert!((1..=lines).contains(&error.line), "an error outside the text: {error}");
            for said in [&error.message, &error.help, &error.key_path] {
                assert!(!said.contains(char::is_control), "{said:?}");
                assert_open(said);
            }
            assert!(!error.message.is_empty() && !error.help.is_empty(), "{error:?}");
        }
    }
    if let Ok(project) = read(Scope::Project) {
        let (with, without) = (Settings::merge(None, Some(&project)), Settings::default());
        let loosened = with.run_limits.turns > without.run_limits.turns
            || with.run_limits.tool_calls > without.run_limits.tool_calls
            || with.run_limits.script_runs > without.run_limits.script_runs
            || with.execution.timeout > without.execution.timeout
            || with.execution.min_tier < without.execution.min_tier
            || with.body_limits.chars > without.body_limits.chars
            || with.walk.max_entries > without.walk.max_entries
            || with.model.base_url.is_some()
            || with.model.key_env.is_some()
            || with.model.key_command.is_some()
            || !with.trusted_keys.is_empty();
        assert!(!loosened, "a project loosened a guard: {with:?}");
    }
    for scope in [Scope::User, Scope::Project] {
        let switch = |text: &str| set_skill_enabled(text, "config.json", scope, "user:pdf", false);
        let Ok(edited) = switch(text) else { continue };
        assert_eq!(switch(&edited).as_deref(), Ok(edited.as_str()), "a second edit changed more");
        let read = metier_config::parse(&edited, "config.json", scope).expect("an edit is valid");
        let settings = match scope {
            Scope::Project => Settings::merge(None, Some(&read)),
            _ => Settings::merge(Some(&read), None),
        };
        assert!(!settings.is_skill_enabled("user:pdf"), "{edited}");
    }
}

/// Reads `bytes` as rules, one a line (`effect permission pattern`), and the last line as a command,
/// a path, a host and a text that they are asked about.
pub fn judge(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (rules, asked) = text.rsplit_once('\n').unwrap_or(("", text));
    let parsed = parse_command_line(asked);
    if let Ok(argv) = &parsed {
        // Written as a shell has to read it, it is the same words; and it was not read as fewer.
        let quote = |word: &String| format!("'{word}'");
        let written: Vec<String> = argv.words().iter().map(quote).collect();
        if !asked.contains('\'') && !argv.words()[0].contains('=') {
            let again = parse_command_line(&written.join(" "));
            assert_eq!(again.as_ref(), Ok(argv), "{asked:?}");
        }
    }
    let rules: Vec<PlacedRule> = rules.lines().enumerate().filter_map(rule).collect();
    let layer = |source, rules: &[PlacedRule]| RuleLayer::new(source, "rules", rules.to_vec());
    let Ok(project) = layer(RuleSource::Project, &rules) else { return };
    let user = layer(RuleSource::User, &rules).expect("the same rules in another layer");
    let at = |path| AbsolutePath::new(path).expect("a path");
    let places = || PolicyPlaces::new(at("/home/me/p")).with_home(at("/home/me"));
    let plain = Policy::new(places());
    let tightened = Policy::new(places()).with_layer(project.clone());
    let granted = Policy::new(places()).with_layer(user.clone());
    let both = Policy::new(places()).with_layer(project).with_layer(user);
    let memory = AnswerMemory::default();
    let context = RequestContext { loaded: &[], memory: &memory, now: UnixTime(0) };
    let subjects = [
        (Permission::RunCommand, parsed.ok().map(Subject::Command)),
        (Permission::WriteFile, Subject::path(asked).ok()),
        (Permission::NetworkRequest, Subject::host(asked).ok()),
        (Permission::ReadFile, Subject::path(&format!("/home/me/{asked}")).ok()),
    ];
    for (permission, subject) in subjects {
        let Some(subject) = subject else { continue };
        let request = Request::new(permission, vec![subject]);
        let decide = |policy: &Policy| {
            let decision = policy.decide(&request, &context);
            let explained = policy.explain(&request, &context);
            assert_eq!(decision.effect, explained.effect, "explaining decides otherwise");
            for sentence in explained.sentences() {
                assert!(!sentence.contains(char::is_control), "{sentence:?}");
                assert_open(&sentence);
            }
            decision.effect
        };
        let strictest = |one: Effect, other: Effect| one.strictest(other);
        let (plain, granted) = (decide(&plain), decide(&granted));
        let tightened = decide(&tightened);
        assert_eq!(strictest(tightened, plain), tightened, "a project widened: {request:?}");
        let both = decide(&both);
        assert_eq!(strictest(both, granted), both, "a project widened: {request:?}");
    }
}

fn rule((at, line): (usize, &str)) -> Option<PlacedRule> {
    let mut words = line.splitn(3, ' ');
    let effect = match words.next()? {
        "allow" => Effect::Allow,
        "ask" => Effect::Ask,
        _ => Effect::Deny,
    };
    let (permission, pattern) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some(PlacedRule { rule: Rule { permission, pattern, effect }, line: Some(at + 1) })
}

/// Reads each line of `bytes` as a path in a skill and in a workspace.
pub fn check_paths(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for line in text.split('\n') {
        let within = RelPath::new(line);
        let below = WorkPath::new(line);
        if let Ok(path) = &within {
            assert_below(path.as_str());
            assert!(path.names().all(|name| !name.starts_with('.')), "{line:?}");
            assert_eq!(RelPath::new(path.as_str()).as_ref(), Ok(path));
            assert_eq!(below.as_ref().map(WorkPath::as_str), Ok(path.as_str()), "{line:?}");
        }
        let Ok(path) = below else { continue };
        assert_eq!(WorkPath::new(path.as_str()).as_ref(), Ok(&path));
        if path.is_root() {
            continue;
        }
        assert_below(path.as_str());
        if path.names().any(|name| opened(name) == ".git") {
            assert_eq!(path.check_change(), Err(PathFault::Guarded), "{line:?}");
        }
    }
}

/// A name as the file systems compare it that ignore case and some characters (HFS+ ignores these).
fn opened(name: &str) -> String {
    let ignored = |ch: &char| {
        matches!(ch, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}')
            || *ch == '\u{feff}'
    };
    name.chars().filter(|ch| !ignored(ch)).flat_map(char::to_lowercase).collect()
}

/// A checked path stays below what it is joined to, on every system that we know of.
fn assert_below(path: &str) {
    use std::path::Component;
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    assert!(Path::new(path).components().all(normal), "{path:?}");
    assert!(!path.contains(['\\', ':', '\0']) && !path.contains(char::is_control), "{path:?}");
    for name in path.split('/') {
        assert!(!name.is_empty() && name != "." && name != "..", "{path:?}");
        assert_open(name);
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
