//! What the programs of all ranks share, and what they wait for.

use std::time::Instant;

use smallvec::SmallVec;

use crate::check::Checker;
use crate::error::Waiting;
use crate::launch::{ElementOrder, HOST_POLL_INTERVAL, Host};
use crate::memory::{Address, Memory};
use crate::rank::Heap;
use crate::time::Time;
use crate::transfer::{Delivery, Transfer};

/// What the programs of all ranks share.
pub(crate) struct Machine<'x> {
    /// The symmetric heaps of all ranks, that of rank 0 first; empty outside of a world.
    pub(crate) heaps: &'x [Heap],
    /// Where the words are in which teams of each rank meet; empty where no team can.
    pub(crate) sync_words: &'x [u64],
    pub(crate) memory: &'x mut Memory,
    /// Where printed lines go, and who may stop the run.
    pub(crate) host: &'x mut dyn Host,
    /// Who follows every access, if anybody does.
    pub(crate) checker: Option<&'x mut Checker>,
    /// Programs, streams and transfers are numbered as they come: the next number.
    pub(crate) numbers: u64,
    /// When transfers are delivered.
    pub(crate) delivery: Delivery,
    /// In which order elements are written.
    pub(crate) elements: ElementOrder,
    /// Those that are not, in the order in which they were issued.
    pub(crate) transfers: Vec<Transfer>,
    /// Operations executed so far, by all programs.
    pub(crate) steps: u64,
    pub(crate) time: Time,
    pub(crate) max_steps: u64,
    /// When the host is asked next whether to stop.
    pub(crate) next_look: Instant,
    /// The words that the programs of a launch share, by rank and launch, of those that asked for them.
    pub(crate) grid_words: Vec<((u32, u32), Address)>,
}

/// Bytes of the words that the programs of a launch share.
const GRID_WORDS_BYTES: usize = 16;

/// How many operations are executed between two looks at the clock.
const STEPS_PER_LOOK: u64 = 64;

impl Machine<'_> {
    /// What programs see when they look at the clock.
    pub(crate) fn now(&self) -> u64 {
        self.time.after(self.steps)
    }

    /// Where the words of a launch are; zero when it first asks for them.
    pub(crate) fn grid_words(&mut self, rank: u32, launch: u32) -> u64 {
        let key = (rank, launch);
        if let Some((_, words)) = self.grid_words.iter().find(|(known, _)| *known == key) {
            return words.0;
        }
        let words = self.memory.alloc(GRID_WORDS_BYTES);
        self.memory.name(words, format!("the words that the programs of a launch of rank {rank} share"));
        self.grid_words.push((key, words));
        words.0
    }

    /// Whether the host stops the run, looked at now and then.
    pub(crate) fn is_interrupted(&mut self) -> bool {
        if !self.steps.is_multiple_of(STEPS_PER_LOOK) || Instant::now() < self.next_look {
            return false;
        }
        self.next_look = Instant::now() + HOST_POLL_INTERVAL;
        self.host.is_interrupted()
    }
}

/// What a step leads to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The program goes on.
    Continue,
    /// The program could go on; others may come first.
    Yield,
    /// The program cannot go on until memory changes.
    Waits,
    /// The program has ended.
    Done,
}

/// A word of memory that was seen.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) value: u64,
}

impl Seen {
    fn has_changed(&self, memory: &Memory) -> bool {
        memory.load(self.address, self.bytes) != Ok(self.value)
    }
}

/// What must change before a program that waits can go on.
#[derive(Clone, Debug)]
pub(crate) enum Watch {
    /// One of these words.
    Words(SmallVec<[Seen; 1]>),
    /// Anything, since memory was in this state; with one of the words that were seen.
    Anything(u64, Option<Seen>),
}

/// Why a program does not go on.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) watch: Watch,
    /// When it goes on nevertheless.
    pub(crate) deadline: Option<u64>,
    /// If it looks at the clock: the jumps of time before its last look. One more may end it.
    pub(crate) looked_after: Option<u64>,
    pub(crate) report: Waiting,
}

impl Wait {
    /// Waits until a word is no longer what it was seen to be.
    pub(crate) fn on_word(seen: Seen, deadline: Option<u64>, report: Waiting) -> Wait {
        Wait { watch: Watch::Words(SmallVec::from_buf([seen])), deadline, looked_after: None, report }
    }

    /// The first word that it waits for.
    pub(crate) fn first_word(&self) -> Option<Seen> {
        match &self.watch {
            Watch::Words(words) => words.first().copied(),
            Watch::Anything(_, first) => *first,
        }
    }

    /// Whether what it waits for may have happened.
    pub(crate) fn may_be_over(&self, memory: &Memory) -> bool {
        match &self.watch {
            Watch::Words(words) => words.iter().any(|word| word.has_changed(memory)),
            Watch::Anything(version, _) => *version != memory.version(),
        }
    }
}

/// What one iteration of a `while` read, so that a program that would only repeat it waits for those words.
#[derive(Clone, Debug, Default)]
pub(crate) struct LapLog {
    reads: SmallVec<[Seen; 1]>,
    /// It read more than is worth remembering.
    overflowed: bool,
    /// It changed memory itself.
    changed: bool,
    /// It looked at the clock.
    pub(crate) looked_at_clock: bool,
}

/// Words remembered of one iteration: those that wait read few.
const MAX_READS: usize = 32;

impl LapLog {
    pub(crate) fn read(&mut self, seen: Seen) {
        if self.reads.len() == MAX_READS {
            self.overflowed = true;
        } else if !self.overflowed {
            self.reads.push(seen);
        }
    }

    pub(crate) fn change(&mut self) {
        self.changed = true;
    }

    /// Whether an iteration like this one would see the same: since memory was in state `version`, nothing that it read
    /// has changed.
    pub(crate) fn would_repeat(&self, memory: &Memory, version: u64) -> bool {
        if self.overflowed {
            return version == memory.version();
        }
        !self.changed && !self.reads.iter().any(|word| word.has_changed(memory))
    }

    /// Whether it saw just what the one before saw, and changed nothing. Only what the loop counts, or time, can end it then.
    pub(crate) fn is_in_vain(&self, last: &LapLog, memory: &Memory, version: u64) -> bool {
        let looked = !self.reads.is_empty() || self.looked_at_clock;
        let same = if self.overflowed { last.overflowed } else { looked && self.reads == last.reads };
        same && self.would_repeat(memory, version)
    }

    /// What must change before an iteration differs.
    pub(crate) fn watch(self, memory: &Memory) -> Watch {
        match self.overflowed {
            true => Watch::Anything(memory.version(), self.reads.first().copied()),
            false => Watch::Words(self.reads),
        }
    }
}
