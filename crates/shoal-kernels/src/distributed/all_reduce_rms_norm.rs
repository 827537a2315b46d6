//! `y = rms_norm(x0 + x1 + … + bias) * w`: what a transformer layer does between two products that are spread over ranks.

use shoal::world::{Rank, Symm};
use shoal::{Error, args};

use super::communicator::{Communicator, Slots, at_least, elements, exactly};
use super::data::{Number, normal, poison, sum_of_ranks, wide};
use super::workload::{RankOutput, RankWorkload};
use crate::check::Tolerance;
use crate::library::{Source, cdiv};
use crate::workload::Work;

/// What is added to a mean of squares, so that it is never zero.
const EPS: f64 = 1e-5;

/// What is normalised, and with what.
#[derive(Debug)]
pub struct Rows<'a, T: Number> {
    /// This rank's matrix, row by row.
    pub x: &'a [T],
    /// A number for each column, or nothing; the same on all ranks.
    pub bias: Option<&'a [T]>,
    /// A weight for each column.
    pub w: &'a [T],
    /// Memory to work in, at least as large as `x`.
    pub shared: &'a Symm<T>,
    /// The result.
    pub y: &'a mut [T],
    /// Is added to the mean of squares.
    pub eps: f64,
}

impl<T: Number> Rows<'_, T> {
    /// Rows and columns, if all sizes fit.
    fn shape(&self) -> Result<(usize, usize), Error> {
        let cols = self.w.len();
        let rows = self.x.len().checked_div(cols).unwrap_or(0);
        exactly("x", self.x.len(), elements(&[rows, cols])?)?;
        exactly("y", self.y.len(), self.x.len())?;
        at_least("shared", self.shared.len(), self.x.len())?;
        if let Some(bias) = self.bias {
            exactly("bias", bias.len(), cols)?;
        }
        Ok((rows, cols))
    }
}

/// Every rank adds up all rows.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn one_shot_all_reduce_bias_rms_norm<T: Number>(comm: &Communicator<'_>, with: Rows<'_, T>) -> Result<(), Error> {
    let sizes = [with.x.len(), with.w.len(), with.bias.map_or(0, <[T]>::len)];
    comm.agree_on::<T>("one_shot_all_reduce_bias_rms_norm(n, columns, bias)", &sizes)?;
    let (rows, cols) = with.shape()?;
    let Rows { x, bias, w, shared, y, eps } = with;
    let (world, block) = (comm.size(), cols.next_power_of_two());
    let args = args!(x, bias, w, shared, y, comm.pad(), rows, cols, eps, WORLD = world, BLOCK = block);
    let name = "one_shot_all_reduce_bias_rms_norm";
    comm.launch(Source::AllReduceRmsNorm, name, comm.programs(rows), Slots::Meeting, args)
}

/// Every rank adds up some columns of each row, and gives the sums to everybody.
///
/// # Errors
/// When sizes do not fit, the kernel does not compile, or the world fails.
pub fn two_shot_all_reduce_bias_rms_norm<T: Number>(comm: &Communicator<'_>, with: Rows<'_, T>) -> Result<(), Error> {
    let sizes = [with.x.len(), with.w.len(), with.bias.map_or(0, <[T]>::len)];
    comm.agree_on::<T>("two_shot_all_reduce_bias_rms_norm(n, columns, bias)", &sizes)?;
    let (rows, cols) = with.shape()?;
    let Rows { x, bias, w, shared, y, eps } = with;
    let (world, block, part) = (comm.size(), cols.next_power_of_two(), cdiv(cols, comm.size()));
    let wide = part.next_power_of_two();
    let args =
        args!(x, bias, w, shared, y, comm.pad(), rows, cols, part, eps, WORLD = world, BLOCK = block, PART = wide);
    let name = "two_shot_all_reduce_bias_rms_norm";
    comm.launch(Source::AllReduceRmsNorm, name, comm.programs(rows), Slots::Meeting, args)
}

/// Which form a workload runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    OneShot,
    TwoShot,
}

/// Random rows.
#[derive(Debug)]
pub(crate) struct AllReduceRmsNorm<T: Number> {
    form: Form,
    x: Vec<T>,
    bias: Vec<T>,
    w: Vec<T>,
    shared: Symm<T>,
    y: Vec<T>,
}

impl<T: Number> AllReduceRmsNorm<T> {
    pub(crate) fn new(rank: &Rank, form: Form, rows: usize, cols: usize) -> Result<AllReduceRmsNorm<T>, Error> {
        let n = elements(&[rows, cols])?;
        Ok(AllReduceRmsNorm {
            form,
            x: normal(1, rank.rank(), n)?,
            bias: normal(2, 0, cols)?,
            w: normal(3, 0, cols)?,
            shared: rank.symm_zeros(n)?,
            y: vec![poison()?; n],
        })
    }
}

impl<T: Number> RankWorkload for AllReduceRmsNorm<T> {
    fn poison(&mut self) -> Result<(), Error> {
        self.y.fill(poison()?);
        self.shared.fill(poison()?)?;
        Ok(())
    }

    fn write_inputs(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn run(&mut self, comm: &Communicator<'_>) -> Result<(), Error> {
        let AllReduceRmsNorm { form, x, bias, w, shared, y } = self;
        let with = Rows { x, bias: Some(bias), w, shared, y, eps: EPS };
        match form {
            Form::OneShot => one_shot_all_reduce_bias_rms_norm(comm, with),
            Form::TwoShot => two_shot_all_reduce_bias_rms_norm(comm, with),
        }
    }

    fn outputs(&self) -> Result<Vec<RankOutput>, Error> {
        let sum = sum_of_ranks::<T>(self.shared.rank(), 1, self.x.len())?;
        let (bias, w) = (wide(&self.bias)?, wide(&self.w)?);
        let normalised = |row: &[f64]| -> Vec<f64> {
            let row: Vec<f64> = row.iter().zip(&bias).map(|(value, bias)| value + bias).collect();
            let scale = 1.0 / (row.iter().map(|v| v * v).sum::<f64>() / row.len() as f64 + EPS).sqrt();
            row.iter().zip(&w).map(|(value, w)| value * scale * w).collect()
        };
        let expected = sum.chunks(self.w.len()).flat_map(normalised).collect();
        // The two-shot form rounds the sums before it normalises them.
        let tolerance = Tolerance::steps(T::DTYPE, 8.0);
        Ok(vec![RankOutput { name: "y", found: wide(&self.y)?, expected, tolerance }])
    }

    fn work(&self) -> Work {
        Work::Bytes(size_of_val(self.x.as_slice()) as f64)
    }
}
