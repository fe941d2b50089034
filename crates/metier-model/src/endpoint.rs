//! Where a model is, who we are there, and how long we wait: the settings of an adapter.
//!
//! A key is only ever sent, as a header. It is in no message, no log and no `Debug`.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::model::{ModelError, ModelErrorKind, OutputMode};
use crate::retry::RetryPolicy;

/// What is shorter (`none`, `ollama`) is a word and no secret.
const SHORTEST_SECRET: usize = 8;

/// An API key that is never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// This key, without blanks and line breaks around it.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// Whether there is none; servers on one's own machine want none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The value that must not be shown anywhere; nothing where it is so short that it is a word.
    pub fn to_mask(&self) -> Option<&str> {
        (self.0.len() >= SHORTEST_SECRET).then_some(self.reveal())
    }

    /// `text` without the key. Providers repeat a wrong key in their reply, some with stars in it;
    /// so a word that begins or ends like the key goes too.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        const SHORTEST: usize = SHORTEST_SECRET;
        let key = self.reveal();
        if key.len() < SHORTEST || !key.is_ascii() {
            return text.to_owned();
        }
        let text = text.replace(key, HIDDEN);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.');
        let alike = |word: &str| {
            word.len() >= SHORTEST
                && (word.starts_with(&key[..SHORTEST])
                    || word.ends_with(&key[key.len() - SHORTEST..])
                    || key.contains(word.trim_matches(['*', '.'])) && word.len() >= SHORTEST
                    || word.contains("**") && word.ends_with(&key[key.len() - 4..]))
        };
        let mut shown = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            shown.push_str(if alike(word) { HIDDEN } else { word });
            let next = after.find(is_part).unwrap_or(after.len());
            shown.push_str(&after[..next]);
            rest = &after[next..];
        }
        shown
    }
}

const HIDDEN: &str = "[key]";

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "no key" } else { HIDDEN })
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.is_empty() { "" } else { HIDDEN })
    }
}

/// For the first byte of a stream that comes from elsewhere.
const USUAL_FIRST_BYTE: Duration = Duration::from_mins(2);

/// How long we wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the first byte of a stream. A whole reply comes only when it is written, so there the
    /// time for all of it counts. Nothing: two minutes, or all of the time where the parameter
    /// `timeout_s` is set or the model is on this machine, which may read a prompt that slowly.
    pub first_byte: Option<Duration>,
    /// Between two pieces.
    pub idle: Duration,
    /// For all of it: every attempt, and the waits between them.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: None,
            idle: Duration::from_mins(1),
            whole: Duration::from_mins(10),
        }
    }
}

impl Timeouts {
    /// With the time that a person set for all of it, and that for the first byte.
    pub(crate) fn resolved(mut self, whole: Option<Duration>, url: &Url) -> Self {
        self.whole = whole.unwrap_or(self.whole);
        let is_patient = whole.is_some() || metier_net::is_this_machine(url);
        let first_byte = if is_patient { self.whole } else { USUAL_FIRST_BYTE };
        self.first_byte.get_or_insert(first_byte);
        self
    }
}

/// Where a model is and how it is asked.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The name of the provider in records; nothing: that of the protocol.
    pub provider: Option<String>,
    /// The address; nothing: the provider's own.
    pub base_url: Option<String>,
    /// The model's name there.
    pub model: String,
    /// The key.
    pub key: Key,
    /// Where the key came from, such as "the key is the one in `OPENAI_API_KEY`"; added to the message
    /// when the provider does not accept it.
    pub key_origin: Option<String>,
    /// Fields of the request, passed as they are. These are ours and taken out: `timeout_s` (for all
    /// of it), `max_tokens` (of a reply, in place of the turn's), `window`, `stream`, `output`
    /// (`auto`, `json_schema`, `tool_call` or `prompted`), `reasoning_effort` or `effort` (put where
    /// the protocol has it), and for [`crate::OpenAi`] `api` (`chat` or `responses`).
    pub params: Map<String, Value>,
    /// How long we wait.
    pub timeouts: Timeouts,
    /// How often we try.
    pub retry: RetryPolicy,
    /// Bytes of a reply.
    pub reply_limit: usize,
}

impl Endpoint {
    /// The model of this name at the provider's own address, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            provider: None,
            base_url: None,
            model: model.into(),
            key: Key::default(),
            key_origin: None,
            params: Map::new(),
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
            reply_limit: 8 << 20,
        }
    }
}

/// What of the params is ours, checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wishes {
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) window: Option<u32>,
    pub(crate) output: Option<OutputMode>,
    pub(crate) stream: Option<bool>,
    pub(crate) effort: Option<String>,
    /// The rest: fields of the request.
    pub(crate) rest: Map<String, Value>,
}

