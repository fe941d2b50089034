//! One skill, file by file.
//!
//! Files come one at a time, so a large skill is never in memory as a whole. What is not text is not inspected and
//! counts against the coverage: partial is reported, never silently clean.

use std::sync::LazyLock;

use memchr::memchr;
use metier_skill::{ParseOptions, ToolMeaning, parse, tool_meaning};
use regex::Regex;

use crate::addresses::has_dubious_address;
use crate::encoded::encoded_commands;
use crate::flows;
use crate::hidden_text::hidden_places;
use crate::listed_findings::ListedFindings;
use crate::places::{FileKind, Lines, PlaceKind};
use crate::readings::{Readings, says_utf16};
use crate::report::{FindingReport, FoundAt, NotInspected, ScanFinding};
use crate::rules::{FindingSeverity, Reads, SECRET_RULE, ScanRule, rule, rules};
use crate::secrets::shown_secret;
use crate::split_words::split_words;
use crate::words::NeededWords;

/// Bytes of one file that are inspected.
pub const MAX_INSPECTED: usize = 4 << 20;

/// Endings of compiled programs.
const COMPILED: &[&str] = &[
    "exe", "dll", "so", "dylib", "pyc", "pyo", "class", "jar", "wasm", "node", "o", "a", "bin",
    "msi", "dmg", "apk",
];
/// Endings of archives.
const ARCHIVES: &[&str] =
    &["zip", "tar", "gz", "tgz", "bz2", "xz", "7z", "rar", "zst", "whl", "skill"];
