//! A small web server on this machine, for tests of `network_request`.
//!
//! It answers each request by a function from the request's text to the bytes of the answer, and
//! remembers what it was asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a request is answered with.
pub(crate) enum Reply {
    /// These bytes, as they are.
    Bytes(String),
    /// This body, over and over, until the other side is gone.
    Endless(&'static str, Duration),
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&asked), Arc::new(answer));
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &seen, &*answer));
            }
        });
        Self { address, asked }
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>, answer: &dyn Fn(&str) -> Reply) {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let text = loop {
        let Ok(read) = stream.read(&mut piece) else { return };
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if read == 0 {
                seen.lock().unwrap().push(text);
                return;
            }
            continue;
        };
        let length = head.to_lowercase();
        let length = length.split("content-length: ").nth(1).and_then(|t| t.lines().next());
        let length: usize = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        if body.len() >= length {
            break text;
        }
    };
    seen.lock().unwrap().push(text.clone());
    match answer(&text) {
        Reply::Bytes(reply) => {
            let _ = stream.write_all(reply.as_bytes());
        }
        Reply::Endless(piece, pause) => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
            while stream.write_all(piece.as_bytes()).and_then(|()| stream.flush()).is_ok() {
                std::thread::sleep(pause);
            }
        }
    }
}

/// An answer with a status and a body.
pub(crate) fn page(status: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Bytes(format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    ))
}

/// An answer that leads elsewhere.
pub(crate) fn redirect(to: &str) -> Reply {
    page("302 Found", &format!("location: {to}\r\nset-cookie: s=1\r\n"), "")
}
