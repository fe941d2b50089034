//! What `install` is given: text becomes a source, without asking the network anything.
//!
//! A path on this machine is what exists here; everything else is what it looks like. Each kind knows how
//! the records spell it ([`InstallSource::recorded`]) and what a policy judges ([`InstallSource::place`]).

mod address;
mod git;

use std::path::{Path, PathBuf};

use metier_fs::{EntryKind, entry_kind, is_dir};
use metier_skill::nearest;

pub use address::SourceUrl;
pub use git::{GitRemote, GitSource};

use crate::error::PackError;
use crate::facts::SKILL_FILE;
use crate::fetch::{is_commit_id, oci};
use crate::install::InstallRequest;
use crate::records::SourceKind;

/// What can be installed from, for help and errors.
pub const SUPPORTED: &str = "a directory, a .zip, .skill or .tar.gz file, an https URL of one, a host that lists its \
    skills, a git repository (owner/repo, or its URL), or oci://HOST/NAME:TAG";

/// A source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstallSource {
    /// On this machine.
    Local(LocalSource),
    /// A git repository.
    Git(GitSource),
    /// An archive at a URL.
    Https(HttpsSource),
    /// A host that lists its skills.
    WellKnown(WellKnownSource),
    /// An artifact of a registry.
    Oci(OciSource),
}

/// A directory or an archive on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalSource {
    /// Which of the two.
    pub kind: SourceKind,
    /// Where it is.
    pub path: PathBuf,
    /// How the records name it.
    pub recorded: String,
}

/// An archive at a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpsSource {
    /// Where it is.
    pub url: SourceUrl,
}

/// A host that lists its skills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WellKnownSource {
    /// The host, or the list itself.
    pub url: SourceUrl,
}

/// An artifact of a registry, or of an OCI layout.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OciSource {
    /// In a registry.
    Registry {
        /// The registry and the name; the tag or digest is part of the path.
        url: SourceUrl,
    },
    /// In a directory on this machine.
    Layout {
        /// Where it is.
        path: PathBuf,
        /// How the records name it.
        recorded: String,
    },
}

/// What a policy judges of a source: pure text, known before anything is asked of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourcePlace {
    /// `https`, `ssh`, `git`, `http`, `oci` or `path`.
    pub scheme: String,
    /// The host in lower case, with the port where it is not the usual one; none on this machine.
    pub host: Option<String>,
    /// The path on it, without the first `/`, `.git`, refs, directories inside, tags, digests and what follows `?` or `#`.
    pub path: String,
    /// The same with what was left away of it, for a pattern that denies a tag or a query.
    pub named: Vec<String>,
    /// What was left away at its end, with the mark that it begins with, for a pattern that allows a tag or a query.
    pub ends: Vec<String>,
}

impl SourcePlace {
    /// What stands at the path of a URL on a host.
    pub(crate) fn on_host(scheme: &str, host: String, path: &str) -> Self {
        let bare = |path: &str| {
            let path = path.trim_matches('/');
            path.strip_suffix(".git").unwrap_or(path).to_owned()
        };
        let mut address = path.split(['?', '#']).next().unwrap_or_default();
        let mut named = vec![bare(&address::decoded(path))];
        let mut ends = vec![address::decoded(&path[address.len()..])];
        if scheme == "oci" {
            let last = address.rfind('/').map_or(0, |at| at + 1);
            let all = address;
            for mark in ['@', ':'] {
                if let Some(at) = address[last..].find(mark) {
                    named.push(bare(&address::decoded(address)));
                    address = &address[..last + at];
                    ends.push(address::decoded(&all[address.len()..]));
                }
            }
        }
        named.push(bare(&address::decoded(address)));
        let path = bare(&address::decoded_parts(address));
        named.retain(|it| *it != path);
        ends.retain(|it| !it.is_empty());
        Self { scheme: scheme.to_owned(), host: Some(host), path, named, ends }
    }

    /// A path on this machine.
    pub(crate) fn on_disk(path: &Path) -> Self {
        let path = path.to_string_lossy().into_owned();
        Self { scheme: "path".to_owned(), host: None, path, named: Vec::new(), ends: Vec::new() }
    }

    /// Whether what arrives from there cannot be changed on the way.
    pub fn is_encrypted(&self) -> bool {
        !matches!(self.scheme.as_str(), "http" | "git")
    }

