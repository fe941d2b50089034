//! The model that a caller or the settings name.
//!
//! What a caller names comes before the settings; a name, an address and a key belong to one
//! provider and are not used for another.

use std::sync::Arc;

use metier_agent::Event;
use metier_cancel::CancelToken;
use metier_config::Scope;
use metier_model::{
    Anthropic, Endpoint, Key, Model, ModelError, ModelInfo, OpenAi, Provider, Replay, Scripted,
    UnknownProvider,
};
use metier_router::Router;
use metier_skill::text::clip;

use crate::error::{Error, Result};
use crate::key::{ANTHROPIC_KEY, OPENAI_KEY, key};
use crate::open::Metier;

/// The largest script of a scripted model.
const MAX_SCRIPT_BYTES: u64 = 16 << 20;

/// Characters of a project's value that a line about it shows.
const MAX_VALUE_CHARS: usize = 60;

impl Metier {
    /// The model that `name` means (`openai:MODEL`, `anthropic:MODEL`, `scripted:FILE`, `replay:RUN`,
    /// `router`); without a name, the one of the settings.
    /// Cancelling stops the program that prints the key.
    pub fn model(&self, name: Option<&str>, cancel: &CancelToken) -> Result<Arc<dyn Model>> {
        self.model_and_key(name, cancel).map(|(model, _)| model)
    }

    /// The same with the key that it sends, which a run must not show.
    pub(crate) fn model_and_key(
        &self,
        name: Option<&str>,
        cancel: &CancelToken,
    ) -> Result<(Arc<dyn Model>, Key)> {
        let settings = &self.settings().model;
        let (provider, name) = match name {
            Some(text) => parse(text)?,
            None => (settings.provider, None),
        };
        let is_configured = provider == settings.provider;
        let name = name.or_else(|| settings.name.clone().filter(|_| is_configured));
        match provider {
            Provider::Router => Ok((Arc::new(Router), Key::default())),
            Provider::Scripted => {
                let file = name.ok_or_else(|| needs_name("scripted", "FILE"))?;
                Ok((Arc::new(self.scripted(&file)?), Key::default()))
            }
            Provider::Replay => {
                let run = name.ok_or_else(|| needs_name("replay", "RUN"))?;
                Ok((Arc::new(self.replies_of(&run)?), Key::default()))
            }
            Provider::Openai | Provider::Anthropic => {
                let (word, usual) = if provider == Provider::Openai {
                    ("openai", OPENAI_KEY)
                } else {
                    ("anthropic", ANTHROPIC_KEY)
                };
                let mut endpoint = Endpoint::new(name.ok_or_else(|| needs_name(word, "MODEL"))?);
                let own = Some(settings).filter(|_| is_configured);
                let key = key(own, usual, self.environment(), cancel)?;
                endpoint.key = key.clone();
                if is_configured {
                    endpoint.base_url.clone_from(&settings.base_url);
                    endpoint.params.clone_from(&settings.params);
                }
                let made: std::result::Result<Arc<dyn Model>, ModelError> = match provider {
                    Provider::Openai => OpenAi::new(endpoint).map(|model| Arc::new(model) as _),
                    _ => Anthropic::new(endpoint).map(|model| Arc::new(model) as _),
                };
                Ok((made?, key))
            }
        }
    }

    /// What the project's file says about the model that `name` means, setting by setting with its
    /// line; empty where that model is not touched by it. A clone must not change the model in silence:
    /// every run says it first.
    ///
    /// ```
    /// # use metier::Metier;
    /// # let dir = tempfile::tempdir()?;
    /// let metier = Metier::builder(&dir).without_user_folders().open()?;
    /// assert!(metier.model_settings_of_project(None)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn model_settings_of_project(&self, name: Option<&str>) -> Result<Vec<String>> {
        let settings = &self.settings().model;
        let (provider, named) = match name {
            Some(text) => parse(text)?,
            None => (settings.provider, None),
        };
        let mut files = self.config_files().iter();
        let project = files.find(|file| file.scope == Scope::Project && file.is_used());
        let Some(project) = project.filter(|_| provider == settings.provider) else {
            return Ok(Vec::new());
        };
        let sends = matches!(provider, Provider::Openai | Provider::Anthropic);
        let is_used = |key: &str| match key {
            "model.provider" => name.is_none(),
            "model.name" => named.is_none(),
            key => sends && key.starts_with("model.params."),
        };
        let origin = project.path.to_string_lossy();
        let place = project.path.strip_prefix(self.working_dir()).unwrap_or(&project.path);
        let rows = self.settings().explain().iter();
        let rows = rows.filter(|row| row.origin == origin && is_used(&row.key_path));
        let settings = rows.map(|row| {
            let line = row.line.map_or_else(String::new, |line| format!(":{line}"));
            let value = row.value.to_string();
            let value = clip(&value, MAX_VALUE_CHARS);
            format!("{} = {value} ({}{line})", row.key_path, place.display())
        });
        Ok(settings.collect())
    }

    /// The model as a later call can name it: a script is found by its file, not by what it calls
    /// itself.
    pub(crate) fn recorded_info(&self, name: Option<&str>, info: ModelInfo) -> ModelInfo {
        if info.provider != "scripted" {
            return info;
        }
        let named = name.and_then(|text| text.split_once(':')).map(|(_, file)| file.to_owned());
        let named = named.filter(|file| !file.is_empty());
        let file = named.or_else(|| self.settings().model.name.clone());
        ModelInfo { name: file.unwrap_or_else(|| info.name.clone()), ..info }
    }

    fn scripted(&self, file: &str) -> Result<Scripted> {
        let path = self.working_dir().join(file);
        let refuse = |reason: &dyn std::fmt::Display| {
            Error::failed("model-script", format!("the script {file} cannot be read: {reason}"))
        };
        let bytes = metier_fs::read_bounded(&path, MAX_SCRIPT_BYTES).map_err(|e| refuse(&e))?;
        let text = String::from_utf8(bytes).map_err(|error| refuse(&error))?;
        Scripted::parse(&text).map_err(|error| refuse(&error.message))
    }

    /// The replies of a recorded run.
    fn replies_of(&self, run: &str) -> Result<Replay> {
        let folder = self.find_run(run)?;
        let (records, _) = folder.events()?;
        let replies = records.into_iter().filter_map(|record| match record.event {
            Event::ModelReplied { reply, .. } => Some(Ok(reply)),
            Event::ModelFailed { error, .. } => Some(Err(error)),
            _ => None,
        });
        Ok(Replay::new(folder.id().to_string(), replies.collect()))
    }
}

/// `provider:name`, or a provider alone.
fn parse(text: &str) -> Result<(Provider, Option<String>)> {
    let (word, name) = match text.split_once(':') {
        Some((word, name)) => (word, Some(name.to_owned()).filter(|name| !name.is_empty())),
        None => (text, None),
    };
    let provider = word.parse().map_err(|error: UnknownProvider| {
        Error::usage(error.to_string())
            .with_help("write openai:MODEL, anthropic:MODEL, scripted:FILE, replay:RUN or router")
    })?;
    Ok((provider, name))
}

fn needs_name(provider: &str, what: &str) -> Error {
    Error::usage(format!("the provider {provider} needs a name"))
        .with_help(format!("write {provider}:{what}, or set `model.name`"))
}
