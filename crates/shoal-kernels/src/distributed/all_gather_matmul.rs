//! `c = [x0; x1; …] @ b`: the rows of all ranks times a matrix, while the rows still arrive.
//!
//! A stream copies the others' rows and raises a word for every split that is there; the product begins with this rank's
//! own rows and waits, block by block, for those that it needs.

use shoal::profile::Recorder;
use shoal::world::{Place, Rank, Stream, Symm, Value, WorldError};
use shoal::{Error, args};

use super::all_gather::gathered;
use super::broadcast::barriers;
use super::communicator::{Communicator, Slots, elements, exactly};
use super::data::{Number, normal, poison, wide};
use super::gemm_all_reduce::{GEMM_WARPS, Sizes};
use super::parts::Parts;
use super::profiling::Profiling;
use super::workload::{RankOutput, RankWorkload};
use crate::check::Tolerance;
use crate::library::{Source, cdiv};
use crate::matmul::{Blocks, product_tolerance, reference};
use crate::workload::Work;

/// Copies everybody's elements on a stream, in `splits` pieces of each rank, and says which are there: when piece `s` of
/// rank `r` is in `out`, word `r * splits + s` of `progress` becomes 1. Own elements come last.
#[derive(Debug)]
pub struct GatherWithProgress {
    stream: Stream,
    progress: Symm<u32>,
    /// What words are when nothing is there.
    zeros: Symm<u32>,
    splits: usize,
}

impl GatherWithProgress {
    /// With so many pieces of each rank. Collective over the world.
    ///
    /// # Errors
    /// When there is no piece, the heap has no room, or the ranks do not ask for the same.
    pub fn new(rank: &Rank, splits: usize) -> Result<GatherWithProgress, Error> {
        if splits == 0 {
            return Err(WorldError::Argument("elements are gathered in at least one piece".to_owned()).into());
        }
        let words = elements(&[rank.size(), splits])?;
        let (progress, zeros) = (rank.symm_zeros(words)?, rank.symm_zeros(words)?);
        Ok(GatherWithProgress { stream: rank.stream()?, progress, zeros, splits })
    }

    /// The words that tell what is there; of this rank alone.
    #[must_use]
    pub fn progress(&self) -> &Symm<u32> {
        &self.progress
    }

    /// Begins to copy everybody's `x`, which are `rows` rows; pieces are of whole rows. Collective over the world.
    ///
    /// # Errors
    /// When sizes do not fit, or the world fails.
    pub fn begin<T: Number>(&self, x: &Symm<T>, rows: usize, out: &Symm<T>) -> Result<(), Error> {
        self.begin_recorded(x, rows, out, None)
    }

    /// The same, with copies recorded.
    fn begin_recorded<T: Number>(
        &self,
        x: &Symm<T>,
        rows: usize,
        out: &Symm<T>,
        recorder: Option<&Recorder>,
    ) -> Result<(), Error> {
        // Everybody's elements are there, and nobody reads what the last gathering brought.
        self.progress.rank().barrier()?;
        self.copy_all(x, rows, out, recorder)
    }

    /// Puts the copies into the stream.
    fn copy_all<T: Number>(
        &self,
        x: &Symm<T>,
        rows: usize,
        out: &Symm<T>,
        recorder: Option<&Recorder>,
    ) -> Result<(), Error> {
        let rank = self.progress.rank();
        let (me, world) = (rank.rank(), rank.size());
        exactly("out", out.len(), elements(&[x.len(), world])?)?;
        let cols = x.len().checked_div(rows).unwrap_or(0);
        exactly("x", x.len(), rows * cols)?;
        let pieces = Parts::new(rows, self.splits);
        for step in 0..world {
            let source = (me + 1 + step) % world;
            for split in 0..self.splits {
                let piece = pieces.of(split);
                let (start, end) = (piece.start * cols, piece.end * cols);
                if start < end {
                    let base = source * x.len();
                    let to = Place::symm(out, me, base + start..base + end)?;
                    let from = Place::symm(x, source, start..end)?;
                    let began = recorder.map(|recorder| (recorder, self.stream.note_time()));
                    self.stream.copy(to, from)?;
                    if let Some((recorder, began)) = began {
                        recorder.record_noted(format!("copy from {source}"), began, self.stream.note_time());
                    }
                }
                let word = source * self.splits + split;
                self.stream.write_value(Place::symm(&self.progress, me, word..=word)?, Value::U32(1))?;
            }
        }
        Ok(())
    }

