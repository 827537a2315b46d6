//! Of `a0 @ b0 + a1 @ b1 + …`, each rank its [part](Parts) of the rows, carried there by copies of a stream.

use shoal::world::{Compare, Place, Rank, Stream, Symm, Value};
use shoal::{Arg, Args, Error, args};

use super::broadcast::barriers;
use super::communicator::{Communicator, Slots, at_least, elements, exactly};
use super::data::Number;
use super::gemm_all_reduce::{GEMM_WARPS, Sizes};
use super::parts::Parts;
use crate::library::{Source, cdiv};
use crate::matmul::Blocks;

/// Elements of a tile when parts are added up.
const BLOCK: usize = 4096;

/// When rows are carried to their ranks, in [`CopiedReduceScatter::enqueue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// As soon as all of a rank are there, while others are computed.
    Beside,
    /// When the product is done: what overlapping is measured against.
    Afterwards,
}

/// How the rows of a rank are carried: in splits of whole blocks, so that a copy may begin before all are there, and reads
/// what caches still hold.
#[derive(Debug, Clone, Copy)]
struct Splits {
    /// Rows of a split, the last one may have fewer.
    rows: usize,
    /// The splits of each rank.
    count: usize,
}

impl Splits {
    /// Splits of each rank at most.
    const MOST: usize = 2;

    /// Splits of `part` rows of `n` columns. Rows without columns have none: no block announces them.
    fn new(part: usize, n: usize, block: usize) -> Splits {
        let rows = part.div_ceil(Splits::MOST).next_multiple_of(block).max(block);
        Splits { rows, count: if n == 0 { 0 } else { part.div_ceil(rows) } }
    }
}

/// [`gemm_reduce_scatter`](super::gemm_reduce_scatter::gemm_reduce_scatter) with copies by a stream: while the blocks of one
/// rank's rows are computed, those of the last are carried to it. Has its own memory, for products of one size.
#[derive(Debug)]
pub struct CopiedReduceScatter {
    sizes: Sizes,
    parts: Parts,
    /// This rank's product.
    pub(super) partial: Symm<f32>,
    /// This rank's rows of everybody's product; those of the others are carried here.
    inbox: Symm<f32>,
    /// Finished blocks of each split of each rank's rows.
    done: Symm<i32>,
    /// Whether all are there.
    ready: Symm<u32>,
    splits: Splits,
    stream: Stream,
}

impl CopiedReduceScatter {
    /// For products of these sizes. Collective over the world.
    ///
    /// # Errors
    /// When the heap has no room, or the ranks do not ask for the same.
    pub fn new(rank: &Rank, sizes: Sizes) -> Result<CopiedReduceScatter, Error> {
        let (world, parts) = (rank.size(), Parts::new(sizes.m, rank.size()));
        let splits = Splits::new(parts.part(), sizes.n, Blocks::of(parts.part(), sizes.n, sizes.k).m);
        let words = elements(&[world, splits.count])?;
        Ok(CopiedReduceScatter {
            sizes,
            parts,
            partial: rank.symm_zeros(sizes.product()?)?,
            inbox: rank.symm_zeros(elements(&[world, parts.part(), sizes.n])?)?,
            done: rank.symm_zeros(words)?,
            ready: rank.symm_zeros(words)?,
            splits,
            stream: rank.stream()?,
        })
    }

    /// `gemm_reduce_scatter`, with copies beside the product.
    ///
    /// # Errors
    /// When sizes do not fit, a kernel does not compile, or the world fails.
    pub fn run<T: Number>(
        &mut self,
        comm: &Communicator<'_>,
        (a, b): (&[T], &[T]),
        out: &mut [T],
    ) -> Result<(), Error> {
        let Sizes { m, n, k } = self.sizes;
        let (call, numbers) = ("gemm_reduce_scatter_ce_persistent(m, n, k)", [m, n, k]);
        comm.agree_on::<T>(call, &numbers)?;
        self.sizes.check(a.len(), b.len())?;
        let mine = self.parts.of(comm.rank().rank());
        exactly("out", out.len(), mine.len() * n)?;
        let args = self.product(comm, a.into(), b.into());
        comm.load_for::<T>(call, &numbers, &[(Source::GemmRanks, "gemm_announced", &args)])?;
        self.enqueue_copies(comm.rank())?;
        self.multiply(comm, args)?;
        self.stream.synchronize()?;
        comm.rank().barrier()?;
        self.add_parts(comm, out.into(), mine.len() * n)?;
        // The next product may overwrite the inboxes only when all have read theirs.
        comm.rank().barrier()?;
        Ok(())
    }

