//! llama.cpp's server with a small model: every dialect, and the faults that it can really have.
//!
//! Whole runs with it are in `decisions`.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::client::{
    CHAT, CHAT_TOOL, Client, Dialect, MESSAGES, RESPONSES, RESPONSES_TOOL, Target,
};
use super::environment::Environment;
use super::probes::{Expected, line, probe};
use super::report::{Report, Row};
use super::server::{Server, free_address};

const NAME: &str = "llama.cpp";

/// Starts the server.
pub(crate) fn start(environment: &Environment) -> Result<Server> {
    let args = [environment.weights.clone(), environment.template.clone()];
    Server::start(environment, "llama", &args, "/health", &[])
}

/// Starts the server with weights of the developer's own, which bring their chat template.
pub(crate) fn start_own(environment: &Environment, weights: &Path) -> Result<Server> {
    Server::start(environment, "llama", &[weights.to_owned()], "/health", &[])
}

/// How the model at `base_url` is asked.
pub(crate) fn target(base_url: &str, dialect: Dialect) -> Target {
    Target {
        dialect,
        base_url: base_url.to_owned(),
        model: "smollm2",
        key: String::new(),
        timeout_s: 120.0,
        max_tokens: 700,
        stream: true,
        temperature: 0.0,
    }
}

/// Everything that is tried besides whole runs.
pub(crate) fn try_all(client: &Client, base_url: &str, report: &mut Report) -> Result<()> {
    let target = |dialect| target(base_url, dialect);
    report.add(line(client, NAME, &target(CHAT))?);
    for (dialect, mode) in [
        (CHAT, "json_schema"),
        (CHAT_TOOL, "tool_call"),
        (MESSAGES, "tool_call"),
        (RESPONSES_TOOL, "tool_call"),
    ] {
        let streamed = target(dialect);
        report.add(probe(client, NAME, "a decision", &streamed, Expected::Works(mode))?);
        let whole = Target { stream: false, ..streamed };
        report.add(probe(client, NAME, "without a stream", &whole, Expected::Works(mode))?);
    }
    // It takes `text.format` and does nothing about it: the model talks. The other way round, a
    // decision here would mean that the server has learnt it and this line can go.
    let ignored = target(RESPONSES);
    report.add(probe(client, NAME, "an ignored schema", &ignored, Expected::Fault("not_json"))?);
    for dialect in [CHAT, MESSAGES] {
        let cut = Target { max_tokens: 12, ..target(dialect) };
        report.add(probe(client, NAME, "cut off", &cut, Expected::Fault("truncated"))?);
        let hurried = Target { timeout_s: 0.05, ..target(dialect) };
        report.add(probe(client, NAME, "too slow", &hurried, Expected::Error("timed_out"))?);
        let gone = Target { base_url: format!("http://{}/v1", free_address()?), ..target(dialect) };
        report.add(probe(client, NAME, "no listener", &gone, Expected::Error("network"))?);
        report.add(overflow(client, &target(dialect))?);
    }
    Ok(())
}

/// A request that is larger than the model's window: the server's own refusal, reported as such.
fn overflow(client: &Client, target: &Target) -> Result<Row> {
    let request = "All work and no play. ".repeat(2000);
    let since = Instant::now();
    let args = ["run", "--max-turns", "1", "--yes", "--json", "--", &request];
    let ended = client.metier(target, &args, Duration::from_mins(3))?;
    let reported = ended.stdout.contains(r#""kind":"context_overflow""#);
    Ok(Row {
        server: NAME,
        what: format!("{}: a request beyond the window", target.dialect.name),
        expected: "exit 1, context_overflow".to_owned(),
        got: match (ended.code, reported) {
            (Some(code), true) => format!("exit {code}, context_overflow"),
            (code, _) => format!("exit {code:?}: {}", ended.stderr.trim()),
        },
        took: since.elapsed(),
        passed: ended.code == Some(1) && reported,
    })
}
