//! Layer norm over the rows of a matrix, forward and backward.

use shoal::{DType, Error, Tensor, args};

use crate::check::Tolerance;
use crate::library::{Library, Source, cdiv};
use crate::random::Random;
use crate::workload::{Output, Work, Workload};

const EPS: f64 = 1e-5;
/// Partial sums of the weights' gradients: rows that share one wait for each other.
const GROUPS: usize = 16;

/// The parameters of a layer norm.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'a> {
    /// The scale of each column.
    pub scale: &'a Tensor,
    /// The shift of each column.
    pub shift: &'a Tensor,
}

/// What the forward pass keeps of each row for the backward pass.
#[derive(Debug, Clone, Copy)]
pub struct Moments<'a> {
    /// The mean.
    pub mean: &'a Tensor,
    /// One over the standard deviation.
    pub rstd: &'a Tensor,
}

/// `y = (x - mean) * rstd * scale + shift` for each row.
///
/// # Errors
/// When the kernel does not compile or fails.
pub fn forward(library: &Library, x: &Tensor, y: &Tensor, w: Weights<'_>, kept: Moments<'_>) -> Result<(), Error> {
    let (rows, cols) = (x.shape()[0], x.shape()[1]);
    let block = cols.next_power_of_two().min(4096);
    let kernel = library.kernel(Source::LayerNorm, "layer_norm_forward")?;
    kernel.launch(rows, args!(x, y, w.scale, w.shift, kept.mean, kept.rstd, cols, cols, EPS, BLOCK = block))
}

/// The gradients that a backward pass writes.
#[derive(Debug, Clone, Copy)]
pub struct Gradients<'a> {
    /// Of the input.
    pub x: &'a Tensor,
    /// Of the scale.
    pub scale: &'a Tensor,
    /// Of the shift.
    pub shift: &'a Tensor,
}

/// The gradients of a layer norm, from the gradient `dy` of its output.
///
/// # Errors
/// When a kernel does not compile or fails, or there is not enough memory.
pub fn backward(
    library: &Library,
    dy: &Tensor,
    x: &Tensor,
    scale: &Tensor,
    kept: Moments<'_>,
    out: Gradients<'_>,
) -> Result<(), Error> {
    let (rows, cols) = (x.shape()[0], x.shape()[1]);
    let groups = GROUPS.min(rows);
    let part = || Tensor::poisoned(DType::F32, &[groups, cols]);
    let (scale_part, shift_part) = (part()?, part()?);
    let (locks, filled) = (Tensor::zeros(DType::I32, &[groups])?, Tensor::zeros(DType::I32, &[groups])?);
    library.kernel(Source::LayerNorm, "layer_norm_backward_rows")?.launch(
        rows,
        args!(
            out.x,
            dy,
            &scale_part,
            &shift_part,
            x,
            scale,
            kept.mean,
            kept.rstd,
            &locks,
            &filled,
            cols,
            cols,
            GROUPS = groups,
            BLOCK = cols.next_power_of_two()
        ),
    )?;
    let block = cols.next_power_of_two().min(128);
    let sum = library.kernel(Source::LayerNorm, "layer_norm_backward_sum")?;
    let block_groups = groups.next_power_of_two();
    sum.launch(
        cdiv(cols, block),
        args!(&scale_part, &shift_part, out.scale, out.shift, groups, cols, BLOCK_G = block_groups, BLOCK = block),
    )
}

/// Mean and one over the standard deviation of each row, in `f64`.
fn moments(x: &[f64], cols: usize) -> Vec<(f64, f64)> {
    let row = |row: &[f64]| {
        let mean = row.iter().sum::<f64>() / cols as f64;
        let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / cols as f64;
        (mean, 1.0 / (variance + EPS).sqrt())
    };
    x.chunks(cols).map(row).collect()
}

/// The forward pass on random data.
#[derive(Debug)]
pub struct Forward {
    x: Tensor,
    scale: Tensor,
    shift: Tensor,
    y: Tensor,
    mean: Tensor,
    rstd: Tensor,
}

impl Forward {
    /// A matrix of this shape.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(rows: usize, cols: usize, dtype: DType) -> Result<Forward, Error> {
        let mut random = Random::new(5);
        Ok(Forward {
            x: random.tensor(dtype, &[rows, cols])?,
            scale: random.tensor(dtype, &[cols])?,
            shift: random.tensor(dtype, &[cols])?,
            y: Tensor::poisoned(dtype, &[rows, cols])?,
            mean: Tensor::poisoned(DType::F32, &[rows])?,
            rstd: Tensor::poisoned(DType::F32, &[rows])?,
        })
    }
}

