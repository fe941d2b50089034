//! The providers by the names that settings, flags and records use.
//!
//! It only names them; the models themselves are made by the caller, who has the keys and the files.
//! Those that are reached over HTTP are data: `named_endpoint.rs`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use metier_skill::nearest;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::named_endpoint::{NAMED_ENDPOINTS, NamedEndpoint};

/// The provider that is asked for decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// A server that is reached over HTTP.
    Endpoint(&'static NamedEndpoint),
    /// A fixed sequence of decisions from a file, for tests.
    Scripted,
    /// The decisions of a recorded run.
    Replay,
    /// Offline: picks skills by their descriptions, without a model.
    Router,
    /// Whatever needs no model: [`Provider::Scripted`] where a script is named, else
    /// [`Provider::Router`].
    Mock,
}

/// A word that names no provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown provider `{0}`")]
pub struct UnknownProvider(pub String);

impl UnknownProvider {
    /// The provider that was likely meant.
    pub fn nearest(&self) -> Option<&'static str> {
        nearest(&self.0, Provider::all().map(Provider::as_str))
    }
}

impl Provider {
    /// Every provider, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [Self::Scripted, Self::Replay, Self::Router, Self::Mock];
        NAMED_ENDPOINTS.iter().map(Self::Endpoint).chain(others)
    }

    /// The name in settings, flags and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Endpoint(endpoint) => endpoint.name,
            Self::Scripted => "scripted",
            Self::Replay => "replay",
            Self::Router => "router",
            Self::Mock => "mock",
        }
    }

    /// What it is, in one sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Endpoint(endpoint) => endpoint.about,
            Self::Scripted => "A fixed sequence of decisions from a file, for tests.",
            Self::Replay => "The decisions of a recorded run.",
            Self::Router => "Offline: picks skills by their descriptions, without a model.",
            Self::Mock => {
                "Needs no model: the script in `name`, in your own file; otherwise the same as \
                 `router`."
            }
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(word: &str) -> Result<Self, UnknownProvider> {
        let found = Self::all().find(|provider| provider.as_str() == word);
        found.ok_or_else(|| UnknownProvider(word.to_owned()))
    }
}

impl Serialize for Provider {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Provider {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<str>::deserialize(deserializer)?;
        word.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Provider {
    fn schema_name() -> Cow<'static, str> {
        "Provider".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choice = |provider: Self| {
            json!({
                "const": provider.as_str(), "description": provider.about(), "type": "string"
            })
        };
        let choices: Vec<Value> = Self::all().map(choice).collect();
        json_schema!({ "description": "The provider that is asked for decisions.", "oneOf": choices })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_written_and_read_by_the_same_word() {
        for provider in Provider::all() {
            assert_eq!(provider.as_str().parse(), Ok(provider));
            let text = serde_json::to_string(&provider).expect("json");
            assert_eq!(text, format!("{:?}", provider.as_str()));
            assert_eq!(serde_json::from_str::<Provider>(&text).expect("a provider"), provider);
        }
        let error = "opanai".parse::<Provider>().expect_err("no such provider");
        assert_eq!(error.to_string(), "unknown provider `opanai`");
        assert_eq!(error.nearest(), Some("openai"));
    }
}
