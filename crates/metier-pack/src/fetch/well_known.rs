//! A host that lists its skills at `/.well-known/agent-skills/index.json`.
//!
//! Each skill is fetched, checked against its digest where the list gives one, and put into a folder of its
//! name; archives go through the strict reader on the way. A skill that calls itself otherwise than the list
//! does is refused.

mod index;

use std::path::Path;

use metier_fs::{PiecewiseFile, TreeWriter};
use metier_net::{Url, WebGet};
use metier_skill::{Digest, Profile};

use super::fault::{FetchError, FetchFault};
use super::http::{DownloadSettings, Web, not_written, url_of};
use super::https::MAX_MANUAL_BYTES;
use super::{FetchProgress, Fetched, FetchedKind};
use crate::archive::{archive_kind, unpack};
use crate::error::PackError;
use crate::facts::SKILL_FILE;
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::skills_in::skills_in;
use crate::source::WellKnownSource;
use index::{IndexContent, IndexEntry, MAX_INDEX_BYTES, parse_index};

/// Where hosts have their lists, the current place first.
const PLACES: [&str; 2] =
    ["/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"];

/// Fetches all skills that a host lists.
pub(super) fn fetch(
    settings: &DownloadSettings,
    source: &WellKnownSource,
    into: &Path,
    limits: &PackLimits,
    progress: &dyn FetchProgress,
) -> Result<Fetched, PackError> {
    let recorded = source.url.shown();
    let paths: Vec<&str> = match source.url.path.as_str() {
        "" | "/" => PLACES.to_vec(),
        path => vec![path],
    };
    let url = |path: &str| {
        url_of(&source.url, &source.url.scheme, path)
            .ok_or_else(|| FetchError::new(FetchFault::NotFound, &recorded, "it is not a URL"))
    };
    let web = Web::new(settings, &recorded, &url("/")?, Vec::new(), progress)?;
    let authorization = source.url.credentials.as_deref().map(super::oci::basic);
    let mut missing = None;
    for path in paths {
        let url = url(path)?;
        let wanted = WebGet {
            accept: Some("application/json"),
            authorization: authorization.as_deref(),
            ..WebGet::new(&url, MAX_INDEX_BYTES)
        };
        match web.document(&wanted, "reading the list of skills") {
            Ok((bytes, got)) => {
                let bad = |why: String| web.failed(FetchFault::Index, why);
                let (entries, _) = parse_index(&bytes, &got.reply.url).map_err(bad)?;
                let listed = Listed {
                    web: &web,
                    home: &url,
                    authorization: authorization.as_deref(),
                    limits,
                    into,
                };
                listed.fetch_all(entries)?;
                let path = into.join("skills");
                let resolved = Digest::of(&bytes).to_string();
                return Ok(Fetched::new(path, FetchedKind::Directory, resolved));
            }
            Err(error) if error.fault == FetchFault::NotFound => missing = missing.or(Some(error)),
            Err(error) => return Err(error.into()),
        }
    }
    let about = format!("there is no list of skills at {}", PLACES[0]);
    let advice = "name an archive, or a repository with owner/repo or its URL";
    Err(missing
        .map_or_else(
            || web.failed(FetchFault::NotFound, &about),
            |_| web.failed(FetchFault::NotFound, &about).advise(advice),
        )
        .into())
}

/// The skills of a list that are being fetched.
struct Listed<'a> {
    web: &'a Web<'a>,
    /// Where the list is. What proves who asks is for this host alone.
    home: &'a Url,
    authorization: Option<&'a str>,
    limits: &'a PackLimits,
    into: &'a Path,
}

