//! A registry over HTTP: manifests by tag or digest, blobs by digest, and saying who asks.
//!
//! A password goes to the registry that it belongs to, and to the server that is known to give out its tokens.
//! A registry can name any server for that, and one that is not known gets a question without a password.

use std::cell::RefCell;
use std::io::Write;

use metier_net::{Url, WebGet, WebReply, authority};
use metier_skill::Digest;
use serde::Deserialize;

use super::Blobs;
use super::challenge::{Challenge, parse_challenges};
use super::credentials::{Credentials, basic};
use super::manifest::{ACCEPT, Descriptor, MAX_MANIFEST_BYTES};
use super::reference::OciReference;
use crate::fetch::fault::{FetchError, FetchFault};
use crate::fetch::http::{Downloaded, Web};

/// The largest reply of a server for tokens.
const MAX_TOKEN_BYTES: u64 = 1 << 20;
/// Registries whose tokens come from another host of the same owner.
const TOKEN_SERVERS: &[(&str, &str)] = &[
    ("registry-1.docker.io:443", "auth.docker.io:443"),
    ("registry.gitlab.com:443", "gitlab.com:443"),
];

/// A registry.
pub(super) struct Registry<'a> {
    pub(super) web: &'a Web<'a>,
    pub(super) reference: &'a OciReference,
    /// `https://host/`.
    pub(super) base: &'a Url,
    pub(super) credentials: Credentials,
    /// The header that worked, once it is known.
    pub(super) authorization: RefCell<Option<String>>,
    /// Why a password was not sent, where one is known.
    pub(super) withheld: RefCell<Option<String>>,
}

#[derive(Deserialize)]
struct TokenReply {
    token: Option<String>,
    access_token: Option<String>,
}

impl Registry<'_> {
    fn url(&self, kind: &str, what: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("/v2/{}/{kind}/{what}", self.reference.name));
        url
    }

    /// Gets a URL of the registry, and says who asks where it wants to know.
    fn get(
        &self,
        url: &Url,
        accept: Option<&str>,
        limit: u64,
        what: &str,
        out: &mut dyn Write,
    ) -> Result<Downloaded, FetchError> {
        let mut is_second = false;
        loop {
            let authorization = self.authorization.borrow().clone();
            let wanted = WebGet { url, accept, authorization: authorization.as_deref(), limit };
            let got = self.web.ask(&wanted, what, out)?;
            // What another host wants to know, to which the registry has led us, is not for it.
            let is_ours = authority(&got.reply.url) == authority(self.base);
            match got.reply.status {
                200 => return Ok(got),
                401 if is_ours && !is_second && self.authorize(&got.reply)? => is_second = true,
                _ => return Err(self.refused(url, &got.reply)),
            }
        }
    }

    /// Finds a new way to say who asks; false where there is none.
    fn authorize(&self, reply: &WebReply) -> Result<bool, FetchError> {
        let challenges: Vec<Challenge> =
            reply.challenges.iter().flat_map(|header| parse_challenges(header)).collect();
        let find = |scheme: &str| challenges.iter().find(|it| it.scheme == scheme);
        let header = if let Some(bearer) = find("bearer") {
            Some(format!("Bearer {}", self.token(bearer)?))
        } else if find("basic").is_some() {
            match &self.credentials {
                Credentials::Password(password) => Some(basic(&password.0)),
                _ => None,
            }
        } else {
            None
        };
        let is_new = header.is_some();
        *self.authorization.borrow_mut() = header;
        Ok(is_new)
    }

    /// A token that allows to read this name and nothing else, whatever the registry asked for.
    fn token(&self, challenge: &Challenge) -> Result<String, FetchError> {
        let bad = |why: &str| {
            let about = format!("its registry does not say clearly where tokens come from: {why}");
            self.web.failed(FetchFault::NotAuthorized, about)
        };
        let realm = challenge.parameters.get("realm").ok_or_else(|| bad("no realm"))?;
        let mut url: Url = realm.parse().map_err(|_| bad("the realm is not a URL"))?;
        if self.base.scheme() == "https" && url.scheme() != "https" {
            return Err(bad("the realm is not https"));
        }
        url.set_fragment(None);
        if let Some(service) = challenge.parameters.get("service") {
            url.query_pairs_mut().append_pair("service", service);
        }
        let scope = format!("repository:{}:pull", self.reference.name);
        url.query_pairs_mut().append_pair("scope", &scope);
        let password = match &self.credentials {
            Credentials::Password(password) if may_have_password(self.base, &url) => {
                Some(basic(&password.0))
            }
            Credentials::Password(_) => {
                let to = url.host_str().unwrap_or_default();
                let why =
                    format!("your password for {} is not sent to {to}", self.reference.registry);
                *self.withheld.borrow_mut() = Some(why);
                None
            }
            _ => None,
        };
        let wanted = WebGet {
            authorization: password.as_deref(),
            accept: Some("application/json"),
            ..WebGet::new(&url, MAX_TOKEN_BYTES)
        };
        let mut bytes = Vec::new();
        let got = self.web.ask(&wanted, "asking for a token", &mut bytes)?;
        if got.reply.status != 200 {
            return Err(self.refused(&url, &got.reply));
        }
        let reply: TokenReply =
            serde_json::from_slice(&bytes).map_err(|_| bad("the token is not JSON"))?;
        let token = reply.token.or(reply.access_token).unwrap_or_default();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("the token is not one"));
        }
        Ok(token)
    }

    fn refused(&self, url: &Url, reply: &WebReply) -> FetchError {
        let error = self.web.refused(url, reply);
        if error.fault != FetchFault::NotAuthorized {
            return error;
        }
        let registry = &self.reference.registry;
        let withheld = self.withheld.borrow().clone();
        let advice = match (&self.credentials, withheld) {
            (_, Some(why)) => why,
            (Credentials::Unusable(why), None) => {
                format!("{why}; write `auth` for {registry} into Docker's config.json")
            }
            (Credentials::Password(_), None) => {
                format!(
                    "the password for {registry} in Docker's config.json is not enough; or it is not there at all"
                )
            }
            (Credentials::None, None) => {
                format!(
                    "it may be private or not there; `docker login {registry}` writes the password to Docker's config.json"
                )
            }
        };
        error.advise(advice)
    }
}

