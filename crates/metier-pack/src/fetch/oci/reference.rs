//! `oci://HOST/NAME[:TAG][@sha256:…]`, read as the distribution specification has it. Pure.
//! What is read is safe to put into the path of a URL.

use std::fmt;

use metier_skill::Digest;

use crate::source::SourceUrl;

/// The longest name, the longest tag.
const MAX_NAME_CHARS: usize = 255;
const MAX_TAG_CHARS: usize = 128;
/// The host that people write, and the one that answers.
pub(crate) const DOCKER_HUB: &str = "docker.io";
/// Its servers, which people name instead of it.
pub(crate) const DOCKER_HUB_NAMES: [&str; 3] =
    ["index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"];
const DOCKER_HUB_SERVER: &str = "registry-1.docker.io";
/// Words in a tag that say that it is moved on purpose, whatever number stands beside them.
const MOVING: &[&str] = &[
    "latest", "main", "master", "trunk", "head", "edge", "nightly", "stable", "dev", "devel",
    "canary", "next", "snapshot", "unstable", "testing",
];

/// A reference to an artifact of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OciReference {
    /// The host with its port, as it was written.
    pub(crate) registry: String,
    /// The name in the registry.
    pub(crate) name: String,
    pub(crate) tag: Option<String>,
    pub(crate) digest: Option<Digest>,
}

impl OciReference {
    /// The reference in the URL of a source; or what is wrong with it.
    pub(crate) fn of(url: &SourceUrl) -> Result<Self, &'static str> {
        if url.credentials.is_some() || url.user.is_some() {
            return Err("a user name or password cannot be part of it");
        }
        Self::parse(&url.authority(), url.path.trim_start_matches('/'))
    }

    /// The reference `rest` at `registry`.
    pub(crate) fn parse(registry: &str, rest: &str) -> Result<Self, &'static str> {
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => {
                let digest = digest
                    .parse()
                    .map_err(|_| "its digest is not sha256: and 64 hexadecimal digits")?;
                (rest, Some(digest))
            }
            None => (rest, None),
        };
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) => (name, Some(tag)),
            None => (rest, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err("its tag is not valid");
        }
        if name.len() > MAX_NAME_CHARS || !name.split('/').all(is_name_part) {
            return Err(
                "its name is not valid: lower-case letters, digits, and . _ - between them",
            );
        }
        let is_host = registry == "localhost" || registry.contains(['.', ':']);
        if !is_host {
            return Err("it has to begin with the host of a registry, such as ghcr.io");
        }
        let is_official = registry == DOCKER_HUB && !name.contains('/');
        let name = if is_official { format!("library/{name}") } else { name.to_owned() };
        Ok(Self { registry: registry.to_owned(), name, tag: tag.map(str::to_owned), digest })
    }

    /// The host that answers for the registry.
    pub(crate) fn server(&self) -> &str {
        if self.registry == DOCKER_HUB { DOCKER_HUB_SERVER } else { &self.registry }
    }

    /// Whether it should never mean anything else: a digest, or a tag that is a version.
    pub(crate) fn is_fixed(&self) -> bool {
        self.digest.is_some() || self.tag.as_deref().is_some_and(is_version)
    }

    /// What is asked for: the digest, the tag, or `latest`.
    pub(crate) fn wanted(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            (None, None) => "latest".to_owned(),
        }
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.name)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

/// Whether a source in a registry is named by a version that could be moved.
pub(crate) fn is_version_tag(url: &SourceUrl) -> bool {
    OciReference::of(url).is_ok_and(|it| it.digest.is_none() && it.is_fixed())
}

/// Whether a tag is a version, as `1`, `1.2` and `v1.2.3-alpine` are. Publishers move words like `latest`, and a
/// version only by mistake, or because the registry is not theirs any more.
fn is_version(tag: &str) -> bool {
    let tag = tag.to_ascii_lowercase();
    let number = tag.strip_prefix('v').unwrap_or(&tag);
    let mut parts = number.split(['.', '-', '_']);
    let first = parts.next().unwrap_or_default();
    let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    is_number && parts.all(|part| !MOVING.contains(&part))
}

