//! A web server on loopback, with TLS and an authority of its own or without, that answers as a test says and
//! keeps what it was asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use data_encoding::BASE64;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// What was asked: the path, and all headers in lower case.
#[derive(Debug, Clone)]
pub(crate) struct WebAsked {
    pub(crate) path: String,
    pub(crate) head: String,
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) enum WebAnswer {
    /// These bytes, head and body.
    Raw(Vec<u8>),
    /// These bytes, and then zeros until the client has enough.
    Endless(Vec<u8>),
}

impl WebAnswer {
    pub(crate) fn status(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
        );
        Self::Raw([head.as_bytes(), body].concat())
    }

    pub(crate) fn ok(body: impl AsRef<[u8]>) -> Self {
        Self::status(200, "", body)
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self::status(302, &format!("location: {to}\r\n"), "")
    }

    pub(crate) fn missing() -> Self {
        Self::status(404, "", "nothing here")
    }
}

/// How an answer is found.
type Answers = dyn Fn(&WebAsked) -> WebAnswer + Send + Sync;

/// The server. Its threads end with the process.
pub(crate) struct WebServer {
    address: SocketAddr,
    /// The authority that signed its certificate, as a PEM file has it.
    authority: Option<String>,
    asked: Arc<Mutex<Vec<WebAsked>>>,
}

impl WebServer {
    /// A server without TLS.
    pub(crate) fn plain(answers: impl Fn(&WebAsked) -> WebAnswer + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(answers))
    }

    /// A server for `localhost` and 127.0.0.1, with a certificate of an authority that no one knows.
    pub(crate) fn tls(answers: impl Fn(&WebAsked) -> WebAnswer + Send + Sync + 'static) -> Self {
        let mut of_ca = CertificateParams::new(Vec::new()).expect("parameters");
        of_ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let ca = CertifiedIssuer::self_signed(of_ca, key).expect("an authority");
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let key = KeyPair::generate().expect("a key");
        let leaf = CertificateParams::new(names).expect("parameters");
        let leaf = leaf.signed_by(&key, &ca).expect("a certificate");
        let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .expect("a configuration");
        let pem = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            BASE64.encode(ca.as_ref().der())
        );
        Self::start(Some((Arc::new(config), pem)), Arc::new(answers))
    }

    fn start(tls: Option<(Arc<rustls::ServerConfig>, String)>, answers: Arc<Answers>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (config, authority) = tls.unzip();
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (config, answers, seen) =
                    (config.clone(), Arc::clone(&answers), Arc::clone(&seen));
                std::thread::spawn(move || match config {
                    None => serve(connection, answers.as_ref(), &seen),
                    Some(config) => {
                        let session = rustls::ServerConnection::new(config).expect("a session");
                        let mut stream = rustls::StreamOwned::new(session, connection);
                        serve(&mut stream, answers.as_ref(), &seen);
                        stream.conn.send_close_notify();
                        let _ = stream.flush();
                    }
                });
            }
        });
        Self { address, authority, asked }
    }

    /// Host and port.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// A URL of the server.
    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// Writes the authority to a file.
    pub(crate) fn write_authority(&self, path: &Path) {
        std::fs::write(path, self.authority.as_deref().expect("TLS")).expect("writes");
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<WebAsked> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn serve(mut stream: impl Read + Write, answers: &Answers, seen: &Mutex<Vec<WebAsked>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) if head.len() < 64 << 10 => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let asked = WebAsked { path, head: head.to_lowercase() };
    seen.lock().expect("no panic").push(asked.clone());
    match answers(&asked) {
        WebAnswer::Raw(bytes) => {
            let _ = stream.write_all(&bytes).and_then(|()| stream.flush());
        }
        WebAnswer::Endless(bytes) => {
            let _ = stream.write_all(&bytes);
            while stream.write_all(&[0; 16 << 10]).is_ok() {}
        }
    }
}

/// The port of a server that is gone.
pub(crate) fn closed_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    port
}

/// Whether something answers there.
pub(crate) fn answers(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}
