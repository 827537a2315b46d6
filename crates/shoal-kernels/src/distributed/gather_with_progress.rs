//! All-gather by copies of a stream, which says what is there: kernels may begin with what has arrived.

use shoal::Error;
use shoal::profile::Recorder;
use shoal::world::{Place, Rank, Stream, Symm, Value, WorldError};

use super::all_gather::gathered;
use super::broadcast::barriers;
use super::communicator::{Communicator, elements, exactly};
use super::data::{Number, normal, poison, wide};
use super::parts::Parts;
use super::profiling::Profiling;
use super::workload::{RankOutput, RankWorkload};
use crate::check::Tolerance;
use crate::workload::Work;

/// Copies everybody's elements on a stream, in `splits` pieces of each rank, and says which are there: when piece `s` of
/// rank `r` is in `out`, word `r * splits + s` of `progress` becomes 1. Own elements come last.
#[derive(Debug)]
pub struct GatherWithProgress {
    stream: Stream,
    progress: Symm<u32>,
    /// What words are when nothing is there.
    zeros: Symm<u32>,
    splits: usize,
}

/// Pieces of each rank in workloads.
pub(super) const SPLITS: usize = 2;

impl GatherWithProgress {
    /// With so many pieces of each rank. Collective over the world.
    ///
    /// # Errors
    /// When there is no piece, the heap has no room, or the ranks do not ask for the same.
    pub fn new(rank: &Rank, splits: usize) -> Result<GatherWithProgress, Error> {
        if splits == 0 {
            return Err(WorldError::Argument("elements are gathered in at least one piece".to_owned()).into());
        }
        let words = elements(&[rank.size(), splits])?;
        let (progress, zeros) = (rank.symm_zeros(words)?, rank.symm_zeros(words)?);
        Ok(GatherWithProgress { stream: rank.stream()?, progress, zeros, splits })
    }

    /// The words that tell what is there; of this rank alone.
    #[must_use]
    pub fn progress(&self) -> &Symm<u32> {
        &self.progress
    }

    /// The pieces of each rank.
    #[must_use]
    pub fn splits(&self) -> usize {
        self.splits
    }

    /// Begins to copy everybody's `x`, which are `rows` rows; pieces are of whole rows. Collective over the world.
    ///
    /// # Errors
    /// When sizes do not fit, or the world fails.
    pub fn begin<T: Number>(&self, x: &Symm<T>, rows: usize, out: &Symm<T>) -> Result<(), Error> {
        self.begin_recorded(x, rows, out, None)
    }

    /// The same, with copies recorded.
    pub(super) fn begin_recorded<T: Number>(
        &self,
        x: &Symm<T>,
        rows: usize,
        out: &Symm<T>,
        recorder: Option<&Recorder>,
    ) -> Result<(), Error> {
        // Everybody's elements are there, and nobody reads what the last gathering brought.
        self.progress.rank().barrier()?;
        self.copy_all(x, rows, out, recorder)
    }

    /// Puts the copies into the stream.
    fn copy_all<T: Number>(
        &self,
        x: &Symm<T>,
        rows: usize,
        out: &Symm<T>,
        recorder: Option<&Recorder>,
    ) -> Result<(), Error> {
        let rank = self.progress.rank();
        let (me, world) = (rank.rank(), rank.size());
        exactly("out", out.len(), elements(&[x.len(), world])?)?;
        let cols = x.len().checked_div(rows).unwrap_or(0);
        exactly("x", x.len(), rows * cols)?;
        let pieces = Parts::new(rows, self.splits);
        for step in 0..world {
            let source = (me + 1 + step) % world;
            for split in 0..self.splits {
                let piece = pieces.of(split);
                let (start, end) = (piece.start * cols, piece.end * cols);
                if start < end {
                    let base = source * x.len();
                    let to = Place::symm(out, me, base + start..base + end)?;
                    let from = Place::symm(x, source, start..end)?;
                    let began = recorder.map(|recorder| (recorder, self.stream.note_time()));
                    self.stream.copy(to, from)?;
                    if let Some((recorder, began)) = began {
                        recorder.record_noted(format!("copy from {source}"), began, self.stream.note_time());
                    }
                }
                let word = source * self.splits + split;
                self.stream.write_value(Place::symm(&self.progress, me, word..=word)?, Value::U32(1))?;
            }
        }
        Ok(())
    }

