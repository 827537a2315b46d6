//! Products of ranks that share a GPU, with the communication beside them and without.

use std::time::Instant;

use shoal::half::bf16;
use shoal::world::{Rank, Symm, World, WorldOptions};
use shoal::{Device, Error};
use shoal_kernels::Library;
use shoal_kernels::distributed::Communicator;
use shoal_kernels::distributed::all_gather_matmul::{Start, enqueue_all_gather_matmul};
use shoal_kernels::distributed::copied_reduce_scatter::{Carried, CopiedReduceScatter};
use shoal_kernels::distributed::gather_with_progress::GatherWithProgress;
use shoal_kernels::distributed::gemm_all_reduce::Sizes;

use super::row::{Row, Unit};
use crate::failure::Failure;

/// Products that are timed together, and how often.
const CALLS: usize = 10;
const ROUNDS: usize = 5;
/// Pieces of each rank's rows.
const SPLITS: usize = 2;
/// Rows of each rank, columns and inner size of the product of gathered rows.
const GATHERED: Sizes = Sizes { m: 1024, n: 512, k: 8192 };
/// Rows, columns and inner size of each rank's product whose sum is scattered.
const SCATTERED: Sizes = Sizes { m: 4096, n: 4096, k: 512 };

pub(super) fn rows(ranks: usize) -> Result<Vec<Row>, Failure> {
    let library = Library::on(Device::cuda(0)?);
    let settings = WorldOptions { heap_bytes: 512 << 20, ..WorldOptions::from_env()? };
    let world = World::cuda_with(ranks, 0, &settings)?;
    let mut rows = Vec::new();
    let Sizes { m, n, k } = GATHERED;
    let ways = [Start::AtOnce, Start::WhenGathered];
    let [beside, after] = ways.map(|start| world.run(|rank| all_gather_matmul(&library, rank, start)));
    rows.push(row("all_gather_matmul", &format!("{m} × {n} × {k} bf16, {ranks} ranks"), &beside?, &after?));
    let Sizes { m, n, k } = SCATTERED;
    let ways = [Carried::Beside, Carried::Afterwards];
    let [beside, after] = ways.map(|carried| world.run(|rank| gemm_reduce_scatter(&library, rank, carried)));
    rows.push(row("gemm_reduce_scatter", &format!("{m} × {n} × {k} bf16, {ranks} ranks"), &beside?, &after?));
    Ok(rows)
}

fn row(name: &str, label: &str, beside: &[f64], after: &[f64]) -> Row {
    let row = Row::times(name, label, Unit::Microseconds, beside[0], "one after the other", after[0]);
    eprintln!("{name} {label}: {:.1} µs (ratio {:.2})", 1e6 * beside[0], row.ratio);
    row
}

fn all_gather_matmul(library: &Library, rank: &Rank, start: Start) -> Result<f64, Failure> {
    let Sizes { m, n, k } = GATHERED;
    let comm = Communicator::new(library, rank)?;
    let gather = GatherWithProgress::new(rank, SPLITS)?;
    let (x, gathered) = (filled(rank, m * k)?, rank.symm_zeros(rank.size() * m * k)?);
    let (b, c) = (filled(rank, k * n)?, rank.symm_zeros(rank.size() * m * n)?);
    seconds(rank, || enqueue_all_gather_matmul(&comm, &gather, GATHERED, [&x, &gathered, &b, &c], start))
}

fn gemm_reduce_scatter(library: &Library, rank: &Rank, carried: Carried) -> Result<f64, Failure> {
    let Sizes { m, n, k } = SCATTERED;
    let comm = Communicator::new(library, rank)?;
    let mut copied = CopiedReduceScatter::new(rank, SCATTERED)?;
    let (a, b) = (filled(rank, m * k)?, filled(rank, k * n)?);
    let out = rank.symm_zeros(m.div_ceil(rank.size()) * n)?;
    seconds(rank, || copied.enqueue(&comm, [&a, &b, &out], carried))
}

/// Seconds of one product, put into streams many at a time; the median counts.
fn seconds(rank: &Rank, mut enqueue: impl FnMut() -> Result<(), Error>) -> Result<f64, Failure> {
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        rank.barrier()?;
        let start = Instant::now();
        for _ in 0..CALLS {
            enqueue()?;
        }
        rank.barrier()?;
        if round > 0 {
            times.push(start.elapsed().as_secs_f64() / CALLS as f64);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// Elements that are not all the same, and small enough for sums.
fn filled(rank: &Rank, n: usize) -> Result<Symm<bf16>, Failure> {
    let x = rank.symm_zeros(n)?;
    let number = |at: usize| bf16::from_f32(((at * 31 + rank.rank() * 7) % 61) as f32 / 64.0 - 0.5);
    let elements: Vec<bf16> = (0..n).map(number).collect();
    x.write(&elements)?;
    Ok(x)
}
