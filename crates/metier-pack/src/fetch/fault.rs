//! Why a source on the network was not fetched.
//! Each fault has a stable code and says what to do.

use std::fmt;

use metier_net::WebError;
use metier_skill::text::short_line;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchFault {
    /// Nothing came.
    Web(WebError),
    /// The server has nothing there.
    NotFound,
    /// The server wants to know who asks, or refuses who asked.
    NotAuthorized,
    /// The server could not answer, with this status.
    Status(u16),
    /// What came is not an archive.
    NotAnArchive,
    /// What came is not what its digest says.
    Digest,
    /// What came is not what the lock says.
    Changed,
    /// The list of skills cannot be used.
    Index,
    /// The reference cannot be used.
    Reference,
    /// The manifest cannot be used.
    Manifest,
    /// The layers cannot be used.
    Layers,
    /// The user's file of passwords cannot be used.
    Credentials,
}

/// Why a source on the network was not fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchError {
    /// What went wrong.
    pub fault: FetchFault,
    /// The source, as the records spell it.
    pub source: String,
    /// A sentence about it, safe to show.
    pub about: String,
    /// What to do, where the fault alone does not say it.
    pub(crate) advice: Option<String>,
}

impl FetchError {
    pub(crate) fn new(fault: FetchFault, source: &str, about: impl AsRef<str>) -> Self {
        let about = short_line(about.as_ref(), 600).into_owned();
        Self { fault, source: source.to_owned(), about, advice: None }
    }

    pub(crate) fn of_web(source: &str, error: WebError) -> Self {
        let about = error.message.clone();
        Self { fault: FetchFault::Web(error), source: source.to_owned(), about, advice: None }
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.fault {
            FetchFault::Web(error) => error.fault.code(),
            FetchFault::NotFound => "not-found",
            FetchFault::NotAuthorized => "not-authorized",
            FetchFault::Status(_) => "server-error",
            FetchFault::NotAnArchive => "not-an-archive",
            FetchFault::Digest => "digest-mismatch",
            FetchFault::Changed => "lock-mismatch",
            FetchFault::Index => "bad-index",
            FetchFault::Reference => "bad-reference",
            FetchFault::Manifest => "bad-manifest",
            FetchFault::Layers => "bad-layers",
            FetchFault::Credentials => "bad-credentials",
        }
    }

    /// What to do.
    pub fn help(&self) -> String {
        if let Some(advice) = &self.advice {
            return advice.clone();
        }
        match &self.fault {
            FetchFault::Web(error) => error.fault.help(),
            FetchFault::NotFound => "check the address",
            FetchFault::NotAuthorized => "check that you may read it",
            FetchFault::Status(_) => "try again later",
            FetchFault::NotAnArchive => {
                "name the archive itself (.zip, .skill, .tar.gz), not a page that shows it"
            }
            FetchFault::Digest => "nothing was installed; ask its author which digest is right",
            FetchFault::Changed => {
                "if the change is expected, install the source again, look at the plan, and commit the lock"
            }
            FetchFault::Index | FetchFault::Manifest | FetchFault::Layers => {
                "nothing was installed; its publisher has to fix it"
            }
            FetchFault::Reference => "write it as oci://HOST/NAME:TAG or oci://HOST/NAME@sha256:…",
            FetchFault::Credentials => "fix the file, or log in again",
        }
        .to_owned()
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            // The words of the network name the place themselves.
            FetchFault::Web(_) => f.write_str(&self.about),
            _ => write!(f, "{}: {}", self.source, self.about),
        }
    }
}

impl std::error::Error for FetchError {}
