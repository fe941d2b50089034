//! What a request wants to do, by the name of the tool that does it, and how much harm that can do.
//!
//! The names are those of the built-in tools. Any other name is kept as it is: another program may
//! bring its own tools, and without a declared risk they count as the most dangerous kind.

use std::fmt;

use metier_skill::own_tools;
use serde::{Deserialize, Serialize};

use crate::error::PolicyError;
use crate::tool_names::named_tool;

/// Characters that the name of a permission may have.
const MAX_NAME: usize = 200;

/// What a request wants to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Permission {
    /// Reading the body or a file of a skill as instructions.
    LoadSkill,
    /// Reading a file.
    ReadFile,
    /// Listing a directory.
    ListDir,
    /// Searching in files.
    Grep,
    /// Running a script of a skill.
    RunScript,
    /// Running a command.
    RunCommand,
    /// Writing a file.
    WriteFile,
    /// Deleting a file.
    DeleteFile,
    /// Reaching the network.
    NetworkRequest,
    /// A script that runs with the network open. No host can be named: it reaches all or none.
    ScriptNetwork,
    /// A tool that is not built in.
    Other(ForeignToolName),
}

/// The name of a tool that is not built in. Only [`Permission::named`] makes one, so it is never that
/// of a built-in tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForeignToolName(Box<str>);

/// How much harm a tool can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// It reads.
    Low,
    /// It runs a script from a skill, in a sandbox.
    Medium,
    /// It changes, sends, or could do anything.
    High,
}

/// How a tool touches a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Delete,
}

/// The built-in tools: the name and the aliases of each.
const WORDS: &[(Permission, &str, &[&str])] = &[
    (Permission::LoadSkill, own_tools::LOAD_SKILL, &["skill"]),
    (Permission::ReadFile, own_tools::READ_FILE, &[]),
    (Permission::ListDir, own_tools::LIST_DIR, &[]),
    (Permission::Grep, own_tools::GREP, &[]),
    (Permission::RunScript, own_tools::RUN_SCRIPT, &[]),
    (Permission::RunCommand, own_tools::RUN_COMMAND, &[]),
    (Permission::WriteFile, own_tools::WRITE_FILE, &[]),
    (Permission::DeleteFile, own_tools::DELETE_FILE, &[]),
    (Permission::NetworkRequest, own_tools::NETWORK_REQUEST, &["network"]),
    (Permission::ScriptNetwork, own_tools::SCRIPT_NETWORK, &[]),
];

impl Permission {
    /// Every built-in permission, in the order of the documentation.
    pub fn ours() -> impl Iterator<Item = Self> {
        WORDS.iter().map(|(permission, _, _)| permission.clone())
    }

    /// Other words that mean it in rules and settings.
    pub fn aliases(&self) -> &'static [&'static str] {
        let own = WORDS.iter().find(|(permission, _, _)| permission == self);
        own.map_or(&[], |(_, _, aliases)| aliases)
    }

    /// The permission called `name`.
    pub fn named(name: &str) -> Result<Self, PolicyError> {
        let ours = WORDS.iter().find(|(_, word, aliases)| *word == name || aliases.contains(&name));
        if let Some((permission, _, _)) = ours {
            return Ok(permission.clone());
        }
        let odd = |ch: char| ch.is_control() || ch.is_whitespace();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(odd) {
            return Err(PolicyError::BadPermission(name.to_owned()));
        }
        Ok(Self::Other(ForeignToolName(name.into())))
    }

    /// The permission of a tool that is not built in. The name of a built-in tool, or an alias of one in
    /// rules and `allowed-tools`, is refused: a rule with that name would cover both.
    pub fn foreign(name: &str) -> Result<Self, PolicyError> {
        let means_ours = named_tool(name).is_some_and(|tool| !tool.means.is_empty());
        match Self::named(name)? {
            permission @ Self::Other(_) if !means_ours => Ok(permission),
            _ => Err(PolicyError::ReservedName(name.to_owned())),
        }
    }

    /// The word used in rules, JSON and sentences.
    pub fn as_str(&self) -> &str {
        match self {
            Self::LoadSkill => own_tools::LOAD_SKILL,
            Self::ReadFile => own_tools::READ_FILE,
            Self::ListDir => own_tools::LIST_DIR,
            Self::Grep => own_tools::GREP,
            Self::RunScript => own_tools::RUN_SCRIPT,
            Self::RunCommand => own_tools::RUN_COMMAND,
            Self::WriteFile => own_tools::WRITE_FILE,
            Self::DeleteFile => own_tools::DELETE_FILE,
            Self::NetworkRequest => own_tools::NETWORK_REQUEST,
            Self::ScriptNetwork => own_tools::SCRIPT_NETWORK,
            Self::Other(name) => &name.0,
        }
    }

    /// How much harm it can do. What is not ours could do anything.
    pub const fn risk(&self) -> Risk {
        match self {
            Self::LoadSkill | Self::ReadFile | Self::ListDir | Self::Grep => Risk::Low,
            Self::RunScript => Risk::Medium,
            Self::RunCommand
            | Self::WriteFile
            | Self::DeleteFile
            | Self::NetworkRequest
            | Self::ScriptNetwork
            | Self::Other(_) => Risk::High,
        }
    }

    /// How it touches a file that it is about.
    pub(crate) const fn access(&self) -> Access {
        match self {
            Self::LoadSkill | Self::ReadFile | Self::ListDir | Self::Grep => Access::Read,
            Self::DeleteFile => Access::Delete,
            _ => Access::Write,
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

impl TryFrom<String> for Permission {
    type Error = PolicyError;

    fn try_from(name: String) -> Result<Self, PolicyError> {
        Self::named(&name)
    }
}

impl From<Permission> for String {
    fn from(permission: Permission) -> Self {
        permission.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_permissions_agree() {
        for (permission, word, aliases) in WORDS {
            assert_eq!(permission.as_str(), *word);
            for name in aliases.iter().chain([word]) {
                assert_eq!(Permission::named(name).as_ref(), Ok(permission));
            }
        }
    }

    #[test]
    fn a_foreign_name_is_high_risk_and_a_bad_one_is_none() {
        let foreign = Permission::named("mcp__x__y").expect("a name");
        assert_eq!(foreign.risk(), Risk::High);
        for bad in ["", "a b", "a\u{7}", &"x".repeat(201)] {
            assert_eq!(Permission::named(bad).map_err(|e| e.code()), Err("bad-permission"));
        }
    }
}