    /// Begins as [`GatherWithProgress::begin`] does, with everything in the order of the rank's launches: no host waits.
    /// Collective over the world.
    ///
    /// # Errors
    /// When sizes do not fit, or the world fails.
    pub fn enqueue<T: Number>(
        &self,
        comm: &Communicator<'_>,
        x: &Symm<T>,
        rows: usize,
        out: &Symm<T>,
    ) -> Result<(), Error> {
        barriers(comm, 1, 1)?;
        self.stream.wait_for_launches()?;
        self.copy_all(x, rows, out, comm.profiling().map(Profiling::stream))
    }

    /// Ends what [`GatherWithProgress::enqueue`] began: the rank's launches from now on find all elements there and the
    /// words lowered.
    ///
    /// # Errors
    /// When the world fails.
    pub fn enqueue_end(&self) -> Result<(), Error> {
        let me = self.progress.rank().rank();
        self.stream.wait_for_launches()?;
        self.stream.copy(Place::symm(&self.progress, me, ..)?, Place::symm(&self.zeros, me, ..)?)?;
        Ok(self.stream.hold_launches()?)
    }

    /// Lets the rank's launches from now on find all elements there.
    ///
    /// # Errors
    /// When the world fails.
    pub fn hold_launches(&self) -> Result<(), Error> {
        Ok(self.stream.hold_launches()?)
    }

    /// Waits until all is copied on all ranks, and lowers the words. Collective over the world; everybody's `x` may be
    /// overwritten when it returns.
    ///
    /// # Errors
    /// When the world fails.
    pub fn end(&self) -> Result<(), Error> {
        self.stream.synchronize()?;
        self.progress.fill(0)?;
        self.progress.rank().barrier()?;
        Ok(())
    }
}

/// Gathers everybody's `x`, by copies of a stream.
///
/// # Errors
/// When sizes do not fit, or the world fails.
pub fn all_gather_with_progress<T: Number>(
    comm: &Communicator<'_>,
    gather: &GatherWithProgress,
    x: &Symm<T>,
    out: &Symm<T>,
) -> Result<(), Error> {
    comm.agree_on::<T>("all_gather_with_progress(n, splits)", &[x.len(), gather.splits])?;
    gather.begin(x, x.len(), out)?;
    gather.end()
}

/// What [`all_gather_matmul`] works on.
#[derive(Debug)]
pub struct Factors<'a, T: Number> {
    /// This rank's rows: `m × k`.
    pub x: &'a Symm<T>,
    /// All ranks' rows, when it is done.
    pub gathered: &'a Symm<T>,
    /// `k × n`.
    pub b: &'a [T],
    /// All rows times `b`.
    pub c: &'a mut [T],
}

/// Gathers everybody's rows and multiplies them by `b`, both at once.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_gather_matmul<T: Number>(
    comm: &Communicator<'_>,
    gather: &GatherWithProgress,
    sizes: Sizes,
    with: Factors<'_, T>,
) -> Result<(), Error> {
    let Sizes { m, n, k } = sizes;
    let Factors { x, gathered, b, c } = with;
    let world = comm.size();
    comm.agree_on::<T>("all_gather_matmul(m, n, k, splits)", &[m, n, k, gather.splits])?;
    sizes.check(x.len(), b.len())?;
    exactly("gathered", gathered.len(), elements(&[world, m, k])?)?;
    exactly("c", c.len(), elements(&[world, m, n])?)?;
    let blocks = Blocks::of(m, n, k);
    gather.begin_recorded(x, m, gathered, comm.profiling().map(Profiling::stream))?;
    let mut recorded = comm.profiling().map(|profiling| profiling.kernel(&["wait", "multiply"]));
    let room = recorded.as_ref().map_or(0, |recorded| recorded.buffer.len());
    let args = args!(
        x,
        gathered,
        b,
        c,
        &gather.progress,
        m,
        n,
        k,
        gather.splits,
        Parts::new(m, gather.splits).part(),
        recorded.as_mut().map(|recorded| recorded.buffer.words_mut()),
        room,
        BLOCK_M = blocks.m,
        BLOCK_N = blocks.n,
        BLOCK_K = blocks.k,
        num_warps = GEMM_WARPS
    );
    let programs = comm.programs(cdiv(m, blocks.m) * cdiv(n, blocks.n) * world);
    comm.launch(Source::GemmRanks, "all_gather_matmul", programs, Slots::Nothing, args)?;
    gather.end()
}

