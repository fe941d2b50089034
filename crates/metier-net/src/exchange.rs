//! What is asked for in a download, how long it may take, and what comes apart from the body.
//! Plain values: sending is `download`'s.

use std::time::Duration;

use reqwest::Url;

/// How long may be waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebTimes {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes.
    pub idle: Duration,
    /// For all of it.
    pub whole: Duration,
}

impl Default for WebTimes {
    /// 15 seconds for a connection, one minute for the next bytes, half an hour for one download.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            idle: Duration::from_mins(1),
            whole: Duration::from_mins(30),
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct WebGet<'a> {
    /// Where.
    pub url: &'a Url,
    /// The header `accept`.
    pub accept: Option<&'a str>,
    /// The header `authorization`. It stays with the host of `url`.
    pub authorization: Option<&'a str>,
    /// The most bytes that may come.
    pub limit: u64,
}

impl<'a> WebGet<'a> {
    /// A request for `url` and at most `limit` bytes.
    pub const fn new(url: &'a Url, limit: u64) -> Self {
        Self { url, accept: None, authorization: None, limit }
    }
}

/// What came, apart from the body.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WebReply {
    /// The status. Only with 200 the body went to the caller.
    pub status: u16,
    /// Where it came from in the end.
    pub url: Url,
    /// The header `content-type`.
    pub content_type: Option<String>,
    /// The header `last-modified`.
    pub last_modified: Option<String>,
    /// The headers `www-authenticate`.
    pub challenges: Vec<String>,
    /// The beginning of the body of a reply that is no success.
    pub said: Vec<u8>,
}
