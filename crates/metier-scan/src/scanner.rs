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
use crate::places::{FileKind, Lines, PlaceKind};
use crate::report::{FindingReport, FoundAt, NotInspected, ScanFinding};
use crate::rules::{FindingSeverity, Reads, SECRET_RULE, ScanRule, rule, rules};
use crate::secrets::shown_secret;
use crate::split_words::split_words;
use crate::words::NeededWords;

/// Bytes of one file that are inspected.
pub const MAX_INSPECTED: usize = 4 << 20;
/// Findings of one rule in one file; the rest would say the same.
const MAX_PER_RULE: usize = 20;

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
    not_inspected: Option<(u64, &'static str)>,
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
        let text = match std::str::from_utf8(head) {
            Ok(text) => text,
            // A character that the limit cuts in two.
            Err(error) if head.len() - error.valid_up_to() < 4 && size > head.len() as u64 => {
                std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return file.not_text(path, head),
        };
        if memchr(0, text.as_bytes()).is_some() {
            return file.not_text(path, head);
        }
        file.inspected = text.len() as u64;
        if file.inspected < size {
            file.not_inspected = Some((size - file.inspected, "it is too large"));
        }
        if file_name(path) == "SKILL.md" {
            file.declares_no_network = declares_no_network(text.as_bytes());
        }
        file.text(path, text);
        file
    }

    fn text(&mut self, path: &str, text: &str) {
        let kind = FileKind::of(path, text);
        let lines = Lines::new(text, kind);
        let mut found = matched(&lines);
        for hidden in hidden_places(text) {
            // Markup and blank space mean nothing in code, except where they are meant to be read.
            let is_prose_only = hidden.rule == "hidden-instruction";
            if is_prose_only && kind == FileKind::Executed {
                continue;
            }
            let decoded = hidden.decoded.as_deref();
            let weight = (hidden.rule, hidden.severity);
            found.extend(finding(&lines, weight, hidden.at, (&hidden.evidence, decoded)));
        }
        // Nothing decodes what stands in prose and data by itself.
        let encoded_weight = match kind {
            FileKind::Executed if !is_data(path) => FindingSeverity::High,
            _ => FindingSeverity::Medium,
        };
        for encoded in encoded_commands(text) {
            let weight = ("encoded-command", encoded_weight);
            let evidence = (lines.line(encoded.at), Some(encoded.decoded.as_str()));
            found.extend(finding(&lines, weight, encoded.at, evidence));
        }
        if kind == FileKind::Executed {
            // A comment explains.
            let is_code = |at: usize| !lines.line(at).trim_start().starts_with(['*', '#', '/']);
            for (at, word) in split_words(text).into_iter().filter(|(at, _)| is_code(*at)) {
                let weight = ("split-word", FindingSeverity::High);
                found.extend(finding(&lines, weight, at, (lines.line(at), Some(&word))));
            }
            if let Some(at) = flows::sends_at(text) {
                if let Some(to_dubious) = flows::secrets_leave(&found, text) {
                    let severity =
                        if to_dubious { FindingSeverity::High } else { FindingSeverity::Medium };
                    let weight = ("secrets-leave", severity);
                    found.extend(finding(&lines, weight, at, (lines.line(at), None)));
                }
                let weight = ("undeclared-network", FindingSeverity::Low);
                self.uses_network = finding(&lines, weight, at, (lines.line(at), None));
            }
        }
        flows::raise_concealed(&mut found);
        self.findings = found;
    }

    fn not_text(mut self, path: &str, head: &[u8]) -> Self {
        let name = file_name(path);
        let ending = name
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase())
            .unwrap_or_default();
        let is_compiled = COMPILED.contains(&ending.as_str())
            || COMPILED_MARKS.iter().any(|mark| head.starts_with(mark));
        let is_archive = ARCHIVES.contains(&ending.as_str()) || head.starts_with(b"PK\x03\x04");
        let (code, reason) = match (is_compiled, is_archive) {
            (true, _) => (Some("opaque-code"), "it is a compiled program"),
            (_, true) => (Some("nested-archive"), "it is an archive"),
            _ => (None, "it is not text"),
        };
        self.not_inspected = Some((self.size, reason));
        if let Some(rule) = code.and_then(rule) {
            let at = FoundAt { line: 0, column: 0 };
            let evidence = format!("{name}, {} bytes", self.size);
            self.findings.push(ScanFinding::new(rule, rule.severity, &at, &evidence, None));
        }
        self
    }
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
        if let Some((bytes, reason)) = file.not_inspected {
            self.not_inspected(path, bytes, reason);
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
        self.not_inspected(path, bytes, reason);
    }

    fn not_inspected(&mut self, path: &str, bytes: u64, reason: &'static str) {
        let file = path.to_owned();
        self.report.coverage.not_inspected.push(NotInspected { file, bytes, reason });
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

/// The findings of the table in one file.
fn matched(lines: &Lines<'_>) -> Vec<ScanFinding> {
    let Some(patterns) = PATTERNS.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    let has = patterns.words.of(lines.text);
    for (number, (rule, pattern)) in patterns.rules.iter().enumerate() {
        if !has.all_of(number) {
            continue;
        }
        let hits = pattern.find_iter(lines.text).filter_map(|hit| {
            // A pattern may begin with the blanks or the end of the line before.
            let at = hit.start() + (hit.as_str().len() - hit.as_str().trim_start().len());
            let severity = weighed(rule, lines.place(at), hit.as_str())?;
            if rule.code == SECRET_RULE {
                let shown = shown_secret(hit.as_str())?;
                return finding(lines, (rule.code, severity), at, (&shown, None));
            }
            finding(lines, (rule.code, severity), at, (lines.line(at), None))
        });
        found.extend(hits.take(MAX_PER_RULE));
    }
    found
}

/// What a match weighs at its place; nothing where it does not count.
fn weighed(rule: &ScanRule, place: PlaceKind, matched: &str) -> Option<FindingSeverity> {
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

fn finding(
    lines: &Lines<'_>,
    (code, severity): (&'static str, FindingSeverity),
    at: usize,
    (evidence, decoded): (&str, Option<&str>),
) -> Option<ScanFinding> {
    let place = FoundAt { line: lines.number(at) + 1, column: lines.column(at) };
    Some(ScanFinding::new(rule(code)?, severity, &place, evidence, decoded))
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
