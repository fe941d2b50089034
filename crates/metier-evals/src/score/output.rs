//! Judging the answer: texts, expressions, and a JSON Schema for its data.
//! Pure: files and programs are judged in `grade`.

use regex::Regex;
use serde_json::Value;

use crate::case::{ActionPattern, ArgumentPattern, Expected, OutputChecks};
use crate::subject::Trace;
use crate::trial::{CheckKind, CheckOutcome, CheckResult};

/// Characters of what was found that a result repeats.
const MAX_SHOWN_CHARS: usize = 200;

pub(super) fn checks(wanted: &OutputChecks, trace: &Trace) -> Vec<CheckResult> {
    let answer = trace.answer.as_deref();
    let no_answer = || format!("there is no answer ({})", trace.status.as_str());
    let result = |name: String, wrong: Option<String>| CheckResult {
        kind: CheckKind::Output,
        name,
        outcome: if wrong.is_none() { CheckOutcome::Passed } else { CheckOutcome::Failed },
        detail: wrong.unwrap_or_default(),
        step: None,
    };
    let mut checks = Vec::new();
    for part in &wanted.contains {
        let wrong = match answer {
            Some(answer) => (!answer.contains(part.as_str())).then(|| shown(answer)),
            None => Some(no_answer()),
        };
        checks.push(result(format!("the answer contains `{part}`"), wrong));
    }
    for part in &wanted.not_contains {
        let is_there = answer.is_some_and(|answer| answer.contains(part.as_str()));
        let wrong = is_there.then(|| shown(answer.unwrap_or_default()));
        checks.push(result(format!("the answer does not contain `{part}`"), wrong));
    }
    for expression in &wanted.regex {
        let wrong = match (answer, Regex::new(expression)) {
            (None, _) => Some(no_answer()),
            (Some(answer), Ok(found)) => (!found.is_match(answer)).then(|| shown(answer)),
            (_, Err(error)) => Some(error.to_string()),
        };
        checks.push(result(format!("the answer matches `{expression}`"), wrong));
    }
    if let Some(schema) = &wanted.json_schema {
        checks.push(result("the data fits the schema".to_owned(), schema_fault(schema, trace)));
    }
    checks
}

fn schema_fault(schema: &Value, trace: &Trace) -> Option<String> {
    let data = trace.data.clone().or_else(|| json_in(trace.answer.as_deref()?));
    let Some(data) = data else { return Some("the answer has no data and is not JSON".to_owned()) };
    match jsonschema::validator_for(schema) {
        Ok(validator) => validator.iter_errors(&data).next().map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the data".to_owned() } else { place };
            shown(&format!("{place}: {error}"))
        }),
        Err(error) => Some(error.to_string()),
    }
}

/// The JSON that an answer is, or that its one block of code is.
fn json_in(answer: &str) -> Option<Value> {
    let text = answer.trim();
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let inner = inner.and_then(|rest| rest.trim_end().strip_suffix("```"));
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(inner?.trim()).ok())
}

fn shown(text: &str) -> String {
    metier::skill::text::clip(text, MAX_SHOWN_CHARS).into_owned()
}

/// Whether every expression and schema of a case can be read.
pub(crate) fn check_expected(expected: &Expected) -> Result<(), String> {
    let actions = &expected.actions;
    let patterns: Vec<&ActionPattern> = (actions.must.iter())
        .chain(&actions.must_not)
        .chain(actions.order.iter().flat_map(|sequence| &sequence.actions))
        .chain(actions.counts.iter().map(|count| &count.action))
        .chain(expected.steps.iter().map(|step| &step.action))
        .collect();
    let of_arguments = patterns.iter().flat_map(|pattern| pattern.args.values());
    let of_arguments = of_arguments.filter_map(|wanted| match wanted {
        ArgumentPattern::Regex(expression) => Some(expression),
        _ => None,
    });
    for expression in expected.output.regex.iter().chain(of_arguments) {
        Regex::new(expression).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default();
            format!("the expression `{expression}` cannot be read: {reason}")
        })?;
    }
    for pattern in patterns {
        let kind = pattern.action.as_deref();
        if let Some(kind) = kind.filter(|kind| crate::read::action_kind(kind).is_none()) {
            let kinds = metier::model::Action::KINDS;
            let near = metier::skill::nearest(kind, kinds);
            let near =
                near.map_or_else(|| kinds.join(", "), |near| format!("did you mean `{near}`?"));
            return Err(format!("unknown action `{kind}`: {near}"));
        }
    }
    if let Some(schema) = &expected.output.json_schema {
        jsonschema::validator_for(schema)
            .map_err(|error| format!("`json_schema` is not a valid JSON Schema: {error}"))?;
    }
    Ok(())
}
