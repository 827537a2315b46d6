//! Streams of a rank: queues of launches, copies, events and words, each in order, beside each other.
//!
//! The host puts work into streams and goes on. A stream's copies and words are steps that the scheduler chooses, as it
//! chooses among programs, so a copy may come at any moment that nothing excludes. A word that a stream writes is a release
//! and one that it waits for an acquire, at `sys`.

use std::collections::{HashSet, VecDeque};

use shoal_ir::Span;
use shoal_ir::op::{Scope, Sem};

use crate::access::{Follow, Order};
use crate::check::{Clock, Effect};
use crate::error::{AccessKind, Error, Place, StreamWaiting};
use crate::machine::Machine;
use crate::memory::Address;
use crate::rank::{RankLaunch, RankPlan};

/// How a word must compare with the value that a stream waits for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Compare {
    /// It is the value.
    Equal,
    /// It is the value or more; counters that wrap around are compared by their distance.
    GreaterOrEqual,
}

impl Compare {
    fn holds(self, found: u64, value: u64, bytes: u32) -> bool {
        let unused = 64 - 8 * bytes.min(8);
        let apart = (found.wrapping_sub(value) << unused).cast_signed();
        match self {
            Compare::Equal => apart == 0,
            Compare::GreaterOrEqual => apart >= 0,
        }
    }

    /// Its sign.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Compare::Equal => "==",
            Compare::GreaterOrEqual => ">=",
        }
    }
}

/// What the host of a rank puts into a stream.
#[derive(Clone, Debug)]
pub enum StreamAction<'a> {
    /// Launches a kernel. The rank's heap is the world's, whatever the launch says.
    Launch(RankLaunch<'a>),
    /// Copies bytes.
    Copy {
        /// Where to.
        to: Address,
        /// Where from.
        from: Address,
        /// How many.
        bytes: u64,
    },
    /// Writes bytes that the host has given along.
    Write {
        /// Where to.
        address: Address,
        /// What.
        bytes: &'a [u8],
    },
    /// Writes a word, after all that is in the stream before it.
    WriteValue {
        /// The word.
        address: Address,
        /// Its size: 4 or 8.
        bytes: u32,
        /// What is written.
        value: u64,
    },
    /// Waits until a word compares so.
    WaitValue {
        /// The word.
        address: Address,
        /// Its size: 4 or 8.
        bytes: u32,
        /// How it must compare.
        compare: Compare,
        /// With what.
        value: u64,
    },
    /// An event of the rank happens. Each has a number of its own.
    Record(u32),
    /// Waits for an event of the rank.
    Wait(u32),
}

/// The same, prepared.
#[derive(Copy, Clone)]
pub(crate) enum StreamTask<'p> {
    Launch(&'p RankPlan<'p>),
    Copy { to: u64, from: u64, bytes: u64 },
    Write { address: u64, bytes: &'p [u8] },
    WriteValue { address: u64, bytes: u32, value: u64 },
    WaitValue { address: u64, bytes: u32, compare: Compare, value: u64 },
    Record(u32),
    Wait(u32),
}

impl StreamTask<'_> {
    /// Whether the scheduler chooses when it is done.
    pub(crate) fn is_step(&self) -> bool {
        match self {
            StreamTask::Copy { .. }
            | StreamTask::Write { .. }
            | StreamTask::WriteValue { .. }
            | StreamTask::WaitValue { .. } => true,
            StreamTask::Launch(_) | StreamTask::Record(_) | StreamTask::Wait(_) => false,
        }
    }
}

/// A launch under way.
pub(crate) struct Running<'p> {
    pub(crate) plan: &'p RankPlan<'p>,
    pub(crate) unstarted: Unstarted,
    /// Programs that have started and not ended.
    pub(crate) resident: usize,
}

/// The programs of a launch that have not started, in the order in which they will.
pub(crate) enum Unstarted {
    /// In the order of the grid, the first axis fastest, of which so many have started. A grid may be too large to be listed.
    Grid { grid: [u32; 3], started: u64 },
    /// In another one, the next one last.
    Listed(Vec<[u32; 3]>),
}

