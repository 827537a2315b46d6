//! Dropout that stores no mask.

use shoal::{DType, Error, Tensor, args};

use crate::check::Tolerance;
use crate::library::{Library, Source, cdiv};
use crate::philox;
use crate::random::Random;
use crate::workload::{Output, Work, Workload};

const BLOCK: usize = 4096;

/// Drops elements of `x` with probability `p`, and scales what is kept by `1 / (1 - p)`. The seed decides which.
///
/// # Errors
/// When the kernel does not compile or fails.
pub fn dropout(library: &Library, x: &Tensor, out: &Tensor, p: f32, seed: i32) -> Result<(), Error> {
    let n = x.len();
    let block = BLOCK.min(n.next_power_of_two());
    let kernel = library.kernel(Source::Dropout, "dropout")?;
    kernel.launch(cdiv(n, block), args!(x, out, n, p, seed, BLOCK = block))
}

/// Dropout of a random vector.
#[derive(Debug)]
pub struct Dropout {
    x: Tensor,
    out: Tensor,
}

const P: f32 = 0.3;
const SEED: i32 = 1234;

impl Dropout {
    /// A vector of `n` elements.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(n: usize, dtype: DType) -> Result<Dropout, Error> {
        Ok(Dropout { x: Random::new(4).tensor(dtype, &[n])?, out: Tensor::poisoned(dtype, &[n])? })
    }
}

impl Workload for Dropout {
    fn run(&self, library: &Library) -> Result<(), Error> {
        dropout(library, &self.x, &self.out, P, SEED)
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        vec![Output { name: "out", tensor: &self.out, tolerance: Tolerance::steps(self.out.dtype(), 2.0) }]
    }

    fn expected(&self) -> Vec<Vec<f64>> {
        let seed = i64::from(SEED).cast_unsigned();
        let element = |(at, x): (usize, f64)| {
            let keep = philox::uniform(seed, at as u32) > P;
            if keep { x / f64::from(1.0 - P) } else { 0.0 }
        };
        vec![self.x.to_f64().into_iter().enumerate().map(element).collect()]
    }

    fn work(&self) -> Work {
        Work::Bytes(2.0 * self.x.bytes().len() as f64)
    }
}
