//! A reply's bytes to what it says, however they are cut and whatever was asked for.
//!
//! Servers stream where a whole reply was asked for and the other way round, and their content type
//! is not to be trusted. So the first bytes decide: events, JSON (one value or several), or neither.
//! Pure; the dialects know what a value means, `http` brings the bytes.

use serde_json::Value;

use crate::failure::{Failure, shown};
use crate::model::{ModelErrorKind, OutputMode};
use crate::reply_builder::{Out, RawReply, ReplyBuilder, Reports};
use crate::sse::{SseDecoder, SseEvent};
use crate::{anthropic, openai, responses};

/// Whose words are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions.
    OpenAi,
    /// Messages.
    Anthropic,
    /// The Responses of `OpenAI`.
    Responses,
}

/// Whether more is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More is to come.
    More,
    /// The provider said why it ended; only a count of tokens may follow.
    Finished,
    /// Nothing more is to come.
    Done,
}

/// Reads one reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyReader {
    dialect: Dialect,
    builder: ReplyBuilder,
    shape: Shape,
    bytes: usize,
    limit: usize,
    done: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// Too little to tell.
    Unknown(Vec<u8>),
    Events(SseDecoder),
    Json(Vec<u8>),
    /// A page, plain words, anything.
    Other(Vec<u8>),
}

/// Events repeat a hundred bytes and more for each token, and reasoning is streamed too: what is a
/// reply of this size takes so many times the bytes on the way.
const EVENTS_OVERHEAD: usize = 4;
/// Bytes that are kept of what is no reply, to show them.
const KEPT: usize = 4096;

impl ReplyReader {
    /// Reads a reply of up to `limit` bytes that was asked for in `mode`.
    pub const fn new(dialect: Dialect, mode: OutputMode, limit: usize) -> Self {
        let shape = Shape::Unknown(Vec::new());
        Self { dialect, builder: ReplyBuilder::new(mode), shape, bytes: 0, limit, done: false }
    }

    /// Takes more bytes and passes on the text that they hold.
    pub fn feed(&mut self, bytes: &[u8], out: Out<'_>) -> Result<Progress, Failure> {
        if self.done {
            return Ok(Progress::Done);
        }
        self.bytes = self.bytes.saturating_add(bytes.len());
        if let Shape::Unknown(start) = &mut self.shape {
            start.extend_from_slice(bytes);
            if let Some(kind) = sniff(start) {
                let start = std::mem::take(start);
                self.shape = match kind {
                    Sniffed::Events => Shape::Events(SseDecoder::new(self.limit)),
                    Sniffed::Json => Shape::Json(Vec::new()),
                    Sniffed::Other => Shape::Other(Vec::new()),
                };
                self.take(&start, out)?;
            }
        } else {
            self.take(bytes, out)?;
        }
        let overhead = if matches!(self.shape, Shape::Events(_)) { EVENTS_OVERHEAD } else { 1 };
        if self.bytes > self.limit.saturating_mul(overhead) {
            return Err(self.too_large());
        }
        if self.done {
            // The rest of these bytes is dropped, so that all finished readers are equal.
            (self.shape, self.bytes) = (Shape::Unknown(Vec::new()), 0);
        }
        Ok(match (self.done, self.builder.is_finished()) {
            (true, _) => Progress::Done,
            (false, true) => Progress::Finished,
            (false, false) => Progress::More,
        })
    }

    /// What the reply says, when there are no more bytes. A stream that did not come to its end is a
    /// failure, however much of it is there.
    pub fn end(&mut self, out: Out<'_>) -> Result<RawReply, Failure> {
        let shape = std::mem::replace(&mut self.shape, Shape::Unknown(Vec::new()));
        let mut is_stream = self.done;
        match shape {
            _ if self.done => {}
            Shape::Events(mut decoder) => {
                is_stream = true;
                let last = decoder.rest().map_err(|_| self.too_large())?;
                if let Some(last) = last {
                    self.event(&last, out).map_err(|failure| match failure.error.kind {
                        ModelErrorKind::Protocol => broke_off(),
                        _ => failure,
                    })?;
                }
            }
            Shape::Json(bytes) => self.json(&bytes, out)?,
            Shape::Other(bytes) | Shape::Unknown(bytes) if !bytes.trim_ascii().is_empty() => {
                let start = shown(&String::from_utf8_lossy(&bytes[..bytes.len().min(200)]));
                let message = format!("the reply is neither JSON nor a stream: `{start}`");
                return Err(Failure::new(ModelErrorKind::Protocol, message).for_good());
            }
            _ => return Err(Failure::new(ModelErrorKind::Network, "the reply is empty")),
        }
        let builder = &self.builder;
        if builder.is_finished() || builder.is_whole || (self.done && builder.is_begun) {
            let reports = match self.dialect {
                Dialect::OpenAi => Reports::Unclear,
                Dialect::Anthropic | Dialect::Responses => Reports::Running,
            };
            return Ok(builder.said(reports, out));
        }
        if !self.done && (is_stream || builder.is_begun) {
            return Err(if builder.is_queued {
                responses::reply::put_off("queued")
            } else {
                broke_off()
            });
        }
        let message = "the reply is JSON, but no reply of this provider's protocol";
        Err(Failure::new(ModelErrorKind::Protocol, message).for_good())
    }