impl Unstarted {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Unstarted::Grid { grid, started } => {
                grid.iter().fold(1, |programs: u64, &extent| programs.saturating_mul(extent.into())) - started
            }
            Unstarted::Listed(programs) => programs.len() as u64,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next program, which starts.
    pub(crate) fn pop(&mut self) -> Option<[u32; 3]> {
        let next = self.iter().next()?;
        match self {
            Unstarted::Grid { started, .. } => *started += 1,
            Unstarted::Listed(programs) => drop(programs.pop()),
        }
        Some(next)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = [u32; 3]> {
        let (grid, listed): (_, &[[u32; 3]]) = match self {
            Unstarted::Grid { grid, started } => (Some((*grid, *started..*started + self.len())), &[]),
            Unstarted::Listed(programs) => (None, programs),
        };
        let place = |[x, y, _]: [u32; 3], number: u64| {
            let (row, x) = (number / u64::from(x), number % u64::from(x));
            [x as u32, (row % u64::from(y)) as u32, (row / u64::from(y)) as u32]
        };
        let in_grid = grid.into_iter().flat_map(move |(grid, numbers)| numbers.map(move |number| place(grid, number)));
        in_grid.chain(listed.iter().rev().copied())
    }
}

/// What was put into a stream.
struct Queued<'p> {
    task: StreamTask<'p>,
    /// Where the source says so.
    span: Span,
    /// What the host knew then.
    known: Option<Clock>,
}

/// A stream: what was put in and is not done.
pub(crate) struct Stream<'p> {
    rank: u32,
    stream: u32,
    /// Its place among all that the scheduler chooses from, if it ever has a step.
    pub(crate) number: u64,
    queue: VecDeque<Queued<'p>>,
    pub(crate) running: Option<Running<'p>>,
}

