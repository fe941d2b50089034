//! What happens to a request: denied, asked about, or allowed. The order is the whole algebra.
//!
//! Every join in this crate takes the minimum, so no join can widen.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens to a request, strictest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It is refused.
    Deny,
    /// You are asked first.
    Ask,
    /// It is done without asking.
    Allow,
}

impl Effect {
    /// The word used in files, JSON and sentences.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }

    /// The stricter of the two.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        self.min(other)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
