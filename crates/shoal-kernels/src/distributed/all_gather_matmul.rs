//! `c = [x0; x1; …] @ b`: the rows of all ranks times a matrix, while the rows still arrive.
//!
//! A stream copies the others' rows and raises a word for every split that is there; the product begins with this rank's
//! own rows and waits, block by block, for those that it needs.

use shoal::world::{Rank, Symm};
use shoal::{Arg, Args, Error, args};

use super::all_gather::gathered;
use super::communicator::{Communicator, Slots, elements, exactly};
use super::data::{Number, normal, poison, wide};
use super::gather_with_progress::{GatherWithProgress, SPLITS};
use super::gemm_all_reduce::{GEMM_WARPS, Sizes};
use super::parts::Parts;
use super::profiling::Profiling;
use super::workload::{RankOutput, RankWorkload};
use crate::check::Tolerance;
use crate::library::{Source, cdiv};
use crate::matmul::{Blocks, product_tolerance, reference};
use crate::workload::Work;

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
    comm.agree_on::<T>("all_gather_matmul(m, n, k, splits)", &[m, n, k, gather.splits()])?;
    sizes.check(x.len(), b.len())?;
    exactly("gathered", gathered.len(), elements(&[world, m, k])?)?;
    exactly("c", c.len(), elements(&[world, m, n])?)?;
    gather.begin_recorded(x, m, gathered, comm.profiling().map(Profiling::stream))?;
    let mut recorded = comm.profiling().map(|profiling| profiling.kernel(&RECORDED));
    let room = recorded.as_ref().map_or(0, |recorded| recorded.buffer.len());
    let records = recorded.as_mut().map(|recorded| recorded.buffer.words_mut());
    let args = product(gather, sizes, [x, gathered], [b.into(), c.into(), records.into()], room);
    comm.launch(Source::GemmRanks, "all_gather_matmul", programs(comm, sizes), Slots::Nothing, args)?;
    gather.end()
}

/// What programs of the product record.
const RECORDED: [&str; 2] = ["wait", "multiply"];

/// What the product that waits for rows is launched with; `others` are `b`, `c`, and `room` words for what is recorded.
fn product<'a, T: Number>(
    gather: &'a GatherWithProgress,
    Sizes { m, n, k }: Sizes,
    [x, gathered]: [&'a Symm<T>; 2],
    others: [Arg<'a>; 3],
    room: usize,
) -> Args<'a> {
    let blocks = Blocks::of(m, n, k);
    let [b, c, records] = others;
    args!(
        x,
        gathered,
        b,
        c,
        gather.progress(),
        m,
        n,
        k,
        gather.splits(),
        Parts::new(m, gather.splits()).part(),
        records,
        room,
        BLOCK_M = blocks.m,
        BLOCK_N = blocks.n,
        BLOCK_K = blocks.k,
        num_warps = GEMM_WARPS
    )
}

/// Programs of that launch.
fn programs(comm: &Communicator<'_>, Sizes { m, n, k }: Sizes) -> usize {
    let blocks = Blocks::of(m, n, k);
    comm.programs(cdiv(m, blocks.m) * cdiv(n, blocks.n) * comm.size())
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
    let (call, numbers) = ("enqueue_all_gather_matmul(m, n, k, splits)", [m, n, k, gather.splits()]);
    comm.agree_on::<T>(call, &numbers)?;
    sizes.check(x.len(), b.len())?;
    exactly("c", c.len(), elements(&[world, m, n])?)?;
    let mut recorded = comm.profiling().map(|profiling| profiling.kernel(&RECORDED));
    let room = recorded.as_ref().map_or(0, |recorded| recorded.buffer.len());
    let records: Option<Symm<u64>> = recorded.as_mut().map(|recorded| recorded.resident(comm.rank())).transpose()?;
    let args = product(gather, sizes, [x, gathered], [b.into(), c.into(), records.as_ref().into()], room);
    comm.load_for::<T>(call, &numbers, &[(Source::GemmRanks, "all_gather_matmul", &args)])?;
    gather.enqueue(comm, x, m, gathered)?;
    if start == Start::WhenGathered {
        gather.hold_launches()?;
    }
    comm.launch(Source::GemmRanks, "all_gather_matmul", programs(comm, sizes), Slots::Nothing, args)?;
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
    comm.agree_on::<T>("all_gather_then_matmul(m, n, k, splits)", &[m, n, k, gather.splits()])?;
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
