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
    connections: Arc<Mutex<Connections>>,
}

#[derive(Default)]
struct Connections {
    /// Whether a new one loses answers.
    lose: bool,
    /// Each with whether it does: what was lost on one stays lost.
    open: Vec<(UnixStream, Arc<AtomicBool>)>,
}

impl LossyProxy {
    /// In front of the server whose socket is in `server`.
    pub(crate) fn before(server: &Path) -> Self {
        let dir = tempfile::tempdir().expect("dir");
        let listener = UnixListener::bind(dir.path().join(SOCKET)).expect("binds");
        let proxy = Self { dir, connections: Arc::default() };
        let connections = Arc::clone(&proxy.connections);
        let server: PathBuf = server.join(SOCKET);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let upstream = UnixStream::connect(&server).expect("the server");
                let loses = {
                    let mut all = connections.lock().expect("connections");
                    let loses = Arc::new(AtomicBool::new(all.lose));
                    all.open.push((client.try_clone().expect("a stream"), Arc::clone(&loses)));
                    loses
                };
                let (from, to) = (client.try_clone(), upstream.try_clone());
                let never = Arc::new(AtomicBool::new(false));
                std::thread::spawn(move || {
                    forward(from.expect("a stream"), to.expect("a stream"), &never);
                });
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
        let mut all = self.connections.lock().expect("connections");
        all.lose = true;
        for (_, loses) in &all.open {
            loses.store(true, Ordering::SeqCst);
        }
    }

    /// Cuts all connections; those that are made from now on work.
    pub(crate) fn cut(&self) {
        let cut = std::mem::take(&mut *self.connections.lock().expect("connections"));
        for (client, _) in cut.open {
            let _ = client.shutdown(Shutdown::Both);
        }
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
