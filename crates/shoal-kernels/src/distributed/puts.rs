//! Collectives made of puts and signals alone: they run wherever ranks are, also between hosts, where the others, which
//! load and store each other's memory, are refused.

use shoal::world::{Rank, Symm, WorldError};
use shoal::{Args, Error, args};

use super::all_gather::gathered;
use super::all_to_all::{expected_rows, rows_of, splits};
use super::communicator::{Communicator, Slots, at_least, elements, exactly};
use super::data::{Number, normal, poison, sum_of_ranks, sum_tolerance, wide};
use super::parts::Parts;
use super::workload::{RankOutput, RankWorkload};
use crate::check::Tolerance;
use crate::library::{Source, cdiv};
use crate::workload::Work;

/// Elements of a tile of sums.
const BLOCK: usize = 4096;
/// Elements that are worth a program of their own.
const SHARE: usize = 4096;

fn launch(comm: &Communicator<'_>, name: &'static str, programs: usize, args: Args<'_>) -> Result<(), Error> {
    comm.launch(Source::Puts, name, programs, Slots::Nothing, args)
}

/// Each rank puts its `x` into everybody's `out`.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_gather_put<T: Number>(comm: &Communicator<'_>, x: &[T], out: &Symm<T>) -> Result<(), Error> {
    comm.agree_on::<T>("all_gather_put(n)", &[x.len()])?;
    exactly("out", out.len(), elements(&[x.len(), comm.size()])?)?;
    let (signals, round) = comm.next_rounds()?;
    let programs = comm.programs(cdiv(x.len(), SHARE));
    launch(comm, "all_gather_put", programs, args!(x, out, signals, round, x.len()))
}

/// Elements go around a ring; each rank puts to its right neighbour alone.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_gather_put_ring<T: Number>(comm: &Communicator<'_>, x: &[T], out: &Symm<T>) -> Result<(), Error> {
    comm.agree_on::<T>("all_gather_put_ring(n)", &[x.len()])?;
    exactly("out", out.len(), elements(&[x.len(), comm.size()])?)?;
    let (signals, round) = comm.next_rounds()?;
    let programs = comm.programs(cdiv(x.len(), SHARE));
    launch(comm, "all_gather_put_ring", programs, args!(x, out, signals, round, x.len()))
}

/// Replaces everybody's `x` by that of rank `root`.
///
/// # Errors
/// When there is no such rank, the kernel does not compile, or the world fails.
pub fn broadcast_put<T: Number>(comm: &Communicator<'_>, x: &Symm<T>, root: usize) -> Result<(), Error> {
    comm.agree_on::<T>("broadcast_put(n, root)", &[x.len(), root])?;
    let world = comm.size();
    if root >= world {
        return Err(WorldError::Argument(format!("there is no rank {root} in a world of {world}")).into());
    }
    let (signals, round) = comm.next_rounds()?;
    launch(comm, "broadcast_put", comm.programs(cdiv(x.len(), SHARE)), args!(x, signals, round, root, x.len()))
}

/// Adds up everybody's `x`; `out` is this rank's [part](Parts) of the sum. `inbox` is memory to work in: a part for each
/// rank.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn reduce_scatter_put<T: Number>(
    comm: &Communicator<'_>,
    x: &[T],
    inbox: &Symm<T>,
    out: &mut [T],
) -> Result<(), Error> {
    comm.agree_on::<T>("reduce_scatter_put(n)", &[x.len()])?;
    let (n, world, parts) = (x.len(), comm.size(), Parts::new(x.len(), comm.size()));
    exactly("out", out.len(), parts.of(comm.rank().rank()).len())?;
    at_least("inbox", inbox.len(), elements(&[parts.part(), world])?)?;
    let (signals, round) = comm.next_rounds()?;
    let args = args!(x, inbox, out, signals, round, n, parts.part(), WORLD = world, BLOCK = BLOCK);
    launch(comm, "reduce_scatter_put", comm.programs(cdiv(parts.part(), SHARE)), args)
}

