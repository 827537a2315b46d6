//! Softmax over the rows of a matrix.

use shoal::{DType, Error, Tensor, args};

use crate::check::Tolerance;
use crate::library::{Library, Source};
use crate::random::Random;
use crate::workload::{Output, Work, Workload};

/// Programs for each thread: enough to balance, few enough that each has many rows.
const PROGRAMS_PER_THREAD: usize = 8;

/// `out = softmax(x)` over the last of two dimensions.
///
/// # Errors
/// When the kernel does not compile or fails.
pub fn softmax(library: &Library, x: &Tensor, out: &Tensor) -> Result<(), Error> {
    let (rows, cols) = (x.shape()[0], x.shape()[1]);
    let programs = rows.min(library.device().threads()? * PROGRAMS_PER_THREAD);
    let kernel = library.kernel(Source::Softmax, "softmax")?;
    kernel.launch(programs, args!(x, out, cols, cols, rows, cols, BLOCK = cols.next_power_of_two()))
}

/// Softmax of a random matrix.
#[derive(Debug)]
pub struct Softmax {
    x: Tensor,
    out: Tensor,
}

impl Softmax {
    /// A matrix of this shape.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(rows: usize, cols: usize, dtype: DType) -> Result<Softmax, Error> {
        let x = Random::new(2).tensor(dtype, &[rows, cols])?;
        Ok(Softmax { x, out: Tensor::poisoned(dtype, &[rows, cols])? })
    }
}

impl Workload for Softmax {
    fn run(&self, library: &Library) -> Result<(), Error> {
        softmax(library, &self.x, &self.out)
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        vec![Output { name: "out", tensor: &self.out, tolerance: Tolerance::steps(self.out.dtype(), 4.0) }]
    }

    fn expected(&self) -> Vec<Vec<f64>> {
        let cols = self.x.shape()[1];
        let row = |row: &[f64]| {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let powers: Vec<f64> = row.iter().map(|x| (x - largest).exp()).collect();
            let sum: f64 = powers.iter().sum();
            powers.into_iter().map(move |power| power / sum)
        };
        vec![self.x.to_f64().chunks(cols).flat_map(row).collect()]
    }

    fn work(&self) -> Work {
        Work::Bytes(2.0 * self.x.bytes().len() as f64)
    }
}
