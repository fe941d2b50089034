//! Docker's `config.json`: the passwords of registries that stand in it. Programs that keep passwords
//! elsewhere (credential helpers) are not run; that there is one is said when a password is missing.

use std::collections::BTreeMap;
use std::path::Path;

use data_encoding::BASE64;
use metier_fs::{ReadError, read_bounded};
use serde::Deserialize;

/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// How Docker calls its own registry in the file.
const DOCKER_HUB_KEY: &str = "index.docker.io";

/// What is known of the user at a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// Nothing.
    None,
    /// A user name and password, joined by a colon.
    Password(Secret),
    /// They are there, in a form that is not used; why.
    Unusable(String),
}

/// What must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DockerConfig {
    auths: BTreeMap<String, DockerAuth>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DockerAuth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl std::fmt::Debug for DockerAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DockerAuth")
    }
}

impl Credentials {
    /// What the `config.json` in `folder` has for `registry`; or why the file cannot be used.
    pub(crate) fn read(folder: &Path, registry: &str) -> Result<Self, String> {
        let path = folder.join("config.json");
        let bytes = match read_bounded(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::None);
            }
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Self::parse(&bytes, registry).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn parse(bytes: &[u8], registry: &str) -> Result<Self, String> {
        // The words of the parser could hold a piece of a password.
        let config: DockerConfig = serde_json::from_slice(bytes)
            .map_err(|error| format!("line {} is not as Docker writes it", error.line()))?;
        let is_it = |key: &&String| host_of(key) == own_key(registry);
        if let Some(helper) = config.cred_helpers.iter().find(|(key, _)| is_it(key)) {
            return Ok(Self::helper(helper.1));
        }
        let entry = config.auths.iter().find(|(key, _)| is_it(key)).map(|(_, entry)| entry);
        let found = entry.and_then(DockerAuth::password);
        Ok(match (found, config.creds_store) {
            (Some(found), _) => found,
            (None, Some(store)) if !store.is_empty() => Self::helper(&store),
            (None, _) => Self::None,
        })
    }

    fn helper(name: &str) -> Self {
        Self::Unusable(format!(
            "its password is kept by the credential helper `{name}`, and such programs are not run"
        ))
    }
}

impl DockerAuth {
    fn password(&self) -> Option<Credentials> {
        if self.identitytoken.as_ref().is_some_and(|token| !token.is_empty()) {
            let why = "its entry is an identity token, which is not used";
            return Some(Credentials::Unusable(why.to_owned()));
        }
        if let (Some(user), Some(password)) = (&self.username, &self.password) {
            return Some(Credentials::Password(Secret(format!("{user}:{password}"))));
        }
        let auth = self.auth.as_ref().filter(|auth| !auth.is_empty())?;
        let decoded = BASE64.decode(auth.as_bytes()).ok().and_then(|it| String::from_utf8(it).ok());
        // Some versions of Docker end the password with a zero byte.
        Some(match decoded.map(|it| it.trim_end_matches('\0').to_owned()) {
            Some(text) if text.contains(':') => Credentials::Password(Secret(text)),
            _ => {
                Credentials::Unusable("its entry `auth` is not a user name and password".to_owned())
            }
        })
    }
}

fn own_key(registry: &str) -> &str {
    if registry == "docker.io" { DOCKER_HUB_KEY } else { registry }
}

/// The host of a key, which may be a URL. Passwords for a part of a registry (`host/name`) are not used.
fn host_of(key: &str) -> &str {
    let bare = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://"));
    match bare {
        Some(bare) => bare.split('/').next().unwrap_or(bare),
        None => key,
    }
}

/// The header that gives a user name and password.
pub(crate) fn basic(user_and_password: &str) -> String {
    format!("Basic {}", BASE64.encode(user_and_password.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str, registry: &str) -> Result<Credentials, String> {
        Credentials::parse(json.as_bytes(), registry)
    }

    #[test]
    fn a_password_belongs_to_exactly_its_registry() {
        let auth = BASE64.encode(b"me:p:w\0");
        let json = format!(
            r#"{{"auths": {{"ghcr.io": {{"auth": "{auth}"}}, "https://index.docker.io/v1/": {{"auth": "{auth}"}},
                "x.org:5000": {{"username": "u", "password": "p"}}, "a.org/team": {{"auth": "{auth}"}}}}, "HttpHeaders": {{}}}}"#
        );
        let password = |text: &str| Ok(Credentials::Password(Secret(text.to_owned())));
        assert_eq!(parse(&json, "ghcr.io"), password("me:p:w"));
        assert_eq!(parse(&json, "docker.io"), password("me:p:w"));
        assert_eq!(parse(&json, "x.org:5000"), password("u:p"));
        for other in ["x.org", "evil-ghcr.io", "ghcr.io.evil.org", "a.org", "io", ""] {
            assert_eq!(parse(&json, other), Ok(Credentials::None), "{other}");
        }
        assert!(!format!("{:?}", parse(&json, "ghcr.io")).contains("p:w"));
    }

    #[test]
    fn what_is_not_used_is_said() {
        for json in [
            r#"{"credsStore": "desktop"}"#,
            r#"{"credHelpers": {"ghcr.io": "ecr-login"}}"#,
            r#"{"auths": {"ghcr.io": {}}, "credsStore": "desktop"}"#,
            r#"{"auths": {"ghcr.io": {"identitytoken": "t"}}}"#,
            r#"{"auths": {"ghcr.io": {"auth": "%%%"}}}"#,
        ] {
            assert!(matches!(parse(json, "ghcr.io"), Ok(Credentials::Unusable(_))), "{json}");
        }
        let broken = parse(r#"{"auths": {"ghcr.io": {"auth": s3cret}}}"#, "ghcr.io");
        assert!(broken.is_err_and(|error| !error.contains("s3cret")));
    }
}
