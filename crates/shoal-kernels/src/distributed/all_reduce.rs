//! `out = x0 + x1 + …`: the sum of everybody's `x`, on every rank, with the same bits on all.
//!
//! *One-shot*: every rank reads everything; one exchange, best for little. For very little nobody meets: elements are sent
//! beside the number of the launch. *Two-shot*: every rank adds up a part and
//! writes it to everybody; the least traffic, best for much.

use shoal::world::{Rank, Symm, WorldError};
use shoal::{Arg, Error, args};

use super::communicator::{Communicator, Slots, WordStage, at_least, exactly};
use super::data::{Number, normal, poison, sum_of_ranks, sum_tolerance, wide};
use super::workload::{RankOutput, RankWorkload};
use crate::library::{Source, cdiv};
use crate::workload::Work;

/// Elements of a tile at least and at most.
const BLOCKS: std::ops::RangeInclusive<usize> = 64..=4096;

/// What is added once.
#[derive(Debug, Clone, Copy)]
pub enum Bias<'a, T> {
    /// Nothing.
    None,
    /// A number for each element.
    Each(&'a [T]),
    /// A number for each column of a matrix whose rows lie one after another.
    Columns(&'a [T]),
}

impl<'a, T: Number> Bias<'a, T> {
    /// How many numbers are added.
    fn len(self) -> usize {
        match self {
            Bias::None => 0,
            Bias::Each(bias) | Bias::Columns(bias) => bias.len(),
        }
    }

    /// The numbers, and the columns if there is one for each.
    fn arguments(self, n: usize) -> Result<(Arg<'a>, Arg<'a>), Error> {
        match self {
            Bias::None => Ok((Arg::None, Arg::None)),
            Bias::Each(bias) => {
                exactly("bias", bias.len(), n)?;
                Ok((bias.into(), Arg::None))
            }
            Bias::Columns(bias) => {
                if bias.is_empty() || !n.is_multiple_of(bias.len()) {
                    let columns = bias.len();
                    let text = format!("{n} elements do not make rows of {columns} columns, which `bias` has");
                    return Err(WorldError::Argument(text).into());
                }
                Ok((bias.into(), bias.len().into()))
            }
        }
    }
}

/// Elements of a tile, when `shares` take turns.
fn block(n: usize, shares: usize) -> usize {
    cdiv(n, shares.max(1)).next_power_of_two().clamp(*BLOCKS.start(), *BLOCKS.end())
}

/// The sum of all ranks' `x`. `x` may be overwritten when it returns.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn one_shot_all_reduce<T: Number>(comm: &Communicator<'_>, x: &Symm<T>, out: &mut [T]) -> Result<(), Error> {
    one_shot(comm, x, out.len(), out.into())
}

/// The same, with the sum in this rank's part of symmetric memory: on a GPU the launch returns at once.
///
/// # Errors
/// As [`one_shot_all_reduce`].
pub fn enqueue_one_shot_all_reduce<T: Number>(
    comm: &Communicator<'_>,
    x: &Symm<T>,
    out: &Symm<T>,
) -> Result<(), Error> {
    one_shot(comm, x, out.len(), out.into())
}

