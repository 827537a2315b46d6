//! Whether ranks call the same, with the same sizes and types.
//!
//! Each rank leaves a record of its call in its own symmetric memory, then looks at the records of its two neighbours. Where
//! loads reach them, at least one of two neighbours sees the other's record before it goes on, and if all neighbours agree,
//! all ranks do. A rank that sees another call than its own ends the world: others may wait already for what will not come.
//!
//! That is a store and two loads. Neighbours that must be asked for their records are when a call is new to this rank, and now
//! and then: a record also tells whether the calls before it were the same.

use std::collections::HashSet;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::element::{bytes_of, bytes_of_mut};
use crate::error::{Failure, WorldError, grouped, odd_one};
use crate::giving_up::{self, BETWEEN_LOOKS, COLLECTING};
use crate::heap::Symm;
use crate::rank::Rank;

/// Words of a record: its head, a checksum, sizes, element type and name.
const WORDS: usize = 17;
const SIZES: usize = 5;
const ELEMENT: usize = 16;
const NAME: usize = 64;
/// Records that a rank keeps: who is ahead by less can be compared with.
const KEPT: u32 = 8;
/// How often neighbours are looked at that must be asked, when calls repeat.
const ASKED: u32 = 64;
/// How many calls are known not to be new, at most: programs with sizes that change make ever more.
const KNOWN: usize = 4096;

/// What all ranks must call alike.
#[derive(Debug, Clone, Copy)]
pub struct SameCall<'a> {
    /// The function, with names for the sizes: `broadcast(n, root)`. Of longer ones 64 bytes are compared.
    pub name: &'a str,
    /// The type of elements, such as `float32`, of 16 bytes at most.
    pub element: &'a str,
    /// The sizes, five at most.
    pub sizes: &'a [usize],
}

/// The calls of a rank, which are compared with those of others. One thread of each rank at a time makes calls.
#[derive(Debug)]
pub struct CallLog {
    records: Symm<u64>,
    neighbours: Vec<Neighbour>,
    made: Mutex<Made>,
}

#[derive(Debug)]
struct Neighbour {
    rank: usize,
    /// Whether loads do not reach it.
    is_far: bool,
}

/// The calls so far.
#[derive(Debug, Default)]
struct Made {
    count: u32,
    /// A hash of all of them.
    all: u64,
    /// Hashes of those that were made before, where neighbours must be asked.
    known: HashSet<u64>,
}

impl CallLog {
    /// Collective over the world.
    ///
    /// # Errors
    ///
    /// When the symmetric heap has no room, or the world fails.
    pub fn new(rank: &Rank) -> Result<CallLog, WorldError> {
        let (me, world) = (rank.rank(), rank.size());
        let mut around = vec![(me + 1) % world, (me + world - 1) % world];
        around.dedup();
        around.retain(|&peer| peer != me);
        let neighbour = |peer| Neighbour { rank: peer, is_far: rank.base(peer).is_err() };
        Ok(CallLog {
            records: rank.symm_zeros(KEPT as usize * WORDS)?,
            neighbours: around.into_iter().map(neighbour).collect(),
            made: Mutex::default(),
        })
    }

    /// Notes a call that this rank is about to make, and compares it with those of its neighbours.
    ///
    /// # Errors
    ///
    /// When a neighbour makes another call; the world ends, and the error tells what each rank calls.
    pub fn call(&self, call: &SameCall<'_>) -> Result<(), WorldError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut record = Record::of(call);
        let this = record.hash();
        made.count = made.count.wrapping_add(1);
        made.all = mix(made.all, this);
        record.seal(made.count, made.all);
        self.write(&record)?;
        // Neighbours that see no record of this call leave theirs before this rank looks.
        fence(Ordering::SeqCst);
        if made.known.len() == KNOWN {
            made.known.clear();
        }
        let asks = self.neighbours.iter().any(|neighbour| neighbour.is_far)
            && (made.known.insert(this) || made.count.is_multiple_of(ASKED));
        for neighbour in &self.neighbours {
            if (!neighbour.is_far || asks) && self.differs(neighbour.rank, &record)? {
                return Err(self.end_world(made.count));
            }
        }
        Ok(())
    }

    fn rank(&self) -> &Rank {
        self.records.rank()
    }

    /// Where the record of a call is.
    fn place(&self, call: u32) -> usize {
        self.records.offset() + (call % KEPT) as usize * size_of::<Record>()
    }

    fn write(&self, record: &Record) -> Result<(), WorldError> {
        let rank = self.rank();
        rank.write_segment(rank.rank(), self.place(record.call()), bytes_of(&record.0))
    }

    /// Whether a rank has made another call, or made others before.
    fn differs(&self, peer: usize, mine: &Record) -> Result<bool, WorldError> {
        let mut head = [0u64];
        self.rank().read_segment(peer, self.place(mine.call()), bytes_of_mut(&mut head))?;
        let head = head[0];
        Ok((head >> 32) as u32 == mine.call() && head != mine.head())
    }

    /// A rank's record of a call, if it is there.
    fn read(&self, peer: usize, call: u32) -> Result<Option<Record>, WorldError> {
        let mut record = Record([0; WORDS]);
        self.rank().read_segment(peer, self.place(call), bytes_of_mut(&mut record.0))?;
        Ok((record.call() == call && record.is_whole()).then_some(record))
    }

    /// Ends the world because ranks call different things.
    fn end_world(&self, call: u32) -> WorldError {
        let rank = self.rank();
        let (at_fault, reason) = match self.first_difference(call) {
            Ok(difference) => difference,
            Err(error) => return error,
        };
        let ended = rank.end_world(Failure { rank: at_fault, reason });
        giving_up::ended(rank.access(), None, ended)
    }

