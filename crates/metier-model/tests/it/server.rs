//! A real HTTP server on loopback that does what a script says, connection by connection.
//!
//! The n-th connection gets the n-th answer; the last one is given again to all that follow. What
//! was asked is kept, so a test can count and read it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::Value;

/// What is done with one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    steps: Vec<Step>,
    /// Whether the connection is closed before the request was read.
    unread: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Send(Vec<u8>),
    /// Sends the same piece until the client has enough.
    Repeat(Vec<u8>, usize),
    /// Keeps the connection open until the client is gone.
    Hold,
}

impl Answer {
    /// A reply with a length.
    pub(crate) fn reply(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = head(status, headers);
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        Self { steps: vec![Step::Send(bytes)], unread: false }
    }

    /// A reply in chunks, each sent on its own and closed by the end of the connection alone.
    pub(crate) fn chunks<'a>(
        status: u16,
        headers: &[(&str, &str)],
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        let mut answer = Self::begun(status, headers);
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            answer = answer.chunk(piece);
        }
        answer.steps.push(Step::Send(b"0\r\n\r\n".to_vec()));
        answer
    }

    /// The head of a reply in chunks that has no end yet.
    pub(crate) fn begun(status: u16, headers: &[(&str, &str)]) -> Self {
        let head = format!("{}transfer-encoding: chunked\r\n\r\n", head(status, headers));
        Self { steps: vec![Step::Send(head.into_bytes())], unread: false }
    }

    /// One chunk more.
    pub(crate) fn chunk(mut self, piece: &[u8]) -> Self {
        let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
        self.steps.push(Step::Send(bytes));
        self
    }

    /// The same chunk, so many times or until the client has enough.
    pub(crate) fn repeat(mut self, piece: &[u8], times: usize) -> Self {
        let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
        self.steps.push(Step::Repeat(bytes, times));
        self
    }

    /// Then keeps the connection open until the client is gone.
    pub(crate) fn hold(mut self) -> Self {
        self.steps.push(Step::Hold);
        self
    }

    /// Says nothing and waits until the client is gone.
    pub(crate) fn silence() -> Self {
        Self::default().hold()
    }

    /// These bytes, whatever they are.
    pub(crate) fn raw(bytes: &[u8]) -> Self {
        Self { steps: vec![Step::Send(bytes.to_vec())], unread: true }
    }

    /// Closes without having read the request: the client sees a reset.
    pub(crate) fn reset() -> Self {
        Self { steps: Vec::new(), unread: true }
    }
}

fn head(status: u16, headers: &[(&str, &str)]) -> String {
    let mut head = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

/// What was asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// The first line.
    pub(crate) line: String,
    /// The headers, by name in small letters.
    pub(crate) headers: BTreeMap<String, String>,
    /// The body.
    pub(crate) body: Value,
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    script: Arc<Mutex<Vec<Answer>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    gone: Receiver<()>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<std::sync::atomic::AtomicBool>,
}

impl Server {
    /// Starts one with this script.
    pub(crate) fn start(script: Vec<Answer>) -> Self {
        Self::start_and_notify(script, || {})
    }

    /// Starts one that calls `heard` whenever it has done all of an answer but to hold.
    pub(crate) fn start_and_notify(
        script: Vec<Answer>,
        heard: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        let address = listener.local_addr().expect("an address");
        let (script, asked) = (Arc::new(Mutex::new(script)), Arc::new(Mutex::new(Vec::new())));
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (gone_sender, gone) = channel();
        let (of_script, of_asked, of_stop) = (script.clone(), asked.clone(), stop.clone());
        let heard = Arc::new(heard);
        let thread = std::thread::spawn(move || {
            for connection in listener.incoming() {
                if of_stop.load(std::sync::atomic::Ordering::SeqCst) {
                    break;
                }
                let Ok(connection) = connection else { continue };
                let answer = next(&of_script);
                let (asked, gone, heard) = (of_asked.clone(), gone_sender.clone(), heard.clone());
                std::thread::spawn(move || serve(connection, &answer, &asked, &gone, &*heard));
            }
        });
        Self { address, script, asked, gone, thread: Some(thread), stop }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it would be with TLS, which it has not.
    pub(crate) fn https_url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Another script, and nothing asked yet.
    pub(crate) fn script(&self, script: Vec<Answer>) {
        *self.script.lock().expect("script") = script;
        self.asked.lock().expect("asked").clear();
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("asked").clone()
    }

    /// How many connections asked something so far.
    pub(crate) fn requests(&self) -> usize {
        self.asked.lock().expect("asked").len()
    }

    /// Waits until a client of a held connection is gone.
    pub(crate) fn wait_until_gone(&self) {
        self.gone.recv().expect("the server runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, std::sync::atomic::Ordering::SeqCst);
        // The thread waits for a connection: this is one.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn next(script: &Mutex<Vec<Answer>>) -> Answer {
    let mut script = script.lock().expect("script");
    if script.len() > 1 { script.remove(0) } else { script.first().cloned().unwrap_or_default() }
}

fn serve(
    mut connection: TcpStream,
    answer: &Answer,
    asked: &Mutex<Vec<Asked>>,
    gone: &Sender<()>,
    heard: &(dyn Fn() + Send + Sync),
) {
    let _ = connection.set_nodelay(true);
    if answer.unread {
        let mut some = [0; 1];
        let _ = connection.read(&mut some);
        asked.lock().expect("asked").push(Asked::default());
    } else {
        let Some(request) = read_request(&mut connection) else { return };
        asked.lock().expect("asked").push(request);
    }
    for step in &answer.steps {
        match step {
            Step::Send(bytes) => {
                if connection.write_all(bytes).is_err() {
                    return;
                }
            }
            Step::Repeat(bytes, times) => {
                for _ in 0..*times {
                    if connection.write_all(bytes).is_err() {
                        return;
                    }
                }
            }
            Step::Hold => {
                heard();
                let mut rest = [0; 64];
                while connection.read(&mut rest).is_ok_and(|read| read > 0) {}
                let _ = gone.send(());
            }
        }
    }
}

fn read_request(connection: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        match connection.read(&mut piece) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        match connection.read(&mut piece) {
            Ok(read) if read > 0 => body.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    }
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Asked { line, headers, body })
}
