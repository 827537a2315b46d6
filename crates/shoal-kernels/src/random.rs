//! Test data: the same on every machine and in every run.

use shoal::{DType, Error, Tensor};

/// Bytes that an element takes while it is made: as a float, as bits, rounded, and in the tensor.
const BYTES_IN_THE_MAKING: usize = 32;

/// How many elements a tensor of test data has.
///
/// # Errors
/// When the machine has not enough memory to make it: the system would end the process.
pub fn element_count(shape: &[usize]) -> Result<usize, Error> {
    let count = shape.iter().try_fold(1usize, |count, &side| count.checked_mul(side));
    let bytes = count.and_then(|count| count.checked_mul(BYTES_IN_THE_MAKING));
    match (count, bytes) {
        (Some(count), Some(bytes)) if bytes <= available_memory() => Ok(count),
        _ => Err(Error::TooLarge { shape: shape.to_vec() }),
    }
}

/// Bytes that the system says it could give; half of what can be addressed if it says nothing.
fn available_memory() -> usize {
    let said = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = said.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<usize>().ok());
    kilobytes.and_then(|count| count.checked_mul(1024)).unwrap_or(isize::MAX as usize)
}

/// A number that other bytes hardly have: what ranks compare instead of their results.
#[must_use]
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// How far the state of a stream goes for 64 bits.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// How often a normally distributed number takes 64 bits.
const BITS_OF_NORMAL: u64 = 2;

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
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Goes on as after so many normally distributed numbers.
    pub(crate) fn skip_normal(&mut self, count: usize) {
        self.0 = self.0.wrapping_add(STEP.wrapping_mul(BITS_OF_NORMAL).wrapping_mul(count as u64));
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
        let len = element_count(shape)?;
        let element = |_| if dtype.is_int() { (self.uniform() * 201.0).floor() - 100.0 } else { self.normal() };
        let values: Vec<f64> = (0..len).map(element).collect();
        Tensor::from_f64(dtype, shape, &values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_that_no_machine_holds_are_errors() {
        assert_eq!(element_count(&[3, 4]).unwrap(), 12);
        assert_eq!(element_count(&[]).unwrap(), 1);
        for shape in [&[usize::MAX][..], &[1 << 40, 1 << 40], &[1 << 50]] {
            let said = Random::new(1).tensor(DType::F32, shape).unwrap_err().to_string();
            assert!(said.ends_with("is too large"), "{said}");
        }
    }
}
