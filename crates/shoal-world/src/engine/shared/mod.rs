//! Ranks that share memory: what the engines `threads` and `processes` have in common. They differ in how the memory
//! came to be mapped and in how the death of a rank is noticed.

mod control;
mod exchange;
pub(crate) mod layout;
mod mapping;
mod words;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::thread::futex;
use shoal_abi::team::sync_words;
use shoal_driver::{Doing, LaunchGroup};

use crate::engine::{Call, Certainty, Engine, EngineKind, Route};
use crate::error::{Failure, WorldError};
use crate::launcher;
use crate::vigil::Beat;
use crate::wait_report::WaitReport;
pub(crate) use control::Control;
use control::{State, record};
pub(crate) use layout::Layout;
pub(crate) use mapping::Mapping;

use crate::team_register::handle_of;

/// Memory that all ranks of a world have mapped.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    pub(crate) mapping: Mapping,
    pub(crate) kind: EngineKind,
    /// How long a rank waits for others.
    pub(crate) timeout: Duration,
    /// Who waits, where all ranks are threads.
    pub(crate) group: Option<LaunchGroup>,
    /// What every rank waited for when none could go on, where all are threads.
    pub(crate) deadlock: OnceLock<Vec<WaitReport>>,
}

impl SharedMemory {
    pub(crate) fn size(&self) -> usize {
        self.mapping.ranks()
    }

    /// The control block of a rank.
    pub(crate) fn control(&self, rank: usize) -> &Control {
        // SAFETY: a segment begins with a control block, zeroed when it was mapped (a valid one), and stays mapped as
        // long as `self`. It consists of atomics only, so that other ranks may write it meanwhile.
        unsafe { self.mapping.segment(rank).cast::<Control>().as_ref() }
    }

    /// A word in which members of a team meet in kernels.
    fn sync_word(&self, rank: usize, team: i32, word: usize) -> &AtomicU64 {
        let offset = self.mapping.layout().pad + sync_words::offset(team, word);
        // SAFETY: the words of teams follow the signal pad, begin at a multiple of 64 and stay mapped as long as `self`.
        // They are only accessed atomically.
        unsafe { self.mapping.symmetric(rank).add(offset).cast::<AtomicU64>().as_ref() }
    }

    /// Futexes between processes are found by page, those of threads by address.
    fn futex_flags(&self) -> futex::Flags {
        match self.kind {
            EngineKind::Threads | EngineKind::Cuda => futex::Flags::PRIVATE,
            EngineKind::Processes | EngineKind::OpenShmem | EngineKind::Nvshmem => futex::Flags::empty(),
        }
    }

    /// `rank 3 (pid 4711)`.
    pub(crate) fn name(&self, rank: usize) -> String {
        match self.kind {
            EngineKind::Threads | EngineKind::Cuda => format!("rank {rank}"),
            EngineKind::Processes | EngineKind::OpenShmem | EngineKind::Nvshmem => {
                match self.control(rank).pid.load(Ordering::Relaxed) {
                    0 => format!("rank {rank}"),
                    pid => format!("rank {rank} (pid {pid})"),
                }
            }
        }
    }

    pub(crate) fn has_left(&self, rank: usize) -> bool {
        self.control(rank).state() == State::Left
    }

    /// Whether it is known that some rank takes part no more, where that is not a thread.
    fn has_lost_a_process(&self) -> bool {
        self.kind == EngineKind::Processes && (0..self.size()).any(|rank| self.has_left(rank))
    }

    fn beat(&self, rank: usize, beat: Option<Beat>) {
        self.control(rank).beat.store(Beat::encode(beat), Ordering::Release);
    }

    pub(crate) fn enter(&self, rank: usize) {
        self.control(rank).set_state(State::Running);
    }

    pub(crate) fn leave(&self, rank: usize) {
        self.control(rank).set_state(State::Left);
    }

    pub(crate) fn failure(&self) -> Option<Failure> {
        let Control { failure, conclusion, .. } = self.control(0);
        record::read_written(conclusion).or_else(|| record::read(failure))
    }

