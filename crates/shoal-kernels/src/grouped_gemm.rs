//! Many matrix products of different sizes in one launch.

use shoal::{DType, Error, Tensor, args};

use crate::library::{Library, Source};
use crate::matmul::{product_tolerance, reference};
use crate::random::Random;
use crate::workload::{Output, Work, Workload};

const BLOCK: usize = 64;

/// `c[g] = a[g] @ b[g]` for each product (m, n, k); the matrices lie one behind the other.
///
/// # Errors
/// When the kernel does not compile or fails, or there is not enough memory.
pub fn grouped_gemm(
    library: &Library,
    sizes: &[(usize, usize, usize)],
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
) -> Result<(), Error> {
    let (mut table, mut start, mut blocks) = (Vec::new(), [0; 3], 0);
    for &(m, n, k) in sizes {
        table.extend([m, n, k, start[0], start[1], start[2]].map(|number| number as i64));
        start = [start[0] + m * k, start[1] + k * n, start[2] + m * n];
        blocks += m.div_ceil(BLOCK) * n.div_ceil(BLOCK);
    }
    let table = Tensor::from_slice(&table)?;
    let programs = blocks.min(library.device().threads()? * 4);
    let kernel = library.kernel(Source::GroupedGemm, "grouped_gemm")?;
    kernel.launch(programs, args!(a, b, c, &table, sizes.len(), BLOCK_M = BLOCK, BLOCK_N = BLOCK, BLOCK_K = 32))
}

/// Products of random matrices.
#[derive(Debug)]
pub struct GroupedGemm {
    sizes: Vec<(usize, usize, usize)>,
    a: Tensor,
    b: Tensor,
    c: Tensor,
}

impl GroupedGemm {
    /// Products of these sizes (m, n, k).
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(sizes: &[(usize, usize, usize)], dtype: DType) -> Result<GroupedGemm, Error> {
        let mut random = Random::new(9);
        let total = |count: fn(&(usize, usize, usize)) -> usize| sizes.iter().map(count).sum::<usize>();
        Ok(GroupedGemm {
            sizes: sizes.to_vec(),
            a: random.tensor(dtype, &[total(|(m, _, k)| m * k)])?,
            b: random.tensor(dtype, &[total(|(_, n, k)| k * n)])?,
            c: Tensor::poisoned(dtype, &[total(|(m, n, _)| m * n)])?,
        })
    }
}

impl Workload for GroupedGemm {
    fn run(&self, library: &Library) -> Result<(), Error> {
        grouped_gemm(library, &self.sizes, &self.a, &self.b, &self.c)
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        let longest = self.sizes.iter().map(|size| size.2).max().unwrap_or(1);
        vec![Output { name: "c", tensor: &self.c, tolerance: product_tolerance(self.c.dtype(), longest) }]
    }

    fn expected(&self) -> Vec<Vec<f64>> {
        let (a, b) = (self.a.to_f64(), self.b.to_f64());
        let (mut a_start, mut b_start) = (0, 0);
        let mut c = Vec::new();
        for &(m, n, k) in &self.sizes {
            c.extend(reference(&a[a_start..], &b[b_start..], (m, n, k)));
            a_start += m * k;
            b_start += k * n;
        }
        vec![c]
    }

    fn work(&self) -> Work {
        Work::Operations(self.sizes.iter().map(|(m, n, k)| 2.0 * (m * n * k) as f64).sum())
    }
}
