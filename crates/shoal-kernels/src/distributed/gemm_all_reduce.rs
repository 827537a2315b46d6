//! `out = a0 @ b0 + a1 @ b1 + …` on every rank: a product whose inner dimension is spread over ranks.

use shoal::world::{Rank, Symm};
use shoal::{Error, args};

use super::communicator::{Communicator, Slots, elements, exactly};
use super::data::{Number, normal, poison, sum_of_numbers, wide};
use super::workload::{RankOutput, RankWorkload};
use crate::check::Tolerance;
use crate::library::{Source, cdiv};
use crate::matmul::{Blocks, product_tolerance, reference};
use crate::workload::Work;

/// Warps of a program that multiplies, on a GPU: the registers of fewer do not hold the sums of a block.
pub const GEMM_WARPS: usize = 8;

/// The sizes of a product: `a` is `m × k`, `b` is `k × n`; both are dense, row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of `a`.
    pub m: usize,
    /// Columns of `b`.
    pub n: usize,
    /// Columns of `a`.
    pub k: usize,
}

impl Sizes {
    /// Elements of the product.
    pub(super) fn product(&self) -> Result<usize, Error> {
        elements(&[self.m, self.n])
    }

    /// Refuses factors of other sizes.
    pub(super) fn check(&self, a: usize, b: usize) -> Result<(), Error> {
        exactly("a", a, elements(&[self.m, self.k])?)?;
        exactly("b", b, elements(&[self.k, self.n])?)
    }

    /// Operations of the product.
    pub(super) fn work(&self) -> Work {
        Work::Operations(2.0 * self.m as f64 * self.n as f64 * self.k as f64)
    }
}

/// The product, fused with a one-shot all-reduce: blocks are computed, then added up by every rank. `partial` is memory
/// to work in, one fp32 number for each element of the product.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn gemm_one_shot_all_reduce<T: Number>(
    comm: &Communicator<'_>,
    sizes: Sizes,
    (a, b): (&[T], &[T]),
    partial: &Symm<f32>,
    out: &mut [T],
) -> Result<(), Error> {
    let Sizes { m, n, k } = sizes;
    comm.agree_on::<T>("gemm_one_shot_all_reduce(m, n)", &[m, n])?;
    sizes.check(a.len(), b.len())?;
    exactly("partial", partial.len(), sizes.product()?)?;
    exactly("out", out.len(), sizes.product()?)?;
    let blocks = Blocks::of(m, n, k);
    let args = args!(
        a,
        b,
        partial,
        out,
        comm.pad(),
        m,
        n,
        k,
        WORLD = comm.size(),
        BLOCK_M = blocks.m,
        BLOCK_N = blocks.n,
        BLOCK_K = blocks.k,
        num_warps = GEMM_WARPS
    );
    let programs = comm.programs(cdiv(m, blocks.m) * cdiv(n, blocks.n));
    comm.launch(Source::GemmRanks, "gemm_one_shot_all_reduce", programs, Slots::Meeting, args)
}

/// The sum of everybody's products of random matrices, in `f64`. Collective over the world.
pub(super) fn summed_products<T: Number>(rank: &Rank, sizes: Sizes) -> Result<Vec<f64>, Error> {
    let Sizes { m, n, k } = sizes;
    let (a, b) = (normal::<T>(1, rank.rank(), m * k)?, normal::<T>(2, rank.rank(), k * n)?);
    sum_of_numbers(rank, &reference(&wide(&a)?, &wide(&b)?, (m, n, k)))
}

/// How far such a sum may lie from what is computed in fp32.
pub(super) fn summed_tolerance<T: Number>(ranks: usize, sizes: Sizes) -> Tolerance {
    product_tolerance(T::DTYPE, sizes.k * ranks)
}

/// A product of random matrices.
#[derive(Debug)]
pub(crate) struct GemmAllReduce<T: Number> {
    sizes: Sizes,
    a: Vec<T>,
    b: Vec<T>,
    partial: Symm<f32>,
    out: Vec<T>,
}

impl<T: Number> GemmAllReduce<T> {
    pub(crate) fn new(rank: &Rank, sizes: Sizes) -> Result<GemmAllReduce<T>, Error> {
        Ok(GemmAllReduce {
            sizes,
            a: normal(1, rank.rank(), elements(&[sizes.m, sizes.k])?)?,
            b: normal(2, rank.rank(), elements(&[sizes.k, sizes.n])?)?,
            partial: rank.symm_zeros(sizes.product()?)?,
            out: vec![poison()?; sizes.product()?],
        })
    }
}

impl<T: Number> RankWorkload for GemmAllReduce<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.partial.fill(f32::NAN)?;
        self.out.fill(poison()?);
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        gemm_one_shot_all_reduce(comm, self.sizes, (&self.a, &self.b), &self.partial, &mut self.out)
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let world = self.partial.rank().size();
        let expected = summed_products::<T>(self.partial.rank(), self.sizes)?;
        let tolerance = summed_tolerance::<T>(world, self.sizes);
        Ok(vec![RankOutput { name: "out", found: wide(&self.out)?, expected, tolerance }])
    }

    fn work(&self) -> Work {
        self.sizes.work()
    }
}
