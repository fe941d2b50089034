//! The tiers of confinement, and the rule that nothing runs below the least one asked for.
//!
//! A tier is a promise about what a script cannot do. It is found by a probe that tries forbidden
//! acts (`probe`), never by looking at version numbers, and is recorded with every run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// How firmly a process is held, weakest first: the order is the comparison.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// No confinement: only limits, a clean environment and a clean end.
    None,
    /// The Seatbelt sandbox of macOS. Not supported yet: scripts are refused.
    Macos,
    /// Landlock and seccomp, below a subreaper.
    Medium,
    /// Namespaces with minimal mounts, and all of `medium` inside them.
    Strong,
}

impl Tier {
    /// The word in JSON, in settings and on the terminal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Macos => "macos",
            Self::Medium => "medium",
            Self::Strong => "strong",
        }
    }

    /// What runs where nobody asked for less.
    pub const LEAST_BY_DEFAULT: Self = Self::Medium;
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Tier {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        [Self::None, Self::Macos, Self::Medium, Self::Strong]
            .into_iter()
            .find(|tier| tier.as_str() == text)
            .ok_or_else(|| Error::UnknownTier { word: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_tiers_is_the_order_of_strength() {
        assert!(Tier::None < Tier::Macos && Tier::Macos < Tier::Medium);
        assert!(Tier::Medium < Tier::Strong);
    }

    #[test]
    fn a_tier_is_read_from_the_word_it_is_shown_as() {
        for tier in [Tier::None, Tier::Macos, Tier::Medium, Tier::Strong] {
            assert_eq!(tier.as_str().parse::<Tier>().ok(), Some(tier));
        }
        assert!("weak".parse::<Tier>().is_err());
    }
}
