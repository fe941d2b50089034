//! The adapter for `OpenAI` and every server that speaks its protocol: chat completions, or with
//! `params.api = "responses"` the Responses.

use metier_cancel::CancelToken;
use reqwest::header::AUTHORIZATION;

use crate::adapter::Adapter;
use crate::endpoint::{Endpoint, address, config};
use crate::model::{Model, ModelError, ModelInfo, OutputMode, Reply, Sink};
use crate::reader::Dialect;
use crate::request_style::{LimitName, RequestStyle};
use crate::turn::Turn;

pub(crate) mod reply;
pub(crate) mod request;

/// Where `OpenAI` itself is.
const HOME: &str = "https://api.openai.com/v1";

/// A model that is asked by chat completions or Responses.
#[derive(Debug)]
pub struct OpenAi(Adapter);

impl OpenAi {
    /// The model at `endpoint`. Nothing is sent yet.
    pub fn new(mut endpoint: Endpoint) -> Result<Self, ModelError> {
        let api = endpoint.params.remove("api");
        let (dialect, path): (_, &[&str]) = match api.as_ref().map(|api| api.as_str()) {
            None | Some(Some("chat")) => (Dialect::OpenAi, &["chat", "completions"]),
            Some(Some("responses")) => (Dialect::Responses, &["responses"]),
            Some(_) => return Err(config("`params.api` must be chat or responses")),
        };
        let url = address(endpoint.base_url.as_deref().unwrap_or(HOME), path)?;
        let mut headers = Vec::new();
        if !endpoint.key.is_empty() {
            headers.push((AUTHORIZATION, format!("Bearer {}", endpoint.key.reveal())));
        }
        let host = url.host_str().unwrap_or_default();
        // OpenAI's newer models refuse the old name; most others know only that one, and some that
        // do not know the new one ignore it.
        let is_openai = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        let limit = if is_openai { LimitName::MaxCompletionTokens } else { LimitName::MaxTokens };
        let adapter = Adapter::new(dialect, endpoint, url, headers, |wishes| RequestStyle {
            mode: wishes.output.unwrap_or(OutputMode::JsonSchema),
            mode_may_change: wishes.output.is_none(),
            demand_call: true,
            has_called: false,
            forbid_parallel: true,
            stream: wishes.stream.unwrap_or(true),
            ask_usage: dialect == Dialect::OpenAi,
            limit,
            limit_may_change: dialect == Dialect::OpenAi,
        })?;
        Ok(Self(adapter))
    }
}

impl Model for OpenAi {
    fn info(&self) -> ModelInfo {
        self.0.info()
    }

    fn reply(
        &self,
        turn: &Turn,
        sink: Sink<'_>,
        cancel: &CancelToken,
    ) -> Result<Reply, ModelError> {
        self.0.reply(turn, sink, cancel)
    }

    fn ask_only_in(&self, mode: OutputMode) -> bool {
        self.0.ask_only_in(mode)
    }

    fn context_size(&self, cancel: &CancelToken) -> Option<u32> {
        self.0.context_size(cancel)
    }
}
