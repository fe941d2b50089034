//! The adapter for Messages: Anthropic, and servers that speak its protocol.
//! Requests and replies are made and read beside it, without a network; waiting is `adapter`'s.

use metier_cancel::CancelToken;
use reqwest::header::HeaderName;

use crate::adapter::Adapter;
use crate::endpoint::{Endpoint, address};
use crate::model::{Model, ModelError, ModelInfo, OutputMode, Reply, Sink};
use crate::reader::Dialect;
use crate::request_style::{LimitName, RequestStyle};
use crate::turn::Turn;

pub(crate) mod reply;
pub(crate) mod request;

/// Where Anthropic itself is.
const HOME: &str = "https://api.anthropic.com";
/// The version of the protocol.
const VERSION: &str = "2023-06-01";

/// A model that is asked by Messages.
#[derive(Debug)]
pub struct Anthropic(Adapter);

impl Anthropic {
    /// The model at `endpoint`. Nothing is sent yet.
    pub fn new(endpoint: Endpoint) -> Result<Self, ModelError> {
        let url = address(endpoint.base_url.as_deref().unwrap_or(HOME), &["v1", "messages"])?;
        let name = HeaderName::from_static;
        let mut headers = vec![(name("anthropic-version"), VERSION.to_owned())];
        if !endpoint.key.is_empty() {
            headers.push((name("x-api-key"), endpoint.key.reveal().to_owned()));
        }
        let adapter =
            Adapter::new(Dialect::Anthropic, endpoint, url, headers, |wishes| RequestStyle {
                mode: wishes.output.unwrap_or(OutputMode::ToolCall),
                mode_may_change: wishes.output.is_none(),
                demand_call: true,
                has_called: false,
                forbid_parallel: true,
                stream: wishes.stream.unwrap_or(true),
                ask_usage: false,
                limit: LimitName::MaxTokens,
                limit_may_change: false,
            })?;
        Ok(Self(adapter))
    }
}

impl Model for Anthropic {
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
