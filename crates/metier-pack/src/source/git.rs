//! A git repository as a source: where it is, which ref, and which directory of it. Pure text.
//!
//! Accepted: `owner/repo[/path][@ref]` (GitHub), `https://host/x.git`, `ssh://`, `git@host:x`, `git://`, a bare
//! repository on this machine; each with `//path` and `#ref` (or `@ref`) behind it.

use std::path::{Path, PathBuf};

use super::address::{SourceUrl, check_host};
use crate::error::PackError;

/// The host of `owner/repo`.
const SHORT_HOST: &str = "github.com";
/// Hosts whose `https://host/owner/repo` is a repository, without `.git`.
const FORGES: &[&str] = &[SHORT_HOST, "gitlab.com", "bitbucket.org", "codeberg.org"];

/// How a repository is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GitRemote {
    /// By a URL: `https`, `http`, `ssh` or `git`.
    Url(SourceUrl),
    /// `user@host:path`, which is ssh.
    Scp {
        /// The user.
        user: String,
        /// The host, in lower case.
        host: String,
        /// The path on it, as ssh takes it.
        path: String,
    },
    /// A repository on this machine.
    Path {
        /// Where it is.
        path: PathBuf,
        /// How the records name it.
        recorded: String,
    },
}

/// A git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    /// Where it is.
    pub remote: GitRemote,
    /// A branch, a tag or a commit; the default branch without one.
    pub reference: Option<String>,
    /// The directory of it that is meant; empty for all of it.
    pub path: String,
}

impl GitSource {
    /// A repository on this machine.
    pub(crate) fn local(path: PathBuf, recorded: String) -> Self {
        Self { remote: GitRemote::Path { path, recorded }, reference: None, path: String::new() }
    }

    /// What git is given as the address: without credentials.
    pub fn address(&self) -> String {
        match &self.remote {
            GitRemote::Url(url) => url.shown(),
            GitRemote::Scp { user, host, path } => format!("{user}@{host}:{path}"),
            GitRemote::Path { path, .. } => path.to_string_lossy().into_owned(),
        }
    }

    /// How the records spell it, without credentials.
    pub fn recorded(&self) -> String {
        // What follows an `@` would be read as a ref.
        let is_plain = !self.path.contains('@');
        if let Some(short) = self.short().filter(|_| is_plain) {
            let path = if self.path.is_empty() { String::new() } else { format!("/{}", self.path) };
            let reference = self.reference.as_ref().map(|it| format!("@{it}")).unwrap_or_default();
            return format!("{short}{path}{reference}");
        }
        let address = match &self.remote {
            GitRemote::Path { recorded, .. } => recorded.clone(),
            _ => self.address(),
        };
        let path = if self.path.is_empty() { String::new() } else { format!("//{}", self.path) };
        let unnamed = if is_plain { "" } else { "#HEAD" };
        let reference = self.reference.as_ref().map(|it| format!("#{it}"));
        format!("{address}{path}{}", reference.as_deref().unwrap_or(unnamed))
    }

    /// `owner/repo`, where it can be said so.
    fn short(&self) -> Option<&str> {
        let GitRemote::Url(url) = &self.remote else { return None };
        let is_there = url.scheme == "https" && url.host == SHORT_HOST && url.port.is_none();
        let name = url.path.strip_prefix('/')?.strip_suffix(".git")?;
        (is_there && is_short(name)).then_some(name)
    }

    /// With the ref that was asked for apart from the text.
    ///
    /// # Errors
    ///
    /// [`PackError::BadSource`] for two refs, and for one that is not valid.
    pub fn with_reference(mut self, reference: &str) -> Result<Self, PackError> {
        if self.reference.as_deref().is_some_and(|it| it != reference) {
            let source = self.recorded();
            return Err(PackError::BadSource { source, reason: "it names another ref already" });
        }
        check_reference(reference)
            .map_err(|reason| PackError::BadSource { source: reference.to_owned(), reason })?;
        self.reference = Some(reference.to_owned());
        Ok(self)
    }
}

/// A repository that `text` names by its address; `None` for another kind of source.
pub(super) fn parse_remote(text: &str) -> Option<Result<GitSource, PackError>> {
    let bad = |reason| PackError::BadSource { source: without_credentials(text), reason };
    let found = match text.split_once("://") {
        Some((scheme, _)) => parse_url(&scheme.to_ascii_lowercase(), text)?,
        None => parse_scp(text).or_else(|| parse_short(text))?,
    };
    Some(found.map_err(bad))
}