/// The sum of everybody's `x` in everybody's `out`, with the same bits on all ranks. `inbox` is memory to work in: a
/// [part](Parts) for each rank.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn all_reduce_put<T: Number>(
    comm: &Communicator<'_>,
    x: &[T],
    inbox: &Symm<T>,
    out: &Symm<T>,
) -> Result<(), Error> {
    comm.agree_on::<T>("all_reduce_put(n)", &[x.len()])?;
    let (n, world, parts) = (x.len(), comm.size(), Parts::new(x.len(), comm.size()));
    exactly("out", out.len(), n)?;
    at_least("inbox", inbox.len(), elements(&[parts.part(), world])?)?;
    let (signals, round) = comm.next_rounds()?;
    let args = args!(x, inbox, out, signals, round, n, parts.part(), WORLD = world, BLOCK = BLOCK);
    launch(comm, "all_reduce_put", comm.programs(cdiv(parts.part(), SHARE)), args)
}

/// What goes where.
#[derive(Debug)]
pub struct ExchangeByPuts<'a, T: Number> {
    /// This rank's rows, those for rank 0 first.
    pub x: &'a [T],
    /// How many rows are for each rank.
    pub splits: &'a [usize],
    /// Elements of a row.
    pub dim: usize,
    /// Where the rows for each rank go, those from rank 0 first.
    pub out: &'a Symm<T>,
}

/// Sends rows of any number to all ranks, and returns how many came from each.
///
/// # Errors
/// When sizes do not fit, more rows arrive than `out` has room for, the kernel does not compile, or the world fails.
pub fn all_to_all_put<T: Number>(comm: &Communicator<'_>, with: ExchangeByPuts<'_, T>) -> Result<Vec<usize>, Error> {
    let ExchangeByPuts { x, splits, dim, out } = with;
    let world = comm.size();
    comm.agree_on::<T>("all_to_all_put(dim, out)", &[dim, out.len()])?;
    exactly("splits", splits.len(), world)?;
    let sent = splits.iter().try_fold(0usize, |sum, &rows| sum.checked_add(rows)).unwrap_or(usize::MAX);
    if dim == 0 || elements(&[sent, dim])? > x.len() {
        let text = format!("{sent} rows of {dim} elements are sent, but `x` has {} elements", x.len());
        return Err(WorldError::Argument(text).into());
    }
    let words: Vec<i64> = splits.iter().map(|&rows| rows as i64).collect();
    let (room, mut received) = (out.len() / dim, vec![0i64; world]);
    let tables = comm.split_tables()?;
    let (signals, round) = comm.next_rounds()?;
    // The same on all ranks, however much each sends.
    let programs = comm.programs(cdiv(out.len(), SHARE * world));
    let args = args!(x, &words, tables, out, &mut received, signals, round, dim, room);
    launch(comm, "all_to_all_put", programs, args)?;
    let received: Vec<usize> = received.into_iter().map(|rows| usize::try_from(rows).unwrap_or(0)).collect();
    let arrived: usize = received.iter().sum();
    if arrived > room {
        let text = format!("{arrived} rows arrived, but `out` has room for {room} of {dim} elements");
        return Err(WorldError::Argument(text).into());
    }
    Ok(received)
}

/// Which collective a workload runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    AllGather,
    AllGatherRing,
    Broadcast,
    ReduceScatter,
    AllReduce,
}

/// A collective of random elements.
#[derive(Debug)]
pub(crate) struct Put<T: Number> {
    form: Form,
    x: Vec<T>,
    inbox: Symm<T>,
    symm_out: Symm<T>,
    out: Vec<T>,
}

