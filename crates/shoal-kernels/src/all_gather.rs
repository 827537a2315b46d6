//! `out = [x0, x1, …]`: everybody's `x`, on every rank.

use shoal::world::Symm;
use shoal::{Element, Error, args};

use crate::library::{Library, Source, cdiv};
use crate::rank_flags::RankFlags;

/// Elements of a program's tile.
const BLOCK: usize = 4096;

/// Writes each rank's `x` into everybody's `out`, one after another in the order of the ranks. Called by all ranks with
/// `x` of one size.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_gather_push<T: Element + shoal::world::Element>(
    library: &Library,
    flags: &mut RankFlags,
    x: &[T],
    out: &Symm<T>,
) -> Result<(), Error> {
    let n = x.len();
    RankFlags::check("out", out.len(), n * flags.rank().size())?;
    let kernel = library.kernel(Source::AllGather, "all_gather_push")?.on_rank(flags.rank())?;
    let programs = flags.programs(cdiv(n, BLOCK));
    let (words, epoch) = flags.advance();
    kernel.launch(programs, args!(x, out, words, epoch, n, BLOCK = BLOCK))
}
