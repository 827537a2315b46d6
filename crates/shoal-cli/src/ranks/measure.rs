//! How long a kernel of several ranks takes, in the long run.

use std::time::Instant;

use shoal::world::{Rank, WorldError};
use shoal_kernels::distributed::{Communicator, RankWorkload};

use crate::failure::Failure;

/// Batches that are timed; the shortest counts.
const BATCHES: usize = 5;
/// How long a batch should take.
const BATCH_SECONDS: f64 = 0.03;

/// Seconds of one run, as rank 0 sees it; all ranks get that number.
pub(crate) fn seconds(rank: &Rank, comm: &Communicator<'_>, workload: &mut dyn RankWorkload) -> Result<f64, Failure> {
    workload.reset()?;
    workload.run(comm)?;
    let mut batch = |count: usize| -> Result<f64, Failure> {
        rank.barrier()?;
        let start = Instant::now();
        for _ in 0..count {
            workload.run(comm)?;
        }
        Ok(start.elapsed().as_secs_f64() / count as f64)
    };
    let once = batch(4)?;
    let count = of_first(rank, (BATCH_SECONDS / once).clamp(1.0, 10_000.0))? as usize;
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        best = best.min(batch(count)?);
    }
    Ok(of_first(rank, best)?)
}

/// What rank 0 says.
fn of_first(rank: &Rank, number: f64) -> Result<f64, WorldError> {
    let all = rank.world().all_gather(&number.to_le_bytes())?;
    Ok(<[u8; 8]>::try_from(all[0].as_slice()).map_or(number, f64::from_le_bytes))
}
