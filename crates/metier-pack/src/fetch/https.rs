//! An archive at a URL, or one `SKILL.md`.
//! Its content decides what it is, and its digest is what the lock keeps.

use std::path::Path;
use std::time::UNIX_EPOCH;

use metier_fs::PiecewiseFile;
use metier_net::WebGet;
use metier_skill::Digest;

use super::fault::{FetchError, FetchFault};
use super::http::{DownloadSettings, Downloaded, FetchWatch, Web, url_of};
use super::{Fetched, FetchedKind};
use crate::archive::{ArchiveError, ArchiveFault, archive_kind};
use crate::facts::SKILL_FILE;
use crate::limits::PackLimits;
use crate::source::HttpsSource;

/// How a fragment of the URL gives the digest.
const PIN: &str = "sha256=";
/// Bytes of a `SKILL.md`.
pub(super) const MAX_MANUAL_BYTES: u64 = 1 << 20;

/// Fetches the archive, or the one `SKILL.md`, at a URL.
pub(super) fn fetch(
    settings: &DownloadSettings,
    source: &HttpsSource,
    pinned: Option<&str>,
    into: &Path,
    limits: &PackLimits,
    watch: FetchWatch<'_>,
) -> Result<Fetched, FetchError> {
    let recorded = source.url.shown();
    let (path, expected) = split_pin(&source.url.path, &recorded)?;
    let Some(url) = url_of(&source.url, &source.url.scheme, path) else {
        return Err(FetchError::new(FetchFault::NotFound, &recorded, "it is not a URL"));
    };
    let web = Web::new(settings, &recorded, &url, Vec::new(), watch)?;
    let authorization = source.url.credentials.as_deref().map(super::oci::basic);
    let is_manual = url.path().ends_with(&format!("/{SKILL_FILE}"));
    let limit = if is_manual { MAX_MANUAL_BYTES } else { limits.total_bytes };
    let wanted = WebGet { authorization: authorization.as_deref(), ..WebGet::new(&url, limit) };
    let target = if is_manual {
        let dir = into.join("skill");
        metier_fs::create_private_dir(&dir)
            .map_err(|error| super::http::not_written(&recorded, &error))?;
        dir.join(SKILL_FILE)
    } else {
        into.join("archive")
    };
    let got = web.file(&wanted, "downloading", &target)?;
    let kind = if is_manual {
        FetchedKind::Directory
    } else {
        check_is_archive(&web, &got, &target)?;
        FetchedKind::Archive
    };
    check_digest(&web, got.digest, expected, pinned)?;
    let path = if is_manual { into.join("skill") } else { target };
    let resolved = got.digest.to_string();
    let modified =
        got.reply.last_modified.as_deref().and_then(|it| httpdate::parse_http_date(it).ok());
    let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let released_at = since.and_then(|it| i64::try_from(it.as_secs()).ok());
    let is_fixed = expected.is_some();
    Ok(Fetched { released_at, is_fixed, ..Fetched::new(path, kind, resolved) })
}

/// The path of a URL without its fragment, and the digest that the fragment gives.
pub(super) fn split_pin<'p>(
    path: &'p str,
    recorded: &str,
) -> Result<(&'p str, Option<Digest>), FetchError> {
    let Some((path, fragment)) = path.split_once('#') else { return Ok((path, None)) };
    let digest = fragment.strip_prefix(PIN).and_then(|hex| format!("sha256:{hex}").parse().ok());
    digest.map(|digest| (path, Some(digest))).ok_or_else(|| {
        let about = "what follows `#` is not `sha256=` and 64 hexadecimal digits";
        FetchError::new(FetchFault::Digest, recorded, about)
            .advise("leave it away, or give the whole digest")
    })
}

/// Both digests that may be known: the one in the URL, and the one in the lock.
pub(super) fn check_digest(
    web: &Web<'_>,
    digest: Digest,
    expected: Option<Digest>,
    pinned: Option<&str>,
) -> Result<(), FetchError> {
    if let Some(expected) = expected.filter(|expected| *expected != digest) {
        return Err(
            web.failed(FetchFault::Digest, format!("its digest is {digest}, not {expected}"))
        );
    }
    let found = digest.to_string();
    match pinned.filter(|pinned| *pinned != found) {
        None => Ok(()),
        Some(pinned) => {
            let about =
                format!("it is not what skills.lock.json says it was: {found}, not {pinned}");
            Err(web.failed(FetchFault::Changed, about))
        }
    }
}

/// A page, which a browser would show, is the usual mistake, so it is named.
fn check_is_archive(web: &Web<'_>, got: &Downloaded, path: &Path) -> Result<(), FetchError> {
    let unreadable = |why: String| web.failed(FetchFault::NotAnArchive, why);
    let file = PiecewiseFile::open(path).map_err(|error| unreadable(error.to_string()))?;
    let is_unknown = matches!(
        archive_kind(&file),
        Err(ArchiveError::Fault { fault: ArchiveFault::UnknownFormat, .. })
    );
    if !is_unknown {
        // Every other fault is found, and said, when it is unpacked.
        return Ok(());
    }
    let mut start = vec![0; usize::try_from(file.size()).unwrap_or(512).min(512)];
    file.read_at(0, &mut start).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8_lossy(&start).trim_start().to_ascii_lowercase();
    let is_page = text.starts_with("<!doctype html") || text.starts_with("<html");
    let about = match got.reply.content_type.as_deref() {
        _ if is_page => "it is a web page, not an archive".to_owned(),
        Some(kind) => format!("it is neither a zip nor a tar ({kind}, {} bytes)", got.bytes),
        None => format!("it is neither a zip nor a tar ({} bytes)", got.bytes),
    };
    Err(unreadable(about))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_is_a_whole_digest_or_an_error() {
        let hex = "ab".repeat(32);
        let text = format!("/a.zip?b#sha256={hex}");
        let (path, digest) = split_pin(&text, "").expect("splits");
        assert_eq!(
            (path, digest.map(|it| it.to_string())),
            ("/a.zip?b", Some(format!("sha256:{hex}")))
        );
        assert_eq!(split_pin("/a.zip", "").expect("splits"), ("/a.zip", None));
        for bad in ["/a.zip#", "/a.zip#sha256=abc", "/a.zip#readme", "/a.zip#sha1=ab"] {
            assert_eq!(split_pin(bad, "x").expect_err(bad).code(), "digest-mismatch");
        }
    }
}
