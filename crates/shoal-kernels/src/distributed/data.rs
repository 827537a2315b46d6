//! Random data of ranks, and references that all ranks make together: each a share, so that worlds of many ranks are
//! checked as fast as small ones.

use std::ops::Range;

use shoal::world::Rank;
use shoal::{Element, Error, Tensor};

use super::parts::Parts;
use crate::check::Tolerance;
use crate::random::Random;

/// Element types of collective kernels.
pub trait Number: Element + shoal::world::Element {}

impl<T: Element + shoal::world::Element> Number for T {}

/// The elements that a rank has for the `input`-th input.
pub(crate) fn normal<T: Number>(input: u64, rank: usize, count: usize) -> Result<Vec<T>, Error> {
    some_of_normal(input, rank, 0..count)
}

/// Some of them.
fn some_of_normal<T: Number>(input: u64, rank: usize, some: Range<usize>) -> Result<Vec<T>, Error> {
    let mut random = Random::new((input << 32) + rank as u64 + 1);
    random.skip_normal(some.start);
    Ok(random.tensor(T::DTYPE, &[some.len()])?.as_slice::<T>()?.to_vec())
}

/// The same as `f64`.
pub(crate) fn wide<T: Number>(values: &[T]) -> Result<Vec<f64>, Error> {
    Ok(Tensor::from_slice(values)?.to_f64())
}

/// An element that no kernel computes by mistake.
pub(crate) fn poison<T: Number>() -> Result<T, Error> {
    Ok(Tensor::poisoned(T::DTYPE, &[1])?.as_slice::<T>()?[0])
}

/// The sum of all ranks' data: each rank makes some elements of everybody's. Collective over the world.
pub(crate) fn sum_of_ranks<T: Number>(rank: &Rank, input: u64, count: usize) -> Result<Vec<f64>, Error> {
    let share = Parts::new(count, rank.size()).of(rank.rank());
    let mut sum = vec![0.0; share.len()];
    for source in 0..rank.size() {
        add(&mut sum, &wide(&some_of_normal::<T>(input, source, share.clone())?)?);
    }
    Ok(numbers_of_ranks(rank, &sum)?.concat())
}

/// Numbers that summands of ranks are exchanged in pieces of, so that a rank never has all of everybody's.
const PIECE: usize = 1 << 14;

/// The sum of what ranks have, as many numbers each. Collective over the world.
pub(crate) fn sum_of_numbers(rank: &Rank, mine: &[f64]) -> Result<Vec<f64>, Error> {
    let mut sum = vec![0.0; mine.len()];
    for (mine, sum) in mine.chunks(PIECE).zip(sum.chunks_mut(PIECE)) {
        numbers_of_ranks(rank, mine)?.iter().for_each(|theirs| add(sum, theirs));
    }
    Ok(sum)
}

fn add(sum: &mut [f64], values: &[f64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// The numbers of all ranks, in their order. Collective over the world.
pub(crate) fn numbers_of_ranks(rank: &Rank, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
    let bytes: Vec<u8> = mine.iter().flat_map(|number| number.to_le_bytes()).collect();
    let all = rank.world().all_gather(&bytes)?;
    let numbers = |bytes: &Vec<u8>| bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
    Ok(all.iter().map(numbers).collect())
}

/// How far the fp32 sum of so many normal numbers, rounded to `T`, may lie from that in `f64`.
pub(crate) fn sum_tolerance<T: Number>(terms: usize) -> Tolerance {
    let rounded = Tolerance::steps(T::DTYPE, 1.0);
    let added = Tolerance::steps(shoal::DType::F32, 4.0 + terms as f64);
    Tolerance { absolute: added.absolute, relative: rounded.relative.max(added.relative) }
}

#[cfg(test)]
mod tests {
    use shoal::world::World;

    use super::*;

    #[test]
    fn ranks_make_sums_together() {
        for (ranks, count) in [(1, 5), (3, 7), (4, 2), (2, PIECE + 3)] {
            let all: Vec<Vec<f64>> =
                (0..ranks).map(|rank| wide(&normal::<f32>(1, rank, count).unwrap()).unwrap()).collect();
            let expected: Vec<f64> = (0..count).map(|at| all.iter().map(|values| values[at]).sum()).collect();
            let world = World::threads(ranks).expect("a world");
            let sums = world.run(|rank| {
                let both = [sum_of_ranks::<f32>(rank, 1, count)?, sum_of_numbers(rank, &all[rank.rank()])?];
                Ok::<_, Error>(both)
            });
            assert_eq!(sums.expect("sums"), vec![[expected.clone(), expected]; ranks]);
        }
    }
}
