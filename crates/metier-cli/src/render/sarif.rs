//! Diagnostics as SARIF 2.1.0, which code hosts and editors read.
//!
//! Rules come from the table of codes; columns count characters, as ours do.

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
    let mut place = json!({ "artifactLocation": { "uri": uri(file) } });
    if diagnostic.line > 0 {
        place["region"] = json!({ "startLine": diagnostic.line, "startColumn": diagnostic.column });
    }
    json!({
        "ruleId": diagnostic.code.as_str(),
        "ruleIndex": rule,
        "level": level,
        "message": { "text": format!("{}. {}", diagnostic.message, diagnostic.help()) },
        "locations": [{ "physicalLocation": place }],
    })
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
