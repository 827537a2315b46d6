//! Of `a0 @ b0 + a1 @ b1 + …`, each rank its [part](Parts) of the rows.

use shoal::world::{Rank, Symm};
use shoal::{Error, args};

use super::communicator::{Communicator, Slots, elements, exactly};
use super::copied_reduce_scatter::CopiedReduceScatter;
use super::data::{Number, normal, poison, wide};
use super::gemm_all_reduce::{GEMM_WARPS, Sizes, summed_products, summed_tolerance};
use super::parts::Parts;
use super::workload::{RankOutput, RankWorkload};
use crate::library::{Source, cdiv};
use crate::matmul::Blocks;
use crate::workload::Work;

/// The product, fused with a reduce-scatter. `partial` is memory to work in, one fp32 number for each element of the
/// product; `out` has this rank's rows.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn gemm_reduce_scatter<T: Number>(
    comm: &Communicator<'_>,
    sizes: Sizes,
    (a, b): (&[T], &[T]),
    partial: &Symm<f32>,
    out: &mut [T],
) -> Result<(), Error> {
    let Sizes { m, n, k } = sizes;
    let parts = Parts::new(m, comm.size());
    comm.agree_on::<T>("gemm_reduce_scatter(m, n)", &[m, n])?;
    sizes.check(a.len(), b.len())?;
    exactly("partial", partial.len(), sizes.product()?)?;
    exactly("out", out.len(), parts.of(comm.rank().rank()).len() * n)?;
    let blocks = Blocks::of(parts.part(), n, k);
    let args = args!(
        a,
        b,
        partial,
        out,
        comm.pad(),
        m,
        n,
        k,
        parts.part(),
        WORLD = comm.size(),
        BLOCK_M = blocks.m,
        BLOCK_N = blocks.n,
        BLOCK_K = blocks.k,
        num_warps = GEMM_WARPS
    );
    let programs = comm.programs(cdiv(parts.part(), blocks.m) * cdiv(n, blocks.n));
    comm.launch(Source::GemmRanks, "gemm_reduce_scatter", programs, Slots::Meeting, args)
}

/// Which form a workload runs.
#[derive(Debug)]
enum Form {
    Fused(Symm<f32>),
    Copied(Box<CopiedReduceScatter>),
}

/// A product of random matrices.
#[derive(Debug)]
pub(crate) struct GemmReduceScatter<T: Number> {
    sizes: Sizes,
    rank: Rank,
    a: Vec<T>,
    b: Vec<T>,
    form: Form,
    out: Vec<T>,
}

impl<T: Number> GemmReduceScatter<T> {
    pub(crate) fn fused(rank: &Rank, sizes: Sizes) -> Result<GemmReduceScatter<T>, Error> {
        GemmReduceScatter::new(rank, sizes, Form::Fused(rank.symm_zeros(sizes.product()?)?))
    }

    pub(crate) fn copied(rank: &Rank, sizes: Sizes) -> Result<GemmReduceScatter<T>, Error> {
        GemmReduceScatter::new(rank, sizes, Form::Copied(Box::new(CopiedReduceScatter::new(rank, sizes)?)))
    }

    fn new(rank: &Rank, sizes: Sizes, form: Form) -> Result<GemmReduceScatter<T>, Error> {
        let mine = Parts::new(sizes.m, rank.size()).of(rank.rank());
        Ok(GemmReduceScatter {
            sizes,
            rank: rank.clone(),
            a: normal(1, rank.rank(), elements(&[sizes.m, sizes.k])?)?,
            b: normal(2, rank.rank(), elements(&[sizes.k, sizes.n])?)?,
            form,
            out: vec![poison()?; mine.len() * sizes.n],
        })
    }
}

impl<T: Number> RankWorkload for GemmReduceScatter<T> {
    fn poison(&mut self) -> Result<(), Error> {
        match &self.form {
            Form::Fused(partial) => partial.fill(f32::NAN)?,
            Form::Copied(copied) => copied.partial.fill(f32::NAN)?,
        }
        self.out.fill(poison()?);
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        match &mut self.form {
            Form::Fused(partial) => gemm_reduce_scatter(comm, self.sizes, (&self.a, &self.b), partial, &mut self.out),
            Form::Copied(copied) => copied.run(comm, (&self.a, &self.b), &mut self.out),
        }
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let (world, n) = (self.rank.size(), self.sizes.n);
        let rows = Parts::new(self.sizes.m, world).of(self.rank.rank());
        let expected = summed_products::<T>(&self.rank, self.sizes)?[rows.start * n..rows.end * n].to_vec();
        let tolerance = summed_tolerance::<T>(world, self.sizes);
        Ok(vec![RankOutput { name: "out", found: wide(&self.out)?, expected, tolerance }])
    }

    fn work(&self) -> Work {
        self.sizes.work()
    }
}
