//! What a provider says when it does not answer: its kind, its words, whether to try again.
//!
//! Pure. Providers agree on no shape and on few codes, and some say 200 with an error inside, so
//! everything that is said is looked at: the status, the type, the code and the words.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::model::{ModelError, ModelErrorKind};
use crate::retry::Hint;

mod words;

pub(crate) use words::shown;
use words::{ErrorWords, is_overflow};

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What the caller hears when no attempt follows.
    pub error: ModelError,
    /// Whether another attempt makes sense, where that does not follow from the kind.
    pub again: Option<bool>,
    /// The request's field that the provider complains about, where it names one.
    pub field: Option<String>,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { error: ModelError::new(kind, message), again: None, field: None }
    }

    /// The same, and another attempt would end in the same way.
    #[must_use]
    pub fn for_good(mut self) -> Self {
        self.again = Some(false);
        self
    }

    /// Whether another attempt may succeed.
    pub fn is_retryable(&self) -> bool {
        self.again.unwrap_or(self.error.kind.is_retryable())
    }

    /// How long the provider asks to wait.
    pub fn wait(&self) -> Option<Duration> {
        self.error.retry_after_ms.map(Duration::from_millis)
    }

    /// The failure that an error object inside a reply of status 200 tells of; nothing where `value`
    /// is no error.
    pub fn inside(value: &Value) -> Option<Self> {
        let words = ErrorWords::find(value)?;
        let status = words.status;
        Some(Self::from_words(status, words, Hint::default()))
    }

    /// The failure that a reply with a status other than 2xx tells of.
    pub fn of_status<'a>(
        status: u16,
        header: impl Fn(&str) -> Option<&'a str>,
        body: &[u8],
        now: SystemTime,
    ) -> Self {
        let text = String::from_utf8_lossy(body);
        let words = ErrorWords::in_body(&text);
        if (300..400).contains(&status) {
            return redirect(status, header("location"));
        }
        Self::from_words(Some(status), words, Hint::read(header, &text, now))
    }

    fn from_words(status: Option<u16>, words: ErrorWords, hint: Hint) -> Self {
        let kind = kind_of(status, &words);
        let said = shown(&words.message);
        let message = match (status, said.is_empty()) {
            (Some(status), true) => format!("the provider replied with status {status}"),
            (Some(status), false) => format!("the provider replied with status {status}: {said}"),
            (None, _) => format!("the provider reports: {said}"),
        };
        let mut error = ModelError::new(kind, message);
        error.status = status;
        let wait = hint.wait.or_else(|| crate::retry::wait_in_words(&words.message));
        error.retry_after_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let again = hint.again.or_else(|| words.is_hopeless(status).then_some(false));
        Self { error, again, field: words.field }
    }
}

fn redirect(status: u16, location: Option<&str>) -> Failure {
    // What stands after `?` may be a token.
    let to = location.and_then(|to| to.split(['?', '#']).next()).map(shown).unwrap_or_default();
    let message = format!(
        "the server sends us on (status {status}) to `{to}`; that is not followed, because the key \
         must not travel"
    );
    let mut failure = Failure::new(ModelErrorKind::NotFound, message).for_good();
    failure.error.status = Some(status);
    failure
}

fn kind_of(status: Option<u16>, words: &ErrorWords) -> ModelErrorKind {
    use ModelErrorKind as Kind;
    let is_about_the_request = matches!(status, None | Some(400 | 413 | 422 | 500));
    if is_about_the_request && is_overflow(words) {
        return Kind::ContextOverflow;
    }
    let by_name = words.kind();
    match status {
        Some(401..=403) => Kind::Unauthorized,
        Some(404 | 405 | 410) => Kind::NotFound,
        Some(408 | 504 | 524) => Kind::TimedOut,
        Some(425 | 429) => Kind::RateLimited,
        Some(503 | 529) => Kind::Overloaded,
        // A proxy in front of a provider turns its status into its own and keeps the words.
        Some(500..) => {
            by_name.filter(|kind| *kind == Kind::Overloaded).unwrap_or(Kind::ServerError)
        }
        Some(409) => Kind::ServerError,
        Some(_) => {
            let is_specific = |kind: &Kind| matches!(kind, Kind::Unauthorized | Kind::NotFound);
            by_name.filter(is_specific).unwrap_or(Kind::BadRequest)
        }
        None => by_name.unwrap_or(Kind::ServerError),
    }
}

#[cfg(test)]
mod tests;