    /// The same with all matrices in symmetric memory, in the order of the rank's launches: on a GPU it returns at once.
    /// Collective over the world.
    ///
    /// # Errors
    /// When sizes do not fit, a kernel does not compile, or the world fails.
    pub fn enqueue<T: Number>(
        &mut self,
        comm: &Communicator<'_>,
        [a, b, out]: [&Symm<T>; 3],
        carried: Carried,
    ) -> Result<(), Error> {
        let Sizes { m, n, k } = self.sizes;
        let (call, numbers) = ("enqueue_gemm_reduce_scatter(m, n, k)", [m, n, k]);
        comm.agree_on::<T>(call, &numbers)?;
        self.sizes.check(a.len(), b.len())?;
        let mine = self.parts.of(comm.rank().rank());
        at_least("out", out.len(), mine.len() * n)?;
        let args = self.product(comm, a.into(), b.into());
        let adding = self.adding(comm, out.into(), mine.len() * n);
        let kernels = [(Source::GemmRanks, "gemm_announced", &args), (Source::GemmRanks, "add_parts", &adding)];
        comm.load_for::<T>(call, &numbers, &kernels)?;
        // The inboxes of all are free, and so is this rank's product.
        barriers(comm, 1, 1)?;
        if carried == Carried::Beside {
            self.stream.wait_for_launches()?;
            self.enqueue_copies(comm.rank())?;
        }
        self.multiply(comm, args)?;
        if carried == Carried::Afterwards {
            self.stream.wait_for_launches()?;
            self.enqueue_copies(comm.rank())?;
        }
        self.stream.hold_launches()?;
        // Everybody's rows have been carried.
        barriers(comm, 1, 1)?;
        self.add_parts(comm, out.into(), mine.len() * n)
    }

    /// What the product that announces its rows is launched with.
    fn product<'a>(&'a self, comm: &Communicator<'_>, a: Arg<'a>, b: Arg<'a>) -> Args<'a> {
        let (Sizes { m, n, k }, blocks) = (self.sizes, self.blocks());
        args!(
            a,
            b,
            &self.partial,
            &self.inbox,
            &self.done,
            &self.ready,
            m,
            n,
            k,
            self.parts.part(),
            self.splits.rows,
            WORLD = comm.size(),
            BLOCK_M = blocks.m,
            BLOCK_N = blocks.n,
            BLOCK_K = blocks.k,
            num_warps = GEMM_WARPS
        )
    }

    fn blocks(&self) -> Blocks {
        Blocks::of(self.parts.part(), self.sizes.n, self.sizes.k)
    }

    /// Launches the product. If that fails, so does the world: the stream waits for rows that will not come.
    fn multiply(&self, comm: &Communicator<'_>, args: Args<'_>) -> Result<(), Error> {
        let blocks = self.blocks();
        let of_a_rank = cdiv(self.parts.part(), blocks.m) * cdiv(self.sizes.n, blocks.n);
        let programs = comm.programs(of_a_rank * comm.size());
        comm.launch(Source::GemmRanks, "gemm_announced", programs, Slots::Nothing, args).inspect_err(|error| {
            comm.rank().fail(&error.to_string());
        })
    }

    /// Adds up what is in the inbox.
    fn add_parts(&self, comm: &Communicator<'_>, out: Arg<'_>, count: usize) -> Result<(), Error> {
        let args = self.adding(comm, out, count);
        comm.launch(Source::GemmRanks, "add_parts", comm.programs(cdiv(count, BLOCK)), Slots::Nothing, args)
    }

    /// What `add_parts` is launched with.
    fn adding<'a>(&'a self, comm: &Communicator<'_>, out: Arg<'a>, count: usize) -> Args<'a> {
        let mut args = args!(&self.inbox, out, count, WORLD = comm.size(), BLOCK = BLOCK);
        // 16 bytes of each rank for each thread.
        args.set("num_warps", BLOCK / 128);
        args
    }

    /// For each other rank, the next one first: waits for its rows, split by split, and copies them into its inbox, where
    /// each sender's follow those of the one before without a gap.
    fn enqueue_copies(&self, rank: &Rank) -> Result<(), Error> {
        let (me, n, Splits { rows, count }) = (rank.rank(), self.sizes.n, self.splits);
        for step in 1..rank.size() {
            let owner = (me + step) % rank.size();
            let theirs = self.parts.of(owner);
            for split in 0..count {
                let at = owner * count + split;
                let word = || Place::symm(&self.ready, me, at..=at);
                self.stream.wait_value(word()?, Compare::Equal, Value::U32(1))?;
                let (start, end) = (split * rows * n, theirs.len().min((split + 1) * rows) * n);
                if start < end {
                    let (from, to) = (theirs.start * n, me * theirs.len() * n);
                    let from = Place::symm(&self.partial, me, from + start..from + end)?;
                    self.stream.copy(Place::symm(&self.inbox, owner, to + start..to + end)?, from)?;
                }
                self.stream.write_value(word()?, Value::U32(0))?;
            }
        }
        Ok(())
    }
}
