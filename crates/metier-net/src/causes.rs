//! Why a request failed, for messages.
//! The error's own words are left out: they hold the URL with all it may carry.

use std::error::Error as StdError;
use std::io;

/// The causes of an error, outermost first, each once.
pub fn causes(error: &reqwest::Error) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !causes.contains(&words) {
            causes.push(words);
        }
        cause = error.source();
    }
    causes
}

/// Whether the cause is the safety of the connection. An error inside an `io::Error` is not among its
/// sources, so it is looked for there.
pub fn is_tls(error: &(dyn StdError + 'static)) -> bool {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if error.is::<rustls::Error>() || inner.is_some_and(|inner| is_tls(inner)) {
            return true;
        }
        cause = error.source();
    }
    false
}