    /// The pattern that allows its host, and no more than that.
    pub fn host_pattern(&self) -> String {
        let host = self.host.clone().unwrap_or_default();
        if self.is_encrypted() { host } else { format!("{}://{host}", self.scheme) }
    }
}

impl InstallSource {
    /// How the records spell it: canonical, and without credentials.
    pub fn recorded(&self) -> String {
        match self {
            Self::Local(local) => local.recorded.clone(),
            Self::Git(git) => git.recorded(),
            Self::Https(HttpsSource { url })
            | Self::WellKnown(WellKnownSource { url })
            | Self::Oci(OciSource::Registry { url }) => url.shown(),
            Self::Oci(OciSource::Layout { recorded, .. }) => recorded.clone(),
        }
    }

    /// The kind that the lock names.
    pub const fn kind(&self) -> SourceKind {
        match self {
            Self::Local(local) => local.kind,
            Self::Git(_) => SourceKind::Git,
            Self::Https(_) => SourceKind::Https,
            Self::WellKnown(_) => SourceKind::WellKnown,
            Self::Oci(_) => SourceKind::Oci,
        }
    }

    /// The host, with its port where it is not the usual one; none on this machine.
    pub fn host(&self) -> Option<String> {
        self.place().host
    }

    /// Whether it is named by what may be a tag that should never change: not by a digest or a commit, which cannot
    /// change, and not by nothing. A branch looks like a tag of a repository.
    pub(crate) fn may_be_tag(&self) -> bool {
        match self {
            Self::Git(git) => git.reference.as_deref().is_some_and(|it| !is_commit_id(it)),
            Self::Oci(OciSource::Registry { url }) => oci::is_version_tag(url),
            _ => false,
        }
    }

    /// What a policy judges.
    pub fn place(&self) -> SourcePlace {
        match self {
            Self::Local(source) => SourcePlace::on_disk(&source.path),
            Self::Git(GitSource { remote: GitRemote::Path { path, .. }, .. })
            | Self::Oci(OciSource::Layout { path, .. }) => SourcePlace::on_disk(path),
            Self::Git(GitSource { remote: GitRemote::Scp { host, path, .. }, .. }) => {
                SourcePlace::on_host("ssh", host.clone(), path)
            }
            Self::Git(GitSource { remote: GitRemote::Url(url), .. })
            | Self::Https(HttpsSource { url })
            | Self::WellKnown(WellKnownSource { url })
            | Self::Oci(OciSource::Registry { url }) => {
                SourcePlace::on_host(&url.scheme, url.authority(), &url.path)
            }
        }
    }

    /// How errors call it: the path on this machine, or as the records spell it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Local(local) => local.path.to_string_lossy().into_owned(),
            other => other.recorded(),
        }
    }
}

/// The source that `text` means. Relative paths start at `dir`; the records name it relative to `base`
/// where it lies inside, so that they are the same in every clone.
pub fn parse_source(text: &str, dir: &Path, base: &Path) -> Result<InstallSource, PackError> {
    let bare = text.strip_prefix("file://").unwrap_or(text);
    let is_path = bare.len() < text.len() || !text.contains("://");
    if is_path && !bare.is_empty() {
        let found = match at_path(bare, dir, base)? {
            Some(found) => Some(found),
            None => repository_at_path(bare, dir, base)?,
        };
        if let Some(found) = found {
            // A clone could bring a folder with the name of the repository that is meant.
            if bare.len() == text.len() && git::is_short_form(text) {
                let reason = "it is both here and the name of a repository of GitHub: write ./ before it for what is here, \
                    or the URL of the repository";
                return Err(PackError::BadSource { source: text.to_owned(), reason });
            }
            return Ok(found);
        }
    }
    if bare.len() == text.len() {
        if let Some(found) = git::parse_remote(text) {
            return Ok(InstallSource::Git(found?));
        }
        if let Some(found) = parse_other_url(text) {
            return found;
        }
    }
    Err(no_source(text, &dir.join(bare.trim_start_matches("./"))))
}

