//! The helper's descriptors: the socket to the parent moved out of the way, all others closed,
//! standard input empty. An inherited descriptor is the oldest way out of a sandbox.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};

/// Where the socket goes: above the standard streams, with room below.
const SOCKET: i32 = 10;

/// Takes the socket that is standard input, closes everything else above standard error, and
/// leaves an empty standard input.
pub(super) fn take_socket() -> io::Result<UnixStream> {
    let socket: OwnedFd = fcntl_dupfd_cloexec(stdin(), SOCKET)?;
    let number = u32::try_from(socket.as_raw_fd()).unwrap_or(0);
    close(3, number - 1)?;
    close(number + 1, u32::MAX)?;
    let null = OpenOptions::new().read(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    Ok(UnixStream::from(socket))
}

/// Closes the program's streams: their reader waits until the last holder has closed them.
pub(super) fn release_output() -> io::Result<()> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

fn close(first: u32, last: u32) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: no memory is touched. Descriptors of others could be closed under them, but this runs
    // first of all in a process with one thread, where nobody else has opened any.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