    pub(crate) fn fail(&self, failure: Failure, certainty: Certainty) -> Result<(), Failure> {
        match record::write(&self.control(0).failure, &failure, certainty) {
            true => self.tell_launcher(&failure),
            false => return Err(self.failure().unwrap_or(failure)),
        }
        Ok(())
    }

    fn conclude(&self, failure: &Failure) {
        if record::write(&self.control(0).conclusion, failure, Certainty::Known) {
            self.tell_launcher(failure);
        }
    }

    fn is_undecided(&self) -> bool {
        let Control { failure, conclusion, .. } = self.control(0);
        record::is_suspicion(failure) && !record::is_written(conclusion)
    }

    fn tell_launcher(&self, failure: &Failure) {
        if self.kind == EngineKind::Processes {
            launcher::tell(failure);
        }
    }
}

/// One rank's view of shared memory.
#[derive(Debug)]
pub(crate) struct SharedEngine<K> {
    pub(crate) memory: Arc<SharedMemory>,
    pub(crate) rank: usize,
    /// What must live as long as the rank takes part.
    pub(crate) _keep: K,
}

impl<K: std::fmt::Debug + Send + Sync> Engine for SharedEngine<K> {
    fn kind(&self) -> EngineKind {
        self.memory.kind
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.memory.size()
    }

    fn hosts(&self) -> Vec<u32> {
        vec![0; self.memory.size()]
    }

    fn name(&self, rank: usize) -> String {
        self.memory.name(rank)
    }

    fn segment_bytes(&self) -> usize {
        self.memory.mapping.layout().symmetric
    }

    fn base(&self, rank: usize) -> Option<NonNull<u8>> {
        (rank < self.memory.size()).then(|| self.memory.mapping.symmetric(rank))
    }

    fn exchange(&self, route: &Route<'_>, call: Call, mine: &[u8]) -> Result<Vec<Vec<u8>>, WorldError> {
        exchange::exchange(&self.memory, self, route, call, mine)
    }

    fn failure(&self) -> Option<Failure> {
        self.memory.failure()
    }

    fn fail(&self, failure: Failure, certainty: Certainty) -> Result<(), Failure> {
        self.memory.fail(failure, certainty)
    }

    fn conclude(&self, failure: &Failure) {
        self.memory.conclude(failure);
    }

    fn is_undecided(&self) -> bool {
        self.memory.is_undecided()
    }

    fn post_deadlock(&self, waits: &[WaitReport]) {
        self.memory.deadlock.get_or_init(|| waits.to_vec());
    }

    fn deadlock(&self) -> Option<Vec<WaitReport>> {
        self.memory.deadlock.get().cloned()
    }

    fn post_report(&self, report: &str) {
        self.memory.control(self.rank).report.write(report);
    }

    fn report_of(&self, rank: usize) -> Option<String> {
        self.memory.control(rank).report.read()
    }

    fn beat(&self, beat: Option<Beat>) {
        self.memory.beat(self.rank, beat);
    }

    fn beat_of(&self, rank: usize) -> Option<Beat> {
        Beat::decode(self.memory.control(rank).beat.load(Ordering::Acquire))
    }

    fn has_left(&self, rank: usize) -> bool {
        self.memory.has_left(rank)
    }

    fn doing(&self, rank: usize) -> Option<Doing> {
        self.memory.group.as_ref().map(|group| group.doing(rank))
    }

    fn prepare_slot(&self, slot: usize) {
        self.memory.control(self.rank).teams[slot].posted.store(0, Ordering::Release);
        for word in 0..sync_words::ROW {
            self.memory.sync_word(self.rank, handle_of(slot), word).store(0, Ordering::Release);
        }
    }

    fn retire_slot(&self, route: &Route<'_>) -> Result<(), WorldError> {
        exchange::retire(&self.memory, self, route)
    }

    fn enter(&self) {
        self.memory.enter(self.rank);
    }

    fn leave(&self) {
        self.memory.leave(self.rank);
    }
}
