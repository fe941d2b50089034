//! The model that a caller or the settings name.
//!
//! What a caller names comes before the settings; a name, an address and a key belong to one
//! provider and are not used for another.

use std::sync::Arc;

use metier_agent::Event;
use metier_cancel::CancelToken;
use metier_config::{ModelSettings, PlanSetting, Scope};
use metier_model::{
    Anthropic, Endpoint, Key, Model, ModelError, ModelInfo, NamedEndpoint, OpenAi, PlanMode,
    Protocol, Provider, Replay, Scripted, UnknownProvider, is_on_this_machine,
};
use metier_router::Router;
use metier_skill::text::clip;

use crate::error::{Error, Result};
use crate::key::{FoundKey, key};
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
        let (provider, name) = self.named_or_configured(name)?;
        let is_configured = provider == settings.provider;
        let name = name.or_else(|| settings.name.clone().filter(|_| is_configured));
        match provider {
            Provider::Router | Provider::Mock => {
                Ok((Arc::new(Router::sharing(&self.inner.ranking)), Key::default()))
            }
            Provider::Scripted => {
                let file = name.ok_or_else(|| needs_name("scripted", "FILE"))?;
                Ok((Arc::new(self.scripted(&file)?), Key::default()))
            }
            Provider::Replay => {
                let run = name.ok_or_else(|| needs_name("replay", "RUN"))?;
                Ok((Arc::new(self.replies_of(&run)?), Key::default()))
            }
            Provider::Endpoint(named) => {
                let name = name.or_else(|| named.default_model.map(str::to_owned));
                let name = name.ok_or_else(|| needs_name(named.name, "MODEL"))?;
                self.at_endpoint(named, name, Some(settings).filter(|_| is_configured), cancel)
            }
        }
    }

    /// A model over HTTP. `settings` are the user's, where they are about this endpoint.
    fn at_endpoint(
        &self,
        named: &NamedEndpoint,
        model: String,
        settings: Option<&ModelSettings>,
        cancel: &CancelToken,
    ) -> Result<(Arc<dyn Model>, Key)> {
        let FoundKey { key, origin } = key(settings, named, self.environment(), cancel)?;
        let elsewhere = self.address_of(named, settings);
        if let Some(variable) = named.key_env.filter(|_| key.is_empty() && elsewhere.is_none()) {
            return Err(no_key(named, variable));
        }
        let endpoint = Endpoint {
            provider: Some(named.name.to_owned()),
            base_url: Some(elsewhere.unwrap_or_else(|| named.base_url.to_owned())),
            key: key.clone(),
            key_origin: Some(origin),
            params: settings.map(|settings| settings.params.clone()).unwrap_or_default(),
            ..Endpoint::new(model)
        };
        let made: std::result::Result<Arc<dyn Model>, ModelError> = match named.protocol {
            Protocol::OpenAi => OpenAi::new(endpoint).map(|model| Arc::new(model) as _),
            Protocol::Anthropic => Anthropic::new(endpoint).map(|model| Arc::new(model) as _),
        };
        Ok((made?, key))
    }

    /// Whether the model that `name` means is asked for a plan. What answers on this machine is most often
    /// a small model, and a small model follows its plan instead of the skill.
    pub(crate) fn plan_mode(&self, name: Option<&str>) -> Result<PlanMode> {
        let settings = &self.settings().model;
        if settings.plan != PlanSetting::Auto {
            return Ok(self.plan_mode_of_own());
        }
        let (provider, _) = self.named_or_configured(name)?;
        let Provider::Endpoint(named) = provider else { return Ok(PlanMode::On) };
        let own = Some(settings).filter(|_| provider == settings.provider);
        let address = self.address_of(named, own);
        let is_local = is_on_this_machine(address.as_deref().unwrap_or(named.base_url));
        Ok(if is_local { PlanMode::Off } else { PlanMode::On })
    }

    /// The same for a model that the caller brings.
    pub(crate) fn plan_mode_of_own(&self) -> PlanMode {
        match self.settings().model.plan {
            PlanSetting::Auto | PlanSetting::On => PlanMode::On,
            PlanSetting::Off => PlanMode::Off,
        }
    }

    /// A model that may stand in the settings: its provider, and its name where it has one. A script is
    /// found from any directory.
    pub(crate) fn settable_model(&self, text: &str) -> Result<(Provider, Option<String>)> {
        let (provider, name) = parse(text)?;
        match (provider, name) {
            (Provider::Scripted | Provider::Mock, Some(file)) => {
                let path = self.working_dir().join(&file);
                Ok((provider, Some(path.to_string_lossy().into_owned())))
            }
            (Provider::Scripted, None) => Err(needs_name("scripted", "FILE")),
            (Provider::Replay, None) => Err(needs_name("replay", "RUN")),
            (Provider::Endpoint(named), None) if named.default_model.is_none() => {
                Err(needs_name(named.name, "MODEL"))
            }
            (Provider::Router, Some(_)) => {
                Err(Error::usage("the provider router has no models")
                    .with_help("write router alone"))
            }
            (provider, name) => Ok((provider, name)),
        }
    }

    /// The provider, and the model's name where one is given. `mock` is a script where there is one,
    /// else the offline model.
    fn named_or_configured(&self, name: Option<&str>) -> Result<(Provider, Option<String>)> {
        let configured = self.settings().model.provider;
        let Some(text) = name else { return Ok((configured, None)) };
        let (provider, name) = parse(text)?;
        let has_script = name.is_some() || configured == Provider::Scripted;
        Ok(match provider {
            Provider::Mock if has_script => (Provider::Scripted, name),
            Provider::Mock => (Provider::Router, None),
            provider => (provider, name),
        })
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
        let (provider, named) = self.named_or_configured(name)?;
        let mut files = self.config_files().iter();
        let project = files.find(|file| file.scope == Scope::Project && file.is_used());
        let Some(project) = project.filter(|_| provider == settings.provider) else {
            return Ok(Vec::new());
        };
        let sends = matches!(provider, Provider::Endpoint(_));
        let is_used = |key: &str| match key {
            "model.provider" => name.is_none(),
            "model.name" => named.is_none() && provider != Provider::Router,
            key => sends && (key == "model.plan" || key.starts_with("model.params.")),
        };
        let origin = project.path.to_string_lossy();
        let place = project.path.strip_prefix(self.working_dir()).unwrap_or(&project.path);
        let rows = self.settings().explain().iter();
        let rows = rows.filter(|row| row.origin == origin && is_used(&row.key_path));
        let settings = rows.map(|row| {
            let line = row.line.map_or_else(String::new, |line| format!(":{line}"));
            let value = row.value.to_string();
            let value = clip(&value, MAX_VALUE_CHARS);
            let is_offline = row.key_path == "model.provider" && provider == Provider::Router;
            let what = if is_offline { ", the built-in offline model" } else { "" };
            format!("{} = {value}{what} ({}{line})", row.key_path, place.display())
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
        Scripted::parse(&text).map_err(|error| {
            Error::failed("model-script", format!("the script {file}, {}", error.message))
                .with_help("`metier models script-schema` prints the format of the file")
        })
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
        let usual = "write openai:MODEL, anthropic:MODEL, scripted:FILE, replay:RUN or router; \
                     `metier models` lists all";
        Error::usage(error.to_string()).with_help(match error.nearest() {
            Some(near) => format!("did you mean `{near}`? `metier models` lists all"),
            None => usual.to_owned(),
        })
    })?;
    Ok((provider, name))
}

fn no_key(named: &NamedEndpoint, variable: &str) -> Error {
    let message = format!("there is no key for {}: {variable} is not set", named.name);
    Error::failed("no-key", message).with_help(format!(
        "set {variable}, or name another variable (`model.key_env`) or a program that prints the key \
         (`model.key_command`) in ~/.agent/config.json"
    ))
}

fn needs_name(provider: &str, what: &str) -> Error {
    Error::usage(format!("the provider {provider} needs a name"))
        .with_help(format!("write {provider}:{what}, or set `model.name`"))
}
