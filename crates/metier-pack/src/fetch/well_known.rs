//! A host that lists its skills at `/.well-known/agent-skills/index.json`.
//!
//! Each skill is fetched, checked against its digest where the list gives one, and put into a folder of its
//! name; archives go through the strict reader on the way. A skill that calls itself otherwise than the list
//! does is refused.

mod index;

use std::collections::BTreeSet;
use std::path::Path;

use metier_fs::{PiecewiseFile, TreeWriter};
use metier_net::{Url, WebGet};
use metier_skill::{Digest, Profile};

use super::fault::{FetchError, FetchFault};
use super::http::{DownloadSettings, FetchWatch, Web, not_written, url_of};
use super::https::{MAX_MANUAL_BYTES, check_digest, split_pin};
use super::{Fetched, FetchedKind};
use crate::archive::{archive_kind, unpack};
use crate::directory::read_directory;
use crate::error::PackError;
use crate::facts::SKILL_FILE;
use crate::limits::PackLimits;
use crate::outgoing::Outgoing;
use crate::skills_in::{FoundSkill, skills_in};
use crate::source::WellKnownSource;
use index::{IndexContent, IndexEntry, MAX_INDEX_BYTES, parse_index};

/// Where hosts have their lists, the current place first.
const PLACES: [&str; 2] =
    ["/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"];

/// Fetches the skills of these names and those that they need, or all that a host lists.
pub(super) fn fetch(
    settings: &DownloadSettings,
    source: &WellKnownSource,
    names: &[String],
    into: &Path,
    limits: &PackLimits,
    watch: FetchWatch<'_>,
) -> Result<Fetched, PackError> {
    let recorded = source.url.shown();
    let (path, expected) = split_pin(&source.url.path, &recorded)?;
    let paths: Vec<&str> = match path {
        "" | "/" => PLACES.to_vec(),
        path => vec![path],
    };
    let url = |path: &str| {
        url_of(&source.url, &source.url.scheme, path)
            .ok_or_else(|| FetchError::new(FetchFault::NotFound, &recorded, "it is not a URL"))
    };
    let web = Web::new(settings, &recorded, &url("/")?, Vec::new(), watch)?;
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
                check_digest(&web, got.digest, expected, None)?;
                let bad = |why: String| web.failed(FetchFault::Index, why);
                let (entries, _) = parse_index(&bytes, &got.reply.url).map_err(bad)?;
                let listed = Listed {
                    web: &web,
                    home: &url,
                    authorization: authorization.as_deref(),
                    limits,
                    into,
                };
                listed.fetch_skills(entries, names)?;
                let path = into.join("skills");
                let resolved = Digest::of(&bytes).to_string();
                let is_fixed = expected.is_some();
                let kind = FetchedKind::Directory;
                return Ok(Fetched { is_fixed, ..Fetched::new(path, kind, resolved) });
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
    /// Fetches the skills of these names, then those that they need. Where the list lacks one of the names, all are
    /// fetched: it may have another name now, and the error says what there is.
    fn fetch_skills(
        &self,
        mut entries: Vec<IndexEntry>,
        names: &[String],
    ) -> Result<(), PackError> {
        metier_fs::create_private_dir(&self.into.join("skills"))
            .map_err(|error| not_written(&self.web.source, &error))?;
        let is_listed = |name: &String| entries.iter().any(|entry| entry.name == *name);
        let takes_all = names.is_empty() || !names.iter().all(is_listed);
        let mut wanted: BTreeSet<String> = names.iter().cloned().collect();
        let mut left = self.limits.total_bytes;
        // What a skill needs is known when it has come.
        while let Some(at) =
            entries.iter().position(|entry| takes_all || wanted.contains(&entry.name))
        {
            let entry = entries.remove(at);
            left = left.saturating_sub(self.fetch_one(&entry, left)?);
            let skill = self.checked(&entry.name)?;
            let needed = skill.summary.requires;
            wanted.extend(needed.certain.into_iter().chain(needed.perhaps));
        }
        Ok(())
    }

    /// Gets one skill; gives the bytes that it has.
    fn fetch_one(&self, entry: &IndexEntry, left: u64) -> Result<u64, PackError> {
        let dir = self.into.join("skills").join(&entry.name);
        let written = |error: std::io::Error| not_written(&self.web.source, &error);
        match &entry.content {
            IndexContent::Archive(url, digest) => self.archive(&entry.name, url, *digest, left),
            IndexContent::Manual(url, digest) => {
                metier_fs::create_private_dir(&dir).map_err(written)?;
                let limit = left.min(MAX_MANUAL_BYTES);
                Ok(self.file(url, Some(*digest), limit, &dir.join(SKILL_FILE))?)
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
                Ok(used)
            }
        }
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

    /// The skill that was fetched as `name`, which has to call itself so.
    fn checked(&self, name: &str) -> Result<FoundSkill, PackError> {
        let dir = self.into.join("skills").join(name);
        let tree = read_directory(&dir, self.limits, Outgoing::nowhere(Profile::Lenient))
            .map_err(|error| error.called(&dir, &format!("{}: {name}", self.web.source)))?;
        let mut found = skills_in(&tree, &self.web.source, &[])?;
        match found.pop() {
            Some(skill) if found.is_empty() && skill.summary.name.as_str() == name => Ok(skill),
            other => {
                let own = found.first().or(other.as_ref());
                let own = own.map(|skill| skill.summary.name.as_str()).unwrap_or_default();
                let about =
                    format!("the list calls a skill `{name}`, and the skill calls itself `{own}`");
                Err(self.web.failed(FetchFault::Index, about).into())
            }
        }
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
