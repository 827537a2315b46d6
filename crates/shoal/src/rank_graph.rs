//! Work of all ranks of a GPU, recorded once and launched many times as one graph.

#![expect(unsafe_code, reason = "the driver launches what was recorded, and trusts its memory")]

use std::marker::PhantomData;
use std::time::Duration;

use shoal_driver::cuda::{CudaError, Event, EventKind, Graph, Stream};
use shoal_world::{Rank, World};

use crate::Error;

/// What all ranks of a world that share a GPU put into their streams, as one graph: the ranks' parts run beside each
/// other.
#[derive(Debug)]
pub struct RankGraph<'a> {
    graph: Graph,
    stream: Stream,
    world: PhantomData<&'a World>,
}

impl<'a> RankGraph<'a> {
    /// Records what `work` launches for each rank, without doing it. All of it was launched once before by all ranks, so
    /// that it is compiled and loaded, and works on the GPU's memory alone.
    ///
    /// # Errors
    /// When the world is not that of a GPU, `work` fails, or something cannot be recorded.
    pub fn record<F>(world: &'a World, mut work: F) -> Result<RankGraph<'a>, Error>
    where
        F: FnMut(&Rank) -> Result<(), Error> + 'a,
    {
        let ranks = world.local_ranks();
        let Some(gpu) = ranks[0].gpu() else {
            return Err(Error::Text("a graph of all ranks is recorded in a world of a GPU".to_owned()));
        };
        let device = gpu.device();
        let stream = Stream::independent(device)?;
        let begin = Event::new(device, EventKind::Ordering)?;
        let mut ends = Vec::new();
        for _ in ranks {
            ends.push(Event::new(device, EventKind::Ordering)?);
        }
        let graph = Graph::record(*stream, || {
            begin.record(*stream)?;
            for (rank, end) in ranks.iter().zip(&ends) {
                let of_rank = rank.gpu().map_or(*stream, |gpu| gpu.stream());
                begin.hold_back(of_rank)?;
                work(rank)?;
                end.record(of_rank)?;
                end.hold_back(*stream)?;
            }
            Ok::<(), Error>(())
        })?;
        Ok(RankGraph { graph, stream, world: PhantomData })
    }

    /// Launches it, and returns at once.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn launch(&self) -> Result<(), Error> {
        // SAFETY: the world outlives the graph, and with it all symmetric memory; other memory that `work` borrowed
        // outlives it as well, as `work` does.
        Ok(unsafe { self.graph.launch(*self.stream) }?)
    }

    /// Waits until all launches are done.
    ///
    /// # Errors
    /// When something failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        Ok(self.stream.synchronize()?)
    }

    /// The time that so many launches take, one after the other, as the GPU measures it.
    ///
    /// # Errors
    /// When something failed.
    pub fn time(&self, launches: usize) -> Result<Duration, Error> {
        let device = self.stream.device();
        let measure = || {
            let [begin, end] = [Event::new(device, EventKind::Timing)?, Event::new(device, EventKind::Timing)?];
            begin.record(*self.stream)?;
            for _ in 0..launches {
                // SAFETY: as in `launch`.
                unsafe { self.graph.launch(*self.stream) }?;
            }
            end.record(*self.stream)?;
            end.synchronize()?;
            end.since(&begin)
        };
        let taken: Result<Duration, CudaError> = measure();
        Ok(taken?)
    }
}