impl Workload for Forward {
    fn run(&self, library: &Library) -> Result<(), Error> {
        let weights = Weights { scale: &self.scale, shift: &self.shift };
        forward(library, &self.x, &self.y, weights, Moments { mean: &self.mean, rstd: &self.rstd })
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        let inner = Tolerance::steps(DType::F32, 16.0);
        vec![
            Output { name: "y", tensor: &self.y, tolerance: Tolerance::steps(self.y.dtype(), 16.0) },
            Output { name: "mean", tensor: &self.mean, tolerance: inner },
            Output { name: "rstd", tensor: &self.rstd, tolerance: Tolerance { relative: 1e-4, ..inner } },
        ]
    }

    fn expected(&self) -> Vec<Vec<f64>> {
        let cols = self.x.shape()[1];
        let (x, scale, shift) = (self.x.to_f64(), self.scale.to_f64(), self.shift.to_f64());
        let moments = moments(&x, cols);
        let element = |(at, v): (usize, &f64)| {
            let (mean, rstd) = moments[at / cols];
            (v - mean) * rstd * scale[at % cols] + shift[at % cols]
        };
        let y = x.iter().enumerate().map(element).collect();
        vec![y, moments.iter().map(|m| m.0).collect(), moments.iter().map(|m| m.1).collect()]
    }

    fn work(&self) -> Work {
        Work::Bytes(2.0 * self.x.bytes().len() as f64)
    }
}

/// The backward pass on random data.
#[derive(Debug)]
pub struct Backward {
    x: Tensor,
    dy: Tensor,
    scale: Tensor,
    mean: Tensor,
    rstd: Tensor,
    dx: Tensor,
    dscale: Tensor,
    dshift: Tensor,
}

impl Backward {
    /// A matrix of this shape.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(rows: usize, cols: usize, dtype: DType) -> Result<Backward, Error> {
        let mut random = Random::new(6);
        let x = random.tensor(dtype, &[rows, cols])?;
        let moments = moments(&x.to_f64(), cols);
        let (mean, rstd): (Vec<f64>, Vec<f64>) = moments.into_iter().unzip();
        Ok(Backward {
            dy: random.tensor(dtype, &[rows, cols])?,
            scale: random.tensor(dtype, &[cols])?,
            mean: Tensor::from_f64(DType::F32, &[rows], &mean)?,
            rstd: Tensor::from_f64(DType::F32, &[rows], &rstd)?,
            dx: Tensor::poisoned(dtype, &[rows, cols])?,
            dscale: Tensor::poisoned(dtype, &[cols])?,
            dshift: Tensor::poisoned(dtype, &[cols])?,
            x,
        })
    }
}

impl Workload for Backward {
    fn run(&self, library: &Library) -> Result<(), Error> {
        let kept = Moments { mean: &self.mean, rstd: &self.rstd };
        let out = Gradients { x: &self.dx, scale: &self.dscale, shift: &self.dshift };
        backward(library, &self.dy, &self.x, &self.scale, kept, out)
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        let rows = self.x.shape()[0] as f64;
        let tolerance = Tolerance::steps(self.x.dtype(), 16.0);
        // Sums over all rows grow with their number, and so do their errors.
        let sums = Tolerance { absolute: tolerance.absolute.max(1e-6 * rows.sqrt()), ..tolerance };
        vec![
            Output { name: "dx", tensor: &self.dx, tolerance },
            Output { name: "dscale", tensor: &self.dscale, tolerance: sums },
            Output { name: "dshift", tensor: &self.dshift, tolerance: sums },
        ]
    }

    fn expected(&self) -> Vec<Vec<f64>> {
        let cols = self.x.shape()[1];
        let (x, dy, scale) = (self.x.to_f64(), self.dy.to_f64(), self.scale.to_f64());
        let (mut dx, mut dscale, mut dshift) = (vec![0.0; x.len()], vec![0.0; cols], vec![0.0; cols]);
        for (row, (mean, rstd)) in moments(&x, cols).into_iter().enumerate() {
            let at = |col: usize| row * cols + col;
            let normal: Vec<f64> = (0..cols).map(|col| (x[at(col)] - mean) * rstd).collect();
            let scaled: Vec<f64> = (0..cols).map(|col| dy[at(col)] * scale[col]).collect();
            let along = normal.iter().zip(&scaled).map(|(n, s)| n * s).sum::<f64>() / cols as f64;
            let shift = scaled.iter().sum::<f64>() / cols as f64;
            for col in 0..cols {
                dx[at(col)] = (scaled[col] - normal[col] * along - shift) * rstd;
                dscale[col] += dy[at(col)] * normal[col];
                dshift[col] += dy[at(col)];
            }
        }
        vec![dx, dscale, dshift]
    }

    fn work(&self) -> Work {
        Work::Bytes(3.0 * self.x.bytes().len() as f64)
    }
}
