//! Inverses: from an element of a tile back to a place that holds it.
//!
//! A layout that holds every element exactly once has one inverse. Where elements have copies there are several maps
//! back, and where places are missing there is none for some elements; both cases have a one-sided inverse:
//!
//! ```text
//! layout         inverse          holds for
//! bijective      inverse()        layout(inverse(e)) = e  and  inverse(layout(p)) = p
//! surjective     right_inverse()  layout(inverse(e)) = e:      a holder of every element, copies left out
//! injective      left_inverse()   inverse(layout(p)) = p:      every place found again, other elements at no matter where
//! ```

use crate::elimination::Echelon;
use crate::matrix::{combine, low_mask};
use crate::place_bits::PlaceBits;
use crate::{LinearLayout, Place};

/// A linear map over F2 from the elements of a tile to places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    /// The packed places of the elements 1, 2, 4, …, by row-major index.
    columns: Vec<u64>,
    out_bits: PlaceBits,
    shape_bits: Vec<u8>,
}

impl LinearLayout {
    /// The map from elements to their only place; `None` if an element has two places or none.
    pub fn inverse(&self) -> Option<Placement> {
        self.is_injective().then(|| self.right_inverse())?
    }

    /// A map from every element to one of its places, so that `layout ∘ inverse` is the identity; `None` if an element
    /// has no place. Among copies it takes the place without bits of [`LinearLayout::free_variable_masks`].
    pub fn right_inverse(&self) -> Option<Placement> {
        let echelon = Echelon::of(self.matrix.columns());
        let units = (0..self.matrix.total_out_bits()).map(|bit| echelon.solve(1 << bit));
        Some(self.placement(units.collect::<Option<_>>()?))
    }

    /// A map from elements to places that finds every place again, so that `inverse ∘ layout` is the identity; `None`
    /// if two places hold the same element. Elements that no place holds go to some place.
    pub fn left_inverse(&self) -> Option<Placement> {
        let places = PlaceBits(self.matrix.in_bits());
        let mut echelon = Echelon::of(self.matrix.columns());
        if echelon.dependent_columns() != 0 {
            return None;
        }
        // Complete the columns to a basis of the tile with elements that nobody holds; those go to place zero.
        let elements = self.matrix.total_out_bits();
        for bit in 0..elements {
            echelon.extend_by(1 << bit);
        }
        let held = low_mask(places.total());
        let units = (0..elements).map(|bit| Some(echelon.solve(1 << bit)? & held));
        Some(self.placement(units.collect::<Option<_>>()?))
    }

    fn placement(&self, columns: Vec<u64>) -> Placement {
        let matrix = &self.matrix;
        Placement { columns, out_bits: PlaceBits(matrix.in_bits()), shape_bits: matrix.out_bits.clone() }
    }
}

impl Placement {
    /// The place of the element with these coordinates.
    pub fn apply(&self, coordinates: &[u32]) -> Place {
        let dims = self.shape_bits.iter().zip(coordinates);
        self.apply_flat(dims.fold(0, |index, (&bits, &coordinate)| (index << bits) | u64::from(coordinate)))
    }

    /// The place of the element with this row-major index.
    pub fn apply_flat(&self, element: u64) -> Place {
        self.out_bits.unpack(combine(&self.columns, element))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> LinearLayout {
        text.parse().unwrap()
    }

    #[test]
    fn an_exact_layout_has_an_inverse() {
        let layout = parse("#layout<register=[[0,1]], lane=[[1,1],[2,0]], out=[4,2]>");
        let inverse = layout.inverse().expect("every element has one place");
        let place = Place { register: 1, lane: 3, ..Place::default() };
        assert_eq!(inverse.apply(&layout.apply(place)), place);
    }

    #[test]
    fn copies_have_a_right_inverse_only() {
        let layout = parse("#layout<register=[[1],[0]], lane=[[2],[1]], out=[4]>");
        assert_eq!(layout.inverse(), None);
        assert_eq!(layout.left_inverse(), None);
        let inverse = layout.right_inverse().expect("every element has a place");
        assert_eq!(inverse.apply(&[3]), Place { register: 1, lane: 1, ..Place::default() });
    }

    #[test]
    fn parts_have_a_left_inverse_only() {
        let layout = parse("#layout<register=[[3]], out=[4]>");
        assert_eq!(layout.right_inverse(), None);
        let inverse = layout.left_inverse().expect("every place has its own element");
        assert_eq!(inverse.apply(&[3]), Place { register: 1, ..Place::default() });
    }
}
