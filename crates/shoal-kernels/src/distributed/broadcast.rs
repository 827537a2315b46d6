//! One rank's elements for everybody, and everybody's for the right neighbour.

use shoal::world::{Rank, Symm, WorldError};
use shoal::{Error, args};

use super::communicator::{Communicator, Slots, exactly};
use super::data::{Number, normal, poison, wide};
use super::workload::{RankOutput, RankWorkload};
use crate::check::Tolerance;
use crate::library::{Source, cdiv};
use crate::workload::Work;

/// Elements of a tile.
const BLOCK: usize = 4096;

/// Replaces everybody's `x` by that of rank `root`.
///
/// # Errors
/// When there is no such rank, the kernel does not compile, or the world fails.
pub fn broadcast<T: Number>(comm: &Communicator<'_>, x: &Symm<T>, root: usize) -> Result<(), Error> {
    let (n, world) = (x.len(), comm.size());
    comm.agree_on::<T>("broadcast(n, root)", &[n, root])?;
    if root >= world {
        return Err(WorldError::Argument(format!("there is no rank {root} in a world of {world}")).into());
    }
    let args = args!(x, comm.pad(), root, n, BLOCK = BLOCK);
    comm.launch(Source::Broadcast, "broadcast", comm.programs(cdiv(n, BLOCK)), Slots::Meeting, args)
}

/// Writes `x` into the `out` of the next rank, and that of the last into rank 0's.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn ring_put<T: Number>(comm: &Communicator<'_>, x: &[T], out: &Symm<T>) -> Result<(), Error> {
    let n = x.len();
    comm.agree_on::<T>("ring_put(n)", &[n])?;
    exactly("out", out.len(), n)?;
    let args = args!(x, out, comm.pad(), n, BLOCK = BLOCK);
    comm.launch(Source::Broadcast, "ring_put", comm.programs(cdiv(n, BLOCK)), Slots::Meeting, args)
}

/// Programs of one number meet with those of all other ranks, `rounds` times.
///
/// # Errors
/// When the kernel does not compile, or the world fails.
pub fn barriers(comm: &Communicator<'_>, programs: usize, rounds: usize) -> Result<(), Error> {
    comm.agree_on::<u32>("barriers(programs, rounds)", &[programs, rounds])?;
    let args = args!(comm.pad(), rounds);
    comm.launch(Source::Broadcast, "barriers", comm.programs(programs), Slots::Meeting, args)
}

/// Which of the two a workload runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Broadcast,
    RingPut,
}

/// Random elements that are sent on.
#[derive(Debug)]
pub(crate) struct Sent<T: Number> {
    form: Form,
    x: Vec<T>,
    shared: Symm<T>,
}

impl<T: Number> Sent<T> {
    pub(crate) fn new(rank: &Rank, form: Form, n: usize) -> Result<Sent<T>, Error> {
        Ok(Sent { form, x: normal(1, rank.rank(), n)?, shared: rank.symm_zeros(n)? })
    }

    /// Whose elements this rank gets. The root is not the first rank, where there are others.
    fn source(&self) -> usize {
        let (rank, world) = (self.shared.rank().rank(), self.shared.rank().size());
        match self.form {
            Form::Broadcast => world / 2,
            Form::RingPut => (rank + world - 1) % world,
        }
    }
}

impl<T: Number> RankWorkload for Sent<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.shared.fill(poison()?)?;
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        match self.form {
            Form::Broadcast if self.source() == self.shared.rank().rank() => self.shared.write(&self.x)?,
            Form::Broadcast | Form::RingPut => {}
        }
        Ok(())
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        match self.form {
            Form::Broadcast => broadcast(comm, &self.shared, self.source()),
            Form::RingPut => ring_put(comm, &self.x, &self.shared),
        }
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let expected = wide(&normal::<T>(1, self.source(), self.x.len())?)?;
        Ok(vec![RankOutput { name: "out", found: wide(&self.shared.read()?)?, expected, tolerance: Tolerance::EXACT }])
    }

    fn work(&self) -> Work {
        Work::Bytes(size_of_val(self.x.as_slice()) as f64)
    }
}
