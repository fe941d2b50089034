//! The descriptor on which the kernel asks about system calls, and how it gets from the process that made it
//! to the supervisor. What is answered is not its business.
//!
//! A question holds up the thread that made the call. Its arguments are fixed numbers; what they point to can be
//! changed by other threads at any time, so it is read once and only what was read is used.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::{Errno, Result};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The supervisor's end of a filter that asks. When it is closed, every call that would be asked about fails.
pub(super) struct Listener {
    descriptor: OwnedFd,
}

/// A call that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingCall {
    id: u64,
    /// The thread that waits.
    pub(super) task: u32,
    pub(super) number: u32,
    pub(super) arguments: [u64; 6],
}

/// What a pending call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// It was done in its place.
    Done,
    Refuse(Errno),
}

impl Listener {
    pub(super) const fn new(descriptor: OwnedFd) -> Self {
        Self { descriptor }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The next call; none when the one that was announced is gone already.
    pub(super) fn receive(&self) -> Result<Option<PendingCall>> {
        // SAFETY: numbers, for which zero is a value; the kernel wants to find zeros.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        match self.control(libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error),
        }
        Ok(Some(PendingCall {
            id: call.id,
            task: call.pid,
            number: call.data.nr.cast_unsigned(),
            arguments: call.data.args,
        }))
    }

    /// Whether the call still waits. What was opened of its process before that was not of another one
    /// that has got its number since.
    pub(super) fn still_waits(&self, call: &PendingCall) -> bool {
        let mut id = call.id;
        self.control(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut id).is_ok()
    }

    /// Answers; a thread that was killed in the meantime does not hear it.
    pub(super) fn answer(&self, call: &PendingCall, reply: Reply) -> Result<()> {
        let error = match reply {
            Reply::Done => 0,
            Reply::Refuse(errno) => -errno.raw_os_error(),
        };
        let mut response = libc::seccomp_notif_resp { id: call.id, val: 0, error, flags: 0 };
        match self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) {
            Err(Errno::NOENT) => Ok(()),
            answer => answer,
        }
    }

    fn control<T>(&self, request: libc::Ioctl, value: *mut T) -> Result<()> {
        // SAFETY: the callers give a valid pointer to the structure that the request names, and the kernel
        // keeps none.
        match unsafe { libc::ioctl(self.descriptor.as_raw_fd(), request, value) } {
            -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
            _ => Ok(()),
        }
    }
}

/// Sends the descriptor along with an empty line.
pub(super) fn send(to: &UnixStream, descriptor: &OwnedFd) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(to, &[IoSlice::new(b"\n")], &mut control, SendFlags::empty()).map(|_| ())
}

/// Reads until the other side is closed: the text, and the descriptor if one came along.
pub(super) fn receive_all(from: &UnixStream) -> Result<(Vec<u8>, Option<OwnedFd>)> {
    let (mut text, mut descriptor) = (Vec::new(), None);
    let mut buffer = [0; 4096];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut buffers = [IoSliceMut::new(&mut buffer)];
        let bytes = match recvmsg(from, &mut buffers, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(message) => message.bytes,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
                descriptor = descriptors.next().or(descriptor);
            }
        }
        if bytes == 0 {
            return Ok((text, descriptor));
        }
        text.extend_from_slice(&buffer[..bytes]);
    }
}
