//! The product of layouts and its inverse, division: how large layouts are made of small ones.

use std::ops::Mul;

use crate::matrix::Matrix;
use crate::{InDim, LinearLayout};

impl LinearLayout {
    /// A grid of copies of `self`, laid out as `outer` says.
    ///
    /// Along each hardware dimension the places of `self` vary fastest, and along each tile dimension its elements do.
    /// The product is associative, but the order matters: `identity1d(2, Register, 0) * identity1d(4, Lane, 0)` gives
    /// each lane two neighbours; the other way round the two elements of a lane lie four apart.
    ///
    /// # Panics
    /// If the result has more than 2³¹ places or elements along a dimension, or more than 2⁶³ in all.
    #[must_use]
    pub fn product(&self, outer: &Self) -> Self {
        let rank = self.rank().max(outer.rank());
        let bits = |layout: &Self, dim| layout.matrix.out_bits.get(dim).copied().unwrap_or(0);
        let mut result = Matrix::of_tile((0..rank).map(|dim| bits(self, dim) + bits(outer, dim)).collect());
        for dim in InDim::ALL {
            let inner_bases = self.bases(dim).map(|basis| result.pack(&padded(basis, rank)));
            let outer_bases = outer.bases(dim).map(|basis| {
                let shifted = padded(basis, rank).into_iter().enumerate();
                let shifted: Vec<u32> = shifted.map(|(out, coordinate)| coordinate << bits(self, out)).collect();
                result.pack(&shifted)
            });
            result.bases[dim.index()] = inner_bases.chain(outer_bases).collect();
        }
        result.check_size().expect("the product of these layouts is too large");
        result.finish()
    }

    /// The layout `q` with `inner * q == self`, if there is one.
    ///
    /// If there is, then `self` is a grid of tiles of layout `inner`, and an instruction that moves one such tile can
    /// move all of `self`.
    pub fn divide_left(&self, inner: &Self) -> Option<Self> {
        let rank = self.rank();
        if inner.rank() > rank {
            return None;
        }
        let inner_bits = padded_bits(inner, rank);
        let mut quotient = Matrix::of_tile(self.bits_without(&inner_bits)?);
        for dim in InDim::ALL {
            let all: Vec<Vec<u32>> = self.bases(dim).collect();
            let (low, high) = all.split_at_checked(inner.bases(dim).len())?;
            if !low.iter().cloned().eq(inner.bases(dim).map(|basis| padded(basis, rank))) {
                return None;
            }
            for basis in high {
                let shifted = divide_coordinates(basis, &inner_bits)?;
                let packed = quotient.pack(&shifted);
                quotient.bases[dim.index()].push(packed);
            }
        }
        Some(quotient.finish())
    }

    /// The layout `q` with `q * outer == self`, if there is one: the tile of which `self` is a grid laid out as `outer`.
    pub fn divide_right(&self, outer: &Self) -> Option<Self> {
        let rank = self.rank();
        if outer.rank() > rank {
            return None;
        }
        let mut quotient = Matrix::of_tile(self.bits_without(&padded_bits(outer, rank))?);
        for dim in InDim::ALL {
            let all: Vec<Vec<u32>> = self.bases(dim).collect();
            let inner = all.len().checked_sub(outer.bases(dim).len())?;
            let (low, high) = all.split_at(inner);
            for (basis, wanted) in high.iter().zip(outer.bases(dim)) {
                if divide_coordinates(basis, &quotient.out_bits)? != padded(wanted, rank) {
                    return None;
                }
            }
            quotient.bases[dim.index()] =
                low.iter().map(|basis| quotient.checked_pack(dim, basis).ok()).collect::<Option<_>>()?;
        }
        Some(quotient.finish())
    }

    /// The logarithms of the sizes that are left when a factor with these is taken away.
    fn bits_without(&self, factor: &[u8]) -> Option<Vec<u8>> {
        self.matrix.out_bits.iter().zip(factor).map(|(all, factor)| all.checked_sub(*factor)).collect()
    }
}

