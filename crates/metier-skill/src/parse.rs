//! The entry points: [`parse()`] judges the frontmatter of a `SKILL.md`, [`check()`] the whole file.
//!
//! Both are total: any bytes give an answer, in time and memory bounded by the limits. The law that
//! every caller relies on: there is a skill exactly when no diagnostic is an error.

use std::ops::Range;

use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity};
use crate::digest::Digest;
use crate::fence::{self, Complete, Fence};
use crate::fields;
use crate::hidden;
use crate::limits::{Limits, Profile};
use crate::plain;
use crate::repair::{self, Finding};
use crate::skill::{KNOWN_FIELDS, Skill};
use crate::source_map::{Characters, characters};
use crate::text_edit::TextEdit;
use crate::yaml::{Node, NodeKind, YamlError};

/// How to collector a skill.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParseOptions<'a> {
    /// Which faults keep a skill out.
    pub profile: Profile,
    /// Bounds on what is read.
    pub limits: Limits,
    /// The name of the skill's directory, which its name should equal.
    pub directory: Option<&'a str>,
}

/// What was found in a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The skill; `None` exactly when a diagnostic is an error.
    pub skill: Option<Skill>,
    /// Everything worth saying, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// The digest of the text between the fences, as read.
    pub digest: Digest,
    /// Where the body starts; `None` without a closed frontmatter.
    pub body: Option<usize>,
}

impl Parsed {
    /// The first error: why the skill stays out.
    pub fn reason(&self) -> Option<&Diagnostic> {
        self.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Collects diagnostics under a profile, with spans shifted from the YAML text to the file.
pub(crate) struct DiagnosticCollector<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: usize,
    pub(crate) options: &'a ParseOptions<'a>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl DiagnosticCollector<'_> {
    /// Reports `code` at `span` of the YAML text, if the profile cares.
    pub(crate) fn report(&mut self, code: Code, span: &Range<usize>, message: impl Into<Box<str>>) {
        if let Some(severity) = code.severity(self.options.profile) {
            self.report_as(code, severity, span, message);
        }
    }

    /// Reports `code` with a severity that the setting, not the profile, decides.
    pub(crate) fn report_as(
        &mut self,
        code: Code,
        severity: Severity,
        span: &Range<usize>,
        message: impl Into<Box<str>>,
    ) {
        let span = span.start + self.offset..span.end + self.offset;
        self.diagnostics.push(Diagnostic::at(code, severity, self.bytes, span, message));
    }

    /// Attaches the edit that fixes the last reported diagnostic.
    pub(crate) fn fix_last(&mut self, code: Code, span: &Range<usize>, replacement: &str) {
        let offset = self.offset;
        if let Some(last) = self.diagnostics.last_mut().filter(|last| last.code == code) {
            let range = span.start + offset..span.end + offset;
            last.fix = Some(Box::new(TextEdit { range, replacement: replacement.into() }));
        }
    }

    fn finding(&mut self, finding: &Finding) {
        self.report(finding.code, &finding.span, finding.message.as_str());
        if let Some(replacement) = &finding.replacement {
            self.fix_last(finding.code, &finding.span, replacement);
        }
    }

    fn has_error(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Judges the frontmatter of a `SKILL.md`, given the file's first bytes: all of it, or at least as
/// much as [`fence::find`] needs to answer.
pub fn parse(bytes: &[u8], options: &ParseOptions<'_>) -> Parsed {
    parse_found(bytes, Fence::Open, options)
}

/// As [`parse()`], for a reader that looked for the fences while it read: `found` is what it found
/// in these bytes.
pub fn parse_found(bytes: &[u8], found: Fence, options: &ParseOptions<'_>) -> Parsed {
    let mut collector = DiagnosticCollector { bytes, offset: 0, options, diagnostics: Vec::new() };
    let limit = options.limits.frontmatter_bytes;
    // At the limit the bytes are a cut, not an end: `---` there may be the start of another line.
    let complete = if bytes.len() >= limit { Complete::No } else { Complete::Yes };
    let found = if found == Fence::Open { fence::find(bytes, complete) } else { found };
    let found = match found {
        Fence::Closed(found) if found.yaml.end <= limit => found,
        Fence::Closed(_) => return stay_out(collector, too_large(limit)),
        Fence::Open if bytes.len() >= limit => return stay_out(collector, too_large(limit)),
        Fence::Open => {
            let message = "the frontmatter starts here, but no `---` line closes it";
            return stay_out(collector, (Code::FrontmatterUnclosed, 0..3, message.to_owned()));
        }
        Fence::Absent => {
            let fault = absent(bytes);
            return stay_out(collector, fault);
        }
    };
    let digest = Digest::of(&bytes[found.yaml.clone()]);
    let bom = fence::bom_len(bytes);
    if bom > 0 {
        collector.report(Code::FileBom, &(0..bom), "the file starts with a byte order mark");
        collector.fix_last(Code::FileBom, &(0..bom), "");
    }
    collector.offset = found.yaml.start;
    let skill = match readable_text(&bytes[found.yaml.clone()]) {
        Ok((yaml, characters)) => read_fields(yaml, characters, &mut collector),
        Err((code, span, message)) => {
            collector.report(code, &span, message);
            None
        }
    };
    collector.diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.code));
    let skill = if collector.has_error() { None } else { skill };
    Parsed { skill, diagnostics: collector.diagnostics, digest, body: Some(found.body) }
}

type Fault = (Code, Range<usize>, String);

fn stay_out(mut collector: DiagnosticCollector<'_>, (code, span, message): Fault) -> Parsed {
    collector.report_as(code, Severity::Error, &span, message);
    Parsed { skill: None, diagnostics: collector.diagnostics, digest: Digest::of(b""), body: None }
}

fn too_large(limit: usize) -> Fault {
    (Code::FrontmatterTooLarge, 0..3, format!("the frontmatter is not closed within {limit} bytes"))
}

fn absent(bytes: &[u8]) -> Fault {
    if bytes.is_empty() {
        return (Code::FileEmpty, 0..0, "the file is empty".to_owned());
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return (Code::FileNotUtf8, 0..2, "the file looks like UTF-16, not UTF-8".to_owned());
    }
    let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()).min(200);
    (Code::FrontmatterMissing, 0..end, "the first line is not `---`".to_owned())
}

