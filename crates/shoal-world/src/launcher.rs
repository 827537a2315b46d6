//! What ranks and whoever started them tell each other. Ranks tell why the world has ended: a launcher sees how processes
//! exit, and those that waited for a rank often exit before the one that is to blame, or while it hangs. The launcher
//! tells which ranks have ended: those that wait for others to join cannot see that.
//!
//! Each is one datagram to a Unix socket with an abstract name, which both sides derive from the job's token; nobody listens
//! in jobs of other launchers. The name can be seen by other users, so a message begins with a proof of the token.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::getpid;

use crate::engine::processes::membership::TOKEN;
use crate::engine::processes::token::Token;
use crate::environment::Variables;
use crate::error::{Failure, WorldError};
use crate::launch::Ended;

/// How often a rank that waits for others asks who has ended.
const ASK_INTERVAL: Duration = Duration::from_millis(200);
/// Bytes of an answer for each rank that has ended: its number, its process, its status.
const ENTRY: usize = 12;

/// Longer reasons are cut.
const LONGEST: usize = 1024;
/// The bytes before the reason: the proof and the rank.
const HEAD: usize = 32 + 4;

/// Tells the launcher of this process, if there is one, why the world has ended. A later message replaces an earlier one.
pub(crate) fn tell(failure: &Failure) {
    let Some(token) = Variables::of_process().text(TOKEN).map(Token::new) else { return };
    // Who does not listen is not told; the exit status remains.
    let _ = send(&token, failure);
}

fn send(token: &Token, failure: &Failure) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    let reason = &failure.reason[..failure.reason.floor_char_boundary(LONGEST)];
    let rank = u32::try_from(failure.rank).unwrap_or(u32::MAX).to_le_bytes();
    let message = [token.derived(PROOF).as_bytes().as_slice(), &rank, reason.as_bytes()].concat();
    socket.send_to_addr(&message, &address(token, "launcher name")?).map(drop)
}

/// What the hashes are for that messages begin with.
const PROOF: &str = "launcher proof";
const QUESTION: &str = "launcher question";
const ANSWER: &str = "launcher answer";

fn address(token: &Token, purpose: &str) -> io::Result<SocketAddr> {
    let name = token.derived(purpose).to_hex();
    SocketAddr::from_abstract_name(format!("shoal-{}", &name[..32]))
}

/// A rank's question to its launcher, asked now and then.
#[derive(Debug)]
pub(crate) struct Inquiry {
    socket: UnixDatagram,
    launcher: SocketAddr,
    question: blake3::Hash,
    answer: blake3::Hash,
    asked: Option<Instant>,
    ended: Vec<Ended>,
}

impl Inquiry {
    /// `None` where no launcher can be asked.
    pub(crate) fn new(token: Option<&Token>) -> Option<Inquiry> {
        let token = token?;
        let (pid, ask) = (getpid().as_raw_nonzero(), address(token, "launcher name").ok()?);
        let socket = UnixDatagram::bind_addr(&address(token, &format!("{ANSWER} to {pid}")).ok()?).ok()?;
        socket.set_nonblocking(true).ok()?;
        let (question, answer) = (token.derived(QUESTION), token.derived(ANSWER));
        let mut inquiry = Inquiry { socket, launcher: ask, question, answer, asked: None, ended: Vec::new() };
        inquiry.ask().ok()?;
        Some(inquiry)
    }

    fn ask(&mut self) -> io::Result<()> {
        self.asked = Some(Instant::now());
        self.socket.send_to_addr(self.question.as_bytes(), &self.launcher).map(drop)
    }

    /// The ranks that have ended, as far as the launcher has told.
    pub(crate) fn ended(&mut self) -> &[Ended] {
        let mut message = vec![0; 1 << 16];
        while let Ok(bytes) = self.socket.recv(&mut message) {
            if let Some((proof, entries)) = message[..bytes].split_first_chunk::<32>()
                && blake3::Hash::from_bytes(*proof) == self.answer
            {
                self.ended = entries.chunks_exact(ENTRY).map(decode_ended).collect();
            }
        }
        if self.asked.is_none_or(|asked| asked.elapsed() >= ASK_INTERVAL) {
            // A launcher that does not listen any more has ended, and its ranks will.
            let _ = self.ask();
        }
        &self.ended
    }