fn one_shot<T: Number>(comm: &Communicator<'_>, x: &Symm<T>, room: usize, out: Arg<'_>) -> Result<(), Error> {
    let (n, world) = (x.len(), comm.size());
    comm.agree_on::<T>("one_shot_all_reduce(n)", &[n])?;
    exactly("out", room, n)?;
    if comm.rank().gpu().is_some() && is_little::<T>(n, world) {
        return exchange_words(comm, x, out);
    }
    let everywhere = comm.rank().gpu().and_then(|gpu| {
        let multiprocessors = gpu.multiprocessors() as usize;
        let has_share = comm.programs(usize::MAX) >= multiprocessors / gpu.sharers();
        has_share.then(|| Tiling::everywhere(gpu.sharers(), multiprocessors, n, size_of::<T>())).flatten()
    });
    let Tiling { programs, block, warps, early, ahead, registers } =
        everywhere.unwrap_or_else(|| Tiling::of(comm, n, 1));
    let mut args = args!(x, out, comm.pad(), n, WORLD = world, BLOCK = block, EARLY = early, AHEAD = ahead);
    // Without masks, little of 8 ranks takes longer; with elements asked for ahead, either takes up to four times as long.
    args.set("WHOLE", !early && !ahead && n.is_multiple_of(block));
    args.set("turn", if ahead { 0 } else { comm.next_turn() });
    args.set("num_warps", warps);
    // One that lets nobody come early still begins while the launch ahead of it ends.
    args.set("launch_pdl", true);
    if let Some(registers) = registers {
        args.set("maxnreg", registers);
    }
    comm.launch(Source::AllReduce, "one_shot_all_reduce", programs, Slots::Meeting, args)
}

/// The same for little, without meetings: each rank sends its elements to everybody. What is not little, or no whole
/// number of 32-bit words, is read as [`one_shot_all_reduce`] does.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn one_shot_all_reduce_little<T: Number>(comm: &Communicator<'_>, x: &Symm<T>, out: &mut [T]) -> Result<(), Error> {
    if is_little::<T>(x.len(), comm.size()) {
        comm.agree_on::<T>("one_shot_all_reduce_little(n)", &[x.len()])?;
        exactly("out", out.len(), x.len())?;
        return exchange_words(comm, x, out.into());
    }
    one_shot(comm, x, out.len(), out.into())
}

/// Whether elements are exchanged as words: they fit, and one rank's are few enough for everybody to get them all.
fn is_little<T: Number>(n: usize, world: usize) -> bool {
    let bytes = n * size_of::<T>();
    bytes > 0 && bytes.is_multiple_of(4) && bytes / 4 <= WordStage::MOST && world <= 8
}

fn exchange_words<T: Number>(comm: &Communicator<'_>, x: &Symm<T>, out: Arg<'_>) -> Result<(), Error> {
    let (words, rounds) = (size_of::<T>() * x.len() / 4, WordStage::ROUNDS);
    let (used, world) = (&comm.word_stage()?.one_shot, comm.size());
    // Who polls another GPU's memory waits for the link each time.
    let stay = comm.rank().gpu().is_some_and(|gpu| gpu.sharers() == world);
    let mut args = args!(x, out, &used.stage, &used.launches, words, WORLD = world, ROUNDS = rounds, STAY = stay);
    args.set("num_warps", WordStage::THREADS / 32);
    args.set("launch_pdl", true);
    let programs = cdiv(words, WordStage::THREADS * rounds);
    comm.launch(Source::AllReduce, "one_shot_all_reduce_words", programs, Slots::Nothing, args)
}

/// How the work on a row of elements is divided.
struct Tiling {
    programs: usize,
    /// Elements of a tile.
    block: usize,
    /// Warps of a program; only GPUs have them.
    warps: usize,
    /// Whether the next launch may begin while this one works.
    early: bool,
    /// Whether each rank asks for its elements before they are read.
    ahead: bool,
    /// Registers of a thread at most.
    registers: Option<usize>,
}

impl Tiling {
    /// With so many registers for each thread, a multiprocessor has room for 32 warps.
    const REGISTERS: usize = 64;

    /// For ranks that share a GPU: a program of each rank on every multiprocessor, so that what one has read is in the
    /// first-level cache for the others. With half of the warps there is room for the programs of the next launch, which
    /// begins early; for much, all warps are needed, and launches that begin early would take the place of other ranks'
    /// programs. `None` where that does not pay. There are `n` elements, each of `size` bytes.
    fn everywhere(ranks: usize, multiprocessors: usize, n: usize, size: usize) -> Option<Tiling> {
        let of_all_ranks = ranks * n * size;
        let early = of_all_ranks <= 16 << 20;
        let most_warps = if early { 16 } else { 32 };
        if of_all_ranks < 2 << 20 || !(4..=most_warps).contains(&ranks) {
            return None;
        }
        let warps = 1 << (most_warps / ranks).ilog2();
        // Bytes of each thread: for much, as many as its registers hold of all ranks. Those of many ranks are too few to be
        // under way, so that elements are asked for ahead.
        let ahead = !early && ranks >= 8;
        let bytes = if early || ahead { 16 } else { 32 };
        let block = warps * 32 * bytes / size;
        Some(Tiling { programs: multiprocessors, block, warps, early, ahead, registers: Some(Tiling::REGISTERS) })
    }

