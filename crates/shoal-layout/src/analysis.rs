//! What a layout is like: does it cover the tile, does it copy, how wide are its runs.

use crate::elimination::Echelon;
use crate::matrix::low_mask;
use crate::{InDim, LinearLayout, Place};

impl LinearLayout {
    /// Whether every element of the tile is held somewhere.
    pub fn is_surjective(&self) -> bool {
        Echelon::of(self.matrix.columns()).rank() == self.matrix.total_out_bits()
    }

    /// Whether no element is held twice.
    pub fn is_injective(&self) -> bool {
        Echelon::of(self.matrix.columns()).dependent_columns() == 0
    }

    /// Whether every element is held exactly once.
    pub fn is_bijective(&self) -> bool {
        self.is_surjective() && self.is_injective()
    }

    /// For each hardware dimension, the bits that can be held at zero without losing an element: places that differ
    /// from another one in such a bit hold copies. The nearest dimension keeps its bits if there is a choice.
    ///
    /// A store must be done once: by the places where all these bits are zero.
    pub fn free_variable_masks(&self) -> Place {
        self.split(Echelon::of(self.matrix.columns()).dependent_columns())
    }

    /// The length of the runs along `dim`: the largest power of two `n` such that the places `k*n..(k+1)*n` along `dim`
    /// always hold `n` elements that follow each other in row-major order, the first at a multiple of `n`.
    ///
    /// For [`InDim::Register`] this is how many elements one vector load may fetch.
    pub fn num_consecutive(&self, dim: InDim) -> u32 {
        let bases = self.flat_bases(dim);
        let leading = bases.iter().enumerate().take_while(|&(bit, &basis)| basis == 1 << bit).count();
        let fits = |run: usize| {
            let others = InDim::ALL.into_iter().flat_map(|other| {
                let skip = if other == dim { run } else { 0 };
                self.flat_bases(other).iter().skip(skip)
            });
            others.fold(0, |all, basis| all | basis) & low_mask(run) == 0
        };
        let run = (0..=leading).rev().find(|&run| fits(run)).unwrap_or(0);
        1 << run
    }

    /// Whether the layout holds the element `i` at place `i` along `dim`, and uses no other dimension.
    pub fn is_identity_along(&self, dim: InDim) -> bool {
        InDim::ALL.into_iter().all(|other| {
            let bases = self.flat_bases(other);
            if other != dim {
                return bases.is_empty();
            }
            bases.len() == self.matrix.total_out_bits()
                && bases.iter().enumerate().all(|(bit, &basis)| basis == 1 << bit)
        })
    }

    /// Deals out the bits of a mask over all bases to the dimensions they belong to.
    fn split(&self, mut mask: u64) -> Place {
        let mut place = Place::default();
        for dim in InDim::ALL {
            let bits = self.flat_bases(dim).len();
            place[dim] = (mask & low_mask(bits)) as u32;
            mask >>= bits;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> LinearLayout {
        text.parse().unwrap()
    }

    #[test]
    fn covering_and_copying() {
        let exact = parse("#layout<register=[[1]], lane=[[2],[4]], out=[8]>");
        assert!(exact.is_bijective());
        let copies = parse("#layout<register=[[1]], lane=[[2],[4],[0]], out=[8]>");
        assert!(copies.is_surjective() && !copies.is_injective());
        let partial = parse("#layout<register=[[1]], lane=[[4]], out=[8]>");
        assert!(!partial.is_surjective() && partial.is_injective());
    }

    #[test]
    fn copies_are_blamed_on_the_farther_dimension() {
        let layout = parse("#layout<register=[[1],[0]], lane=[[1],[2],[3]], warp=[[4]], out=[8]>");
        assert_eq!(layout.free_variable_masks(), Place { register: 0b10, lane: 0b101, ..Place::default() });
    }

    #[test]
    fn runs_are_as_long_as_they_are_aligned() {
        let runs = |text: &str| parse(text).num_consecutive(InDim::Register);
        assert_eq!(runs("#layout<register=[[0,1],[0,2]], lane=[[0,4],[1,0]], out=[2,8]>"), 4);
        assert_eq!(runs("#layout<register=[[0,1],[1,0]], lane=[[0,2],[0,4]], out=[2,8]>"), 2);
        assert_eq!(runs("#layout<register=[[1,0]], lane=[[0,1],[0,2]], out=[2,4]>"), 1);
        assert_eq!(runs("#layout<register=[[1],[2]], lane=[[6]], out=[8]>"), 2, "lane 1 begins in the middle of four");
        assert_eq!(runs("#layout<register=[[1],[2],[3]], out=[4]>"), 1, "register 4 begins at element 3");
        assert_eq!(runs("#layout<out=[]>"), 1);
    }

    #[test]
    fn identity_uses_one_dimension_only() {
        assert!(LinearLayout::identity1d(8, InDim::Lane, 1).is_identity_along(InDim::Lane));
        assert!(!LinearLayout::strided1d(8, 2, InDim::Lane, 0).is_identity_along(InDim::Lane));
        assert!(!LinearLayout::identity1d(8, InDim::Lane, 0).is_identity_along(InDim::Register));
    }
}
