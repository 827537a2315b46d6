//! What is explored: a world as it is at the start, and what the host of each rank does.

use shoal_ir::Scalar;

use crate::check::Checker;
use crate::memory::{Address, Memory};
use crate::rank::{Heap, HostAction};
use crate::stream::StreamAction;

/// Whether the contents of a buffer mean something at the start.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Initial {
    /// The host wrote them before anything else.
    Written,
    /// Nothing has been written there yet.
    Fresh,
}

/// Memory that the world starts with.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Where it is.
    pub address: Address,
    /// What lies there.
    pub contents: Vec<u8>,
    /// What reports call it.
    pub name: String,
    /// Whether that means something.
    pub initial: Initial,
}

/// Memory that must have been written at the end, with numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where it is.
    pub address: Address,
    /// Its size.
    pub bytes: u64,
    /// What it holds; floats must not be NaN.
    pub element: Scalar,
}

/// Memory that must hold these numbers at the end; floats may be off by a thousandth.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Where it is.
    pub address: Address,
    /// What it holds.
    pub element: Scalar,
    /// The numbers.
    pub values: Vec<f64>,
}

impl Expectation {
    /// Whether a number is near enough to what it must be.
    pub(crate) fn is_met(&self, found: f64, expected: f64) -> bool {
        let off = if self.element.is_float() { 1e-3 * expected.abs().max(1.0) } else { 0.0 };
        found == expected || (found - expected).abs() <= off
    }
}

/// A world at its start, and all that happens there.
#[derive(Clone, Debug, Default)]
pub struct Scenario<'a> {
    /// The symmetric heaps, that of rank 0 first. Buffers lie inside and outside of them.
    pub heaps: Vec<Heap>,
    /// All memory.
    pub buffers: Vec<Buffer>,
    /// What the host of each rank does.
    pub hosts: Vec<Vec<HostAction<'a>>>,
    /// What must be written at the end.
    pub outputs: Vec<Output>,
    /// What it must hold.
    pub expected: Vec<Expectation>,
}

impl Scenario<'_> {
    /// The memory, as it is at the start.
    pub(crate) fn memory(&self) -> Memory {
        let mut memory = Memory::new();
        for buffer in &self.buffers {
            memory.alloc_at(buffer.address, &buffer.contents);
            memory.name(buffer.address, buffer.name.clone());
        }
        memory
    }

    /// The least room that a launch has for its programs, if any is limited.
    pub(crate) fn least_room(&self) -> Option<usize> {
        let room = |action: &HostAction<'_>| match action {
            HostAction::Launch(launch) | HostAction::On(_, StreamAction::Launch(launch)) => launch.room,
            HostAction::On(..)
            | HostAction::Synchronize(_)
            | HostAction::Barrier
            | HostAction::Write { .. }
            | HostAction::Read { .. } => None,
        };
        self.hosts.iter().flatten().filter_map(room).min()
    }

    /// Who follows its accesses.
    pub(crate) fn checker(&self) -> Checker {
        let mut checker = Checker::new(self.hosts.len() as u32);
        for buffer in self.buffers.iter().filter(|buffer| buffer.initial == Initial::Fresh) {
            checker.mark_fresh(buffer.address.0, buffer.contents.len() as u64);
        }
        checker
    }
}