/// The error for what is not there.
fn no_source(text: &str, path: &Path) -> PackError {
    if text.is_empty() {
        let reason = "it is empty";
        return PackError::BadSource { source: "``".to_owned(), reason };
    }
    let names = path.parent().and_then(|parent| metier_fs::read_dir_names(parent).ok());
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let near = nearest(&name, names.iter().flatten().map(String::as_str));
    // As it was typed, but for its last name.
    let above = text.rsplit_once('/').map(|(above, _)| above);
    let near = near.map(|near| above.map_or(near.to_owned(), |above| format!("{above}/{near}")));
    PackError::NoSource { source: path.to_string_lossy().into_owned(), near }
}

/// The source of a request, with its ref.
pub(crate) fn parse_request(
    request: &InstallRequest,
    base: &Path,
) -> Result<InstallSource, PackError> {
    let source = parse_source(&request.source, &request.dir, base)?;
    let Some(reference) = &request.reference else { return Ok(source) };
    let git = match source {
        InstallSource::Git(git) => git,
        InstallSource::Local(local) if is_repository(&local.path) => {
            GitSource::local(local.path, local.recorded)
        }
        other => {
            let reason = "it is not a repository, so it has no refs";
            return Err(PackError::BadSource { source: other.shown(), reason });
        }
    };
    Ok(InstallSource::Git(git.with_reference(reference)?))
}

/// What stands at a path: a bare repository and an OCI layout are what they are, every other directory is a
/// directory.
fn at_path(text: &str, dir: &Path, base: &Path) -> Result<Option<InstallSource>, PackError> {
    let path = dir.join(text);
    if entry_kind(&path).is_none() {
        return Ok(None);
    }
    let path =
        metier_fs::canonical(&path).map_err(|error| PackError::not_readable(&path, error))?;
    let recorded = recorded(&path, base);
    if is_bare_repository(&path) {
        return Ok(Some(InstallSource::Git(GitSource::local(path, recorded))));
    }
    if is_oci_layout(&path) {
        return Ok(Some(InstallSource::Oci(OciSource::Layout { path, recorded })));
    }
    let kind = if is_dir(&path) { SourceKind::Directory } else { SourceKind::Archive };
    Ok(Some(InstallSource::Local(LocalSource { kind, path, recorded })))
}

/// `path.git//inside#ref`, `path#ref` and `path@ref` of a repository on this machine.
fn repository_at_path(
    text: &str,
    dir: &Path,
    base: &Path,
) -> Result<Option<InstallSource>, PackError> {
    let split = |at| text.rsplit_once(at).map(|(before, after)| (before, Some(after)));
    for (address, reference) in [split('#'), split('@'), Some((text, None))].into_iter().flatten() {
        let (address, inner) = address.split_once("//").unwrap_or((address, ""));
        let path = dir.join(address);
        if address.is_empty() || !is_repository(&path) || (reference.is_none() && inner.is_empty())
        {
            continue;
        }
        let path =
            metier_fs::canonical(&path).map_err(|error| PackError::not_readable(&path, error))?;
        let recorded = recorded(&path, base);
        let found = git::with_rest(GitSource::local(path, recorded), reference, inner);
        let source = text.to_owned();
        let found = found.map_err(|reason| PackError::BadSource { source, reason })?;
        return Ok(Some(InstallSource::Git(found)));
    }
    Ok(None)
}

fn is_bare_repository(path: &Path) -> bool {
    is_dir(&path.join("objects"))
        && is_dir(&path.join("refs"))
        && entry_kind(&path.join("HEAD")).is_some()
}

fn is_oci_layout(path: &Path) -> bool {
    let has = |name: &str| entry_kind(&path.join(name)) == Some(EntryKind::File);
    has(oci::MARKER) && has(oci::INDEX) && !has(SKILL_FILE)
}

fn is_repository(path: &Path) -> bool {
    let inner = path.join(".git");
    // Of a worktree and of a submodule it is a file.
    is_bare_repository(path)
        || is_bare_repository(&inner)
        || entry_kind(&inner) == Some(EntryKind::File)
}