    /// For `n` elements of which each rank works on one `shares`-th.
    fn of(comm: &Communicator<'_>, n: usize, shares: usize) -> Tiling {
        if comm.rank().gpu().is_none() {
            let programs = match shares {
                1 => comm.programs(cdiv(n, *BLOCKS.end())),
                _ => comm.programs(cdiv(n, shares * *BLOCKS.start())),
            };
            let block = if shares == 1 { *BLOCKS.end() } else { block(n, shares * programs) };
            return Tiling { programs, block, warps: 4, early: true, ahead: false, registers: None };
        }
        // 16 bytes for each thread, and all multiprocessors at work before any gets more than one tile.
        let mine = cdiv(n, shares);
        let block = cdiv(mine, comm.programs(usize::MAX)).next_power_of_two().clamp(1024, 8192);
        let programs = comm.programs(cdiv(mine, block));
        Tiling { programs, block, warps: (block / 256).clamp(4, 32), early: true, ahead: false, registers: None }
    }
}

/// The sum of all ranks' `x`, plus a bias, which is the same on all ranks. `shared` is memory to work in.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn one_shot_all_reduce_bias<T: Number>(
    comm: &Communicator<'_>,
    x: &[T],
    bias: Bias<'_, T>,
    shared: &Symm<T>,
    out: &mut [T],
) -> Result<(), Error> {
    let (n, world) = (x.len(), comm.size());
    comm.agree_on::<T>("one_shot_all_reduce_bias(n, bias)", &[n, bias.len()])?;
    exactly("out", out.len(), n)?;
    at_least("shared", shared.len(), n)?;
    let (bias, columns) = bias.arguments(n)?;
    let programs = comm.programs(cdiv(n, *BLOCKS.end()));
    let args = args!(x, bias, shared, out, comm.pad(), n, columns, WORLD = world, BLOCK = *BLOCKS.end());
    comm.launch(Source::AllReduce, "one_shot_all_reduce_bias", programs, Slots::Meeting, args)
}

/// Replaces everybody's `x` by the sum.
///
/// # Errors
/// When the kernel does not compile, or the world fails.
pub fn two_shot_all_reduce_in_place<T: Number>(comm: &Communicator<'_>, x: &Symm<T>) -> Result<(), Error> {
    let (n, world) = (x.len(), comm.size());
    comm.agree_on::<T>("two_shot_all_reduce_in_place(n)", &[n])?;
    if comm.rank().gpu().is_some() && is_little::<T>(n, world) {
        return two_shot_words(comm, x);
    }
    let Tiling { programs, block, warps, .. } = Tiling::of(comm, n, world);
    let mut args = args!(x, comm.pad(), n, WORLD = world, BLOCK = block);
    args.set("num_warps", warps);
    args.set("launch_pdl", true);
    comm.launch(Source::AllReduce, "two_shot_all_reduce_in_place", programs, Slots::Meeting, args)
}

/// The same for little, without meetings; else as [`two_shot_all_reduce_in_place`] does.
///
/// # Errors
/// When the kernel does not compile, or the world fails.
pub fn two_shot_all_reduce_little<T: Number>(comm: &Communicator<'_>, x: &Symm<T>) -> Result<(), Error> {
    if is_little::<T>(x.len(), comm.size()) {
        comm.agree_on::<T>("two_shot_all_reduce_little(n)", &[x.len()])?;
        return two_shot_words(comm, x);
    }
    two_shot_all_reduce_in_place(comm, x)
}

