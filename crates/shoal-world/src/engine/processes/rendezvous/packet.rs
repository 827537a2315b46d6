//! Packets with handles, over a socket that keeps them apart.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Bytes of the largest packet; longer ones are refused.
pub(super) const MAX_BYTES: usize = 2048;
/// Handles in one packet. The kernel's own limit is 253.
pub(super) const MAX_HANDLES: usize = 128;

const CONTROL_BYTES: usize = rustix::cmsg_space!(ScmRights(MAX_HANDLES));

/// A packet as it was received.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) bytes: Vec<u8>,
    pub(super) handles: Vec<OwnedFd>,
}

/// Sends a packet. The other side must have room for it: nobody waits for a slow reader here.
pub(super) fn send(socket: &OwnedFd, bytes: &[u8], handles: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !handles.is_empty() && !control.push(SendAncillaryMessage::ScmRights(handles)) {
        return Err(Errno::TOOMANYREFS);
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}

/// Receives a packet that is there. `None` when the other side is gone. A packet that is too long is an error.
pub(super) fn receive(socket: &OwnedFd) -> rustix::io::Result<Option<Packet>> {
    let mut bytes = vec![0; MAX_BYTES];
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let message = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)?;
    let mut handles = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            handles.extend(received);
        }
    }
    if message.flags.contains(ReturnFlags::TRUNC) {
        return Err(Errno::MSGSIZE);
    }
    // There was room for all handles that a packet may have, so this process may not open more files.
    if message.flags.contains(ReturnFlags::CTRUNC) {
        return Err(Errno::MFILE);
    }
    if message.bytes == 0 {
        return Ok(None);
    }
    bytes.truncate(message.bytes);
    Ok(Some(Packet { bytes, handles }))
}
