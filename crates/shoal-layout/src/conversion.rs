//! Conversions: how data moves from one layout to another.
//!
//! If `a` says which element a place holds before, and `b` which one it holds after, then `b⁻¹ ∘ a` says where each
//! place's element goes. It is again a linear map, from places to places, found by Gaussian elimination.

use crate::elimination::Echelon;
use crate::linear_index::LinearIndex;
use crate::matrix::{Matrix, combine, low_mask};
use crate::place_bits::PlaceBits;
use crate::{InDim, LayoutError, LinearLayout, Place};

/// A linear map over F2 from places to places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// The images of 1, 2, 4, … along each dimension, the nearest first, with all coordinates packed into one number.
    columns: Vec<u64>,
    in_bits: PlaceBits,
    out_bits: PlaceBits,
}

/// How far data moves in a conversion.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reach {
    /// Nothing moves.
    Nowhere,
    /// Between the registers of a lane.
    Registers,
    /// Between the lanes of a warp: shuffles.
    Lanes,
    /// Between the warps of a block: through shared memory.
    Warps,
    /// Between blocks, or to and from memory.
    Blocks,
}

impl LinearLayout {
    /// `target⁻¹ ∘ self`: for each place of `self`, the place where `target` holds the same element.
    ///
    /// If `target` holds copies there is a choice, and the nearest copy is taken: the same place, or else one in the
    /// same lane, or else one in the same warp, and so on. So [`Conversion::reach`] is as short as it can be. Beyond
    /// that the bits of [`LinearLayout::free_variable_masks`] are zero.
    pub fn invert_and_compose(&self, target: &Self) -> Result<Conversion, LayoutError> {
        if self.matrix.out_bits != target.matrix.out_bits {
            return Err(LayoutError::Shape { expected: self.shape(), found: target.shape() });
        }
        let search = NearestPlace::new(target);
        let mut columns = Vec::new();
        for dim in InDim::ALL {
            for (bit, &basis) in self.flat_bases(dim).iter().enumerate() {
                let found = search.find(dim, bit, basis);
                columns.push(found.ok_or_else(|| LayoutError::NotCovered { element: self.matrix.unpack(basis) })?);
            }
        }
        Ok(Conversion { columns, in_bits: PlaceBits(self.matrix.in_bits()), out_bits: search.bits })
    }

    /// `self ∘ first`: the layout of the data that `first` brings to the places of `self`.
    pub fn compose(&self, first: &Conversion) -> Result<Self, LayoutError> {
        if let Some(dim) = first.out_bits.differing(&PlaceBits(self.matrix.in_bits())) {
            return Err(LayoutError::PlacesDiffer { dim });
        }
        let own: Vec<u64> = self.matrix.columns().collect();
        let mut images = first.columns.iter().map(|&place| combine(&own, place));
        let mut result = Matrix::of_tile(self.matrix.out_bits.clone());
        for dim in InDim::ALL {
            result.bases[dim.index()] = images.by_ref().take(first.in_bits.width(dim)).collect();
        }
        Ok(result.finish())
    }
}

/// Looks for holders of elements, the nearest first.
struct NearestPlace<'a> {
    target: &'a LinearLayout,
    bits: PlaceBits,
    /// For each dimension, what the columns of it and of all nearer ones span.
    within: [Echelon; InDim::COUNT],
}

impl<'a> NearestPlace<'a> {
    fn new(target: &'a LinearLayout) -> Self {
        let bits = PlaceBits(target.matrix.in_bits());
        let within = InDim::ALL.map(|dim| Echelon::of(target.matrix.columns().take(bits.first(dim) + bits.width(dim))));
        Self { target, bits, within }
    }

    /// The packed place of the target that holds `element`, as near as can be to index 2^`bit` along `dim`.
    fn find(&self, dim: InDim, bit: usize, element: u64) -> Option<u64> {
        let own = self.target.flat_bases(dim).get(bit).map(|&held| (held, 1 << (self.bits.first(dim) + bit)));
        if let Some((_, place)) = own.filter(|&(held, _)| held == element) {
            return Some(place);
        }
        InDim::ALL.into_iter().find_map(|reach| {
            // Farther than `reach` the index must stay what it is; nearer, anything may be chosen.
            let (kept, place) = if dim > reach { own? } else { (0, 0) };
            Some(place | self.within[reach.index()].solve(element ^ kept)?)
        })
    }
}

impl Conversion {
    /// Where the element at `place` goes.
    pub fn apply(&self, place: Place) -> Place {
        self.out_bits.unpack(combine(&self.columns, self.in_bits.pack(place)))
    }

    /// The number of places along `dim` before.
    pub fn in_size(&self, dim: InDim) -> u32 {
        1 << self.in_bits.width(dim)
    }

    /// The number of places along `dim` after.
    pub fn out_size(&self, dim: InDim) -> u32 {
        1 << self.out_bits.width(dim)
    }

    /// The index along `dim` of where each element goes, alone.
    pub fn index_along(&self, dim: InDim) -> LinearIndex {
        let mut index = LinearIndex::default();
        for from in InDim::ALL {
            let (first, width) = (self.in_bits.first(from), self.in_bits.width(from));
            let columns = self.columns[first..first + width].iter();
            index.columns[from.index()] = columns.map(|&place| self.out_bits.part(place, dim).into()).collect();
        }
        index
    }

    /// Whether every element stays where it is.
    pub fn is_identity(&self) -> bool {
        self.reach() == Reach::Nowhere
    }

