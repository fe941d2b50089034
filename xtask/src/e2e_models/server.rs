//! A server on loopback that lives as long as its value: started, waited for, killed on drop.
//!
//! It also ends when this process dies without dropping anything: it reads from a pipe of ours.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::environment::Environment;

/// Loading weights takes seconds; importing the proxy's packages on a busy machine takes minutes.
const START_TIMEOUT: Duration = Duration::from_mins(5);
const ONE_TRY: Duration = Duration::from_secs(5);

/// A server that answers.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts `kind` of the launcher with `args` after the port, and waits until `health` is 200.
    pub(crate) fn start(
        environment: &Environment,
        kind: &str,
        args: &[PathBuf],
        health: &str,
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        println!("e2e-models: starting {kind}");
        let since = Instant::now();
        let address = free_address()?;
        let log_path = environment.dir.join(format!("{kind}.log"));
        let log = File::create(&log_path).context("cannot write the server's log")?;
        let mut command = Command::new(&environment.python);
        command.arg(&environment.launcher).arg(kind).arg(address.port().to_string()).args(args);
        command.envs(variables.iter().copied()).current_dir(&environment.dir);
        // The launcher reads from this pipe, and ends when it breaks.
        command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {kind}"))?;
        let mut server = Self { child, address };
        loop {
            if is_ok(address, health) {
                println!("e2e-models: {kind} answers after {:.1} s", since.elapsed().as_secs_f32());
                return Ok(server);
            }
            let ended = server.child.try_wait()?;
            if ended.is_some() || since.elapsed() > START_TIMEOUT {
                let log = fs::read_to_string(&log_path).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let tail = lines[lines.len().saturating_sub(15)..].join("\n");
                let why = ended.map_or("does not answer".to_owned(), |status| status.to_string());
                bail!("{kind}: {why}; its last words:\n{tail}");
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Where it is: `http://127.0.0.1:PORT/v1`.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address without a listener.
pub(crate) fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr()?)
}

/// Whether a GET of `path` is answered with 200.
fn is_ok(address: SocketAddr, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, ONE_TRY)?;
        stream.set_read_timeout(Some(ONE_TRY))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut start = [0; 12];
        stream.read_exact(&mut start)?;
        Ok(&start == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reply_of_200_counts_as_health() {
        for (reply, expected) in [("HTTP/1.1 200 OK", true), ("HTTP/1.1 503 Busy", false)] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let answers = thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                // All of it: closing with something unread resets the connection.
                let mut asked = Vec::new();
                while !asked.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    asked.extend(byte);
                }
                // In one piece: the other side hangs up after the first words.
                let reply = format!("{reply}\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(reply.as_bytes()).unwrap();
                asked
            });
            assert_eq!(is_ok(address, "/health"), expected, "{reply}");
            assert!(answers.join().unwrap().starts_with(b"GET /health HTTP/1.1\r\n"));
        }
        assert!(!is_ok(free_address().unwrap(), "/health"), "no listener");
    }
}
