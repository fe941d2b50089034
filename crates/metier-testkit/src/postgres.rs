//! A `PostgreSQL` of a test's own: Debian's programs, started as an ordinary user, on a socket in a temporary
//! directory. It ends with the test, also where the test is killed.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The user that a root's server runs as: `PostgreSQL` refuses root.
const NOBODY: u32 = 65534;

/// Starts the server, and stops it when its own input ends: when the test does.
const KEEPER: &str = r#"trap '' INT
"$@" </dev/null >>"$LOG" 2>&1 &
server=$!
cat >/dev/null
# A server that has only just begun does not hear it yet.
while kill -QUIT "$server" 2>/dev/null; do sleep 0.3; done &
again=$!
wait "$server"
kill "$again""#;

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    dir: tempfile::TempDir,
    programs: PathBuf,
    settings: Vec<String>,
    port: u16,
    keeper: Option<Child>,
}

impl PostgresServer {
    /// Starts one with settings such as `log_statement=all`. Nothing, and a loud line, where `PostgreSQL` is not
    /// installed.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            crate::not_tested_without(
                "postgresql",
                "PostgreSQL is not installed (Debian: apt install postgresql)",
            );
            return None;
        };
        let dir = tempfile::Builder::new().prefix("pg").tempdir().expect("a temporary directory");
        if is_root() {
            std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY)).expect("chown");
        }
        let settings = settings.iter().map(|it| (*it).to_owned()).collect();
        let mut server = Self { dir, programs, settings, port: 5432, keeper: None };
        let made = server
            .program("initdb")
            .args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(server.data())
            .output()
            .expect("initdb starts");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server.run();
        Some(server)
    }

    /// One that all tests share which run at the same time.
    pub fn shared() -> Option<Arc<Self>> {
        static SHARED: Mutex<Weak<PostgresServer>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = shared.upgrade() {
            return Some(running);
        }
        let started = Arc::new(Self::start(&["fsync=off"])?);
        *shared = Arc::downgrade(&started);
        Some(started)
    }

    /// The folder of its socket, its data and its log; the server's user may write there.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Puts a file where the server can read it and others cannot.
    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).expect("writes");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, mode).expect("chmod");
        if is_root() {
            std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).expect("chown");
        }
        path
    }

    /// The URL of a database, by the socket.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@/{database}?host={}", self.dir.path().display())
    }

    /// Makes a database and gives its URL.
    pub fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// What a statement gives: rows by lines, columns by `|`.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let output = self.psql(database, statement);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statement}: {error}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn psql(&self, database: &str, statement: &str) -> std::process::Output {
        let mut psql = self.program("psql");
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database, "-h"]);
        psql.arg(self.dir.path()).arg("-c").arg(statement).output().expect("psql starts")
    }

    /// One of `PostgreSQL`'s programs, as the server's user.
    pub fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut command = Command::new(if path.exists() { path } else { PathBuf::from(name) });
        command.current_dir(self.dir.path()).env_remove("PGPASSWORD").env("HOME", self.dir.path());
        command.env("PGPORT", self.port.to_string());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Kills the server as `kill -9` does.
    pub fn kill(&mut self) {
        let pid = std::fs::read_to_string(self.data().join("postmaster.pid")).expect("a pid");
        let pid = pid.lines().next().expect("a pid").to_owned();
        assert!(Command::new("kill").args(["-9", &pid]).status().expect("kill").success());
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            keeper.wait().expect("the server is gone");
        }
    }

    /// Stops the server.
    pub fn stop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }

    /// Lets it listen on this port of the machine as well, from its next start on.
    pub fn listen(&mut self, port: u16) {
        self.port = port;
        self.set("listen_addresses=127.0.0.1");
    }

    /// Changes a setting for its next start.
    pub fn set(&mut self, setting: &str) {
        self.settings.push(setting.to_owned());
    }

    /// Starts it, after it was killed, and waits until it answers.
    pub fn run(&mut self) {
        let server = self.programs.join("postgres");
        let mut command = self.program("sh");
        command.env("LOG", self.dir.path().join("log")).args(["-c", KEEPER, "keeper"]);
        command.arg(server).arg("-D").arg(self.data()).arg("-k").arg(self.dir.path());
        // A test may say otherwise: the last word counts.
        command.args(["-c", "listen_addresses=", "-c", "max_connections=120", "-p"]);
        command.arg(self.port.to_string());
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        // What an earlier server wrote says nothing about this one.
        let before = self.log().len();
        let keeper = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.keeper = Some(keeper.spawn().expect("the server starts"));
        while !self.psql("postgres", "SELECT 1").status.success() {
            // What a killed server leaves is gone when its last process has noticed, and it must go first.
            assert!(
                self.keeper.as_mut().expect("runs").try_wait().expect("waits").is_none(),
                "the server ended:\n{}",
                self.log()
            );
            let log = self.log();
            let log = log.get(before..).unwrap_or_default();
            if log.ends_with("is shut down\n") || log.contains("pre-existing shared memory block") {
                let _ = std::fs::write(self.dir.path().join("log"), "");
                self.stop();
                return self.run();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What it has written to its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Where `PostgreSQL`'s programs are: in the `PATH`, or where Debian puts them, the newest version.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = debian.map(|it| it.path().join("bin")).collect();
    versions.sort();
    let mut all = versions.into_iter().rev().chain(std::env::split_paths(&path));
    all.find(|dir| dir.join("initdb").exists() && dir.join("postgres").exists())
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}
