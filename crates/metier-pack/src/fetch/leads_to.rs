//! Where foreign text of a source would lead: every parser of it at once, for the fuzz target.
//! Nothing else calls this; it is here because the parsers are private.

use std::path::Path;

use metier_net::Url;

use super::oci::named_in;
use super::well_known::urls_in;
use crate::source::{InstallSource, parse_source};

/// The names of files that a manifest in `bytes` gives, and that would be written.
#[doc(hidden)]
pub fn fetched_names(bytes: &[u8]) -> Vec<String> {
    named_in(bytes)
}

/// The URLs that a list of skills in `bytes` would lead to from `https://x.test/`.
#[doc(hidden)]
pub fn fetched_urls(bytes: &[u8]) -> Vec<String> {
    let at: Result<Url, _> = "https://x.test/.well-known/agent-skills/index.json".parse();
    at.map(|at| urls_in(bytes, &at)).unwrap_or_default()
}

/// What the records say about the source in `text`, where it is one that our own HTTP client fetches.
#[doc(hidden)]
pub fn recorded_source(text: &str) -> Option<String> {
    let nowhere = Path::new("/nonexistent");
    match parse_source(text, nowhere, nowhere).ok()? {
        InstallSource::Local(_) | InstallSource::Git(_) => None,
        source => Some(source.recorded()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_recorded_source_is_read_as_itself(
            text in "((oci|https|http|git|ssh)://)?[a-zA-Z0-9.:@/#_=-]{0,30}"
        ) {
            if let Some(recorded) = recorded_source(&text) {
                prop_assert_eq!(recorded_source(&recorded), Some(recorded.clone()), "{}", text);
            }
        }
    }
}