/// The frontmatter as text, free of what parsers disagree on, and what it is made of.
fn readable_text(bytes: &[u8]) -> Result<(&str, Characters), Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        (Code::FileNotUtf8, at..at + 1, "these bytes are not UTF-8".to_owned())
    })?;
    let characters = characters(text);
    if characters != Characters::Any {
        return Ok((text, characters));
    }
    let mut chars = text.char_indices().peekable();
    while let Some((at, ch)) = chars.next() {
        let span = at..at + ch.len_utf8();
        match ch {
            '\n' | '\t' => {}
            '\r' if chars.peek().is_some_and(|(_, next)| *next == '\n') => {}
            '\r' => {
                let message = "there is a carriage return here without a line feed";
                return Err((Code::LoneCarriageReturn, span, message.to_owned()));
            }
            '\u{2028}' | '\u{2029}' => {
                let message =
                    format!("only some readers treat U+{:04X} as a line break", u32::from(ch));
                return Err((Code::ControlCharacter, span, message));
            }
            _ if ch.is_control() => {
                let message = format!("there is a control character here: U+{:04X}", u32::from(ch));
                return Err((Code::ControlCharacter, span, message));
            }
            _ => {}
        }
    }
    Ok((text, characters))
}

fn read_fields(
    yaml: &str,
    characters: Characters,
    collector: &mut DiagnosticCollector<'_>,
) -> Option<Skill> {
    check_lines(yaml, collector);
    let entries = match node_tree(yaml, characters) {
        Ok((entries, findings)) => {
            for finding in &findings {
                collector.finding(finding);
            }
            entries
        }
        Err(error) => {
            collector.report(error.code, &error.span, error.message);
            return None;
        }
    };
    let inner_fence = memchr::memchr_iter(b'-', yaml.as_bytes())
        .find(|at| yaml.as_bytes()[*at..].starts_with(b"---"));
    if let Some(at) = inner_fence {
        collector.report(Code::FrontmatterInnerFence, &(at..at + 3), "a value contains `---`");
    }
    fields::read(yaml, characters, &entries, collector)
}

