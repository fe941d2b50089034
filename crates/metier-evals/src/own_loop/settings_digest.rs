//! The digest of everything besides skills and cases that could change what a trial of our own loop comes to:
//! settings, agent, rules, the prompt, and files that a model is made of.

use std::sync::{Arc, Mutex};

use metier::agent::SilentObserver;
use metier::fs::read_bounded;
use metier::model::{ModelError, ModelErrorKind, ModelInfo, Reply, Sink, Turn};
use metier::skill::Digest;
use metier::{CancelToken, Metier, Model};

use super::LoopOptions;
use crate::error::{EvalError, Result};

/// The largest script or recording of a model.
const MAX_MODEL_BYTES: u64 = 256 << 20;

/// The digest of settings and options, for the models that decide and judge.
pub(super) fn settings_digest(
    metier: &Metier,
    options: &LoopOptions,
    model: &ModelInfo,
    judge: Option<&ModelInfo>,
) -> Result<Digest> {
    let rows = metier.settings().explain().iter();
    let mut all: Vec<String> = rows.map(|row| format!("{}={}", row.key_path, row.value)).collect();
    if let Some(agent) = metier.agent() {
        // The rows say its rules and its model, and not what it may spend.
        let limits = serde_json::to_string(&agent.run_limits).unwrap_or_default();
        all.push(format!("agent {} {limits}", agent.name));
    }
    // What scripts see of the environment. A value may be a key: its digest alone is used, and that only as part of one.
    all.extend(metier.settings().execution.env.iter().map(|name| {
        let value = metier.environment().text(name).map(|value| Digest::of(value.as_bytes()));
        format!("env {name} {}", value.map_or_else(|| "unset".to_owned(), |it| it.to_string()))
    }));
    all.extend(options.allow.iter().map(|rule| format!("allow {rule}")));
    all.extend(options.deny.iter().map(|rule| format!("deny {rule}")));
    all.push(format!("prompt {}", prompt_digest(metier, options)?));
    for (role, model) in [("model", Some(model)), ("judge", judge)] {
        // The environment may say where it is reached, too.
        let endpoints = metier.endpoints();
        let reached = |model: &ModelInfo| endpoints.iter().find(|it| it.name == model.provider);
        if let Some(endpoint) = model.and_then(reached) {
            all.push(format!("{role} at {}", endpoint.base_url));
        }
        if let Some(content) = model.map(|model| content_digest(metier, model)).transpose()? {
            all.extend(content.map(|digest| format!("{role} {digest}")));
        }
    }
    Ok(Digest::of_parts(all.iter().map(String::as_bytes)))
}

/// What decides where a model is a file: a script, or the record of a run.
fn content_digest(metier: &Metier, model: &ModelInfo) -> Result<Option<Digest>> {
    let path = match model.provider.as_str() {
        "scripted" => metier.working_dir().join(&model.name),
        _ => return Ok(None),
    };
    let bytes = read_bounded(&path, MAX_MODEL_BYTES).map_err(|error| {
        let message = format!("{} cannot be read: {error}", path.display());
        EvalError::store(message, "check the file that the model is made of")
    })?;
    Ok(Some(Digest::of(&bytes)))
}

/// The prompt that every trial has in common, with its tools: what a model is really sent, without skills.
fn prompt_digest(metier: &Metier, options: &LoopOptions) -> Result<Digest> {
    let scratch = tempfile::tempdir().map_err(|error| {
        let help = "make the temporary directory writable";
        EvalError::store(format!("no temporary folder can be made: {error}"), help)
    })?;
    let reader = PromptReader::default();
    let session = options.allow.iter().fold(metier.session(), metier::Session::allow);
    let session = options.deny.iter().fold(session, metier::Session::deny);
    let session = session.own_model(reader.clone()).pinned(Arc::new(metier.skills().empty()));
    let session = session.dry_run().unrecorded(scratch.path()).prepare()?;
    session.run("the request", &SilentObserver, &CancelToken::new())?;
    let digest = reader.0.lock().ok().and_then(|read| *read);
    digest.ok_or_else(|| EvalError::store("no prompt was made", "report this as a fault"))
}

/// A model that reads its prompt and decides nothing.
#[derive(Clone, Default)]
struct PromptReader(Arc<Mutex<Option<Digest>>>);

impl Model for PromptReader {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("eval", "prompt")
    }

    fn reply(
        &self,
        turn: &Turn,
        _: Sink<'_>,
        _: &CancelToken,
    ) -> std::result::Result<Reply, ModelError> {
        if let Ok(mut read) = self.0.lock() {
            let parts = [&turn.system, &turn.system_for_call, &turn.request];
            *read = Some(Digest::of_parts(parts.map(|part| part.as_bytes())));
        }
        Err(ModelError::new(ModelErrorKind::Config, "the prompt was read"))
    }
}