impl<'p> Stream<'p> {
    pub(crate) fn new(rank: u32, stream: u32, number: u64) -> Stream<'p> {
        Stream { rank, stream, number, queue: VecDeque::new(), running: None }
    }

    pub(crate) fn push(&mut self, task: StreamTask<'p>, span: Span, known: Option<Clock>) {
        self.queue.push_back(Queued { task, span, known });
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.running.is_none()
    }

    /// Its actor for the checker; 0 without one.
    pub(crate) fn actor(&self, machine: &mut Machine<'_>) -> u32 {
        machine.checker.as_mut().map_or(0, |checker| checker.stream(self.rank, self.stream))
    }

    /// Does what comes next if nothing has to be chosen for it: events, and the beginning of launches, which are given back.
    /// Whether anything was done.
    pub(crate) fn go_on(
        &mut self,
        machine: &mut Machine<'_>,
        happened: &mut HashSet<(u32, u32)>,
    ) -> (bool, Option<&'p RankPlan<'p>>) {
        if self.running.is_some() {
            return (false, None);
        }
        let mut launch = None;
        match self.queue.front().map(|next| next.task) {
            Some(StreamTask::Launch(plan)) => launch = Some(plan),
            Some(StreamTask::Record(_)) => {}
            Some(StreamTask::Wait(event)) if happened.contains(&(self.rank, event)) => {}
            Some(_) | None => return (false, None),
        }
        let Some((task, _)) = self.begin(machine) else { return (false, None) };
        let actor = self.actor(machine);
        match (task, &mut machine.checker) {
            (StreamTask::Record(event), checker) => {
                happened.insert((self.rank, event));
                if let Some(checker) = checker {
                    checker.record(self.rank, event, actor);
                }
            }
            (StreamTask::Wait(event), Some(checker)) => checker.wait_event(self.rank, event, actor),
            (StreamTask::Wait(_) | StreamTask::Launch(_), _)
            | (
                StreamTask::Copy { .. }
                | StreamTask::Write { .. }
                | StreamTask::WriteValue { .. }
                | StreamTask::WaitValue { .. },
                _,
            ) => {}
        }
        (true, launch)
    }

    /// Takes the next task out, and where it was said.
    fn begin(&mut self, machine: &mut Machine<'_>) -> Option<(StreamTask<'p>, Span)> {
        let actor = self.actor(machine);
        let Queued { task, span, known } = self.queue.pop_front()?;
        if let (Some(checker), Some(known)) = (&mut machine.checker, &known) {
            checker.begin_task(actor, known);
        }
        Some((task, span))
    }

    /// Whether its next task is a step that can be made now.
    pub(crate) fn has_step(&self, machine: &Machine<'_>) -> bool {
        match self.queue.front().map(|next| next.task) {
            Some(StreamTask::WaitValue { address, bytes, compare, value }) if self.running.is_none() => {
                machine.memory.load(address, bytes).is_ok_and(|found| compare.holds(found, value, bytes))
            }
            Some(task) => self.running.is_none() && task.is_step(),
            None => false,
        }
    }

    /// Makes its next step.
    pub(crate) fn step(&mut self, machine: &mut Machine<'_>) -> Result<(), Error> {
        let Some((task, span)) = self.begin(machine) else { return Ok(()) };
        let (actor, at) = (self.actor(machine), Place { span, rank: Some(self.rank), program: [0; 3] });
        let plain = |kind| Follow::of(actor, span, kind, Order::Plain, 1);
        let word = |sem, bytes| Follow::of(actor, span, AccessKind::Atomic, Order::Atomic(sem, Scope::Sys), bytes);
        match task {
            StreamTask::Copy { to, from, bytes } => {
                let data = machine.memory.copy_from(from, bytes);
                let data = data.map_err(|e| machine.copy_fault(e, at, from, AccessKind::Read))?;
                plain(AccessKind::Read).bytes(machine, from, bytes);
                machine.memory.copy_to(to, &data).map_err(|e| machine.copy_fault(e, at, to, AccessKind::Write))?;
                plain(AccessKind::Write).bytes(machine, to, bytes);
            }
            StreamTask::Write { address, bytes } => {
                let written = machine.memory.copy_to(address, bytes);
                written.map_err(|e| machine.copy_fault(e, at, address, AccessKind::Write))?;
                plain(AccessKind::Write).bytes(machine, address, bytes.len() as u64);
            }
            StreamTask::WriteValue { address, bytes, value } => {
                let written = machine.memory.store(address, bytes, value);
                written.map_err(|e| machine.copy_fault(e, at, address, AccessKind::Atomic))?;
                word(Sem::Release, bytes).element(machine, 0, address, Effect::Write);
            }
            StreamTask::WaitValue { address, bytes, .. } => {
                word(Sem::Acquire, bytes).element(machine, 0, address, Effect::Read);
            }
            StreamTask::Launch(_) | StreamTask::Record(_) | StreamTask::Wait(_) => {}
        }
        Ok(())
    }

    /// What it waits for, if it waits.
    pub(crate) fn waiting(&self, machine: &Machine<'_>) -> Option<StreamWaiting> {
        if self.running.is_some() {
            return None;
        }
        let next = self.queue.front()?;
        let (what, word) = match &next.task {
            StreamTask::WaitValue { address, bytes, compare, value } => {
                let place = machine.memory.place_of(Address(*address)).unwrap_or_else(|| format!("{address:#x}"));
                let found = machine.memory.load(*address, *bytes).unwrap_or(0);
                (format!("until {place} {} {value}; it holds {found}", compare.sign()), Some(*address))
            }
            StreamTask::Wait(event) => (format!("for event {event}, which is not recorded"), None),
            StreamTask::Launch(_)
            | StreamTask::Copy { .. }
            | StreamTask::Write { .. }
            | StreamTask::WriteValue { .. }
            | StreamTask::Record(_) => return None,
        };
        Some(StreamWaiting { rank: self.rank, stream: self.stream, span: next.span, what, word })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_compare_by_their_distance() {
        assert!(Compare::GreaterOrEqual.holds(0, u64::from(u32::MAX), 4), "a counter that wrapped around");
        assert!(!Compare::GreaterOrEqual.holds(2, 3, 4));
        assert!(Compare::GreaterOrEqual.holds(3, 3, 8));
        assert!(Compare::Equal.holds(7, 7, 4) && !Compare::Equal.holds(8, 7, 4));
    }
}
