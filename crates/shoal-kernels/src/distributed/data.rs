//! Random data of ranks: everybody can make everybody's, for references.

use shoal::{Element, Error, Tensor};

use crate::check::Tolerance;
use crate::random::Random;

/// Element types of collective kernels.
pub trait Number: Element + shoal::world::Element {}

impl<T: Element + shoal::world::Element> Number for T {}

/// The elements that a rank has for the `input`-th input.
pub(crate) fn normal<T: Number>(input: u64, rank: usize, count: usize) -> Result<Vec<T>, Error> {
    let seed = (input << 32) + rank as u64 + 1;
    Ok(Random::new(seed).tensor(T::DTYPE, &[count])?.as_slice::<T>()?.to_vec())
}

/// The same as `f64`.
pub(crate) fn wide<T: Number>(values: &[T]) -> Result<Vec<f64>, Error> {
    Ok(Tensor::from_slice(values)?.to_f64())
}

/// An element that no kernel computes by mistake.
pub(crate) fn poison<T: Number>() -> Result<T, Error> {
    Ok(Tensor::poisoned(T::DTYPE, &[1])?.as_slice::<T>()?[0])
}

/// The sum of all ranks' data.
pub(crate) fn sum_of_ranks<T: Number>(input: u64, ranks: usize, count: usize) -> Result<Vec<f64>, Error> {
    let mut sum = vec![0.0; count];
    for rank in 0..ranks {
        for (sum, value) in sum.iter_mut().zip(wide(&normal::<T>(input, rank, count)?)?) {
            *sum += value;
        }
    }
    Ok(sum)
}

/// How far the fp32 sum of so many normal numbers, rounded to `T`, may lie from that in `f64`.
pub(crate) fn sum_tolerance<T: Number>(terms: usize) -> Tolerance {
    let rounded = Tolerance::steps(T::DTYPE, 1.0);
    let added = Tolerance::steps(shoal::DType::F32, 4.0 + terms as f64);
    Tolerance { absolute: added.absolute, relative: rounded.relative.max(added.relative) }
}
