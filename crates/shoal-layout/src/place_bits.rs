//! How a place is packed into one number: the bits of its registers lowest, those of the farthest dimension highest.

use crate::matrix::low_mask;
use crate::{InDim, Place};

/// For each hardware dimension, the number of bits of an index along it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlaceBits(pub(crate) [u8; InDim::COUNT]);

impl PlaceBits {
    pub(crate) fn width(&self, dim: InDim) -> usize {
        self.0[dim.index()].into()
    }

    /// Where the bits of `dim` begin in a packed place.
    pub(crate) fn first(&self, dim: InDim) -> usize {
        self.0[..dim.index()].iter().map(|&bits| usize::from(bits)).sum()
    }

    pub(crate) fn total(&self) -> usize {
        self.0.iter().map(|&bits| usize::from(bits)).sum()
    }

    pub(crate) fn pack(&self, place: Place) -> u64 {
        InDim::ALL.into_iter().fold(0, |packed, dim| {
            let index = u64::from(place[dim]) & low_mask(self.width(dim));
            packed | index << self.first(dim)
        })
    }

    pub(crate) fn unpack(&self, packed: u64) -> Place {
        let mut place = Place::default();
        for dim in InDim::ALL {
            place[dim] = self.part(packed, dim);
        }
        place
    }

    /// The index along `dim` of a packed place.
    pub(crate) fn part(&self, packed: u64, dim: InDim) -> u32 {
        ((packed >> self.first(dim)) & low_mask(self.width(dim))) as u32
    }

    /// A dimension that has different sizes in the two.
    pub(crate) fn differing(&self, other: &Self) -> Option<InDim> {
        InDim::ALL.into_iter().find(|dim| self.0[dim.index()] != other.0[dim.index()])
    }
}
