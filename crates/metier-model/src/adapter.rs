//! What both adapters share: attempts, backoff, stepping down, cancelling, counting.
//!
//! A call works on a small runtime of its own in the caller's thread. The caller's token wakes that
//! runtime wherever the call waits: for a name, a connection, the first byte, the next one, or the
//! time of the next attempt. When a call ends, its connection is dropped.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_skill::estimate_tokens;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::endpoint::{Endpoint, Key, Timeouts, Wishes, config};
use crate::failure::Failure;
use crate::functions::{self, Function, functions};
use crate::http::{self, LazyClient, Outgoing};
use crate::model::{
    ModelError, ModelErrorKind, ModelInfo, OutputMode, Reply, Sink, StreamEvent, Usage,
};
use crate::reader::{Dialect, ReplyReader};
use crate::reply_builder::RawReply;
use crate::request_style::{MAX_STEPS, RequestStyle};
use crate::retry::{Chance, RetryPolicy};
use crate::schema::InOrder;
use crate::turn::{Message, Turn};
use crate::{anthropic, openai, responses};

/// The system prompt in the words of this mode.
pub(crate) fn system_of(turn: &Turn, style: RequestStyle) -> &str {
    match style.mode {
        OutputMode::JsonSchema | OutputMode::Prompted => &turn.system,
        OutputMode::ToolCall => &turn.system_for_call,
    }
}

/// The conversation in the form of this mode.
pub(crate) fn messages_of(turn: &Turn, style: RequestStyle) -> Vec<Message> {
    match style.mode {
        OutputMode::JsonSchema | OutputMode::Prompted => turn.messages(),
        OutputMode::ToolCall => functions::messages(turn),
    }
}

/// A model behind HTTP.
#[derive(Debug)]
pub(crate) struct Adapter {
    dialect: Dialect,
    provider: Option<String>,
    model: String,
    key: Key,
    key_origin: Option<String>,
    params: Map<String, Value>,
    max_tokens: Option<u32>,
    window: Option<u32>,
    timeouts: Timeouts,
    retry: RetryPolicy,
    reply_limit: usize,
    client: LazyClient,
    url: Url,
    headers: HeaderMap,
    /// The style that worked last.
    style: Mutex<RequestStyle>,
}

