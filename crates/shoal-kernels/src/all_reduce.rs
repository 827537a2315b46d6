//! `out = x0 + x1 + …`: the sum of everybody's `x`, on every rank.

use shoal::world::Symm;
use shoal::{Element, Error, args};

use crate::library::{Library, Source, cdiv};
use crate::rank_flags::RankFlags;

/// Elements of a program's tile.
const BLOCK: usize = 4096;

/// The sum of all ranks' `x`, added in fp32 in the order of the ranks, so that all ranks have the same bits. Called by all
/// ranks; `x` may be overwritten when it returns.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn one_shot_all_reduce<T: Element + shoal::world::Element>(
    library: &Library,
    flags: &mut RankFlags,
    x: &Symm<T>,
    out: &mut [T],
) -> Result<(), Error> {
    let n = x.len();
    RankFlags::check("out", out.len(), n)?;
    let kernel = library.kernel(Source::AllReduce, "one_shot_all_reduce")?.on_rank(flags.rank())?;
    let programs = flags.programs(cdiv(n, BLOCK));
    let (words, epoch) = flags.advance();
    kernel.launch(programs, args!(x, out, words, epoch, n, BLOCK = BLOCK))
}
