//! Flash attention, forward.

use shoal::{Backend, DType, Device, Error, Tensor, args};

use crate::check::Tolerance;
use crate::library::{Library, Source, cdiv};
use crate::random::Random;
use crate::workload::{Output, Work, Workload};

/// Which keys a query sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// All of them.
    Full,
    /// Those up to its own place.
    Causal,
}

/// The tensors of an attention, each of shape heads × length × head dimension.
#[derive(Debug, Clone, Copy)]
pub struct Heads<'a> {
    /// Queries.
    pub q: &'a Tensor,
    /// Keys.
    pub k: &'a Tensor,
    /// Values.
    pub v: &'a Tensor,
}

/// Queries of a program's block, and keys. Matrix units of CPUs are so fast that packing keys and values counts, which is
/// done less often for larger blocks; there must be enough of them for all threads.
fn block(device: &Device, dtype: DType, queries: usize) -> Result<usize, Error> {
    let wide = device.backend() == Backend::Cpu && dtype.bytes() <= 2 && queries / 256 >= 4 * device.threads()?;
    Ok(if wide { 256 } else { 128 })
}

/// `out = softmax(q kᵀ / sqrt(dim)) v` for each head; `lse` (heads × length) gets the logarithms of the sums.
///
/// # Errors
/// When the head dimension is not a power of two, the kernel does not compile, or it fails.
pub fn attention(library: &Library, heads: Heads<'_>, mask: Mask, out: &Tensor, lse: &Tensor) -> Result<(), Error> {
    let shape = heads.q.shape();
    let (count, length, dim) = (shape[0], shape[1], shape[2]);
    let most = block(library.device(), heads.q.dtype(), count * length)?;
    let block = length.next_power_of_two().clamp(16, most);
    let even = length.is_multiple_of(block);
    let scale = 1.0 / (dim as f64).sqrt();
    let kernel = library.kernel(Source::Attention, "attention")?;
    kernel.launch(
        (cdiv(length, block), count),
        args!(
            heads.q,
            heads.k,
            heads.v,
            out,
            lse,
            length,
            length * dim,
            dim,
            scale,
            CAUSAL = mask == Mask::Causal,
            HEAD_DIM = dim,
            BLOCK_M = block,
            BLOCK_N = block,
            EVEN = even
        ),
    )
}

/// Attention over random heads.
#[derive(Debug)]
pub struct Attention {
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Mask,
    out: Tensor,
    lse: Tensor,
}

impl Attention {
    /// Heads of this length and dimension.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(heads: usize, length: usize, dim: usize, mask: Mask, dtype: DType) -> Result<Attention, Error> {
        let mut random = Random::new(8);
        let shape = [heads, length, dim];
        Ok(Attention {
            q: random.tensor(dtype, &shape)?,
            k: random.tensor(dtype, &shape)?,
            v: random.tensor(dtype, &shape)?,
            mask,
            out: Tensor::poisoned(dtype, &shape)?,
            lse: Tensor::poisoned(DType::F32, &[heads, length])?,
        })
    }

    fn seen(&self, query: usize) -> usize {
        match self.mask {
            Mask::Full => self.q.shape()[1],
            Mask::Causal => query + 1,
        }
    }
}

impl Workload for Attention {
    fn run(&self, library: &Library) -> Result<(), Error> {
        attention(library, Heads { q: &self.q, k: &self.k, v: &self.v }, self.mask, &self.out, &self.lse)
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        let inner = Tolerance::steps(DType::F32, 64.0);
        // 16-bit kernels also round the weights before they multiply the values.
        vec![
            Output { name: "out", tensor: &self.out, tolerance: Tolerance::steps(self.out.dtype(), 8.0) },
            Output { name: "lse", tensor: &self.lse, tolerance: inner },
        ]
    }

    fn expected(&self) -> Vec<Vec<f64>> {
        let (length, dim) = (self.q.shape()[1], self.q.shape()[2]);
        let (q, k, v) = (self.q.to_f64(), self.k.to_f64(), self.v.to_f64());
        let scale = 1.0 / (dim as f64).sqrt();
        let (mut out, mut lse) = (vec![0.0; q.len()], Vec::new());
        for (row, query) in q.chunks(dim).enumerate() {
            let head = row / length * length;
            let seen = self.seen(row % length);
            let key = |at: usize| &k[(head + at) * dim..][..dim];
            let scores: Vec<f64> =
                (0..seen).map(|at| scale * query.iter().zip(key(at)).map(|(a, b)| a * b).sum::<f64>()).collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|s| (s - largest).exp()).sum();
            for (at, score) in scores.iter().enumerate() {
                let weight = (score - largest).exp() / sum;
                let value = &v[(head + at) * dim..][..dim];
                for (to, from) in out[row * dim..][..dim].iter_mut().zip(value) {
                    *to += weight * from;
                }
            }
            lse.push(largest + sum.ln());
        }
        vec![out, lse]
    }

    fn work(&self) -> Work {
        let shape = self.q.shape();
        let pairs = match self.mask {
            Mask::Full => shape[1] * shape[1],
            Mask::Causal => shape[1] * (shape[1] + 1) / 2,
        };
        Work::Operations(4.0 * shape[0] as f64 * pairs as f64 * shape[2] as f64)
    }
}
