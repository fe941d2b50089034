//! The model that the settings and flags name.
//! Flags come before settings; what is spelled for one provider is not used for another.

use std::sync::Arc;

use metier_agent::Event;
use metier_config::Scope;
use metier_model::router::Router;
use metier_model::{
    Anthropic, Endpoint, Model, ModelError, ModelInfo, OpenAi, Provider, Replay, Scripted,
    UnknownProvider,
};
use metier_registry::routing::SkillRanker;

use super::key::key;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::output::remark;
use crate::render::safe;

/// The largest script of a scripted model.
const SCRIPT_BYTES: u64 = 16 << 20;

/// The model of a command: `wanted` is what `--model` says.
pub(crate) fn model(context: &Context, wanted: Option<&str>) -> Result<Arc<dyn Model>> {
    let settings = &context.settings.model;
    let (provider, name) = if let Some(text) = wanted {
        parse(text)?
    } else {
        tell_choice(context);
        (settings.provider, None)
    };
    // A name, an address and a key belong to a provider: under another one they mean nothing.
    let is_own = provider == settings.provider;
    let name = name.or_else(|| settings.name.clone().filter(|_| is_own));
    match provider {
        Provider::Router => Ok(Arc::new(Router::new(Arc::new(SkillRanker)))),
        Provider::Scripted => {
            let file = name.ok_or_else(|| needs_name("scripted", "FILE"))?;
            Ok(Arc::new(scripted(context, &file)?))
        }
        Provider::Replay => {
            let run = name.ok_or_else(|| needs_name("replay", "RUN"))?;
            Ok(Arc::new(replay(context, &run)?))
        }
        Provider::Openai | Provider::Anthropic => {
            let (word, usual) = if provider == Provider::Openai {
                ("openai", "OPENAI_API_KEY")
            } else {
                ("anthropic", "ANTHROPIC_API_KEY")
            };
            let mut endpoint = Endpoint::new(name.ok_or_else(|| needs_name(word, "MODEL"))?);
            endpoint.key = key(Some(settings).filter(|_| is_own), usual)?;
            if is_own {
                endpoint.base_url.clone_from(&settings.base_url);
                endpoint.params.clone_from(&settings.params);
            }
            let made: std::result::Result<Arc<dyn Model>, ModelError> = match provider {
                Provider::Openai => OpenAi::new(endpoint).map(|model| Arc::new(model) as _),
                _ => Anthropic::new(endpoint).map(|model| Arc::new(model) as _),
            };
            made.map_err(|error| unusable(&error))
        }
    }
}

/// Says that the project's file, not the user, chose who is asked: a clone must not do that in
/// silence.
fn tell_choice(context: &Context) {
    let project = context.config_files.iter().find(|file| file.scope == Scope::Project);
    let chosen = context.settings.explain().iter().find(|row| row.key_path == "model.provider");
    let (Some(file), Some(row)) = (project, chosen) else { return };
    if row.origin != safe(&file.path.to_string_lossy()) {
        return;
    }
    let provider = row.value.as_str().unwrap_or_default();
    let name = context.settings.model.name.as_ref().map(|name| format!(":{}", safe(name)));
    let place = file.path.strip_prefix(&context.working_dir).unwrap_or(&file.path);
    let line = row.line.map_or_else(String::new, |line| format!(":{line}"));
    remark(&format!(
        "the project chose {provider}{} ({}{line})",
        name.unwrap_or_default(),
        safe(&place.to_string_lossy()),
    ));
}

/// The model as a later command names it: a script is found by its file, not by what it calls itself.
pub(crate) fn called(context: &Context, wanted: Option<&str>, info: ModelInfo) -> ModelInfo {
    if info.provider != "scripted" {
        return info;
    }
    let typed = wanted.and_then(|text| text.split_once(':')).map(|(_, file)| file.to_owned());
    let file =
        typed.filter(|file| !file.is_empty()).or_else(|| context.settings.model.name.clone());
    ModelInfo { name: file.unwrap_or_else(|| info.name.clone()), ..info }
}

/// `provider:name`, or a provider alone.
fn parse(text: &str) -> Result<(Provider, Option<String>)> {
    let (word, name) = match text.split_once(':') {
        Some((word, name)) => (word, Some(name.to_owned()).filter(|name| !name.is_empty())),
        None => (text, None),
    };
    let provider = word.parse().map_err(|error: UnknownProvider| {
        CommandError::usage(safe(&error.to_string()).into_owned())
            .help("write openai:MODEL, anthropic:MODEL, scripted:FILE, replay:RUN or router")
    })?;
    Ok((provider, name))
}

fn needs_name(provider: &str, what: &str) -> CommandError {
    CommandError::usage(format!("the provider {provider} needs a name"))
        .help(format!("write --model {provider}:{what}, or set `model.name`"))
}

fn scripted(context: &Context, file: &str) -> Result<Scripted> {
    let path = context.working_dir.join(file);
    let told = |reason: &dyn std::fmt::Display| {
        let message = format!("the script {} cannot be read: {reason}", safe(file));
        CommandError::failed("model-script", message)
    };
    let bytes = metier_fs::read_bounded(&path, SCRIPT_BYTES).map_err(|error| told(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| told(&error))?;
    Scripted::parse(&text).map_err(|error| told(&safe(&error.message)))
}

/// The replies of a recorded run.
fn replay(context: &Context, run: &str) -> Result<Replay> {
    let folder = context.find_run(run)?;
    let (records, _) = folder.events().map_err(|error| {
        CommandError::failed(error.code(), safe(&error.to_string()).into_owned()).help(error.help())
    })?;
    let replies = records.into_iter().filter_map(|record| match record.event {
        Event::ModelReplied { reply, .. } => Some(Ok(reply)),
        Event::ModelFailed { error, .. } => Some(Err(error)),
        _ => None,
    });
    Ok(Replay::new(folder.id().to_string(), replies.collect()))
}

/// A refusal of a model, for people.
pub(crate) fn unusable(error: &ModelError) -> CommandError {
    let code = match error.kind.as_str() {
        "config" => "model-config",
        _ => "model-failed",
    };
    CommandError::failed(code, safe(&error.to_string()).into_owned()).help(error.kind.help())
}
