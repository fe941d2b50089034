//! Diagnostics and findings as SARIF 2.1.0, which code hosts and editors read.
//!
//! Rules come from the tables of codes; columns count characters, as ours do.

use metier::scan::{FindingSeverity, ScanFinding, rules};
use metier::skill::{Code, Diagnostic, Severity};
use serde_json::{Value, json};

/// One run with `findings`: a file (relative to the working directory where possible) and what was
/// found in it.
pub(crate) fn document<'a>(findings: impl Iterator<Item = (&'a str, &'a Diagnostic)>) -> Value {
    let mut used: Vec<Code> = Vec::new();
    let mut results = Vec::new();
    for (file, diagnostic) in findings {
        let rule = used.iter().position(|code| *code == diagnostic.code).unwrap_or_else(|| {
            used.push(diagnostic.code);
            used.len() - 1
        });
        results.push(result(file, diagnostic, rule));
    }
    let rules: Vec<Value> = used.iter().map(|code| rule(*code)).collect();
    envelope(&rules, &results)
}

/// One run with the findings of scans: the folder of a skill, as it is shown, and what was found below it.
pub(crate) fn findings<'a>(found: impl Iterator<Item = (&'a str, &'a ScanFinding)>) -> Value {
    let number = |code: &str| rules().iter().position(|rule| rule.code == code).unwrap_or_default();
    let results = found.map(|(folder, finding)| {
        let level = match finding.severity {
            FindingSeverity::High => "error",
            FindingSeverity::Medium => "warning",
            FindingSeverity::Low => "note",
        };
        let rule = &rules()[number(finding.rule)];
        let file = format!("{folder}/{}", finding.file);
        let mut result = json!({
            "ruleId": finding.rule,
            "ruleIndex": number(finding.rule),
            "level": level,
            "message": { "text": format!("The skill {}. {}", rule.what, rule.advice) },
            "locations": [{ "physicalLocation": location(&file, finding.line, finding.column) }],
            "partialFingerprints": { "evidence/v1": finding.fingerprint },
        });
        if let Some(reason) = &finding.suppressed {
            result["suppressions"] = json!([{ "kind": "external", "justification": reason }]);
        }
        result
    });
    let results: Vec<Value> = results.collect();
    let described = rules().iter().map(|rule| {
        json!({
            "id": rule.code,
            "shortDescription": { "text": format!("The skill {}", rule.what) },
            "help": { "text": rule.advice },
        })
    });
    let described: Vec<Value> = described.collect();
    envelope(&described, &results)
}

fn envelope(rules: &[Value], results: &[Value]) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "metier",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: Code) -> Value {
    let info = code.info();
    json!({
        "id": info.code,
        "shortDescription": { "text": info.what },
        "fullDescription": { "text": info.why },
        "help": { "text": info.fix_advice },
    })
}

fn result(file: &str, diagnostic: &Diagnostic, rule: usize) -> Value {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let (line, column) = (diagnostic.line as usize, diagnostic.column as usize);
    json!({
        "ruleId": diagnostic.code.as_str(),
        "ruleIndex": rule,
        "level": level,
        "message": { "text": format!("{}. {}", diagnostic.message, diagnostic.help()) },
        "locations": [{ "physicalLocation": location(file, line, column) }],
    })
}

/// A place in a file; line 0 is the whole of it.
fn location(file: &str, line: usize, column: usize) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": uri(file) } });
    if line > 0 {
        place["region"] = json!({ "startLine": line, "startColumn": column });
    }
    place
}

/// A path as a URI reference: `/` between names, everything unusual escaped.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.replace('\\', "/").bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    if path.starts_with('/') { format!("file://{out}") } else { out }
}
