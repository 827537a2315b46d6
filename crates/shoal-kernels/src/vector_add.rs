//! `out = x + y`.

use shoal::{DType, Error, Tensor, args};

use crate::check::Tolerance;
use crate::library::{Library, Source, cdiv};
use crate::random::Random;
use crate::workload::{Output, Work, Workload};

/// Elements of a program: three tiles of it stay in the second-level cache.
const BLOCK: usize = 16384;

/// `out = x + y`, element by element.
///
/// # Errors
/// When the kernel does not compile or fails.
pub fn vector_add(library: &Library, x: &Tensor, y: &Tensor, out: &Tensor) -> Result<(), Error> {
    let n = out.len();
    let block = BLOCK.min(n.next_power_of_two());
    let kernel = library.kernel(Source::VectorAdd, "vector_add")?;
    kernel.launch(cdiv(n, block), args!(x, y, out, n, BLOCK = block))
}

/// A sum of random vectors.
#[derive(Debug)]
pub struct VectorAdd {
    x: Tensor,
    y: Tensor,
    out: Tensor,
}

impl VectorAdd {
    /// Vectors of `n` elements.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(n: usize, dtype: DType) -> Result<VectorAdd, Error> {
        let mut random = Random::new(1);
        let (x, y) = (random.tensor(dtype, &[n])?, random.tensor(dtype, &[n])?);
        Ok(VectorAdd { x, y, out: Tensor::poisoned(dtype, &[n])? })
    }
}

impl Workload for VectorAdd {
    fn run(&self, library: &Library) -> Result<(), Error> {
        vector_add(library, &self.x, &self.y, &self.out)
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        vec![Output { name: "out", tensor: &self.out, tolerance: Tolerance::steps(self.out.dtype(), 0.5) }]
    }

    fn expected(&self) -> Vec<Vec<f64>> {
        vec![self.x.to_f64().iter().zip(self.y.to_f64()).map(|(x, y)| x + y).collect()]
    }

    fn work(&self) -> Work {
        Work::Bytes(3.0 * self.out.bytes().len() as f64)
    }
}
