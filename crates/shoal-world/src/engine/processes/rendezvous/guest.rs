//! The side of all ranks but 0.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::process::geteuid;

use super::message::{Hello, Word};
use super::packet::{Packet, receive, send};
use super::{Handles, Joining, wait_readable};
use crate::error::{Failure, WorldError, spell};
use crate::launcher::{self, Inquiry};

/// The longest pause between two attempts to reach rank 0.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// How much longer than rank 0 the others wait.
const HOST_ANSWERS: Duration = Duration::from_secs(5);

pub(super) fn join<M>(
    joining: &Joining<'_>,
    own: Handles,
    enter: impl FnOnce(&[Handles]) -> Result<M, WorldError>,
) -> Result<(M, Vec<Handles>), WorldError> {
    let socket = connect(joining)?;
    // Rank 0 was there before, so its time is up first, and it knows who is missing.
    let joining = &Joining { deadline: Instant::now() + joining.options.timeout + HOST_ANSWERS, ..*joining };
    let files: Vec<_> = own.files().collect();
    match send(&socket, &Hello::new(joining).encode(), &files) {
        // Rank 0 has hung up, and may have said why.
        Ok(()) | Err(Errno::PIPE | Errno::CONNRESET) => {}
        Err(reason) => return Err(WorldError::system("greet rank 0")(reason)),
    }
    drop(files);
    drop(own);
    let each = Handles::count(joining.segments);
    let mut handles: Vec<Handles> = Vec::new();
    while handles.len() < joining.membership.size {
        let packet = next(joining, &socket)?;
        match Word::decode(&packet.bytes) {
            Some(Word::Refused(reason)) => return Err(WorldError::Setup(reason)),
            Some(Word::Members { first, count })
                if first == handles.len() && count > 0 && packet.handles.len() == each * count =>
            {
                let mut received = packet.handles.into_iter();
                while let Some(of_rank) = Handles::take(&mut received, joining.segments) {
                    handles.push(of_rank);
                }
            }
            Some(Word::Members { .. } | Word::Ready | Word::Go) | None => return Err(nonsense()),
        }
    }
    let memory = enter(&handles).inspect_err(|error| {
        // If rank 0 is gone as well, our own error is still the one to report.
        let _ = send(&socket, &Word::Refused(error.to_string()).encode(), &[]);
    })?;
    send(&socket, &Word::Ready.encode(), &[]).map_err(|_| hung_up())?;
    match Word::decode(&next(joining, &socket)?.bytes) {
        Some(Word::Go) => Ok((memory, handles)),
        Some(Word::Refused(reason)) => Err(WorldError::Setup(reason)),
        Some(Word::Members { .. } | Word::Ready) | None => Err(nonsense()),
    }
}

/// Reaches rank 0, which may not have begun to listen.
fn connect(joining: &Joining<'_>) -> Result<OwnedFd, WorldError> {
    let doing = "reach rank 0";
    let address = joining.address();
    let mut pause = Duration::from_millis(1);
    let mut inquiry = Inquiry::new(joining.membership.token.as_ref());
    loop {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .map_err(WorldError::system(doing))?;
        match net::connect(&socket, &address) {
            Ok(()) => {
                let host = sockopt::socket_peercred(&socket).map_err(WorldError::system(doing))?;
                if host.uid == geteuid() {
                    return Ok(socket);
                }
                return Err(WorldError::Setup(format!(
                    "another user (uid {}) listens where rank 0 should; use `shoal launch`, or another MASTER_PORT",
                    host.uid.as_raw()
                )));
            }
            // Not there yet, or busy with others.
            Err(Errno::CONNREFUSED | Errno::NOENT | Errno::AGAIN | Errno::INTR) => {}
            Err(reason) => return Err(WorldError::system(doing)(reason)),
        }
        let ended = inquiry.as_mut().and_then(|inquiry| inquiry.ended().iter().find(|ended| ended.rank == 0).copied());
        if let Some(ended) = ended {
            let failure = ended.never_joined();
            launcher::tell(&failure);
            return Err(WorldError::Setup(failure.reason));
        }
        let Some(left) = joining.time_left() else { return Err(too_late(joining, "start")) };
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The next packet from rank 0.
fn next(joining: &Joining<'_>, socket: &OwnedFd) -> Result<Packet, WorldError> {
    loop {
        let Some(left) = joining.time_left() else {
            return Err(too_late(joining, "bring the ranks together"));
        };
        if !wait_readable(&[socket], left)?[0] {
            continue;
        }
        // Who hangs up on unread words leaves an error before the last words.
        let received = match receive(socket) {
            Err(Errno::CONNRESET) => receive(socket),
            received => received,
        };
        return match received {
            Ok(Some(packet)) => Ok(packet),
            Ok(None) | Err(Errno::CONNRESET | Errno::AGAIN) => Err(hung_up()),
            Err(reason) => Err(WorldError::system("hear from rank 0")(reason)),
        };
    }
}

fn too_late(joining: &Joining<'_>, what: &str) -> WorldError {
    let waited = spell(joining.options.timeout);
    let reason = format!("rank 0 did not {what}: rank {} waited {waited} for it", joining.membership.rank);
    launcher::tell(&Failure { rank: 0, reason: reason.clone() });
    WorldError::Setup(reason)
}

fn hung_up() -> WorldError {
    WorldError::Setup("rank 0 ended while the ranks were joining, or belongs to another job".to_owned())
}

fn nonsense() -> WorldError {
    WorldError::Setup(
        "rank 0 speaks another version of the protocol; do all ranks run the same version of shoal?".to_owned(),
    )
}
