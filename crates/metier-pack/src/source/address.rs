//! A URL, split strictly: scheme, user, host, port, path. Pure.
//!
//! Programs differ in how they read odd URLs, and the one that judges a host must not differ from the one
//! that connects to it. So what could be read in two ways is refused instead of read in one of them.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use metier_net::may_hand_out_keys;

/// A URL in its parts. Credentials are kept apart, and are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceUrl {
    /// The scheme, in lower case.
    pub scheme: String,
    /// The user, where one is part of the address (`git` in `ssh://git@host`).
    pub user: Option<String>,
    /// `user:password` or a token, where the URL had one.
    pub credentials: Option<String>,
    /// The host, in lower case.
    pub host: String,
    /// The port, where it is not the usual one.
    pub port: Option<u16>,
    /// The path, with its first `/`; may be empty.
    pub path: String,
}

impl SourceUrl {
    /// Splits `text`; or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or("it has no scheme")?;
        let scheme = scheme.to_ascii_lowercase();
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&byte)) {
            return Err("it has characters that a URL cannot have");
        }
        let (authority, path) = match rest.find(['/', '#']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (userinfo, host) = match authority.split_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (host, port) = split_port(host)?;
        let (user, credentials) = match userinfo {
            None | Some("") => (None, None),
            Some(info) if scheme == "ssh" => match info.split_once(':') {
                Some((user, _)) => (Some(user), Some(info)),
                None => (Some(info), None),
            },
            Some(info) => (None, Some(info)),
        };
        if user.is_some_and(|user| user.starts_with('-')) {
            return Err("its user begins with a hyphen");
        }
        // Programs that connect take such parts out of a path, after it was judged.
        if decoded(path).split('/').any(|part| matches!(part, "." | "..")) {
            return Err("its path has parts that lead elsewhere");
        }
        let usual = match scheme.as_str() {
            "https" | "oci" => 443,
            "http" => 80,
            "ssh" => 22,
            "git" => 9418,
            _ => 0,
        };
        Ok(Self {
            user: user.map(ToOwned::to_owned),
            credentials: credentials.map(ToOwned::to_owned),
            host,
            port: port.filter(|port| *port != usual),
            path: path.to_owned(),
            scheme,
        })
    }

    /// The URL without credentials.
    pub fn shown(&self) -> String {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("{}://{user}{}{}", self.scheme, self.authority(), self.path)
    }

    /// The host, with the port where it is not the usual one.
    pub fn authority(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }
}

impl fmt::Debug for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// A path without the percent signs that stand for other characters, to be judged.
pub(super) fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (byte, used) = match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => (u8::try_from(high * 16 + low).unwrap_or(b'%'), 3),
            _ => (*first, 1),
        };
        bytes.push(byte);
        rest = &rest[used..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The same part by part. One in which a `/` would appear stays as it is: to a server it may be one name.
pub(super) fn decoded_parts(path: &str) -> String {
    let part = |part: &str| {
        let decoded = decoded(part);
        if decoded.contains('/') { part.to_owned() } else { decoded }
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

fn split_port(authority: &str) -> Result<(String, Option<u16>), &'static str> {
    let is_v6 = authority.starts_with('[');
    let end = if is_v6 { authority.find(']').map(|at| at + 1) } else { authority.find(':') };
    let (host, port) = match end {
        Some(at) => authority.split_at(at),
        None if is_v6 => return Err("its host is not valid"),
        None => (authority, ""),
    };
    let port = match port.strip_prefix(':') {
        Some(port) => Some(port.parse().map_err(|_| "its port is not valid")?),
        None if port.is_empty() => None,
        None => return Err("its host is not valid"),
    };
    check_host(host)?;
    Ok((host.to_ascii_lowercase(), port))
}

/// No one means such a host as a source, by any program.
const KEEPER: &str =
    "its host is an address that hands out the keys of cloud machines, or of a single link";

/// Refuses what is not a plain name or address.
pub(crate) fn check_host(host: &str) -> Result<(), &'static str> {
    let is_v6 = host.starts_with('[') && host.ends_with(']');
    let inner = if is_v6 { &host[1..host.len() - 1] } else { host };
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || b".-_".contains(&byte) || (is_v6 && byte == b':')
    };
    if inner.is_empty() || inner.starts_with(['-', '.']) || !inner.bytes().all(is_plain) {
        return Err("its host is not valid");
    }
    if host.ends_with('.') {
        return Err("its host ends in a dot: leave it away");
    }
    if is_v6 {
        let address: Option<Ipv6Addr> = inner.parse().ok();
        let is_usual = address.is_some_and(|it| it.to_string().eq_ignore_ascii_case(inner));
        if address.is_some_and(|address| may_hand_out_keys(address.into())) {
            return Err(KEEPER);
        }
        return if is_usual {
            Ok(())
        } else {
            Err("its host is not an address as it is usually written")
        };
    }
    if inner.parse().is_ok_and(|address: Ipv4Addr| may_hand_out_keys(address.into())) {
        return Err(KEEPER);
    }
    // Programs take such a host for an address, which no rule about the address would know.
    let last = inner.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_hex =
        last.strip_prefix("0x").is_some_and(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
    let is_number = is_hex || last.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && inner.parse::<Ipv4Addr>().is_err() {
        return Err(
            "its host is a number that programs take for an address: write all four numbers of the address",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_and_credentials_are_never_shown() {
        let url = SourceUrl::parse("HTTPS://me:s3cret@Example.ORG:8443/a/b.git").expect("parses");
        assert_eq!(url.shown(), "https://example.org:8443/a/b.git");
        assert_eq!(url.credentials.as_deref(), Some("me:s3cret"));
        assert!(!format!("{url:?}").contains("s3cret"));
        let url = SourceUrl::parse("ssh://git@host:22/a").expect("parses");
        assert_eq!((url.shown().as_str(), url.port), ("ssh://git@host/a", None));
        assert_eq!(SourceUrl::parse("git://[::1]:99/a").expect("parses").authority(), "[::1]:99");
    }

    #[test]
    fn what_programs_read_differently_is_refused() {
        for text in [
            "https://good.org\\@evil.org/a",
            "https://a@b@c/d",
            "https://ho st/a",
            "https://-oProxyCommand=x/a",
            "ssh://-x@host/a",
            "https:///a",
            "https://host:99999/a",
            "https://host:/a",
            "https://[::1/a",
            "https://h\u{f6}st/a",
            "no-scheme",
            "https://host/good/../evil/x.git",
            "https://127.1/x.git",
            "ssh://git@2130706433/x.git",
            "git://0x7f.1/x.git",
            "git://127.0.0.0x1/x.git",
            "https://good.org./x.git",
            "git://[0:0:0:0:0:0:0:1]/x.git",
            "https://169.254.169.254/x.zip",
            "git://100.100.100.200/x.git",
            "oci://[fd00:ec2::254]/x",
            "https://host/good/%2e%2E/evil/x.git",
        ] {
            assert!(SourceUrl::parse(text).is_err(), "{text}");
        }
    }
}
