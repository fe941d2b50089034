//! `metier models test` against a server: what must work, and what must fail in a certain way.
//!
//! Which servers and which faults there are is the business of `small_model` and `proxy`.

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::client::{Client, Target};
use super::process::Ended;
use super::report::Row;

/// Beyond its own time-out the program may take this long to start and end, on a busy machine.
const GRACE: Duration = Duration::from_secs(20);

/// What `metier models test` has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It works, in this output mode.
    Works(&'static str),
    /// No reply, for this reason.
    Error(&'static str),
    /// A reply that is no decision, for this reason.
    Fault(&'static str),
}

impl Expected {
    fn words(self) -> String {
        match self {
            Self::Works(mode) => format!("works, {mode}"),
            Self::Error(kind) => kind.to_owned(),
            Self::Fault(code) => format!("fault {code}"),
        }
    }
}

/// So small a model does not always decide; it is the adapter that is tried here. A reply that is no
/// decision is asked for again, with more chance in it.
const TEMPERATURES: [f64; 3] = [0.0, 0.4, 0.8];

/// Tries `target` and compares.
pub(crate) fn probe(
    client: &Client,
    server: &'static str,
    what: &str,
    target: &Target,
    expected: Expected,
) -> Result<Row> {
    let patience = Duration::from_secs_f64(target.timeout_s) + GRACE;
    let works = matches!(expected, Expected::Works(_));
    let mut tries = 0;
    let mut took = Duration::ZERO;
    let (ended, mut got, said) = loop {
        let target = Target { temperature: TEMPERATURES[tries], ..target.clone() };
        let ended = client.metier(&target, &["models", "test", "--json"], patience)?;
        let (got, said) = heard(&ended);
        tries += 1;
        took += ended.took;
        let is_fault = said.as_ref().is_some_and(|said| said.starts_with("fault "));
        if !works || !is_fault || tries == TEMPERATURES.len() {
            break (ended, got, said);
        }
    };
    if tries > 1 {
        got = format!("{got} (try {tries})");
    }
    // The exit code says it, too.
    let code = i32::from(!works);
    let passed = said == Some(expected.words()) && ended.code == Some(code);
    let what = format!("{}: {what}", target.dialect.name);
    Ok(Row { server, what, expected: expected.words(), got, took, passed })
}

/// The line for people: it names the output mode.
pub(crate) fn line(client: &Client, server: &'static str, target: &Target) -> Result<Row> {
    let patience = Duration::from_secs_f64(target.timeout_s) + GRACE;
    let ended = client.metier(target, &["models", "test"], patience)?;
    let line = ended.stdout.trim();
    let passed =
        ended.code == Some(0) && line.starts_with("works ") && line.contains(": json_schema, ");
    Ok(Row {
        server,
        what: format!("{}: the line for people", target.dialect.name),
        expected: "works ...: json_schema, ...".to_owned(),
        got: if line.is_empty() { last_line(&ended.stderr) } else { line.to_owned() },
        took: ended.took,
        passed,
    })
}

/// What was said: in full for the table, and in the words of [`Expected`].
fn heard(ended: &Ended) -> (String, Option<String>) {
    if ended.hung {
        return ("it hung and was killed".to_owned(), None);
    }
    let Ok(document) = serde_json::from_str::<Value>(&ended.stdout) else {
        return (format!("no JSON: {}", last_line(&ended.stderr)), None);
    };
    let test = &document["test"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if test["ok"] == true {
        let (mode, usage) = (text(&test["mode"]), &test["usage"]);
        let said = Expected::Works("").words() + &mode;
        let tokens = format!("{} + {} tokens", usage["input"], usage["output"]);
        return (format!("{said}, {tokens}"), Some(said));
    }
    if let Some(fault) = test["fault"].as_str() {
        let code = fault.split([':', ' ']).next().unwrap_or_default();
        return (format!("fault {fault}"), Some(format!("fault {code}")));
    }
    let error = &test["error"];
    let kind = text(&error["kind"]);
    let shown: String = text(&error["message"]).chars().take(110).collect();
    (format!("{kind} after {} attempts: {shown}", error["attempts"]), Some(kind))
}

fn last_line(text: &str) -> String {
    text.trim_end().lines().next_back().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stdout: &str) -> Option<String> {
        let (stdout, stderr) = (stdout.to_owned(), "why\n".to_owned());
        heard(&Ended { code: Some(0), hung: false, stdout, stderr, took: Duration::ZERO }).1
    }

    #[test]
    fn what_models_test_says_is_reported_in_the_words_of_the_expectation() {
        let works = r#"{"test":{"ok":true,"mode":"tool_call","usage":{"input":1,"output":2}}}"#;
        assert_eq!(said(works), Some(Expected::Works("tool_call").words()));
        let fault = r#"{"test":{"ok":false,"fault":"not_json: expected value"}}"#;
        assert_eq!(said(fault), Some(Expected::Fault("not_json").words()));
        let placed = r#"{"test":{"ok":false,"fault":"wrong_type at `plan`: no"}}"#;
        assert_eq!(said(placed), Some(Expected::Fault("wrong_type").words()));
        let error = r#"{"test":{"ok":false,"fault":null,"error":{"kind":"timed_out"}}}"#;
        assert_eq!(said(error), Some(Expected::Error("timed_out").words()));
        assert_eq!(said("panicked"), None);
    }
}