/// First bytes of compiled programs: ELF, PE, Mach-O, Java.
const COMPILED_MARKS: &[&[u8]] =
    &[b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm"];

/// Makes the patterns, which takes tens of milliseconds. Without it the first file does, and every other thread waits for
/// it: for a caller that has something else to do meanwhile.
pub fn prepare() {
    const ANY_TEXT: &[u8] = b"#!/bin/sh\n\\x\n";
    let _ = InspectedFile::new("any.sh", ANY_TEXT, ANY_TEXT.len() as u64);
}

struct Patterns {
    rules: Vec<(&'static ScanRule, Regex)>,
    words: NeededWords,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    let with_pattern = rules().iter().filter(|rule| !rule.pattern.is_empty());
    let rules: Vec<(&'static ScanRule, Regex)> = with_pattern
        .map(|rule| Some((rule, Regex::new(&fast_pattern(rule.pattern)).ok()?)))
        .collect::<Option<_>>()?;
    let words = NeededWords::new(rules.iter().map(|(rule, _)| rule.needs))?;
    Some(Patterns { rules, words })
});

/// What one file gives, before it is known where in a skill it lies. Made of the bytes as they pass by, on any
/// thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InspectedFile {
    size: u64,
    inspected: u64,
    findings: Vec<ScanFinding>,
    /// Those of low and medium weight that are not listed.
    findings_left_out: usize,
    not_inspected: Option<(u64, &'static str)>,
    /// Whether it may be a program.
    is_program: bool,
    /// Whether a `SKILL.md` lists tools and none of them reaches the network.
    declares_no_network: bool,
    /// The first place in a script that uses the network.
    uses_network: Option<ScanFinding>,
}

impl InspectedFile {
    /// Inspects a file of `size` bytes that begins with `head`; of more than [`MAX_INSPECTED`] bytes the rest counts
    /// as not inspected. Only the name in `path` matters here.
    pub fn new(path: &str, head: &[u8], size: u64) -> Self {
        let mut file = Self { size, ..Self::default() };
        let head = &head[..head.len().min(MAX_INSPECTED)];
        let start = if head.starts_with(b"#!") { "#!" } else { "" };
        let kind = FileKind::of(path, start);
        file.is_program = FileKind::is_program(path, start);
        // A shell and a model pass over a zero byte. What has one and is meant for neither is no text: a picture would be
        // looked through byte by byte.
        let is_script = file.is_program && kind == FileKind::Executed;
        let is_meant = is_script || kind == FileKind::Prose;
        if !is_meant && !says_utf16(head) && memchr(0, head).is_some() {
            return file.not_text(path, head);
        }
        // One byte of an older encoding makes no interpreter stop.
        let readings = Readings::of(head);
        let text = &*readings.first;
        let is_readable = is_meant || readings.is_text || !readings.has_zeros;
        if !readings.is_text && (opaque(path, head).is_some() || !is_readable) {
            return file.not_text(path, head);
        }
        file.inspected = head.len() as u64;
        if file.inspected < size {
            file.not_inspected = Some((size - file.inspected, "it is too large"));
        }
        if file_name(path) == "SKILL.md" {
            file.declares_no_network = declares_no_network(text.as_bytes());
        }
        file.text(path, text, kind);
        if let Some(other) = &readings.other {
            file.add_reading(path, other, kind);
        }
        if let (Some((at, number)), Some(rule)) = (readings.zeros, rule("hidden-text")) {
            let evidence = format!("{number} zero {}", if number == 1 { "byte" } else { "bytes" });
            let weight = FindingSeverity::Medium;
            file.findings.push(ScanFinding::new(rule, weight, &at, &evidence, None));
        }
        file
    }

    /// Adds what another program may read in the same bytes, where the first reading does not have it.
    fn add_reading(&mut self, path: &str, text: &str, kind: FileKind) {
        let mut other = Self::default();
        other.text(path, text, kind);
        let is_known = |finding: &ScanFinding| {
            let is_it = |it: &ScanFinding| {
                (it.rule, it.line) == (finding.rule, finding.line)
                    && it.severity >= finding.severity
            };
            self.findings.iter().any(is_it)
        };
        let new: Vec<_> = other.findings.into_iter().filter(|it| !is_known(it)).collect();
        self.findings.extend(new);
        self.findings_left_out = self.findings_left_out.max(other.findings_left_out);
        self.uses_network = self.uses_network.take().or(other.uses_network);
    }

    fn text(&mut self, path: &str, text: &str, kind: FileKind) {
        let lines = Lines::new(text);
        let mut found = ListedFindings::new(&lines);
        matched(&lines, kind, &mut found);
        for hidden in hidden_places(text) {
            // Markup and blank space mean nothing in code, except where they are meant to be read.
            let is_prose_only = hidden.rule == "hidden-instruction";
            if is_prose_only && !kind.is_read() {
                continue;
            }
            let decoded = hidden.decoded.as_deref();
            found.add((hidden.rule, hidden.severity), hidden.at, (&hidden.evidence, decoded));
        }
        // Nothing decodes what stands in prose and data by itself.
        let is_code = kind.is_executed() && !is_data(path);
        let encoded_weight = if is_code { FindingSeverity::High } else { FindingSeverity::Medium };
        // The evidence is the line: a second one in it says nothing more, and a line may be the whole file.
        for encoded in first_of_each_line(&lines, encoded_commands(text), |it| it.at) {
            let evidence = (lines.line(encoded.at), Some(encoded.decoded.as_str()));
            found.add(("encoded-command", encoded_weight), encoded.at, evidence);
        }
        if kind.is_executed() {
            // A comment explains.
            let is_code = |at: usize| !lines.line(at).trim_start().starts_with(['*', '#', '/']);
            let words = first_of_each_line(&lines, split_words(text), |(at, _)| *at);
            for (at, word) in words.into_iter().filter(|(at, _)| is_code(*at)) {
                found.add(("split-word", FindingSeverity::High), at, (lines.line(at), Some(&word)));
            }
        }
        (self.findings, self.findings_left_out) = found.finish();
        if !kind.is_executed() {
            return;
        }
        let Some(at) = flows::sends_at(text) else { return };
        if let Some(to_dubious) = flows::secrets_leave(&self.findings, text) {
            let severity = if to_dubious { FindingSeverity::High } else { FindingSeverity::Medium };
            let weight = ("secrets-leave", severity);
            self.findings.extend(lines.finding(weight, at, (lines.line(at), None)));
        }
        let weight = ("undeclared-network", FindingSeverity::Low);
        self.uses_network = lines.finding(weight, at, (lines.line(at), None));
    }

    fn not_text(mut self, path: &str, head: &[u8]) -> Self {
        let name = file_name(path);
        let (code, reason) =
            opaque(path, head).map_or((None, "it is not text"), |(code, why)| (Some(code), why));
        self.not_inspected = Some((self.size, reason));
        if let Some(rule) = code.and_then(rule) {
            let at = FoundAt { line: 0, column: 0 };
            let evidence = format!("{name}, {} bytes", self.size);
            self.findings.push(ScanFinding::new(rule, rule.severity, &at, &evidence, None));
        }
        self
    }
}

/// Those of `found`, which stand in their order, that are the first in their line.
fn first_of_each_line<T>(lines: &Lines<'_>, mut found: Vec<T>, at: impl Fn(&T) -> usize) -> Vec<T> {
    found.dedup_by_key(|it| lines.number(at(it)));
    found
}

/// The rule about a file that holds what no one can read as text, and why.
fn opaque(path: &str, head: &[u8]) -> Option<(&'static str, &'static str)> {
    let name = file_name(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let ending = ending.as_deref().unwrap_or_default();
    let is_compiled =
        COMPILED.contains(&ending) || COMPILED_MARKS.iter().any(|mark| head.starts_with(mark));
    if is_compiled {
        return Some(("opaque-code", "it is a compiled program"));
    }
    let is_archive = ARCHIVES.contains(&ending) || head.starts_with(b"PK\x03\x04");
    is_archive.then_some(("nested-archive", "it is an archive"))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A pattern whose word boundaries are those of ASCII. A Unicode boundary makes the matcher give up its fast way
/// at the first character that is not ASCII, which most prose has: a scan took twenty times as long.
fn fast_pattern(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)")
}

/// Scans one skill.
#[derive(Debug, Default)]
pub struct Scanner {
    report: FindingReport,
    /// Whether `SKILL.md` lists tools and none of them reaches the network.
    declares_no_network: bool,
    /// The first place in a script that uses the network.
    uses_network: Option<ScanFinding>,
}

impl Scanner {
    /// A scan with no file yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inspects one file; `path` is below the skill, with `/` between names.
    pub fn file(&mut self, path: &str, bytes: &[u8]) {
        self.add(path, InspectedFile::new(path, bytes, bytes.len() as u64));
    }

    /// Adds a file that was inspected; `path` is below the skill, with `/` between names.
    pub fn add(&mut self, path: &str, file: InspectedFile) {
        let coverage = &mut self.report.coverage;
        coverage.files += 1;
        coverage.bytes += file.size;
        coverage.inspected_bytes += file.inspected;
        coverage.findings_left_out += file.findings_left_out;
        if let Some((bytes, reason)) = file.not_inspected {
            self.not_inspected(path, (bytes, reason), file.is_program);
        }
        if path == "SKILL.md" {
            self.declares_no_network = file.declares_no_network;
        }
        let placed = |finding: ScanFinding| finding.in_file(path);
        self.uses_network = self.uses_network.take().or(file.uses_network.map(placed));
        self.report.findings.extend(file.findings.into_iter().map(placed));
    }

    /// Counts something that was not read against the coverage; `path` is empty for the skill as a whole.
    pub fn unread(&mut self, path: &str, bytes: u64, reason: &'static str) {
        self.report.coverage.bytes += bytes;
        self.not_inspected(path, (bytes, reason), FileKind::is_program(path, ""));
    }

    fn not_inspected(
        &mut self,
        path: &str,
        (bytes, reason): (u64, &'static str),
        is_program: bool,
    ) {
        let file = path.to_owned();
        let unread = NotInspected { file, bytes, reason, is_program };
        self.report.coverage.not_inspected.push(unread);
    }

    /// What was found.
    pub fn finish(mut self) -> FindingReport {
        if self.declares_no_network {
            self.report.findings.extend(self.uses_network);
        }
        self.report.findings.sort_by(|a, b| {
            (&a.file, a.line, a.column, a.rule).cmp(&(&b.file, b.line, b.column, b.rule))
        });
        self.report.coverage.not_inspected.sort_by(|a, b| a.file.cmp(&b.file));
        self.report
    }
}

/// The findings of the table in one file, the heaviest one of each rule in a line: what else is in the line is shown with
/// it.
fn matched(lines: &Lines<'_>, kind: FileKind, found: &mut ListedFindings<'_>) {
    let Some(patterns) = PATTERNS.as_ref() else { return };
    let has = patterns.words.of(lines.text);
    let number_of = |code| patterns.rules.iter().position(|(rule, _)| rule.code == code);
    for (number, (rule, pattern)) in patterns.rules.iter().enumerate() {
        if !has.all_of(number) {
            continue;
        }
        let hits = pattern.find_iter(lines.text).filter_map(|hit| {
            // A pattern may begin with the blanks or the end of the line before.
            let at = hit.start() + (hit.as_str().len() - hit.as_str().trim_start().len());
            Some((at, weighed(rule, (lines, at, kind), hit.as_str())?, hit.as_str()))
        });
        if rule.code == SECRET_RULE {
            for (at, severity, text) in hits {
                let Some(shown) = shown_secret(text) else { continue };
                found.add((rule.code, severity), at, (&shown, None));
            }
            continue;
        }
        let beside = flows::raised_beside(rule.code).and_then(number_of);
        let beside: Vec<usize> = beside.filter(|it| has.all_of(*it)).map_or_else(Vec::new, |it| {
            let (rule, pattern) = &patterns.rules[it];
            let counts = |at| weighed(rule, (lines, at, kind), "").is_some();
            let places = pattern.find_iter(lines.text).map(|hit| hit.start());
            places.filter(|at| counts(*at)).map(|at| lines.number(at)).collect()
        });
        let mut add = |(line, at, severity): (usize, usize, FindingSeverity)| {
            let is_raised = flows::is_near(&beside, line);
            let severity = if is_raised { FindingSeverity::High } else { severity };
            found.add((rule.code, severity), at, (lines.line(at), None));
        };
        let mut heaviest: Option<(usize, usize, FindingSeverity)> = None;
        for (at, severity, _) in hits {
            let line = lines.number(at);
            heaviest = match heaviest {
                Some((same, before, weight)) if same == line => {
                    let is_heavier = severity > weight;
                    Some(if is_heavier { (line, at, severity) } else { (line, before, weight) })
                }
                other => {
                    other.into_iter().for_each(&mut add);
                    Some((line, at, severity))
                }
            };
        }
        heaviest.into_iter().for_each(add);
    }
}

/// What a match weighs at its place; nothing where it does not count.
fn weighed(
    rule: &ScanRule,
    (lines, at, kind): (&Lines<'_>, usize, FileKind),
    matched: &str,
) -> Option<FindingSeverity> {
    let kinds: &[FileKind] = match kind {
        FileKind::Prose => &[FileKind::Prose],
        FileKind::Executed => &[FileKind::Executed],
        FileKind::Unknown => &[FileKind::Prose, FileKind::Executed],
    };
    let weights = kinds.iter().filter_map(|kind| weighed_in(rule, lines.place(at, *kind), matched));
    weights.max()
}

fn weighed_in(rule: &ScanRule, place: PlaceKind, matched: &str) -> Option<FindingSeverity> {
    // A rule about sentences is only mentioned in code, one about code only in sentences.
    let is_meant = match place {
        PlaceKind::Sentence => rule.reads != Reads::Executed,
        PlaceKind::Executed => rule.reads != Reads::Prose,
        PlaceKind::Quotation => false,
    };
    let severity = if is_meant { rule.severity } else { rule.mentioned? };
    let is_raised =
        rule.raised_by_address && place != PlaceKind::Quotation && has_dubious_address(matched);
    Some(if is_raised { FindingSeverity::High } else { severity })
}

/// Whether a file holds data, by its name.
fn is_data(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(ending.as_deref(), Some("json" | "jsonl" | "yaml" | "yml" | "toml" | "csv" | "xml"))
}

/// Whether a `SKILL.md` lists the tools that it uses, and no tool among them reaches the network.
fn declares_no_network(text: &[u8]) -> bool {
    let Some(skill) = parse(text, &ParseOptions::default()).skill else { return false };
    let Some(tools) = &skill.controls.allowed_tools else { return false };
    let reaches_network = |tool: &str| {
        let name = tool.split('(').next().unwrap_or(tool);
        let meaning = tool_meaning(name);
        // A tool that is not known may do anything.
        meaning.is_none_or(|meaning| {
            matches!(
                meaning,
                ToolMeaning::Shell | ToolMeaning::NetworkRequest | ToolMeaning::ScriptNetwork
            )
        })
    };
    !tools.iter().any(|tool| reaches_network(tool))
}