    /// How long to wait for something else at most.
    pub(crate) fn patience(inquiry: Option<&Inquiry>, other: Duration) -> Duration {
        if inquiry.is_some() { other.min(ASK_INTERVAL) } else { other }
    }
}

fn encode_ended(ended: &Ended) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    entry[..4].copy_from_slice(&u32::try_from(ended.rank).unwrap_or(u32::MAX).to_le_bytes());
    entry[4..8].copy_from_slice(&ended.pid.to_le_bytes());
    entry[8..].copy_from_slice(&ended.status.into_raw().to_le_bytes());
    entry
}

fn decode_ended(entry: &[u8]) -> Ended {
    let word = |at: usize| u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
    Ended { rank: word(0) as usize, pid: word(4), status: ExitStatus::from_raw(word(8).cast_signed()) }
}

/// The launcher's side.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: UnixDatagram,
    proof: blake3::Hash,
    question: blake3::Hash,
    answer: blake3::Hash,
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Listener {
    pub(crate) fn new(token: &Token) -> Result<Listener, WorldError> {
        let socket = || {
            let socket = UnixDatagram::bind_addr(&address(token, "launcher name")?)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let socket =
            socket().map_err(|source| WorldError::System { doing: "listen to the ranks".to_owned(), source })?;
        let [proof, question, answer] = [PROOF, QUESTION, ANSWER].map(|purpose| token.derived(purpose));
        Ok(Listener { socket, proof, question, answer })
    }

    /// The last failure that came, of all that has come since the last look. Who asks is told which ranks have ended.
    pub(crate) fn heard(&self, ended: &[Ended]) -> Option<Failure> {
        let mut heard = None;
        let mut message = [0; HEAD + LONGEST];
        while let Ok((bytes, from)) = self.socket.recv_from(&mut message) {
            let message = &message[..bytes];
            if <[u8; 32]>::try_from(message).is_ok_and(|asked| blake3::Hash::from_bytes(asked) == self.question) {
                let entries: Vec<u8> = ended.iter().flat_map(encode_ended).collect();
                // Who has stopped to wait needs no answer.
                let _ = self.socket.send_to_addr(&[self.answer.as_bytes().as_slice(), &entries].concat(), &from);
            }
            heard = self.decode(message).or(heard);
        }
        heard
    }

    fn decode(&self, message: &[u8]) -> Option<Failure> {
        let (proof, rest) = message.split_first_chunk::<32>()?;
        let (rank, reason) = rest.split_first_chunk::<4>()?;
        if blake3::Hash::from_bytes(*proof) != self.proof {
            return None;
        }
        let reason = String::from_utf8_lossy(reason).into_owned();
        Some(Failure { rank: u32::from_le_bytes(*rank) as usize, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_knows_the_token_is_heard() {
        let (token, other) = (Token::random().unwrap(), Token::random().unwrap());
        let listener = Listener::new(&token).unwrap();
        assert_eq!(listener.heard(&[]), None);
        let failure = |rank: usize, reason: String| Failure { rank, reason };
        send(&token, &failure(1, "first".to_owned())).unwrap();
        send(&token, &failure(2, "é".repeat(LONGEST))).unwrap();
        // Whoever finds the name does not know the proof.
        let forged = [other.derived("launcher proof").as_bytes().as_slice(), &[3, 0, 0, 0], b"forged"].concat();
        let stranger = UnixDatagram::unbound().unwrap();
        for message in [&forged[..], b"", &[0; 40]] {
            stranger.send_to_addr(message, &address(&token, "launcher name").unwrap()).unwrap();
        }
        assert_eq!(listener.heard(&[]), Some(failure(2, "é".repeat(LONGEST / 2))));
        assert!(send(&other, &failure(0, String::new())).is_err(), "nobody listens there");
    }

    #[test]
    fn who_waits_hears_who_has_ended() {
        let (token, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(Inquiry::new(Some(&other)).is_none() && Inquiry::new(None).is_none(), "there is no launcher");
        let listener = Listener::new(&token).unwrap();
        let mut inquiry = Inquiry::new(Some(&token)).unwrap();
        assert!(inquiry.ended().is_empty());
        let ended = [Ended { rank: 3, pid: 4711, status: ExitStatus::from_raw(7 << 8) }];
        assert_eq!(listener.heard(&ended), None);
        let [Ended { rank: 3, pid: 4711, status }] = inquiry.ended() else { panic!("{inquiry:?}") };
        assert_eq!(status.code(), Some(7));
    }
}