/// Fields that make the request what it is; a setting that changes them breaks the adapter.
const OURS: &[&str] = &[
    "model",
    "messages",
    "input",
    "instructions",
    "system",
    "tools",
    "tool_choice",
    "stream_options",
    "n",
    "api",
];

impl Wishes {
    pub(crate) fn read(params: &Map<String, Value>) -> Result<Self, ModelError> {
        let mut rest = params.clone();
        let wrong = |key: &str, wanted: &str| config(format!("`params.{key}` must be {wanted}"));
        let mut whole = |key: &str| {
            let number = rest.remove(key).map(|value| {
                let number = value.as_u64().and_then(|n| u32::try_from(n).ok());
                number.filter(|n| *n > 0).ok_or_else(|| wrong(key, "a whole number above 0"))
            });
            number.transpose()
        };
        let newer = whole("max_completion_tokens")?.or(whole("max_output_tokens")?);
        let max_tokens = whole("max_tokens")?.or(newer);
        let window = whole("window")?;
        let timeout = rest.remove("timeout_s").map(|value| {
            let seconds = value.as_f64().filter(|s| *s > 0.0 && *s <= 86_400.0);
            let seconds =
                seconds.ok_or_else(|| wrong("timeout_s", "a number of seconds, up to a day"));
            Ok::<_, ModelError>(Duration::from_secs_f64(seconds?))
        });
        let stream = rest
            .remove("stream")
            .map(|value| value.as_bool().ok_or_else(|| wrong("stream", "true or false")));
        let output = match rest.remove("output").as_ref().map(|value| value.as_str().unwrap_or(""))
        {
            None | Some("auto") => None,
            Some("json_schema") => Some(OutputMode::JsonSchema),
            Some("tool_call") => Some(OutputMode::ToolCall),
            Some("prompted") => Some(OutputMode::Prompted),
            Some(_) => return Err(wrong("output", "auto, json_schema, tool_call or prompted")),
        };
        let mut effort = None;
        for key in ["effort", "reasoning_effort"] {
            match rest.remove(key) {
                None => {}
                Some(Value::String(word)) => effort = Some(word),
                Some(_) => return Err(wrong(key, "a word, such as low or high")),
            }
        }
        if let Some(ours) = OURS.iter().find(|key| rest.contains_key(**key)) {
            return Err(config(format!(
                "`params.{ours}` cannot be set; it is part of the request"
            )));
        }
        if rest.contains_key("response_format") && output != Some(OutputMode::Prompted) {
            let message =
                "`params.response_format` can only be set together with `output: prompted`";
            return Err(config(message));
        }
        let (timeout, stream) = (timeout.transpose()?, stream.transpose()?);
        Ok(Self { timeout, max_tokens, window, output, stream, effort, rest })
    }
}

