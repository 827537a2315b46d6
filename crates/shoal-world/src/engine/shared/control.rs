//! The control block at the start of every rank's segment. All of it is atomics, and all zero is its initial state.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::words::Words;
use crate::engine::{REPORT_BYTES, TEAM_SLOTS};

/// Words of what a rank tells all others when it joins: which GPU it has, and where NVSHMEM's ranks meet.
pub(crate) const NOTE_WORDS: usize = 18;

/// A rank's control block.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Control {
    state: AtomicU32,
    /// The rank's process, as the host numbers it.
    pub(crate) pid: AtomicU32,
    /// Whether the rank waits, and nothing of it moves; see `vigil`.
    pub(crate) beat: AtomicU64,
    /// What the rank tells all others when it joins.
    pub(crate) note: Words<NOTE_WORDS>,
    /// What ended the world; only that of rank 0 is used.
    pub(crate) failure: FailureRecord,
    /// What was found out afterwards, if the failure is a suspicion; only that of rank 0 is used.
    pub(crate) conclusion: FailureRecord,
    /// What the rank was doing when the world failed.
    pub(crate) report: ReportRecord,
    /// Mailboxes for the rank's teams.
    pub(crate) teams: [TeamSlot; TEAM_SLOTS],
}

/// Whether a rank takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Not yet.
    Absent,
    /// Yes.
    Running,
    /// It is done.
    Left,
}

impl Control {
    pub(crate) fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Absent,
            1 => State::Running,
            _ => State::Left,
        }
    }

    pub(crate) fn set_state(&self, state: State) {
        let code = match state {
            State::Absent => 0,
            State::Running => 1,
            State::Left => 2,
        };
        self.state.store(code, Ordering::Release);
    }
}

/// A rank's part in the messages of one team.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct TeamSlot {
    /// At the team's first member: how many members have arrived in this round.
    pub(crate) arrived: AtomicU32,
    /// At the team's first member: how many rounds were completed; members sleep on it.
    pub(crate) completed: AtomicU32,
    /// The last round that this rank has arrived in.
    pub(crate) posted: AtomicU32,
    /// What this rank says in even and in odd rounds. Two suffice: who arrives in round r has read all of round r - 1,
    /// so that once r is complete nobody reads r - 1 any more.
    pub(crate) mailboxes: [Mailbox; 2],
}

/// A rank's message in one round.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Mailbox {
    /// Which collective operation it belongs to, see `Call::encode`.
    pub(crate) call: AtomicU64,
    /// Bytes of the whole message; the rounds that follow carry what does not fit.
    pub(crate) length: AtomicU64,
    pub(crate) payload: Words<126>,
}

/// Bytes that fit into one round.
pub(crate) const PAYLOAD: usize = Words::<126>::CAPACITY;

/// What ended the world, told once.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FailureRecord {
    /// See [`record`].
    phase: AtomicU32,
    rank: AtomicU32,
    length: AtomicU32,
    reason: Words<60>,
}

/// What a rank was doing, told once: several of its threads may want to.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ReportRecord {
    /// Its bytes, plus one; 0: nothing is told.
    length: AtomicU32,
    text: Words<{ REPORT_BYTES / 8 }>,
}

impl ReportRecord {
    const WRITING: u32 = u32::MAX;

    pub(crate) fn read(&self) -> Option<String> {
        let length = Some(self.length.load(Ordering::Acquire)).filter(|&length| length != Self::WRITING);
        let length = (length? as usize).checked_sub(1)?;
        let mut text = Vec::new();
        self.text.read(length, &mut text);
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    pub(crate) fn write(&self, text: &str) {
        if self.length.compare_exchange(0, Self::WRITING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let text = &text[..text.floor_char_boundary(REPORT_BYTES)];
        self.text.write(text.as_bytes());
        self.length.store(text.len() as u32 + 1, Ordering::Release);
    }
}

/// Access to the failure record.
pub(super) mod record {
    use std::time::{Duration, Instant};

    use super::{FailureRecord, Ordering, Words};
    use crate::engine::Certainty;
    use crate::error::Failure;

    const EMPTY: u32 = 0;
    const WRITING: u32 = 1;
    const WRITTEN: u32 = 2;
    const SUSPECTED: u32 = 3;
    /// A writer that takes longer was killed while it wrote.
    const PATIENCE: Duration = Duration::from_millis(200);

    /// What is written, without waiting for who writes it.
    pub(in crate::engine::shared) fn read_written(record: &FailureRecord) -> Option<Failure> {
        if !is_written(record) {
            return None;
        }
        let mut reason = Vec::new();
        record.reason.read(record.length.load(Ordering::Relaxed) as usize, &mut reason);
        let reason = String::from_utf8_lossy(&reason).into_owned();
        Some(Failure { rank: record.rank.load(Ordering::Relaxed) as usize, reason })
    }

    pub(in crate::engine::shared) fn is_written(record: &FailureRecord) -> bool {
        matches!(record.phase.load(Ordering::Acquire), WRITTEN | SUSPECTED)
    }

    pub(in crate::engine::shared) fn read(record: &FailureRecord) -> Option<Failure> {
        if record.phase.load(Ordering::Acquire) == EMPTY {
            return None;
        }
        let begun = Instant::now();
        while record.phase.load(Ordering::Acquire) == WRITING {
            if begun.elapsed() > PATIENCE {
                let rank = record.rank.load(Ordering::Relaxed) as usize;
                return Some(Failure { rank, reason: format!("rank {rank} failed") });
            }
            std::thread::yield_now();
        }
        read_written(record)
    }

    pub(in crate::engine::shared) fn is_suspicion(record: &FailureRecord) -> bool {
        record.phase.load(Ordering::Acquire) == SUSPECTED
    }

    /// Whether this is the first to be written.
    pub(in crate::engine::shared) fn write(record: &FailureRecord, failure: &Failure, certainty: Certainty) -> bool {
        if record.phase.compare_exchange(EMPTY, WRITING, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return false;
        }
        record.rank.store(u32::try_from(failure.rank).unwrap_or(u32::MAX), Ordering::Relaxed);
        let end = failure.reason.floor_char_boundary(Words::<60>::CAPACITY);
        record.reason.write(&failure.reason.as_bytes()[..end]);
        record.length.store(end as u32, Ordering::Relaxed);
        let phase = match certainty {
            Certainty::Known => WRITTEN,
            Certainty::Suspected => SUSPECTED,
        };
        record.phase.store(phase, Ordering::Release);
        true
    }
}