fn two_shot_words<T: Number>(comm: &Communicator<'_>, x: &Symm<T>) -> Result<(), Error> {
    let (words, world) = (size_of::<T>() * x.len() / 4, comm.size());
    let used = &comm.word_stage()?.two_shot;
    let mut args = args!(x, &used.stage, &used.launches, words, WORLD = world);
    args.set("num_warps", WordStage::THREADS / 32);
    args.set("launch_pdl", true);
    let programs = cdiv(words, WordStage::THREADS * world);
    comm.launch(Source::AllReduce, "two_shot_all_reduce_words", programs, Slots::Nothing, args)
}

/// The sum of all ranks' `x`, by way of `shared`.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn two_shot_all_reduce<T: Number>(
    comm: &Communicator<'_>,
    x: &[T],
    shared: &Symm<T>,
    out: &mut [T],
) -> Result<(), Error> {
    let (n, world) = (x.len(), comm.size());
    comm.agree_on::<T>("two_shot_all_reduce(n)", &[n])?;
    exactly("out", out.len(), n)?;
    at_least("shared", shared.len(), n)?;
    let (programs, block) = two_shot_tiling(comm, n);
    let args = args!(x, shared, out, comm.pad(), n, WORLD = world, BLOCK = block);
    comm.launch(Source::AllReduce, "two_shot_all_reduce", programs, Slots::Meeting, args)
}

/// Programs, and the elements that each takes at a time.
fn two_shot_tiling(comm: &Communicator<'_>, n: usize) -> (usize, usize) {
    let programs = comm.programs(cdiv(n, comm.size() * *BLOCKS.start()));
    (programs, block(n, comm.size() * programs))
}

/// The sum of all ranks' `x`, plus a bias, which is the same on all ranks, by way of `shared`.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn two_shot_all_reduce_bias<T: Number>(
    comm: &Communicator<'_>,
    x: &[T],
    bias: Bias<'_, T>,
    shared: &Symm<T>,
    out: &mut [T],
) -> Result<(), Error> {
    let (n, world) = (x.len(), comm.size());
    comm.agree_on::<T>("two_shot_all_reduce_bias(n, bias)", &[n, bias.len()])?;
    exactly("out", out.len(), n)?;
    at_least("shared", shared.len(), n)?;
    let (bias, columns) = bias.arguments(n)?;
    let (programs, block) = two_shot_tiling(comm, n);
    let args = args!(x, bias, shared, out, comm.pad(), n, columns, WORLD = world, BLOCK = block);
    comm.launch(Source::AllReduce, "two_shot_all_reduce_bias", programs, Slots::Meeting, args)
}

/// Which of the forms a workload runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    OneShot,
    OneShotLittle,
    OneShotBias,
    TwoShot,
    TwoShotInPlace,
    TwoShotLittle,
    TwoShotBias,
}

impl Form {
    fn has_bias(self) -> bool {
        match self {
            Form::OneShotBias | Form::TwoShotBias => true,
            Form::OneShot | Form::OneShotLittle | Form::TwoShot | Form::TwoShotInPlace | Form::TwoShotLittle => false,
        }
    }
}

/// An all-reduce of random elements.
#[derive(Debug)]
pub(crate) struct AllReduce<T: Number> {
    form: Form,
    x: Vec<T>,
    bias: Vec<T>,
    shared: Symm<T>,
    out: Vec<T>,
}

impl<T: Number> AllReduce<T> {
    pub(crate) fn new(rank: &Rank, form: Form, n: usize) -> Result<AllReduce<T>, Error> {
        let x = normal(1, rank.rank(), n)?;
        // Everybody's bias is that of rank 0. Of matrices with two rows there is one for each column.
        let columns = if n.is_multiple_of(2) { n / 2 } else { n };
        let bias = normal(2, 0, if form == Form::TwoShotBias { columns } else { n })?;
        Ok(AllReduce { form, x, bias, shared: rank.symm_zeros(n)?, out: vec![poison()?; n] })
    }
}

