//! Test data: the same on every machine and in every run.

use shoal::{DType, Error, Tensor};

/// A stream of random numbers (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A stream that the seed fixes.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A normally distributed number.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Normally distributed elements; integers are spread over -100 to 100.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn tensor(&mut self, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        let len = shape.iter().product();
        let element = |_| if dtype.is_int() { (self.uniform() * 201.0).floor() - 100.0 } else { self.normal() };
        let values: Vec<f64> = (0..len).map(element).collect();
        Tensor::from_f64(dtype, shape, &values)
    }
}
