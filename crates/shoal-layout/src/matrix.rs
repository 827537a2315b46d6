//! The numbers behind a layout: its bases as columns of a bit matrix, and the packing of coordinates into one number.

use crate::{InDim, LayoutError, LinearLayout};

/// The largest number of bits that the index of one dimension may have.
pub(crate) const MAX_DIM_BITS: usize = 31;
/// The largest number of bits that a whole index may have.
const MAX_TOTAL_BITS: usize = 63;

/// A layout under construction. Finished by [`Matrix::finish`], it is shared and never changes again.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Matrix {
    /// For each hardware dimension, the images of 1, 2, 4, … as row-major tile indices.
    pub(crate) bases: [Vec<u64>; InDim::COUNT],
    /// For each tile dimension, the logarithm of its size.
    pub(crate) out_bits: Vec<u8>,
}

impl Matrix {
    /// A matrix without columns, for a tile with these logarithms of sizes.
    pub(crate) fn of_tile(out_bits: Vec<u8>) -> Self {
        Self { out_bits, ..Self::default() }
    }

    pub(crate) fn finish(self) -> LinearLayout {
        LinearLayout::from(self)
    }

    pub(crate) fn rank(&self) -> usize {
        self.out_bits.len()
    }

    pub(crate) fn shape(&self) -> Vec<u32> {
        self.out_bits.iter().map(|&bits| 1 << bits).collect()
    }

    /// The row-major index of these coordinates.
    pub(crate) fn pack(&self, coordinates: &[u32]) -> u64 {
        let dims = self.out_bits.iter().zip(coordinates);
        dims.fold(0, |index, (&bits, &coordinate)| (index << bits) | u64::from(coordinate))
    }

    /// The coordinates of this row-major index.
    pub(crate) fn unpack(&self, mut index: u64) -> Vec<u32> {
        let mut coordinates = vec![0; self.rank()];
        for (coordinate, &bits) in coordinates.iter_mut().zip(&self.out_bits).rev() {
            *coordinate = (index & low_mask(bits.into())) as u32;
            index >>= bits;
        }
        coordinates
    }

    pub(crate) fn total_out_bits(&self) -> usize {
        self.out_bits.iter().map(|&bits| usize::from(bits)).sum()
    }

    /// The number of bits of an index along each hardware dimension.
    pub(crate) fn in_bits(&self) -> [u8; InDim::COUNT] {
        InDim::ALL.map(|dim| self.bases[dim.index()].len() as u8)
    }

    /// All bases, those of the nearest dimension first.
    pub(crate) fn columns(&self) -> impl Iterator<Item = u64> {
        self.bases.iter().flatten().copied()
    }

    pub(crate) fn check_size(&self) -> Result<(), LayoutError> {
        let in_bits = self.bases.iter().map(Vec::len);
        let out_bits = self.out_bits.iter().map(|&bits| usize::from(bits));
        let fits = in_bits.clone().chain(out_bits).all(|bits| bits <= MAX_DIM_BITS)
            && in_bits.sum::<usize>() <= MAX_TOTAL_BITS
            && self.total_out_bits() <= MAX_TOTAL_BITS;
        if fits { Ok(()) } else { Err(LayoutError::TooLarge) }
    }

    pub(crate) fn checked_pack(&self, dim: InDim, basis: &[u32]) -> Result<u64, LayoutError> {
        if basis.len() != self.rank() {
            return Err(LayoutError::Rank { expected: self.rank(), found: basis.len() });
        }
        let inside = basis.iter().zip(&self.out_bits).all(|(&coordinate, &bits)| coordinate >> bits == 0);
        if inside { Ok(self.pack(basis)) } else { Err(LayoutError::OutsideTile { dim, basis: basis.to_vec() }) }
    }
}

/// The logarithms of a tile's sizes.
pub(crate) fn shape_bits(shape: &[u32]) -> Result<Vec<u8>, LayoutError> {
    let bits: Vec<u8> = shape.iter().map(|&size| log2(size)).collect::<Result<_, _>>()?;
    if bits.iter().map(|&bits| usize::from(bits)).sum::<usize>() > MAX_TOTAL_BITS {
        return Err(LayoutError::TooLarge);
    }
    Ok(bits)
}

pub(crate) fn log2(size: u32) -> Result<u8, LayoutError> {
    if size.is_power_of_two() { Ok(size.trailing_zeros() as u8) } else { Err(LayoutError::NotPowerOfTwo { size }) }
}

/// The xor of those columns whose bit is set in `selection`.
pub(crate) fn combine(columns: &[u64], selection: u64) -> u64 {
    columns.iter().enumerate().filter(|(bit, _)| selection >> bit & 1 == 1).fold(0, |sum, (_, column)| sum ^ column)
}

/// A number with its lowest `bits` bits set.
pub(crate) fn low_mask(bits: usize) -> u64 {
    (1 << bits) - 1
}
