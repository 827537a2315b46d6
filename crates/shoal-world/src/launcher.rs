//! What ranks tell whoever started them: why the world has ended. A launcher sees how processes exit, and those that
//! waited for a rank often exit before the one that is to blame, or while it hangs.
//!
//! It is one datagram to a Unix socket with an abstract name, which both sides derive from the job's token; nobody listens
//! in jobs of other launchers. The name can be seen by other users, so a message begins with a proof of the token.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::engine::processes::membership::TOKEN;
use crate::engine::processes::token::Token;
use crate::environment::Variables;
use crate::error::{Failure, WorldError};

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
    let message = [token.derived("launcher proof").as_bytes().as_slice(), &rank, reason.as_bytes()].concat();
    socket.send_to_addr(&message, &address(token)?).map(drop)
}

fn address(token: &Token) -> io::Result<SocketAddr> {
    let name = token.derived("launcher name").to_hex();
    SocketAddr::from_abstract_name(format!("shoal-{}", &name[..32]))
}

/// The launcher's side.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: UnixDatagram,
    proof: blake3::Hash,
}

impl Listener {
    pub(crate) fn new(token: &Token) -> Result<Listener, WorldError> {
        let socket = || {
            let socket = UnixDatagram::bind_addr(&address(token)?)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let socket =
            socket().map_err(|source| WorldError::System { doing: "listen to the ranks".to_owned(), source })?;
        Ok(Listener { socket, proof: token.derived("launcher proof") })
    }

    /// The last that came, of all that has come since the last look.
    pub(crate) fn heard(&self) -> Option<Failure> {
        let mut heard = None;
        let mut message = [0; HEAD + LONGEST];
        while let Ok(bytes) = self.socket.recv(&mut message) {
            heard = self.decode(&message[..bytes]).or(heard);
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
        assert_eq!(listener.heard(), None);
        let failure = |rank: usize, reason: String| Failure { rank, reason };
        send(&token, &failure(1, "first".to_owned())).unwrap();
        send(&token, &failure(2, "é".repeat(LONGEST))).unwrap();
        // Whoever finds the name does not know the proof.
        let forged = [other.derived("launcher proof").as_bytes().as_slice(), &[3, 0, 0, 0], b"forged"].concat();
        let stranger = UnixDatagram::unbound().unwrap();
        for message in [&forged[..], b"", &[0; 40]] {
            stranger.send_to_addr(message, &address(&token).unwrap()).unwrap();
        }
        assert_eq!(listener.heard(), Some(failure(2, "é".repeat(LONGEST / 2))));
        assert!(send(&other, &failure(0, String::new())).is_err(), "nobody listens there");
    }
}