impl Adapter {
    pub(crate) fn new(
        dialect: Dialect,
        endpoint: Endpoint,
        url: Url,
        headers: Vec<(HeaderName, String)>,
        style: impl FnOnce(&Wishes) -> RequestStyle,
    ) -> Result<Self, ModelError> {
        if endpoint.model.trim().is_empty() {
            return Err(config("the model has no name"));
        }
        let wishes = Wishes::read(&endpoint.params)?;
        let mut sent = HeaderMap::new();
        sent.insert("content-type", HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| config("the key has characters that cannot be sent"))?;
            value.set_sensitive(true);
            sent.insert(name, value);
        }
        let timeouts = endpoint.timeouts.resolved(wishes.timeout, &url);
        Ok(Self {
            dialect,
            provider: endpoint.provider,
            model: endpoint.model,
            key: endpoint.key,
            key_origin: endpoint.key_origin,
            max_tokens: wishes.max_tokens,
            window: wishes.window,
            client: LazyClient::start(timeouts.connect, &url),
            timeouts,
            retry: endpoint.retry,
            reply_limit: endpoint.reply_limit,
            url,
            headers: sent,
            style: Mutex::new(style(&wishes)),
            params: with_effort(dialect, wishes.rest, wishes.effort),
        })
    }

    pub(crate) fn info(&self) -> ModelInfo {
        let protocol = match self.dialect {
            Dialect::OpenAi | Dialect::Responses => "openai",
            Dialect::Anthropic => "anthropic",
        };
        let provider = self.provider.clone().unwrap_or_else(|| protocol.to_owned());
        ModelInfo { provider, name: self.model.clone(), window: self.window }
    }

    pub(crate) fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        if tokio::runtime::Handle::try_current().is_ok() {
            let message = "a model is called from inside an asynchronous runtime; call it from a \
                        thread of its own";
            return Err(config(message));
        }
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        // Waited for here, not inside the runtime, which it would hold up.
        self.client.get()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| config(format!("no runtime could be started: {error}")))?;
        let done = runtime.block_on(cancel.run_until_cancelled(self.attempts(turn, sink)));
        // A lookup that hangs in the system must not hold up the caller.
        runtime.shutdown_background();
        done.unwrap_or_else(|| Err(cancelled()))
    }

    /// Keeps to one way of asking.
    pub(crate) fn ask_only_in(&self, mode: OutputMode) -> bool {
        let mut style = self.style.lock().unwrap_or_else(PoisonError::into_inner);
        (style.mode, style.mode_may_change) = (mode, false);
        true
    }

    /// The window of the settings, or what the server's list of models says.
    pub(crate) fn context_size(&self, cancel: &CancelToken) -> Option<u32> {
        let listed = || {
            let client = self.client.get().ok()?;
            let mut url = self.url.clone();
            let below = if self.dialect == Dialect::OpenAi { 2 } else { 1 };
            let mut path = url.path_segments_mut().ok()?;
            for _ in 0..below {
                path.pop();
            }
            path.push("models");
            drop(path);
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            let list = http::get_json(client, url, &self.headers);
            let list = runtime.block_on(cancel.run_until_cancelled(list)).flatten();
            runtime.shutdown_background();
            window_in(&list?, &self.model)
        };
        self.window.or_else(listed)
    }

    async fn attempts(&self, turn: &Turn, sink: Sink<'_>) -> Result<Reply, ModelError> {
        let started = Instant::now();
        let deadline = started + self.timeouts.whole;
        let mut chance = Chance::new(self.retry.seed);
        let mut style = *self.style.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut requests, mut failures, mut steps) = (0, 0, 0);
        loop {
            requests += 1;
            let mut first = None;
            let mut out = |piece: &str| {
                first.get_or_insert_with(|| started.elapsed());
                sink(StreamEvent::Text(piece.to_owned()));
            };
            let failure = match self.attempt(turn, style, deadline, &mut out).await {
                Ok((said, sent_bytes)) => {
                    style.learn(said.is_call, said.finish);
                    *self.style.lock().unwrap_or_else(PoisonError::into_inner) = style;
                    let total = started.elapsed();
                    let times = (first.unwrap_or(total), total);
                    let mut reply = reply(said, turn, style, requests, times);
                    reply.usage.sent_bytes = sent_bytes;
                    return Ok(reply);
                }
                Err(failure) => self.with_attempts(failure, requests),
            };
            let error = failure.error.clone();
            let delay = if let Some(next) = style.after(&failure).filter(|_| steps < MAX_STEPS) {
                (style, steps) = (next, steps + 1);
                Duration::ZERO
            } else {
                failures += 1;
                if failures >= self.retry.attempts || !failure.is_retryable() {
                    return Err(error);
                }
                self.delay(&failure, failures, deadline, &mut chance)?
            };
            sink(StreamEvent::Retrying { attempt: requests, error, delay });
            tokio::time::sleep(delay).await;
        }
    }

    /// How long to wait before the next attempt; the failure itself where that is too long.
    fn delay(
        &self,
        failure: &Failure,
        failures: u32,
        deadline: Instant,
        chance: &mut Chance,
    ) -> Result<Duration, ModelError> {
        let too_long = |message: String| {
            let mut error = failure.error.clone();
            error.message = format!("{}; {message}", error.message.trim_end_matches('.'));
            Err(error)
        };
        let asked = failure.wait().filter(|wait| !wait.is_zero());
        if let Some(asked) = asked.filter(|asked| *asked > self.retry.longest_wait) {
            let (asked, longest) = (asked.as_secs(), self.retry.longest_wait.as_secs());
            return too_long(format!(
                "it asks to wait {asked} seconds, longer than the {longest} that we wait"
            ));
        }
        let delay = asked.unwrap_or_else(|| self.retry.delay(failures, chance));
        if Instant::now() + delay >= deadline {
            let whole = self.timeouts.whole.as_secs_f32();
            return too_long(format!(
                "there is no time left of {whole} seconds for another attempt"
            ));
        }
        Ok(delay)
    }

    /// What was said, and the bytes that asked for it.
    async fn attempt(
        &self,
        turn: &Turn,
        style: RequestStyle,
        deadline: Instant,
        out: &mut dyn FnMut(&str),
    ) -> Result<(RawReply, u64), Failure> {
        let build = match self.dialect {
            Dialect::OpenAi => openai::request::body,
            Dialect::Anthropic => anthropic::request::body,
            Dialect::Responses => responses::request::body,
        };
        let body = build(&self.model, &self.params, self.max_tokens, turn, style);
        let body = serde_json::to_vec(&InOrder(&body)).map_err(|error| {
            let message = format!("the request cannot be written: {error}");
            Failure::new(ModelErrorKind::Config, message)
        })?;
        let client = self.client.get();
        let client = client.map_err(|error| Failure::new(error.kind, error.message))?;
        let sent_bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
        let sent = Outgoing {
            client,
            url: &self.url,
            headers: &self.headers,
            body,
            timeouts: &self.timeouts,
            stream: style.stream,
            deadline,
        };
        let reader =
            ReplyReader::new(self.dialect, style.mode, self.reply_limit).with_plan(turn.plan);
        http::exchange(sent, reader, out).await.map(|said| (said, sent_bytes))
    }

    /// The failure as it may be shown: without the key, but with where it came from.
    fn with_attempts(&self, mut failure: Failure, requests: u32) -> Failure {
        failure.error.message = self.key.hide_in(&failure.error.message);
        if let (ModelErrorKind::Unauthorized, Some(origin)) = (failure.error.kind, &self.key_origin)
        {
            failure.error.message =
                format!("{}; {origin}", failure.error.message.trim_end_matches('.'));
        }
        failure.error.attempts = requests;
        failure
    }
}

