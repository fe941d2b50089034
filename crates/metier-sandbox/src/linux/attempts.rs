//! Forbidden acts, tried from inside the confinement: what the tier really stops, on this machine,
//! now. Each must fail; one allowed act must succeed, or the failures prove nothing.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::probe::{ProbeAct, ProbeAttempt, Targets};

/// Tries everything and prints the attempts as JSON.
pub(super) fn run(targets: &Targets, work_dir: &Path) -> i32 {
    let attempts: Vec<ProbeAttempt> = [
        (ProbeAct::WriteWorkDir, write(&work_dir.join("allowed"))),
        (ProbeAct::ReadOutside, read(&targets.secret)),
        (ProbeAct::WriteOutside, write(&targets.secret.with_extension("written"))),
        (ProbeAct::ChangeOutside, change_mode(&targets.secret)),
        (ProbeAct::ReadParent, read(format!("/proc/{}/environ", targets.parent).as_ref())),
        (ProbeAct::SignalParent, signal(targets.parent)),
        (ProbeAct::ConnectTcp, connect(targets.port)),
        (ProbeAct::SendUdp, UdpSocket::bind("127.0.0.1:0").map(|_| ())),
        (
            ProbeAct::UnixSocket,
            UnixStream::connect("/run/nothing.sock").map(|_| ()).or_else(not_there),
        ),
        (ProbeAct::NewNamespace, new_namespace()),
        (ProbeAct::Trace, trace()),
    ]
    .into_iter()
    .map(|(act, result)| ProbeAttempt { act, error: result.err().map(|error| error.to_string()) })
    .collect();
    let json = serde_json::to_vec(&attempts).unwrap_or_default();
    match io::stdout().write_all(&json).and_then(|()| io::stdout().flush()) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn read(path: &Path) -> io::Result<()> {
    let mut byte = [0];
    OpenOptions::new().read(true).open(path)?.read_exact(&mut byte)
}

fn write(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)?.write_all(b"x")
}

fn change_mode(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::chmod(path, rustix::fs::Mode::RWXU)?)
}

fn signal(process: u32) -> io::Result<()> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("no process"))?;
    Ok(test_kill_process(pid)?)
}

fn connect(port: u16) -> io::Result<()> {
    let to = SocketAddr::from(([127, 0, 0, 1], port));
    TcpStream::connect_timeout(&to, Duration::from_millis(500)).map(|_| ())
}

/// That nothing listens there is as good as a connection: the socket could be made.
fn not_there(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(()),
        _ => Err(error),
    }
}

fn new_namespace() -> io::Result<()> {
    // SAFETY: a user namespace touches no descriptors, and the process has one thread.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }?)
}

fn trace() -> io::Result<()> {
    // SAFETY: asks to be traced by the parent; no pointer is read.
    match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