/// When the product begins, in [`enqueue_all_gather_matmul`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At once: blocks wait for the rows that they need.
    AtOnce,
    /// When all rows are there: what overlapping is measured against.
    WhenGathered,
}

/// The same with all matrices in symmetric memory, in the order of the rank's launches: on a GPU it returns at once.
/// Collective over the world; `x` may be overwritten after the next meeting of all ranks.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn enqueue_all_gather_matmul<T: Number>(
    comm: &Communicator<'_>,
    gather: &GatherWithProgress,
    sizes: Sizes,
    [x, gathered, b, c]: [&Symm<T>; 4],
    start: Start,
) -> Result<(), Error> {
    let Sizes { m, n, k } = sizes;
    let world = comm.size();
    let (call, numbers) = ("enqueue_all_gather_matmul(m, n, k, splits)", [m, n, k, gather.splits]);
    comm.agree_on::<T>(call, &numbers)?;
    sizes.check(x.len(), b.len())?;
    exactly("c", c.len(), elements(&[world, m, n])?)?;
    let mut recorded = comm.profiling().map(|profiling| profiling.kernel(&["wait", "multiply"]));
    let room = recorded.as_ref().map_or(0, |recorded| recorded.buffer.len());
    let records: Option<Symm<u64>> = recorded.as_mut().map(|recorded| recorded.resident(comm.rank())).transpose()?;
    let blocks = Blocks::of(m, n, k);
    let (splits, part) = (gather.splits, Parts::new(m, gather.splits).part());
    let args = args!(
        x,
        gathered,
        b,
        c,
        &gather.progress,
        m,
        n,
        k,
        splits,
        part,
        records.as_ref().map_or(shoal::Arg::None, shoal::Arg::from),
        room,
        BLOCK_M = blocks.m,
        BLOCK_N = blocks.n,
        BLOCK_K = blocks.k,
        num_warps = GEMM_WARPS
    );
    comm.load_for::<T>(call, &numbers, &[(Source::GemmRanks, "all_gather_matmul", &args)])?;
    gather.enqueue(comm, x, m, gathered)?;
    if start == Start::WhenGathered {
        gather.hold_launches()?;
    }
    let programs = comm.programs(cdiv(m, blocks.m) * cdiv(n, blocks.n) * world);
    comm.launch(Source::GemmRanks, "all_gather_matmul", programs, Slots::Nothing, args)?;
    gather.enqueue_end()?;
    if let (Some(recorded), Some(records)) = (&mut recorded, records) {
        // What is recorded is read when it is there.
        comm.rank().barrier()?;
        recorded.buffer.words_mut().copy_from_slice(&records.read()?);
    }
    Ok(())
}