/// `text` as an error may show it.
pub(super) fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => text.to_owned(),
    }
}

fn parse_url(scheme: &str, text: &str) -> Option<Result<GitSource, &'static str>> {
    let text = text.strip_prefix("git+").unwrap_or(text);
    let scheme = scheme.strip_prefix("git+").unwrap_or(scheme);
    if !matches!(scheme, "https" | "http" | "ssh" | "git") {
        return None;
    }
    let always = matches!(scheme, "ssh" | "git");
    let (address, fragment) = split_once_or(text, '#');
    let url = match SourceUrl::parse(address) {
        Ok(url) => url,
        // Whatever it is meant to be, it is not fetched.
        Err(reason) => return Some(Err(reason)),
    };
    let is_forge = FORGES.contains(&url.host.as_str()) && !is_archive_url(&url.path);
    let has_suffix = url.path.strip_suffix(".git").is_some()
        || url.path.contains(".git@")
        || url.path.contains(".git//")
        || url.path.contains(".git/");
    if !always && !is_forge && !has_suffix {
        return None;
    }
    Some(from_url(url, fragment, is_forge))
}

/// `/owner/repo/archive/x.zip` and the like are files of a forge.
fn is_archive_url(path: &str) -> bool {
    [".zip", ".tar.gz", ".tgz", ".skill"].iter().any(|suffix| path.ends_with(suffix))
        || path.matches('/').count() < 2
}

fn from_url(
    mut url: SourceUrl,
    fragment: Option<&str>,
    is_forge: bool,
) -> Result<GitSource, &'static str> {
    let whole = std::mem::take(&mut url.path);
    let (path, reference) = match fragment {
        Some(reference) => (whole.as_str(), Some(reference)),
        None => split_once_or(&whole, '@'),
    };
    let (mut repository, mut inner) = match path.split_once("//") {
        Some((repository, inner)) => (repository.to_owned(), inner.to_owned()),
        None => match path.split_once(".git/") {
            Some((repository, inner)) => (format!("{repository}.git"), inner.to_owned()),
            None => (path.to_owned(), String::new()),
        },
    };
    let mut reference = reference.map(ToOwned::to_owned);
    if is_forge && inner.is_empty() {
        (repository, inner, reference) = forge_path(&repository, reference);
    }
    while repository.ends_with('/') {
        repository.pop();
    }
    // What is added to an empty path would become a part of the host.
    if repository.len() < 2 || !repository.starts_with('/') || repository.contains("/-") {
        return Err("its path is not that of a repository");
    }
    if is_forge && repository.strip_suffix(".git").is_none() {
        repository.push_str(".git");
    }
    url.path = repository;
    finish(GitRemote::Url(url), reference, &inner)
}

/// The address that a browser shows: `/owner/repo/tree/REF/path`.
fn forge_path(path: &str, reference: Option<String>) -> (String, String, Option<String>) {
    for middle in ["/-/tree/", "/tree/", "/src/branch/", "/src/tag/", "/blob/"] {
        if let Some((repository, rest)) = path.split_once(middle)
            && repository.matches('/').count() >= 2
        {
            let (named, inner) = split_once_or(rest.trim_end_matches('/'), '/');
            let inner = inner.unwrap_or_default();
            let inner = inner.strip_suffix("/SKILL.md").unwrap_or(inner);
            let inner = if inner == "SKILL.md" { "" } else { inner };
            let reference = reference.or_else(|| Some(named.to_owned()));
            return (repository.to_owned(), inner.to_owned(), reference);
        }
    }
    (path.to_owned(), String::new(), reference)
}

/// `git@host:owner/repo.git`.
fn parse_scp(text: &str) -> Option<Result<GitSource, &'static str>> {
    let (user, rest) = text.split_once('@')?;
    let (host, whole) = rest.split_once(':')?;
    let is_user = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if user.is_empty() || user.starts_with('-') || !user.bytes().all(is_user) {
        return None;
    }
    Some(check_host(host).and_then(|()| {
        let (address, fragment) = split_once_or(whole, '#');
        let (path, reference) = match fragment {
            Some(reference) => (address, Some(reference)),
            None => split_once_or(address, '@'),
        };
        let (path, inner) = path.split_once("//").unwrap_or((path, ""));
        let is_plain =
            |byte: u8| byte.is_ascii_graphic() && !b"\\\"'`$;&|<>(){}*?!".contains(&byte);
        if path.is_empty() || path.starts_with('-') || !path.bytes().all(is_plain) {
            return Err("its path is not that of a repository");
        }
        // The other side takes such parts out of a path, after it was judged.
        if path.split('/').any(|part| matches!(part, "." | "..")) {
            return Err("its path has parts that lead elsewhere");
        }
        let remote = GitRemote::Scp {
            user: user.to_owned(),
            host: host.to_ascii_lowercase(),
            path: path.to_owned(),
        };
        finish(remote, reference.map(ToOwned::to_owned), inner)
    }))
}

