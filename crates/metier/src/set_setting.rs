//! Setting one key of the user's own configuration file, changed as text: comments, order and
//! everything else stay. A project's file is written by the people who work on the project.

use std::path::PathBuf;

use metier_config::{ConfigError, Scope, add_value, remove_value, set_value, split_keys};
use metier_model::Provider;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::open::Metier;

/// What of the `model` section belongs to one provider: another one must not get it.
const OF_ONE_PROVIDER: [&str; 4] = ["base_url", "key_env", "key_command", "params"];

/// The two spellings of one key.
const ENABLE_SKILLS: [&str; 2] = ["enable_skills", "enableSkills"];

/// Keys that were taken out, each with its value.
type RemovedKeys = Vec<(String, Value)>;

/// What was done to the user's configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingChange {
    /// The file.
    pub file: PathBuf,
    /// Whether its text is another one now.
    pub changed: bool,
    /// Keys that were taken out because they belonged to another provider, each with its value.
    pub removed: Vec<(String, Value)>,
}

impl Metier {
    /// Sets `key` (such as `budgets.turns`) of the user's configuration file. The value is JSON, or a
    /// text without quotes. `model` takes `PROVIDER:NAME`; what was set for another provider (its
    /// address, its key, its parameters) is taken out.
    ///
    /// # Errors
    ///
    /// A key that does not exist, a value that it cannot have, or a file that cannot be changed; the
    /// file is then as it was.
    pub fn set_setting(&self, key: &str, value: &str) -> Result<SettingChange> {
        let file = self.config_target(Scope::User)?;
        if key == "model" {
            let (changed, removed) = self.set_model(value)?;
            return Ok(SettingChange { file, changed, removed });
        }
        let path = split_keys(key);
        let changed = self.edit_typed(|text, file| {
            // The other spelling of the key would still count.
            let text = match ENABLE_SKILLS.iter().position(|it| *it == key) {
                Some(at) => remove_value(text, file, Scope::User, &[ENABLE_SKILLS[1 - at]])?,
                None => text.to_owned(),
            };
            let set = |value: &Value| set_value(&text, file, Scope::User, &path, value);
            json_or_text(value, set)
        })?;
        Ok(SettingChange { file, changed, removed: Vec::new() })
    }

    /// Adds a value to a list (such as `sources.allow`) of the user's configuration file, or each value of a list
    /// in JSON. What the list has already is not added again.
    ///
    /// # Errors
    ///
    /// As for [`Metier::set_setting`], and where the setting is not a list.
    pub fn add_setting(&self, key: &str, value: &str) -> Result<SettingChange> {
        let file = self.config_target(Scope::User)?;
        let path = split_keys(key);
        let changed = self.edit_typed(|text, file| {
            let add = |text: &str, value: &Value| add_value(text, file, Scope::User, &path, value);
            match serde_json::from_str(value) {
                // An empty list adds nothing, and would not show whether the setting is one.
                Ok(Value::Array(values)) if !values.is_empty() => {
                    values.iter().try_fold(text.to_owned(), |text, value| add(&text, value))
                }
                _ => json_or_text(value, |value| add(text, value)),
            }
        })?;
        Ok(SettingChange { file, changed, removed: Vec::new() })
    }

    /// Changes the user's file by what was typed: where the file itself is right, a fault is of what was typed, and
    /// no line of the file is to blame.
    fn edit_typed(
        &self,
        change: impl FnOnce(&str, &str) -> std::result::Result<String, Vec<ConfigError>>,
    ) -> Result<bool> {
        let mut typed = None;
        let edited = self.edit_config(Scope::User, |text, file| {
            change(text, file).inspect_err(|errors| {
                if metier_config::parse(text, file, Scope::User).is_ok() {
                    typed = errors.first().cloned();
                }
            })
        });
        match typed {
            Some(fault) => Err(Error::failed(fault.code(), fault.message).with_help(fault.help)),
            None => edited,
        }
    }

    fn set_model(&self, model: &str) -> Result<(bool, RemovedKeys)> {
        let (provider, name) = self.settable_model(model)?;
        let mut removed = Vec::new();
        let changed = self.edit_config(Scope::User, |text, file| {
            let (text, taken) = without_other_provider(text, file, provider)?;
            removed = taken;
            let path = ["model", "provider"];
            let text = set_value(&text, file, Scope::User, &path, &provider.as_str().into())?;
            match &name {
                Some(name) => {
                    set_value(&text, file, Scope::User, &["model", "name"], &name.as_str().into())
                }
                None => remove_value(&text, file, Scope::User, &["model", "name"]),
            }
        })?;
        Ok((changed, removed))
    }
}

/// Writes a value that was typed: JSON, or a text without quotes.
fn json_or_text(
    typed: &str,
    write: impl Fn(&Value) -> std::result::Result<String, Vec<ConfigError>>,
) -> std::result::Result<String, Vec<ConfigError>> {
    let as_text = Value::from(typed);
    match serde_json::from_str(typed) {
        // `5` may be meant as a text; `["a"]` is not.
        Ok(json @ (Value::Array(_) | Value::Object(_))) => write(&json),
        Ok(json) => write(&json).or_else(|errors| write(&as_text).map_err(|_| errors)),
        Err(_) => write(&as_text),
    }
}

/// The text without what was set for another provider, and what that was.
fn without_other_provider(
    text: &str,
    file: &str,
    provider: Provider,
) -> std::result::Result<(String, RemovedKeys), Vec<ConfigError>> {
    let layer = metier_config::parse(text, file, Scope::User)?;
    let model = &layer.config().model;
    let mut text = text.to_owned();
    let mut removed = Vec::new();
    if model.provider.unwrap_or(Provider::Router) == provider {
        return Ok((text, removed));
    }
    let values = [
        model.base_url.as_deref().map(Value::from),
        model.key_env.as_deref().map(Value::from),
        model.key_command.clone().map(Value::from),
        Some(Value::from(model.params.clone())).filter(|_| !model.params.is_empty()),
    ];
    for (key, value) in OF_ONE_PROVIDER.into_iter().zip(values) {
        if let Some(value) = value {
            text = remove_value(&text, file, Scope::User, &["model", key])?;
            removed.push((format!("model.{key}"), value));
        }
    }
    Ok((text, removed))
}
