//! Why nothing came over the network.
//! Each fault has a stable code and says what to do.

use std::fmt;

use metier_skill::FailureCode;
use metier_skill::text::short_line;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebFault {
    /// The URL is not one that is fetched.
    BadUrl,
    /// The URL is plain http, and not of this machine.
    PlainHttp,
    /// The host has an address that is not reached.
    Address,
    /// It was redirected too often.
    Redirects,
    /// It was redirected from https to http.
    RedirectToHttp,
    /// The caller does not want this host to be reached.
    HostRefused,
    /// The host is not known.
    HostUnknown,
    /// There is no connection.
    Unreachable,
    /// The connection is not safe: a certificate is not trusted, or it is no TLS.
    Certificate,
    /// It took too long.
    TimedOut,
    /// It is larger than it may be.
    TooLarge,
    /// The connection broke off.
    CutOff,
    /// The caller cancelled it.
    Cancelled,
    /// It could not be written.
    Write,
}

impl WebFault {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::BadUrl => "url-not-allowed",
            Self::PlainHttp => "plain-http",
            Self::Address => "address-not-allowed",
            Self::Redirects => "too-many-redirects",
            Self::RedirectToHttp => "redirect-to-http",
            Self::HostRefused => "host-not-allowed",
            Self::HostUnknown => "host-unknown",
            Self::Unreachable => "unreachable",
            Self::Certificate => "certificate",
            Self::TimedOut => "timed-out",
            Self::TooLarge => "too-large",
            Self::CutOff => "cut-off",
            Self::Cancelled => FailureCode::Cancelled.as_str(),
            Self::Write => "not-written",
        }
    }

    /// What to do about it; empty where the message says it.
    pub const fn help(self) -> &'static str {
        match self {
            Self::BadUrl => "name an https URL without a user name, a password or a port in words",
            Self::PlainHttp => "use https; plain http is for servers on this machine",
            Self::Address => {
                "a private address is reached only where the source itself names its host"
            }
            Self::Redirects => "name the address that it leads to",
            Self::RedirectToHttp => "name the address that it leads to, with https",
            Self::HostRefused => "see `sources` in the configuration",
            Self::HostUnknown | Self::Unreachable => {
                "check the address and your connection; proxies are not used"
            }
            Self::Certificate => {
                "if the server has a private authority, add it to the system, or name its file in SSL_CERT_FILE"
            }
            Self::TimedOut | Self::CutOff => "try again",
            Self::TooLarge => "nothing was installed",
            Self::Cancelled => "",
            Self::Write => "check the permissions and the free space",
        }
    }
}

/// Why nothing came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebError {
    /// What went wrong.
    pub fault: WebFault,
    /// A sentence about it, safe to show.
    pub message: String,
}

impl WebError {
    pub(crate) fn new(fault: WebFault, message: impl AsRef<str>) -> Self {
        Self { fault, message: short_line(message.as_ref(), 600).into_owned() }
    }
}

impl fmt::Display for WebError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WebError {}
