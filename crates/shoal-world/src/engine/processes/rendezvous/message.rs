//! What ranks say while they meet.

use super::Joining;
use super::packet::MAX_BYTES;
use crate::engine::Segments;
use crate::engine::shared::Control;

/// The first bytes of a rank's greeting: the protocol and its version, which changes with what ranks share.
const MAGIC: &[u8; 8] = b"shoalw03";
const _: () = assert!(size_of::<Control>() == 140_416, "the version changes with the control block");

/// A rank's greeting to rank 0; its handles come along.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) heap_bytes: usize,
    pub(super) pad_slots: usize,
    pub(super) segments: Segments,
    pub(super) proof: blake3::Hash,
}

impl Hello {
    pub(super) fn new(joining: &Joining<'_>) -> Hello {
        Hello {
            rank: joining.membership.rank,
            size: joining.membership.size,
            heap_bytes: joining.options.heap_bytes,
            pad_slots: joining.options.pad_slots,
            segments: joining.segments,
            proof: joining.membership.proof(),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let segments = Segments::ALL.iter().position(|&known| known == self.segments).unwrap_or(Segments::ALL.len());
        for word in [self.rank, self.size, self.heap_bytes, self.pad_slots, segments] {
            bytes.extend_from_slice(&(word as u64).to_le_bytes());
        }
        bytes.extend_from_slice(self.proof.as_bytes());
        bytes
    }

    /// `None` for anything that is not exactly a greeting.
    pub(super) fn decode(bytes: &[u8]) -> Option<Hello> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (words, proof) = rest.split_at_checked(40)?;
        let proof = blake3::Hash::from_bytes(proof.try_into().ok()?);
        let word = |at: usize| -> Option<usize> {
            let word = words.get(at * 8..at * 8 + 8)?.try_into().ok()?;
            usize::try_from(u64::from_le_bytes(word)).ok()
        };
        let segments = Segments::ALL.get(word(4)?).copied()?;
        Some(Hello { rank: word(0)?, size: word(1)?, heap_bytes: word(2)?, pad_slots: word(3)?, segments, proof })
    }
}

/// What is said after the greeting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Rank 0: the world will not be, for this reason.
    Refused(String),
    /// Rank 0: here are the handles of this many ranks, from this one on.
    Members { first: usize, count: usize },
    /// The others: I have made my memory from them.
    Ready,
    /// Rank 0: so have all.
    Go,
}

impl Word {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Word::Refused(reason) => [b"r", &reason.as_bytes()[..reason.floor_char_boundary(MAX_BYTES - 1)]].concat(),
            Word::Members { first, count } => {
                [b"m".as_slice(), &(*first as u64).to_le_bytes(), &(*count as u64).to_le_bytes()].concat()
            }
            Word::Ready => b"y".to_vec(),
            Word::Go => b"g".to_vec(),
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Word> {
        let (kind, rest) = bytes.split_first()?;
        match (kind, rest.len()) {
            (b'r', _) => Some(Word::Refused(String::from_utf8_lossy(rest).into_owned())),
            (b'm', 16) => {
                let (first, count) = rest.split_at(8);
                let number = |bytes: &[u8]| usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok();
                Some(Word::Members { first: number(first)?, count: number(count)? })
            }
            (b'y', 0) => Some(Word::Ready),
            (b'g', 0) => Some(Word::Go),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_come_back() {
        let words = [Word::Refused("no: ü".to_owned()), Word::Members { first: 3, count: 64 }, Word::Ready, Word::Go];
        for word in words {
            assert_eq!(Word::decode(&word.encode()), Some(word));
        }
        let long = Word::Refused("ü".repeat(5000)).encode();
        assert!(long.len() <= MAX_BYTES);
        Word::decode(&long).unwrap();
    }

    #[test]
    fn greetings_come_back() {
        let hello = |segments| {
            let proof = blake3::hash(b"x");
            Hello { rank: 3, size: 4, heap_bytes: 1 << 40, pad_slots: 7, segments, proof }
        };
        for segments in Segments::ALL {
            assert_eq!(Hello::decode(&hello(segments).encode()), Some(hello(segments)));
        }
        let bytes = hello(Segments::Gpu).encode();
        for length in 0..bytes.len() {
            assert_eq!(Hello::decode(&bytes[..length]), None);
        }
        assert_eq!(Hello::decode(&[bytes.as_slice(), b"!"].concat()), None);
    }

    proptest! {
        #[test]
        fn garbage_is_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Hello::decode(&bytes), None);
            Word::decode(&bytes);
        }
    }
}