impl<T: Number> RankWorkload for AllReduce<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.out.fill(poison()?);
        self.shared.fill(poison()?)?;
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        match self.form {
            Form::OneShot | Form::OneShotLittle | Form::TwoShotInPlace | Form::TwoShotLittle => {
                self.shared.write(&self.x)?;
            }
            Form::OneShotBias | Form::TwoShot | Form::TwoShotBias => {}
        }
        Ok(())
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        let AllReduce { x, bias, shared, out, .. } = self;
        match self.form {
            Form::OneShot => one_shot_all_reduce(comm, shared, out),
            Form::OneShotLittle => one_shot_all_reduce_little(comm, shared, out),
            Form::OneShotBias => one_shot_all_reduce_bias(comm, x, Bias::Each(bias), shared, out),
            Form::TwoShot => two_shot_all_reduce(comm, x, shared, out),
            Form::TwoShotInPlace => two_shot_all_reduce_in_place(comm, shared),
            Form::TwoShotLittle => two_shot_all_reduce_little(comm, shared),
            Form::TwoShotBias => two_shot_all_reduce_bias(comm, x, Bias::Columns(bias), shared, out),
        }
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let (world, n) = (self.shared.rank().size(), self.x.len());
        let mut expected = sum_of_ranks::<T>(self.shared.rank(), 1, n)?;
        if self.form.has_bias() {
            let bias = wide(&self.bias)?;
            expected.iter_mut().zip(bias.iter().cycle()).for_each(|(sum, bias)| *sum += bias);
        }
        let found = match self.form {
            Form::TwoShotInPlace | Form::TwoShotLittle => wide(&self.shared.read()?)?,
            Form::OneShot | Form::OneShotLittle | Form::OneShotBias | Form::TwoShot | Form::TwoShotBias => {
                wide(&self.out)?
            }
        };
        Ok(vec![RankOutput { name: "out", found, expected, tolerance: sum_tolerance::<T>(world + 1) }])
    }

    fn work(&self) -> Work {
        Work::Bytes(size_of_val(self.x.as_slice()) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_gpu_share_all_multiprocessors() {
        let found = |ranks: usize, kib: usize| {
            let tiling = Tiling::everywhere(ranks, 132, kib << 9, 2)?;
            assert_eq!(tiling.programs, 132);
            // A multiprocessor has 65,536 registers: for a program of each rank, and of the launch behind if that begins early.
            let launches = if tiling.early { 2 } else { 1 };
            let registers = tiling.registers.expect("a limit");
            assert!(launches * ranks * tiling.warps * 32 * registers <= 65536, "{ranks} ranks, {kib} KiB");
            assert!(tiling.block.is_power_of_two() && tiling.warps.is_power_of_two(), "{ranks} ranks, {kib} KiB");
            Some((tiling.warps, tiling.block, tiling.early))
        };
        assert_eq!(found(4, 1024), Some((4, 1024, true)));
        assert_eq!(found(8, 1024), Some((2, 512, true)));
        let ahead = |ranks| Tiling::everywhere(ranks, 132, 16384 << 9, 2).map(|tiling| tiling.ahead);
        assert_eq!([4, 8].map(ahead), [Some(false), Some(true)]);
        assert_eq!(found(4, 16384), Some((8, 4096, false)));
        assert_eq!(found(8, 16384), Some((4, 1024, false)));
        // Tiles and programs have powers of two, also where ranks have not.
        assert_eq!(found(5, 16384), Some((4, 2048, false)));
        assert_eq!(found(7, 1024), Some((2, 512, true)));
        // Too little, or too few or too many ranks.
        for (ranks, kib) in [(4, 256), (8, 128), (3, 16384), (20, 512), (33, 16384)] {
            assert_eq!(found(ranks, kib), None, "{ranks} ranks, {kib} KiB");
        }
    }
}