impl Listed<'_> {
    fn fetch_all(&self, entries: Vec<IndexEntry>) -> Result<(), PackError> {
        let top = self.into.join("skills");
        let written = |error: std::io::Error| not_written(&self.web.source, &error);
        metier_fs::create_private_dir(&top).map_err(written)?;
        let mut left = self.limits.total_bytes;
        for entry in entries {
            let dir = top.join(&entry.name);
            let used = match &entry.content {
                IndexContent::Archive(url, digest) => {
                    self.archive(&entry.name, url, *digest, left)?
                }
                IndexContent::Manual(url, digest) => {
                    metier_fs::create_private_dir(&dir).map_err(written)?;
                    let limit = left.min(MAX_MANUAL_BYTES);
                    self.file(url, Some(*digest), limit, &dir.join(SKILL_FILE))?
                }
                IndexContent::Files(files) => {
                    let mut used = 0;
                    for (path, url) in files {
                        let path = dir.join(path);
                        let above = path.parent().unwrap_or(&dir);
                        metier_fs::create_private_dir(above).map_err(written)?;
                        let limit = (left - used).min(self.limits.file_bytes);
                        used += self.file(url, None, limit, &path)?;
                    }
                    used
                }
            };
            left = left.saturating_sub(used);
            self.check_name(&entry.name, &dir)?;
        }
        Ok(())
    }

    /// Gets a file; gives its bytes.
    fn file(
        &self,
        url: &Url,
        digest: Option<Digest>,
        limit: u64,
        path: &Path,
    ) -> Result<u64, FetchError> {
        let is_home = metier_net::authority(url) == metier_net::authority(self.home);
        let authorization = self.authorization.filter(|_| is_home);
        let wanted = WebGet { authorization, ..WebGet::new(url, limit) };
        let got = self.web.file(&wanted, "downloading", path)?;
        if let Some(expected) = digest.filter(|digest| *digest != got.digest) {
            let about = format!("{url} is {}, and the list says {expected}", got.digest);
            return Err(self.web.failed(FetchFault::Digest, about));
        }
        Ok(got.bytes)
    }

    /// Gets an archive and unpacks it; gives the bytes that it has unpacked.
    fn archive(&self, name: &str, url: &Url, digest: Digest, left: u64) -> Result<u64, PackError> {
        let packed = self.into.join("packed");
        self.file(url, Some(digest), left, &packed)?;
        let unreadable =
            |why: String| self.web.failed(FetchFault::NotAnArchive, format!("{url}: {why}"));
        let file = PiecewiseFile::open(&packed).map_err(|error| unreadable(error.to_string()))?;
        let shown = Path::new(url.as_str());
        let unsound = |error| PackError::archive(shown, error);
        let kind = archive_kind(&file).map_err(unsound)?;
        let limits = PackLimits { total_bytes: left, ..*self.limits };
        let written = |error: std::io::Error| not_written(&self.web.source, &error);
        let tree = TreeWriter::create_in(self.into, "tree-").map_err(written)?;
        let outgoing = Outgoing::into_staging(&tree, "skill", Profile::Lenient);
        let unpacked = unpack(&file, kind, &limits, outgoing).map_err(unsound)?;
        // In a folder of its own in the archive, or at its top: the list means one skill either way.
        let found = skills_in(&unpacked, url.as_str(), &[])?;
        let [skill] = &found[..] else {
            let about = format!("{url} has {} skills, and the list means one", found.len());
            return Err(self.web.failed(FetchFault::Index, about).into());
        };
        let from = tree.path().join("skill").join(&skill.dir);
        let to = self.into.join("skills").join(name);
        metier_fs::rename_dir(&from, &to).map_err(written)?;
        let used = unpacked.bytes();
        drop(tree);
        metier_fs::remove_file(&packed).map_err(written)?;
        Ok(used)
    }

    /// The skill in `dir` has to have the name that the list gives it.
    fn check_name(&self, name: &str, dir: &Path) -> Result<(), PackError> {
        let tree =
            crate::directory::read_directory(dir, self.limits, Outgoing::nowhere(Profile::Lenient))
                .map_err(|error| error.called(dir, &format!("{}: {name}", self.web.source)))?;
        let found = skills_in(&tree, &self.web.source, &[])?;
        let own = found.first().map(|skill| skill.summary.name.as_str()).unwrap_or_default();
        if found.len() == 1 && own == name {
            return Ok(());
        }
        let about = format!("the list calls a skill `{name}`, and the skill calls itself `{own}`");
        Err(self.web.failed(FetchFault::Index, about).into())
    }
}

/// The URLs that a list in `bytes` leads to.
pub(super) fn urls_in(bytes: &[u8], at: &Url) -> Vec<String> {
    let (entries, _) = parse_index(bytes, at).unwrap_or_default();
    let urls = entries.into_iter().flat_map(|entry| match entry.content {
        IndexContent::Manual(url, _) | IndexContent::Archive(url, _) => vec![url],
        IndexContent::Files(files) => files.into_iter().map(|(_, url)| url).collect(),
    });
    urls.map(|url| url.to_string()).collect()
}
