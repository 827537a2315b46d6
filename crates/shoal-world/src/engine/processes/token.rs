//! The secret that the ranks of a job share.

use std::fmt;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::WorldError;

/// A secret. It is compared in constant time and never shown.
#[derive(Clone)]
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A token that nobody can guess.
    pub(crate) fn random() -> Result<Token, WorldError> {
        let mut bytes = [0u8; 32];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())
                .map_err(WorldError::system("make a random token"))?;
        }
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(crate) fn new(text: String) -> Token {
        Token(text)
    }

    /// The token as it is passed on to processes.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// What ranks show each other instead of it. Equality of hashes is decided in constant time.
    pub(crate) fn proof(&self) -> blake3::Hash {
        self.derived("rendezvous proof")
    }

    /// A hash for one purpose, which tells nothing of those for others.
    pub(crate) fn derived(&self, purpose: &str) -> blake3::Hash {
        let context = format!("shoal-world 2026 {purpose}");
        blake3::Hasher::new_derive_key(&context).update(self.0.as_bytes()).finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_stay_hidden() {
        let [a, b] = [Token::random().unwrap(), Token::random().unwrap()];
        assert_eq!(a.reveal().len(), 64);
        assert_ne!(a.proof(), b.proof());
        assert_eq!(a.proof(), Token::new(a.reveal().to_owned()).proof());
        assert!(!format!("{a:?}").contains(a.reveal()));
    }
}