/// `owner/repo[/path][@ref]`, also behind `github.com/`; other forges behind their names are URLs without a scheme.
fn parse_short(text: &str) -> Option<Result<GitSource, &'static str>> {
    if let Some((host, rest)) = text.split_once('/')
        && FORGES.contains(&host.to_ascii_lowercase().as_str())
    {
        let has_pages = ["/tree/", "/blob/"].iter().any(|middle| rest.contains(middle));
        let is_short = host.eq_ignore_ascii_case(SHORT_HOST) && !has_pages;
        return if is_short {
            parse_short(rest)
        } else {
            parse_url("https", &format!("https://{text}"))
        };
    }
    let (address, fragment) = split_once_or(text, '#');
    let (name, reference) = match fragment {
        Some(reference) => (address, Some(reference)),
        None => split_once_or(address, '@'),
    };
    let name = name.strip_suffix('/').unwrap_or(name);
    let ends = [".zip", ".gz", ".tgz", ".skill", ".tar"];
    if name.starts_with(['.', '/', '~', '-']) || ends.iter().any(|end| name.ends_with(end)) {
        return None;
    }
    let mut parts = name.splitn(3, '/');
    let (owner, repository) = (parts.next()?, parts.next()?);
    let repository = repository.strip_suffix(".git").unwrap_or(repository);
    if !is_short(&format!("{owner}/{repository}")) {
        return None;
    }
    let url = SourceUrl {
        scheme: "https".to_owned(),
        user: None,
        credentials: None,
        host: SHORT_HOST.to_owned(),
        port: None,
        path: format!("/{owner}/{repository}.git"),
    };
    let inner = parts.next().unwrap_or_default();
    Some(finish(GitRemote::Url(url), reference.map(ToOwned::to_owned), inner))
}

/// Whether `text` can be read as `owner/repo[/path][@ref]`.
pub(super) fn is_short_form(text: &str) -> bool {
    parse_scp(text).is_none() && parse_short(text).is_some()
}

fn is_short(name: &str) -> bool {
    let is_word = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['-', '.'])
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    name.split('/').count() == 2 && name.split('/').all(is_word)
}

/// A repository on this machine, whose path was split off already.
pub(super) fn with_rest(
    source: GitSource,
    reference: Option<&str>,
    inner: &str,
) -> Result<GitSource, &'static str> {
    finish(source.remote, reference.map(ToOwned::to_owned), inner)
}

fn finish(
    remote: GitRemote,
    reference: Option<String>,
    inner: &str,
) -> Result<GitSource, &'static str> {
    if let Some(reference) = &reference {
        check_reference(reference)?;
    }
    let inner = inner.trim_matches('/');
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['\\', '\0']);
    if !inner.is_empty() && !inner.split('/').all(is_name) {
        return Err("its path has parts that lead elsewhere");
    }
    Ok(GitSource { remote, reference, path: inner.to_owned() })
}

/// The rules of `git check-ref-format`, no hyphen in front, which would be taken for an option, and no `#`.
fn check_reference(reference: &str) -> Result<(), &'static str> {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && Path::new(part).extension().is_none_or(|it| it != "lock")
    };
    let is_char = |ch: char| !ch.is_control() && !" ~^:?*[\\".contains(ch);
    let is_sound = !reference.starts_with('-')
        && reference.split('/').all(is_part)
        && reference.chars().all(is_char)
        && !reference.contains("..")
        && !reference.contains("@{")
        // It stands between a source and its ref, so what is recorded could be read in two ways.
        && !reference.contains('#')
        && reference != "@";
    if is_sound { Ok(()) } else { Err("its ref is not a valid name of a branch, tag or commit") }
}

