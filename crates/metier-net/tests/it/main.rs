//! The client for downloads against servers on loopback.
//! What it sends where, what it does not follow, and how it ends.
#![expect(clippy::expect_used, reason = "a failure here is a failed test")]

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metier_cancel::CancelToken;
use metier_net::{Resolver, Url, WebClient, WebError, WebFault, WebGet, WebReply, WebTimes};

/// A server that answers every request with `answer`, keeps the heads, and then stays silent where the test wants it.
struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Into<Vec<u8>>, stays: bool) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        let address = listener.local_addr().expect("an address");
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (answer.into(), Arc::clone(&heads));
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n")
                    && stream.read(&mut byte).is_ok_and(|read| read == 1)
                {
                    head.push(byte[0]);
                }
                seen.lock().expect("no panic").push(String::from_utf8_lossy(&head).to_lowercase());
                let _ = stream.write_all(&answer);
                if stays {
                    kept.push(stream);
                }
            }
        });
        Self { address, heads }
    }

    fn url(&self) -> Url {
        format!("http://{}/", self.address).parse().expect("a URL")
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }
}

fn redirect(to: &Url) -> Vec<u8> {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    .into_bytes()
}

const FINE: &str =
    "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nset-cookie: a=b\r\nconnection: close\r\n\r\nfine";

fn client(named: &[&Url]) -> WebClient {
    let mut client = WebClient::new(CancelToken::new()).expect("a client");
    for url in named {
        client.name_host(url);
    }
    client
}

fn get(client: &WebClient, wanted: &WebGet<'_>) -> Result<(WebReply, Vec<u8>), WebError> {
    let mut body = Vec::new();
    let reply = client.get(wanted, &mut |piece, _| {
        body.extend_from_slice(piece);
        Ok(())
    })?;
    Ok((reply, body))
}

fn fault(client: &WebClient, url: &Url) -> WebFault {
    get(client, &WebGet::new(url, 100)).expect_err("it fails").fault
}

#[test]
fn a_password_stays_with_the_host_that_it_is_for() {
    let other = Server::start(FINE, false);
    let first = Server::start(redirect(&other.url()), false);
    let client = client(&[&first.url(), &other.url()]);
    let url = first.url();
    let wanted = WebGet { authorization: Some("Bearer s3cret"), ..WebGet::new(&url, 100) };
    let (reply, body) = get(&client, &wanted).expect("it comes");
    assert_eq!((reply.status, reply.url, body.as_slice()), (200, other.url(), &b"fine"[..]));
    assert!(first.heads()[0].contains("authorization: bearer s3cret"));
    assert!(!other.heads()[0].contains("authorization"), "{}", other.heads()[0]);
    // Nor is a cookie kept.
    get(&client, &WebGet::new(&other.url(), 100)).expect("it comes");
    assert!(!other.heads()[1].contains("cookie"));
}

#[test]
fn every_host_is_judged_before_it_is_reached() {
    let other = Server::start(FINE, false);
    let first = Server::start(redirect(&other.url()), false);
    let (allowed, refused) = (first.url().port(), other.url().port());
    let client = client(&[&first.url(), &other.url()]).with_judge(Box::new(move |url| {
        if url.port() == allowed { Ok(()) } else { Err("not this one".to_owned()) }
    }));
    assert_ne!(allowed, refused);
    assert_eq!(fault(&client, &first.url()), WebFault::HostRefused);
    assert!(other.heads().is_empty());
}

/// Names that lead where they should not.
struct Names;

impl Resolver for Names {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let addresses = match host {
            "inside.test" => vec!["10.0.0.1"],
            "keys.test" => vec!["169.254.169.254"],
            "mixed.test" => vec!["8.8.8.8", "127.0.0.1"],
            _ => vec![],
        };
        Ok(addresses.into_iter().map(|it| it.parse().expect("an address")).collect())
    }
}

#[test]
fn a_name_that_leads_inside_is_not_followed() {
    let url = |text: &str| text.parse::<Url>().expect("a URL");
    let plain = client(&[]).with_resolver(Arc::new(Names));
    for bad in
        ["https://inside.test/", "https://keys.test/", "https://mixed.test/", "https://127.0.0.1/"]
    {
        assert_eq!(fault(&plain, &url(bad)), WebFault::Address, "{bad}");
    }
    assert_eq!(fault(&plain, &url("https://nothing.test/")), WebFault::HostUnknown);
    assert_eq!(fault(&plain, &url("http://inside.test/")), WebFault::PlainHttp);
    // Even a host that was named may not be at the address that hands out keys.
    let keys = url("https://keys.test/");
    let named = client(&[&keys]).with_resolver(Arc::new(Names));
    assert_eq!(fault(&named, &keys), WebFault::Address);
    for bad in ["ftp://x.test/", "https://a:b@x.test/", "https://x.test./"] {
        assert_eq!(fault(&plain, &url(bad)), WebFault::BadUrl, "{bad}");
    }
}

#[test]
fn what_is_too_large_or_never_ends_is_left() {
    let quick = WebTimes { idle: Duration::from_millis(200), ..WebTimes::default() };
    let large = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n", true);
    assert_eq!(fault(&client(&[&large.url()]), &large.url()), WebFault::TooLarge);
    let chunks = Server::start(
        format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}",
            "64\r\n".to_owned() + &"x".repeat(100) + "\r\n1\r\nx\r\n"
        ),
        true,
    );
    assert_eq!(fault(&client(&[&chunks.url()]), &chunks.url()), WebFault::TooLarge);
    let silent = Server::start("", true);
    assert_eq!(
        fault(&client(&[&silent.url()]).with_times(quick), &silent.url()),
        WebFault::TimedOut
    );
    let stalls = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfin", true);
    assert_eq!(
        fault(&client(&[&stalls.url()]).with_times(quick), &stalls.url()),
        WebFault::TimedOut
    );
    let cut = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfin", false);
    assert_eq!(fault(&client(&[&cut.url()]), &cut.url()), WebFault::CutOff);
}

#[test]
fn a_download_ends_when_it_is_cancelled() {
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfin", true);
    let cancel = CancelToken::new();
    let mut client = WebClient::new(cancel.clone()).expect("a client");
    client.name_host(&server.url());
    let url = server.url();
    let ended = client.get(&WebGet::new(&url, 100), &mut |_, _| {
        cancel.cancel();
        Ok(())
    });
    assert_eq!(ended.expect_err("cancelled").fault, WebFault::Cancelled);
}