    /// Who calls what, in the first call that is known to differ, and a rank among the fewest that agree.
    fn first_difference(&self, call: u32) -> Result<(usize, String), WorldError> {
        let until = Instant::now() + COLLECTING;
        let world = self.rank().size();
        loop {
            let first = call.saturating_sub(KEPT - 1).max(1);
            for call in first..=call {
                let mut calls = Vec::new();
                for peer in 0..world {
                    calls.extend(self.read(peer, call)?.map(|record| (peer, record.to_string())));
                }
                let is_complete = calls.len() == world || Instant::now() >= until;
                if is_complete && let Some(odd) = odd_one(&calls) {
                    let silent = (0..world).filter(|rank| calls.iter().all(|(known, _)| known != rank));
                    calls.extend(silent.map(|rank| (rank, "nothing yet".to_owned())).collect::<Vec<_>>());
                    return Ok((odd, format!("the ranks make different calls: {}", grouped(&calls))));
                }
            }
            if Instant::now() >= until {
                return Ok((self.rank().rank(), format!("the ranks have made different calls before call {call}")));
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }
}

/// A call as words: what number it has and a part of the hash of all calls so far, a checksum of the record, the sizes, the
/// element type, the name. Whoever reads while it is written finds a wrong checksum.
struct Record([u64; WORDS]);

impl Record {
    const CHECKSUM: usize = 1;
    const FIRST_SIZE: usize = 2;
    const ELEMENT: usize = Self::FIRST_SIZE + SIZES;
    const FIRST_OF_NAME: usize = Self::ELEMENT + ELEMENT / 8;

    fn of(call: &SameCall<'_>) -> Record {
        assert!(call.sizes.len() <= SIZES, "{call:?} fits into a record");
        let mut words = [0; WORDS];
        for (word, &size) in words[Self::FIRST_SIZE..Self::ELEMENT].iter_mut().zip(call.sizes) {
            *word = (size as u64).saturating_add(1);
        }
        let bytes = bytes_of_mut(&mut words[Self::ELEMENT..]);
        let (element, name) = bytes.split_at_mut(ELEMENT);
        element.iter_mut().zip(call.element.bytes()).for_each(|(byte, letter)| *byte = letter);
        name.iter_mut().zip(call.name.bytes()).for_each(|(byte, letter)| *byte = letter);
        Record(words)
    }

    /// Of what is called, whenever that is.
    fn hash(&self) -> u64 {
        self.0[Self::FIRST_SIZE..].iter().fold(0, |hash, &word| mix(hash, word))
    }

    fn seal(&mut self, call: u32, all: u64) {
        self.0[0] = u64::from(call) << 32 | all >> 32;
        self.0[Self::CHECKSUM] = mix(self.hash(), self.0[0]);
    }

    fn is_whole(&self) -> bool {
        self.0[Self::CHECKSUM] == mix(self.hash(), self.0[0])
    }

    fn head(&self) -> u64 {
        self.0[0]
    }

    fn call(&self) -> u32 {
        (self.head() >> 32) as u32
    }
}

const _: () = assert!(Record::FIRST_OF_NAME + NAME / 8 == WORDS);

impl std::fmt::Display for Record {
    /// `broadcast(n = 100, root = 2) of float32`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |words: &[u64]| {
            let bytes: Vec<u8> = bytes_of(words).iter().copied().take_while(|&byte| byte != 0).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let name = text(&self.0[Self::FIRST_OF_NAME..]);
        let (function, names) = name.split_once('(').unwrap_or((&name, ""));
        let sizes = self.0[Self::FIRST_SIZE..Self::ELEMENT].iter().map_while(|&size| size.checked_sub(1));
        let names = names.trim_end_matches(')').split(", ").chain(std::iter::repeat("?"));
        let sizes: Vec<String> = names.zip(sizes).map(|(name, size)| format!("{name} = {size}")).collect();
        write!(f, "{function}({}) of {}", sizes.join(", "), text(&self.0[Self::ELEMENT..Self::FIRST_OF_NAME]))
    }
}

/// A step of a hash.
fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
    product ^ product >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, element: &str, sizes: &[usize]) -> Record {
        Record::of(&SameCall { name, element, sizes })
    }

    #[test]
    fn records_tell_what_was_called() {
        assert_eq!(
            record("broadcast(n, root)", "float32", &[100, 0]).to_string(),
            "broadcast(n = 100, root = 0) of float32"
        );
        assert_eq!(record("meet()", "bfloat16", &[]).to_string(), "meet() of bfloat16");
    }

    #[test]
    fn records_differ_by_all_that_is_said() {
        let hash = |name, element, sizes: &[usize]| record(name, element, sizes).hash();
        let one = hash("sum(n)", "float32", &[100]);
        assert_eq!(one, hash("sum(n)", "float32", &[100]));
        for other in [
            hash("sum(n)", "float16", &[100]),
            hash("sum(n)", "float8_e4m3fn", &[100]),
            hash("sum(n)", "float32", &[101]),
            hash("max(n)", "float32", &[100]),
            hash("sum(n)", "float32", &[100, 0]),
        ] {
            assert_ne!(one, other);
        }
        assert_ne!(hash("sum(n)", "float8_e4m3fn", &[]), hash("sum(n)", "float8_e4m3fnuz", &[]));
    }

    #[test]
    fn half_a_record_is_none() {
        let mut record = record("sum(n)", "float32", &[100]);
        record.seal(3, 4711);
        assert!(record.is_whole());
        record.0[Record::FIRST_SIZE] += 1;
        assert!(!record.is_whole());
    }
}
