//! The providers by the names that settings, flags and records use.
//!
//! It only names them; the models themselves are made by the caller, who has the keys and the files.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The provider that is asked for decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// `OpenAI`, and every server that speaks its protocol.
    Openai,
    /// Anthropic's Messages API.
    Anthropic,
    /// A fixed sequence of decisions from a file, for tests.
    #[serde(alias = "mock")]
    #[schemars(extend("x-metier-aliases" = ["mock"]))]
    Scripted,
    /// The decisions of a recorded run.
    Replay,
    /// Offline: picks skills by their descriptions, without a model.
    Router,
}

/// A word that names no provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown provider `{0}`")]
pub struct UnknownProvider(pub String);

impl Provider {
    /// The name in settings, flags and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Scripted => "scripted",
            Self::Replay => "replay",
            Self::Router => "router",
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
        match word {
            "openai" => Ok(Self::Openai),
            "anthropic" => Ok(Self::Anthropic),
            "scripted" | "mock" => Ok(Self::Scripted),
            "replay" => Ok(Self::Replay),
            "router" => Ok(Self::Router),
            other => Err(UnknownProvider(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_written_and_read_by_the_same_word() {
        for provider in [
            Provider::Openai,
            Provider::Anthropic,
            Provider::Scripted,
            Provider::Replay,
            Provider::Router,
        ] {
            assert_eq!(provider.as_str().parse(), Ok(provider));
            assert_eq!(serde_json::to_value(provider).expect("json"), provider.as_str());
        }
        assert_eq!("mock".parse(), Ok(Provider::Scripted));
        let error = "opanai".parse::<Provider>().expect_err("no such provider");
        assert_eq!(error.to_string(), "unknown provider `opanai`");
    }
}
