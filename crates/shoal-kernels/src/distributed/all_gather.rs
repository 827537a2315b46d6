//! `out = [x0, x1, …]`: everybody's elements, on every rank, in the order of the ranks.

use shoal::world::{Rank, Symm, WorldError};
use shoal::{Error, args};

use super::communicator::{Communicator, Slots, elements, exactly};
use super::data::{Number, normal, numbers_of_ranks, poison, wide};
use super::workload::{RankOutput, RankWorkload};
use crate::check::Tolerance;
use crate::library::{Source, cdiv};
use crate::workload::Work;

/// Elements of a tile.
const BLOCK: usize = 4096;

/// Each rank writes its `x` into everybody's `out`.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_gather_push<T: Number>(comm: &Communicator<'_>, x: &[T], out: &Symm<T>) -> Result<(), Error> {
    let n = x.len();
    comm.agree_on::<T>("all_gather_push(n)", &[n])?;
    exactly("out", out.len(), elements(&[n, comm.size()])?)?;
    let args = args!(x, out, comm.pad(), n, BLOCK = BLOCK);
    comm.launch(Source::AllGather, "all_gather_push", comm.programs(cdiv(n, BLOCK)), Slots::Meeting, args)
}

/// Each rank reads everybody's `x`, which may be overwritten when this returns.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_gather_pull<T: Number>(comm: &Communicator<'_>, x: &Symm<T>, out: &mut [T]) -> Result<(), Error> {
    let n = x.len();
    comm.agree_on::<T>("all_gather_pull(n)", &[n])?;
    exactly("out", out.len(), elements(&[n, comm.size()])?)?;
    let args = args!(x, out, comm.pad(), n, BLOCK = BLOCK);
    comm.launch(Source::AllGather, "all_gather_pull", comm.programs(cdiv(n, BLOCK)), Slots::Meeting, args)
}

/// The same, with the result in this rank's part of symmetric memory: on a GPU the launch returns at once.
///
/// # Errors
/// As [`all_gather_pull`].
pub fn enqueue_all_gather_pull<T: Number>(comm: &Communicator<'_>, x: &Symm<T>, out: &Symm<T>) -> Result<(), Error> {
    let n = x.len();
    comm.agree_on::<T>("enqueue_all_gather_pull(n)", &[n])?;
    exactly("out", out.len(), elements(&[n, comm.size()])?)?;
    let block = if comm.rank().gpu().is_some() { 2 * BLOCK } else { BLOCK };
    let mut args = args!(x, out, comm.pad(), n, BLOCK = block);
    args.set("num_warps", 16);
    comm.launch(Source::AllGather, "all_gather_pull", comm.programs(cdiv(n, block)), Slots::Meeting, args)
}

/// Elements go around a ring; each rank writes to its right neighbour alone.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_gather_ring<T: Number>(comm: &Communicator<'_>, x: &[T], out: &Symm<T>) -> Result<(), Error> {
    let n = x.len();
    comm.agree_on::<T>("all_gather_ring(n)", &[n])?;
    exactly("out", out.len(), elements(&[n, comm.size()])?)?;
    let args = args!(x, out, comm.pad(), n, BLOCK = BLOCK);
    comm.launch(Source::AllGather, "all_gather_ring", comm.programs(cdiv(n, BLOCK)), Slots::MeetingAndSteps, args)
}

/// Ranks form a mesh with so many columns (rank `row * columns + column`); elements go along columns first, then along
/// rows.
///
/// # Errors
/// When sizes do not fit, the ranks do not fill the mesh, the kernel does not compile, or the world fails.
pub fn all_gather_2d<T: Number>(comm: &Communicator<'_>, columns: usize, x: &[T], out: &Symm<T>) -> Result<(), Error> {
    let (n, world) = (x.len(), comm.size());
    comm.agree_on::<T>("all_gather_2d(n, columns)", &[n, columns])?;
    exactly("out", out.len(), elements(&[n, world])?)?;
    if columns == 0 || !world.is_multiple_of(columns) {
        return Err(WorldError::Argument(format!("{world} ranks do not fill a mesh of {columns} columns")).into());
    }
    let args = args!(x, out, comm.pad(), n, columns, BLOCK = BLOCK);
    comm.launch(Source::AllGather, "all_gather_2d", comm.programs(cdiv(n, BLOCK)), Slots::MeetingAndSteps, args)
}

/// The columns of the mesh nearest to a square.
#[must_use]
pub fn mesh_columns(ranks: usize) -> usize {
    let fits = |columns: &usize| ranks.is_multiple_of(*columns) && columns * columns >= ranks;
    (1..=ranks).find(fits).unwrap_or(ranks)
}

/// Which form a workload runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Push,
    Pull,
    Ring,
    TwoDimensional,
}

/// An all-gather of random elements.
#[derive(Debug)]
pub(crate) struct AllGather<T: Number> {
    form: Form,
    x: Vec<T>,
    symm_x: Symm<T>,
    symm_out: Symm<T>,
    out: Vec<T>,
}

impl<T: Number> AllGather<T> {
    pub(crate) fn new(rank: &Rank, form: Form, n: usize) -> Result<AllGather<T>, Error> {
        let total = elements(&[n, rank.size()])?;
        Ok(AllGather {
            form,
            x: normal(1, rank.rank(), n)?,
            symm_x: rank.symm_zeros(n)?,
            symm_out: rank.symm_zeros(total)?,
            out: vec![poison()?; total],
        })
    }
}

/// Everybody's elements for the first input.
pub(super) fn gathered<T: Number>(rank: &Rank, n: usize) -> Result<Vec<f64>, Error> {
    Ok(numbers_of_ranks(rank, &wide(&normal::<T>(1, rank.rank(), n)?)?)?.concat())
}

impl<T: Number> RankWorkload for AllGather<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.symm_x.fill(poison()?)?;
        self.symm_out.fill(poison()?)?;
        self.out.fill(poison()?);
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        Ok(self.symm_x.write(&self.x)?)
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        match self.form {
            Form::Push => all_gather_push(comm, &self.x, &self.symm_out),
            Form::Pull => all_gather_pull(comm, &self.symm_x, &mut self.out),
            Form::Ring => all_gather_ring(comm, &self.x, &self.symm_out),
            Form::TwoDimensional => all_gather_2d(comm, mesh_columns(comm.size()), &self.x, &self.symm_out),
        }
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let found = match self.form {
            Form::Pull => wide(&self.out)?,
            Form::Push | Form::Ring | Form::TwoDimensional => wide(&self.symm_out.read()?)?,
        };
        let expected = gathered::<T>(self.symm_x.rank(), self.x.len())?;
        Ok(vec![RankOutput { name: "out", found, expected, tolerance: Tolerance::EXACT }])
    }

    fn work(&self) -> Work {
        Work::Bytes(size_of_val(self.out.as_slice()) as f64)
    }
}