impl<T: Number> Put<T> {
    pub(crate) fn new(rank: &Rank, form: Form, n: usize) -> Result<Put<T>, Error> {
        let (world, parts) = (rank.size(), Parts::new(n, rank.size()));
        let outputs = match form {
            Form::AllGather | Form::AllGatherRing => elements(&[n, world])?,
            Form::Broadcast | Form::AllReduce | Form::ReduceScatter => n,
        };
        Ok(Put {
            form,
            x: normal(1, rank.rank(), n)?,
            inbox: rank.symm_zeros(elements(&[parts.part(), world])?)?,
            symm_out: rank.symm_zeros(outputs)?,
            out: vec![poison()?; parts.of(rank.rank()).len()],
        })
    }

    /// The rank whose elements are broadcast.
    fn root(&self) -> usize {
        self.symm_out.rank().size() - 1
    }
}

impl<T: Number> RankWorkload for Put<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.inbox.fill(poison()?)?;
        self.symm_out.fill(poison()?)?;
        self.out.fill(poison()?);
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        if self.form == Form::Broadcast && self.symm_out.rank().rank() == self.root() {
            self.symm_out.write(&self.x)?;
        }
        Ok(())
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        let Put { x, inbox, symm_out, out, .. } = self;
        match self.form {
            Form::AllGather => all_gather_put(comm, x, symm_out),
            Form::AllGatherRing => all_gather_put_ring(comm, x, symm_out),
            Form::Broadcast => broadcast_put(comm, symm_out, comm.size() - 1),
            Form::ReduceScatter => reduce_scatter_put(comm, x, inbox, out),
            Form::AllReduce => all_reduce_put(comm, x, inbox, symm_out),
        }
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let rank = self.symm_out.rank();
        let (world, n) = (rank.size(), self.x.len());
        let sum = || sum_of_ranks::<T>(rank, 1, n);
        let (found, expected, tolerance) = match self.form {
            Form::AllGather | Form::AllGatherRing => (self.symm_out.read()?, gathered::<T>(rank, n)?, Tolerance::EXACT),
            Form::Broadcast => (self.symm_out.read()?, wide(&normal::<T>(1, self.root(), n)?)?, Tolerance::EXACT),
            Form::AllReduce => (self.symm_out.read()?, sum()?, sum_tolerance::<T>(world)),
            Form::ReduceScatter => {
                let mine = Parts::new(n, world).of(rank.rank());
                (self.out.clone(), sum()?[mine].to_vec(), sum_tolerance::<T>(world))
            }
        };
        Ok(vec![RankOutput { name: "out", found: wide(&found)?, expected, tolerance }])
    }

    fn work(&self) -> Work {
        Work::Bytes(size_of_val(self.x.as_slice()) as f64)
    }
}

/// Random rows of random numbers.
#[derive(Debug)]
pub(crate) struct PutRows<T: Number> {
    dim: usize,
    most: usize,
    x: Vec<T>,
    out: Symm<T>,
}

impl<T: Number> PutRows<T> {
    pub(crate) fn new(rank: &Rank, most: usize, dim: usize) -> Result<PutRows<T>, Error> {
        let n = elements(&[most, dim, rank.size()])?;
        Ok(PutRows { dim, most, x: rows_of(rank, most, dim)?, out: rank.symm_zeros(n)? })
    }

    fn splits(&self) -> Vec<usize> {
        let rank = self.out.rank();
        splits(rank.rank(), rank.size(), self.most)
    }
}

impl<T: Number> RankWorkload for PutRows<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.out.fill(poison()?)?;
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        let splits = self.splits();
        let PutRows { dim, x, out, .. } = self;
        all_to_all_put(comm, ExchangeByPuts { x, splits: &splits, dim: *dim, out }).map(drop)
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let rank = self.out.rank();
        expected_rows::<T>(rank, (self.most, self.dim), &self.out.read()?)
    }

    fn work(&self) -> Work {
        let rows: usize = self.splits().iter().sum();
        Work::Bytes((rows * self.dim * size_of::<T>()) as f64)
    }
}
