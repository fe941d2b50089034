//! Where a skill comes from, and the id that says so: `source:name`.
//!
//! A name is what people type; an id stays unique when two sources hold a skill of that name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::SkillName;

/// Where a skill was found. The order is the order of precedence, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A root the user named for this call (`--root`, `METIER_SKILLS_DIR`).
    Explicit,
    /// A folder of the project, from the working directory up to the repository root.
    Project,
    /// A folder of the user's home.
    User,
    /// A plugin's folder in the plugin cache.
    Plugin,
    /// Compiled into the binary.
    Builtin,
}

/// The text names no source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownSource;

impl fmt::Display for UnknownSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a source is one of explicit, project, user, plugin, builtin")
    }
}

impl std::error::Error for UnknownSource {}

impl Source {
    /// All sources, highest precedence first.
    pub const ALL: [Self; 5] =
        [Self::Explicit, Self::Project, Self::User, Self::Plugin, Self::Builtin];

    /// The word used in ids, JSON, flags and tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Project => "project",
            Self::User => "user",
            Self::Plugin => "plugin",
            Self::Builtin => "builtin",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Source {
    type Err = UnknownSource;

    fn from_str(text: &str) -> Result<Self, UnknownSource> {
        Self::ALL.into_iter().find(|source| source.as_str() == text).ok_or(UnknownSource)
    }
}

/// A skill's id: its source and its name, written `source:name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillId {
    /// Where it was found.
    pub source: Source,
    /// Its name there.
    pub name: SkillName,
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.name)
    }
}

impl FromStr for SkillId {
    type Err = UnknownSource;

    /// Reads `source:name` and `name@source`.
    fn from_str(text: &str) -> Result<Self, UnknownSource> {
        let front = text.split_once(':').and_then(|(s, n)| Some((s.parse().ok()?, n)));
        let (source, name) = if let Some(pair) = front {
            pair
        } else {
            let (name, source) = text.rsplit_once('@').ok_or(UnknownSource)?;
            (source.parse()?, name)
        };
        let name = SkillName::new(name).map_err(|_| UnknownSource)?;
        Ok(Self { source, name })
    }
}

impl Serialize for SkillId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SkillId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_an_id_are_read() {
        let id: SkillId = "user:pdf".parse().expect("source:name");
        assert_eq!("pdf@user".parse(), Ok(id.clone()));
        assert_eq!(id.to_string(), "user:pdf");
        let plugin: SkillId = "plugin:docs:pdf".parse().expect("qualified plugin name");
        assert_eq!(plugin.name.as_str(), "docs:pdf");
        assert_eq!("docs:pdf".parse::<SkillId>(), Err(UnknownSource));
        assert_eq!("pdf".parse::<SkillId>(), Err(UnknownSource));
    }
}