/// Multiplies everybody's rows by `b` where they are: `c` has all rows. `gathered` gets them, too, if there is one: the
/// product leaves there what it has read. Everybody's `x` may be overwritten when it returns. For ranks that reach each
/// other's memory by load and store; on CPUs, where copies beside a product take time from it, it is the fastest form.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_gather_matmul_pull<T: Number>(
    comm: &Communicator<'_>,
    sizes: Sizes,
    (x, b): (&Symm<T>, &[T]),
    c: &mut [T],
    gathered: Option<&Symm<T>>,
) -> Result<(), Error> {
    let (Sizes { m, n, k }, world) = (sizes, comm.size());
    comm.agree_on::<T>("all_gather_matmul_pull(m, n, k)", &[m, n, k])?;
    sizes.check(x.len(), b.len())?;
    if let Some(gathered) = gathered {
        exactly("gathered", gathered.len(), elements(&[world, m, k])?)?;
    }
    exactly("c", c.len(), elements(&[world, m, n])?)?;
    let blocks = Blocks::on(comm.library().device(), m, n, k);
    let args = args!(
        x,
        gathered.map_or(shoal::Arg::None, shoal::Arg::from),
        b,
        c,
        m,
        n,
        k,
        BLOCK_M = blocks.m,
        BLOCK_N = blocks.n,
        BLOCK_K = blocks.k,
        num_warps = GEMM_WARPS
    );
    // Everybody's rows are there before, and needed no more afterwards.
    comm.rank().barrier()?;
    let programs = cdiv(m, blocks.m) * cdiv(n, blocks.n) * world;
    comm.launch(Source::GemmRanks, "all_gather_matmul_pull", programs, Slots::Nothing, args)?;
    Ok(comm.rank().barrier()?)
}

/// The same, one after the other: what overlapping is measured against.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_gather_then_matmul<T: Number>(
    comm: &Communicator<'_>,
    gather: &GatherWithProgress,
    sizes: Sizes,
    with: Factors<'_, T>,
) -> Result<(), Error> {
    let Sizes { m, n, k } = sizes;
    let Factors { x, gathered, b, c } = with;
    let rows = comm.size() * m;
    comm.agree_on::<T>("all_gather_then_matmul(m, n, k, splits)", &[m, n, k, gather.splits])?;
    sizes.check(x.len(), b.len())?;
    exactly("gathered", gathered.len(), elements(&[rows, k])?)?;
    exactly("c", c.len(), elements(&[rows, n])?)?;
    gather.begin(x, m, gathered)?;
    gather.end()?;
    let blocks = Blocks::on(comm.library().device(), rows, n, k);
    let args = args!(
        gathered,
        b,
        c,
        rows,
        n,
        k,
        k,
        1,
        n,
        1,
        n,
        1,
        BLOCK_M = blocks.m,
        BLOCK_N = blocks.n,
        BLOCK_K = blocks.k,
        GROUP_M = blocks.group
    );
    // On a GPU, a rank's launches are in its own stream.
    let kernel = comm.library().kernel(Source::Matmul, "matmul")?.on_rank(comm.rank())?;
    kernel.launch(cdiv(rows, blocks.m) * cdiv(n, blocks.n), args)
}

/// Gathers random elements by copies.
#[derive(Debug)]
pub(crate) struct CopiedAllGather<T: Number> {
    x: Vec<T>,
    symm_x: Symm<T>,
    out: Symm<T>,
    gather: GatherWithProgress,
}

/// Pieces of each rank in workloads.
const SPLITS: usize = 2;

impl<T: Number> CopiedAllGather<T> {
    pub(crate) fn new(rank: &Rank, n: usize) -> Result<CopiedAllGather<T>, Error> {
        Ok(CopiedAllGather {
            x: normal(1, rank.rank(), n)?,
            symm_x: rank.symm_zeros(n)?,
            out: rank.symm_zeros(elements(&[n, rank.size()])?)?,
            gather: GatherWithProgress::new(rank, SPLITS)?,
        })
    }
}

impl<T: Number> RankWorkload for CopiedAllGather<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.symm_x.fill(poison()?)?;
        self.out.fill(poison()?)?;
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        Ok(self.symm_x.write(&self.x)?)
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        all_gather_with_progress(comm, &self.gather, &self.symm_x, &self.out)
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let expected = gathered::<T>(self.symm_x.rank(), self.x.len())?;
        Ok(vec![RankOutput { name: "out", found: wide(&self.out.read()?)?, expected, tolerance: Tolerance::EXACT }])
    }

    fn work(&self) -> Work {
        Work::Bytes((self.out.len() * size_of::<T>()) as f64)
    }
}