/// The hosts that are a registry: its own, and the one that is known to give out its tokens.
pub(super) fn own_servers(registry: &Url) -> Vec<String> {
    let own = authority(registry);
    let tokens =
        TOKEN_SERVERS.iter().filter(|(from, _)| *from == own).map(|(_, to)| (*to).to_owned());
    tokens.chain([own.clone()]).collect()
}

/// Whether the server of a realm may see the password of a registry.
fn may_have_password(registry: &Url, realm: &Url) -> bool {
    own_servers(registry).contains(&authority(realm))
}

impl Blobs for Registry<'_> {
    fn document(&self, wanted: &str) -> Result<(Vec<u8>, Digest), FetchError> {
        let mut bytes = Vec::new();
        let url = self.url("manifests", wanted);
        let got =
            self.get(&url, Some(ACCEPT), MAX_MANIFEST_BYTES, "reading the manifest", &mut bytes)?;
        Ok((bytes, got.digest))
    }

    fn blob(&self, blob: &Descriptor, what: &str, out: &mut dyn Write) -> Result<(), FetchError> {
        let url = self.url("blobs", &blob.digest.to_string());
        let got = self.get(&url, None, blob.size, what, out)?;
        super::check_blob(&self.web.source, blob, got.digest, got.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_stays_with_its_registry() {
        let may = |registry: &str, realm: &str| {
            let url = |text: &str| text.parse::<Url>().expect("a URL");
            may_have_password(&url(registry), &url(realm))
        };
        assert!(may("https://ghcr.io/", "https://ghcr.io/token"));
        assert!(may("https://registry-1.docker.io/", "https://auth.docker.io/token"));
        assert!(may("https://registry.gitlab.com/", "https://gitlab.com/jwt/auth"));
        for realm in [
            "https://evil.org/token",
            "https://ghcr.io.evil.org/token",
            "https://ghcr.io:8443/token",
            "http://ghcr.io/token",
            "https://auth.docker.io/token",
            "https://sub.ghcr.io/token",
        ] {
            assert!(!may("https://ghcr.io/", realm), "{realm}");
        }
    }
}
