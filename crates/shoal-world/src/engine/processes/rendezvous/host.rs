//! Rank 0's side of the rendezvous.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::process::geteuid;

use super::message::{Hello, Word};
use super::packet::{MAX_HANDLES, receive, send};
use super::{Handles, Joining, wait_readable};
use crate::error::{Failure, WorldError, listed_names, spell};
use crate::launch::Ended;
use crate::launcher::{self, Inquiry};

/// How long a connection may stay without a greeting. Ranks greet at once.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);
/// Connections without a greeting beyond the number of ranks; the oldest go first.
const STRANGERS: usize = 64;

/// How long rank 0 tells those who come late why there is no world.
const FAREWELL: Duration = Duration::from_secs(2);

/// A connection that has not said who it is.
struct Stranger {
    socket: OwnedFd,
    pid: i32,
    until: Instant,
}

/// A rank that has come.
struct Guest {
    socket: OwnedFd,
    pid: i32,
    handles: Handles,
}

impl Guest {
    fn name(&self, rank: usize) -> String {
        format!("rank {rank} (pid {})", self.pid)
    }
}

pub(super) fn host<M>(
    joining: &Joining<'_>,
    own: Handles,
    enter: impl FnOnce(&[Handles]) -> Result<M, WorldError>,
) -> Result<(M, Vec<Handles>), WorldError> {
    let inquiry = Inquiry::new(joining.membership.token.as_ref());
    let mut reception = Reception { joining, inquiry, strangers: Vec::new(), guests: Vec::new() };
    reception.guests.resize_with(joining.membership.size - 1, || None);
    let listener = reception.listen()?;
    let result = reception.gather(&listener, own, enter);
    if let Err(error) = &result {
        let missing = reception.guests.iter().position(Option::is_none).map_or(0, |at| at + 1);
        let rank = reception.ended().map_or(missing, |ended| ended.rank);
        launcher::tell(&Failure { rank, reason: error.to_string() });
        reception.refuse_all(&listener, &Word::Refused(error.to_string()));
    }
    result
}

struct Reception<'a> {
    joining: &'a Joining<'a>,
    inquiry: Option<Inquiry>,
    strangers: Vec<Stranger>,
    /// From rank 1 on.
    guests: Vec<Option<Guest>>,
}