pub(crate) fn is_tag(tag: &str) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let bytes = tag.as_bytes();
    bytes.len() <= MAX_TAG_CHARS
        && bytes.first().is_some_and(is_first)
        && bytes.iter().all(|byte| is_first(byte) || b".-".contains(byte))
}

/// Letters and digits, with `.`, `_`, `__` or hyphens between them.
fn is_name_part(part: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    let between = part.split(|ch: char| ch.is_ascii() && is_word(ch as u8));
    is_word(*first)
        && is_word(*last)
        && between
            .into_iter()
            .all(|gap| matches!(gap, "" | "." | "_" | "__") || gap.bytes().all(|byte| byte == b'-'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<OciReference, &'static str> {
        OciReference::of(&SourceUrl::parse(text)?)
    }

    #[test]
    fn references_are_read_and_written_again() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        for (text, wanted) in [
            ("oci://ghcr.io/a/b".to_owned(), "latest".to_owned()),
            ("oci://ghcr.io/a/b:1.2".to_owned(), "1.2".to_owned()),
            ("oci://localhost:5000/a__b/c-d:V1".to_owned(), "V1".to_owned()),
            ("oci://[::1]:5000/a".to_owned(), "latest".to_owned()),
            (format!("oci://ghcr.io/a/b@{digest}"), digest.clone()),
            (format!("oci://ghcr.io/a/b:1@{digest}"), digest.clone()),
        ] {
            let found = parse(&text).expect(&text);
            assert_eq!((found.to_string(), found.wanted()), (text, wanted));
        }
        let hub = parse("oci://docker.io/alpine").expect("parses");
        assert_eq!((hub.server(), hub.name.as_str()), ("registry-1.docker.io", "library/alpine"));
    }

    #[test]
    fn a_tag_that_is_a_version_should_never_move() {
        for (rest, is_fixed) in [
            (":1", true),
            (":1.2", true),
            (":v1.2.3", true),
            (":1.2.3-alpine3", true),
            (":20241101", true),
            ("", false),
            (":latest", false),
            (":stable", false),
            (":v", false),
            (":version1", false),
            (":1.2-nightly", false),
            (":0123abcd", false),
        ] {
            assert_eq!(
                parse(&format!("oci://ghcr.io/a/b{rest}")).map(|it| it.is_fixed()),
                Ok(is_fixed),
                "{rest}"
            );
        }
        let digest = format!("oci://ghcr.io/a/b:main@sha256:{}", "ab".repeat(32));
        assert_eq!(parse(&digest).map(|it| it.is_fixed()), Ok(true));
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        for bad in [
            "oci://ghcr.io",
            "oci://ghcr.io/",
            "oci://ghcr/a",
            "oci://ghcr.io/A",
            "oci://ghcr.io/a//b",
            "oci://ghcr.io/a/../b",
            "oci://ghcr.io/a:",
            "oci://ghcr.io/a:-x",
            "oci://ghcr.io/a:b/c",
            "oci://ghcr.io/a@sha256:abc",
            "oci://ghcr.io/a@sha512:abc",
            "oci://ghcr.io/a?x=y",
            "oci://ghcr.io/a#b",
            "oci://ghcr.io/-a",
            "oci://ghcr.io/a___b",
            "oci://ghcr.io/a..b",
            "oci://me@ghcr.io/a",
            "oci://me:secret@ghcr.io/a",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_safe_in_a_path_and_reads_the_same_again(rest in "\\PC{0,60}") {
            if let Ok(found) = OciReference::parse("example.org", &rest) {
                prop_assert!(!found.name.split('/').any(|part| matches!(part, "" | "." | "..")));
                let again = parse(&found.to_string());
                prop_assert_eq!(again, Ok(found));
            }
        }
    }
}
