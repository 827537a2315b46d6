//! Waits of kernels in vain: the world ends, and every rank tells what it was waiting for.
//!
//! The rank that gives up first tells the others by ending the world, which ends their waits, in kernels and elsewhere.
//! Each leaves what it was waiting for where all can read it; the first one collects that, and does not wait for long for
//! ranks that say nothing: they compute, or hang.

use std::time::{Duration, Instant};

use crate::engine::Awaited;
use crate::error::{Failure, WorldError};
use crate::rank::Rank;

/// How long the others have to say what they wait for. Launchers give ranks a second after the first has failed.
const COLLECTING: Duration = Duration::from_millis(600);
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

impl Rank {
    /// Ends the world because programs of this rank wait in vain; `waits` says what for. Returns what every rank waits
    /// for, that of rank 0 first.
    ///
    /// # Errors
    ///
    /// The error of this rank alone, if the world had ended already.
    pub fn give_up(&self, waits: &str) -> Result<Vec<String>, WorldError> {
        // Before the world ends, so that whoever sees its end finds this.
        self.access().post_wait(waits);
        let why = waits.lines().next().unwrap_or_default();
        let failure = Failure { rank: self.rank(), reason: format!("{} gave up: {why}", self.name()) };
        let ended = self.end_world(failure.clone());
        if ended != failure {
            return Err(self.ended_in_kernel(waits, ended));
        }
        let until = Instant::now() + COLLECTING;
        let is_silent = |rank: usize| self.access().wait_of(rank).is_none() && !self.access().has_left(rank);
        while (0..self.size()).any(is_silent) && Instant::now() < until {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Ok((0..self.size()).map(|rank| self.told_by(rank)).collect())
    }

    /// The error of this rank whose programs waited when something else ended the world; `None` if nothing has.
    #[must_use]
    pub fn waited_at_the_end(&self, waits: &str) -> Option<WorldError> {
        let failure = self.failure()?;
        self.access().post_wait(waits);
        Some(self.ended_in_kernel(waits, failure))
    }

    fn ended_in_kernel(&self, waits: &str, failure: Failure) -> WorldError {
        let waits = waits.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        WorldError::Failed { rank: self.rank(), awaited: Some(Awaited::Kernel { waits }), failure }
    }

    /// The world has ended while this rank waited.
    pub(crate) fn ended_while(&self, awaited: Awaited, failure: Failure) -> WorldError {
        self.access().post_wait(&awaited.to_string());
        WorldError::Failed { rank: self.rank(), awaited: Some(awaited), failure }
    }

    fn told_by(&self, rank: usize) -> String {
        match self.access().wait_of(rank) {
            Some(wait) => format!("rank {rank}: {wait}"),
            None if self.access().has_left(rank) => format!("rank {rank}: it has left the world"),
            None => format!("rank {rank}: it has not said what it waits for; it computes, or does not answer"),
        }
    }
}
