//! The model of a session: chosen once, and opened once.
//!
//! A program that prints the key may ask a person to unlock a store, so it runs when the session first
//! needs the model and not for every request. A chat opens its model at its start: a model that
//! cannot be used is an error there, not at the first message.

use std::sync::{Arc, Mutex, PoisonError};

use metier_agent::{Note, Setup};
use metier_model::{Key, Model, PlanMode};

use crate::error::Result;
use crate::session::Session;

/// The model that a session decides with.
#[derive(Default)]
pub(crate) struct SessionModel {
    choice: ModelChoice,
    opened: Mutex<Option<OpenedModel>>,
}

#[derive(Clone, Default)]
enum ModelChoice {
    /// The one of the settings, or of the run that is resumed.
    #[default]
    Configured,
    /// One by its name, such as `openai:gpt-5-mini` or `router`.
    Named(String),
    /// The caller's own.
    Own(Arc<dyn Model>),
}

/// A model that can be asked.
#[derive(Clone)]
struct OpenedModel {
    /// The name that it was opened by; nothing: the settings.
    name: Option<String>,
    model: Arc<dyn Model>,
    /// The key that it sends, which a run must not show.
    key: Key,
}

impl SessionModel {
    pub(crate) fn named(name: String) -> Self {
        Self { choice: ModelChoice::Named(name), opened: Mutex::default() }
    }

    pub(crate) fn own(model: Arc<dyn Model>) -> Self {
        Self { choice: ModelChoice::Own(model), opened: Mutex::default() }
    }
}

impl Session {
    /// Decides with the model of this name from now on; gives the one of before.
    pub(crate) fn replace_model(&mut self, name: &str) -> SessionModel {
        std::mem::replace(&mut self.model, SessionModel::named(name.to_owned()))
    }

    /// The model by its name, where one is given: by this session, or by its agent.
    pub(crate) fn model_name(&self) -> Option<&str> {
        match &self.model.choice {
            ModelChoice::Named(name) => Some(name),
            ModelChoice::Configured => self.metier().agent()?.model.as_deref(),
            ModelChoice::Own(_) => None,
        }
    }

    /// The model, and the key that it sends.
    pub(crate) fn open_model(&self, resumed: Option<&Setup>) -> Result<(Arc<dyn Model>, Key)> {
        if let ModelChoice::Own(model) = &self.model.choice {
            return Ok((Arc::clone(model), Key::default()));
        }
        let name = self.wanted_model(resumed);
        let mut kept = self.model.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(OpenedModel { model, key, .. }) = kept.as_ref().filter(|it| it.name == name) {
            return Ok((Arc::clone(model), key.clone()));
        }
        let (model, key) = self.metier().model_and_key(name.as_deref(), self.cancel())?;
        *kept = Some(OpenedModel { name, model: Arc::clone(&model), key: key.clone() });
        Ok((model, key))
    }

    /// Whether the model of a new run is asked for a plan.
    pub(crate) fn plan_mode(&self) -> Result<PlanMode> {
        match &self.model.choice {
            ModelChoice::Own(_) => Ok(self.metier().plan_mode_of_own()),
            _ => self.metier().plan_mode(self.model_name()),
        }
    }

    /// The name of the model, where one is given: by this session, by the run that is resumed, or by the
    /// agent.
    fn wanted_model(&self, resumed: Option<&Setup>) -> Option<String> {
        let began_with = resumed.filter(|_| matches!(self.model.choice, ModelChoice::Configured));
        match began_with.map(|setup| &setup.model) {
            Some(model) if model.provider == "router" => Some("router".to_owned()),
            Some(model) => Some(format!("{}:{}", model.provider, model.name)),
            None => self.model_name().map(str::to_owned),
        }
    }

    /// Says first of all what the project's file changes about the model, and gives it for the record.
    pub(crate) fn warn_about_project_settings(
        &self,
        resumed: Option<&Setup>,
    ) -> Result<Vec<String>> {
        if matches!(self.model.choice, ModelChoice::Own(_)) {
            return Ok(Vec::new());
        }
        let wanted = self.wanted_model(resumed);
        let mut set = self.metier().model_settings_of_project(wanted.as_deref())?;
        if let (Some(setup), ModelChoice::Configured) = (resumed, &self.model.choice) {
            // The name is the one that it began with.
            let chosen = setup.model_by_project.iter();
            set.splice(0..0, chosen.filter(|set| !set.starts_with("model.params")).cloned());
        }
        if !set.is_empty() {
            let text = format!("the project changes the model: {}", set.join(", "));
            self.note(&Note::Warning(text));
        }
        Ok(set)
    }
}
