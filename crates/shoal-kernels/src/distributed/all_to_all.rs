//! Rows for everybody, as many for each as the sender likes.

use shoal::world::{Rank, Symm, WorldError};
use shoal::{Error, args};

use super::communicator::{Communicator, Slots, elements, exactly};
use super::data::{Number, normal, poison, wide};
use super::workload::{RankOutput, RankWorkload};
use crate::check::Tolerance;
use crate::library::{Source, cdiv};
use crate::random::Random;
use crate::workload::Work;

/// Elements of a tile.
const BLOCK: usize = 4096;

/// What goes where.
#[derive(Debug)]
pub struct Exchange<'a, T: Number> {
    /// This rank's rows, those for rank 0 first.
    pub x: &'a Symm<T>,
    /// How many rows are for each rank.
    pub splits: &'a [usize],
    /// Memory for the splits: one word for each rank.
    pub shared_splits: &'a Symm<i64>,
    /// Elements of a row.
    pub dim: usize,
    /// Where the rows for this rank go, those from rank 0 first.
    pub out: &'a mut [T],
}

/// Sends rows of any number to all ranks, and returns how many came from each. `x` may be overwritten when it returns.
///
/// # Errors
/// When sizes do not fit, more rows arrive than `out` has room for, the kernel does not compile, or the world fails.
pub fn all_to_all<T: Number>(comm: &Communicator<'_>, with: Exchange<'_, T>) -> Result<Vec<usize>, Error> {
    let Exchange { x, splits, shared_splits, dim, out } = with;
    let world = comm.size();
    comm.agree_on::<T>("all_to_all(x, dim)", &[x.len(), dim])?;
    exactly("splits", splits.len(), world)?;
    exactly("shared_splits", shared_splits.len(), world)?;
    let sent = splits.iter().try_fold(0usize, |sum, &rows| sum.checked_add(rows)).unwrap_or(usize::MAX);
    if dim == 0 || elements(&[sent, dim])? > x.len() {
        let text = format!("{sent} rows of {dim} elements are sent, but `x` has {} elements", x.len());
        return Err(WorldError::Argument(text).into());
    }
    let words: Vec<i64> = splits.iter().map(|&rows| rows as i64).collect();
    shared_splits.write(&words)?;
    let (room, mut received) = (out.len() / dim, vec![0i64; world]);
    let programs = comm.programs(cdiv(x.len(), BLOCK));
    let args = args!(x, shared_splits, out, &mut received, comm.pad(), dim, room, BLOCK = BLOCK);
    comm.launch(Source::AllToAll, "all_to_all", programs, Slots::Meeting, args)?;
    let received: Vec<usize> = received.into_iter().map(|rows| usize::try_from(rows).unwrap_or(0)).collect();
    let arrived: usize = received.iter().sum();
    if arrived > room {
        let text = format!("{arrived} rows arrived, but `out` has room for {room} of {dim} elements");
        return Err(WorldError::Argument(text).into());
    }
    Ok(received)
}

/// Random rows of random numbers.
#[derive(Debug)]
pub(crate) struct AllToAll<T: Number> {
    dim: usize,
    most: usize,
    x: Vec<T>,
    symm_x: Symm<T>,
    shared_splits: Symm<i64>,
    out: Vec<T>,
}

/// How many rows each rank gets of a sender: up to `most`, and of every third none.
pub(super) fn splits(sender: usize, ranks: usize, most: usize) -> Vec<usize> {
    let mut random = Random::new(1000 + sender as u64);
    let rows = |to: usize| if (sender + to) % 3 == 1 { 0 } else { (random.uniform() * (most + 1) as f64) as usize };
    (0..ranks).map(rows).collect()
}

/// The numbers that a sender has for a rank; a reference makes no others.
fn rows_between<T: Number>(sender: usize, to: usize, ranks: usize, count: usize) -> Result<Vec<T>, Error> {
    normal(1, sender * ranks + to, count)
}

/// What a rank sends, in the order of the receivers, and behind it what nobody may read.
pub(super) fn rows_of<T: Number>(rank: &Rank, most: usize, dim: usize) -> Result<Vec<T>, Error> {
    let (me, ranks) = (rank.rank(), rank.size());
    let mut x = Vec::new();
    for (to, rows) in splits(me, ranks, most).into_iter().enumerate() {
        x.extend(rows_between::<T>(me, to, ranks, rows * dim)?);
    }
    x.resize(elements(&[most, dim, ranks])?, poison()?);
    Ok(x)
}

impl<T: Number> AllToAll<T> {
    pub(crate) fn new(rank: &Rank, most: usize, dim: usize) -> Result<AllToAll<T>, Error> {
        let n = elements(&[most, dim, rank.size()])?;
        Ok(AllToAll {
            dim,
            most,
            x: rows_of(rank, most, dim)?,
            symm_x: rank.symm_zeros(n)?,
            shared_splits: rank.symm_zeros(rank.size())?,
            out: vec![poison()?; n],
        })
    }

    fn rank(&self) -> &Rank {
        self.symm_x.rank()
    }
}

impl<T: Number> RankWorkload for AllToAll<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.symm_x.fill(poison()?)?;
        self.out.fill(poison()?);
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        Ok(self.symm_x.write(&self.x)?)
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        let splits = splits(self.rank().rank(), comm.size(), self.most);
        let AllToAll { dim, symm_x: x, shared_splits, out, .. } = self;
        all_to_all(comm, Exchange { x, splits: &splits, shared_splits, dim: *dim, out }).map(drop)
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        expected_rows::<T>(self.rank(), (self.most, self.dim), &self.out)
    }

    fn work(&self) -> Work {
        let rows: usize = splits(self.rank().rank(), self.rank().size(), self.most).iter().sum();
        Work::Bytes((rows * self.dim * size_of::<T>()) as f64)
    }
}

/// What arrives at a rank of up to `most` rows from everybody, and that nothing behind it is touched.
pub(super) fn expected_rows<T: Number>(
    rank: &Rank,
    (most, dim): (usize, usize),
    out: &[T],
) -> Result<Vec<RankOutput>, Error> {
    let (me, ranks) = (rank.rank(), rank.size());
    let mut expected = Vec::new();
    for sender in 0..ranks {
        let rows = splits(sender, ranks, most)[me];
        expected.extend(wide(&rows_between::<T>(sender, me, ranks, rows * dim)?)?);
    }
    let arrived = expected.len();
    let (found, rest) = (wide(&out[..arrived])?, wide(&out[arrived..])?);
    let untouched = rest.iter().filter(|value| value.is_nan()).count();
    let tolerance = Tolerance::EXACT;
    Ok(vec![
        RankOutput { name: "out", found, expected, tolerance },
        RankOutput { name: "untouched", found: vec![untouched as f64], expected: vec![rest.len() as f64], tolerance },
    ])
}
