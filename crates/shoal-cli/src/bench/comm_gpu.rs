//! `shoal bench comm --device cuda`: collectives of ranks that share a GPU. Calls are recorded in a graph, many one after
//! the other, and the GPU's own events time its launches; the median counts.

use shoal::cuda::{CudaBuffer, CudaDevice, Event, EventKind, StreamRef};
use shoal::half::bf16;
use shoal::world::{Rank, Symm, World, WorldOptions};
use shoal::{Device, Error, RankGraph};
use shoal_kernels::Library;
use shoal_kernels::distributed::Communicator;
use shoal_kernels::distributed::all_gather::enqueue_all_gather_pull;
use shoal_kernels::distributed::all_reduce::{enqueue_one_shot_all_reduce, two_shot_all_reduce_in_place};
use shoal_kernels::distributed::broadcast::barriers;

use super::comm_overlap;
use super::row::{Row, Unit};
use crate::command_line::BenchOptions;
use crate::failure::Failure;

/// Calls of each rank in a graph, unless they take long.
const CALLS: usize = 20;
/// Launches of the graph that are timed together, and how often: a host that is busy for a while holds up a few of them.
const LAUNCHES: usize = 5;
const ROUNDS: usize = 51;
/// Meetings of one launch of the barrier.
const MEETINGS: usize = 1000;
/// Bytes of the collectives.
const SIZES: [usize; 3] = [64 << 10, 1 << 20, 16 << 20];

/// Microseconds that Kraken's kernels (Triton 3.6, one process, a stream per rank, CUDA graph, bf16) took on an H200.
const KRAKEN: [(usize, [f64; 3], [f64; 3]); 2] = [
    // Ranks; one-shot; two-shot; each for the sizes above.
    (4, [4.5, 6.0, 45.8], [7.0, 9.6, 116.0]),
    (8, [5.8, 12.1, 127.0], [9.0, 14.2, 215.0]),
];

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Barrier,
    OneShot,
    TwoShot,
    AllGather,
}

/// A rank with its memory.
struct Member<'a> {
    comm: Communicator<'a>,
    x: Symm<bf16>,
    out: Symm<bf16>,
}

impl Member<'_> {
    fn call(&self, what: What) -> Result<(), Error> {
        match what {
            What::Barrier => barriers(&self.comm, 1, MEETINGS),
            What::OneShot => enqueue_one_shot_all_reduce(&self.comm, &self.x, &self.out),
            What::TwoShot => two_shot_all_reduce_in_place(&self.comm, &self.x),
            What::AllGather => enqueue_all_gather_pull(&self.comm, &self.x, &self.out),
        }
    }
}

pub(super) fn rows(options: &BenchOptions) -> Result<Vec<Row>, Failure> {
    let library = Library::on(Device::cuda(0)?);
    let copy = copy_seconds()?;
    let mut rows = Vec::new();
    for &ranks in &options.ranks {
        let settings = WorldOptions { heap_bytes: 64 << 20, ..WorldOptions::from_env()? };
        let world = World::cuda_with(ranks, 0, &settings)?;
        let kraken = KRAKEN.iter().find(|(of, ..)| *of == ranks);
        let mut add = |name: &str, label: String, seconds: f64, peer: &str, theirs: Option<f64>| {
            let row = match theirs {
                Some(theirs) => Row::times(name, &label, Unit::Microseconds, seconds, peer, theirs),
                None => Row::alone(name, &label, Unit::Microseconds, seconds),
            };
            eprintln!("{name} {label}: {:.2} µs (ratio {:.2})", 1e6 * seconds, row.ratio);
            rows.push(row);
        };
        let seconds = measured(&world, &library, What::Barrier, 4096)? / MEETINGS as f64;
        add("barrier", format!("{ranks} ranks"), seconds, "the target, 1.5 µs", Some(1.5e-6));
        for (at, bytes) in SIZES.into_iter().enumerate() {
            for (what, name) in [(What::OneShot, "one_shot_all_reduce"), (What::TwoShot, "two_shot_all_reduce")] {
                let theirs = kraken.map(|(_, one, two)| 1e-6 * if what == What::OneShot { one[at] } else { two[at] });
                let seconds = measured(&world, &library, what, bytes)?;
                add(name, format!("{} KiB bf16, {ranks} ranks", bytes >> 10), seconds, "Kraken", theirs);
            }
        }
        // Every rank ends with all of it.
        let bytes = SIZES[2];
        let seconds = measured(&world, &library, What::AllGather, bytes)?;
        let copied = copy * (bytes * ranks) as f64;
        add(
            "all_gather",
            format!("{} KiB bf16, {ranks} ranks", bytes >> 10),
            seconds,
            "a copy of as much",
            Some(copied),
        );
        drop(world);
        rows.extend(comm_overlap::rows(ranks)?);
    }
    Ok(rows)
}

/// Seconds of one call.
fn measured(world: &World, library: &Library, what: What, bytes: usize) -> Result<f64, Failure> {
    let n = bytes / size_of::<bf16>();
    let members = world.run(|rank| {
        let comm = Communicator::new(library, rank)?;
        let mine = if what == What::AllGather { n / rank.size() } else { n };
        let member = Member { comm, x: rank.symm_zeros(mine)?, out: rank.symm_zeros(n)? };
        member.x.write(&pattern(rank, mine))?;
        rank.barrier()?;
        for _ in 0..3 {
            member.call(what)?;
        }
        rank.barrier()?;
        // Sums of sums would overflow before long.
        member.x.fill(bf16::ZERO)?;
        rank.barrier()?;
        Ok::<_, Failure>(member)
    })?;
    // With a launch waiting behind it, a fence at system scope takes three times as long: meetings are timed without one.
    let (calls, launches) = if what == What::Barrier { (1, 1) } else { (CALLS, LAUNCHES) };
    let graph = RankGraph::record(world, |rank: &Rank| {
        for _ in 0..calls {
            members[rank.rank()].call(what)?;
        }
        Ok(())
    })?;
    graph.launch()?;
    graph.synchronize()?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        times.push(graph.time(launches)?.as_secs_f64() / (launches * calls) as f64);
    }
    drop(graph);
    for member in &members {
        if let Some(gpu) = member.x.rank().gpu() {
            gpu.settle()?;
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// Elements that are not all the same.
fn pattern(rank: &Rank, n: usize) -> Vec<bf16> {
    (0..n).map(|at| bf16::from_f32(((at * 31 + rank.rank() * 7) % 61) as f32 / 64.0)).collect()
}

/// Seconds that the GPU takes to copy a byte, when it copies many.
fn copy_seconds() -> Result<f64, Failure> {
    let bytes: usize = 128 << 20;
    let device = CudaDevice::new(0).map_err(Error::from)?;
    let stream = StreamRef::default_of(device);
    let measure = || {
        let from = CudaBuffer::<u8>::poisoned(stream, bytes)?;
        let to = CudaBuffer::<u8>::poisoned(stream, bytes)?;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let [begin, end] = [Event::new(device, EventKind::Timing)?, Event::new(device, EventKind::Timing)?];
            begin.record(stream)?;
            for _ in 0..LAUNCHES {
                to.copy_from_buffer(stream, &from)?;
            }
            end.record(stream)?;
            end.synchronize()?;
            times.push(end.since(&begin)?.as_secs_f64() / (LAUNCHES * bytes) as f64);
        }
        times.sort_by(f64::total_cmp);
        Ok::<f64, shoal::cuda::CudaError>(times[ROUNDS / 2])
    };
    Ok(measure().map_err(Error::from)?)
}