/// The names that servers give the size of a context.
const SIZES: [&str; 7] = [
    "loaded_context_length",
    "context_length",
    "max_model_len",
    "max_context_length",
    "context_window",
    "max_input_tokens",
    "n_ctx",
];

/// The context of `model` in a list of models: of the one with this name, or of the only one.
fn window_in(list: &Value, model: &str) -> Option<u32> {
    let models = list.get("data").and_then(Value::as_array)?;
    let named = models.iter().find(|entry| entry["id"] == model);
    let entry = named.or_else(|| Some(models.first()?).filter(|_| models.len() == 1))?;
    let size = |of: &Value| SIZES.iter().find_map(|name| of.get(*name)?.as_u64());
    let size = size(entry).or_else(|| size(entry.get("meta")?))?;
    u32::try_from(size).ok().filter(|size| *size > 0)
}

/// The parameters with the effort where the protocol has it.
fn with_effort(
    dialect: Dialect,
    mut params: Map<String, Value>,
    effort: Option<String>,
) -> Map<String, Value> {
    let Some(effort) = effort else { return params };
    let part = match dialect {
        Dialect::OpenAi => {
            params.insert("reasoning_effort".to_owned(), effort.into());
            return params;
        }
        Dialect::Responses => "reasoning",
        Dialect::Anthropic => "output_config",
    };
    let part = params.entry(part).or_insert_with(|| Value::Object(Map::new()));
    if let Some(part) = part.as_object_mut() {
        part.insert("effort".to_owned(), effort.into());
    }
    params
}

fn reply(
    said: RawReply,
    turn: &Turn,
    style: RequestStyle,
    attempts: u32,
    (first, total): (Duration, Duration),
) -> Reply {
    let usage = said.usage.unwrap_or_else(|| {
        let messages = messages_of(turn, style);
        let sent = messages.iter().map(|message| estimate_tokens(&message.text)).sum::<usize>();
        let schema = match style.mode {
            OutputMode::Prompted => 0,
            OutputMode::JsonSchema => estimate_tokens(&turn.schema.to_string()),
            OutputMode::ToolCall => functions(turn).iter().map(Function::tokens).sum(),
        };
        let count = |tokens: usize| u64::try_from(tokens).unwrap_or(u64::MAX);
        Usage {
            input: count(sent + estimate_tokens(system_of(turn, style)) + schema),
            output: count(estimate_tokens(&said.text)),
            estimated: true,
            ..Usage::default()
        }
    });
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let usage = Usage { attempts, first_ms: millis(first), total_ms: millis(total), ..usage };
    let RawReply { text, finish, parts, .. } = said;
    Reply { text, finish, parts, usage, mode: style.mode }
}

fn cancelled() -> ModelError {
    ModelError::new(ModelErrorKind::Cancelled, "the call was stopped")
}
