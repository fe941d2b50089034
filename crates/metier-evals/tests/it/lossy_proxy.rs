//! Something between a store and its database that can lose the database's answers, as a network does.
//! It forwards bytes and knows nothing of what they mean.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

/// The name of the server's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

pub(crate) struct LossyProxy {
    dir: TempDir,
    loses_answers: Arc<AtomicBool>,
    clients: Arc<Mutex<Vec<UnixStream>>>,
}

impl LossyProxy {
    /// In front of the server whose socket is in `server`.
    pub(crate) fn before(server: &Path) -> Self {
        let dir = tempfile::tempdir().expect("dir");
        let listener = UnixListener::bind(dir.path().join(SOCKET)).expect("binds");
        let proxy = Self { dir, loses_answers: Arc::default(), clients: Arc::default() };
        let (loses, clients) = (Arc::clone(&proxy.loses_answers), Arc::clone(&proxy.clients));
        let server: PathBuf = server.join(SOCKET);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let upstream = UnixStream::connect(&server).expect("the server");
                clients.lock().expect("clients").push(client.try_clone().expect("a stream"));
                let (from, to) = (client.try_clone(), upstream.try_clone());
                let never = Arc::new(AtomicBool::new(false));
                std::thread::spawn(move || {
                    forward(from.expect("a stream"), to.expect("a stream"), &never);
                });
                let loses = Arc::clone(&loses);
                std::thread::spawn(move || forward(upstream, client, &loses));
            }
        });
        proxy
    }

    /// The folder to connect to.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What the server answers from now on does not arrive.
    pub(crate) fn lose_answers(&self) {
        self.loses_answers.store(true, Ordering::SeqCst);
    }

    /// Cuts all connections; those that are made from now on work.
    pub(crate) fn cut(&self) {
        let clients = std::mem::take(&mut *self.clients.lock().expect("clients"));
        for client in clients {
            let _ = client.shutdown(Shutdown::Both);
        }
        self.loses_answers.store(false, Ordering::SeqCst);
    }
}

fn forward(mut from: UnixStream, mut to: UnixStream, is_lost: &AtomicBool) {
    let mut bytes = [0; 8192];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if !is_lost.load(Ordering::SeqCst) && to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