/// The address to send to: `path` below `base`, unless it ends so already.
pub(crate) fn address(base: &str, path: &[&str]) -> Result<Url, ModelError> {
    // The text is not shown: a password could stand in it.
    let mut url = Url::parse(base.trim())
        .map_err(|error| config(format!("the address of the model is not a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(config("the address of the model must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(config("the address of the model has a user name or password in it"));
    }
    url.set_fragment(None);
    let has: Vec<String> = url
        .path_segments()
        .map(|parts| parts.filter(|part| !part.is_empty()).map(str::to_owned).collect())
        .unwrap_or_default();
    // `…/v1` and `…/v1/messages` are as good as the bare host.
    let overlap = (0..=path.len().min(has.len()))
        .rev()
        .find(|n| has[has.len() - n..].iter().eq(path[..*n].iter()))
        .unwrap_or(0);
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.clear().extend(&has).extend(&path[overlap..]);
    }
    Ok(url)
}

/// Whether an endpoint is of this machine: `localhost`, a name below it, `127.0.0.1`, `[::1]`.
pub fn is_on_this_machine(base_url: &str) -> bool {
    let is_below = |url: &Url| url.host_str().is_some_and(|host| host.ends_with(".localhost"));
    Url::parse(base_url.trim()).is_ok_and(|url| metier_net::is_this_machine(&url) || is_below(&url))
}

/// Whether others can read what is sent to an endpoint: it is not encrypted, and leaves this machine.
pub fn is_readable_on_the_way(base_url: &str) -> bool {
    Url::parse(base_url.trim())
        .is_ok_and(|url| url.scheme() != "https" && !metier_net::is_this_machine(&url))
}

/// Whether two addresses are of one server, reached in the same way.
pub fn is_same_server(one: &str, other: &str) -> bool {
    match (Url::parse(one.trim()), Url::parse(other.trim())) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}

/// The address without what may be secret in it.
pub(crate) fn place(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

pub(crate) fn config(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Config, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wishes(params: &Value) -> Result<Wishes, String> {
        let map = params.as_object().expect("an object").clone();
        Wishes::read(&map).map_err(|error| error.message)
    }

    #[test]
    fn a_model_on_this_machine_and_one_with_a_time_of_its_own_may_be_slow_to_begin() {
        let first_byte = |base: &str, whole: Option<u64>| {
            let url = address(base, &[]).expect("a URL");
            let whole = whole.map(Duration::from_secs);
            Timeouts::default().resolved(whole, &url).first_byte.map(|it| it.as_secs())
        };
        assert_eq!(first_byte("https://models.example/v1", None), Some(120));
        assert_eq!(first_byte("https://models.example/v1", Some(1800)), Some(1800));
        assert_eq!(first_byte("http://127.0.0.1:8080/v1", None), Some(600));
        assert_eq!(first_byte("http://localhost:8080/v1", Some(5)), Some(5));
        assert!(is_on_this_machine("http://llama.localhost:8080/v1"));
        assert!(!is_on_this_machine("http://llamalocalhost:8080/v1"));
    }

    #[test]
    fn our_own_params_are_taken_out_and_the_rest_is_passed_on() {
        let params = json!({
            "timeout_s": 2.5, "max_tokens": 9, "window": 8192, "output": "tool_call",
            "stream": false, "temperature": 0.2, "effort": "low"
        });
        let expected = Wishes {
            timeout: Some(Duration::from_millis(2500)),
            max_tokens: Some(9),
            window: Some(8192),
            output: Some(OutputMode::ToolCall),
            stream: Some(false),
            effort: Some("low".to_owned()),
            rest: json!({"temperature": 0.2}).as_object().cloned().expect("an object"),
        };
        assert_eq!(wishes(&params), Ok(expected));
        assert_eq!(wishes(&json!({"output": "auto"})), Ok(Wishes::default()));
    }

    #[test]
    fn params_that_break_the_request_are_refused() {
        for bad in [
            json!({"timeout_s": 0}),
            json!({"timeout_s": "5"}),
            json!({"max_tokens": 0}),
            json!({"max_tokens": -1}),
            json!({"output": "yaml"}),
            json!({"output": 1}),
            json!({"stream": "no"}),
            json!({"model": "x"}),
            json!({"tools": []}),
            json!({"n": 2}),
            json!({"effort": 3}),
            json!({"reasoning_effort": {"effort": "low"}}),
            json!({"response_format": {"type": "json_object"}}),
        ] {
            let key = bad.as_object().and_then(|map| map.keys().next().cloned()).expect("a key");
            let message = wishes(&bad).expect_err("refused");
            assert!(message.contains(&format!("`params.{key}`")), "{message}");
        }
        assert!(wishes(&json!({"output": "prompted", "response_format": {}})).is_ok());
    }

    #[test]
    fn an_address_is_completed_once() {
        let full = |base: &str| address(base, &["v1", "messages"]).map(|url| url.to_string());
        for base in
            ["https://a.test", "https://a.test/", "https://a.test/v1", "https://a.test/v1/messages"]
        {
            assert_eq!(full(base).as_deref(), Ok("https://a.test/v1/messages"), "{base}");
        }
        let azure = address("http://a.test/x/?api-version=1", &["chat", "completions"]);
        let azure = azure.map(|url| url.to_string());
        assert_eq!(azure.as_deref(), Ok("http://a.test/x/chat/completions?api-version=1"));
        for bad in ["a.test", "ftp://a.test", "https://me:secret@a.test", ""] {
            let error = full(bad).expect_err("refused");
            assert_eq!(error.kind, ModelErrorKind::Config, "{bad}");
            assert!(!error.message.contains("secret"));
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::new(" sk-proj-abcdefgh12345678\n");
        assert_eq!(key.reveal(), "sk-proj-abcdefgh12345678");
        let endpoint = Endpoint { key: key.clone(), ..Endpoint::new("m") };
        for shown in [format!("{key:?}"), format!("{endpoint:#?}"), json!(key).to_string()] {
            assert!(!shown.contains("abcdefgh"), "{shown}");
        }
        for (said, shown) in [
            ("wrong key: sk-proj-abcdefgh12345678.", "wrong key: [key]."),
            ("wrong key: 'sk-proj-abc***********5678'", "wrong key: '[key]'"),
            ("wrong key: ****5678", "wrong key: [key]"),
            ("key gh12345678 (end)", "key [key] (end)"),
            (
                "no key: a model named proj at 12:34, 漢字",
                "no key: a model named proj at 12:34, 漢字",
            ),
        ] {
            assert_eq!(key.hide_in(said), shown);
        }
        assert_eq!(Key::new("ollama").hide_in("ollama is down"), "ollama is down");
    }
}