/// A product of random matrices.
#[derive(Debug)]
pub(crate) struct AllGatherMatmul<T: Number> {
    sizes: Sizes,
    x: Vec<T>,
    symm_x: Symm<T>,
    gathered: Symm<T>,
    b: Vec<T>,
    c: Vec<T>,
    /// `b` and `c` on the rank's GPU, where the overlapped form leaves the host out.
    resident: Option<[Symm<T>; 2]>,
    gather: GatherWithProgress,
    order: Order,
}

/// What a product does first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Both at once.
    Overlapped,
    /// It gathers all rows, then multiplies.
    GatherFirst,
    /// It multiplies rows where they are.
    Pulled,
    /// The same, and it keeps them.
    PulledAndKept,
}

impl<T: Number> AllGatherMatmul<T> {
    pub(crate) fn new(rank: &Rank, order: Order, sizes: Sizes) -> Result<AllGatherMatmul<T>, Error> {
        let count = elements(&[sizes.m, sizes.k])?;
        let (inner, outer) = (elements(&[sizes.k, sizes.n])?, elements(&[rank.size(), sizes.m, sizes.n])?);
        let is_resident = order == Order::Overlapped && rank.gpu().is_some();
        Ok(AllGatherMatmul {
            order,
            sizes,
            x: normal(1, rank.rank(), count)?,
            symm_x: rank.symm_zeros(count)?,
            gathered: rank.symm_zeros(elements(&[count, rank.size()])?)?,
            b: normal(2, rank.rank(), inner)?,
            c: vec![poison()?; outer],
            resident: if is_resident { Some([rank.symm_zeros(inner)?, rank.symm_zeros(outer)?]) } else { None },
            gather: GatherWithProgress::new(rank, SPLITS)?,
        })
    }
}

impl<T: Number> RankWorkload for AllGatherMatmul<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.symm_x.fill(poison()?)?;
        self.gathered.fill(poison()?)?;
        self.c.fill(poison()?);
        if let Some([_, c]) = &self.resident {
            c.fill(poison()?)?;
        }
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        if let Some([b, _]) = &self.resident {
            b.write(&self.b)?;
        }
        Ok(self.symm_x.write(&self.x)?)
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        let AllGatherMatmul { sizes, symm_x: x, gathered, b, c, resident, gather, order, .. } = self;
        if let Some([b, there]) = resident {
            enqueue_all_gather_matmul(comm, gather, *sizes, [x, gathered, b, there], Start::AtOnce)?;
            comm.rank().barrier()?;
            c.copy_from_slice(&there.read()?);
            return Ok(());
        }
        let with = Factors { x, gathered, b, c };
        match order {
            Order::Pulled => all_gather_matmul_pull(comm, *sizes, (with.x, with.b), with.c, None),
            Order::PulledAndKept => all_gather_matmul_pull(comm, *sizes, (with.x, with.b), with.c, Some(with.gathered)),
            Order::Overlapped => all_gather_matmul(comm, gather, *sizes, with),
            Order::GatherFirst => all_gather_then_matmul(comm, gather, *sizes, with),
        }
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let (world, Sizes { m, n, k }) = (self.symm_x.rank().size(), self.sizes);
        let all = gathered::<T>(self.symm_x.rank(), self.x.len())?;
        let product = reference(&all, &wide(&self.b)?, (world * m, n, k));
        let found = wide(&self.c)?;
        let c = RankOutput { name: "c", found, expected: product, tolerance: product_tolerance(T::DTYPE, k) };
        if self.order == Order::Pulled {
            return Ok(vec![c]);
        }
        let found = wide(&self.gathered.read()?)?;
        Ok(vec![RankOutput { name: "gathered", found, expected: all, tolerance: Tolerance::EXACT }, c])
    }

    fn work(&self) -> Work {
        let Sizes { m, n, k } = self.sizes;
        Sizes { m: m * self.symm_x.rank().size(), n, k }.work()
    }
}
