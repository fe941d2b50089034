//! Real git repositories for tests, and real servers for them on loopback: `git daemon` and smart HTTP.
//!
//! Each server counts the connections that reached it, so that a test can say that there was none.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A working tree of a new repository.
pub struct TestRepository {
    path: PathBuf,
}

fn git() -> Command {
    let mut command = Command::new("git");
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "t")
        .env("GIT_AUTHOR_EMAIL", "t@example.org")
        .env("GIT_COMMITTER_NAME", "t")
        .env("GIT_COMMITTER_EMAIL", "t@example.org")
        .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z");
    command
}

impl TestRepository {
    /// A repository with the branch `main` at `path`, which may hold files already.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        std::fs::create_dir_all(&path).expect("a directory");
        let repository = Self { path };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        for key in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
            repository.git(&["config", key, "true"]);
        }
        repository
    }

    /// Runs git in it and gives what it prints.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_with(args, "")
    }

    /// The same with something to read.
    pub fn git_with(&self, args: &[&str], input: &str) -> String {
        let mut command = git();
        command.current_dir(&self.path).args(args);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("git starts");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input.as_bytes()).expect("writes");
        drop(stdin);
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Commits everything in it, and gives the commit.
    pub fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Commits the tree `tree` without looking at the files on disk, and gives the commit.
    pub fn commit_tree(&self, tree: &str) -> String {
        let commit = self.git(&["commit-tree", "-m", "x", tree]);
        self.git(&["update-ref", "refs/heads/main", &commit]);
        commit
    }
}

/// How a server speaks.
#[derive(Clone, Copy)]
enum Speech {
    Daemon,
    Http,
}

/// A server of all repositories below a directory. It ends when it is dropped.
pub struct GitServer {
    address: String,
    speech: Speech,
    connections: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
    /// The one `Authorization` header that is let in.
    login: Arc<Mutex<Option<String>>>,
    /// Where everyone is sent instead.
    elsewhere: Arc<Mutex<Option<String>>>,
}

impl GitServer {
    /// `git daemon`, started for each connection.
    pub fn daemon(root: &Path) -> Self {
        Self::start(root, Speech::Daemon)
    }

    /// `git http-backend` behind a small HTTP server.
    pub fn http(root: &Path) -> Self {
        Self::start(root, Speech::Http)
    }

    fn start(root: &Path, speech: Speech) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let server = Self {
            address: listener.local_addr().expect("bound").to_string(),
            speech,
            connections: Arc::default(),
            ended: Arc::default(),
            login: Arc::default(),
            elsewhere: Arc::default(),
        };
        let (connections, ended) = (server.connections.clone(), server.ended.clone());
        let (login, elsewhere) = (server.login.clone(), server.elsewhere.clone());
        let root = root.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                connections.fetch_add(1, Ordering::SeqCst);
                let (root, login, elsewhere) = (root.clone(), login.clone(), elsewhere.clone());
                std::thread::spawn(move || match speech {
                    Speech::Daemon => serve_daemon(stream, &root),
                    Speech::Http => {
                        let login = login.lock().expect("login").clone();
                        let elsewhere = elsewhere.lock().expect("elsewhere").clone();
                        // A client may leave at any time.
                        let _ = serve_http(stream, &root, login.as_deref(), elsewhere.as_deref());
                    }
                });
            }
        });
        server
    }

    /// Its host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The address of a repository below its directory.
    pub fn url(&self, path: &str) -> String {
        let scheme = match self.speech {
            Speech::Daemon => "git",
            Speech::Http => "http",
        };
        format!("{scheme}://{}/{path}", self.address)
    }

    /// How many connections reached it.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Lets only this header in.
    pub fn want_login(&self, header: &str) {
        *self.login.lock().expect("login") = Some(header.to_owned());
    }

    /// Sends everyone to another server.
    pub fn redirect(&self, to: &str) {
        *self.elsewhere.lock().expect("elsewhere") = Some(to.to_owned());
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(&self.address));
    }
}

fn serve_daemon(stream: TcpStream, root: &Path) {
    let (input, output): (OwnedFd, OwnedFd) =
        (stream.try_clone().expect("a socket").into(), stream.into());
    let mut base = std::ffi::OsString::from("--base-path=");
    base.push(root);
    let mut command = git();
    command.args(["daemon", "--inetd", "--export-all"]).arg(base).arg(root);
    let _ = command.stdin(input).stdout(output).stderr(Stdio::null()).status();
}

fn serve_http(
    stream: TcpStream,
    root: &Path,
    login: Option<&str>,
    elsewhere: Option<&str>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (method, target) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    if let Some(elsewhere) = elsewhere {
        let answer = format!(
            "HTTP/1.1 301 Moved\r\nLocation: {elsewhere}{target}\r\nContent-Length: 0\r\n\r\n"
        );
        return writer.write_all(answer.as_bytes());
    }
    if login.is_some_and(|login| login != header("authorization")) {
        let answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return writer.write_all(answer.as_bytes());
    }
    let mut body = Vec::new();
    if header("transfer-encoding") == "chunked" {
        read_chunks(&mut reader, &mut body)?;
    } else {
        reader.take(header("content-length").parse().unwrap_or(0)).read_to_end(&mut body)?;
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut command = git();
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", &method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut stdin = child.stdin.take().expect("piped");
    let writes = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let output = child.wait_with_output()?;
    let _ = writes.join();
    let text = output.stdout;
    let end = text.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(0);
    let head = String::from_utf8_lossy(&text[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    write!(writer, "HTTP/1.1 {status}\r\nConnection: close\r\n{head}\r\n\r\n")?;
    writer.write_all(&text[(end + 4).min(text.len())..])
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
        reader.by_ref().take(size).read_to_end(body)?;
        reader.read_line(&mut line)?;
        if size == 0 {
            return Ok(());
        }
    }
}