fn padded_bits(layout: &LinearLayout, rank: usize) -> Vec<u8> {
    layout.matrix.out_bits.iter().copied().chain(std::iter::repeat(0)).take(rank).collect()
}

/// The coordinates divided by the sizes of the inner tile, if they are multiples of them.
fn divide_coordinates(coordinates: &[u32], inner_bits: &[u8]) -> Option<Vec<u32>> {
    coordinates
        .iter()
        .zip(inner_bits)
        .map(|(&coordinate, &bits)| {
            let quotient = coordinate >> bits;
            (quotient << bits == coordinate).then_some(quotient)
        })
        .collect()
}

fn padded(mut coordinates: Vec<u32>, rank: usize) -> Vec<u32> {
    coordinates.resize(rank, 0);
    coordinates
}

impl Mul for &LinearLayout {
    type Output = LinearLayout;

    fn mul(self, outer: &LinearLayout) -> LinearLayout {
        self.product(outer)
    }
}

impl Mul for LinearLayout {
    type Output = Self;

    fn mul(self, outer: Self) -> Self {
        self.product(&outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn registers(size: u32, out: usize) -> LinearLayout {
        LinearLayout::identity1d(size, InDim::Register, out)
    }

    fn lanes(size: u32, out: usize) -> LinearLayout {
        LinearLayout::identity1d(size, InDim::Lane, out)
    }

    #[test]
    fn the_first_factor_varies_fastest() {
        let neighbours = registers(2, 0) * lanes(4, 0);
        assert_eq!(neighbours.apply(Place { register: 1, lane: 3, ..Place::default() }), [7]);
        let apart = lanes(4, 0) * registers(2, 0);
        assert_eq!(apart.apply(Place { register: 1, lane: 3, ..Place::default() }), [7]);
        assert_eq!(apart.apply(Place { register: 1, ..Place::default() }), [4]);
    }

    #[test]
    fn dimensions_of_the_tile_are_independent() {
        let layout = registers(4, 1) * lanes(8, 0) * lanes(2, 1);
        assert_eq!(layout.shape(), [8, 8]);
        assert_eq!(layout.apply(Place { register: 3, lane: 0b1101, ..Place::default() }), [5, 7]);
    }

    #[test]
    fn zeros_make_copies() {
        let layout = lanes(4, 0) * LinearLayout::zeros1d(2, InDim::Lane, 0);
        assert_eq!(layout.shape(), [4]);
        assert_eq!(layout.apply(Place { lane: 7, ..Place::default() }), [3]);
    }

    #[test]
    fn division_finds_the_instruction_tile() {
        let tile = registers(2, 1) * lanes(4, 1) * lanes(8, 0);
        let all = tile.clone() * registers(4, 1) * LinearLayout::identity1d(2, InDim::Warp, 0);
        let quotient = all.divide_left(&tile).expect("it was built of such tiles");
        assert_eq!(quotient, registers(4, 1) * LinearLayout::identity1d(2, InDim::Warp, 0));
        assert_eq!(&tile * &quotient, all);
    }

    #[test]
    fn division_on_the_right_finds_the_tile() {
        let tile = registers(2, 1) * lanes(4, 1) * lanes(8, 0);
        let grid = registers(4, 1) * LinearLayout::identity1d(2, InDim::Warp, 0);
        let all = &tile * &grid;
        assert_eq!(all.divide_right(&grid), Some(tile));
        assert_eq!(all.divide_right(&registers(16, 1)), None, "too many registers");
        assert_eq!(all.divide_right(&lanes(2, 1)), None, "the last lanes go down the rows");
    }

    #[test]
    fn division_refuses_what_does_not_fit() {
        let all = lanes(4, 0) * registers(2, 0);
        assert_eq!(all.divide_left(&registers(2, 0)), None, "the registers are not neighbours");
        assert_eq!(all.divide_left(&lanes(8, 0)), None, "too many lanes");
        assert_eq!(all.divide_left(&registers(1, 1)), None, "too many dimensions");
    }

    #[test]
    #[should_panic(expected = "too large")]
    fn products_are_bounded() {
        let large = registers(1 << 20, 0);
        let _ = large.clone() * large;
    }
}
