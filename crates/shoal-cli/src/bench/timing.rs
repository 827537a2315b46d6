//! Interleaved timing: both sides take turns, so that a machine that slows down slows both.

use std::time::Instant;

use super::peers::Process;
use crate::failure::Failure;

/// How long one turn lasts, in seconds.
const TURN: f64 = 0.15;

/// The shortest time of each side.
pub(crate) struct Best {
    pub(crate) ours: f64,
    /// One for each peer process; the error if it failed.
    pub(crate) peers: Vec<Result<f64, String>>,
}

impl Best {
    /// Nothing measured yet.
    pub(crate) fn none(peers: usize) -> Best {
        Best { ours: f64::INFINITY, peers: vec![Ok(f64::INFINITY); peers] }
    }

    /// Takes what is shorter; a peer that failed once has failed.
    pub(crate) fn merge(&mut self, other: Best) {
        self.ours = self.ours.min(other.ours);
        for (mine, theirs) in self.peers.iter_mut().zip(other.peers) {
            *mine = mine.clone().and_then(|seconds| theirs.map(|other| other.min(seconds)));
        }
    }
}

/// The shortest of the runs that fit into a turn; at least one.
pub(crate) fn best(work: &mut dyn FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let (begin, mut shortest) = (Instant::now(), f64::INFINITY);
    loop {
        let start = Instant::now();
        work()?;
        shortest = shortest.min(start.elapsed().as_secs_f64());
        if begin.elapsed().as_secs_f64() >= TURN {
            return Ok(shortest);
        }
    }
}

/// Takes turns with peers that are prepared.
pub(crate) fn interleaved(
    rounds: usize,
    work: &mut dyn FnMut() -> Result<(), Failure>,
    peers: &mut [Process],
) -> Result<Best, Failure> {
    let mut result = Best::none(peers.len());
    work()?;
    for _ in 0..rounds.max(1) {
        result.ours = result.ours.min(best(work)?);
        for (process, shortest) in peers.iter_mut().zip(&mut result.peers) {
            if let Ok(seconds) = shortest {
                *shortest = process.best(TURN).map(|took| took.min(*seconds));
            }
        }
    }
    Ok(result)
}
