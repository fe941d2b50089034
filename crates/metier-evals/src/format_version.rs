//! The version of a format as it is read: a file of another version is refused, and never half understood.
//!
//! Plans, results and reports carry theirs in `format`; every reader comes through here by deserialising.

use serde::de::{Deserialize, Deserializer, Error};

/// Reads a version, which must be `KNOWN`.
pub(crate) fn known<'de, D, const KNOWN: u32>(deserializer: D) -> Result<u32, D::Error>
where
    D: Deserializer<'de>,
{
    let found = u32::deserialize(deserializer)?;
    if found == KNOWN {
        return Ok(found);
    }
    let message = format!("it has the format {found}, and this program reads {KNOWN}");
    Err(D::Error::custom(message))
}
