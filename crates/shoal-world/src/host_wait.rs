//! Waits of hosts and streams, as the [group](LaunchGroup) of a world of threads knows them.
//!
//! A wait that lasts is entered in the table of the group, beside those of kernels. Whoever waits looks again and again, and
//! hears whether nobody is left who could bring what it waits for.

use std::sync::Arc;
use std::time::Instant;

use shoal_driver::{LONG_WAIT, LaunchGroup, LongWait, Verdict, WaitKind};

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

    /// The look was in vain. Gives the verdict if all will be.
    pub(crate) fn in_vain(&self) -> Option<Arc<Verdict>> {
        let (entry, moves) = self.entry.as_ref()?;
        entry.in_vain(*moves)
    }
}