type Entries<'a> = Vec<(Node<'a>, Node<'a>)>;

fn node_tree(text: &str, characters: Characters) -> Result<(Entries<'_>, Vec<Finding>), YamlError> {
    let is_visible = characters != Characters::Any;
    if is_visible && let Some(NodeKind::Map(entries)) = plain::parse_visible(text).map(|it| it.kind)
    {
        return Ok((entries, Vec::new()));
    }
    match repair::read_tree(text).map(|(node, findings)| (node.kind, findings)) {
        Ok((NodeKind::Map(entries), findings)) => Ok((entries, findings)),
        Ok(_) => Ok((Vec::new(), Vec::new())),
        Err(error) => repair::recover(text, error).map(|found| (found.entries, found.findings)),
    }
}

/// The limits on lines. A long line is fine as the value of a field that Metier knows.
fn check_lines(yaml: &str, collector: &mut DiagnosticCollector<'_>) {
    let limits = collector.options.limits;
    let mut start = 0;
    let mut lines = 0;
    let mut longest = 0;
    for end in memchr::memchr_iter(b'\n', yaml.as_bytes()) {
        longest = longest.max(end - start);
        lines += 1;
        start = end + 1;
    }
    if lines <= limits.frontmatter_lines
        && longest.max(yaml.len() - start) < limits.frontmatter_line_chars
    {
        return;
    }
    let mut known = false;
    let mut at = 0;
    let mut long_reported = false;
    for (count, line) in yaml.split_inclusive('\n').enumerate() {
        if count == limits.frontmatter_lines {
            let message = format!("the frontmatter has more than {count} lines");
            collector.report(
                Code::FrontmatterTooManyLines,
                &(at..at + line.trim_end().len()),
                message,
            );
        }
        if !line.starts_with([' ', '\t', '-', '#', '\n', '\r']) {
            let key = line.split(':').next().unwrap_or_default().trim();
            known = KNOWN_FIELDS.contains(&key.trim_matches(['"', '\'']));
        }
        let max = limits.frontmatter_line_chars;
        if line.len() > max && !known && !long_reported && line.chars().count() > max {
            let message = format!("this line of an unknown field has more than {max} characters");
            collector.report(
                Code::FrontmatterLineTooLong,
                &(at..at + line.trim_end().len()),
                message,
            );
            long_reported = true;
        }
        at += line.len();
    }
}

/// Judges a whole `SKILL.md`: the frontmatter, and the body that [`parse()`] never looks at.
pub fn check(bytes: &[u8], options: &ParseOptions<'_>) -> Parsed {
    let mut parsed = parse(bytes, options);
    let Some(start) = parsed.body else {
        return parsed;
    };
    let mut collector =
        DiagnosticCollector { bytes, offset: start, options, diagnostics: Vec::new() };
    let body = String::from_utf8_lossy(&bytes[start..]);
    if body.trim().is_empty() {
        collector.report(Code::BodyEmpty, &(0..0), "there is no text after the frontmatter");
    }
    // The first that is passed; a loader leaves something out either way.
    let sizes = [
        (body.lines().count(), options.limits.body_lines, "lines"),
        (body.chars().count(), options.limits.body_chars, "characters"),
    ];
    if let Some((size, max, what)) = sizes.into_iter().find(|(size, max, _)| size > max) {
        let message = format!("the body has {size} {what}; keep it to {max} or fewer");
        collector.report(Code::BodyTooLong, &(0..0), message);
    }
    if let std::borrow::Cow::Borrowed(text) = body {
        for run in hidden::find_hidden(text).into_iter().take(20) {
            collector.report(
                Code::HiddenTextElsewhere,
                &run.range,
                fields::hidden_message("the body", &run),
            );
        }
    } else {
        // Discovery never reads the body, so this cannot keep the skill out of the index.
        collector.report_as(Code::FileNotUtf8, Severity::Warning, &(0..0), "the body is not UTF-8");
    }
    parsed.diagnostics.append(&mut collector.diagnostics);
    if parsed.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        parsed.skill = None;
    }
    parsed
}
