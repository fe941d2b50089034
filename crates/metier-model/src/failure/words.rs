//! The words of an error, out of every shape that providers give them.
//! What they mean is decided in `failure`.

use metier_skill::text::{clip, fold_line};
use serde_json::Value;

use crate::model::ModelErrorKind;

/// Characters of a provider's words that are passed on.
const SHOWN: usize = 600;

/// What an error object says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ErrorWords {
    pub(super) message: String,
    /// `code` and `type`, as they are written.
    pub(super) names: Vec<String>,
    /// A code that is a status of HTTP.
    pub(super) status: Option<u16>,
    /// The field that is complained about.
    pub(super) field: Option<String>,
}

/// How providers and the servers people run say that a prompt is too long: in small letters.
const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "contextwindowexceeded",
    "context_window_exceeded",
    "model_context_window_exceeded",
    "string_above_max_length",
    "maximum context length",
    "maximum prompt length",
    "available context size",
    "context window",
    "context length",
    "context size",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "input length and `max_tokens` exceed",
    "too many tokens in the prompt",
    "input token count",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
    "reduce the length of either one",
];

/// Whether the words say that the prompt is larger than the window.
pub(super) fn is_overflow(words: &ErrorWords) -> bool {
    let message = words.message.to_ascii_lowercase();
    let named = |name: &String| {
        let name = name.to_ascii_lowercase();
        OVERFLOW.iter().any(|known| name.contains(known))
    };
    words.names.iter().any(named) || OVERFLOW.iter().any(|known| message.contains(known))
}

impl ErrorWords {
    /// The error in a JSON value; nothing where it holds none.
    pub(super) fn find(value: &Value) -> Option<Self> {
        match value {
            // Some give a list with one error in it.
            Value::Array(items) => items.first().and_then(Self::find),
            Value::Object(map) => {
                let is_error = |key: &str| map.get(key).and_then(Value::as_str) == Some("error");
                match map.get("error") {
                    Some(Value::Object(_) | Value::String(_)) => Some(Self::of(&map["error"])),
                    Some(Value::Bool(true)) => Some(Self::of(value)),
                    _ if is_error("object") || is_error("type") => Some(Self::of(value)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The error in the body of a failed request: JSON of any shape, events, a page, plain words.
    pub(super) fn in_body(text: &str) -> Self {
        let start = text.trim_start_matches('\u{feff}').trim_start();
        if start.starts_with(['{', '[']) {
            return serde_json::Deserializer::from_str(start)
                .into_iter::<Value>()
                .next()
                .and_then(Result::ok)
                .map_or_else(|| Self::plain(start), |value| Self::find_or_whole(&value));
        }
        let mut data = text.lines().filter_map(|line| line.trim_start().strip_prefix("data:"));
        let found = data.find_map(|line| Self::find(&serde_json::from_str(line.trim()).ok()?));
        found.unwrap_or_else(|| Self::plain(&without_tags(start)))
    }

    fn find_or_whole(value: &Value) -> Self {
        Self::find(value).unwrap_or_else(|| Self::of(value))
    }

    fn plain(text: &str) -> Self {
        Self { message: text.to_owned(), ..Self::default() }
    }

    fn of(error: &Value) -> Self {
        if let Some(text) = error.as_str() {
            return Self::plain(text);
        }
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        };
        let first = |keys: &[&str]| keys.iter().find_map(|key| text(error.get(key)?));
        let message = first(&["message", "detail", "msg", "error_message", "error", "reason"]);
        let mut message = message.unwrap_or_else(|| error.to_string());
        // A router says "Provider returned error" and keeps the provider's own words here.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(text) {
            message = format!("{message}: {raw}");
        }
        let code = error.get("code").or_else(|| error.get("status"));
        let status = code.and_then(|code| match code {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        });
        // A code says more than a type: `model_not_found` is an `invalid_request_error`.
        let names = ["code", "type", "status"].iter();
        Self {
            message,
            names: names.filter_map(|key| error.get(key)?.as_str().map(str::to_owned)).collect(),
            status: status.and_then(|s| u16::try_from(s).ok()).filter(|s| (400..600).contains(s)),
            field: error.get("param").and_then(Value::as_str).map(str::to_owned),
        }
    }

    /// The kind that the names stand for.
    pub(super) fn kind(&self) -> Option<ModelErrorKind> {
        use ModelErrorKind as Kind;
        self.names.iter().find_map(|name| {
            Some(match name.to_ascii_lowercase().as_str() {
                "rate_limit_error"
                | "rate_limit_exceeded"
                | "insufficient_quota"
                | "too_many_requests"
                | "resource_exhausted" => Kind::RateLimited,
                "overloaded_error"
                | "overloaded"
                | "unavailable"
                | "unavailable_error"
                | "service_unavailable"
                | "engine_overloaded_error" => Kind::Overloaded,
                "authentication_error"
                | "permission_error"
                | "invalid_api_key"
                | "permission_denied"
                | "unauthenticated"
                | "billing_error" => Kind::Unauthorized,
                "not_found_error" | "model_not_found" | "not_found" => Kind::NotFound,
                "timeout_error" | "timeout" => Kind::TimedOut,
                "invalid_request_error"
                | "request_too_large"
                | "invalid_prompt"
                | "invalid_argument"
                | "badrequesterror" => Kind::BadRequest,
                "api_error" | "server_error" | "internal_server_error" | "internal" => {
                    Kind::ServerError
                }
                _ => return None,
            })
        })
    }

    /// Whether waiting does not help although the status sounds so: no money, nothing built in.
    pub(super) fn is_hopeless(&self, status: Option<u16>) -> bool {
        self.names.iter().any(|name| name == "insufficient_quota" || name == "billing_error")
            || matches!(status, Some(501 | 505))
    }
}

/// The text of a page, without its tags.
fn without_tags(text: &str) -> String {
    if !text.starts_with('<') {
        return text.to_owned();
    }
    let mut out = String::new();
    for piece in text.split('<').skip(1) {
        out.push_str(piece.split_once('>').map_or("", |(_, after)| after));
        out.push(' ');
    }
    out
}

/// A provider's words as we show them: one line, not too long.
pub(crate) fn shown(text: &str) -> String {
    clip(&fold_line(text), SHOWN).into_owned()
}