    /// What the stream has given so far, put together piece by piece.
    pub const fn builder(&self) -> &ReplyBuilder {
        &self.builder
    }

    fn take(&mut self, bytes: &[u8], out: Out<'_>) -> Result<(), Failure> {
        match &mut self.shape {
            Shape::Events(decoder) => {
                let events = decoder.feed(bytes).map_err(|_| self.too_large())?;
                for event in &events {
                    self.event(event, out)?;
                    if self.done {
                        break;
                    }
                }
            }
            Shape::Json(kept) => {
                if self.bytes <= self.limit {
                    kept.extend_from_slice(bytes);
                }
            }
            Shape::Other(kept) => {
                let room = KEPT.saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Shape::Unknown(_) => {}
        }
        Ok(())
    }

    /// The data of an event: a value, several, or the mark of the end.
    fn event(&mut self, event: &SseEvent, out: Out<'_>) -> Result<(), Failure> {
        let is_error = event.event.as_deref() == Some("error");
        let mut rest = event.data.trim_start();
        while !rest.is_empty() && !self.done {
            if rest.starts_with("[DONE]") {
                self.done = true;
                break;
            }
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) if is_error => return Err(provider_failure(&value)),
                Some(Ok(value)) => self.value(&value, out)?,
                Some(Err(_)) if is_error => {
                    return Err(provider_failure(&Value::String(rest.to_owned())));
                }
                Some(Err(error)) => {
                    let message = format!("an event of the stream is not valid JSON: {error}");
                    return Err(Failure::new(ModelErrorKind::Protocol, message));
                }
                None => break,
            }
            rest = rest[values.byte_offset()..].trim_start();
        }
        Ok(())
    }

    fn json(&mut self, bytes: &[u8], out: Out<'_>) -> Result<(), Failure> {
        let bytes = bytes.trim_ascii_start();
        let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
        for value in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>() {
            match value {
                Ok(value) => self.value(&value, out)?,
                Err(error) if error.is_eof() => return Err(broke_off()),
                Err(error) => {
                    let message = format!("the reply is not valid JSON: {error}");
                    return Err(Failure::new(ModelErrorKind::Protocol, message));
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, value: &Value, out: Out<'_>) -> Result<(), Failure> {
        if let Some(failure) = Failure::inside(value) {
            return Err(failure);
        }
        if let Value::Array(values) = value {
            return values.iter().try_for_each(|value| self.value(value, out));
        }
        match self.dialect {
            Dialect::OpenAi => openai::reply::take(value, &mut self.builder, out)?,
            Dialect::Anthropic => {
                self.done |= anthropic::reply::take(value, &mut self.builder, out);
            }
            Dialect::Responses => {
                self.done |= responses::reply::take(value, &mut self.builder, out)?;
            }
        }
        Ok(())
    }

    fn too_large(&self) -> Failure {
        let message = format!("the reply is larger than {} bytes", self.limit);
        Failure::new(ModelErrorKind::ReplyTooLarge, message)
    }
}

const MARK: &[u8] = b"\xef\xbb\xbf";

fn broke_off() -> Failure {
    Failure::new(ModelErrorKind::Network, "the reply broke off before its end")
}

/// The failure that an event named `error` tells of, whatever its data looks like.
fn provider_failure(value: &Value) -> Failure {
    Failure::inside(value).unwrap_or_else(|| {
        let whole = serde_json::json!({ "error": value });
        let unclear = || Failure::new(ModelErrorKind::ServerError, "the provider reports an error");
        Failure::inside(&whole).unwrap_or_else(unclear)
    })
}

enum Sniffed {
    Events,
    Json,
    Other,
}

/// What the first bytes show; nothing while they can still become either.
fn sniff(bytes: &[u8]) -> Option<Sniffed> {
    let start = bytes.trim_ascii_start();
    if !start.is_empty() && start.len() < MARK.len() && MARK.starts_with(start) {
        return None;
    }
    let start = start.strip_prefix(MARK).unwrap_or(start).trim_ascii_start();
    match start.first()? {
        b'{' | b'[' => return Some(Sniffed::Json),
        b':' => return Some(Sniffed::Events),
        _ => {}
    }
    for field in ["data", "event", "id", "retry"] {
        let field = field.as_bytes();
        if start.starts_with(field) {
            return match start.get(field.len()) {
                Some(b':' | b'\n' | b'\r') => Some(Sniffed::Events),
                Some(_) => Some(Sniffed::Other),
                None => None,
            };
        }
        if field.starts_with(start) {
            return None;
        }
    }
    Some(Sniffed::Other)
}
