//! What is dangerous only together, in one file: a source of secrets and a way out; a request for secrets and the
//! order to keep quiet about it.

use std::sync::LazyLock;

use regex::Regex;

use crate::addresses::has_dubious_address;
use crate::report::ScanFinding;

/// Code that sends something over the network.
static SENDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"(?i)(?-u:\b)curl(?-u:\b)[^\n]{0,200}(?:\s-d(?-u:\b)|\s-F(?-u:\b)|\s-T(?-u:\b)|--data|--upload-file|-X\s*(?:POST|PUT))|(?-u:\b)(?:requests|httpx|session)\.(?:post|put)\s*\(|(?-u:\b)urlopen\s*\(|(?-u:\b)fetch\s*\(|(?-u:\b)axios(?-u:\b)|(?-u:\b)https?\.request\s*\(|(?-u:\b)dns\.(?:resolve|lookup)|(?-u:\b)socket\.connect|\.connect\s*\(\s*\(|(?-u:\b)nc\s+\S+\s+\d+|(?-u:\b)URLSession(?-u:\b)";
    Regex::new(pattern).ok()
});
/// Lines around a request for secrets in which an order to conceal it counts.
const NEAR_LINES: usize = 6;
/// Characters of an address in numbers with a port behind it.
const NUMBER_CHARS: usize = 24;

/// Where code that sends something begins.
pub(crate) fn sends_at(text: &str) -> Option<usize> {
    SENDS.as_ref()?.find(text).map(|hit| hit.start())
}

/// Whether the findings of one executed file are a way for secrets to leave, and if so, whether to an address that
/// only someone with something to hide uses.
pub(crate) fn secrets_leave(found: &[ScanFinding], text: &str) -> Option<bool> {
    let has = |code: &str| found.iter().any(|finding| finding.rule == code);
    let has_source = has("reads-credentials") || has("sweeps-environment");
    (has_source && sends_at(text).is_some())
        .then(|| has("drop-address") || has("sweeps-environment") || has_public_number(text))
}

fn has_public_number(text: &str) -> bool {
    // Plain `http` alone is too common in code to say anything.
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let host = &rest[at + 3..];
        // The number and what ends it, and not the rest of a line that may be the whole file.
        let number: String = host.chars().take(NUMBER_CHARS).collect();
        if host.starts_with(|ch: char| ch.is_ascii_digit())
            && has_dubious_address(&format!("http://{number}"))
        {
            return true;
        }
        rest = host;
    }
    false
}

/// The rule that makes a finding of this one high where it stands near by: what asks for secrets and is to be concealed.
pub(crate) fn raised_beside(code: &str) -> Option<&'static str> {
    match code {
        "asks-for-secrets" => Some("conceals"),
        "conceals" => Some("asks-for-secrets"),
        _ => None,
    }
}

/// Whether one of these lines, which are sorted, is near `line`.
pub(crate) fn is_near(lines: &[usize], line: usize) -> bool {
    let first = lines.partition_point(|other| *other + NEAR_LINES < line);
    lines.get(first).is_some_and(|other| *other <= line + NEAR_LINES)
}
