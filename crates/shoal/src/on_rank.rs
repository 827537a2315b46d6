//! Launching as a rank of a world.

use std::sync::Arc;

use shoal_driver::cpu::LaunchOptions;
use shoal_driver::{Interrupt, LaunchError, RankView};
use shoal_world::{EngineKind, Rank};

use crate::{Device, Error};

/// The rank that launches.
pub(crate) struct OnRank {
    rank: Rank,
}

impl OnRank {
    pub(crate) fn new(rank: &Rank) -> Result<OnRank, Error> {
        let on_rank = OnRank { rank: rank.clone() };
        on_rank.view()?;
        Ok(on_rank)
    }

    /// The others, the teams and the mesh, as the rank sees them now.
    fn view(&self) -> Result<Arc<RankView>, Error> {
        let rank = &self.rank;
        rank.launch_view(|| {
            let base = |peer| rank.base(peer).map(|base| base.as_ptr().expose_provenance());
            let view = match rank.transport() {
                None => {
                    let heaps = (0..rank.size()).map(base).collect::<Result<Vec<_>, _>>()?;
                    RankView::new(rank.rank(), heaps, rank.segment_bytes())
                }
                Some(transport) => {
                    let heaps = (0..rank.size()).map(|peer| base(peer).ok()).collect();
                    RankView::with_transport(rank.rank(), heaps, rank.segment_bytes(), transport)
                }
            };
            Ok(view.with_topology(rank.topology()).with_sync_words(rank.sync_words()))
        })
    }

    /// Launches with these options and what a launch of a rank needs besides.
    pub(crate) fn launch(
        &self,
        device: &Device,
        options: LaunchOptions,
        launch: impl FnOnce(&LaunchOptions) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if matches!(device, Device::Interpreter) && self.rank.engine() != EngineKind::Threads {
            let engine = self.rank.engine();
            let text = format!(
                "the interpreter takes part in worlds of threads, and this one is of {engine}; launch this kernel on the CPU"
            );
            return Err(Error::Interpreter(text));
        }
        if matches!(device, Device::Cuda(_)) {
            let text = "ranks cannot launch on a GPU yet; launch this kernel on the CPU";
            return Err(Error::Text(text.into()));
        }
        self.rank.check()?;
        let result = launch(&LaunchOptions {
            member: self.rank.launch_member(),
            ranks: Some(self.view()?),
            interrupt: Some(self.interrupt(options.interrupt.clone())),
            timeout: options.timeout.or_else(|| self.bound()),
            ..options
        });
        match result {
            Err(Error::Launch(stuck @ LaunchError::Stuck { .. })) => Err(self.deadlock(stuck)),
            // A peer that failed ends the launch; what it failed of is the better answer.
            Err(Error::Launch(interrupted @ LaunchError::Interrupted { .. })) => {
                self.rank.check()?;
                Err(interrupted.into())
            }
            result => result,
        }
    }

    /// How long the launch may wait without moving. Where all ranks are in this process, waits in vain are noticed by
    /// the group; elsewhere, a wait is as long as any other for a peer.
    fn bound(&self) -> Option<std::time::Duration> {
        match self.rank.engine() {
            EngineKind::Threads => None,
            _ => Some(self.rank.options().timeout),
        }
    }

    /// Whoever launched may stop the launch, and so does a world that has failed.
    fn interrupt(&self, host: Option<Interrupt>) -> Interrupt {
        let rank = self.rank.clone();
        Interrupt::new(move || rank.check().is_err() || host.as_ref().is_some_and(Interrupt::is_requested))
    }

    /// What all ranks wait for, if they all do; what this one waits for, if another does not answer.
    fn deadlock(&self, stuck: LaunchError) -> Error {
        match self.rank.world().all_gather(stuck.to_string().as_bytes()) {
            Ok(reports) => {
                let report =
                    |(rank, text): (usize, &Vec<u8>)| format!("rank {rank}: {}", String::from_utf8_lossy(text));
                Error::Deadlock { waits: reports.iter().enumerate().map(report).collect() }
            }
            Err(_) => stuck.into(),
        }
    }
}