/// A URL that is not a repository's.
fn parse_other_url(text: &str) -> Option<Result<InstallSource, PackError>> {
    let (scheme, _) = text.split_once("://")?;
    let source = git::without_credentials(text);
    let url = match SourceUrl::parse(text) {
        Ok(url) => url,
        Err(reason) => return Some(Err(PackError::BadSource { source, reason })),
    };
    // A digest of the list may follow.
    let path = url.path.split('#').next().unwrap_or_default();
    let is_list = matches!(path, "" | "/") || path.contains("/.well-known/");
    Some(Ok(match scheme.to_ascii_lowercase().as_str() {
        "oci" => {
            // Other names of one registry, which a rule about it is about as well.
            let is_hub = url.port.is_none() && oci::DOCKER_HUB_NAMES.contains(&url.host.as_str());
            let host = if is_hub { oci::DOCKER_HUB.to_owned() } else { url.host.clone() };
            InstallSource::Oci(OciSource::Registry { url: SourceUrl { host, ..url } })
        }
        "https" | "http" if is_list => InstallSource::WellKnown(WellKnownSource { url }),
        "https" | "http" => InstallSource::Https(HttpsSource { url }),
        _ => {
            return Some(Err(PackError::UnsupportedSource {
                source,
                kind: "a URL of an unknown kind",
            }));
        }
    }))
}

fn recorded(path: &Path, base: &Path) -> String {
    let base = metier_fs::canonical(base).unwrap_or_else(|_| base.to_owned());
    match path.strip_prefix(&base) {
        Ok(inner) => {
            let names: Vec<String> = inner
                .components()
                .map(|name| name.as_os_str().to_string_lossy().into_owned())
                .collect();
            format!("./{}", names.join("/"))
        }
        Err(_) => path.to_string_lossy().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_path_is_what_it_looks_like() {
        let tmp = tempfile::tempdir().expect("dir");
        let kind = |text: &str| match parse_source(text, tmp.path(), tmp.path()) {
            Ok(source) => Ok(source.kind()),
            Err(error) => Err(error.code()),
        };
        for (text, expected) in [
            ("anthropics/skills", Ok(SourceKind::Git)),
            ("https://example.org/x.git", Ok(SourceKind::Git)),
            ("https://example.org/x.zip", Ok(SourceKind::Https)),
            ("https://example.org", Ok(SourceKind::WellKnown)),
            ("https://example.org/.well-known/agent-skills/index.json", Ok(SourceKind::WellKnown)),
            ("oci://ghcr.io/a/b:1", Ok(SourceKind::Oci)),
            ("gopher://x/y", Err("source-unsupported")),
            ("https://a@b@c/x.zip", Err("bad-source")),
            ("packs/pdf.zip", Err("source-not-found")),
            ("./pdf", Err("source-not-found")),
            ("pdf", Err("source-not-found")),
            ("", Err("bad-source")),
            ("file:///none", Err("source-not-found")),
            ("file://a/b", Err("source-not-found")),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn what_lies_in_the_project_is_recorded_relative_to_it() {
        let tmp = tempfile::tempdir().expect("dir");
        let (project, other) = (tmp.path().join("project"), tmp.path().join("other"));
        for dir in [project.join("sub/skill"), other.clone()] {
            metier_fs::create_private_dir(&dir).expect("dir");
        }
        let found = parse_source("skill", &project.join("sub"), &project).expect("found");
        assert_eq!(
            (found.kind(), found.recorded().as_str()),
            (SourceKind::Directory, "./sub/skill")
        );
        let found = parse_source("../other", &project, &project).expect("found");
        assert_eq!(found.recorded(), metier_fs::canonical(&other).expect("real").to_string_lossy());
    }

    #[test]
    fn a_bare_repository_is_one_and_a_directory_stays_a_directory() {
        let tmp = tempfile::tempdir().expect("dir");
        for top in ["x.git", "tree/.git"] {
            for inner in ["objects", "refs"] {
                metier_fs::create_private_dir(&tmp.path().join(top).join(inner)).expect("dir");
            }
            metier_fs::write_atomic(&tmp.path().join(top).join("HEAD"), b"ref: x\n")
                .expect("writes");
        }
        let recorded = |text: &str| {
            let found = parse_source(text, tmp.path(), tmp.path()).expect(text);
            (found.kind(), found.recorded())
        };
        assert_eq!(recorded("x.git"), (SourceKind::Git, "./x.git".to_owned()));
        assert_eq!(recorded("./x.git//a/b#v1"), (SourceKind::Git, "./x.git//a/b#v1".to_owned()));
        assert_eq!(recorded("x.git@v1"), (SourceKind::Git, "./x.git#v1".to_owned()));
        assert_eq!(recorded("tree"), (SourceKind::Directory, "./tree".to_owned()));
        assert_eq!(recorded("tree#v1"), (SourceKind::Git, "./tree#v1".to_owned()));
    }
}
