//! Matrix products.

use shoal::{Args, Backend, DType, Device, Error, Tensor, args};

use crate::check::Tolerance;
use crate::library::{Library, Source, cdiv};
use crate::random::Random;
use crate::workload::{Output, Work, Workload};

/// The sides of the blocks that programs compute, and how many rows of blocks form a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Rows of c.
    pub m: usize,
    /// Columns of c.
    pub n: usize,
    /// Columns of a for one step.
    pub k: usize,
    /// Rows of blocks in a group.
    pub group: usize,
}

impl Blocks {
    /// Blocks for a product of this size.
    #[must_use]
    pub fn of(m: usize, n: usize, k: usize) -> Blocks {
        let fit = |size: usize, most: usize| size.next_power_of_two().clamp(16, most);
        Blocks { m: fit(m, 128), n: fit(n, 128), k: fit(k, 64), group: 8 }
    }

    /// The same on a device. Cores keep a wide block of b packed while they walk down c: 16 blocks, which is all of 2048 rows
    /// and leaves enough of c for other cores.
    #[must_use]
    pub fn on(device: &Device, m: usize, n: usize, k: usize) -> Blocks {
        let blocks = Blocks::of(m, n, k);
        match device.backend() {
            Backend::Cpu => Blocks { n: n.next_power_of_two().clamp(16, 256), group: 16, ..blocks },
            Backend::Cuda | Backend::Interpreter => blocks,
        }
    }

    /// Larger blocks for types that a CPU may have a matrix unit for, which is so fast that it counts how often a and b are
    /// read, if enough blocks are left for all threads: wider, if b then stays in the cache; else taller, since each block
    /// reads b from farther away.
    fn enlarged(self, device: &Device, (m, n, k): (usize, usize, usize), dtype: DType) -> Result<Blocks, Error> {
        if device.backend() != Backend::Cpu || !matches!(dtype, DType::BF16 | DType::I8 | DType::U8) {
            return Ok(self);
        }
        let (wide, tall) = (Blocks { n: 2 * self.n, ..self }, Blocks { m: 4 * self.m, ..self });
        let larger = if k * wide.n * dtype.bytes() as usize <= CACHED {
            wide
        } else if m.is_multiple_of(tall.m) {
            tall
        } else {
            self
        };
        let enough = cdiv(m, larger.m) * cdiv(n, larger.n) >= 4 * device.threads()?;
        Ok(if enough { larger } else { self })
    }
}

/// Bytes of b that stay in the cache of a core.
const CACHED: usize = 1 << 20;

/// `c = a @ b` for dense row-major matrices. Integers of 8 bits are summed in 32.
///
/// # Errors
/// When the kernel does not compile or fails.
pub fn matmul(library: &Library, a: &Tensor, b: &Tensor, c: &Tensor) -> Result<(), Error> {
    let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
    let blocks = Blocks::on(library.device(), m, n, k).enlarged(library.device(), (m, n, k), b.dtype())?;
    let kernel = library.kernel(Source::Matmul, "matmul")?;
    kernel.launch(cdiv(m, blocks.m) * cdiv(n, blocks.n), matmul_args(a, b, c, blocks))
}

/// The arguments of such a launch.
#[must_use]
pub fn matmul_args<'a>(a: &'a Tensor, b: &'a Tensor, c: &'a Tensor, blocks: Blocks) -> Args<'a> {
    let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
    let even = m % blocks.m == 0 && n % blocks.n == 0 && k % blocks.k == 0;
    args!(
        a,
        b,
        c,
        m,
        n,
        k,
        k,
        1,
        n,
        1,
        n,
        1,
        BLOCK_M = blocks.m,
        BLOCK_N = blocks.n,
        BLOCK_K = blocks.k,
        GROUP_M = blocks.group,
        EVEN = even
    )
}

/// The product of matrices in `f64`.
#[must_use]
pub fn reference(a: &[f64], b: &[f64], (m, n, k): (usize, usize, usize)) -> Vec<f64> {
    /// Rows at a time, which read a row of `b` together.
    const ROWS: usize = 8;
    let mut c = vec![0.0; m * n];
    for (first, rows) in c.chunks_mut(ROWS * n.max(1)).enumerate() {
        for inner in 0..k {
            let b = &b[inner * n..(inner + 1) * n];
            for (row, sums) in rows.chunks_mut(n.max(1)).enumerate() {
                let factor = a[(first * ROWS + row) * k + inner];
                for (sum, value) in sums.iter_mut().zip(b) {
                    *sum += factor * value;
                }
            }
        }
    }
    c
}

/// What may go wrong in a sum of `k` products of normal numbers, stored as `dtype`.
pub(crate) fn product_tolerance(dtype: DType, k: usize) -> Tolerance {
    let rounded = Tolerance::steps(dtype, 1.0);
    let summed = f64::from(f32::EPSILON) * 4.0 * (k as f64).sqrt();
    Tolerance { absolute: summed * (k as f64).sqrt().max(4.0), relative: rounded.relative }
}

/// A product of random matrices.
#[derive(Debug)]
pub struct Matmul {
    a: Tensor,
    b: Tensor,
    c: Tensor,
}

impl Matmul {
    /// `m × k` times `k × n`.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(m: usize, n: usize, k: usize, dtype: DType) -> Result<Matmul, Error> {
        let mut random = Random::new(3);
        let (a, b) = (random.tensor(dtype, &[m, k])?, random.tensor(dtype, &[k, n])?);
        let sums = if dtype.is_int() { DType::I32 } else { dtype };
        Ok(Matmul { a, b, c: Tensor::poisoned(sums, &[m, n])? })
    }

    fn sizes(&self) -> (usize, usize, usize) {
        (self.a.shape()[0], self.b.shape()[1], self.a.shape()[1])
    }
}

impl Workload for Matmul {
    fn run(&self, library: &Library) -> Result<(), Error> {
        matmul(library, &self.a, &self.b, &self.c)
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        let tolerance = if self.c.dtype().is_int() {
            Tolerance::EXACT
        } else {
            product_tolerance(self.c.dtype(), self.a.shape()[1])
        };
        vec![Output { name: "c", tensor: &self.c, tolerance }]
    }

    fn expected(&self) -> Vec<Vec<f64>> {
        vec![reference(&self.a.to_f64(), &self.b.to_f64(), self.sizes())]
    }

    fn work(&self) -> Work {
        let (m, n, k) = self.sizes();
        Work::Operations(2.0 * m as f64 * n as f64 * k as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Blocks, DType, Device};

    #[test]
    fn blocks_for_a_matrix_unit() {
        let device = Device::cpu_with_threads(2).unwrap();
        let sides = |size: (usize, usize, usize), dtype| {
            let (m, n, k) = size;
            let blocks = Blocks::on(&device, m, n, k).enlarged(&device, size, dtype).unwrap();
            (blocks.m, blocks.n)
        };
        assert_eq!(sides((4096, 4096, 4096), DType::F32), (128, 256));
        assert_eq!(sides((1024, 1024, 1024), DType::BF16), (128, 512));
        assert_eq!(sides((4096, 4096, 4096), DType::BF16), (512, 256));
        // Rows that are not there would be computed, too.
        assert_eq!(sides((384, 65536, 4096), DType::BF16), (128, 256));
        // Too few blocks for two threads.
        assert_eq!(sides((512, 512, 4096), DType::BF16), (128, 256));
    }
}