    /// Begins as [`GatherWithProgress::begin`] does, with everything in the order of the rank's launches: no host waits.
    /// Collective over the world.
    ///
    /// # Errors
    /// When sizes do not fit, or the world fails.
    pub fn enqueue<T: Number>(
        &self,
        comm: &Communicator<'_>,
        x: &Symm<T>,
        rows: usize,
        out: &Symm<T>,
    ) -> Result<(), Error> {
        barriers(comm, 1, 1)?;
        self.stream.wait_for_launches()?;
        self.copy_all(x, rows, out, comm.profiling().map(Profiling::stream))
    }

    /// Ends what [`GatherWithProgress::enqueue`] began: the rank's launches from now on find all elements there and the
    /// words lowered.
    ///
    /// # Errors
    /// When the world fails.
    pub fn enqueue_end(&self) -> Result<(), Error> {
        let me = self.progress.rank().rank();
        self.stream.wait_for_launches()?;
        self.stream.copy(Place::symm(&self.progress, me, ..)?, Place::symm(&self.zeros, me, ..)?)?;
        Ok(self.stream.hold_launches()?)
    }

    /// Lets the rank's launches from now on find all elements there.
    ///
    /// # Errors
    /// When the world fails.
    pub fn hold_launches(&self) -> Result<(), Error> {
        Ok(self.stream.hold_launches()?)
    }

    /// Waits until all is copied on all ranks, and lowers the words. Collective over the world; everybody's `x` may be
    /// overwritten when it returns.
    ///
    /// # Errors
    /// When the world fails.
    pub fn end(&self) -> Result<(), Error> {
        self.stream.synchronize()?;
        self.progress.fill(0)?;
        self.progress.rank().barrier()?;
        Ok(())
    }
}

/// Gathers everybody's `x`, by copies of a stream.
///
/// # Errors
/// When sizes do not fit, or the world fails.
pub fn all_gather_with_progress<T: Number>(
    comm: &Communicator<'_>,
    gather: &GatherWithProgress,
    x: &Symm<T>,
    out: &Symm<T>,
) -> Result<(), Error> {
    comm.agree_on::<T>("all_gather_with_progress(n, splits)", &[x.len(), gather.splits])?;
    gather.begin(x, x.len(), out)?;
    gather.end()
}

/// Gathers random elements by copies.
#[derive(Debug)]
pub(crate) struct CopiedAllGather<T: Number> {
    x: Vec<T>,
    symm_x: Symm<T>,
    out: Symm<T>,
    gather: GatherWithProgress,
}

impl<T: Number> CopiedAllGather<T> {
    pub(crate) fn new(rank: &Rank, n: usize) -> Result<CopiedAllGather<T>, Error> {
        Ok(CopiedAllGather {
            x: normal(1, rank.rank(), n)?,
            symm_x: rank.symm_zeros(n)?,
            out: rank.symm_zeros(elements(&[n, rank.size()])?)?,
            gather: GatherWithProgress::new(rank, SPLITS)?,
        })
    }
}

impl<T: Number> RankWorkload for CopiedAllGather<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.symm_x.fill(poison()?)?;
        self.out.fill(poison()?)?;
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        Ok(self.symm_x.write(&self.x)?)
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        all_gather_with_progress(comm, &self.gather, &self.symm_x, &self.out)
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let expected = gathered::<T>(self.symm_x.rank(), self.x.len())?;
        Ok(vec![RankOutput { name: "out", found: wide(&self.out.read()?)?, expected, tolerance: Tolerance::EXACT }])
    }

    fn work(&self) -> Work {
        Work::Bytes((self.out.len() * size_of::<T>()) as f64)
    }
}
