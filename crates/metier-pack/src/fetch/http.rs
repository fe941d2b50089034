//! Downloads for a source: one client, files in the private folder, digests on the way.
//! What a status means is said here, once for all kinds of sources.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_cancel::CancelToken;
use metier_net::{Url, WebClient, WebGet, WebReply, WebTimes, authority};
use metier_skill::Digest;
use sha2::{Digest as _, Sha256};

use super::FetchProgress;
use super::fault::{FetchError, FetchFault};
use crate::source::{SourcePlace, SourceUrl};

/// Whether a host may be reached; else why not. Asked about every redirect and every host that a list names.
pub type PlaceJudge = dyn Fn(&SourcePlace, PlaceRole) -> Result<(), String> + Send + Sync;

/// What a host is to the source that is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceRole {
    /// The source leads there.
    LedTo,
    /// It is a part of the source, which was judged under the name that people give it: only a rule that names this
    /// host says more.
    PartOfSource,
}

/// What a fetch over the network is given.
#[derive(Clone)]
pub struct DownloadSettings {
    /// Asked about every host.
    pub judge: Arc<PlaceJudge>,
    /// The folder with Docker's `config.json`, where passwords of registries are.
    pub docker: Option<PathBuf>,
    /// How long may be waited.
    pub times: WebTimes,
}

impl std::fmt::Debug for DownloadSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DownloadSettings").field("times", &self.times).finish_non_exhaustive()
    }
}

/// Who hears how far a fetch is, and what cancels it.
#[derive(Clone, Copy)]
pub(super) struct FetchWatch<'a> {
    pub(super) progress: &'a dyn FetchProgress,
    pub(super) cancel: &'a CancelToken,
}

/// The downloads of one source.
pub(super) struct Web<'a> {
    client: WebClient,
    /// How the records spell the source.
    pub(super) source: String,
    progress: &'a dyn FetchProgress,
}

/// A download that went well.
pub(super) struct Downloaded {
    pub(super) digest: Digest,
    pub(super) bytes: u64,
    pub(super) reply: WebReply,
}

impl<'a> Web<'a> {
    /// For the source `source`, whose own host is `home`. Hosts in `admitted` are part of the source, which was
    /// judged already under the name that people give it.
    pub(super) fn new(
        settings: &DownloadSettings,
        source: &str,
        home: &Url,
        admitted: Vec<String>,
        watch: FetchWatch<'a>,
    ) -> Result<Self, FetchError> {
        let judge = Arc::clone(&settings.judge);
        let client = WebClient::new(watch.cancel.clone())
            .map_err(|error| FetchError::of_web(source, error))?;
        let mut client = client.with_times(settings.times).with_judge(Box::new(move |url| {
            let is_part = admitted.contains(&authority(url));
            let role = if is_part { PlaceRole::PartOfSource } else { PlaceRole::LedTo };
            judge(&place_of(url), role)
        }));
        client.name_host(home);
        Ok(Self { client, source: source.to_owned(), progress: watch.progress })
    }

    /// Gets a URL; only what is found counts.
    pub(super) fn get(
        &self,
        wanted: &WebGet<'_>,
        what: &str,
        out: &mut dyn Write,
    ) -> Result<Downloaded, FetchError> {
        let got = self.ask(wanted, what, out)?;
        match got.reply.status {
            200 => Ok(got),
            _ => Err(self.refused(wanted.url, &got.reply)),
        }
    }

    /// Gets a URL, whatever the status is.
    pub(super) fn ask(
        &self,
        wanted: &WebGet<'_>,
        what: &str,
        out: &mut dyn Write,
    ) -> Result<Downloaded, FetchError> {
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        let mut sink = |piece: &[u8], total: Option<u64>| {
            hasher.update(piece);
            bytes += piece.len() as u64;
            self.progress.step(what, bytes, total);
            out.write_all(piece)
        };
        let reply = self
            .client
            .get(wanted, &mut sink)
            .map_err(|error| FetchError::of_web(&self.source, error))?;
        Ok(Downloaded { digest: Digest::from_bytes(hasher.finalize().into()), bytes, reply })
    }

    /// Gets a small document into memory.
    pub(super) fn document(
        &self,
        wanted: &WebGet<'_>,
        what: &str,
    ) -> Result<(Vec<u8>, Downloaded), FetchError> {
        let mut bytes = Vec::new();
        let got = self.get(wanted, what, &mut bytes)?;
        Ok((bytes, got))
    }

    /// Gets a URL into the new file `path`.
    pub(super) fn file(
        &self,
        wanted: &WebGet<'_>,
        what: &str,
        path: &Path,
    ) -> Result<Downloaded, FetchError> {
        let mut file = new_file(&self.source, path)?;
        self.get(wanted, what, &mut file)
    }

    /// Why a status is no success.
    pub(super) fn refused(&self, url: &Url, reply: &WebReply) -> FetchError {
        let host = url.host_str().unwrap_or_default();
        let status = reply.status;
        let (fault, about) = match status {
            404 | 410 => {
                (FetchFault::NotFound, format!("{host} has nothing at this address ({status})"))
            }
            401 | 403 => {
                (FetchFault::NotAuthorized, format!("{host} does not let you read it ({status})"))
            }
            _ => (FetchFault::Status(status), format!("{host} answered with status {status}")),
        };
        FetchError::new(fault, &self.source, about)
    }

    pub(super) fn failed(&self, fault: FetchFault, about: impl AsRef<str>) -> FetchError {
        FetchError::new(fault, &self.source, about)
    }
}

/// A new file in the private folder.
pub(super) fn new_file(source: &str, path: &Path) -> Result<std::fs::File, FetchError> {
    metier_fs::create_private_file(path).map_err(|error| not_written(source, &error))
}

pub(super) fn not_written(source: &str, error: &std::io::Error) -> FetchError {
    let about = format!("it could not be written to the folder of downloads: {error}");
    FetchError::of_web(
        source,
        metier_net::WebError { fault: metier_net::WebFault::Write, message: about },
    )
}

/// The URL of a source, as the HTTP client has it. Both have to agree about the host.
pub(super) fn url_of(source: &SourceUrl, scheme: &str, path: &str) -> Option<Url> {
    let text = format!("{scheme}://{}{path}", source.authority());
    let url: Url = text.parse().ok()?;
    let host = url.host_str()?;
    // `0x7f.1` is a name to one of them and an address to the other.
    (host == source.host && url.port() == source.port).then_some(url)
}

fn place_of(url: &Url) -> SourcePlace {
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    SourcePlace::on_host(url.scheme(), host, &format!("{}{query}", url.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_judged_without_percent_signs_and_queries() {
        let place = place_of(&"https://h.test/b%61d/evil.zip?x=1".parse().expect("a URL"));
        assert_eq!(place.path, "bad/evil.zip");
    }
}
