//! What is explored: a world as it is at the start, and what the host of each rank does.

use std::collections::HashMap;

use shoal_ir::Scalar;
use shoal_ir::abi::Topology;

use crate::check::Checker;
use crate::memory::{Address, Memory};
use crate::rank::{Heap, HostAction, RankLaunch};
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
    /// The teams and the mesh of each rank, rank 0 first. Empty: all are on one host, and there is no mesh.
    pub topologies: Vec<Topology>,
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
        self.hosts.iter().flat_map(|host| launches(host)).filter_map(|(_, launch)| launch.room).min()
    }

    /// Whether programs of some launch have to wait until they can start, so that it matters which come first; `resident`
    /// is what limits all launches.
    pub(crate) fn is_crowded(&self, resident: Option<usize>) -> bool {
        let room = |launch: &RankLaunch<'_>| launch.room.into_iter().chain(resident).min();
        self.hosts.iter().any(|host| {
            // Launches of one stream follow each other, those of several share what room there is.
            let mut largest: HashMap<u32, usize> = HashMap::new();
            for (stream, launch) in launches(host) {
                let programs: usize = launch.grid.iter().map(|&n| n as usize).product();
                let of_stream = largest.entry(stream).or_default();
                *of_stream = programs.max(*of_stream);
            }
            let most: usize = largest.into_values().sum();
            launches(host).any(|(_, launch)| room(launch).is_some_and(|room| room < most))
        })
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

/// The launches of a host, with their streams.
fn launches<'h, 'a>(host: &'h [HostAction<'a>]) -> impl Iterator<Item = (u32, &'h RankLaunch<'a>)> {
    host.iter().filter_map(|action| match action {
        HostAction::Launch(launch) => Some((0, launch)),
        HostAction::On(stream, StreamAction::Launch(launch), _) => Some((*stream, launch)),
        HostAction::On(..)
        | HostAction::Synchronize(_)
        | HostAction::Barrier
        | HostAction::Write { .. }
        | HostAction::Read { .. } => None,
    })
}
