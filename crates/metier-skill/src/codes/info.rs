//! What a diagnostic code says about itself: its spelling, its severity in a profile, its advice.
//! The table of codes is the parent module's.

use serde::{Serialize, Serializer};

use super::Code;
use crate::diagnostic::Severity;
use crate::limits::Profile;

/// Everything documented about a code.
#[derive(Debug, Clone, Copy)]
pub struct CodeInfo {
    /// The stable spelling.
    pub code: &'static str,
    /// What was found, in a few words.
    pub what: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// How to fix it.
    pub fix_advice: &'static str,
    /// Other tools that reject the same thing.
    pub rejected_by: &'static [&'static str],
    pub(super) strict: Option<Severity>,
    pub(super) lenient: Option<Severity>,
    pub(super) spec: Option<Severity>,
}

impl Code {
    /// The stable spelling, such as `yaml-unquoted-colon`.
    pub const fn as_str(self) -> &'static str {
        self.info().code
    }

    /// How severe this is under `profile`; `None` when that profile does not care.
    pub const fn severity(self, profile: Profile) -> Option<Severity> {
        match profile {
            Profile::Strict => self.info().strict,
            Profile::Lenient => self.info().lenient,
            Profile::Spec => self.info().spec,
        }
    }

    /// The code with this spelling.
    pub fn find(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
