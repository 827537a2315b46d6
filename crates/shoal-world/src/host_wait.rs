//! Waits of hosts and streams. Each is bounded; when one is given up, every rank tells what it waits for.
//!
//! In a world of threads, a wait that lasts is entered in the table of the [group](LaunchGroup), beside those of kernels.
//! Whoever waits looks again and again, and hears whether nobody is left who could bring what it waits for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shoal_driver::{LONG_WAIT, LaunchGroup, LongWait, Verdict, WaitKind};

use crate::engine::Awaited;
use crate::error::{Failure, WorldError, spell};
use crate::giving_up;
use crate::rank::Rank;
use crate::wait_report::Told;

impl Rank {
    /// Looks again and again until something is found, with a rest after each look that was in vain. Gives up after
    /// `patience`, which ends the world, or when that has ended.
    pub(crate) fn wait_until<T>(
        &self,
        patience: Duration,
        awaited: impl Fn() -> Awaited,
        mut look: impl FnMut() -> Option<T>,
        mut rest: impl FnMut(),
    ) -> Result<T, WorldError> {
        let deadline = Instant::now() + patience;
        let mut wait = HostWait::begin(self.group(), self.rank());
        loop {
            wait.looks();
            // In this order: what is waited for may be the last thing that was done before the world ended.
            let trouble = self.failure().or_else(|| {
                (Instant::now() >= deadline).then(|| {
                    let reason = format!("{} waited {} {}", self.name(), spell(patience), awaited().object());
                    giving_up::held_up(self.access(), &reason).unwrap_or(Failure { rank: self.rank(), reason })
                })
            });
            if let Some(found) = look() {
                return Ok(found);
            }
            if let Some(failure) = trouble {
                let error = WorldError::failed(self.rank(), Some(awaited()), failure);
                return Err(self.give_up_on(error));
            }
            if let Some(verdict) = wait.in_vain() {
                return Err(giving_up::deadlocked(self.access(), &verdict, &Told::from(&awaited())));
            }
            rest();
        }
    }
}

/// A wait of this thread, for a rank. Where ranks are processes, it knows nothing of the others.
#[derive(Debug)]
pub(crate) struct HostWait<'a> {
    group: Option<&'a LaunchGroup>,
    rank: usize,
    since: Instant,
    /// Its place in the table, and the moves of the group before the last look.
    entry: Option<(LongWait, u64)>,
}

impl<'a> HostWait<'a> {
    pub(crate) fn begin(group: Option<&'a LaunchGroup>, rank: usize) -> HostWait<'a> {
        HostWait { group, rank, since: Instant::now(), entry: None }
    }

    /// A look at what is waited for follows.
    pub(crate) fn looks(&mut self) {
        if let Some((entry, moves)) = &mut self.entry {
            *moves = entry.moves();
        } else if let Some(group) = self.group.filter(|_| self.since.elapsed() >= LONG_WAIT) {
            let entry = group.waits(self.rank, WaitKind::Host);
            let moves = entry.moves();
            self.entry = Some((entry, moves));
        }
    }

    /// The wait ends without what was waited for: until its next one, the rank is not one that runs.
    pub(crate) fn is_too_long(&self) {
        if let Some((entry, _)) = &self.entry {
            entry.is_too_long();
        }
    }

    /// The look was in vain. Gives the verdict if all will be.
    pub(crate) fn in_vain(&self) -> Option<Arc<Verdict>> {
        let (entry, moves) = self.entry.as_ref()?;
        entry.in_vain(*moves)
    }
}