    /// Whether every element keeps its index along `dim`.
    pub fn keeps(&self, dim: InDim) -> bool {
        let (first_in, first_out) = (self.in_bits.first(dim), self.out_bits.first(dim));
        let width = self.out_bits.width(dim);
        self.in_bits.width(dim) == width
            && self.columns.iter().enumerate().all(|(column, image)| {
                let own = column.checked_sub(first_in).filter(|bit| *bit < width);
                (image >> first_out) & low_mask(width) == own.map_or(0, |bit| 1 << bit)
            })
    }

    /// How far data moves: the farthest dimension along which an element changes its index.
    pub fn reach(&self) -> Reach {
        let moved = InDim::ALL.into_iter().rev().find(|&dim| !self.keeps(dim));
        match moved {
            None => Reach::Nowhere,
            Some(InDim::Register) => Reach::Registers,
            Some(InDim::Lane) => Reach::Lanes,
            Some(InDim::Warp) => Reach::Warps,
            Some(InDim::Block | InDim::Offset) => Reach::Blocks,
        }
    }

    /// `next ∘ self`: first this conversion, then the other.
    pub fn then(&self, next: &Self) -> Result<Self, LayoutError> {
        if let Some(dim) = self.out_bits.differing(&next.in_bits) {
            return Err(LayoutError::PlacesDiffer { dim });
        }
        let columns = self.columns.iter().map(|&place| combine(&next.columns, place)).collect();
        Ok(Self { columns, in_bits: self.in_bits, out_bits: next.out_bits })
    }

    /// The conversion that brings everything back; `None` if elements were dropped, merged or copied.
    pub fn inverse(&self) -> Option<Self> {
        let echelon = Echelon::of(self.columns.iter().copied());
        let out_bits = self.out_bits.total();
        if out_bits != self.columns.len() {
            return None;
        }
        let columns = (0..out_bits).map(|bit| echelon.solve(1 << bit)).collect::<Option<_>>()?;
        Some(Self { columns, in_bits: self.out_bits, out_bits: self.in_bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> LinearLayout {
        text.parse().unwrap()
    }

    fn reach(from: &str, to: &str) -> Reach {
        parse(from).invert_and_compose(&parse(to)).unwrap().reach()
    }

    #[test]
    fn the_reach_tells_the_means() {
        let a = "#layout<register=[[1],[2]], lane=[[4],[8]], warp=[[16]], out=[32]>";
        assert_eq!(reach(a, a), Reach::Nowhere);
        assert_eq!(reach(a, "#layout<register=[[2],[1]], lane=[[4],[8]], warp=[[16]], out=[32]>"), Reach::Registers);
        assert_eq!(reach(a, "#layout<register=[[4],[8]], lane=[[1],[2]], warp=[[16]], out=[32]>"), Reach::Lanes);
        assert_eq!(reach(a, "#layout<register=[[16],[8]], lane=[[1],[2]], warp=[[4]], out=[32]>"), Reach::Warps);
        assert_eq!(reach(a, "#layout<offset=[[1],[2],[4],[8],[16]], out=[32]>"), Reach::Blocks);
    }

    #[test]
    fn elements_arrive_where_the_target_wants_them() {
        let from = parse("#layout<register=[[0,1]], lane=[[0,2],[1,0],[2,0]], out=[4,4]>");
        let to = parse("#layout<register=[[1,0]], lane=[[3,0],[0,1],[0,3]], out=[4,4]>");
        let conversion = from.invert_and_compose(&to).unwrap();
        for lane in 0..8 {
            for register in 0..2 {
                let place = Place { register, lane, ..Place::default() };
                assert_eq!(to.apply(conversion.apply(place)), from.apply(place));
            }
        }
        let back = conversion.inverse().expect("nothing is copied");
        assert!(conversion.then(&back).unwrap().is_identity());
    }

    #[test]
    fn copies_stay_where_they_are() {
        let copies = parse("#layout<register=[[0]], lane=[[1],[0],[2]], out=[4]>");
        assert!(copies.invert_and_compose(&copies).unwrap().is_identity());
    }

    #[test]
    fn the_nearest_copy_is_taken() {
        // Every lane of the target holds everything: each element is found in its own lane.
        let spread = parse("#layout<lane=[[1],[2]], out=[4]>");
        let everywhere = parse("#layout<register=[[1],[2]], lane=[[0],[0]], out=[4]>");
        let conversion = spread.invert_and_compose(&everywhere).unwrap();
        assert_eq!(conversion.reach(), Reach::Registers);
        let place = conversion.apply(Place { lane: 2, ..Place::default() });
        assert_eq!(place, Place { register: 2, lane: 2, ..Place::default() });
    }

    #[test]
    fn a_target_must_cover_the_source() {
        let all = parse("#layout<lane=[[1],[2]], out=[4]>");
        let half = parse("#layout<lane=[[1]], out=[4]>");
        assert_eq!(all.invert_and_compose(&half), Err(LayoutError::NotCovered { element: vec![2] }));
        assert!(half.invert_and_compose(&all).is_ok());
        let flat = parse("#layout<lane=[[0,1],[1,0]], out=[2,2]>");
        assert!(matches!(all.invert_and_compose(&flat), Err(LayoutError::Shape { .. })));
    }

    #[test]
    fn places_must_fit_to_compose() {
        let all = parse("#layout<lane=[[1],[2]], out=[4]>");
        let half = parse("#layout<lane=[[1]], out=[4]>");
        let conversion = half.invert_and_compose(&all).unwrap();
        assert_eq!(half.compose(&conversion), Err(LayoutError::PlacesDiffer { dim: InDim::Lane }));
        assert_eq!(all.compose(&conversion), Ok(half));
        assert_eq!(conversion.then(&conversion), Err(LayoutError::PlacesDiffer { dim: InDim::Lane }));
        assert_eq!(conversion.inverse(), None);
        assert_eq!((conversion.in_size(InDim::Lane), conversion.out_size(InDim::Lane)), (2, 4));
    }
}