impl Reception<'_> {
    fn gather<M>(
        &mut self,
        listener: &OwnedFd,
        own: Handles,
        enter: impl FnOnce(&[Handles]) -> Result<M, WorldError>,
    ) -> Result<(M, Vec<Handles>), WorldError> {
        while self.guests.iter().any(Option::is_none) {
            self.receive_guests(listener)?;
        }
        self.strangers.clear();
        self.introduce(&own)?;
        let mut handles = vec![own];
        for guest in self.guests.iter().flatten() {
            handles.push(guest.handles.try_clone()?);
        }
        let memory = enter(&handles)?;
        for (rank, guest) in (1..).zip(self.guests.iter().flatten()) {
            send(&guest.socket, &Word::Go.encode(), &[]).map_err(|_| ended(&guest.name(rank)))?;
        }
        Ok((memory, handles))
    }

    fn listen(&self) -> Result<OwnedFd, WorldError> {
        let doing = "listen for the other ranks";
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .map_err(WorldError::system(doing))?;
        net::bind(&socket, &self.joining.address()).map_err(|reason| match reason {
            Errno::ADDRINUSE => WorldError::Setup(
                "another job with the same MASTER_ADDR and MASTER_PORT is starting on this host; use `shoal launch`, or \
                 another MASTER_PORT"
                    .to_owned(),
            ),
            reason => WorldError::system(doing)(reason),
        })?;
        let backlog = i32::try_from(self.guests.len() + STRANGERS).unwrap_or(i32::MAX);
        net::listen(&socket, backlog).map_err(WorldError::system(doing))?;
        Ok(socket)
    }

    /// Waits for something to happen, and sees to it.
    fn receive_guests(&mut self, listener: &OwnedFd) -> Result<(), WorldError> {
        let Some(left) = self.joining.time_left() else { return Err(self.too_late()) };
        if let Some(ended) = self.ended() {
            return Err(WorldError::Setup(ended.never_joined().reason));
        }
        let left = Inquiry::patience(self.inquiry.as_ref(), left);
        let now = Instant::now();
        self.strangers.retain(|stranger| stranger.until > now);
        let patience = self.strangers.first().map_or(left, |oldest| left.min(oldest.until - now));
        let mut sockets = vec![listener];
        sockets.extend(self.strangers.iter().map(|stranger| &stranger.socket));
        let ranks: Vec<usize> = (0..self.guests.len()).filter(|&at| self.guests[at].is_some()).collect();
        sockets.extend(self.guests.iter().flatten().map(|guest| &guest.socket));
        let is_ready = wait_readable(&sockets, patience)?;

        let (of_strangers, of_guests) = is_ready[1..].split_at(self.strangers.len());
        // Guests have nothing to say yet: who can be read has hung up.
        if let Some(at) = of_guests.iter().position(|&ready| ready) {
            let guest = self.guests[ranks[at]].as_ref().expect("a rank that has come");
            return Err(ended(&guest.name(ranks[at] + 1)));
        }
        let mut ready = of_strangers.iter().copied();
        let (speaking, silent) =
            std::mem::take(&mut self.strangers).into_iter().partition(|_| ready.next().unwrap_or(false));
        self.strangers = silent;
        for stranger in speaking {
            self.hear(stranger)?;
        }
        if is_ready[0] {
            self.accept(listener);
        }
        Ok(())
    }

    fn accept(&mut self, listener: &OwnedFd) {
        // Whoever connected may be gone again.
        let Ok(socket) = net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) else { return };
        let Ok(peer) = sockopt::socket_peercred(&socket) else { return };
        if peer.uid != geteuid() {
            return;
        }
        if self.strangers.len() >= self.guests.len() + STRANGERS {
            self.strangers.remove(0);
        }
        let until = Instant::now() + HELLO_PATIENCE;
        self.strangers.push(Stranger { socket, pid: peer.pid.as_raw_nonzero().get(), until });
    }

    /// Makes a guest of who greets well. Who does not know the token, or no greeting at all, is dropped.
    fn hear(&mut self, stranger: Stranger) -> Result<(), WorldError> {
        let Ok(Some(packet)) = receive(&stranger.socket) else { return Ok(()) };
        let Some(hello) = Hello::decode(&packet.bytes) else { return Ok(()) };
        let own = Hello::new(self.joining);
        if hello.proof != own.proof || packet.handles.len() != Handles::count(hello.segments) {
            return Ok(());
        }
        let mut files = packet.handles.into_iter();
        let Some(handles) = Handles::take(&mut files, hello.segments) else { return Ok(()) };
        let guest = Guest { socket: stranger.socket, pid: stranger.pid, handles };
        let name = guest.name(hello.rank);
        let problem = if hello.size != own.size {
            Some(format!("{name} was started for a world of {} ranks, rank 0 for one of {}", hello.size, own.size))
        } else if hello.segments != own.segments {
            Some(format!("{name} has its symmetric memory {}, rank 0 {}", hello.segments, own.segments))
        } else if hello.heap_bytes != own.heap_bytes {
            Some(format!("{name} wants a heap of {} bytes, rank 0 one of {}", hello.heap_bytes, own.heap_bytes))
        } else if hello.pad_slots != own.pad_slots {
            Some(format!("{name} wants a signal pad of {} slots, rank 0 one of {}", hello.pad_slots, own.pad_slots))
        } else if hello.rank == 0 || hello.rank >= own.size {
            Some(format!("a process (pid {}) says that it is rank {} of {}", guest.pid, hello.rank, own.size))
        } else {
            self.guests[hello.rank - 1].as_ref().map(|first| format!("{} came, then {name}", first.name(hello.rank)))
        };
        if let Some(problem) = problem {
            // The others are told by `host`; this one is not among them yet.
            let _ = send(&guest.socket, &Word::Refused(problem.clone()).encode(), &[]);
            return Err(WorldError::Setup(problem));
        }
        self.guests[hello.rank - 1] = Some(guest);
        Ok(())
    }

    /// A rank that has not come and will not.
    fn ended(&mut self) -> Option<Ended> {
        let ended = self.inquiry.as_mut()?.ended().iter().copied();
        let mut missing = ended.filter(|ended| ended.rank > 0 && matches!(self.guests.get(ended.rank - 1), Some(None)));
        missing.next()
    }

    fn too_late(&self) -> WorldError {
        let missing = (1..).zip(&self.guests).filter(|(_, guest)| guest.is_none());
        let missing: Vec<String> = missing.map(|(rank, _)| format!("rank {rank}")).collect();
        let waited = spell(self.joining.options.timeout);
        WorldError::Setup(format!("{} did not join the world: rank 0 waited {waited}", listed_names(&missing)))
    }

    /// Tells the ranks that have come why the world will not be, and for a while those that come now: they would wait
    /// for rank 0 until their time is up.
    fn refuse_all(&self, listener: &OwnedFd, refused: &Word) {
        let refused = refused.encode();
        for guest in self.guests.iter().flatten() {
            // Who is gone needs no news.
            let _ = send(&guest.socket, &refused, &[]);
        }
        for stranger in &self.strangers {
            let _ = send(&stranger.socket, &refused, &[]);
        }
        let expected = self.guests.iter().filter(|guest| guest.is_none()).count();
        let mut refused_ranks = self.strangers.len();
        let until = Instant::now() + self.joining.time_left().unwrap_or_default().min(FAREWELL);
        while refused_ranks < expected {
            let left = until.saturating_duration_since(Instant::now());
            match wait_readable(&[listener], left).as_deref() {
                Ok([true]) => {}
                _ if left.is_zero() => return,
                _ => continue,
            }
            if let Ok(socket) = net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
                && sockopt::socket_peercred(&socket).is_ok_and(|peer| peer.uid == geteuid())
            {
                let _ = send(&socket, &refused, &[]);
                refused_ranks += 1;
            }
        }
    }

    /// Gives everybody's handles to each, one after the other: the kernel limits how many may be under way.
    fn introduce(&self, own: &Handles) -> Result<(), WorldError> {
        let mut all = vec![own];
        all.extend(self.guests.iter().flatten().map(|guest| &guest.handles));
        for (rank, guest) in (1..).zip(self.guests.iter().flatten()) {
            let name = guest.name(rank);
            let per_packet = MAX_HANDLES / Handles::count(self.joining.segments);
            for (packet, members) in all.chunks(per_packet).enumerate() {
                let word = Word::Members { first: packet * per_packet, count: members.len() };
                let handles: Vec<_> = members.iter().flat_map(|member| member.files()).collect();
                send(&guest.socket, &word.encode(), &handles).map_err(|reason| match reason {
                    Errno::PIPE | Errno::CONNRESET => ended(&name),
                    reason => WorldError::system(format!("send handles to {name}"))(reason),
                })?;
            }
            self.await_ready(guest, &name)?;
        }
        Ok(())
    }

    fn await_ready(&self, guest: &Guest, name: &str) -> Result<(), WorldError> {
        loop {
            let Some(left) = self.joining.time_left() else {
                let waited = spell(self.joining.options.timeout);
                return Err(WorldError::Setup(format!("rank 0 waited {waited} for {name} to map the heaps")));
            };
            if !wait_readable(&[&guest.socket], left)?[0] {
                continue;
            }
            return match receive(&guest.socket).ok().flatten().and_then(|packet| Word::decode(&packet.bytes)) {
                Some(Word::Ready) => Ok(()),
                Some(Word::Refused(reason)) => Err(WorldError::Setup(format!("{name}: {reason}"))),
                Some(Word::Members { .. } | Word::Go) | None => Err(ended(name)),
            };
        }
    }
}

fn ended(name: &str) -> WorldError {
    WorldError::Setup(format!("{name} ended while the ranks were joining"))
}
