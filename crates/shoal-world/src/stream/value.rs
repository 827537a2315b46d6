//! Words that streams write and wait for.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rustix::thread::futex;
use shoal_abi::SignalChange;

use super::Place;
use crate::engine::Awaited;
use crate::error::WorldError;
use crate::rank::Rank;

/// Looks before the stream's thread goes to sleep.
const SPINS_BEFORE_SLEEP: u32 = 200;
/// Kernels write words without waking anybody, so a sleeping stream looks again after this time, then less often.
const FIRST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// A word of 32 or 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// 32 bits.
    U32(u32),
    /// 64 bits.
    U64(u64),
}

impl Value {
    pub(super) fn bytes(self) -> usize {
        match self {
            Value::U32(_) => 4,
            Value::U64(_) => 8,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::U32(value) => value.fmt(f),
            Value::U64(value) => value.fmt(f),
        }
    }
}

/// How a word must compare with the value that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// It is the value.
    Equal,
    /// It is the value or more; counters that wrap around are compared by their distance, as CUDA does.
    GreaterOrEqual,
}

impl Compare {
    /// Whether a word that is `now` compares so with a value.
    pub(super) fn holds(self, now: Value, value: Value) -> bool {
        match (now, value, self) {
            (now, value, Compare::Equal) => now == value,
            (Value::U32(now), Value::U32(value), Compare::GreaterOrEqual) => now.wrapping_sub(value) as i32 >= 0,
            (Value::U64(now), Value::U64(value), Compare::GreaterOrEqual) => now.wrapping_sub(value) as i64 >= 0,
            (Value::U32(_), Value::U64(_), _) | (Value::U64(_), Value::U32(_), _) => {
                unreachable!("a word is read with the width of its value")
            }
        }
    }
}

/// A word in memory, and a value for it.
pub(super) struct Word {
    place: Place,
    value: Value,
}

impl Word {
    pub(super) fn new(place: Place, value: Value) -> Result<Word, WorldError> {
        let width = value.bytes();
        if place.bytes() == width && place.is_aligned_to(width) {
            return Ok(Word { place, value });
        }
        let (bits, bytes) = (width * 8, place.bytes());
        Err(WorldError::Argument(format!("{bytes} bytes at {} are not one aligned word of {bits} bits", place.name)))
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// A word that can be looked at, which takes one that load reaches.
    pub(super) fn to_wait_for(place: Place, value: Value) -> Result<Word, WorldError> {
        let word = Word::new(place, value)?;
        match word.place.pointer() {
            Some(_) => Ok(word),
            None => Err(WorldError::Argument(format!(
                "the word at {} cannot be reached by load; wait for one of this rank's own memory",
                word.place.name
            ))),
        }
    }

    /// The word, or its lower half on which sleepers sleep.
    fn futex(&self) -> &AtomicU32 {
        let half = if cfg!(target_endian = "big") { self.value.bytes() / 4 - 1 } else { 0 };
        // SAFETY: aligned, kept alive by the place, and accessed atomically by all of Rust.
        unsafe { &*self.pointer().cast::<AtomicU32>().add(half) }
    }

    fn wide(&self) -> &AtomicU64 {
        debug_assert_eq!(self.value.bytes(), 8);
        // SAFETY: see `futex`; the word has 64 bits.
        unsafe { &*self.pointer().cast::<AtomicU64>() }
    }

    fn pointer(&self) -> *mut u8 {
        self.place.pointer().expect("only words that load reaches are looked at")
    }

    pub(super) fn store(&self) {
        if let Some((transport, rank, offset)) = self.place.way() {
            match self.value {
                Value::U64(value) => transport.signal(rank, offset, value, SignalChange::Set),
                Value::U32(value) => {
                    transport.fence();
                    // SAFETY: four bytes can be read.
                    unsafe { transport.put(rank, offset, value.to_ne_bytes().as_ptr(), 4) };
                }
            }
            return transport.quiet();
        }
        match self.value {
            Value::U32(value) => self.futex().store(value, Ordering::Release),
            Value::U64(value) => self.wide().store(value, Ordering::Release),
        }
        // Wakes streams of all ranks; the only error is a bad address.
        let _ = futex::wake(self.futex(), futex::Flags::empty(), i32::MAX as u32);
    }

    fn load(&self) -> Value {
        match self.value {
            Value::U32(_) => Value::U32(self.futex().load(Ordering::Acquire)),
            Value::U64(_) => Value::U64(self.wide().load(Ordering::Acquire)),
        }
    }

    fn holds(&self, compare: Compare) -> bool {
        compare.holds(self.load(), self.value)
    }

    /// Sleeps until the word compares so.
    pub(super) fn wait(&self, rank: &Rank, compare: Compare) -> Result<(), WorldError> {
        for _ in 0..SPINS_BEFORE_SLEEP {
            if self.holds(compare) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let (mut pause, seen) = (FIRST_SLEEP, Cell::new(0));
        let look = || {
            seen.set(self.futex().load(Ordering::Acquire));
            self.holds(compare).then_some(())
        };
        let rest = || {
            let time = futex::Timespec::try_from(pause).expect("a short time");
            // Woken, timed out or changed meanwhile: in every case somebody looks again.
            let _ = futex::wait(self.futex(), futex::Flags::empty(), seen.get(), Some(&time));
            pause = (pause * 2).min(LONGEST_SLEEP);
        };
        rank.wait_until(rank.options().timeout, || Awaited::Word { condition: self.condition(compare) }, look, rest)
    }

    fn condition(&self, compare: Compare) -> String {
        let sign = match compare {
            Compare::Equal => "==",
            Compare::GreaterOrEqual => ">=",
        };
        format!("the word at {} {sign} {} (it is {})", self.place.name, self.value, self.load())
    }
}
