//! RMS norm over the rows of a matrix.

use shoal::{DType, Error, Tensor, args};

use crate::check::Tolerance;
use crate::library::{Library, Source};
use crate::random::Random;
use crate::workload::{Output, Work, Workload};

const EPS: f64 = 1e-6;

/// `y = x / sqrt(mean(x²) + eps) * w` for each row.
///
/// # Errors
/// When the kernel does not compile or fails.
pub fn rms_norm(library: &Library, x: &Tensor, w: &Tensor, y: &Tensor) -> Result<(), Error> {
    let (rows, cols) = (x.shape()[0], x.shape()[1]);
    let kernel = library.kernel(Source::RmsNorm, "rms_norm")?;
    kernel.launch(rows, args!(x, w, y, cols, cols, EPS, BLOCK = cols.next_power_of_two()))
}

/// RMS norm of a random matrix.
#[derive(Debug)]
pub struct RmsNorm {
    x: Tensor,
    w: Tensor,
    y: Tensor,
}

impl RmsNorm {
    /// A matrix of this shape.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(rows: usize, cols: usize, dtype: DType) -> Result<RmsNorm, Error> {
        let mut random = Random::new(7);
        let (x, w) = (random.tensor(dtype, &[rows, cols])?, random.tensor(dtype, &[cols])?);
        Ok(RmsNorm { x, w, y: Tensor::poisoned(dtype, &[rows, cols])? })
    }
}

impl Workload for RmsNorm {
    fn run(&self, library: &Library) -> Result<(), Error> {
        rms_norm(library, &self.x, &self.w, &self.y)
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        vec![Output { name: "y", tensor: &self.y, tolerance: Tolerance::steps(self.y.dtype(), 8.0) }]
    }

    fn expected(&self) -> Vec<Vec<f64>> {
        let cols = self.x.shape()[1];
        let w = self.w.to_f64();
        let row = |row: &[f64]| -> Vec<f64> {
            let scale = 1.0 / (row.iter().map(|v| v * v).sum::<f64>() / cols as f64 + EPS).sqrt();
            row.iter().zip(&w).map(|(v, w)| v * scale * w).collect()
        };
        vec![self.x.to_f64().chunks(cols).flat_map(row).collect()]
    }

    fn work(&self) -> Work {
        Work::Bytes(2.0 * self.x.bytes().len() as f64)
    }
}
