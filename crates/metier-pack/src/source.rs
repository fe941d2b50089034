//! What `install` is given: text becomes a source, without asking the network anything.
//!
//! A path on this machine is what exists here; what looks like something else is named for what it is, so
//! that an error says what is supported instead of "not found".

use std::path::{Path, PathBuf};

use metier_fs::{entry_kind, is_dir};

use crate::error::PackError;
use crate::records::SourceKind;

/// What can be installed from, for help and errors.
pub const SUPPORTED: &str = "a directory, or a .zip, .skill or .tar.gz file";

/// A source on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalSource {
    pub(crate) kind: SourceKind,
    pub(crate) path: PathBuf,
    /// How the records name it.
    pub(crate) recorded: String,
}

/// The source that `text` means. Relative paths start at `dir`; the records name it relative to `base`
/// where it lies inside, so that they are the same in every clone.
pub(crate) fn parse_source(text: &str, dir: &Path, base: &Path) -> Result<LocalSource, PackError> {
    let bare = text.strip_prefix("file://").unwrap_or(text);
    let path = dir.join(bare);
    if !bare.is_empty() && entry_kind(&path).is_some() {
        let kind = if is_dir(&path) { SourceKind::Directory } else { SourceKind::Archive };
        let path =
            metier_fs::canonical(&path).map_err(|error| PackError::not_readable(&path, error))?;
        let recorded = recorded(&path, base);
        return Ok(LocalSource { kind, path, recorded });
    }
    match foreign_kind(text) {
        Some(kind) => Err(PackError::UnsupportedSource { source: text.to_owned(), kind }),
        None => Err(PackError::NoSource(path.to_string_lossy().into_owned())),
    }
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

/// What a text looks like that is no path here.
fn foreign_kind(text: &str) -> Option<&'static str> {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("oci") => return Some("an OCI reference"),
        Some("git" | "ssh" | "git+ssh" | "git+https") => return Some("a git repository"),
        Some("http" | "https") if text.ends_with(".git") => return Some("a git repository"),
        Some("http" | "https") => return Some("a URL"),
        Some(_) => return Some("a URL of an unknown kind"),
        None => {}
    }
    if text.starts_with("git@") {
        return Some("a git repository");
    }
    let is_word = |part: &str| {
        !part.is_empty()
            && part.chars().all(|ch| ch.is_ascii_alphanumeric() || "-_.@#".contains(ch))
    };
    let parts: Vec<&str> = text.split('/').collect();
    let is_shorthand = parts.len() >= 2
        && !text.starts_with(['.', '/', '~'])
        && parts.iter().all(|part| is_word(part))
        && !parts.last().is_some_and(|last| {
            last.ends_with(".zip") || last.ends_with(".gz") || last.ends_with(".skill")
        });
    is_shorthand.then_some("a repository of a host (owner/repo)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_path_is_named_for_what_it_is() {
        let tmp = tempfile::tempdir().expect("dir");
        let kind = |text: &str| match parse_source(text, tmp.path(), tmp.path()) {
            Err(PackError::UnsupportedSource { kind, .. }) => kind,
            Err(PackError::NoSource(_)) => "nothing",
            other => panic!("{text}: {other:?}"),
        };
        for (text, expected) in [
            ("anthropics/skills", "a repository of a host (owner/repo)"),
            ("anthropics/skills/pdf@v1", "a repository of a host (owner/repo)"),
            ("https://example.org/x.git", "a git repository"),
            ("git@github.com:a/b.git", "a git repository"),
            ("https://example.org/x.zip", "a URL"),
            ("oci://ghcr.io/a/b:1", "an OCI reference"),
            ("packs/pdf.zip", "nothing"),
            ("./pdf", "nothing"),
            ("pdf", "nothing"),
            ("", "nothing"),
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
        assert_eq!((found.kind, found.recorded.as_str()), (SourceKind::Directory, "./sub/skill"));
        let found = parse_source("../other", &project, &project).expect("found");
        assert_eq!(found.recorded, metier_fs::canonical(&other).expect("real").to_string_lossy());
    }
}
