//! The sum of everybody's `x`, of which each rank gets its [part](Parts).

use shoal::world::{Rank, Symm};
use shoal::{Error, args};

use super::communicator::{Communicator, Slots, exactly};
use super::data::{Number, normal, poison, sum_of_ranks, sum_tolerance, wide};
use super::parts::Parts;
use super::workload::{RankOutput, RankWorkload};
use crate::library::{Source, cdiv};
use crate::workload::Work;

/// Elements of a tile.
const BLOCK: usize = 4096;

/// Adds up everybody's `x`; `out` is this rank's part of the sum. `x` may be overwritten when it returns.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn reduce_scatter<T: Number>(comm: &Communicator<'_>, x: &Symm<T>, out: &mut [T]) -> Result<(), Error> {
    comm.agree_on::<T>("reduce_scatter(n)", &[x.len()])?;
    let parts = Parts::new(x.len(), comm.size());
    let mine = parts.of(comm.rank().rank());
    exactly("out", out.len(), mine.len())?;
    let programs = comm.programs(cdiv(parts.part(), BLOCK));
    let args = args!(x, out, comm.pad(), mine.start, mine.len(), WORLD = comm.size(), BLOCK = BLOCK);
    comm.launch(Source::ReduceScatter, "reduce_scatter", programs, Slots::Meeting, args)
}

/// A reduce-scatter of random elements.
#[derive(Debug)]
pub(crate) struct ReduceScatter<T: Number> {
    x: Vec<T>,
    symm_x: Symm<T>,
    out: Vec<T>,
}

impl<T: Number> ReduceScatter<T> {
    pub(crate) fn new(rank: &Rank, n: usize) -> Result<ReduceScatter<T>, Error> {
        let mine = Parts::new(n, rank.size()).of(rank.rank());
        Ok(ReduceScatter {
            x: normal(1, rank.rank(), n)?,
            symm_x: rank.symm_zeros(n)?,
            out: vec![poison()?; mine.len()],
        })
    }
}

impl<T: Number> RankWorkload for ReduceScatter<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.symm_x.fill(poison()?)?;
        self.out.fill(poison()?);
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        Ok(self.symm_x.write(&self.x)?)
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        reduce_scatter(comm, &self.symm_x, &mut self.out)
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let rank = self.symm_x.rank();
        let sum = sum_of_ranks::<T>(rank, 1, self.x.len())?;
        let expected = sum[Parts::new(self.x.len(), rank.size()).of(rank.rank())].to_vec();
        let tolerance = sum_tolerance::<T>(rank.size());
        Ok(vec![RankOutput { name: "out", found: wide(&self.out)?, expected, tolerance }])
    }

    fn work(&self) -> Work {
        Work::Bytes(size_of_val(self.x.as_slice()) as f64)
    }
}