fn split_once_or(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_elsewhere_is_refused_and_an_at_in_a_directory_is_no_ref() {
        for text in ["git@h.test:good/../evil/x.git", "git@h.test:./x.git"] {
            assert!(matches!(parse_remote(text), Some(Err(_))), "{text}");
        }
        let source = parse_remote("a/b/dir@x#v1").expect("a repository").expect("parses");
        for source in [source.clone(), GitSource { reference: None, ..source }] {
            let recorded = source.recorded();
            let again = parse_remote(&recorded).expect("a repository").expect("parses");
            assert_eq!((again.path.as_str(), again.recorded()), ("dir@x", recorded));
        }
    }

    #[test]
    fn every_spelling_of_a_repository_has_one_recorded_form_that_means_the_same() {
        for (text, address, recorded) in [
            ("anthropics/skills", "https://github.com/anthropics/skills.git", "anthropics/skills"),
            ("a/b/c/d@v1.2", "https://github.com/a/b.git", "a/b/c/d@v1.2"),
            ("a/b#feature/x", "https://github.com/a/b.git", "a/b@feature/x"),
            ("a/b.git", "https://github.com/a/b.git", "a/b"),
            ("https://github.com/a/b", "https://github.com/a/b.git", "a/b"),
            ("github.com/a/b", "https://github.com/a/b.git", "a/b"),
            ("github.com/a/b/s/pdf@v1", "https://github.com/a/b.git", "a/b/s/pdf@v1"),
            ("github.com/a/b/tree/main/s", "https://github.com/a/b.git", "a/b/s@main"),
            (
                "gitlab.com/g/sub/b",
                "https://gitlab.com/g/sub/b.git",
                "https://gitlab.com/g/sub/b.git",
            ),
            (
                "https://github.com/a/b/tree/main/s/pdf",
                "https://github.com/a/b.git",
                "a/b/s/pdf@main",
            ),
            (
                "https://github.com/a/b/blob/v1/pdf/SKILL.md",
                "https://github.com/a/b.git",
                "a/b/pdf@v1",
            ),
            (
                "https://me:tok@gitlab.com/g/sub/b.git@v1",
                "https://gitlab.com/g/sub/b.git",
                "https://gitlab.com/g/sub/b.git#v1",
            ),
            (
                "https://example.org/x.git//in/side#v1",
                "https://example.org/x.git",
                "https://example.org/x.git//in/side#v1",
            ),
            (
                "git+https://example.org/x.git",
                "https://example.org/x.git",
                "https://example.org/x.git",
            ),
            ("ssh://git@h:2222/a/b", "ssh://git@h:2222/a/b", "ssh://git@h:2222/a/b"),
            ("git@Host:a/b.git@v1", "git@host:a/b.git", "git@host:a/b.git#v1"),
            ("git://h/a.git", "git://h/a.git", "git://h/a.git"),
        ] {
            let found = parse_remote(text).unwrap_or_else(|| panic!("{text}")).expect(text);
            assert_eq!((found.address().as_str(), found.recorded().as_str()), (address, recorded));
            let again = parse_remote(recorded).expect("a repository").expect(recorded);
            assert_eq!(again.recorded(), recorded, "{text}");
        }
    }

    #[test]
    fn what_is_another_kind_of_source_is_left_to_it() {
        for text in [
            "https://example.org/x.zip",
            "https://example.org",
            "https://github.com/a/b/archive/main.zip",
            "oci://ghcr.io/a/b:1",
            "packs/pdf.zip",
            "./pdf",
            "pdf",
            "",
            "a b/c",
        ] {
            assert_eq!(parse_remote(text).map(|it| it.is_ok()), None, "{text}");
        }
    }

    #[test]
    fn options_in_disguise_and_paths_that_lead_out_are_refused() {
        for text in [
            "a/b@-x",
            "a/b##",
            "a/b#--upload-pack=touch",
            "a/b/../c",
            "a/b@x..y",
            "a/b@x.lock",
            "ssh://-oProxyCommand=x/a",
            "ssh://git@host/-x",
            "git@host:-x",
            "git@-host:x",
            "https://h/x.git//a/../b",
            "git@host:a;touch x",
            // The host that is asked would be another one than the one that is judged.
            "https://github.com//evil/x",
            "https://github.com//",
            "https://u:p@github.com//x",
            "https://gitlab.com//x/y",
            "https://codeberg.org//x",
            "https://github.com:8443//x",
            "git://github.com//x",
            "git://h//",
            "ssh://git@github.com//x/y",
        ] {
            let found = parse_remote(text).unwrap_or_else(|| panic!("{text} is not a repository"));
            assert!(matches!(found, Err(PackError::BadSource { .. })), "{text}: {found:?}");
        }
        let found = parse_remote("https://u:tok@h/x.git#-x").expect("a repository");
        assert!(!found.expect_err("refused").to_string().contains("tok"));
    }
}
